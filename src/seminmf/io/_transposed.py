"""Tables whose columns are the samples, as where genes are rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._columns import numbers_of, row_name_reason
from ._layout import unique
from ._table import Raw, Skipped, TableError, nearest


def transposed(source: str, raw: Raw, id: str | None) -> Raw:
    """The same with columns as samples: their names are ids, and rows give the features."""
    if raw.matrix is not None:
        matrix = raw.matrix.T
        ids = None if raw.names is None else raw.names
        names = None if raw.ids is None else _texts(raw.ids)
        notes = [Skipped(name, "a note on what are features now") for name in raw.columns]
        return Raw(
            raw.format, {}, sp.csr_array(matrix) if sp.issparse(matrix) else matrix, names, ids,
            skipped=notes, remarks=raw.remarks,
        )  # fmt: skip
    titles = raw.ids if id is None else raw.columns.get(id)
    if id is not None and titles is None:
        raise TableError(f"{source} has no column {id!r} for --id; {nearest(id, raw.columns)}")
    found: dict[str, Any] = {}
    skipped = list(raw.skipped)
    for name, column in raw.columns.items():
        if name == id:
            continue
        values, reason = numbers_of(column, raw)
        if values is None and titles is None and not found:
            titles = column
            continue
        marks = None if values is None else row_name_reason(name, values)
        if values is None or marks is not None:
            skipped.append(Skipped(name, reason or str(marks)))
        else:
            found[name] = values
    if not found:
        raise TableError(f"{source} has no numeric column that could be a sample.")
    X = np.array(list(found.values()))
    names = None if titles is None else unique(_texts(titles))
    return Raw(raw.format, {}, X, names, list(found), "sample", skipped, raw.found, raw.remarks)


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values]
