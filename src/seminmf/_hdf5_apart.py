"""The process that opens an HDF5 file for `_hdf5` and answers its questions.

A question is a line, ``(what, name of a node, ...)``; an answer is a line and perhaps bytes. Lines
are Python literals. While libhdf5 loops for ever no Python code runs, so a thread of C ends the
process when an answer takes too long.
"""

from __future__ import annotations

import ast
import faulthandler
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

# Seconds an answer may take, and bytes for which it may take one more: a small damaged file answers
# at once or never.
SECONDS = 20
BYTES_PER_SECOND = 2**23


def serve(path: str) -> None:
    """Answer questions from standard input on standard output, until the input ends."""
    _limit_memory()
    file = None
    with Path(os.devnull).open("wb") as nowhere:
        for line in sys.stdin.buffer:
            what, name, *more = ast.literal_eval(line.decode())
            seconds = SECONDS + (more[-1] / BYTES_PER_SECOND if what == "read" else 0)
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            try:
                if file is None:
                    import h5py

                    file = h5py.File(path, "r")
                pieces = list(_ANSWERS[what](file, name, *more))
            except Exception as error:  # whatever h5py stumbles over
                pieces = [_line(error=type(error).__name__, text=str(error))]
            faulthandler.cancel_dump_traceback_later()
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()


def _limit_memory() -> None:
    """Limit memory to what the machine has, whatever a file claims to need."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if soft < 0 else min(most, soft), hard))


def _line(**answer: Any) -> bytes:
    return ascii(answer).encode() + b"\n"


def _node(file: Any, name: str) -> Iterator[bytes]:
    """Names in a group; type, shape, chunks and bytes of an array; None if there is no node."""
    if name != "/" and (name not in file or _leads_nowhere(file, name)):
        return iter([_line(value=None)])
    node = file[name]
    if not hasattr(node, "dtype"):
        return iter([_line(value=list(node))])
    if node.shape is None:  # an empty dataspace
        return iter([_line(value=(node.dtype.str, (0,), None, 0))])
    return iter([_line(value=(_kind(node.dtype), node.shape, node.chunks, node.nbytes))])


def _leads_nowhere(file: Any, name: str) -> bool:
    """Whether the name is a link whose target is missing."""
    link = type(file.get(name, getlink=True)).__name__
    return link != "HardLink" and file.get(name) is None


def _kind(dtype: Any) -> Any:
    """A type as a literal: its string, or names, types and shapes of its fields."""
    if dtype.names is None:
        return dtype.str
    return [(name, _kind(dtype[name].base), dtype[name].shape) for name in dtype.names]


def _attribute(file: Any, name: str, key: str) -> Iterator[bytes]:
    value = file[name].attrs.get(key)
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    value = value.tolist() if hasattr(value, "tolist") else value
    known = isinstance(value, str | int | float | list)
    return iter([_line(value=value if known else None)])


def _read(file: Any, name: str, start: int | None, stop: int | None, _size: int) -> Iterator[Any]:
    return _array(file[name][() if start is None else slice(start, stop)])


def _array(found: Any) -> Iterator[Any]:
    import numpy as np

    array = np.asarray(found)
    if array.dtype.names is not None:
        yield _line(fields=list(array.dtype.names), shape=array.shape)
        for field in array.dtype.names:
            yield from _array(array[field])
    elif array.dtype.kind == "O":
        texts = [v.encode("utf-8", "replace") if isinstance(v, str) else v for v in array.flat]
        if not all(isinstance(text, bytes) for text in texts):
            raise TypeError("values are neither numbers nor text")
        yield _line(lengths=list(map(len, texts)), shape=array.shape)
        yield b"".join(texts)
    else:
        yield _line(dtype=array.dtype.str, shape=array.shape)
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.nbytes else b""


_ANSWERS: dict[str, Any] = {"node": _node, "attribute": _attribute, "read": _read}
