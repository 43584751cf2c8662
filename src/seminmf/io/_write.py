"""Tables out, in the format of the table that came in."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .._files import PathLike, atomic
from .._optional import need
from ._table import KINDS, STDIN, Format, TableError, format_of, pandas_for


def write_table(
    path: PathLike, columns: Mapping[str, Any], *, format: Format | None = None
) -> Path:
    """Write columns of equal length to a file, which appears whole or not at all.

    Parameters
    ----------
    path : path
        File to write, ``-`` for standard output. Without ``format`` its ending says how: ``.csv``
        or ``.tsv`` (also ``.gz``), ``.parquet``, ``.npy``, ``.npz``. With ``format`` it is a name
        without ending, which is added.
    columns : mapping of str to array-like
        By name, in order.
    format : Format, optional
        That of another table. Text and Parquet stay what they are. NPY and NPZ become NPY, one
        array with a column for each (or of one dimension if there is only one), as long as
        all are numbers, and else CSV. Every other kind becomes CSV.

    Returns
    -------
    path : Path
        The file that was written.
    """
    name = os.fspath(path)
    arrays = {title: np.asarray(values) for title, values in columns.items()}
    if format is None:
        chosen = written_format(name)
    else:
        chosen = _output_format(format, arrays)
        name += chosen.suffix
    if name == STDIN:
        sys.stdout.buffer.write(_text(arrays, chosen))
        sys.stdout.buffer.flush()
        return Path(name)
    if chosen.kind == "npy" and not _numeric(arrays):
        raise TableError(f"{name}: NPY holds numbers only, but there is text; write a .csv.")
    with atomic(name) as stream:
        _write(stream, arrays, chosen)
    return Path(name)


def written_format(name: str) -> Format:
    """The format of a file to be written, by its name."""
    if name != STDIN and Path(name).is_dir():
        raise TableError(f"{name} is a folder; give the name of a file in it.")
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if name != STDIN and KINDS.get(suffix) not in ("csv", "parquet", "npy", "npz"):
        unknown = "" if suffix in KINDS else "unknown kind of file; "
        raise TableError(
            f"{name}: {unknown}tables are written as .csv, .tsv, .parquet, .npy or .npz."
        )
    return format_of(name)


def _output_format(format: Format, arrays: dict[str, NDArray[Any]]) -> Format:
    if format.kind in ("csv", "parquet"):
        return format
    if format.kind in ("npy", "npz") and _numeric(arrays):
        return Format("npy", ".npy")
    return Format("csv", ".csv")


def _numeric(arrays: dict[str, NDArray[Any]]) -> bool:
    return all(array.dtype.kind in "biuf" for array in arrays.values())


def _write(stream: IO[bytes], arrays: dict[str, NDArray[Any]], format: Format) -> None:
    if format.kind == "parquet":
        need("pyarrow", "Parquet files")
        _frame(arrays).to_parquet(stream, engine="pyarrow", index=False)
    elif format.kind == "npy":
        values = list(arrays.values())
        np.save(stream, values[0] if len(values) == 1 else np.column_stack(values))
    elif format.kind == "npz":
        plain = {t: a.astype(str) if a.dtype == object else a for t, a in arrays.items()}
        np.savez(stream, **plain)  # type: ignore[arg-type]
    else:
        stream.write(_text(arrays, format))


def _frame(arrays: dict[str, NDArray[Any]]) -> Any:
    return pandas_for("tables").DataFrame(arrays)


def _text(arrays: dict[str, NDArray[Any]], format: Format) -> bytes:
    text = io.StringIO(newline="")
    _frame(arrays).to_csv(
        text, index=False, sep=format.delimiter, decimal=format.decimal, lineterminator="\n"
    )
    content = text.getvalue().encode("utf-8")
    return gzip.compress(content, mtime=0) if format.gzip else content
