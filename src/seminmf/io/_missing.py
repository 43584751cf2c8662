"""Values that are missing or infinite: named, left out or filled."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._types import IntArray
from ._table import TableError

Missing = Literal["error", "drop", "median"]
_SHOWN = 3


def without_missing(
    source: str, X: Any, names: list[str], missing: Missing
) -> tuple[Any, IntArray, int]:
    """(X, rows that are left, number of values that were filled)."""
    if missing not in ("error", "drop", "median"):
        raise ValueError(f'missing must be "error", "drop" or "median", got {missing!r}.')
    rows, columns = _places(X)
    everything = np.arange(X.shape[0])
    if len(rows) == 0:
        return X, everything, 0
    if missing == "error":
        raise TableError(_message(source, rows, columns, names))
    if missing == "drop":
        kept = np.setdiff1d(everything, rows)
        if len(kept) == 0:
            raise TableError(
                f"{source}: every row has a missing value, so that --drop-missing leaves none; "
                "use --fill median, or leave out columns that are mostly empty."
            )
        return X[kept], kept, 0
    return _filled(source, X, rows, columns, names), everything, len(rows)


def _places(X: Any) -> tuple[IntArray, IntArray]:
    """Rows and columns of the values that are no finite numbers."""
    if sp.issparse(X):
        odd = np.flatnonzero(~np.isfinite(X.data))
        return np.searchsorted(X.indptr, odd, side="right") - 1, X.indices[odd]
    rows, columns = np.nonzero(~np.isfinite(X))
    return rows, columns


def _message(source: str, rows: IntArray, columns: IntArray, names: list[str]) -> str:
    parts = []
    which = np.unique(columns)
    for column in which[:_SHOWN]:
        inside = rows[columns == column]
        listed = ", ".join(str(row + 1) for row in inside[:_SHOWN])
        more = " …" if len(inside) > _SHOWN else ""
        parts.append(f"{names[column]!r} (row{'s' * (len(inside) > 1)} {listed}{more})")
    more = f" and {len(which) - _SHOWN} more columns" if len(which) > _SHOWN else ""
    n_rows = len(np.unique(rows))
    count = "its row" if n_rows == 1 else f"the {n_rows} rows"
    values = "1 value is" if len(rows) == 1 else f"{len(rows)} values are"
    return (
        f"{source}: {values} missing or infinite, in {', '.join(parts)}{more}. Leave out "
        f"{count} with --drop-missing, or fill with --fill median."
    )


def _filled(source: str, X: Any, rows: IntArray, columns: IntArray, names: list[str]) -> Any:
    X = X.copy()
    for column in np.unique(columns):
        inside: NDArray[Any] = rows[columns == column]
        values = X[:, [column]].toarray().ravel() if sp.issparse(X) else X[:, column]
        present = values[np.isfinite(values)]
        if len(present) == 0:
            raise TableError(
                f"{source}: column {names[column]!r} has no finite value to take a median of; "
                "leave it out of the file."
            )
        if sp.issparse(X):
            X.data[np.isin(X.indices, column) & ~np.isfinite(X.data)] = np.median(present)
        else:
            X[inside, column] = np.median(present)
    return X
