"""Values that are missing or infinite: named, left out, filled or kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .._types import IntArray
from .._words import counted, plural
from ..models.gaps import column_medians, filled, find_gaps
from ._table import TableError

Missing = Literal["error", "drop", "median", "keep"]
CHOICES = ("error", "drop", "median", "keep")
_SHOWN = 3


@dataclass(frozen=True)
class Treated:
    """A matrix and what was done about its gaps."""

    X: Any
    rows: IntArray
    """Those that are left."""
    gaps: dict[str, int] = field(default_factory=dict)
    """How many there were, by column."""
    fills: dict[str, float] = field(default_factory=dict)
    """What stands in their place, by column."""


def treat_missing(source: str, X: Any, names: list[str], missing: Missing) -> Treated:
    """The matrix as ``missing`` wants it."""
    if missing not in CHOICES:
        listed = ", ".join(f'"{choice}"' for choice in CHOICES)
        raise ValueError(f"missing must be one of {listed}, got {missing!r}.")
    rows, columns = find_gaps(X)
    everything = np.arange(X.shape[0])
    if len(rows) == 0:
        return Treated(X, everything)
    if missing == "error":
        raise TableError(_message(source, rows, columns, names))
    which, counts = np.unique(columns, return_counts=True)
    gaps = {names[column]: int(count) for column, count in zip(which, counts, strict=True)}
    if missing == "drop":
        kept = np.setdiff1d(everything, rows)
        if len(kept) == 0:
            raise TableError(
                f"{source}: every row has a missing value, so that --drop-missing leaves none; "
                "use --fill median, or leave out columns that are mostly empty."
            )
        return Treated(X[kept], kept, gaps)
    if missing == "keep":
        return Treated(X, everything, gaps)
    medians = column_medians(X)
    return Treated(filled(X, medians), everything, gaps, fills_of(source, names, which, medians))


def fills_of(source: str, names: list[str], which: Any, medians: Any) -> dict[str, float]:
    """Values for the columns that have gaps, by name; a column with nothing else is refused."""
    for column in which:
        if not np.isfinite(medians[column]):
            raise TableError(
                f"{source}: column {names[column]!r} has no finite value to take a median of; "
                "leave it out of the file."
            )
    return {names[column]: float(medians[column]) for column in which}


def _message(source: str, rows: IntArray, columns: IntArray, names: list[str]) -> str:
    parts = []
    which = np.unique(columns)
    for column in which[:_SHOWN]:
        inside = rows[columns == column]
        listed = ", ".join(str(row + 1) for row in inside[:_SHOWN])
        more = " …" if len(inside) > _SHOWN else ""
        parts.append(f"{names[column]!r} ({plural(len(inside), 'row')} {listed}{more})")
    more = f" and {counted(len(which) - _SHOWN, 'more column')}" if len(which) > _SHOWN else ""
    n_rows = len(np.unique(rows))
    count = "its row" if n_rows == 1 else f"the {n_rows} rows"
    values = "1 value is" if len(rows) == 1 else f"{len(rows)} values are"
    return (
        f"{source}: {values} missing or infinite, in {', '.join(parts)}{more}. Leave out "
        f"{count} with --drop-missing, or fill with --fill median."
    )
