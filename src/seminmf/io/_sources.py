"""Tables that are read in parts: what a source has instead of columns in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._files import PathLike
from ..sources.adapters import ParquetSource, Source, is_number_type, parquet_schema
from ..sources.opening import open_source
from ._columns import check_kept, is_row_name, named_reason
from ._record import Record
from ._sheets import is_10x
from ._table import Format, Skipped, Table, TableError

# What is never read as a whole.
_IN_PARTS = (".zarr", ".h5", ".hdf5")


def is_in_parts(path: str) -> bool:
    """Whether a path is one that only `open_table` takes."""
    if is_10x(path):
        return False
    return Path(path).suffix.lower() in _IN_PARTS or Path(path).is_dir()


def open_table(
    path: PathLike,
    *,
    key: str | None = None,
    features: Sequence[str] | None = None,
    keep: Sequence[str] = (),
) -> Table:
    """A table whose ``X`` is a source: nothing but its shape and names is read.

    Parameters
    ----------
    path : path
        As `seminmf.sources.open_source` takes it.
    key : str, optional
        Which array of an HDF5 file or Zarr group.
    features : sequence of str, optional
        Columns to take of Parquet files; other files must have these, in this order, if they have
        names.
    keep : sequence of str
        Columns of whole numbers in Parquet files that are features though by their names they tell
        samples apart, as ``id`` does.

    Returns
    -------
    table : Table
        Without ids and labels. Columns of Parquet files that are not numbers are skipped.
    """
    name = os.fspath(path)
    skipped: list[Skipped] = []
    try:
        columns = _parquet_columns(name, features, keep, skipped)
        source: Source = open_source(name, key) if columns is None else ParquetSource(name, columns)
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as error:
        raise TableError(str(error)) from None
    n, m = source.shape
    names = getattr(source, "names", None)
    if names is not None and features is not None and list(names) != list(features):
        raise TableError(f"{name} does not have the features of the model in their order.")
    known = names if names is not None else features
    listed = tuple(f"x{i}" for i in range(m)) if known is None else tuple(map(str, known))
    plain = Path(name).suffix.lower() == ".npy"
    format = Format("npy", ".npy") if plain else Format("parquet", ".parquet")
    given = {
        "key": key, "keep": list(keep) or None,
        "features": None if features is None else list(features),
    }  # fmt: skip
    record = Record(
        str(Path(name).absolute()),
        format.kind,
        {argument: value for argument, value in given.items() if value is not None},
        n,
        m,
        in_parts=True,
        skipped={column.name: column.reason for column in skipped},
    )
    return Table(source, listed, names is not None, format, name, np.arange(n), record)


def _parquet_columns(
    path: str, features: Sequence[str] | None, keep: Sequence[str], skipped: list[Skipped]
) -> list[str] | None:
    """The columns to take of Parquet files; None for anything else."""
    schema: Any = parquet_schema(path)
    if schema is None:
        return None
    check_kept(path, keep, schema.names)
    taken = []
    for field in schema:
        if features is not None and field.name not in features:
            skipped.append(Skipped(field.name, "not a feature of the model"))
        elif features is None and field.name not in keep and _tells_apart(field):
            skipped.append(Skipped(field.name, named_reason(field.name)))
        elif is_number_type(field.type):
            taken.append(field.name)
        else:
            skipped.append(Skipped(field.name, f"it has values of type {field.type}"))
    return taken if features is None else list(features)


def _tells_apart(field: Any) -> bool:
    return is_row_name(field.name) and "int" in str(field.type)
