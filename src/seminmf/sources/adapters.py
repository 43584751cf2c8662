"""What a source is, and the sources that files and arrays of other libraries make."""

from __future__ import annotations

import importlib
import os
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from .._optional import need
from .._types import IntArray
from .._words import counted


@runtime_checkable
class Source(Protocol):
    """Rows of numbers that can be read again and again, and do not change meanwhile.

    Three more attributes are used where they are there: ``indptr``, which a source of sparse rows
    must have, as in CSR (how many entries the rows have decides how many are read at a time);
    ``names``, of the features; and ``bounds``, of the blocks of rows in which the source is stored:
    reading is cheapest from one of them to another.
    """

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> Any: ...
    def read(self, start: int, stop: int) -> Any:
        """The rows from ``start`` to ``stop``: an array, or a CSR array for a sparse source."""


def check_table(what: str, shape: tuple[int, ...], dtype: Any) -> None:
    """Two dimensions, real numbers."""
    if len(shape) != 2:
        raise ValueError(
            f"{what} has {counted(len(shape), 'dimension')}, shape {tuple(shape)}; "
            "two are needed: samples as rows, features as columns."
        )
    if np.dtype(dtype).kind not in "biuf":
        raise ValueError(f"{what} holds values of type {dtype}; real numbers are needed.")


class FileSource:
    """Numbers of a file, one row after the other (or one column after the other).

    They are read, not mapped: pages of a mapped file would count as memory of this process for as
    long as the system leaves them there.
    """

    def __init__(
        self, path: str | os.PathLike[str], dtype: Any, shape: tuple[int, ...], offset: int = 0,
        order: str = "C",
    ) -> None:  # fmt: skip
        self.path, self.dtype, self.offset, self.order = Path(path), np.dtype(dtype), offset, order
        check_table(str(path), shape, self.dtype)
        self._shape: tuple[int, int] = (int(shape[0]), int(shape[1]))

    @classmethod
    def of_npy(cls, path: str | os.PathLike[str]) -> FileSource:
        """A file that `numpy.save` wrote."""
        try:
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(
                f"{path} is not an NPY file of numbers, or is damaged: {error}"
            ) from None
        if not isinstance(mapped, np.memmap):
            raise ValueError(f"{path} is an NPZ archive; save X with numpy.save as a file .npy.")
        return cls.of_mapped(mapped)

    @classmethod
    def of_mapped(cls, mapped: Any) -> FileSource:
        """The file behind a mapped array, also behind some of its rows."""
        check_table("the mapped array", mapped.shape, mapped.dtype)
        whole = mapped
        while isinstance(whole.base, np.memmap):
            whole = whole.base
        plain = mapped.flags.c_contiguous or (mapped.flags.f_contiguous and whole is mapped)
        if not plain or mapped.filename is None or mapped.mode == "c":
            raise ValueError(
                "a mapped array can be read within max_memory where it is a file, or consecutive "
                'rows of one, mapped with mode "r"; pass that, or leave max_memory at None.'
            )
        offset = whole.offset + mapped.ctypes.data - whole.ctypes.data
        order = "C" if mapped.flags.c_contiguous else "F"
        return cls(mapped.filename, mapped.dtype, mapped.shape, offset, order)

    @property
    def shape(self) -> tuple[int, int]:
        """As it was, with fewer rows if the file has become too short for them."""
        n, m = self._shape
        held = (self.path.stat().st_size - self.offset) // self.dtype.itemsize
        return (n, m) if held >= n * m else (held // m, m)

    def read(self, start: int, stop: int) -> Any:
        if self.order == "F":
            # A map of its own, which goes with what was touched of it.
            mapped = np.memmap(
                self.path, self.dtype, mode="r", offset=self.offset, shape=self._shape, order="F"
            )
            return np.array(mapped[start:stop], order="C")
        rows = np.empty((stop - start, self._shape[1]), self.dtype)
        self.read_into(start, rows)
        return rows

    def read_into(self, start: int, rows: Any) -> None:
        """Rows from ``start`` on into an array of the same type."""
        left = memoryview(rows).cast("B")
        with self.path.open("rb", buffering=0) as stream:
            stream.seek(self.offset + start * rows.strides[0])
            while len(left):
                count = stream.readinto(left)
                if not count:
                    raise ValueError(f"{self.path} ends too early: it has become shorter.")
                left = left[count:]


class ArraySource:
    """An array that reads what is asked of it: of Zarr, of HDF5 or in memory."""

    def __init__(self, array: Any, what: str = "X", names: Any = None) -> None:
        if not hasattr(array, "dtype") or sp.issparse(array):
            raise ValueError(
                f"{what} is a {type(array).__name__}, and not an array of NumPy, Zarr or HDF5; of "
                "CSR a MatrixSource takes data, indices and indptr."
            )
        check_table(what, array.shape, array.dtype)
        self._array, self.names = array, names
        self.dtype = np.dtype(array.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self._array.shape
        return int(n), int(m)

    @property
    def bounds(self) -> IntArray | None:
        """Of the chunks in which the array is stored."""
        stored = getattr(self._array, "chunks", None)
        n = self.shape[0]
        return None if not stored else np.append(np.arange(0, n, int(stored[0])), n)

    def read(self, start: int, stop: int) -> Any:
        return np.asarray(self._array[start:stop])


class MatrixSource:
    """CSR rows from three arrays: numbers, columns, and where the rows begin."""

    def __init__(
        self, parts: tuple[Any, Any, Any], shape: tuple[int, int], what: str = "X",
        names: Any = None,
    ) -> None:  # fmt: skip
        self._data, self._indices, indptr = parts
        check_table(what, shape, self._data.dtype)
        self.shape = int(shape[0]), int(shape[1])
        self.indptr = np.asarray(indptr[:], np.int64)
        falls = (np.diff(self.indptr) < 0).any()
        if len(self.indptr) != self.shape[0] + 1 or falls or self.indptr[-1] > len(self._data):
            raise ValueError(
                f"{what} is damaged: its rows do not fit its {counted(len(self._data), 'entry')}."
            )
        self.dtype, self.names = np.dtype(self._data.dtype), names

    def read(self, start: int, stop: int) -> Any:
        first, last = self.indptr[start], self.indptr[stop]
        parts = (
            np.asarray(self._data[first:last]),
            np.asarray(self._indices[first:last]),
            self.indptr[start : stop + 1] - first,
        )
        return sp.csr_array(parts, shape=(stop - start, self.shape[1]))


class ParquetSource:
    """The numeric columns of a Parquet file, or of all in a folder, in the order of their names.

    A group of rows is read at a time. ``columns`` are those to take; None takes all, which then
    must be numeric.
    """

    def __init__(self, path: str | os.PathLike[str], columns: list[str] | None = None) -> None:
        paths = _parquet_files(Path(path))
        if not paths:
            raise ValueError(
                f"{path} is a folder without files .parquet, and not one of Zarr; give a file, or "
                "such a folder."
            )
        self._files = [_open_parquet(file) for file in paths]
        schema = self._files[0].schema_arrow
        for file, name in zip(self._files, paths, strict=True):
            if not file.schema_arrow.equals(schema):
                raise ValueError(f"{name} has other columns, or other types, than {paths[0]}.")
        wanted = columns if columns is not None else _table_columns(schema)
        kinds = [_number_type(path, name, schema) for name in wanted]
        if not kinds:
            raise ValueError(f"{path} has no columns of numbers.")
        self.names = np.array(wanted, dtype=object)
        self.dtype = np.dtype(np.float32 if set(kinds) == {"float"} else np.float64)
        counts, self._groups = [], []
        for file in self._files:
            for group in range(file.num_row_groups):
                counts.append(file.metadata.row_group(group).num_rows)
                self._groups.append((file, group))
        self.bounds: IntArray = np.append(0, np.cumsum(counts)).astype(np.int64)
        self.shape = int(self.bounds[-1]), len(wanted)

    def read(self, start: int, stop: int) -> Any:
        first = int(np.searchsorted(self.bounds, start, side="right")) - 1
        last = int(np.searchsorted(self.bounds, stop, side="left"))
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        for number in range(first, last):
            file, group = self._groups[number]
            table = file.read_row_group(group, columns=list(self.names))
            begin = int(self.bounds[number])
            low, high = max(start, begin), min(stop, int(self.bounds[number + 1]))
            for place, name in enumerate(self.names):
                values = table.column(name).to_numpy()[low - begin : high - begin]
                rows[low - start : high - start, place] = values
        return rows


def _parquet_files(place: Path) -> list[Path]:
    """A file .parquet itself, or those of a folder; none for anything else."""
    if place.is_dir():
        return sorted(place.glob("*.parquet"))
    return [place] if place.suffix.lower() in (".parquet", ".pq") else []


def _open_parquet(path: Path) -> Any:
    parquet = need("pyarrow.parquet", "Parquet files")
    try:
        return parquet.ParquetFile(path)
    except importlib.import_module("pyarrow").ArrowException as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} is not a Parquet file, or is damaged: {reason}") from None


def parquet_schema(path: str | os.PathLike[str]) -> Any:
    """The columns of a Parquet file, or of the first of a folder; None for anything else."""
    paths = _parquet_files(Path(path))
    return _open_parquet(paths[0]).schema_arrow if paths else None


def is_number_type(kind: Any) -> bool:
    """Whether a column of Arrow has real numbers."""
    types = importlib.import_module("pyarrow").types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _table_columns(schema: Any) -> list[str]:
    """Those that are data, and not an index that pandas wrote."""
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    index = {name for name in noted if isinstance(name, str)}
    return [name for name in schema.names if name not in index]


def _number_type(path: Any, name: str, schema: Any) -> str:
    if name not in schema.names:
        raise ValueError(f"{path} has no column {name!r}.")
    kind = schema.field(name).type
    if not is_number_type(kind):
        raise ValueError(
            f"{path}: column {name!r} has values of type {kind}; name the columns with numbers: "
            "ParquetSource(path, columns=[…])."
        )
    return str(kind)


class SelectedRows:
    """Some rows of a source, in their order."""

    def __init__(self, source: Source, numbers: IntArray) -> None:
        self._source, self._numbers = source, np.asarray(numbers)
        self.shape = len(numbers), source.shape[1]
        self.dtype = source.dtype
        indptr = getattr(source, "indptr", None)
        if indptr is not None:
            self.indptr = np.append(0, np.cumsum(np.diff(indptr)[self._numbers]))

    def read(self, start: int, stop: int) -> Any:
        """In runs of rows of which no two lie further apart than every second row."""
        numbers = self._numbers[start:stop]
        ends = np.flatnonzero(np.diff(numbers) > 2) + 1
        runs = []
        for low, high in pairwise([0, *ends.tolist(), len(numbers)]):
            first, last = int(numbers[low]), int(numbers[high - 1])
            rows = self._source.read(first, last + 1)
            whole = last - first == high - low - 1
            runs.append(rows if whole else rows[numbers[low:high] - first])
        return sp.csr_array(sp.vstack(runs)) if sp.issparse(runs[0]) else np.concatenate(runs)
