"""How the numbers of X lie in memory: the only places where its entries are read.

Compiled code sees every kind of storage as one structure (`Storage.samples`); visits from Python
get their rows as a `Visited`, which knows its products.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..compiled.blas import product_address
from ..compiled.state import Samples

_NOBODY: Any = np.zeros(0, np.int32)
_NO_NUMBERS: Any = np.zeros(0, np.int64)


def row_squares(X: Any) -> FloatArray:
    """‖x_i‖² for each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    squares: FloatArray = np.einsum("ij,ij->i", X, X)
    return squares


def extremes(X: Any) -> tuple[float, float]:
    """The smallest and the largest entry of X."""
    values = X.data if sp.issparse(X) else X
    low = float(values.min()) if values.size else 0.0
    high = float(values.max()) if values.size else 0.0
    if sp.issparse(X) and X.nnz < X.shape[0] * X.shape[1]:
        low, high = min(low, 0.0), max(high, 0.0)
    return low, high


class Visited:
    """Consecutive rows of X."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def times(self, basis: FloatArray) -> FloatArray:
        """X_b · U."""
        return np.asarray(self._rows @ basis)

    def adjoint_times(self, rows: FloatArray) -> FloatArray:
        """X_bᵀ · Z."""
        return np.asarray(self._rows.T @ rows)

    def dense(self) -> FloatArray:
        """The rows as an array."""
        return np.asarray(self._rows.toarray() if sp.issparse(self._rows) else self._rows)

    def residuals(self, codes: FloatArray, basis: FloatArray) -> FloatArray:
        """‖x_i − U v_i‖ for each row, by the explicit difference."""
        return np.sqrt(row_squares(self.dense() - codes @ basis.T))


class Storage(Protocol):
    """Rows of numbers that do not change while they are in use."""

    X: Any
    shape: tuple[int, int]
    dtype: Any
    stored: int
    """Numbers that a product with X multiplies."""
    gathers: bool
    """Whether rows have to be copied to lie one after the other."""

    def samples(
        self, squares: FloatArray, share: FloatArray | None, numbering: IntArray | None,
        longest: int,
    ) -> Any:  # fmt: skip
        """The structure of `compiled.state`, for blocks of no more than ``longest`` rows."""

    def visit(self, rows: slice) -> Visited: ...


class DenseStorage:
    """An array in memory or mapped from a file, with any strides, also one for reading only."""

    def __init__(self, X: FloatArray, lower: bool = False) -> None:
        self.X: Any = X
        self._lower = lower
        self.shape: tuple[int, int] = X.shape
        self.dtype, self.stored = X.dtype, X.size
        self.gathers = not X.flags.c_contiguous

    def _line(self) -> tuple[FloatArray, tuple[int, int]]:
        """All numbers of X in one line without a copy, and the steps from row to row and column
        to column in it.
        """
        X = self.X
        if X.flags.c_contiguous and X.flags.writeable:
            return X.reshape(-1), (X.shape[1], 1)
        if min(X.strides) < 0 or any(stride % X.itemsize for stride in X.strides):
            self.X = X = np.ascontiguousarray(X)
        steps = (X.strides[0] // X.itemsize, X.strides[1] // X.itemsize)
        length = 1 + sum((n - 1) * step for n, step in zip(X.shape, steps, strict=True))
        # Compiled code has one type of arrays, those that could be written to. It writes to none
        # of these.
        kind = np.ctypeslib.as_ctypes_type(X.dtype) * length
        return np.frombuffer(kind.from_address(X.ctypes.data), X.dtype), steps

    def samples(
        self, squares: FloatArray, share: FloatArray | None, numbering: IntArray | None,
        longest: int,
    ) -> Any:  # fmt: skip
        entries, steps = self._line()
        plain = self.X.flags.c_contiguous and numbering is None
        nothing = np.zeros(0, self.dtype)
        return Samples(
            n_features=self.shape[1], entries=entries, row_step=steps[0], column_step=steps[1],
            plain=plain, sparse=False, lower=self._lower, indices=_NOBODY, indptr=_NOBODY,
            ones=nothing, numbering=_NO_NUMBERS if numbering is None else numbering,
            squares=squares, share=nothing if share is None else share,
            blas=product_address(self.dtype),
        )  # fmt: skip

    def visit(self, rows: slice) -> Visited:
        # By rows, however X lies in memory: BLAS would come to other last digits by columns.
        return Visited(np.ascontiguousarray(self.X[rows]))


class SparseStorage:
    """A CSR array."""

    gathers = False

    def __init__(self, X: Any) -> None:
        self.X: Any = X
        self.shape: tuple[int, int] = X.shape
        self.dtype, self.stored = X.dtype, X.nnz

    def samples(
        self, squares: FloatArray, share: FloatArray | None, numbering: IntArray | None,
        longest: int,
    ) -> Any:  # fmt: skip
        X = self.X
        kind = np.int32 if X.nnz < 2**31 - 1 else np.int64
        indices, indptr = (part.astype(kind, copy=False) for part in (X.indices, X.indptr))
        numbers = np.arange(self.shape[0]) if numbering is None else numbering
        return Samples(
            n_features=self.shape[1], entries=X.data, row_step=0, column_step=0, plain=False,
            sparse=True, lower=False, indices=indices, indptr=indptr,
            ones=np.ones(longest, self.dtype), numbering=numbers, squares=squares,
            share=np.zeros(0, self.dtype) if share is None else share,
            blas=product_address(self.dtype),
        )  # fmt: skip

    def visit(self, rows: slice) -> Visited:
        X = self.X
        first, last = X.indptr[rows.start], X.indptr[rows.stop]
        parts = (
            X.data[first:last],
            X.indices[first:last],
            X.indptr[rows.start : rows.stop + 1] - first,
        )
        shape = (rows.stop - rows.start, self.shape[1])
        return Visited(sp.csr_array(parts, shape=shape))


def storage_of(X: Any, lower: bool = False) -> Storage:
    return SparseStorage(X) if sp.issparse(X) else DenseStorage(X, lower)
