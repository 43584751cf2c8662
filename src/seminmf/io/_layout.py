"""How a text file is laid out: delimiter, decimal mark, and whether line 1 names the columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ._table import TableError

DELIMITERS = (",", ";", "\t", "|")
WHITESPACE = r"\s+"
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|",
          "space": WHITESPACE, " ": WHITESPACE}  # fmt: skip
SAMPLE_LINES = 200
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf|true|false", re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?|nan|inf", re.IGNORECASE)
# Thousands apart by the mark that is not the decimal one; both have to occur to be sure of it.
_GROUPED = {
    ",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+"),
    ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+"),
}
_GROUPS = {",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+"), ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+")}
# What stands for a missing value, in lower case; also the errors of a spreadsheet.
MISSING = {
    "", "na", "n/a", "nan", "null", "none", "#n/a", "<na>", "?", "#div/0!", "#value!", "#ref!",
    "#name?", "#num!", "#null!",
}  # fmt: skip
# So many numbers in line 1 that stand at equal steps, or only rise, are not there by chance, if
# hardly any other line is like that.
_STEPS, _RISING = 4, 6


@dataclass(frozen=True)
class Layout:
    """Of a text file."""

    delimiter: str
    decimal: str
    thousands: str | None
    header: bool
    names: list[str]
    row_names: bool
    """The header has a name less than the lines have values: the first are names of rows (R)."""
    nameless: bool
    """The first column has no name (pandas writes its index like that)."""
    lines: list[list[str]]
    remarks: list[str] = field(default_factory=list)


def split(text: str, delimiter: str) -> list[list[str]]:
    """The first lines, cut into values."""
    lines = io.StringIO(text, newline="")
    found: list[list[str]] = []
    records: Iterable[list[str]] = (line.split() for line in lines)
    if delimiter != WHITESPACE:
        records = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        for record in records:
            if any(value.strip() for value in record):
                found.append([value.strip() for value in record])
            if len(found) >= SAMPLE_LINES:
                break
    except csv.Error:
        pass  # what there is tells enough; pandas will say what is wrong
    return found


def _is_number(value: str, decimal: str) -> bool:
    pattern = _NUMBER if decimal == "." else _COMMA_NUMBER
    return pattern.fullmatch(value) is not None or bool(_GROUPED[decimal].fullmatch(value))


def as_point(value: object, decimal: str, thousands: str | None) -> object:
    """A text that is a number by these marks, as Python writes it; others as they are.

    One that would be a number by other marks only becomes an empty text.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    grouped = _GROUPED[decimal].fullmatch(text) or _GROUPS[decimal].fullmatch(text)
    if thousands is not None and grouped:
        text = text.replace(thousands, "")
    elif decimal == "," and "." in text:
        return ""
    return text.replace(",", ".") if decimal == "," else text


def _decimal(delimiter: str, values: list[str]) -> str:
    """A comma if numbers have it and none has a point."""
    if delimiter == ",":
        return "."
    commas = sum("," in v and _is_number(v, ",") for v in values)
    points = sum("." in v and _NUMBER.fullmatch(v) is not None for v in values)
    points -= sum(_GROUPS[","].fullmatch(v) is not None for v in values)
    return "," if commas and points <= 0 else "."


def _thousands(values: list[str], decimal: str) -> str | None:
    """The mark between thousands, if some number has both marks and none contradicts."""
    mark = "." if decimal == "," else ","
    if not any(_GROUPED[decimal].fullmatch(v) for v in values):
        return None
    marked = [v for v in values if mark in v and re.fullmatch(r"[+-]?[\d.,]+", v)]
    fits = all(_GROUPED[decimal].fullmatch(v) or _GROUPS[decimal].fullmatch(v) for v in marked)
    return mark if fits else None


def _score(delimiter: str, lines: list[list[str]]) -> tuple[bool, float, int]:
    """Lines of one length, then the share of numbers, then the number of columns."""
    body = lines[1:] or lines
    (length, count), *_ = Counter(len(line) for line in body).most_common(1)
    values = [v for line in body for v in line if v.lower() not in MISSING]
    decimal = _decimal(delimiter, values)
    numeric = sum(_is_number(v, decimal) for v in values) / max(len(values), 1)
    return length > 1 and count >= 0.9 * len(body), round(numeric, 2), length


def find_layout(
    text: str,
    delimiter: str | None,
    decimal: str | None,
    header: bool | None,
    known: Sequence[str] = (),
) -> Layout:
    """Of a file that begins with ``text``; ``known`` are names that its columns should have."""
    chosen, lines = _delimited(text, delimiter)
    if decimal not in (None, ".", ","):
        raise TableError(f"the decimal mark must be . or , got {decimal!r} (--decimal).")
    body = lines[1:]
    values = [v for line in body or lines for v in line]
    mark = _decimal(chosen, values) if decimal is None else decimal
    thousands = _thousands(values, mark)
    width = Counter(len(line) for line in body or lines).most_common(1)[0][0]
    remarks: list[str] = []
    if thousands is not None:
        remarks.append(
            f"{thousands!r} stands between the thousands of numbers, as in 1{thousands}000"
        )
    if header is None:
        header, why = has_header(lines, mark, known)
        remarks += [why] if why else []
    if not header:
        names = [f"x{i}" for i in range(width)]
        return Layout(chosen, mark, thousands, False, names, False, False, lines, remarks)
    first = lines[0]
    row_names = len(body) > 0 and width == len(first) + 1 and bool(body[0][-1])
    names = ["row name", *first] if row_names else first
    while len(names) > 1 and not names[-1] and len(names) > width - 1 and not _last(body, names):
        names = names[:-1]  # every line ends with a delimiter
    nameless = not names[0]
    names = unique([name or f"column {i + 1}" for i, name in enumerate(names)])
    return Layout(chosen, mark, thousands, True, names, row_names, nameless, lines, remarks)


def _delimited(text: str, delimiter: str | None) -> tuple[str, list[list[str]]]:
    """The delimiter, and lines cut by it."""
    if delimiter is not None:
        chosen = _NAMED.get(delimiter, delimiter)
        if chosen != WHITESPACE and len(chosen) != 1:
            raise TableError(
                f"the delimiter must be one character, or tab or space, got {delimiter!r}."
            )
        return chosen, split(text, chosen)
    tried = {d: split(text, d) for d in DELIMITERS}
    scores = {d: _score(d, lines) for d, lines in tried.items()}
    chosen = max(DELIMITERS, key=lambda d: scores[d])
    if not scores[chosen][0]:
        spaced = split(text, WHITESPACE)
        several, numeric, _ = _score(WHITESPACE, spaced)
        if several and numeric >= 0.5:
            tried[WHITESPACE], chosen = spaced, WHITESPACE
        else:
            # One column, or lines of different lengths, which is said later.
            chosen = max(DELIMITERS, key=lambda d: (scores[d][2] > 1, scores[d][1:]))
    return chosen, tried[chosen]


def _last(body: list[list[str]], names: list[str]) -> bool:
    """Whether any line has a value in the last column."""
    return any(len(line) >= len(names) and line[len(names) - 1] for line in body)


def has_header(lines: list[list[str]], decimal: str, known: Sequence[str]) -> tuple[bool, str]:
    """Whether line 1 names the columns; and a remark, where that is not plain to see."""
    first, body = lines[0], lines[1:]
    present = [v for v in first if v]
    if any(name in first for name in known):
        return True, ""
    if not body:
        return not all(_is_number(v, decimal) for v in present), ""
    columns = [
        [line[place] for line in body if place < len(line) and line[place].lower() not in MISSING]
        for place in range(len(first))
    ]
    numeric = [
        place
        for place, below in enumerate(columns)
        if first[place] and below and all(_is_number(v, decimal) for v in below)
    ]
    if not numeric:
        return not any(_is_number(v, decimal) for v in present), ""
    above = [first[place] for place in numeric]
    words = [v for v in above if not _is_number(v, decimal) and v.lower() not in MISSING]
    if words:
        guessed = len(words) * 2 <= len(above)
        why = f"{words[0]!r} stands above numbers"
        return True, _told(why) if guessed else ""
    rows = [[columns[place][row] for place in numeric] for row in range(_whole(columns, numeric))]
    numbers, others = _values(above, decimal), [_values(row, decimal) for row in rows]
    if numbers and (why := _counts_up(numbers, others)):
        return True, _told(why)
    if numbers and len(others) > 2 and len(numbers) > 1 and _far(numbers, others):
        rises = len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
        if rises:
            return True, _told("its numbers rise and are far from all others")
        return False, (
            "line 1 is taken as a sample, though its numbers are far from all others; --header if "
            "they are names of columns"
        )
    return False, "no header: the columns are called x0, x1, …; --header if line 1 names them"


def _told(why: str) -> str:
    return f"line 1 is taken as the header, because {why}; --no-header if it is a sample"


def _whole(columns: list[list[str]], numeric: list[int]) -> int:
    """Rows of which all numeric columns have a value, as far as that can be told."""
    lengths = {len(columns[place]) for place in numeric}
    return lengths.pop() if len(lengths) == 1 else 0


def _values(texts: list[str], decimal: str) -> list[float]:
    """Numbers; none if there is a word such as true among them."""
    try:
        plain = (t.replace(".", "").replace(",", ".") if decimal == "," else t for t in texts)
        return [float(text) for text in plain]
    except ValueError:
        return []


def _counts_up(numbers: list[float], others: list[list[float]]) -> str:
    """Why the numbers of line 1 are those of columns; nothing if they are not."""

    def stepping(row: list[float]) -> bool:
        return len({round(b - a, 9) for a, b in pairwise(row)}) == 1 and row[1] > row[0]

    def rising(row: list[float]) -> bool:
        return all(a < b for a, b in pairwise(row))

    def rare(test: Callable[[list[float]], bool]) -> bool:
        return sum(test(row) for row in others if row) * 10 <= len(others)

    if len(numbers) > 1 and numbers == [float(i) for i in range(len(numbers))]:
        return "it counts 0, 1, …" if numbers not in others else ""
    if len(numbers) >= _STEPS and stepping(numbers) and rare(stepping):
        return f"it counts {numbers[0]:g}, {numbers[1]:g}, …"
    if len(numbers) >= _RISING and rising(numbers) and rare(rising):
        return "its numbers rise from one to the next"
    return ""


def _far(numbers: list[float], others: list[list[float]]) -> bool:
    """Whether each number is farther from its column than that is wide."""
    for place, number in enumerate(numbers):
        column = [row[place] for row in others if row]
        if not column:
            return False
        low, high = min(column), max(column)
        if low - 3 * (high - low) <= number <= high + 3 * (high - low):
            return False
    return True


def unique(names: list[str]) -> list[str]:
    """Names that occur twice get a number."""
    taken: set[str] = set()
    result = []
    for name in names:
        candidate, number = name, 0
        while candidate in taken:
            number += 1
            candidate = f"{name}.{number}"
        taken.add(candidate)
        result.append(candidate)
    return result
