"""Dense and sparse forms of matrices, and a check of sparse indices: compiled code would read and
write wherever they point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def dense(rows: Any) -> Any:
    """An array, from one or from a sparse matrix."""
    return rows.toarray() if sp.issparse(rows) else rows


def stored_like(X: Any, others: Any) -> Any:
    """X in the form, dense or sparse, of ``others``."""
    if sp.issparse(X) == sp.issparse(others):
        return X
    return X.toarray() if sp.issparse(X) else sp.csr_array(X)


def check_indices(name: str, matrix: Any) -> None:
    """Raise an error that calls the matrix ``name`` if its indices do not fit its shape."""
    if len(matrix.shape) > 2:
        raise ValueError(f"{name} has shape {matrix.shape}; pass a matrix of two dimensions.")
    if not _within(matrix):
        raise ValueError(
            f"{name} is a damaged sparse matrix: its indices point outside of its shape "
            f"{matrix.shape}. Make it again, for example by scipy.sparse.coo_array with rows and "
            "columns of all entries."
        )


def _within(matrix: Any) -> bool:
    shape, kind = matrix.shape, matrix.format
    if kind == "coo":
        return all(map(_between, matrix.coords, shape))
    if kind not in ("csr", "csc", "bsr"):
        return True  # SciPy checks the indices of the other kinds
    if kind == "bsr":
        shape = tuple(length // size for length, size in zip(shape, matrix.blocksize, strict=True))
    major, minor = reversed(shape) if kind == "csc" else shape
    starts, indices = matrix.indptr, matrix.indices
    return bool(
        len(starts) == major + 1
        and starts[0] == 0
        and (starts[1:] >= starts[:-1]).all()
        and starts[-1] <= min(len(indices), len(matrix.data))
        and _between(indices[: starts[-1]], minor)
    )


def _between(indices: Any, most: int) -> bool:
    return not len(indices) or bool(np.min(indices) >= 0 and np.max(indices) < most)
