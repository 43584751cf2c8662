"""Fits inside forks, inside joblib's processes and threads, and inside a grid search, while others
fit: all come to an end, with the digits that they have alone, and leave BLAS as it was.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV
from threadpoolctl import ThreadpoolController

from helpers import data
from seminmf import FactorKMeans, L21SemiNMF, SemiNMF
from seminmf.compiled.threads.cores import AtWork, cores

TABLES = [data(6_000, 40, seed) for seed in range(4)]
SECONDS = 60


def blas_threads() -> list[int]:
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library.get_num_threads() for library in found]


def fit(X: Any, callback: Callable[..., Any] | None = None) -> bytes:
    model = SemiNMF(6, tol=0, max_iter=8, random_state=0, callback=callback)
    return bytes(model.fit(X).codes_.tobytes())


def cluster(X: Any) -> bytes:
    model = L21SemiNMF(4, tol=0, max_iter=5, random_state=0)
    return bytes(FactorKMeans(model, random_state=0).fit(X[:800]).labels_.tobytes())


@contextmanager
def others_at_work() -> Iterator[None]:
    """Another thread fits all the while."""
    enough = threading.Event()

    def work() -> None:
        while not enough.is_set():
            fit(TABLES[3])
            cluster(TABLES[3])

    other = threading.Thread(target=work)
    other.start()
    try:
        yield
    finally:
        enough.set()
        other.join()


def in_a_fork(function: Callable[[], bool]) -> None:
    """What a child finds is true; one that hangs is ended by its own alarm, and has failed."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os._exit(0 if function() else 1)
    assert os.waitpid(child, 0)[1] == 0


def forks(expected: list[bytes]) -> None:
    allowed = blas_threads()

    def child() -> bool:
        """It has all threads for itself: the fit that went on in the parent is not here."""
        alone = blas_threads() == allowed and not cores._at_work
        return alone and fit(TABLES[0]) == expected[0] and blas_threads() == allowed

    with others_at_work():
        for _ in range(60):
            in_a_fork(child)


def forks_while_threads_are_set() -> None:
    """Two threads set those of BLAS all the while, for which OpenBLAS has a lock of its own."""
    allowed, enough = blas_threads(), threading.Event()
    found = ThreadpoolController().select(user_api="blas").lib_controllers

    def work() -> None:
        while not enough.is_set():
            with AtWork():
                pass

    others = [threading.Thread(target=work) for _ in range(2)]
    for other in others:
        other.start()
    try:
        for _ in range(200):
            in_a_fork(lambda: [library.get_num_threads() for library in found] == allowed)
    finally:
        enough.set()
        for other in others:
            other.join()


def forks_inside_a_fit(expected: list[bytes]) -> None:
    """The child goes on with the fit, for which its helpers are not there."""
    parent = os.getpid()

    def split(progress: Any) -> None:
        if progress.iteration == 3 and os.getpid() == parent:
            child = os.fork()
            if child:
                assert os.waitpid(child, 0)[1] == 0
            else:
                signal.alarm(SECONDS)

    for _ in range(10):
        found = fit(TABLES[0], split) == expected[0]
        if os.getpid() != parent:
            os._exit(0 if found else 1)
        assert found


def inside_joblib(expected: list[bytes]) -> None:
    for backend in ("threading", "loky"):
        with others_at_work():
            found = Parallel(4, backend=backend)(delayed(fit)(X) for X in TABLES * 3)
        assert found == expected * 3, backend


def grid_search(expected: list[bytes]) -> None:
    """Its jobs are threads, each with fits of its own."""
    from joblib import parallel_config

    def score(model: Any, X: Any, y: Any = None) -> float:
        # Not a norm by BLAS: others who fit hold BLAS to one thread, and it would add in another
        # order than with more.
        return -float(np.square(X - model.inverse_transform(model.transform(X))).sum())

    grid = {"n_components": [3, 5], "strength": [1e-4, 1e-3]}
    model = L21SemiNMF(max_iter=5, random_state=0)
    found = []
    for jobs in (1, 4):
        with parallel_config("threading"):
            search = GridSearchCV(model, grid, scoring=score, cv=3, n_jobs=jobs)
            found.append(search.fit(TABLES[0][:900]).cv_results_["mean_test_score"].tobytes())
    assert found[0] == found[1]


def main() -> None:
    warnings.simplefilter("ignore")
    before, expected = blas_threads(), [fit(X) for X in TABLES]
    clusters = cluster(TABLES[3])
    for part in (forks, forks_inside_a_fit, inside_joblib, grid_search):
        part(expected)
        assert blas_threads() == before, part.__name__
        print(part.__name__, flush=True)
    forks_while_threads_are_set()
    assert blas_threads() == before
    assert cluster(TABLES[3]) == clusters


if __name__ == "__main__":
    sys.exit(main())
