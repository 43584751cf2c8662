"""Values that are missing or infinite: finding them, and filling them in."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray


def find_gaps(X: Any) -> tuple[IntArray, IntArray]:
    """Rows and columns of the values that are not finite."""
    if sp.issparse(X):
        odd = np.flatnonzero(~np.isfinite(X.data))
        return np.searchsorted(X.indptr, odd, side="right") - 1, X.indices[odd]
    rows, columns = np.nonzero(~np.isfinite(X))
    return rows, columns


def column_medians(X: Any) -> FloatArray:
    """The median of the finite values of each column; NaN if there are none."""
    if sp.issparse(X):
        columns = X.tocsc()
        pieces = zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
        return np.array([_median(columns.data[a:b], X.shape[0] - (b - a)) for a, b in pieces])
    return np.array([_median(column, 0) for column in X.T])


def _median(values: Any, n_zeros: int) -> float:
    """The median of the finite values and ``n_zeros`` zeros."""
    present = np.asarray(values, dtype=np.float64)
    present = present[np.isfinite(present)]
    if len(present) < n_zeros:  # more than half are zeros
        return 0.0
    present = np.append(present, np.zeros(n_zeros))
    return float(np.median(present)) if len(present) else float("nan")


def filled(X: Any, values: FloatArray) -> Any:
    """A copy of X with each value that is not finite replaced by that of its column."""
    rows, columns = find_gaps(X)
    X = X.copy()
    if sp.issparse(X):
        X.data[~np.isfinite(X.data)] = values[columns]
    else:
        X[rows, columns] = values[columns]
    return X
