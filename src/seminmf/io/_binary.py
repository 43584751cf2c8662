"""Parquet, NPY, NPZ and Matrix Market."""

from __future__ import annotations

import io
import zipfile
import zlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .._optional import need
from .._words import counted
from ._numbers import check_numbers
from ._strangers import check_room, guarded, unzipped
from ._table import Format, Raw, Skipped, TableError, pandas_for, told_by

_MATRIX_KEYS = ("X", "data", "arr_0")
_NAME_KEYS = ("feature_names", "columns", "var_names")


@guarded("a Parquet file")
def read_parquet(path: str, format: Format) -> Raw:
    """Columns of a Parquet file; an index that pandas wrote is a column too."""
    pandas = pandas_for("Parquet files")
    told = need("pyarrow.parquet", "Parquet files").read_metadata(path)
    check_room(path, 8 * told.num_rows * told.num_columns)
    return frame_columns(pandas.read_parquet(path, engine="pyarrow"), format)


def frame_columns(frame: Any, format: Format) -> Raw:
    """Those of a data frame; an index that is more than a count is a column too."""
    pandas = pandas_for()
    raw = Raw(format, {str(name): frame[name] for name in frame.columns})
    index = frame.index
    if isinstance(index, pandas.RangeIndex):
        return raw
    if isinstance(index, pandas.MultiIndex):
        names = [name or f"level {i}" for i, name in enumerate(index.names)]
        index = pandas.Index([", ".join(map(str, key)) for key in index], name=", ".join(names))
    if not index.is_unique:
        raw.skipped = [Skipped(str(index.name or "the index"), "it does not tell rows apart")]
        return raw
    if index.name is not None:
        raw.columns[str(index.name)] = index.to_series()
        raw.id_name = str(index.name)
    raw.ids = index
    return raw


@guarded()
def read_npy(path: str, format: Format) -> Raw:
    """A matrix, or the columns of a structured array."""
    try:
        with Path(path).open("rb") as stream:  # numpy leaves a damaged one open
            array = np.load(stream, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise TableError(_unreadable(path, "NPY", error)) from None
    if not isinstance(array, np.ndarray):
        raise TableError(f"{path} is an NPZ archive; rename it to .npz.")
    if array.dtype.names:
        return Raw(format, {name: array[name] for name in array.dtype.names})
    return Raw(format, {}, matrix_of(path, array))


def _unreadable(path: str, what: str, error: Exception) -> str:
    reason = told_by(error)
    if "allow_pickle" in reason or "pickled" in reason:
        return (
            f"{path} holds Python objects or is not an {what} file; only arrays of numbers are "
            "opened. Save it with numpy.save and a numeric dtype."
        )
    return f"{path} is not an {what} file, or is damaged: {reason}"


def matrix_of(path: str, array: Any) -> Any:
    """Two-dimensional, real numbers."""
    if array.dtype.kind not in "biuf":
        raise TableError(f"{path} holds values of type {array.dtype}; numbers are needed.")
    if array.ndim != 2:
        raise TableError(
            f"{path} has {counted(array.ndim, 'dimension')}, shape {array.shape}; "
            "save it with two: samples as rows, features as columns."
        )
    return array


@guarded()
def read_npz(path: str, format: Format) -> Raw:
    """A sparse matrix of SciPy, or the matrix X with other arrays beside it."""
    import scipy.sparse as sp

    try:
        with Path(path).open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            check_room(path, sum(info.file_size for info in archive.zip.infolist()))
            arrays = {name: archive[name] for name in archive.files}
            if {"format", "shape", "data"} <= set(arrays):
                stream.seek(0)
                check_room(path, 8 * int(max(arrays["shape"])))
                matrix = sp.load_npz(stream)
                if matrix.format in ("csr", "csc"):
                    matrix.check_format(full_check=True)  # SciPy reads beyond their ends else
                return Raw(format, {}, sp.csr_array(matrix))
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error, AttributeError) as error:
        raise TableError(_unreadable(path, "NPZ", error)) from None
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    key = next((name for name in _MATRIX_KEYS if name in matrices), None)
    if key is None and len(matrices) == 1:
        key = matrices[0]
    if key is None:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise TableError(f"{path} has no matrix called X: it has {found}. Save it as X=….")
    matrix = matrix_of(path, arrays.pop(key))
    names = None
    for name in _NAME_KEYS:
        if name in arrays and arrays[name].shape == (matrix.shape[1],):
            names = [str(value) for value in arrays.pop(name)]
            break
    columns = {name: a for name, a in arrays.items() if a.shape == (matrix.shape[0],)}
    return Raw(format, columns, matrix, names)


@guarded("a Matrix Market file")
def read_mtx(path: str, format: Format) -> Raw:
    """Matrix Market: sparse (coordinate) or dense (array)."""
    import scipy.io
    import scipy.sparse as sp

    content = Path(path).read_bytes()
    if format.gzip:
        content = unzipped(path, content)
    _check_mtx(path, content)
    matrix = scipy.io.mmread(io.BytesIO(content), spmatrix=False)
    if matrix.dtype.kind == "c":
        raise TableError(f"{path} holds complex numbers; real ones are needed.")
    return Raw(format, {}, sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix))


def _check_mtx(path: str, content: bytes) -> None:
    """Refuse what SciPy's reader does not survive, or takes for numbers though it is none."""
    lines = io.BytesIO(content)
    banner = next(lines, b"").split()
    if len(banner) != 5 or banner[0] != b"%%MatrixMarket":
        raise ValueError("its first line is not that of a Matrix Market file")
    for above, line in enumerate(lines, 2):
        if line.strip() and not line.startswith(b"%"):
            check_numbers(line, above)
            sizes = [int(size) for size in line.split()]
            check_room(path, 8 * (max(sizes) if banner[2] == b"coordinate" else prod(sizes)))
            break
    else:
        raise ValueError("it ends before the sizes")
    body = content[lines.tell() :]
    check_numbers(body, above + 1)
    entries = sum(1 for line in body.splitlines() if line.strip())
    if banner[2] == b"coordinate" and entries != sizes[-1]:
        raise ValueError(f"it has {counted(entries, 'entry')}, but says that there are {sizes[-1]}")
