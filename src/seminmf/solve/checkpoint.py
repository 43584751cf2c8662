"""The state of a fit on disk, so that a fit that was killed can continue.

Every object with state in a run gives it as a dict of arrays and numbers (`state`), and takes it
back (`restore`). A `Checkpoint` is a folder with the last such state in one file, which is there
whole or not at all, and a description of the fit that it belongs to: the state of another fit is
refused. The file is an archive of arrays as NumPy writes them, never pickle.

States are written so rarely that writing takes only a small share of the time. The first is written
after the first iteration, so that a folder that cannot take it is noticed at once.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._files import PathLike, atomic

State = dict[str, Any]
"""Arrays, numbers and strings by name, and nested states."""

# The next state is written after this many times as long as the last one took: 3 % of a fit is
# writing.
_TIMES_AS_LONG = 30.0
_STATE, _LOCK, _FIT = "state.npz", "lock", "fit"


class CheckpointError(ValueError):
    """A checkpoint that a fit cannot continue from: of another fit, damaged, or in use."""


class Checkpoint:
    """A folder with the state of one fit, locked while this is entered as a context.

    Parameters
    ----------
    folder : path
        Created if missing.
    fit : mapping of str to str
        What the state belongs to: all that the result depends on, by the names that users know.
    """

    def __init__(self, folder: PathLike, fit: Mapping[str, str]) -> None:
        self.folder, self._fit = Path(folder), dict(fit)
        self.file = self.folder / _STATE
        self.found: State | None = None
        """The state to continue from, or None."""
        self._theirs: dict[str, str] = {}
        self._stopped = False
        self._lock: IO[str] | None = None
        self._next = -np.inf

    def __enter__(self) -> Checkpoint:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.folder / _LOCK)
        except OSError as error:
            raise _explained(error, self.folder, "") from error
        try:
            for unfinished in self.folder.glob(f".{_STATE}.*.tmp"):
                unfinished.unlink()  # its writer was killed
            self.found = self._read()
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        """Delete the state of a fit that has come to its end, and unlock the folder."""
        try:
            if kind is None and not self._stopped:
                self.file.unlink(missing_ok=True)
        finally:
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            with suppress(OSError):
                (self.folder / _LOCK).unlink()
            self._lock.close()
            self._lock = None

    # Writing

    def keep(self, state: Callable[[], State]) -> None:
        """Write the state if enough time has passed."""
        if time.monotonic() >= self._next:
            self.write(state)

    def write(self, state: Callable[[], State]) -> None:
        """Write the state now, unless the fit has been stopped."""
        if self._stopped:
            return
        began = time.monotonic()
        arrays = _flat({**state(), _FIT: json.dumps(self._fit)})
        try:
            with atomic(self.file) as stream, zipfile.ZipFile(stream, "w") as archive:
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
        except OSError as error:
            size = sum(array.nbytes for array in arrays.values())
            raise _explained(error, self.file, self._left_behind(size)) from error
        now = time.monotonic()
        self._next = now + _TIMES_AS_LONG * (now - began)

    def stop(self, state: Callable[[], State]) -> None:
        """Write the state for a later continuation, and nothing after it."""
        self.write(state)
        self._stopped = True

    def _left_behind(self, size: int) -> str:
        needed = f" It takes {size / 1e6:,.1f} MB, and as much again while it is replaced."
        if self.file.exists():
            needed += (
                " The state of an earlier iteration is whole and still there: the same fit goes "
                "on from it."
            )
        return needed

    # Reading

    def _read(self) -> State | None:
        if not self.file.exists():
            return None
        damages = (
            OSError, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError,
            MemoryError, zipfile.BadZipFile, zlib.error,
        )  # fmt: skip
        try:
            # Reading a member checks its checksum.
            with self.file.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            self._theirs = json.loads(str(arrays.pop(_FIT)))
        except damages as error:
            raise CheckpointError(
                f"{self.file} is damaged ({type(error).__name__}: {error}), so that the fit cannot "
                "go on from it. Delete it to begin again, or give another folder as checkpoint."
            ) from error
        self._compare(self._fit)
        return _nested(arrays)

    def describe(self, name: str, value: str) -> None:
        """Add something that the result depends on and that is known only later."""
        self._fit[name] = value
        if self.found is not None:
            self._compare([name])

    def _compare(self, names: Iterable[str]) -> None:
        ours, theirs = self._fit, self._theirs
        told = "; ".join(
            f"{name}: {theirs.get(name, 'nothing')} there, {ours[name]} here"
            for name in names
            if ours[name] != theirs.get(name)
        )
        if told:
            raise CheckpointError(
                f"The checkpoint in {self.folder} is of another fit ({told}). Give another folder "
                f"as checkpoint, or delete {self.file} if you do not want to go on from it."
            )


class Keeper:
    """A checkpoint for one run of a fit; adds what is to be kept around the run."""

    def __init__(self, checkpoint: Checkpoint, around: Callable[[], State]) -> None:
        self._checkpoint, self._around = checkpoint, around
        self._interrupted = False

    def _whole(self, run: Callable[[], State]) -> Callable[[], State]:
        return lambda: {**self._around(), "run": run()}

    def keep(self, run: Callable[[], State]) -> None:
        """Write the state if that is due; to be called between iterations."""
        if self._interrupted:
            self.write(run)
            raise KeyboardInterrupt
        self._checkpoint.keep(self._whole(run))

    def write(self, run: Callable[[], State]) -> None:
        self._checkpoint.write(self._whole(run))

    def stop(self, run: Callable[[], State]) -> None:
        self._checkpoint.stop(self._whole(run))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Have the first Ctrl-C wait for the end of the iteration, where the state can be kept.

        The second one does not wait. A handler for Ctrl-C other than Python's is left alone.
        """

        def remember(*_: Any) -> None:
            self._interrupted = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        main = threading.current_thread() is threading.main_thread()
        if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, remember)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._interrupted:
            raise KeyboardInterrupt


def _explained(error: OSError, path: Path, more: str) -> OSError:
    """The same error, with what failed and what can be done about it."""
    reason = (error.strerror or str(error)).rstrip(".")
    return type(error)(
        error.errno or errno.EIO,
        f"The checkpoint cannot be written: {reason}.{more} Make room there, or give a folder "
        "that can be written as checkpoint, or None for a fit without one",
        str(path),
    )


def _locked(path: Path) -> IO[str]:
    """The lock file, open and locked; the system unlocks it however the process ends."""
    while True:
        stream = path.open("a+", encoding="ascii")
        try:
            _try_to_lock(stream)
            if path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                break
        except BlockingIOError:
            stream.seek(0)
            holder = stream.read().strip()
            stream.close()
            raise CheckpointError(
                f"The checkpoint in {path.parent} is in use by another fit (process "
                f"{holder or 'unknown'}). Wait for its end, or give each fit a folder of its own."
            ) from None
        except BaseException:
            stream.close()
            raise
        stream.close()  # its holder has just deleted it: make another
    stream.truncate(0)
    stream.write(f"{os.getpid()}\n")
    stream.flush()
    return stream


def _try_to_lock(stream: IO[str]) -> None:
    if sys.platform == "win32":  # pragma: no cover
        import msvcrt

        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError from error
    else:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _flat(state: State, path: str = "") -> dict[str, np.ndarray[Any, Any]]:
    """All arrays of a state by their paths in it."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in state.items():
        if isinstance(value, dict):
            arrays.update(_flat(value, f"{path}{name}/"))
        else:
            arrays[path + name] = np.asarray(value)
    return arrays


def _nested(arrays: dict[str, np.ndarray[Any, Any]]) -> State:
    """The inverse of `_flat`; numbers and strings are no longer arrays."""
    state: State = {}
    for way, array in arrays.items():
        *path, name = way.split("/")
        place = state
        for part in path:
            place = place.setdefault(part, {})
        place[name] = array.item() if array.ndim == 0 else array
    return state
