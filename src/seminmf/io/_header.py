"""Which line names the columns, and which belong neither to the names nor to the samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from .._words import counted
from ._marks import MISSING, Marks

# So many numbers in line 1 that stand at equal steps, or only rise or only fall, are not there by
# chance, if hardly any other line is like that.
_STEPS, _RISING = 4, 6
# Lines below a line of units that have to be numbers.
_BELOW_UNITS = 2
# Characters of a line that is left out, as a remark shows them.
_SHOWN = 40

Lines = list[list[str]]


def width_of(lines: Lines) -> int:
    """How many values most lines have; none if there are no lines."""
    return max(Counter(len(line) for line in lines).most_common(1), default=(0, 0))[0]


def beside_table(
    lines: Lines, marks: Marks, gaps: Collection[str] = ()
) -> tuple[list[int], list[str]]:
    """Places of lines that are neither names nor samples, with a remark on them.

    Above the table there may be titles and notes, which have fewer values; below the names of its
    columns their units, or a second line of names. ``gaps`` are further words for missing values.
    """
    top = _titles(lines, marks)
    remarks = [_left_out(lines[0], "above the table", top)] if top else []
    if _has_units(lines[top:], marks, gaps):
        texts = list(dict.fromkeys(v for v in lines[top + 1] if v))
        cure = f"; --na-values {texts[0]!r} if that is a gap" if len(texts) == 1 else ""
        remarks.append(
            f"the line below the header left out, which has text above numbers: {texts[0]!r}{cure}"
        )
        return [*range(top), top + 1], remarks
    return list(range(top)), remarks


def _left_out(line: list[str], where: str, count: int) -> str:
    text = " ".join(v for v in line if v)
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f"{counted(count, 'line')} {where} left out: {shown!r}"


def _titles(lines: Lines, marks: Marks) -> int:
    """How many lines stand above the table."""
    width = width_of(lines[1:] or lines)
    top = next((i for i, line in enumerate(lines) if len(line) >= width), 0)
    if top and len(lines[top - 1]) == width - 1 and all(map(marks.is_number, lines[top])):
        top -= 1  # names of the columns by R, which has none for those of the rows
    if top and not _names_numbers(lines[top:], marks):
        lone = all(len(line) == 1 for line in lines[:top]) and width > 2
        top = top if lone else 0
    names = next((i for i in range(top, len(lines)) if not _is_sparse(lines[i], width, marks)), top)
    return names if _names_numbers(lines[names:], marks) else top


def _is_sparse(line: list[str], width: int, marks: Marks) -> bool:
    """Whether at most half of the columns have something here, and that no number."""
    present = [v for v in line if v]
    return width > 2 and len(present) * 2 <= width and not any(map(marks.is_number, present))


def _names_numbers(lines: Lines, marks: Marks) -> bool:
    """Whether the first of these lines names columns, of which some have numbers."""
    if len(lines) < 2 or len(lines[0]) != len(lines[1]):
        return False
    most = sum(map(bool, lines[0])) * 2 > len(lines[0])
    numbers = any(marks.is_number(v) for line in lines[1 : 2 + _BELOW_UNITS] for v in line)
    return most and numbers and has_header(lines, marks, ())[0]


def _has_units(lines: Lines, marks: Marks, gaps: Collection[str]) -> bool:
    """Whether line 2 has text and no number where all lines below have numbers."""
    if len(lines) < 2 + _BELOW_UNITS or len(lines[0]) != len(lines[1]):
        return False
    known = MISSING | {gap.lower() for gap in gaps}
    places = _numeric_places(lines[1], lines[2:], marks, known)
    texts = [lines[1][place] for place in places if lines[1][place].lower() not in known]
    above = [lines[0][place] for place in places]
    return (
        len(places) > 1
        and len(texts) * 2 > len(places)
        and not any(map(marks.is_number, texts))
        and not any(map(marks.is_number, above))
    )


def _numeric_places(
    first: list[str], body: Lines, marks: Marks, missing: Collection[str]
) -> list[int]:
    """Columns that have numbers below the first line, and nothing else."""
    columns = _columns(len(first), body, missing)
    return [
        place
        for place, below in enumerate(columns)
        if below and all(marks.is_number(v) for v in below)
    ]


def _columns(count: int, body: Lines, missing: Collection[str]) -> list[list[str]]:
    return [
        [line[place] for line in body if place < len(line) and line[place].lower() not in missing]
        for place in range(count)
    ]


def has_header(lines: Lines, marks: Marks, known: Sequence[str]) -> tuple[bool, str]:
    """Whether line 1 names the columns; and a remark, where that is not plain to see."""
    first, body = lines[0], lines[1:]
    present = [v for v in first if v]
    if any(name in first for name in known):
        return True, ""
    if not body:
        return not all(marks.is_number(v) for v in present), ""
    columns = _columns(len(first), body, MISSING)
    numeric = [p for p in _numeric_places(first, body, marks, MISSING) if first[p]]
    if not numeric:
        return not any(marks.is_number(v) for v in present), ""
    above = [first[place] for place in numeric]
    words = [v for v in above if not marks.is_number(v) and v.lower() not in MISSING]
    if words:
        guessed = len(words) * 2 <= len(above)
        why = f"{words[0]!r} stands above numbers"
        return True, _told(why) if guessed else ""
    rows = [[columns[place][row] for place in numeric] for row in range(_whole(columns, numeric))]
    numbers, others = _values(above, marks), [_values(row, marks) for row in rows]
    if numbers and (why := _counts_up(numbers, others)):
        return True, _told(why)
    if numbers and len(others) > 2 and len(numbers) > 1 and _far(numbers, others):
        if _in_order(numbers):
            direction = "rise" if numbers[0] < numbers[1] else "fall"
            return True, _told(f"its numbers {direction} and are far from all others")
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


def _values(texts: list[str], marks: Marks) -> list[float]:
    """Numbers; none if there is a word such as true among them."""
    try:
        return [float(marks.point(text)) for text in texts]
    except ValueError:
        return []


def _in_order(row: list[float]) -> bool:
    return all(a < b for a, b in pairwise(row)) or all(a > b for a, b in pairwise(row))


def _counts_up(numbers: list[float], others: list[list[float]]) -> str:
    """Why the numbers of line 1 are those of columns; nothing if they are not."""

    def stepping(row: list[float]) -> bool:
        return len({round(b - a, 9) for a, b in pairwise(row)}) == 1 and row[1] != row[0]

    def rare(test: Callable[[list[float]], bool]) -> bool:
        return sum(test(row) for row in others if row) * 10 <= len(others)

    if len(numbers) > 1 and numbers == [float(i) for i in range(len(numbers))]:
        return "it counts 0, 1, …" if numbers not in others else ""
    if len(numbers) >= _STEPS and stepping(numbers) and rare(stepping):
        return f"it counts {numbers[0]:g}, {numbers[1]:g}, …"
    if len(numbers) >= _RISING and _in_order(numbers) and rare(_in_order):
        direction = "rise" if numbers[0] < numbers[1] else "fall"
        return f"its numbers {direction} from one to the next"
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
