"""What was done to a file to make a table of it, for whoever reads the same file again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Record:
    """How a table was read: plain values, as ``run.json`` has them and a report tells them.

    ``dataclasses.asdict(record)`` is JSON, and ``Record(**that)`` is the record again.
    """

    path: str | None
    """Absolute path of the file or folder; None is standard input."""
    kind: str
    """csv (also TSV), parquet, npy, npz, mtx, h5ad, …"""
    arguments: dict[str, Any]
    """Of `read_table` (of `open_table` if ``in_parts``), so that the same table comes out: those of
    the caller, and what was found out about a text file: ``header``, ``delimiter``, ``decimal``."""
    rows: int
    columns: int
    """Samples and features: the shape of X."""
    sha256: str | None = None
    """Of the file as it was read; None for standard input and folders."""
    in_parts: bool = False
    id: str | None = None
    labels: str | None = None
    """The columns that name samples and classes."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Columns that are not among the features, with the reason."""
    rows_dropped: int = 0
    """Rows that were left out because a value was missing."""
    gaps: dict[str, int] = field(default_factory=dict)
    """Number of missing or infinite values by column, of the columns that have any."""
    fills: dict[str, float] = field(default_factory=dict)
    """What was put in their place, by column."""
    values_filled: int = 0
    remarks: list[str] = field(default_factory=list)
    """What was decided without being asked for, and what looks odd; a sentence each."""

    def call(self) -> str:
        """The Python expression that reads this table."""
        function = "open_table" if self.in_parts else "read_table"
        path = "-" if self.path is None else self.path
        given = [f"{name}={_literal(value)}" for name, value in self.arguments.items()]
        return f"{function}({', '.join([_literal(path), *given])})"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def sha256_of(path: str) -> str | None:
    """Checksum of a file; None for what is not one."""
    if not Path(path).is_file():
        return None
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
