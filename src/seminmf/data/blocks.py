"""Row blocks of X: the only places where its entries are read, one class per kind of storage."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray


class Block(Protocol):
    """A few consecutive rows of X."""

    def times(self, basis: FloatArray, out: FloatArray) -> None:
        """``out`` = X_b · U."""

    def adjoint_times(self, weighted: FloatArray) -> FloatArray:
        """X_bᵀ · Z."""

    def dense(self) -> FloatArray:
        """The rows as an array."""

    def exact_residuals(self, rows: IntArray, codes: FloatArray, basis: FloatArray) -> FloatArray:
        """‖x_i − U v_i‖ for the given rows, without cancellation."""


def row_squares(X: Any) -> FloatArray:
    """‖x_i‖² for each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    squares: FloatArray = np.einsum("ij,ij->i", X, X)
    return squares


class DenseBlock:
    """A view of an array in memory or mapped from a file."""

    def __init__(self, rows: FloatArray) -> None:
        self._rows = rows

    @property
    def rows(self) -> FloatArray:
        return self._rows

    def times(self, basis: FloatArray, out: FloatArray) -> None:
        np.dot(self.rows, basis, out=out)

    def adjoint_times(self, weighted: FloatArray) -> FloatArray:
        product: FloatArray = np.dot(self.rows.T, weighted)
        return product

    def dense(self) -> FloatArray:
        return self.rows

    def exact_residuals(self, rows: IntArray, codes: FloatArray, basis: FloatArray) -> FloatArray:
        return np.sqrt(row_squares(self.rows[rows] - codes @ basis.T))


class ScatteredBlock(DenseBlock):
    """Rows of an array that do not follow each other in it."""

    def __init__(self, X: FloatArray, numbers: IntArray) -> None:
        self._X, self._numbers = X, numbers

    @property
    def rows(self) -> FloatArray:
        return self._X[self._numbers]


class SparseBlock:
    """Consecutive rows of a CSR matrix, sharing its data."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def times(self, basis: FloatArray, out: FloatArray) -> None:
        out[:] = self.rows @ basis

    def adjoint_times(self, weighted: FloatArray) -> FloatArray:
        product: FloatArray = self.rows.T @ weighted
        return product

    def dense(self) -> FloatArray:
        return np.asarray(self.rows.toarray())

    def exact_residuals(self, rows: IntArray, codes: FloatArray, basis: FloatArray) -> FloatArray:
        return np.sqrt(row_squares(self.rows[rows].toarray() - codes @ basis.T))


def cut(X: Any, starts: list[int]) -> list[Block]:
    """The blocks of X between consecutive ``starts``."""
    bounds = list(pairwise(starts))
    if not sp.issparse(X):
        return [DenseBlock(X[low:high]) for low, high in bounds]
    blocks: list[Block] = []
    for low, high in bounds:
        first, last = X.indptr[low], X.indptr[high]
        parts = (X.data[first:last], X.indices[first:last], X.indptr[low : high + 1] - first)
        blocks.append(SparseBlock(sp.csr_array(parts, shape=(high - low, X.shape[1]))))
    return blocks
