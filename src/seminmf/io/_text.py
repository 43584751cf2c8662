"""CSV and its relatives: which delimiter, which decimal mark, is there a header, then pandas."""

from __future__ import annotations

import csv
import io
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ._strangers import guarded, unzipped
from ._table import STDIN, Format, Raw, Skipped, TableError, need

_DELIMITERS = (",", ";", "\t", "|")
_WHITESPACE = r"\s+"
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|",
          "space": _WHITESPACE, " ": _WHITESPACE}  # fmt: skip
_SAMPLE_BYTES, _SAMPLE_LINES = 2**20, 200
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf|true|false", re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?|nan|inf", re.IGNORECASE)
_MISSING = {"", "na", "n/a", "nan", "null", "none", "#n/a", "<na>"}
_GZIP = b"\x1f\x8b"


@guarded
def read_text(
    path: str,
    format: Format,
    as_text: tuple[str, ...],
    delimiter: str | None,
    header: bool | None,
    encoding: str,
) -> Raw:
    """Columns of a text file; those named in ``as_text`` are not turned into numbers."""
    pandas = need("pandas", "CSV files")
    content, format = _content(path, format)
    if not content.strip():
        raise TableError(f"{_name(path)} is empty.")
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif b"\0" in content[:_SAMPLE_BYTES]:
        raise TableError(f"{_name(path)} is not a text file; give it the ending of its format.")
    encoding = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
    layout = _sniff(path, _sample(path, content, encoding), delimiter, header)
    _check_delimiter(path, layout)
    names = layout.names
    options: dict[str, Any] = {
        "sep": layout.delimiter, "decimal": layout.decimal, "names": names,
        "header": 0 if layout.header else None, "index_col": False, "encoding": encoding,
        "skipinitialspace": True,
        "dtype": {name: str for name in as_text if name in names},
        "true_values": ["true", "True", "TRUE"], "false_values": ["false", "False", "FALSE"],
    }  # fmt: skip
    if int(pandas.__version__.split(".")[0]) < 3:
        options["float_precision"] = "round_trip"  # later versions always read exactly
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            warnings.simplefilter("ignore", pandas.errors.DtypeWarning)
            frame = pandas.read_csv(io.BytesIO(content), **options)
    except pandas.errors.ParserWarning:
        raise TableError(_ragged(path, content, encoding, layout)) from None
    except pandas.errors.ParserError as error:
        raise TableError(_ragged(path, content, encoding, layout, str(error))) from None
    except UnicodeDecodeError as error:
        raise _not_text(path, error) from None
    if len(frame) == 0:
        raise TableError(f"{_name(path)} has a header but no rows.")
    if len(names) > 1 and frame[names[-1]].isna().any():
        # A line that ends too early looks like one whose last values are missing.
        short = _ragged(path, content, encoding, layout, only_short=True)
        if short:
            raise TableError(short)
    columns = {name: frame[name] for name in names}
    raw = Raw(replace(format, delimiter=layout.delimiter, decimal=layout.decimal), columns)
    if layout.delimiter == _WHITESPACE:
        raw.format = replace(raw.format, delimiter=" ")
    if layout.row_names:
        raw.ids, raw.id_name = columns.pop(names[0]), "id"
    elif layout.nameless and _counts(columns[names[0]]) and names[0] not in as_text:
        del columns[names[0]]
        raw.skipped.append(Skipped(names[0], "row numbers without a name"))
    return raw


def _name(path: str) -> str:
    return "standard input" if path == STDIN else path


def _content(path: str, format: Format) -> tuple[bytes, Format]:
    content = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    if content[:2] == _GZIP:
        try:
            return unzipped(_name(path), content), replace(format, gzip=path != STDIN)
        except (EOFError, OSError, zlib.error) as error:
            raise TableError(f"{_name(path)} is a damaged gzip file: {error}") from None
    if format.gzip:
        raise TableError(f"{_name(path)} ends in .gz but is not a gzip file; rename it.")
    return content, format


def _not_text(path: str, error: UnicodeDecodeError) -> TableError:
    byte = error.object[error.start]
    return TableError(
        f"{_name(path)} is not {error.encoding} text (byte 0x{byte:02x} at position "
        f"{error.start}); save it as UTF-8, or say what it is, as in --encoding latin-1."
    )


def _sample(path: str, content: bytes, encoding: str) -> str:
    start = content[:_SAMPLE_BYTES]
    if len(content) > len(start) and b"\n" in start:
        start = start[: start.rindex(b"\n") + 1]
    try:
        return start.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-16" or error.start < len(start) - 4:
            raise _not_text(path, error) from None
        return start[: error.start].decode(encoding)
    except LookupError:
        raise TableError(f"{encoding!r} is not the name of an encoding; try latin-1.") from None


@dataclass(frozen=True)
class _Layout:
    delimiter: str
    decimal: str
    header: bool
    names: list[str]
    row_names: bool
    """The header has a name less than the lines have values: the first are names of rows (R)."""
    nameless: bool
    """The first column has no name (pandas writes its index like that)."""
    lines: list[list[str]]


def _split(text: str, delimiter: str) -> list[list[str]]:
    lines = io.StringIO(text, newline="")
    found: list[list[str]] = []
    records: Iterable[list[str]] = (line.split() for line in lines)
    if delimiter != _WHITESPACE:
        records = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        for record in records:
            if any(field.strip() for field in record):
                found.append([field.strip() for field in record])
            if len(found) >= _SAMPLE_LINES:
                break
    except csv.Error:
        pass  # what there is tells enough; pandas will say what is wrong
    return found


def _is_number(field: str, decimal: str) -> bool:
    pattern = _NUMBER if decimal == "." else _COMMA_NUMBER
    return pattern.fullmatch(field) is not None


def _decimal(delimiter: str, fields: list[str]) -> str:
    """A comma if numbers have it and none has a point."""
    if delimiter == ",":
        return "."
    commas = sum("," in f and _is_number(f, ",") for f in fields)
    points = sum("." in f and _is_number(f, ".") for f in fields)
    return "," if commas and not points else "."


def _score(delimiter: str, lines: list[list[str]]) -> tuple[bool, float, int]:
    """Lines of one length, then the share of numbers, then the number of columns."""
    body = lines[1:] or lines
    (length, count), *_ = Counter(len(line) for line in body).most_common(1)
    fields = [f for line in body for f in line if f.lower() not in _MISSING]
    decimal = _decimal(delimiter, fields)
    numeric = sum(_is_number(f, decimal) for f in fields) / max(len(fields), 1)
    return length > 1 and count >= 0.9 * len(body), round(numeric, 2), length


def _sniff(path: str, text: str, delimiter: str | None, header: bool | None) -> _Layout:
    if delimiter is not None:
        chosen = _NAMED.get(delimiter, delimiter)
        if chosen != _WHITESPACE and len(chosen) != 1:
            raise TableError(
                f"the delimiter must be one character, or tab or space, got {delimiter!r}."
            )
        lines = _split(text, chosen)
    else:
        tried = {d: _split(text, d) for d in _DELIMITERS}
        scores = {d: _score(d, lines) for d, lines in tried.items()}
        chosen = max(_DELIMITERS, key=lambda d: scores[d])
        if not scores[chosen][0]:
            spaced = _split(text, _WHITESPACE)
            several, numeric, _ = _score(_WHITESPACE, spaced)
            if several and numeric >= 0.5:
                tried[_WHITESPACE], chosen = spaced, _WHITESPACE
            else:
                # One column, or lines of different lengths, which is said later.
                chosen = max(_DELIMITERS, key=lambda d: (scores[d][2] > 1, scores[d][1:]))
        lines = tried[chosen]
    body = lines[1:]
    decimal = _decimal(chosen, [f for line in body or lines for f in line])
    width = Counter(len(line) for line in body or lines).most_common(1)[0][0]
    has_header = _has_header(lines, decimal) if header is None else header
    if not has_header:
        names = [f"x{i}" for i in range(width)]
        return _Layout(chosen, decimal, False, names, False, False, lines)
    first = lines[0]
    row_names = len(body) > 0 and width == len(first) + 1 and bool(body[0][-1])
    fields = ["row name", *first] if row_names else first
    while (
        len(fields) > 1 and not fields[-1] and len(fields) > width - 1 and not _last(body, fields)
    ):
        fields = fields[:-1]  # every line ends with a delimiter
    nameless = not fields[0]
    names = _unique([field or f"column {i + 1}" for i, field in enumerate(fields)])
    return _Layout(chosen, decimal, True, names, row_names, nameless, lines)


def _last(body: list[list[str]], fields: list[str]) -> bool:
    """Whether any line has a value in the last column."""
    return any(len(line) >= len(fields) and line[len(fields) - 1] for line in body)


def _has_header(lines: list[list[str]], decimal: str) -> bool:
    """Whether the first line names columns: where the others have numbers it mostly has none."""
    first, body = lines[0], lines[1:]
    if not body:
        return not all(_is_number(f, decimal) for f in first if f)
    present = [f for f in first if f]
    counted = [str(i) for i in range(len(first) + 1)]
    # 0, 1, … or a long 1, 2, 3, … are numbers of columns.
    if len(present) > 1 and present == counted[: len(present)]:
        return True
    if len(present) > 4 and present == counted[1 : len(present) + 1]:
        return True
    votes = []
    for place, field in enumerate(first):
        below = [line[place] for line in body if place < len(line)]
        below = [f for f in below if f.lower() not in _MISSING]
        if field and below and all(_is_number(f, decimal) for f in below):
            votes.append(not _is_number(field, decimal))
    if not votes:
        return not any(_is_number(f, decimal) for f in present)
    return sum(votes) * 2 > len(votes)


def _unique(names: list[str]) -> list[str]:
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


def _counts(column: Any) -> bool:
    """Whether a column is 0, 1, 2, … or 1, 2, 3, …"""
    values = column.to_numpy()
    if values.dtype.kind not in "iu":
        return False
    return values[0] in (0, 1) and bool((values[1:] - values[:-1] == 1).all())


def _check_delimiter(path: str, layout: _Layout) -> None:
    if len(layout.names) > 1:
        return
    for other in (";", "\t", "|", ","):
        if other != layout.delimiter and all(other in line[0] for line in layout.lines[:20]):
            shown = {"\t": "tab"}.get(other, other)
            raise TableError(
                f"{_name(path)}: with the delimiter {layout.delimiter!r} there is one column, "
                f"but every line has {other!r}; use --delimiter '{shown}'."
            )


def _ragged(
    path: str,
    content: bytes,
    encoding: str,
    layout: _Layout,
    otherwise: str = "its lines differ in length",
    only_short: bool = False,
) -> str:
    """Which line does not have as many values as the others."""
    if layout.delimiter == _WHITESPACE:
        lines: Any = (line.split() for line in io.StringIO(content.decode(encoding)))
        reader = None
    else:
        text = io.StringIO(content.decode(encoding), newline="")
        reader = lines = csv.reader(text, delimiter=layout.delimiter, skipinitialspace=True)
    width = len(layout.names)
    try:
        for number, line in enumerate(lines, 1):
            if number == 1 and layout.header:
                continue
            short = 0 < len(line) < width and line != [""]
            if short or (len(line) > width and not only_short and any(line[width:])):
                where = reader.line_num if reader is not None else number
                return (
                    f"{_name(path)}: line {where} has {len(line)} values, but there are {width} "
                    "columns; correct this line (is a text with the delimiter in quotes?)."
                )
    except csv.Error as error:
        return f"{_name(path)}: {error}"
    return "" if only_short else f"{_name(path)}: {' '.join(otherwise.split())}"
