"""H5AD, the files of AnnData, read without anndata: X, names of features, notes on samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._hdf5 import File
from .._optional import need
from .._words import counted
from ..sources.opening import stored_as
from ._binary import matrix_of
from ._strangers import check_room, guarded
from ._table import Format, Raw, TableError


@guarded("an H5AD file")
def read_h5ad(path: str, format: Format) -> Raw:
    """``X`` with the names of ``var`` and the columns of ``obs``."""
    need("h5py", "H5AD files")
    with File(path) as file:
        if "X" not in file:
            raise TableError(f"{path} has no X; save the AnnData object with its matrix.")
        matrix = _matrix(path, file["X"])
        obs, obs_index = _frame(file["obs"]) if "obs" in file else ({}, None)
        _, var_index = _frame(file["var"]) if "var" in file else ({}, None)
    for what, index, length in (("obs", obs_index, 0), ("var", var_index, 1)):
        if index is not None and len(index) != matrix.shape[length]:
            raise TableError(
                f"{path} is damaged: X is {matrix.shape}, but {what} has "
                f"{counted(len(index), 'entry')}."
            )
    names = None if var_index is None else [str(name) for name in var_index]
    return Raw(format, obs, matrix, names, ids=obs_index)


def _matrix(path: str, node: Any) -> Any:
    if hasattr(node, "shape"):
        check_room(path, node.nbytes)
        return matrix_of(path, node[()])
    kind, shape = stored_as(node)
    cls = sp.csc_array if kind.startswith("csc") else sp.csr_array
    check_room(path, sum(node[name].nbytes for name in ("data", "indices", "indptr")))
    parts = tuple(node[name][()] for name in ("data", "indices", "indptr"))
    try:
        matrix = cls(parts, shape=shape)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise TableError(f"{path} is damaged: X: {error}") from None
    matrix_of(path, matrix)
    return sp.csr_array(matrix)


def _frame(node: Any) -> tuple[dict[str, Any], Any]:
    """Columns of a data frame and its index."""
    if hasattr(node, "dtype"):  # a record per entry, as older versions wrote
        table = node[()]
        fields = list(table.dtype.names or ())
        columns = {name: _strings(table[name]) for name in fields}
        index = next((name for name in ("index", "_index") if name in columns), fields[0])
        return columns, columns.pop(index)
    index_name = _text(node.attrs.get("_index", "_index"))
    categories = node.get("__categories", {})
    columns = {}
    for name in node:
        if name in ("__categories", index_name):
            continue
        column = _column(node[name])
        if name in categories:  # between the two formats
            column = _chosen(_strings(categories[name][()]), column)
        columns[name] = column
    return columns, _column(node[index_name]) if index_name in node else None


def _column(node: Any) -> Any:
    if hasattr(node, "dtype"):
        return _strings(node[()])
    if "categories" in node:
        return _chosen(_column(node["categories"]), node["codes"][()])
    values, mask = _column(node["values"]), node["mask"][()]
    filled = values.astype(object)
    filled[mask] = None
    return filled


def _chosen(categories: Any, codes: Any) -> Any:
    """Categories by their codes; −1 is a missing value."""
    values = np.append(np.asarray(categories, dtype=object), [None])
    return values[codes]


def _strings(values: Any) -> Any:
    """Bytes, as HDF5 has them, as text."""
    if values.dtype.kind not in "OS":
        return values
    return np.array([_text(value) for value in values], dtype=object)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
