"""The decorator of all compiled loops."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import njit

# Reassociation and fused multiply-add, but no assumption that NaN and infinity are absent.
FAST_MATH = frozenset({"reassoc", "contract", "nsz", "arcp"})


def compiled(function: Callable[..., Any]) -> Any:
    """Compile on first use, without the GIL, and keep the machine code on disk.

    Where no folder for it can be written the code is compiled anew in every process, and a warning
    says how to avoid that.
    """
    # Quotients by zero are infinite, as in NumPy: a test at each division would rule out vectors.
    options = {"nogil": True, "fastmath": set(FAST_MATH), "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError as error:
        warnings.warn(
            f"Compiled code cannot be kept on disk ({error}), so that every new process compiles "
            "it again, which takes some seconds. Set the environment variable NUMBA_CACHE_DIR to "
            "a folder that can be written to.",
            RuntimeWarning,
            stacklevel=2,
        )
        return njit(**options)(function)
