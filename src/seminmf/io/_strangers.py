"""Files from strangers: what they claim is compared with the memory there is, before it is used.

Whatever a reader of another library stumbles over becomes a `TableError` that names the file.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from .._memory import available
from ._table import TableError, name_of

_Rest = ParamSpec("_Rest")
_Result = TypeVar("_Result")
_Reader = Callable[Concatenate[str, _Rest], _Result]
# Bytes that are unpacked at a time.
_PIECE = 2**24


def check_room(path: str, needed: int) -> None:
    """Refuse what does not fit in memory; some files of a few bytes claim terabytes."""
    room = available()
    if needed > room:
        raise TableError(
            f"{path} says that it holds {needed / 1e9:,.1f} GB when unpacked, and there are "
            f"{room / 1e9:,.1f} GB of memory. Is it damaged? If not, save it as .npy, .parquet or "
            ".zarr and read it in parts."
        )


def unzipped(path: str, content: bytes) -> bytes:
    """The content of a gzip file, unpacked as long as there is room for it."""
    pieces, size = [], 0
    while content:
        stream = zlib.decompressobj(wbits=31)
        while not stream.eof:
            piece = stream.decompress(content, _PIECE)
            content = stream.unconsumed_tail
            if not piece and not stream.eof:
                raise EOFError("it ends too early")
            size += len(piece)
            check_room(path, size)
            pieces.append(piece)
        content = stream.unused_data.lstrip(b"\0")
    return b"".join(pieces)


def guarded(
    what: str = "",
) -> Callable[[_Reader[_Rest, _Result]], _Reader[_Rest, _Result]]:
    """Have a reader of ``what``, which takes the name of a file first, raise only our errors."""
    wrong = f"is not {what}, or is damaged" if what else "is damaged"

    def decorated(reader: _Reader[_Rest, _Result]) -> _Reader[_Rest, _Result]:
        @functools.wraps(reader)
        def reading(path: str, /, *rest: _Rest.args, **more: _Rest.kwargs) -> _Result:
            try:
                return reader(path, *rest, **more)
            except (TableError, ImportError):
                raise
            except MemoryError as error:
                raise TableError(
                    f"{name_of(path)} does not fit in memory; is it damaged?"
                ) from error
            except Exception as error:  # whatever another library stumbles over
                raise TableError(f"{name_of(path)} {wrong}: {_reason(error)}") from error

        return reading

    return decorated


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    if text and type(error) is ValueError:  # who raises it says what is wrong with a value
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
