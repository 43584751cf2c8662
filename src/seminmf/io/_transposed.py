"""Tables whose columns are the samples, as where genes are rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._cells import numbers_of
from ._columns import all_differ, check_kept, row_name_reason
from ._layout import unique
from ._table import Raw, Skipped, TableError, nearest


def transposed(source: str, raw: Raw, id: str | None, keep: Sequence[str] = ()) -> Raw:
    """The same with columns as samples: their names are ids, and rows give the features."""
    if raw.matrix is not None:
        if keep:
            raise TableError(f"{source} is a matrix, of which no column is left out; drop --keep.")
        matrix = raw.matrix.T
        ids = None if raw.names is None else raw.names
        names = None if raw.ids is None else _texts(raw.ids)
        notes = [Skipped(name, "a note on what are features now") for name in raw.columns]
        return Raw(
            raw.format, {}, sp.csr_array(matrix) if sp.issparse(matrix) else matrix, names, ids,
            skipped=notes, remarks=raw.remarks,
        )  # fmt: skip
    check_kept(source, keep, raw.columns)
    titles = raw.ids if id is None else raw.columns.get(id)
    if id is not None and titles is None:
        raise TableError(f"{source} has no column {id!r} for --id; {nearest(id, raw.columns)}")
    found: dict[str, Any] = {}
    skipped, remarks = list(raw.skipped), list(raw.remarks)
    for name, column in raw.columns.items():
        if name == id:
            continue
        values, reason = numbers_of(column, raw)
        if values is None and titles is None and not found:
            titles = column
            continue
        if values is None:
            skipped.append(Skipped(name, reason))
        else:
            found[name] = values
    if not found:
        raise TableError(f"{source} has no numeric column that could be a sample.")
    if titles is None and (first := _first_names(found, keep)) is not None:
        titles = found.pop(first).astype(np.int64)
        remarks.append(f"{first!r} names the features; --keep {first!r} if it is a sample")
    for name, values in list(found.items()):
        marks = None if name in keep else row_name_reason(name, values)
        if marks is not None and len(found) > 1:
            skipped.append(Skipped(name, marks.replace("a feature", "a sample")))
            del found[name]
    X = np.array(list(found.values()))
    names = None if titles is None else unique(_texts(titles))
    return Raw(raw.format, {}, X, names, list(found), "sample", skipped, raw.found, remarks)


def _first_names(found: dict[str, Any], keep: Sequence[str]) -> str | None:
    """The first column if its whole numbers all differ, as those of no other do: ids of genes."""
    unlike = [name for name, values in found.items() if all_differ(values)]
    first = next(iter(found))
    return first if len(found) > 1 and unlike == [first] and first not in keep else None


def _texts(values: Any) -> list[str]:
    """Names, with a number for those that are missing."""
    return [
        f"row {i + 1}" if value is None or value != value or value == "" else str(value)
        for i, value in enumerate(values)
    ]
