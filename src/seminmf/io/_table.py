"""What a table is once it is read, and the formats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from .._optional import need
from .._types import IntArray
from ._marks import POINT, Marks
from ._record import Record

# Endings of file names, each with the kind of file; ".gz" may follow where text is stored.
KINDS = {
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".data": "csv", ".dat": "csv",
    ".xlsx": "xlsx", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
    ".feather": "feather", ".npy": "npy", ".npz": "npz", ".mtx": "mtx", ".h5ad": "h5ad",
}  # fmt: skip
COMPRESSED = ("csv", "mtx", "jsonl")
# Endings of files that are not read, by what to do about them.
_INSTEAD = {
    "save it as .xlsx or .csv": (".xls", ".xlsb", ".ods", ".numbers"),
    "unpack it first": (".zip", ".xz", ".bz2", ".zst", ".7z", ".tar", ".tgz", ".rar"),
    "write one object per line and call it .jsonl": (".json",),
    "export it as .csv or .parquet": (
        ".rds", ".rda", ".rdata", ".sav", ".dta", ".sas7bdat", ".mat", ".arff", ".pkl", ".pickle",
        ".sqlite", ".db",
    ),
}  # fmt: skip
STDIN = "-"


class TableError(ValueError):
    """A table that cannot be read or written, in one line with the remedy."""


@dataclass(frozen=True)
class Format:
    """How a table is stored: ``kind`` is csv (also TSV), parquet, npy, npz, mtx or h5ad."""

    kind: str
    suffix: str
    gzip: bool = False
    delimiter: str = ","
    decimal: str = "."


@dataclass(frozen=True)
class Skipped:
    """A column that is not among the features, and why."""

    name: str
    reason: str


# The label of samples whose place in the column of labels is empty.
NO_LABEL = "missing"


@dataclass(frozen=True)
class Table:
    """Samples as rows."""

    X: Any
    """float64, an ndarray or a CSR array; or a source."""
    feature_names: tuple[str, ...]
    named: bool
    """Whether the names come from the file; if not they are x0, x1, …"""
    format: Format
    source: str
    rows: IntArray
    """Position of each sample in the file, counted from 0."""
    record: Record
    """How it was read."""
    ids: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    id_name: str | None = None
    label_name: str | None = None

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Columns that are not among the features."""
        return tuple(Skipped(name, reason) for name, reason in self.record.skipped.items())

    @property
    def n_dropped(self) -> int:
        """Rows that were left out for a missing value."""
        return self.record.rows_dropped

    @property
    def n_filled(self) -> int:
        """Values that were missing and are filled."""
        return self.record.values_filled


@dataclass
class Raw:
    """What a reader found: a matrix, or columns of which the numeric ones become the matrix."""

    format: Format
    columns: dict[str, Any]
    """By name: the candidates for features, or what is noted about the samples of a matrix."""
    matrix: Any = None
    names: list[str] | None = None
    ids: Any = None
    id_name: str = "id"
    skipped: list[Skipped] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    """Arguments of `read_table` that would have said what the reader found out by itself."""
    remarks: list[str] = field(default_factory=list)
    marks: Marks = POINT
    """Of numbers in text."""
    na_values: Sequence[str] = ()
    """What stands for a missing value, beside the words that always do."""
    nameless: str | None = None
    """What the first column is called here, if it has no name of its own."""
    line_1: list[str] | None = None
    """The first line of a text file that was taken as a sample."""


def format_of(path: str) -> Format:
    """The format that the name of a file stands for."""
    if path == STDIN:
        return Format("csv", ".csv")
    name = Path(path).name.lower()
    gzipped = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    kind = KINDS.get(suffix)
    if kind is None or (gzipped and kind not in COMPRESSED):
        known = ", ".join(KINDS)
        cures = [f"; {cure}" for cure, endings in _INSTEAD.items() if suffix in endings]
        raise TableError(
            f"{path}: unknown kind of file; known are {known}, and .csv.gz, .tsv.gz, .mtx.gz"
            f"{''.join(cures)}."
        )
    delimiter = "\t" if suffix in (".tsv", ".tab") else ","
    return Format(kind, suffix + (".gz" if gzipped else ""), gzipped, delimiter)


def name_of(path: str) -> str:
    """How messages call a file."""
    return "standard input" if path == STDIN else path


def told_by(error: Exception) -> str:
    """The first line of what another library says."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def pandas_for(what: str = "tables with columns") -> Any:
    return need("pandas", what)


def nearest(name: str, names: Iterable[str]) -> str:
    """A remark on names that look like the one that was asked for."""
    known = list(names)
    close = get_close_matches(name, known, n=3, cutoff=0.6)
    if not close:
        lower = {other.lower(): other for other in known}
        close = [lower[c] for c in get_close_matches(name.lower(), list(lower), n=3, cutoff=0.6)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    if not known:
        return "there are none."
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    return f"there are {', '.join(map(repr, known[:8]))}{more}."
