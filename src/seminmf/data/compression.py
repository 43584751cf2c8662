"""Exact compression of X with more features than samples.

The loss and the lengths of the basis vectors do not change under rotations of feature space, and
the basis lies in the row space of X. With X = L Qᵀ (L n × n, Q with orthonormal columns) the whole
factorization may therefore run on L, and U = Q Ũ at the end (fact 7 of the theory page).

L is the Cholesky factor of X Xᵀ where X Xᵀ is conditioned well enough to keep its digits; otherwise
it comes from Householder reflections, which cost several times as much. Nobody knows beforehand how
many iterations a fit needs, so `LazyCompression` compresses once the iterations made have cost as
much as compressing would: a fit never takes more than twice the time of the better choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from .._types import FloatArray
from .engine import Engine

# From this many iterations expected on the same X (a path of 20 strengths, say), compress at once.
TOGETHER = 60.0
# Operations of a Householder factorization take this many times as long as those of products.
_SLOWDOWN = 2.5
# Largest relative error of L, against exact arithmetic.
_ACCURACY = 1e-12


@dataclass(frozen=True)
class Compression:
    """X = L Qᵀ."""

    L: FloatArray
    lift: Callable[[FloatArray], FloatArray]
    """Q Ũ: the basis in the original features."""
    lower: Callable[[FloatArray], FloatArray]
    """Qᵀ U: coordinates of the component of a basis in the row space of X."""


def by_gram(engine: Engine) -> Compression | None:
    """L from the Cholesky factorization of X Xᵀ; Q = Xᵀ L⁻ᵀ is never formed.

    None if X Xᵀ is too close to singular for an accurate factor.
    """
    gram = engine.gram
    factor, failure = la.get_lapack_funcs("potrf", (gram,))(gram, lower=1, clean=1)
    if failure != 0:
        return None
    pocon = la.get_lapack_funcs("pocon", (factor,))
    reciprocal, _ = pocon(factor, np.abs(gram).sum(axis=0).max(), uplo="L")
    if np.finfo(gram.dtype).eps > _ACCURACY * reciprocal:
        return None
    L = np.ascontiguousarray(factor)

    def lift(basis: FloatArray) -> FloatArray:
        combination = la.solve_triangular(L, basis, trans="T", lower=True, check_finite=False)
        return engine.adjoint_times(np.ascontiguousarray(combination))

    def lower(basis: FloatArray) -> FloatArray:
        products = engine.times(np.ascontiguousarray(basis))
        found = la.solve_triangular(L, products, lower=True, check_finite=False)
        return np.ascontiguousarray(found)

    return Compression(L, lift, lower)


def by_reflections(engine: Engine) -> Compression:
    """L from Householder reflections, accurate for any X."""
    Q, triangle = la.qr(engine.storage.X.T, mode="economic", check_finite=False)
    return Compression(
        np.ascontiguousarray(triangle.T), lambda basis: Q @ basis, lambda basis: Q.T @ basis
    )


@dataclass(frozen=True)
class Space:
    """The features a run works in: those of X, or those of its compression."""

    engine: Engine
    compression: Compression | None = None

    def lift(self, basis: FloatArray) -> FloatArray:
        """Convert a basis of this space to the features of X."""
        return basis if self.compression is None else self.compression.lift(basis)

    def lower(self, basis: FloatArray) -> FloatArray:
        """Convert a basis in the features of X to this space, dropping what lies outside."""
        return basis if self.compression is None else self.compression.lower(basis)


def _patience(n: int, m: int, k: int) -> tuple[float, float]:
    """How many iterations on X cost as much as compressing it: by Cholesky, by reflections."""
    saved = 4.0 * n * (m - n) * k
    return m * n * n / saved, 2 * m * n * n * _SLOWDOWN / saved


class LazyCompression:
    """A compression of X that is made as soon as the iterations without it have cost as much."""

    def __init__(self, engine: Engine, n_components: int) -> None:
        self._full = engine
        self._n_components = n_components
        self._waited = 0
        self.space: Space | None = None
        """The compressed space, once it has been made."""
        self._ways: list[tuple[float, Callable[[], Compression | None]]] = []
        n, m = engine.n_samples, engine.n_features
        if m > n and not engine.sparse and engine.whole:
            cheap, dear = _patience(n, m, n_components)
            self._ways = [
                (cheap, lambda: by_gram(engine)), (dear, lambda: by_reflections(engine)),
            ]  # fmt: skip

    @property
    def possible(self) -> bool:
        """Whether there is, or may yet be, a compression."""
        return self.space is not None or len(self._ways) > 0

    def due(self) -> Space | None:
        """The space if it is time to compress; call once before each iteration on X itself."""
        self._waited += 1
        for way in list(self._ways):
            patience, make = way
            if self.space is None and self._waited > patience:
                self._ways.remove(way)
                self._make(make())
        return self.space

    def at_once(self, iterations: float, *, gram_is_known: bool = False) -> Space | None:
        """The compression without waiting, if making it costs no more than so many iterations.

        With X Xᵀ already known, the Cholesky factor costs next to nothing and is always tried.
        """
        while self.space is None and self._ways:
            patience, make = self._ways[0]
            if patience > iterations and not (gram_is_known and len(self._ways) == 2):
                break
            self._ways.pop(0)
            self._make(make())
        return self.space

    def state(self) -> dict[str, Any]:
        """Iterations waited, how many ways are left to try, and whether a space was made."""
        return {
            "waited": self._waited, "left": len(self._ways), "made": self.space is not None,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state` for the same X, making its compression again if it had one."""
        self._waited = state["waited"]
        tried = self._ways[: len(self._ways) - state["left"]]
        self._ways = self._ways[len(tried) :]
        if state["made"]:
            self._make(tried[-1][1]())

    def _make(self, compression: Compression | None) -> None:
        if compression is not None:
            engine = Engine(
                compression.L, self._n_components, squares=self._full.squares,
                team=self._full.team,
            )  # fmt: skip
            self.space = Space(engine, compression)
