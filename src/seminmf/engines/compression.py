"""Exact compression of X with more features than samples.

The loss and the lengths of the basis vectors do not change under rotations of feature space, and
the basis lies in the row space of X. With X = L Qᵀ (L n × n, Q with orthonormal columns) the whole
factorization may therefore run on L, and U = Q Ũ at the end (fact 7 of the theory page).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .._types import FloatArray

# One Householder factorization costs about as much as this many iterations on L would save...
_EXPECTED_ITERATIONS = 40
# ... when its operations run this many times slower than those of the plain products.
_SLOWDOWN = 1.5


def pays(X: Any, n_components: int) -> bool:
    """Whether the factorization of X costs less than it is expected to save."""
    n, m = X.shape
    if sp.issparse(X) or m <= n:
        return False
    factorization = 2.0 * m * n * n * _SLOWDOWN
    saved = 4.0 * n * (m - n) * n_components * _EXPECTED_ITERATIONS
    return factorization < saved


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
