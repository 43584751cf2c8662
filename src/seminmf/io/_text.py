"""CSV and its relatives: which delimiter, which decimal mark, is there a header, then pandas."""

from __future__ import annotations

import csv
import io
import re
import warnings
from dataclasses import dataclass, replace
from typing import Any

from .._words import counted
from ._content import (
    content_of,
    in_bytes,
    not_text,
    sample_of,
    without_comments,
    without_copies,
    without_empty_end,
    without_lines,
)
from ._layout import WHITESPACE, Layout, find_layout, records
from ._marks import MISSING
from ._strangers import guarded
from ._table import Format, Raw, TableError, name_of, pandas_for

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


@guarded()
def read_text(
    path: str, format: Format, as_text: tuple[str, ...], known: tuple[str, ...], given: TextOptions
) -> Raw:
    """Columns of a text file; those named in ``as_text`` are not turned into numbers.

    ``known`` are names of columns that the file should have.
    """
    pandas = pandas_for("CSV files")
    content, format = content_of(path, format)
    if not content.strip():
        raise TableError(f"{name_of(path)} is empty.")
    content, encoding = in_bytes(path, content, given.encoding)
    delimiter = given.delimiter
    if said := _SEP_LINE.match(content):
        content = b"\n" + content[said.end() :]
        delimiter = said[1].decode("latin-1") if delimiter is None else delimiter
    content, n_comments = without_comments(content, given.comment.encode())
    if not content.strip():
        raise TableError(f"{name_of(path)} has comments but no rows (--comment '' keeps them).")
    sample = sample_of(path, content, encoding)
    layout = find_layout(sample, delimiter, given.decimal, given.header, known, given.na_values)
    _check_delimiter(path, layout)
    content = without_lines(content, layout.left_out)
    n_copies = n_empty = 0
    if layout.header:
        content, n_copies = without_copies(content)
    if layout.delimiter != WHITESPACE:
        content, n_empty = without_empty_end(content, layout.delimiter)
    names = layout.names
    options: dict[str, Any] = {
        "sep": layout.delimiter, "decimal": layout.marks.decimal, "names": names,
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
        raise not_text(path, error) from None
    if len(frame) == 0:
        hidden = f"; {_commented(n_comments, given.comment)}" if n_comments else ""
        raise TableError(f"{name_of(path)} has a header but no rows{hidden}.")
    if len(names) > 1 and frame[names[-1]].isna().any():
        # A line that ends too early looks like one whose last values are missing.
        short = _ragged(path, content, encoding, layout, only_short=True)
        if short:
            raise TableError(short)
    columns = {name: frame[name] for name in names}
    raw = Raw(replace(format, delimiter=layout.delimiter, decimal=layout.marks.decimal), columns)
    raw.found = {
        "header": layout.header,
        "delimiter": "space" if layout.delimiter == WHITESPACE else layout.delimiter,
        "decimal": layout.marks.decimal,
        "comment": given.comment if given.comment != "#" else None,
        "na_values": list(given.na_values) or None,
        "encoding": given.encoding,
    }
    raw.marks, raw.remarks = layout.marks, list(layout.remarks)
    raw.line_1 = None if layout.header else layout.lines[0]
    if n_copies:
        lines = "1 line that repeats" if n_copies == 1 else f"{n_copies:,} lines that repeat"
        raw.remarks.append(f"{lines} the header left out")
    if n_empty:
        raw.remarks.append(f"{counted(n_empty, 'line')} without any value at the end left out")
    if n_comments:
        raw.remarks.append(_commented(n_comments, given.comment))
    if layout.delimiter == WHITESPACE:
        raw.format = replace(raw.format, delimiter=" ")
    if layout.row_names:
        raw.ids, raw.id_name = columns.pop(names[0]), "id"
    elif layout.nameless:
        raw.nameless = names[0]
    return raw


def _commented(count: int, mark: str) -> str:
    lines = "1 line that begins" if count == 1 else f"{count:,} lines that begin"
    return f"{lines} with {mark!r} left out; --comment '' keeps {'it' if count == 1 else 'them'}"


def _absent(na_values: tuple[str, ...]) -> set[str]:
    """What stands for a missing value, beside what pandas knows."""
    return {*na_values, *(word for word in MISSING if word), *(w.upper() for w in MISSING if w)}


def _check_delimiter(path: str, layout: Layout) -> None:
    if len(layout.names) > 1 or all(layout.marks.is_number(v) for v, *_ in layout.lines[1:]):
        return
    for other in (";", "\t", "|", ","):
        if other != layout.delimiter and all(other in line[0] for line in layout.lines[:20]):
            shown = {"\t": "tab"}.get(other, other)
            raise TableError(
                f"{name_of(path)}: with the delimiter {layout.delimiter!r} there is one column, "
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
    width = len(layout.names)
    header = layout.header
    try:
        for _, last, line in records(content.decode(encoding), layout.delimiter):
            if header and any(line):
                header = False
                continue
            short = 0 < len(line) < width and line != [""]
            if short or (len(line) > width and not only_short):
                return (
                    f"{name_of(path)}: line {last} has {counted(len(line), 'value')}, but there "
                    f"{'is' if width == 1 else 'are'} {counted(width, 'column')}; correct or "
                    "remove this line (is a text with the delimiter in quotes?)"
                    f"{_as_comment(line)}."
                )
    except csv.Error as error:
        return f"{name_of(path)}: {error}"
    return "" if only_short else f"{name_of(path)}: {' '.join(otherwise.split())}"


def _as_comment(line: list[str]) -> str:
    """A word on lines that begin with a mark of their own."""
    mark = re.match(r"[^\w\s.,+\"'(\x00-\x1f-]", line[0])
    return f", or leave out lines that begin so with --comment '{mark[0]}'" if mark else ""
