"""The decorators of all compiled functions."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba import cfunc, njit
from numba.core.caching import IndexDataCacheFile

# Reassociation and fused multiply-add, but no assumption that NaN and infinity are absent.
FAST_MATH = frozenset({"reassoc", "contract", "nsz", "arcp"})
# Division by zero gives infinity, as in NumPy: a test at each division would prevent vectors.
_OPTIONS: dict[str, Any] = {"fastmath": set(FAST_MATH), "error_model": "numpy"}


@lru_cache(maxsize=1)
def _sources_stamp() -> tuple[tuple[str, float, int], ...]:
    """Path, time and size of each file here: a function of one may call those of others."""
    return tuple(
        (str(path), path.stat().st_mtime, path.stat().st_size)
        for path in sorted(Path(__file__).parent.rglob("*.py"))
    )


class _CheckedFiles(IndexDataCacheFile):
    """A Numba cache whose machine code has a checksum and is made again if that is wrong.

    Numba alone would run code that a broken disk has damaged, and fail where it cannot write.
    """

    def save(self, key: Any, data: Any) -> None:
        try:
            super().save(key, data)
        except OSError as error:
            _warn_of_no_cache(error)

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # whatever a damaged pickle raises
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as stream:
            stream.write(hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        sealed = Path(self._data_path(name)).read_bytes()
        size = hashlib.sha256().digest_size
        seal, content = sealed[:size], sealed[size:]
        if hashlib.sha256(content).digest() != seal:
            raise OSError(f"{name} is damaged")  # Numba then compiles again
        return pickle.loads(content)  # noqa: S301 - a file of the user's own, as Numba writes it


def _checked(function: Any) -> Any:
    """Have cached code of a function made again if it is damaged or any source file has changed.

    Numba looks at the file of the function alone, and would mix old code with new, down to arrays
    of other sizes. Versions of Numba that keep their files in another way keep that behaviour.
    """
    files: Any = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if type(files) is IndexDataCacheFile:
        files.__class__ = _CheckedFiles
        files._source_stamp = (files._source_stamp, _sources_stamp())
    return function


def _warn_of_no_cache(error: Exception) -> None:
    warnings.warn(
        f"Compiled code cannot be kept on disk ({error}), so that every new process compiles "
        "it again, which takes some seconds. Set the environment variable NUMBA_CACHE_DIR to "
        "a folder that can be written to and has room.",
        RuntimeWarning,
        stacklevel=4,
    )


def _kept_on_disk(make: Callable[..., Any], **options: Any) -> Any:
    """Compile by ``make`` with a cache on disk; without it, and with a warning, if that fails."""
    try:
        return _checked(make(cache=True, **options))
    except RuntimeError as error:
        _warn_of_no_cache(error)
        return make(**options)


def compiled(function: Callable[..., Any]) -> Any:
    """A function that Python calls: compiled on first use, without the GIL, and kept on disk.

    If no folder can be written, each process compiles again, and a warning says how to avoid that.
    """
    return _kept_on_disk(lambda **options: njit(**options)(function), nogil=True, **_OPTIONS)


# For code that neither makes nor keeps arrays: without reference counts, which take longer to
# compile than the arithmetic.
_BORROWING: dict[str, Any] = {"_nrt": False, **_OPTIONS}


def borrowing(function: Callable[..., Any]) -> Any:
    """As `compiled`, for a function that makes no arrays."""
    return _kept_on_disk(lambda **options: njit(**options)(function), nogil=True, **_BORROWING)


def inner(function: Callable[..., Any]) -> Any:
    """A function without new arrays that only compiled code calls."""
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_BORROWING)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A function that is inlined into its only, compiled, caller.

    Compiled separately, it would be compiled a second time with its caller.
    """
    return njit(inline="always", **_BORROWING)(function)


def at_an_address(function: Callable[..., Any], signature: Any, *, keep: bool) -> Any:
    """A function that compiled code calls by its ``address``; kept on disk if ``keep``."""

    def make(**options: Any) -> Any:
        return cfunc(signature, **options)(function)

    return _kept_on_disk(make, **_OPTIONS) if keep else make(**_OPTIONS)
