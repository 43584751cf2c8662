"""How a text file is laid out: delimiter, marks, lines beside the table, names of the columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .._words import counted
from ._header import Lines, beside_table, has_header, width_of
from ._marks import MISSING, Marks, ambiguous, find_marks
from ._table import TableError

DELIMITERS = (",", ";", "\t", "|")
WHITESPACE = r"\s+"
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|",
          "space": WHITESPACE, " ": WHITESPACE}  # fmt: skip
SAMPLE_LINES = 200
_WORD = re.compile(r'"([^"]*)"|(\S+)')


@dataclass(frozen=True)
class Layout:
    """Of a text file."""

    delimiter: str
    marks: Marks
    header: bool
    names: list[str]
    row_names: bool
    """The header has a name less than the lines have values: the first are names of rows (R)."""
    nameless: bool
    """The first column has no name (pandas writes its index like that)."""
    lines: Lines
    left_out: list[tuple[int, int]]
    """First and last of lines of the file that are not of the table, counted from 1."""
    remarks: list[str] = field(default_factory=list)


def records(text: str, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Lines cut into values, with the first and the last line of the file that each takes up."""
    lines = io.StringIO(text, newline="")
    if delimiter == WHITESPACE:
        for number, line in enumerate(lines, 1):
            yield number, number, ["".join(word) for word in _WORD.findall(line)]
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    before = 0
    for record in reader:
        yield before + 1, reader.line_num, record
        before = reader.line_num


def split(text: str, delimiter: str) -> tuple[Lines, list[tuple[int, int]]]:
    """The first lines that have values, and where they stand."""
    found: Lines = []
    places: list[tuple[int, int]] = []
    try:
        for first, last, record in records(text, delimiter):
            if any(value.strip() for value in record):
                found.append([value.strip() for value in record])
                places.append((first, last))
            if len(found) >= SAMPLE_LINES:
                break
    except csv.Error:
        pass  # a value of enormous length: not the delimiter, or pandas will say what is wrong
    return found, places


def find_layout(
    text: str,
    delimiter: str | None,
    decimal: str | None,
    header: bool | None,
    known: Sequence[str] = (),
    gaps: Sequence[str] = (),
) -> Layout:
    """Of a file that begins with ``text``.

    ``known`` are names that its columns should have, ``gaps`` words for missing values.
    """
    check_decimal(decimal)
    chosen, lines, places = _delimited(text, delimiter)
    if not lines:
        raise TableError(
            f"its first value has more than {csv.field_size_limit():,} characters; is the "
            "delimiter right (--delimiter), and is every quotation mark closed?"
        )
    values = [v for line in lines[1:] or lines for v in line]
    marks = find_marks(values, chosen, decimal)
    outside, remarks = beside_table(lines, marks, gaps)
    left_out = [places[place] for place in outside]
    lines = [line for place, line in enumerate(lines) if place not in outside]
    body = lines[1:]
    width = width_of(body or lines)
    remarks += _on_marks(values, marks, decimal)
    if header is None:
        header, why = has_header(lines, marks, known)
        remarks += [why] if why else []
    if not header:
        names = [f"x{i}" for i in range(width)]
        return Layout(chosen, marks, False, names, False, False, lines, left_out, remarks)
    first = lines[0]
    row_names = len(body) > 0 and width == len(first) + 1 and bool(body[0][-1])
    if row_names and delimiter is None and chosen == "," and width == 2:
        _refuse_two_halves(body)
    names = ["row name", *first] if row_names else first
    while len(names) > 1 and not names[-1] and len(names) > width - 1 and not _last(body, names):
        names = names[:-1]  # every line ends with a delimiter
    nameless = not names[0]
    names, again = named(names)
    return Layout(chosen, marks, True, names, row_names, nameless, lines, left_out, remarks + again)


def check_decimal(decimal: str | None) -> None:
    if decimal not in (None, ".", ","):
        raise TableError(f"the decimal mark must be . or , got {decimal!r} (--decimal).")


def _on_marks(values: list[str], marks: Marks, decimal: str | None) -> list[str]:
    """Remarks on numbers that may have been meant otherwise."""
    remarks = []
    if (mark := marks.thousands) is not None:
        remarks.append(f"{mark!r} stands between the thousands of numbers, as in 1{mark}000")
    if decimal is None and (number := ambiguous(values, marks)) is not None:
        remarks.append(
            f"',' is taken as the decimal mark, as in {number!r}; --decimal . if it stands "
            "between thousands"
        )
    return remarks


def _refuse_two_halves(body: Lines) -> None:
    """One name above lines such as ``2,5``: a number with a comma, or two columns?"""
    if all(value.lstrip("+-").isdigit() for line in body for value in line):
        raise TableError(
            f"line 1 has one name and the lines below have two whole numbers, as "
            f"{','.join(body[0])!r}: say --delimiter ';' if the comma is the decimal mark, or "
            "--delimiter , if the first number names the row."
        )


def _delimited(text: str, delimiter: str | None) -> tuple[str, Lines, list[tuple[int, int]]]:
    """The delimiter, and lines cut by it."""
    if delimiter is not None:
        chosen = _NAMED.get(delimiter, delimiter)
        if chosen != WHITESPACE and len(chosen) != 1:
            raise TableError(
                f"the delimiter must be one character, or tab or space, got {delimiter!r}."
            )
        return chosen, *split(text, chosen)
    tried = {d: split(text, d) for d in (*DELIMITERS, WHITESPACE)}
    scores = {d: _score(d, lines) for d, (lines, _) in tried.items()}
    chosen = max(DELIMITERS, key=lambda d: scores[d])
    certain, share, _ = scores[chosen]
    several, numeric, _ = scores[WHITESPACE]
    if several and numeric >= (0.5 if not certain else 1.0) and not (certain and share == 1.0):
        chosen = WHITESPACE
    elif not certain:
        # One column, or lines of different lengths, which is said later.
        chosen = max(DELIMITERS, key=lambda d: (scores[d][2] > 1, scores[d][1:]))
    return chosen, *tried[chosen]


def _score(delimiter: str, lines: Lines) -> tuple[bool, float, int]:
    """Lines of one length, then the share of numbers, then the number of columns."""
    body = lines[1:] or lines
    length = width_of(body)
    count = sum(len(line) == length for line in body)
    values = [v for line in body for v in line if v.lower() not in MISSING]
    marks = find_marks(values, delimiter)
    numeric = sum(marks.is_number(v) for v in values) / max(len(values), 1)
    return length > 1 and count >= 0.9 * len(body), round(numeric, 2), length


def _last(body: Lines, names: list[str]) -> bool:
    """Whether any line has a value in the last column."""
    return any(len(line) >= len(names) and line[len(names) - 1] for line in body)


def named(titles: Sequence[str]) -> tuple[list[str], list[str]]:
    """A name of its own for each column, and a remark on names that occur more than once."""
    given = [title or f"column {i + 1}" for i, title in enumerate(titles)]
    names = unique(given)
    changed = [(old, new) for old, new in zip(given, names, strict=True) if old != new]
    if not changed:
        return names, []
    columns = counted(len(changed), "column")
    old, new = changed[0]
    return names, [f"{columns} renamed, because others have the same name: {old!r} became {new!r}"]


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
