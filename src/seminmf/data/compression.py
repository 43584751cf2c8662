"""Exact compression of X with more features than samples.

The loss and the lengths of the basis vectors do not change under rotations of feature space, and
the basis lies in the row space of X. With X = L Qᵀ (L n × n, Q with orthonormal columns) the whole
factorization may therefore run on L, and U = Q Ũ at the end (fact 7 of the theory page).

L is the Cholesky factor of X Xᵀ where the samples are far enough from being dependent for that to
keep its digits, and otherwise comes from Householder reflections, which cost several times as much.
How many iterations a fit will need nobody knows, so `LazyCompression` waits until those made have
cost as much: whenever the fit ends, it has taken at most twice the time of the better choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from .._types import FloatArray
from .engine import Engine

# Iterations on X that fits come to which are made together, such as a path of 20 strengths. Waiting
# for so many to pay is not worth it there.
TOGETHER = 60.0
# The operations of a Householder factorization run this many times slower than those of products.
_SLOWDOWN = 2.5
# The share by which L may differ from what exact arithmetic gives.
_ACCURACY = 1e-12


@dataclass(frozen=True)
class Compression:
    """X = L Qᵀ."""

    L: FloatArray
    lift: Callable[[FloatArray], FloatArray]
    """Q Ũ: the basis in the original features."""
    lower: Callable[[FloatArray], FloatArray]
    """Qᵀ U: the part of a basis that lies in the row space of X."""


def by_gram(engine: Engine) -> Compression | None:
    """L from the Cholesky factorization of X Xᵀ; Q = Xᵀ L⁻ᵀ is never formed.

    None where X Xᵀ is too near to singular for the factor to be accurate.
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
    """L from Householder's reflections, accurate whatever X is."""
    Q, triangle = la.qr(engine.storage.X.T, mode="economic", check_finite=False)
    return Compression(
        np.ascontiguousarray(triangle.T), lambda basis: Q @ basis, lambda basis: Q.T @ basis
    )


@dataclass(frozen=True)
class Space:
    """The features in which a run works: those of X, or those of its compression."""

    engine: Engine
    compression: Compression | None = None

    def lift(self, basis: FloatArray) -> FloatArray:
        """A basis of this space in the features of X."""
        return basis if self.compression is None else self.compression.lift(basis)

    def lower(self, basis: FloatArray) -> FloatArray:
        """The part of a basis of X that lies in this space."""
        return basis if self.compression is None else self.compression.lower(basis)


def _patience(n: int, m: int, k: int) -> tuple[float, float]:
    """How many iterations on X cost as much as the two ways to compress it."""
    saved = 4.0 * n * (m - n) * k
    return m * n * n / saved, 2 * m * n * n * _SLOWDOWN / saved


class LazyCompression:
    """A compression that is made when it would have paid off by now."""

    def __init__(self, engine: Engine, n_components: int) -> None:
        self._full = engine
        self._n_components = n_components
        self._waited = 0
        self.space: Space | None = None
        """The compressed space, if it has been made."""
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
        """Call once for each iteration that is about to be made on X itself."""
        self._waited += 1
        for way in list(self._ways):
            patience, make = way
            if self.space is None and self._waited > patience:
                self._ways.remove(way)
                self._make(make())
        return self.space

    def at_once(self, iterations: float, *, gram_is_known: bool = False) -> Space | None:
        """The compression without waiting, by a way that costs no more than so many iterations.

        The cheap one costs next to nothing where X Xᵀ is known.
        """
        while self.space is None and self._ways:
            patience, make = self._ways[0]
            if patience > iterations and not (gram_is_known and len(self._ways) == 2):
                break
            self._ways.pop(0)
            self._make(make())
        return self.space

    def state(self) -> dict[str, Any]:
        """How long it has waited, which ways were tried, and whether the last one was found."""
        return {
            "waited": self._waited, "left": len(self._ways), "made": self.space is not None,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Go on waiting as a new one for the same X; what was made is made again."""
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
