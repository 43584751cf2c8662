"""Exact compression of X with more features than samples.

The loss and the lengths of the basis vectors do not change under rotations of feature space, and
the basis lies in the row space of X. With X = L Qᵀ (L n × n, Q with orthonormal columns) the whole
factorization may therefore run on L, and U = Q Ũ at the end (fact 7 of the theory page).

The factorization X = L Qᵀ costs as much as some iterations on X itself. How many iterations a fit
will need nobody knows, so `LazyCompression` waits until those made have cost as much: whenever the
fit ends, it has taken at most twice the time of the better choice.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .._types import FloatArray
from .memory import Engine

# The operations of a Householder factorization run this many times slower than those of products.
_SLOWDOWN = 2.5


class Compression:
    """X = L Qᵀ, with Q kept as Householder reflections."""

    def __init__(self, X: FloatArray) -> None:
        (self._reflections, self._tau), triangle = la.qr(
            X.T, mode="raw", check_finite=False, pivoting=False
        )
        self.L: FloatArray = np.ascontiguousarray(triangle.T)

    def _rotate(self, columns: FloatArray, transpose: bool) -> FloatArray:
        ormqr = la.get_lapack_funcs("ormqr", (self._reflections, columns))
        side = (b"L", b"T" if transpose else b"N")
        work = ormqr(*side, self._reflections, self._tau, columns, -1)[1]
        rotated, _, info = ormqr(*side, self._reflections, self._tau, columns, int(work[0].real))
        if info != 0:  # pragma: no cover - only for arguments that LAPACK rejects
            raise la.LinAlgError(f"ormqr failed with info={info}")
        return np.asarray(rotated)

    def lift(self, basis: FloatArray) -> FloatArray:
        """Q Ũ: the basis in the original features."""
        m = self._reflections.shape[0]
        padded = np.zeros((m, basis.shape[1]), basis.dtype, order="F")
        padded[: basis.shape[0]] = basis
        return np.ascontiguousarray(self._rotate(padded, transpose=False))

    def lower(self, basis: FloatArray) -> FloatArray:
        """Qᵀ U: the part of a basis that lies in the row space of X."""
        rotated = self._rotate(np.asfortranarray(basis), transpose=True)
        return np.ascontiguousarray(rotated[: self.L.shape[0]])


class LazyCompression:
    """A compression that is made when it would have paid off by now."""

    def __init__(self, engine: Engine, n_components: int) -> None:
        self._full = engine
        self._n_components = n_components
        n, m = engine.n_samples, engine.n_features
        self._patience = np.inf
        if m > n and not sp.issparse(engine.X):
            saved = 4.0 * n * (m - n) * n_components
            self._patience = 2.0 * m * n * n * _SLOWDOWN / saved
        self._waited = 0

    def due(self) -> bool:
        """Call once for each iteration that is about to be made on X itself."""
        self._waited += 1
        return self._waited > self._patience

    @cached_property
    def compression(self) -> Compression:
        return Compression(self._full.X)

    @cached_property
    def engine(self) -> Engine:
        """The engine of L; it works with the team of the engine of X."""
        engine = Engine(self.compression.L, self._n_components, squares=self._full.squares)
        engine.team = self._full.team
        engine.team.adapt(engine.operations)
        return engine
