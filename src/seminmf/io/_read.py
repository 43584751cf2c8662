"""From a file to a table: numeric columns, ids, labels, and what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._files import PathLike
from .._sparse import dense
from .._words import counted
from ._binary import read_mtx, read_npy, read_npz, read_parquet
from ._cells import numbers_of
from ._columns import matrix_columns, numeric_columns
from ._h5ad import read_h5ad
from ._layout import check_decimal
from ._marks import Marks
from ._missing import Missing, treat_missing
from ._record import Record, sha256_of
from ._sheets import is_10x, read_10x, read_excel, read_feather, read_json_lines
from ._strangers import guarded
from ._table import (
    NO_LABEL,
    STDIN,
    Format,
    Raw,
    Skipped,
    Table,
    TableError,
    format_of,
    name_of,
    nearest,
    pandas_for,
)
from ._text import TextOptions, read_text
from ._transposed import transposed

_READERS: dict[str, Callable[[str, Format], Raw]] = {
    "parquet": read_parquet, "feather": read_feather, "jsonl": read_json_lines, "npy": read_npy,
    "npz": read_npz, "mtx": read_mtx, "h5ad": read_h5ad,
}  # fmt: skip

# Files whose cells may be text where numbers are meant, beside those of nothing but text.
_OF_CELLS = ("xlsx", "jsonl", "parquet", "feather")


def read_table(
    path: PathLike,
    *,
    id: str | None = None,
    labels: str | None = None,
    features: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    transpose: bool = False,
    missing: Literal["error", "drop", "median", "keep"] = "error",
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    comment: str = "#",
    na_values: Sequence[str] = (),
    encoding: str = "utf-8",
    key: str | None = None,
) -> Table:
    """Read samples from a file.

    Parameters
    ----------
    path : path
        A file ``.csv``, ``.tsv``, ``.txt``, ``.data`` (also ``.gz``), ``.xlsx``, ``.jsonl``,
        ``.parquet``, ``.feather``, ``.npy``, ``.npz``, ``.mtx`` (also ``.gz``) or ``.h5ad``; a
        folder of 10x Genomics; ``-`` is CSV from standard input.
    id : str, optional
        Column with a name for each sample, which must be unique. H5AD files and those with named
        rows have one of their own.
    labels : str, optional
        Column with a known class for each sample.
    features : sequence of str, optional
        Columns to take, in this order. By default all that are numeric, without those that only
        name or count the samples.
    keep : sequence of str
        Columns that are features though they look like names or numbers of the samples.
    transpose : bool, default=False
        Samples are columns, as where genes are rows. The features are then named by the ``id``
        column, or by the first column of text. The cells of a 10x folder are always the samples.
    missing : {"error", "drop", "median", "keep"}, default="error"
        What to do about values that are missing or infinite: refuse, leave out their rows, put
        the median of the column, or leave them for a model that fills them
        (``Standardized(model, fill="median")``).
    header : bool, optional
        Whether line 1 of a text file or sheet names the columns; found out by default.
    delimiter : str, optional
        Of a text file; found out by default.
    decimal : str, optional
        The decimal mark of numbers in text, ``.`` or ``,``; found out by default in text files.
    comment : str, default="#"
        Lines of a text file that begin like that are left out; empty: none are.
    na_values : sequence of str
        What stands for a missing value, beside ``NA``, ``?`` and the like.
    encoding : str, default="utf-8"
        Of text files.
    key : str, optional
        Which sheet of an Excel file; by default the first.

    Returns
    -------
    table : Table

    Raises
    ------
    TableError
        In one line: what is wrong with the file, and what to do about it.
    """
    name = os.fspath(path)
    wanted = tuple(column for column in (id, labels) if column is not None)
    kept = list(keep)
    for argument, value in (("features", features), ("keep", keep), ("na_values", na_values)):
        if isinstance(value, str):
            raise ValueError(f"{argument} must be a list of strings, got {value!r}.")
    _check_file(name)
    source = name_of(name)
    if is_10x(name):
        raw = read_10x(name)
    else:
        format = format_of(name)
        if key is not None and format.kind != "xlsx":
            raise TableError(
                f"{source}: key (--key) names a sheet of Excel files, and this is none."
            )
        options = TextOptions(delimiter, decimal, header, comment, tuple(na_values), encoding)
        if format.kind == "csv":
            raw = read_text(name, format, wanted, (*wanted, *(features or ())), options)
        else:
            _refuse(source, format, options)
        if format.kind == "xlsx":
            raw = read_excel(name, format, key, header)
        elif format.kind != "csv":
            raw = _READERS[format.kind](name, format)
        raw.na_values = tuple(na_values)
        if format.kind in _OF_CELLS:
            raw.marks = Marks(decimal or ".")
            raw.found |= {"decimal": decimal, "na_values": list(na_values) or None}
        _take_row_names(raw, wanted)
        if transpose:
            if labels is not None:
                raise TableError(f"{source}: labels is for a column, and these are samples now.")
            raw, id, keep = transposed(source, raw, id, keep), None, ()
    table = _select(source, raw, id, labels, features, keep, missing)
    given = {
        "id": wanted[0] if transpose and wanted else id,
        "labels": labels, "features": None if features is None else list(features),
        "keep": kept or None, "transpose": True if transpose else None,
        "missing": None if missing == "error" else missing, **raw.found,
    }  # fmt: skip
    record = replace(
        table.record,
        path=None if name == STDIN else str(Path(name).absolute()),
        arguments={argument: value for argument, value in given.items() if value is not None},
        sha256=sha256_of(name),
    )
    return replace(table, record=record)


def _refuse(source: str, format: Format, options: TextOptions) -> None:
    """What is said about text has no effect on other files."""
    check_decimal(options.decimal)
    cells = format.kind in _OF_CELLS
    given = {
        "--delimiter": options.delimiter is not None,
        "--decimal": options.decimal is not None and not cells,
        "--header": options.header is not None and format.kind != "xlsx",
        "--comment": options.comment != "#",
        "--na-values": len(options.na_values) > 0 and not cells,
    }
    for option, is_given in given.items():
        if is_given:
            raise TableError(
                f"{source}: {option} is for text files, and this is none; leave it out."
            )


def _take_row_names(raw: Raw, wanted: Sequence[str]) -> None:
    """A first column of text without a name has those of the rows, if each is there once."""
    if raw.ids is not None or raw.nameless is None or raw.nameless in wanted:
        return
    column = raw.columns[raw.nameless]
    texts = [value for value in column if isinstance(value, str)]
    if len(texts) == len(column) == len(set(texts)) and numbers_of(column, raw)[0] is None:
        raw.ids, raw.id_name = raw.columns.pop(raw.nameless), "id"


def _check_file(name: str) -> None:
    if name == STDIN:
        return
    path = Path(name)
    if path.is_dir() and is_10x(name):
        return
    if path.is_dir():
        raise TableError(f"{name} is a folder; give a file with a table.")
    if not path.exists():
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        near = nearest(path.name, (file.name for file in beside if file.is_file()))
        hint = f"; {near}" if near.startswith("did") else "."
        raise TableError(f"{name}: no such file{hint}")
    if not os.access(path, os.R_OK):
        raise TableError(f"{name}: no permission to read it.")
    if path.stat().st_size == 0:
        raise TableError(f"{name} is empty.")


@guarded()
def _select(
    source: str,
    raw: Raw,
    id: str | None,
    labels: str | None,
    features: Sequence[str] | None,
    keep: Sequence[str],
    missing: Missing,
) -> Table:
    skipped = list(raw.skipped)
    ids, id_name = raw.ids, raw.id_name
    if id is not None:
        ids, id_name = _lookup(source, raw, id, "id"), id
    label_column = None if labels is None else _lookup(source, raw, labels, "labels")
    taken = {name for name in (id, labels, id_name if ids is not None else None) if name}
    if raw.matrix is None:
        X, names, more = numeric_columns(source, raw, taken, features, keep)
        skipped += more
        named = True
    else:
        if keep:
            raise TableError(f"{source} is a matrix, of which no column is left out; drop --keep.")
        X, names, named, more = matrix_columns(source, raw, features)
        skipped += more
        skipped += [
            Skipped(name, "a note beside the matrix") for name in raw.columns if name not in taken
        ]
    if X.shape[0] == 0:
        raise TableError(f"{source} has no rows.")
    if X.shape[1] == 0:
        raise TableError(f"{source} has no columns.")
    ids = None if ids is None else _ids(source, ids, id_name)
    text = None if label_column is None else _text(label_column, NO_LABEL)
    done = treat_missing(source, X, names, missing)
    record = Record(
        None, raw.format.kind, {}, done.X.shape[0], done.X.shape[1],
        id=None if ids is None else id_name, labels=labels,
        skipped={column.name: column.reason for column in skipped},
        rows_dropped=X.shape[0] - len(done.rows), gaps=done.gaps, fills=done.fills,
        values_filled=sum(done.gaps.values()) if done.fills else 0, remarks=raw.remarks,
    )  # fmt: skip
    return Table(
        done.X, tuple(names), named, raw.format, source, done.rows, record,
        None if ids is None else ids[done.rows], None if text is None else text[done.rows],
        record.id, labels,
    )  # fmt: skip


def _lookup(source: str, raw: Raw, name: str, role: str) -> Any:
    if name in raw.columns:
        return raw.columns[name]
    if raw.matrix is not None and raw.names is not None and name in raw.names:
        return np.asarray(dense(raw.matrix[:, [raw.names.index(name)]])).ravel()
    if raw.line_1 is not None and name in raw.line_1:
        raise TableError(
            f"{source} has no column {name!r} for --{role}, but it stands in line 1, which was "
            "taken as a sample: say --header."
        )
    names = [*raw.columns, *(raw.names or [])]
    what = "column" if raw.matrix is None else "array or column"
    raise TableError(f"{source} has no {what} {name!r} for --{role}; {nearest(name, names)}")


def _text(column: Any, absent: str) -> NDArray[Any]:
    """Values as text; whole numbers without a point."""
    pandas = pandas_for()
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
            f"{source}: the id column {name!r} is empty in {counted(len(empty), 'row')}, "
            f"the first row {empty[0] + 1}; fill it, or choose another column with --id."
        )
    _, first, counts = np.unique(ids.astype(str), return_index=True, return_counts=True)
    again = counts > 1
    if again.any():
        example = ids[first[again][0]]
        rows = ", ".join(str(row + 1) for row in np.flatnonzero(ids == example)[:3])
        raise TableError(
            f"{source}: the id column {name!r} has {counted(int(again.sum()), 'value')} "
            f"more than once, as {example!r} in rows {rows}; make them unique, or "
            "choose another column with --id."
        )
    return ids
