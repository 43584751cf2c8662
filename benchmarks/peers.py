"""The peers: how each is asked for semi-non-negative matrix factorization, X ≈ V Uᵀ with V ≥ 0.

Each function runs a peer from the paper's random start and returns an `Outcome`. A peer is given
what makes it faster and nothing that slows it down: no error is computed where it can be left out,
and the clock stands still while we look at its factors.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .data import random_start
from .timing import Stopwatch

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """Seconds and iterations until a peer stopped, its objective then, and if that will do."""

    seconds: float
    iterations: int
    objective: float
    reached: bool


class _Watcher:
    """Stops a peer when its objective is low enough, or when it has had its time."""

    def __init__(self, X: Floats, goal: float, limit: float) -> None:
        self.X, self.goal, self.limit = X, goal, limit
        self.squares = float(np.einsum("ij,ij->", X, X))
        self.watch = Stopwatch()
        self.iterations, self.value = 0, float("inf")

    def done(self, codes: Floats, basis: Floats) -> bool:
        """Called after each iteration; true when the peer should stop."""
        self.seconds = self.watch.seconds()
        with self.watch.paused():
            self.iterations += 1
            cross = float(np.einsum("ij,ij->", self.X @ basis, codes))
            gram = float(np.einsum("ij,ij->", codes.T @ codes, basis.T @ basis))
            self.value = self.squares - 2 * cross + gram
        return self.value <= self.goal or self.seconds > self.limit

    def outcome(self) -> Outcome:
        return Outcome(self.seconds, self.iterations, self.value, self.value <= self.goal)


def tensorly_hals(X: Floats, k: int, iterations: int, seed: int = 0) -> Outcome:
    """Exactly ``iterations`` of HALS: a two-way tensor of which mode 0 alone is non-negative.

    From its random start: its default, by singular vectors, took about 95 s on CIFAR-10 and ended
    in a singular matrix on 784 × 5,000. ``tol=0`` spares it the computation of the error.
    """
    from tensorly.decomposition import non_negative_parafac_hals

    watch = Stopwatch()
    weights, (codes, basis) = non_negative_parafac_hals(
        X, k, n_iter_max=iterations, init="random", tol=0, nn_modes={0}, random_state=seed
    )
    elapsed = watch.seconds()
    objective = float(np.linalg.norm(X - (codes * weights) @ basis.T) ** 2)
    return Outcome(elapsed, iterations, objective, True)


def proxmin_pgm(X: Floats, k: int, goal: float, limit: float, seed: int = 0) -> Outcome:
    """Proximal gradients with Nesterov's acceleration; the codes projected, the basis left free."""
    from proxmin import nmf, operators

    basis, codes = random_start(X.shape, k, seed)
    components = np.ascontiguousarray(basis.T)
    watcher = _Watcher(X, goal, limit)

    def look(codes: Floats, components: Floats, it: int | None = None) -> None:
        if it and watcher.done(codes, components.T):
            raise StopIteration

    nmf.nmf(
        X, codes, components, prox_A=operators.prox_plus, prox_S=operators.prox_id,
        max_iter=1_000_000, e_rel=0, callback=look, accelerated=True,
    )  # fmt: skip
    return watcher.outcome()


def matrix_fact_snmf(X: Floats, k: int, goal: float, limit: float, seed: int = 0) -> Outcome:
    """The multiplicative rule of Ding et al.; its samples are columns."""
    snmf = _import_snmf()
    basis, codes = random_start(X.shape, k, seed)
    model = snmf(X.T, num_bases=k)
    model.W, model.H = basis, np.ascontiguousarray(codes.T)
    watcher = _Watcher(X, goal, limit)

    class Stop(Exception):  # noqa: N818
        pass

    def look(model: Any) -> None:
        if watcher.done(model.H.T, model.W):
            raise Stop

    with contextlib.suppress(Stop):
        model.factorize(niter=1_000_000, compute_err=False, epoch_hook=look)
    return watcher.outcome()


def _import_snmf() -> Any:
    """``matrix_fact.SNMF``, with an empty stand-in for PyTorch if that is not installed.

    The package imports PyTorch on loading, but only its class TorchSNMF uses it.
    """
    absent = "torch" not in sys.modules and not _is_installed("torch")
    if absent:
        sys.modules["torch"] = types.ModuleType("torch")
    try:
        from matrix_fact import SNMF
    finally:
        if absent:
            del sys.modules["torch"]
    return SNMF


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


CHASERS: dict[str, Callable[[Floats, int, float, float], Outcome]] = {
    "proxmin": proxmin_pgm,
    "matrix-fact": matrix_fact_snmf,
}
