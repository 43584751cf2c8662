"""CSV and its relatives: which delimiter, which decimal mark, is there a header, then pandas."""

from __future__ import annotations

import csv
import io
import re
import sys
import warnings
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ._layout import DELIMITERS, MISSING, WHITESPACE, Layout, find_layout
from ._strangers import guarded, unzipped
from ._table import STDIN, Format, Raw, Skipped, TableError, need

_SAMPLE_BYTES = 2**20
_GZIP = b"\x1f\x8b"
# A first line by which spreadsheets are told the delimiter.
_SEP_LINE = re.compile(rb"\A(?:\xef\xbb\xbf)?sep=(.)\r?\n", re.IGNORECASE)


@dataclass(frozen=True)
class TextOptions:
    """What a user says about a text file; None is to be found out."""

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    comment: str = "#"
    """Lines that begin like that are left out; empty: none are."""
    na_values: tuple[str, ...] = ()
    encoding: str = "utf-8"


@guarded
def read_text(
    path: str, format: Format, as_text: tuple[str, ...], known: tuple[str, ...], given: TextOptions
) -> Raw:
    """Columns of a text file; those named in ``as_text`` are not turned into numbers.

    ``known`` are names of columns that the file should have.
    """
    pandas = need("pandas", "CSV files")
    content, format = _content(path, format)
    if not content.strip():
        raise TableError(f"{_name(path)} is empty.")
    encoding = given.encoding
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        content, encoding = _from_utf16(path, content), "utf-8"
    elif b"\0" in content[:_SAMPLE_BYTES]:
        raise TableError(f"{_name(path)} is not a text file; give it the ending of its format.")
    encoding = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
    delimiter = given.delimiter
    if said := _SEP_LINE.match(content):
        content = b"\n" + content[said.end() :]
        delimiter = said[1].decode("latin-1") if delimiter is None else delimiter
    content, n_comments = _without_comments(content, given.comment.encode())
    if not content.strip():
        raise TableError(f"{_name(path)} has comments but no rows (--comment '' keeps them).")
    sample = _sample(path, content, encoding)
    layout = find_layout(sample, delimiter, given.decimal, given.header, known)
    _check_delimiter(path, layout)
    names = layout.names
    options: dict[str, Any] = {
        "sep": layout.delimiter, "decimal": layout.decimal, "names": names,
        "header": 0 if layout.header else None, "index_col": False, "encoding": encoding,
        "skipinitialspace": True, "na_values": sorted(_absent(given.na_values)),
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
    except (pandas.errors.ParserError, OverflowError) as error:
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
    raw.found = {
        "header": layout.header,
        "delimiter": "space" if layout.delimiter == WHITESPACE else layout.delimiter,
        "decimal": layout.decimal,
        "comment": given.comment if given.comment != "#" else None,
        "na_values": list(given.na_values) or None,
        "encoding": encoding.replace("utf-8-sig", "utf-8"),
    }
    raw.thousands, raw.remarks = layout.thousands, list(layout.remarks)
    raw.line_1 = None if layout.header else layout.lines[0]
    if n_comments:
        lines = "1 line that begins" if n_comments == 1 else f"{n_comments:,} lines that begin"
        raw.remarks.append(f"{lines} with {given.comment!r} left out; --comment '' keeps them")
    if layout.delimiter == WHITESPACE:
        raw.format = replace(raw.format, delimiter=" ")
    if layout.row_names:
        raw.ids, raw.id_name = columns.pop(names[0]), "id"
    elif layout.nameless and _counts(columns[names[0]]) and names[0] not in as_text:
        del columns[names[0]]
        raw.skipped.append(Skipped(names[0], "row numbers without a name"))
    return raw


def _absent(na_values: tuple[str, ...]) -> set[str]:
    """What stands for a missing value, beside what pandas knows."""
    return {*na_values, *(word for word in MISSING if word), *(w.upper() for w in MISSING if w)}


def _from_utf16(path: str, content: bytes) -> bytes:
    try:
        return content.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise _not_text(path, error) from None


def _without_comments(content: bytes, mark: bytes) -> tuple[bytes, int]:
    """The content with empty lines in place of comments, and their number.

    The last of those at the top stays, without its mark, if it names the columns below: then it has
    as many values as they, and no number as they have. ``#N/A`` is a missing value.
    """
    if not mark or not (content.startswith(mark) or b"\n" + mark in content):
        return content, 0
    comment = re.compile(
        rb"^" + re.escape(mark) + rb"(?!n/a)[^\r\n]*", re.MULTILINE | re.IGNORECASE
    )
    top = re.match(rb"(?:" + re.escape(mark) + rb"[^\n]*\n)*", content)
    begin = 0
    kept = b""
    lines = top[0].splitlines(keepends=True) if top else []
    if lines and _names(lines[-1][len(mark) :], content[len(b"".join(lines)) :]):
        kept = b" " * len(mark) + lines[-1][len(mark) :]
        above, n_above = comment.subn(b"", b"".join(lines[:-1]))
        begin = len(b"".join(lines))
        below, n_below = comment.subn(b"", content[begin:])
        return above + kept + below, n_above + n_below
    return comment.subn(b"", content)


def _names(line: bytes, below: bytes) -> bool:
    """Whether a comment names the columns of what stands below."""
    first = below.lstrip(b"\r\n").split(b"\n", 1)[0]
    number = re.compile(rb"\s*[+-]?[0-9.,]+(e[+-]?[0-9]+)?\s*", re.IGNORECASE)
    for delimiter in DELIMITERS:
        titles, values = line.split(delimiter.encode()), first.split(delimiter.encode())
        if len(titles) == len(values) > 1:
            return any(map(number.fullmatch, values)) and not any(map(number.fullmatch, titles))
    return False


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
        if error.start < len(start) - 4:
            raise _not_text(path, error) from None
        return start[: error.start].decode(encoding)
    except LookupError:
        raise TableError(f"{encoding!r} is not the name of an encoding; try latin-1.") from None


def _counts(column: Any) -> bool:
    """Whether a column is 0, 1, 2, … or 1, 2, 3, …"""
    values = column.to_numpy()
    if values.dtype.kind not in "iu":
        return False
    return values[0] in (0, 1) and bool((values[1:] - values[:-1] == 1).all())


def _check_delimiter(path: str, layout: Layout) -> None:
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
    layout: Layout,
    otherwise: str = "its lines differ in length",
    only_short: bool = False,
) -> str:
    """Which line does not have as many values as the others."""
    if layout.delimiter == WHITESPACE:
        lines: Any = (line.split() for line in io.StringIO(content.decode(encoding)))
        reader = None
    else:
        text = io.StringIO(content.decode(encoding), newline="")
        reader = lines = csv.reader(text, delimiter=layout.delimiter, skipinitialspace=True)
    width = len(layout.names)
    try:
        header = layout.header
        for number, line in enumerate(lines, 1):
            if header and any(line):
                header = False
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
