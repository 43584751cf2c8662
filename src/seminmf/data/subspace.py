"""A subspace of few features, in which a run makes most of its progress.

A basis of k vectors that fits X well lies almost in the span of little more than the k leading
directions of X. For a basis U = QŨ in the span of orthonormal Q,

    ‖x − Uv‖² = ‖x‖² − ‖Qᵀx‖² + ‖Qᵀx − Ũv‖²,

so that the objective of X is known from the features Qᵀx and from ‖x‖². A run descends in those
features, where an iteration costs a fraction, until it comes to rest, and then continues in all:
with the directions left out, one or two iterations usually remain.

Q spans two steps of a block Krylov sequence. Its quality matters little: one more Krylov step, or
exact eigenvectors, changes the number of iterations by one or two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la

from .._once import once
from .._types import FloatArray
from .compression import Space
from .engine import Engine
from .stream import Stream

# Each Krylov step has this many more directions than there are components.
OVERSAMPLING = 6
# The first directions are drawn with a fixed seed: equal data have equal results.
_SEED = 0
# Operations that each iteration has to save for a subspace to be worth making, ...
_WORTH_MAKING = 1e7
# ... where those with a sparse matrix are this many times slower than those with a dense one.
_SPARSE_SLOWDOWN = 8
# A fit with a graph keeps this many more arrays of codes, and this many bytes per stored entry.
_COPIES, _ENTRY = 2, 48


class _Reflections:
    """Those of Householder that turn orthonormal directions into the first axes."""

    def __init__(self, directions: FloatArray) -> None:
        self._count = directions.shape[1]
        make, self._apply = la.get_lapack_funcs(("geqrf", "ormqr"), (directions,))
        self._made = make(directions)[:2]

    def beyond(self, vectors: FloatArray) -> FloatArray:
        """As many orthonormal directions, which together with the first ones span the vectors.

        Orthogonal to the first ones also where there is nothing left of the vectors.
        """
        found = self._turned("T", vectors)
        found[self._count :] = np.linalg.qr(found[self._count :])[0]
        found[: self._count] = 0
        return np.ascontiguousarray(self._turned("N", found))

    def _turned(self, way: str, vectors: FloatArray) -> FloatArray:
        # Room to apply one after the other: for so few vectors blocks of them take longer.
        turned: FloatArray = self._apply("L", way, *self._made, vectors, vectors.shape[1])[0]
        return turned


@dataclass(frozen=True, kw_only=True)
class Subspace(Space):
    """The span of orthonormal ``directions`` in a wider space; its features are Qᵀx."""

    wider: Space
    directions: FloatArray
    held: FloatArray | None = None
    """In these directions the basis that they were chosen to hold, if there is one."""

    @once
    def _reflections(self) -> _Reflections:
        return _Reflections(self.directions)

    def holding(self, basis: FloatArray) -> Subspace:
        """A larger subspace that also contains ``basis``, which is given in the features of X."""
        basis, around = self.wider.lower(basis), self.wider.engine
        more = self._reflections.beyond(basis)
        features = np.hstack([self.engine.all_rows(), around.times(more)])
        engine = around.beside(features, basis.shape[1], around.squares)
        directions = np.hstack([self.directions, more])
        return replace(self, engine=engine, directions=directions, held=directions.T @ basis)

    def widened(self, basis: FloatArray) -> FloatArray:
        """Convert a basis of this space to the features of the wider one."""
        return self.directions @ basis

    def lift(self, basis: FloatArray) -> FloatArray:
        return self.wider.lift(self.widened(basis))

    def lower(self, basis: FloatArray) -> FloatArray:
        return self.directions.T @ self.wider.lower(basis)


def leading_subspace(space: Space, n_components: int, weights: FloatArray) -> Subspace | None:
    """A subspace of the rows scaled by √``weights``; None if it would not pay."""
    engine = space.engine
    width = n_components + OVERSAMPLING
    if not subspace_pays(engine, n_components):
        return None
    directions, features = _krylov_features(engine, width, weights)
    small = engine.beside(features, n_components, engine.squares)
    return Subspace(engine=small, wider=space, directions=directions)


def graph_size(X: Stream, n_components: int, count: int) -> int:
    """Bytes that a graph of ``count`` entries takes in a fit, with the features it comes from."""
    columns = 2 * (n_components + OVERSAMPLING) + _COPIES * n_components
    return X.dtype.itemsize * columns * X.shape[0] + _ENTRY * count


def _krylov_features(
    engine: Engine, width: int, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """2·``width`` orthonormal directions Q of the rows scaled by √``weights``, and X·Q."""
    m, dtype = engine.n_features, engine.dtype
    features = engine.each(lambda own: np.empty((len(own), 2 * width), dtype), engine.squares)
    drawn = np.random.RandomState(_SEED).standard_normal((m, width)).astype(dtype)
    first = np.linalg.qr(engine.square_times(weights, drawn, features))[0]
    second = _Reflections(first).beyond(engine.square_times(weights, first, features))
    features = engine.each(_filled, features, engine.times(second))
    return np.hstack([first, second]), features


def _filled(features: FloatArray, last: FloatArray) -> FloatArray:
    """``features`` with its last columns replaced by ``last``."""
    features[:, -last.shape[1] :] = last
    return features


def subspace_pays(engine: Engine, n_components: int) -> bool:
    """Whether an iteration in the subspace saves enough operations."""
    n, m, width = engine.n_samples, engine.n_features, 2 * (n_components + OVERSAMPLING)
    entries = engine.stored * (_SPARSE_SLOWDOWN if engine.sparse else 1)
    return m >= 2 * width and 4 * n_components * (entries - n * width) >= _WORTH_MAKING
