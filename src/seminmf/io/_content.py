"""The bytes of a text file: uncompressed, in an encoding that pandas takes, without comments."""

from __future__ import annotations

import re
import sys
import zlib
from dataclasses import replace
from pathlib import Path

from ._layout import DELIMITERS
from ._strangers import unzipped
from ._table import STDIN, Format, TableError, name_of

SAMPLE_BYTES = 2**20
# A header, a line of units and two lines of numbers, however many columns they have.
_LEAST_LINES = 4
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
# Marks of the order of bytes; the longer come first, as they begin like the shorter.
_BYTE_ORDERS = {
    b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}  # fmt: skip

# How files of other kinds begin.
_BEGINNINGS = {
    b"PK\3\4": ".xlsx or .npz", b"PAR1": ".parquet", b"\x93NUMPY": ".npy", b"ARROW1": ".feather",
    b"\x89HDF": ".h5ad or .h5",
}  # fmt: skip

_WIDE = re.compile(r"utf[-_]?(16|32)([-_]?[lb]e)?", re.IGNORECASE)


def content_of(path: str, format: Format) -> tuple[bytes, Format]:
    if path == STDIN and sys.stdin is None:
        raise TableError("standard input is closed; give it a table, or name a file.")
    content = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    if content[:2] == _GZIP:
        try:
            return unzipped(name_of(path), content), replace(format, gzip=path != STDIN)
        except (EOFError, OSError, zlib.error) as error:
            raise TableError(f"{name_of(path)} is a damaged gzip file: {error}") from None
    if format.gzip:
        raise TableError(f"{name_of(path)} ends in .gz but is not a gzip file; rename it.")
    return content, format


def in_bytes(path: str, content: bytes, encoding: str) -> tuple[bytes, str]:
    """The content and its encoding, one whose letters and digits are those of ASCII."""
    wide = next((name for mark, name in _BYTE_ORDERS.items() if content.startswith(mark)), None)
    if wide is None and _WIDE.fullmatch(encoding):
        wide = encoding
    if wide is not None:
        try:
            return content.decode(wide).removeprefix("\ufeff").encode(), "utf-8"
        except UnicodeDecodeError as error:
            raise not_text(path, error) from None
    start = content[:SAMPLE_BYTES]
    if b"\0" in start:
        # Letters of two bytes each, of which one is zero; a file of another kind is not so regular.
        for name, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
            if zeros.count(b"\0") > 0.9 * len(zeros) and start.count(b"\0") < 0.6 * len(start):
                raise TableError(f"{name_of(path)} looks like UTF-16; say --encoding {name}.")
        raise TableError(f"{name_of(path)} is not a text file; {_another(content)}.")
    return content, "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding


def _another(content: bytes) -> str:
    """What to do about a file of another kind."""
    ending = next((end for mark, end in _BEGINNINGS.items() if content.startswith(mark)), None)
    if ending is None:
        return "give it the ending of its format"
    return f"it begins like one of {ending}: give it that ending"


def not_text(path: str, error: UnicodeDecodeError) -> TableError:
    byte = error.object[error.start]
    return TableError(
        f"{name_of(path)} is not {error.encoding} text (byte 0x{byte:02x} at position "
        f"{error.start}); save it as UTF-8, or say what it is, as in --encoding latin-1."
    )


def sample_of(path: str, content: bytes, encoding: str) -> str:
    """The first lines."""
    lines = re.match(rb"(?:[^\r\n]*[\r\n]+){,%d}" % _LEAST_LINES, content)
    start = content[: max(SAMPLE_BYTES, lines.end() if lines else 0)]
    if len(content) > len(start) and b"\n" in start:
        start = start[: start.rindex(b"\n") + 1]
    try:
        return start.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start < len(start) - 4:
            raise not_text(path, error) from None
        return start[: error.start].decode(encoding)
    except LookupError:
        raise TableError(f"{encoding!r} is not the name of an encoding; try latin-1.") from None


def without_lines(content: bytes, spans: list[tuple[int, int]]) -> bytes:
    """The content with empty lines in place of some, given by the first and last of each."""
    if not spans:
        return content
    gone = {number for first, last in spans for number in range(first, last + 1)}
    last, begin, kept = max(gone), 0, []
    for number, end in enumerate(re.finditer(rb"\r\n|\n|\r|\Z", content), 1):
        kept.append(end[0] if number in gone else content[begin : end.end()])
        begin = end.end()
        if number == last:
            break
    return b"".join(kept) + content[begin:]


def without_copies(content: bytes) -> tuple[bytes, int]:
    """The content with empty lines in place of copies of its first, and their number.

    Tables that were put one behind the other have their names of columns in between.
    """
    first = re.search(rb"[^\r\n]+", content)
    title = first[0].removeprefix(_BOM) if first else b""
    if first is None or content.count(title) < 2:
        return content, 0
    copy = rb"(?<=[\r\n])(?:" + _BOM + rb")?" + re.escape(title) + rb"(?=[\r\n]|\Z)"
    rest, count = re.subn(copy, b"", content[first.end() :])
    return content[: first.end()] + rest, count


def without_empty_end(content: bytes, delimiter: str) -> tuple[bytes, int]:
    """The content without lines of nothing but delimiters at its end, and their number.

    Spreadsheets write them below a table of which rows were deleted.
    """
    used = len(content.rstrip(delimiter.encode() + b'" \t\r\n'))
    end = re.compile(rb"\r\n|\n|\r").search(content, used)
    below_header = re.search(rb"\S[^\r\n]*[\r\n]\s*\S", content)
    if end is None or below_header is None or below_header.end() > used:
        return content, 0  # no such line, or nothing but such lines below the header
    count = sum(1 for line in content[end.end() :].splitlines() if line.strip())
    return (content[: end.end()], count) if count else (content, 0)


def without_comments(content: bytes, mark: bytes) -> tuple[bytes, int]:
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
    lines = top[0].splitlines(keepends=True) if top else []
    begin = len(b"".join(lines))
    if lines and _names(lines[-1][len(mark) :], content[begin:]):
        kept = b" " * len(mark) + lines[-1][len(mark) :]
        above, n_above = comment.subn(b"", b"".join(lines[:-1]))
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
