"""Calls of scikit-learn, which uses OpenMP threads and itself holds BLAS to one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import Any

from .cores import AtWork, cores, libraries
from .team import WORTH_SHARING


class ScikitLearn(AtWork):
    """Context manager for calls of scikit-learn with about so many operations.

    If they are too few to share, OpenMP is held to one thread: its threads spin while they wait for
    each other, and on a busy machine, where one of them has no core, a search of a millisecond
    takes twenty. Simultaneous fits divide the threads.

    BLAS is held here, for as long as any work is under way, before scikit-learn does it: that
    restores the number it found, which may be the one that another fit had set.
    """

    def __init__(self, operations: float = inf) -> None:
        super().__init__()
        self._shared = operations >= WORTH_SHARING

    def __enter__(self) -> ScikitLearn:
        super().__enter__()
        for library in libraries().openmp:
            self._change(library, max(library.read() // cores.fits, 1) if self._shared else 1)
        return self


def during(search: Any) -> AbstractContextManager[Any]:
    """A context for a user's neighbour search; one of another library gets BLAS as it was."""
    return ScikitLearn() if type(search).__module__.startswith("sklearn.") else nullcontext()
