"""Calls of scikit-learn, which has the threads of OpenMP and holds BLAS to one itself."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import Any

from .cores import AtWork, cores, libraries
from .team import WORTH_SHARING


class ScikitLearn(AtWork):
    """Context manager for calls of scikit-learn with about so many operations.

    Where they are too few to share, OpenMP is held to one thread: its threads wait for each other
    awake, and on a busy machine, where one of them has no core, a search of a millisecond takes
    twenty. Fits at the same time divide the threads.

    BLAS is held here before scikit-learn does it, for as long as anybody wants that: scikit-learn
    gives back the number that it found, and that may be the one that another fit had set.
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
    """While a user's search for neighbours works; one of another library has BLAS as it was."""
    return ScikitLearn() if type(search).__module__.startswith("sklearn.") else nullcontext()
