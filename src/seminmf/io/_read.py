"""From a file to a table: numeric columns, ids, labels, and what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._files import PathLike
from ._binary import read_mtx, read_npy, read_npz, read_parquet
from ._h5ad import read_h5ad
from ._missing import Missing, without_missing
from ._strangers import guarded
from ._table import STDIN, Format, Raw, Skipped, Table, TableError, format_of, nearest, need
from ._text import read_text

_READERS: dict[str, Callable[[str, Format], Raw]] = {
    "parquet": read_parquet, "npy": read_npy, "npz": read_npz, "mtx": read_mtx, "h5ad": read_h5ad,
}  # fmt: skip
# Features to be named in a message.
_SHOWN = 5


def read_table(
    path: PathLike,
    *,
    id: str | None = None,
    labels: str | None = None,
    features: Sequence[str] | None = None,
    missing: Literal["error", "drop", "median"] = "error",
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Table:
    """Read samples from a file.

    Parameters
    ----------
    path : path
        A file ``.csv``, ``.tsv``, ``.txt`` (also ``.gz``), ``.parquet``, ``.npy``, ``.npz``,
        ``.mtx`` (also ``.gz``) or ``.h5ad``; ``-`` is CSV from standard input.
    id : str, optional
        Column with a name for each sample, which must be unique. H5AD files and those with named
        rows have one of their own.
    labels : str, optional
        Column with a known class for each sample.
    features : sequence of str, optional
        Columns to take, in this order. By default all that are numeric.
    missing : {"error", "drop", "median"}, default="error"
        What to do about values that are missing or infinite: refuse, leave out their rows, or
        put the median of the column.
    delimiter, header : str, bool, optional
        For text files; found out by default.
    encoding : str, default="utf-8"
        Of text files.

    Returns
    -------
    table : Table

    Raises
    ------
    TableError
        In one line: what is wrong with the file, and what to do about it.
    """
    name = os.fspath(path)
    _check_file(name)
    format = format_of(name)
    if format.kind == "csv":
        as_text = tuple(column for column in (id, labels) if column is not None)
        raw = read_text(name, format, as_text, delimiter, header, encoding)
    else:
        raw = _READERS[format.kind](name, format)
    source = "standard input" if name == STDIN else name
    return _select(source, raw, id, labels, features, missing)


def _check_file(name: str) -> None:
    if name == STDIN:
        return
    path = Path(name)
    if path.is_dir():
        raise TableError(f"{name} is a folder; give a file with a table.")
    if not path.exists():
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        near = nearest(path.name, (file.name for file in beside if file.is_file()))
        hint = f" {near}" if near.startswith("did") else ""
        raise TableError(f"{name}: no such file.{hint}")
    if not os.access(path, os.R_OK):
        raise TableError(f"{name}: no permission to read it.")
    if path.stat().st_size == 0:
        raise TableError(f"{name} is empty.")


@guarded
def _select(
    source: str,
    raw: Raw,
    id: str | None,
    labels: str | None,
    features: Sequence[str] | None,
    missing: Missing,
) -> Table:
    skipped = list(raw.skipped)
    ids, id_name = raw.ids, raw.id_name
    if id is not None:
        ids, id_name = _lookup(source, raw, id, "id"), id
    label_column = None if labels is None else _lookup(source, raw, labels, "labels")
    taken = {name for name in (id, labels, id_name if ids is not None else None) if name}
    if raw.matrix is None:
        X, names, more = _numeric_columns(source, raw, taken, features)
        skipped += more
        named = True
    else:
        X, names, named, more = _matrix_columns(source, raw, features)
        skipped += more
        skipped += [
            Skipped(name, "a note beside the matrix") for name in raw.columns if name not in taken
        ]
    if X.shape[0] == 0:
        raise TableError(f"{source} has no rows.")
    if X.shape[1] == 0:
        raise TableError(f"{source} has no columns.")
    ids = None if ids is None else _ids(source, ids, id_name)
    text = None if label_column is None else _text(label_column, "missing")
    n_rows = X.shape[0]
    X, rows, filled = without_missing(source, X, names, missing)
    return Table(
        X, tuple(names), named, raw.format, source, rows,
        None if ids is None else ids[rows], None if text is None else text[rows],
        None if ids is None else id_name, labels, tuple(skipped), n_rows - len(rows), filled,
    )  # fmt: skip


def _lookup(source: str, raw: Raw, name: str, role: str) -> Any:
    if name in raw.columns:
        return raw.columns[name]
    if raw.matrix is not None and raw.names is not None and name in raw.names:
        column = raw.matrix[:, [raw.names.index(name)]]
        return np.asarray(column.toarray() if sp.issparse(column) else column).ravel()
    names = [*raw.columns, *(raw.names or [])]
    what = "column" if raw.matrix is None else "array or column"
    raise TableError(f"{source} has no {what} {name!r} for --{role}; {nearest(name, names)}")


def _numeric_columns(
    source: str, raw: Raw, taken: set[str], features: Sequence[str] | None
) -> tuple[NDArray[Any], list[str], list[Skipped]]:
    wanted = None if features is None else set(features)
    found: dict[str, NDArray[Any]] = {}
    skipped: list[Skipped] = []
    for name, column in raw.columns.items():
        if name in taken and (wanted is None or name not in wanted):
            continue
        if wanted is not None and name not in wanted:
            skipped.append(Skipped(name, "not a feature of the model"))
            continue
        values, reason = _numbers(column)
        if values is None and wanted is not None:
            raise TableError(f"{source}: column {name!r} is a feature of the model, but {reason}.")
        if values is None:
            skipped.append(Skipped(name, reason))
        else:
            found[name] = values
    if features is not None:
        _check_present(source, features, raw.columns)
        found = {name: found[name] for name in features}
    if not found:
        reasons = "; ".join(f"{s.name!r}: {s.reason}" for s in skipped[:_SHOWN])
        hint = " Is the delimiter right (--delimiter)?" if len(raw.columns) == 1 else ""
        raise TableError(
            f"{source} has no numeric column to factorize ({reasons or 'nothing is left'}).{hint}"
        )
    n = len(next(iter(found.values())))
    X = np.empty((n, len(found)))
    for place, values in enumerate(found.values()):
        X[:, place] = values
    return X, list(found), skipped


def _check_present(source: str, features: Sequence[str], names: Any) -> None:
    absent = [name for name in features if name not in names]
    if absent:
        shown = ", ".join(map(repr, absent[:_SHOWN])) + (" …" if len(absent) > _SHOWN else "")
        raise TableError(
            f"{source} does not have {len(absent)} of the {len(features)} features of the model: "
            f"{shown}; {nearest(absent[0], names)}"
        )


def _matrix_columns(
    source: str, raw: Raw, features: Sequence[str] | None
) -> tuple[Any, list[str], bool, list[Skipped]]:
    matrix = raw.matrix
    if sp.issparse(matrix):
        X = sp.csr_array(matrix, dtype=np.float64)
        X.sum_duplicates()
    else:
        X = np.ascontiguousarray(matrix, dtype=np.float64)
    if raw.names is None:
        if features is not None and len(features) != X.shape[1]:
            raise TableError(
                f"{source} has {X.shape[1]} columns, but the model has {len(features)} features."
            )
        names = list(features) if features is not None else [f"x{i}" for i in range(X.shape[1])]
        return X, names, False, []
    if features is None:
        return X, raw.names, True, []
    place = {name: i for i, name in enumerate(raw.names)}
    _check_present(source, features, place)
    chosen = set(features)
    skipped = [Skipped(n, "not a feature of the model") for n in raw.names if n not in chosen]
    return X[:, [place[name] for name in features]], list(features), True, skipped


def _numbers(column: Any) -> tuple[NDArray[Any] | None, str]:
    """A column as float64, or the reason why it is none."""
    pandas = need("pandas", "tables with columns")
    series = pandas.Series(column).reset_index(drop=True)
    if series.isna().all():
        return None, "it has no values"
    types = pandas.api.types
    if types.is_complex_dtype(series.dtype):
        return None, "it has complex numbers"
    if types.is_numeric_dtype(series.dtype):  # also bool
        return series.to_numpy(dtype=np.float64, na_value=np.nan), ""
    if types.is_datetime64_any_dtype(series.dtype) or series.dtype.kind in "mM":
        return None, "it has dates or times"
    present = series[series.notna()]
    if isinstance(series.dtype, pandas.CategoricalDtype):
        return None, "it has categories"
    if present.map(lambda value: isinstance(value, bool | np.bool_)).all():
        return series.map({True: 1.0, False: 0.0}).to_numpy(dtype=np.float64), ""
    odd = next((v for v in present if not isinstance(v, str | int | float | Number)), None)
    if odd is not None:
        return None, f"it has values of type {type(odd).__name__}"
    numbers = pandas.to_numeric(present, errors="coerce")
    bad = present[numbers.isna()]
    if len(bad) == 0:
        return pandas.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan), ""
    if len(bad) * 2 < len(present):
        return None, f"it has text in {len(bad)} rows, the first {bad.iloc[0]!r} in row " + str(
            bad.index[0] + 1
        )
    return None, "it has text"


def _text(column: Any, absent: str) -> NDArray[Any]:
    """Values as text; whole numbers without a point."""
    pandas = need("pandas", "tables with columns")
    series = pandas.Series(column)

    def one(value: Any) -> str:
        if isinstance(value, float | np.floating) and value == int(value):
            return str(int(value))
        return str(value)

    missing = series.isna().to_numpy()
    values = series.to_numpy(dtype=object)
    text = [absent if gone else one(value) for value, gone in zip(values, missing, strict=True)]
    return np.array(text, dtype=object)


def _ids(source: str, column: Any, name: str) -> NDArray[Any]:
    ids = _text(column, "")
    empty = np.flatnonzero(ids == "")
    if len(empty):
        raise TableError(
            f"{source}: the id column {name!r} is empty in {len(empty)} rows, the first row "
            f"{empty[0] + 1}; fill it, or choose another column with --id."
        )
    _, first, counts = np.unique(ids.astype(str), return_index=True, return_counts=True)
    again = counts > 1
    if again.any():
        example = ids[first[again][0]]
        rows = ", ".join(str(row + 1) for row in np.flatnonzero(ids == example)[:3])
        raise TableError(
            f"{source}: the id column {name!r} has {int(again.sum())} values more than once, as "
            f"{example!r} in rows {rows}; make them unique, or choose another column with --id."
        )
    return ids
