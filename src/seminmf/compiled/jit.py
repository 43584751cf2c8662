"""The decorator of all compiled loops."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba import njit

# Reassociation and fused multiply-add, but no assumption that NaN and infinity are absent.
FAST_MATH = frozenset({"reassoc", "contract", "nsz", "arcp"})
# Quotients by zero are infinite, as in NumPy: a test at each division would rule out vectors.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": set(FAST_MATH), "error_model": "numpy"}


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


def compiled(function: Callable[..., Any]) -> Any:
    """Compile on first use, without the GIL, and keep the machine code on disk.

    Where no folder for it can be written the code is compiled anew in every process, and a warning
    says how to avoid that.
    """
    try:
        return _tie_to_all_sources(njit(cache=True, **_OPTIONS)(function))
    except RuntimeError as error:
        warnings.warn(
            f"Compiled code cannot be kept on disk ({error}), so that every new process compiles "
            "it again, which takes half a minute. Set the environment variable NUMBA_CACHE_DIR to "
            "a folder that can be written to.",
            RuntimeWarning,
            stacklevel=2,
        )
        return njit(**_OPTIONS)(function)


def part_of_compiled(function: Callable[..., Any]) -> Any:
    """A function that is only called in compiled code, and becomes a part of its callers.

    Compiled by itself it would be compiled again with all it calls for each of them.
    """
    return njit(inline="always", **_OPTIONS)(function)
