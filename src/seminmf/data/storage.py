"""How X lies in memory, dense or CSR; its entries are read nowhere else.

Compiled code sees every storage as one structure (`Storage.samples`); Python gets some rows as a
`Visited`, which knows its products.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from .._sparse import dense
from .._types import FloatArray, IntArray
from ..compiled.blas import product_address
from ..compiled.state import Samples
from .cutting import pieces

# ‖x − Uv‖² = ‖x‖² + (v Ω vᵀ − 2 v·φ) loses too many digits where the result is less than this share
# of the terms added: such residuals are computed directly. In double precision the others keep
# eleven digits; half of an NMF of data with one per cent of noise needed more. By bytes per number.
CANCELLATION = {8: 3e-5, 4: 1e-2}
# Entries of sparse rows that are made dense at a time.
_DENSE = 2**17

NOBODY: Any = np.zeros(0, np.int32)
_NO_NUMBERS: Any = np.zeros(0, np.int64)


def row_squares(X: Any) -> FloatArray:
    """‖x_i‖² for each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


class Visited:
    """Consecutive rows X_b of X, and products with them."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def times(self, basis: FloatArray) -> FloatArray:
        """X_b · U."""
        return np.asarray(self._rows @ basis)

    def adjoint_times(self, rows: FloatArray) -> FloatArray:
        """X_bᵀ · Z."""
        return np.asarray(self._rows.T @ rows)

    def chosen(self, numbers: IntArray) -> Visited:
        """Some of the rows."""
        return Visited(self._rows[numbers])

    def dense(self) -> FloatArray:
        """The rows as a dense array."""
        return np.asarray(dense(self._rows))

    def squares(self) -> FloatArray:
        """‖x_i‖² for each row."""
        return row_squares(self._rows)

    def range(self) -> tuple[float, float]:
        """The smallest and the largest entry."""
        rows = self._rows
        values, count = (rows.data, rows.nnz) if sp.issparse(rows) else (rows, rows.size)
        low, high = (float(values.min()), float(values.max())) if count else (0.0, 0.0)
        if count < rows.shape[0] * rows.shape[1]:
            low, high = min(low, 0.0), max(high, 0.0)
        return low, high

    def residuals(self, codes: FloatArray, basis: FloatArray) -> FloatArray:
        """‖x_i − U v_i‖ for each row, by the explicit difference.

        That would make sparse rows dense: for them only where the short formula loses its digits.
        """
        rows = self._rows
        if not sp.issparse(rows):
            return np.sqrt(row_squares(rows - codes @ basis.T))
        squares = row_squares(rows)
        fit = np.einsum("ij,ij->i", codes @ (basis.T @ basis) - 2 * (rows @ basis), codes)
        found = np.maximum(squares + fit, 0)
        added = squares + (codes @ np.linalg.norm(basis, axis=0)) ** 2
        lost = np.flatnonzero(found <= CANCELLATION[rows.dtype.itemsize] * added)
        for piece in pieces(len(lost), _DENSE // rows.shape[1]):
            part = lost[piece]
            found[part] = row_squares(rows[part].toarray() - codes[part] @ basis.T)
        return np.sqrt(found)


class Window(Protocol):
    """Consecutive chunks of rows that are in memory together."""

    chunks: tuple[int, int]
    """The first of its chunks, and the one after the last, in the numbers of the engine's cuts."""

    def visit(self, rows: slice) -> Visited: ...

    def show(self, samples: Any, cuts: Any) -> None:
        """Point compiled structures at these rows, and have it go through their chunks only."""


class Storage(Protocol):
    """All rows of X, which must not change while they are in use."""

    X: Any
    whole: bool
    """Whether ``X`` has all rows, in memory or mapped; otherwise ``X`` is None."""
    sparse: bool
    shape: tuple[int, int]
    dtype: Any
    stored: int
    """Numbers that a product with X multiplies."""
    gathers: bool
    """Whether compiled code has to copy rows to make them contiguous."""

    def samples(
        self, squares: FloatArray, share: FloatArray | None, numbering: IntArray | None,
        longest: int,
    ) -> Any:  # fmt: skip
        """The structure of `compiled.state` for blocks of at most ``longest`` rows."""

    def windows(self) -> Iterable[Window]:
        """The windows that together have all rows once, in order."""

    def chosen(self, numbers: list[int]) -> FloatArray:
        """Some samples as a dense array."""

    def close(self) -> None:
        """Release what is open until rows are asked for again."""


def samples_of(
    entries: FloatArray, n_features: int, squares: FloatArray, share: FloatArray | None,
    numbering: IntArray | None, **laid_out: Any,
) -> Samples:  # fmt: skip
    """A `Samples` structure; ``laid_out`` has those of its fields that differ from the defaults."""
    nothing = np.zeros(0, entries.dtype)
    fields = {
        "n_features": n_features, "entries": entries, "row_step": 0, "column_step": 0,
        "plain": False, "sparse": False, "indices": NOBODY, "indptr": NOBODY, "ones": nothing,
    }  # fmt: skip
    return Samples(
        **{**fields, **laid_out},
        numbering=_NO_NUMBERS if numbering is None else numbering, squares=squares,
        share=nothing if share is None else share, blas=product_address(entries.dtype),
    )  # fmt: skip


class _InMemory:
    """A storage with all rows in memory: a single window."""

    whole = True
    chunks = (0, 1)

    def windows(self) -> Any:
        return (self,)

    def show(self, samples: Any, cuts: Any) -> None:
        pass

    def close(self) -> None:
        pass


class DenseStorage(_InMemory):
    """An array in memory or mapped from a file, of any strides, possibly read-only."""

    sparse = False

    def __init__(self, X: FloatArray) -> None:
        self.X: Any = X
        self.shape: tuple[int, int] = X.shape
        self.dtype, self.stored = X.dtype, X.size
        self.gathers = not X.flags.c_contiguous

    def _line(self) -> tuple[FloatArray, tuple[int, int]]:
        """The numbers of X as one vector, and the steps in it from row to row and column to column.

        Copies X only if its strides are negative or no multiples of its numbers.
        """
        X = self.X
        if X.flags.c_contiguous and X.flags.writeable:
            return X.reshape(-1), (X.shape[1], 1)
        if min(X.strides) < 0 or any(stride % X.itemsize for stride in X.strides):
            self.X = X = np.ascontiguousarray(X)
        steps = (X.strides[0] // X.itemsize, X.strides[1] // X.itemsize)
        length = 1 + sum((n - 1) * step for n, step in zip(X.shape, steps, strict=True))
        # A read-only array would be another type for compiled code, which writes to none of these.
        kind = np.ctypeslib.as_ctypes_type(X.dtype) * length
        return np.frombuffer(kind.from_address(X.ctypes.data), X.dtype), steps

    def samples(
        self, squares: FloatArray, share: FloatArray | None, numbering: IntArray | None,
        longest: int,
    ) -> Any:  # fmt: skip
        entries, (row_step, column_step) = self._line()
        return samples_of(
            entries, self.shape[1], squares, share, numbering, row_step=row_step,
            column_step=column_step, plain=self.X.flags.c_contiguous and numbering is None,
        )  # fmt: skip

    def visit(self, rows: slice) -> Visited:
        # Contiguous rows in any case: from a transposed X, BLAS would get other last digits.
        return Visited(np.ascontiguousarray(self.X[rows]))

    def chosen(self, numbers: list[int]) -> FloatArray:
        return np.asarray(self.X[numbers])


class SparseStorage(_InMemory):
    """A CSR array."""

    sparse = True
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
        return samples_of(
            X.data, self.shape[1], squares, share, numbers, sparse=True, indices=indices,
            indptr=indptr, ones=np.ones(longest, X.dtype),
        )  # fmt: skip

    def visit(self, rows: slice) -> Visited:
        return Visited(consecutive_rows(self.X, rows.start, rows.stop))

    def chosen(self, numbers: list[int]) -> FloatArray:
        return np.asarray(self.X[numbers].toarray())


def consecutive_rows(X: Any, start: int, stop: int) -> Any:
    """``X[start:stop]`` of a CSR array, without a copy of its entries."""
    first, last = X.indptr[start], X.indptr[stop]
    parts = X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first
    return sp.csr_array(parts, shape=(stop - start, X.shape[1]))


def storage_of(X: Any) -> Storage:
    return SparseStorage(X) if sp.issparse(X) else DenseStorage(X)
