"""The threads of scikit-learn, which are those of OpenMP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

from .team import WORTH_SHARING, fits_at_once


@lru_cache(maxsize=1)
def _openmp() -> tuple[Any, ...]:
    """The OpenMP libraries of this process, from when scikit-learn has loaded its own."""
    return tuple(ThreadpoolController().select(user_api="openmp").lib_controllers)


@contextmanager
def shared_if_worth(operations: float) -> Iterator[None]:
    """Hold OpenMP to one thread where so many operations are too few to share.

    Its threads wait for each other awake. On a busy machine one of them has no core, and a search
    of a millisecond takes twenty. Fits at the same time divide the threads.
    """
    before = [(library, library.get_num_threads()) for library in _openmp()]
    others = fits_at_once()
    try:
        for library, count in before:
            library.set_num_threads(max(count // others, 1) if operations >= WORTH_SHARING else 1)
        yield
    finally:
        for library, count in before:
            library.set_num_threads(count)
