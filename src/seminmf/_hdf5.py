"""HDF5 files, opened in a process of their own.

libhdf5 crashes on some damaged files, and loops for ever on others. In a process of its own
(`_hdf5_apart`) it may die, and the caller gets an error. Groups and arrays here have the part of
h5py's interface that this package uses.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ._memory import available
from ._optional import need

# Bytes requested at a time, so that the other process needs little memory.
_PIECE = 2**24
# Size of the pipe between the two; with the default, large arrays take twice as long.
_WIDE = 2**20
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]); "
    "from seminmf._hdf5_apart import serve; serve(sys.argv[1])"
)


class _Attributes:
    def __init__(self, file: File, name: str) -> None:
        self._file, self._name = file, name

    def get(self, key: str, default: Any) -> Any:
        value = self._file.ask("attribute", self._name, key)
        return default if value is None else value


class Array:
    """An array of a file, read by ``[()]`` as a whole or by a slice of rows."""

    def __init__(self, file: File, name: str, told: tuple[Any, Any, Any, int]) -> None:
        self._file, self._name, self.attrs = file, name, _Attributes(file, name)
        kind, self.shape, self.chunks, self.nbytes = told
        self.dtype = np.dtype(kind)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Any:
        if not self.shape:
            return self._file.ask("read", self._name, None, None, self.nbytes)[()]
        start, stop, _ = (slice(None) if rows == () else rows).indices(len(self))
        row = max(self.nbytes // max(len(self), 1), 1)
        if row * (stop - start) > available():
            raise MemoryError(
                f"{row * (stop - start) / 1e9:,.1f} GB of {self._name} do not fit in memory"
            )
        values = np.empty((max(stop - start, 0), *self.shape[1:]), self.dtype)
        stored = int(self.chunks[0]) if self.chunks else 1
        step = max(_PIECE // (row * stored), 1) * stored
        for first in range(start, stop, step):
            last = min(first + step, stop)
            into = values[first - start : last - start]
            size = row * max(last - first, stored)
            found = self._file.ask("read", self._name, first, last, size, into=into)
            if found is not into:
                into[...] = found
        return values


class Group:
    """A group of a file."""

    def __init__(self, file: File, name: str, names: list[str]) -> None:
        self._file, self._name, self.attrs = file, name, _Attributes(file, name)
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __getitem__(self, name: str) -> Any:
        node = self.get(name)
        if node is None:
            raise KeyError(f"{self._name} has no {name!r}")
        return node

    def get(self, name: str, default: Any = None) -> Any:
        """The group or array of this name."""
        path = f"{self._name.rstrip('/')}/{name}"
        told = self._file.ask("node", path)
        if told is None:
            return default
        kind = Group if isinstance(told, list) else Array
        return kind(self._file, path, told)


class File(Group):
    """A file open for reading. A copy of it, in a fork or pickled, opens the file anew."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = str(Path(path).absolute())
        self._reader = _Reader(self._path)
        need("h5py", "HDF5 files")  # a better message than the other process, starting meanwhile
        super().__init__(self, "/", self.ask("node", "/"))

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.end()

    def __reduce__(self) -> Any:
        return File, (self._path,)

    def ask(self, *question: Any, into: Any = None) -> Any:
        """The other process's answer; an array is read into ``into`` if shape and type match."""
        reader = self._reader
        if not reader.end.alive or reader.owner != os.getpid():
            reader = self._reader = _Reader(self._path)
        return reader.ask(question, into)


class _Reader:
    """The other process. It ends with this object, or by itself when its input ends."""

    def __init__(self, path: str) -> None:
        self._path, self.owner, self._lock = path, os.getpid(), threading.Lock()
        # A Ctrl-C reaches this process only, which ends the other one.
        apart: dict[str, Any] = {"process_group": 0}
        if sys.platform == "win32":
            flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
            apart = {"creationflags": flags}
        self._process = subprocess.Popen(  # noqa: S603 - this Python, and text of ours
            [sys.executable, "-P", "-c", _START, path, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            **apart,
        )
        self.end = weakref.finalize(self, _end, self._process, self.owner)
        with suppress(ImportError, AttributeError, OSError):  # only Linux has wide pipes, not many
            import fcntl

            fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, _WIDE)  # type: ignore[arg-type]

    def ask(self, question: tuple[Any, ...], into: Any) -> Any:
        with self._lock:
            try:
                assert self._process.stdin is not None
                self._process.stdin.write(ascii(question).encode() + b"\n")
                self._process.stdin.flush()
                answer = self._answer(into)
            except (EOFError, BrokenPipeError):
                self.end()
                raise OSError(
                    f"HDF5's library crashed over {Path(self._path).name}, or came to no end"
                ) from None
            except BaseException:
                self.end()  # the rest of the answer would be read as that to another question
                raise
        if not isinstance(answer, dict):
            return answer
        if "error" in answer:
            raise (MemoryError if answer["error"] == "MemoryError" else OSError)(answer["text"])
        return answer["value"]

    def _answer(self, into: Any = None) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        head = ast.literal_eval(line.decode())
        if "shape" not in head:
            return head
        shape = head["shape"]
        if "fields" in head:
            columns = [(name, self._answer()) for name in head["fields"]]
            kinds = [(name, values.dtype, values.shape[len(shape) :]) for name, values in columns]
            records = np.empty(shape, kinds)
            for name, values in columns:
                records[name] = values
            return records
        if "lengths" in head:
            text = self._filled(np.empty(sum(head["lengths"]), "S1")).tobytes()
            ends = np.cumsum(head["lengths"], dtype=np.int64).tolist()
            values = np.empty(len(ends), object)
            values[:] = [text[e - n : e] for n, e in zip(head["lengths"], ends, strict=True)]
            return values.reshape(shape)
        dtype = np.dtype(head["dtype"])
        alike = into is not None and into.shape == shape and into.dtype == dtype
        return self._filled(into if alike else np.empty(shape, dtype))

    def _filled(self, values: Any) -> Any:
        assert self._process.stdout is not None
        left = memoryview(values.reshape(-1).view(np.uint8)) if values.nbytes else b""
        while len(left):
            count = self._process.stdout.readinto(left)  # type: ignore[attr-defined]
            if not count:
                raise EOFError
            left = left[count:]
        return values


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if owner != os.getpid():
        process.returncode = 0  # a fork's copy: the process is not its child
        return
    process.kill()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with suppress(OSError):
            stream.close()
    process.wait()
