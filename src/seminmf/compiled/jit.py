"""The decorators of all compiled functions."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

from numba import cfunc, njit
from numba.core import event

_log = logging.getLogger("seminmf")
# Seconds of compiling after which a message says what is going on.
_PATIENCE = 2.0

# Reassociation and fused multiply-add, but no assumption that NaN and infinity are absent.
FAST_MATH = frozenset({"reassoc", "contract", "nsz", "arcp"})
# Quotients by zero are infinite, as in NumPy: a test at each division would rule out vectors.
_OPTIONS: dict[str, Any] = {"fastmath": set(FAST_MATH), "error_model": "numpy"}


@lru_cache(maxsize=1)
def _sources_stamp() -> tuple[tuple[str, float, int], ...]:
    """Times and sizes of all files of this package: a function of one may call those of others."""
    return tuple(
        (str(path), path.stat().st_mtime, path.stat().st_size)
        for path in sorted(Path(__file__).parent.rglob("*.py"))
    )


def _tie_to_all_sources(function: Any) -> Any:
    """Have kept machine code made again when any of the sources has changed.

    Numba looks at the file of the function alone, and would join old code with new, down to arrays
    of other sizes. Where a version of Numba keeps its stamp elsewhere, that remains so.
    """
    index: Any = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, _sources_stamp())
    return function


def _kept_on_disk(make: Callable[..., Any], **options: Any) -> Any:
    """What ``make`` compiles with a cache; without one, and with a warning, where that fails."""
    try:
        return _tie_to_all_sources(make(cache=True, **options))
    except RuntimeError as error:
        warnings.warn(
            f"Compiled code cannot be kept on disk ({error}), so that every new process compiles "
            "it again, which takes some seconds. Set the environment variable NUMBA_CACHE_DIR to "
            "a folder that can be written to.",
            RuntimeWarning,
            stacklevel=3,
        )
        return make(**options)


class _Announcer(event.Listener):
    """Says once that something is being compiled, if that takes so long that people wonder."""

    def __init__(self) -> None:
        self._begun: list[float] = []
        self._seconds = 0.0

    def _is_ours(self, happening: Any) -> bool:
        module = getattr(happening.data["dispatcher"].py_func, "__module__", None)
        return str(module).split(".")[0] == __name__.split(".")[0]

    def on_start(self, happening: Any) -> None:
        if self._is_ours(happening):
            self._begun.append(perf_counter())

    def on_end(self, happening: Any) -> None:
        if not self._is_ours(happening) or not self._begun:
            return
        begun, silent = self._begun.pop(), self._seconds < _PATIENCE
        if not self._begun:
            self._seconds += perf_counter() - begun
        elapsed = self._seconds + (perf_counter() - self._begun[0] if self._begun else 0.0)
        if silent and elapsed >= _PATIENCE:
            self._seconds = max(self._seconds, _PATIENCE)
            _log.warning(
                "seminmf compiles its numerical core, which takes some seconds; the machine code "
                "is kept on disk, so that later fits begin at once."
            )


event.register("numba:compile", _Announcer())


def compiled(function: Callable[..., Any]) -> Any:
    """A function that Python calls: compiled on first use, without the GIL, and kept on disk.

    Where no folder for it can be written the code is compiled anew in every process, and a warning
    says how to avoid that.
    """
    return _kept_on_disk(lambda **options: njit(**options)(function), nogil=True, **_OPTIONS)


# Compiled code that neither makes arrays nor keeps any: without the counting of references, which
# takes longer to compile than the arithmetic.
_BORROWING: dict[str, Any] = {"_nrt": False, **_OPTIONS}


def borrowing(function: Callable[..., Any]) -> Any:
    """As `compiled`, for a function that makes no arrays."""
    return _kept_on_disk(lambda **options: njit(**options)(function), nogil=True, **_BORROWING)


def inner(function: Callable[..., Any]) -> Any:
    """A function that only compiled code calls, and that makes no arrays."""
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_BORROWING)(function)


def part_of_compiled(function: Callable[..., Any]) -> Any:
    """A function with one caller in compiled code, of which it becomes a part.

    Compiled by itself it would be compiled a second time with its caller.
    """
    return njit(inline="always", **_BORROWING)(function)


def at_an_address(function: Callable[..., Any], signature: Any, *, keep: bool) -> Any:
    """A function that compiled code calls by its ``address``; kept on disk if ``keep``."""

    def make(**options: Any) -> Any:
        return cfunc(signature, **options)(function)

    return _kept_on_disk(make, **_OPTIONS) if keep else make(**_OPTIONS)
