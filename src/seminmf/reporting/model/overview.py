"""The data themselves: columns, their scales and gaps, and how much any parts could explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._sparse import dense
from ..._types import FloatArray, IntArray
from ..._words import counted
from ...io._columns import far_scales, row_name_reason
from .drawing import spreads
from .markup import count, lead, number, own, percent, reading, table, text
from .subject import Subject

# So many samples tell how much the best directions explain.
_MEASURED = 1000
# Columns in the table, and in the longer one behind it.
_FEW, _MANY = 12, 200
# Columns are measured so many values at a time.
_BLOCK = 2_000_000


@dataclass(frozen=True, eq=False)
class Columns:
    """What each column of the table is like, gaps left out."""

    low: FloatArray
    mean: FloatArray
    high: FloatArray
    spread: FloatArray
    """Standard deviation."""
    zeros: FloatArray
    """Share of the values that are zero."""
    gaps: IntArray
    naming: NDArray[np.bool_]
    """Columns that say which sample a row is, by the rule for tables that are read."""


@dataclass(frozen=True, eq=False)
class Overview:
    """The table that was passed."""

    columns: Columns
    scales: tuple[int, int, float, float] | None
    """Columns of the smallest and the largest scale, with these, if they differ by far."""
    best: FloatArray
    """Share of the squares that the best 1, 2, … directions of the samples that are no outliers
    explain, measured on some of them; no factorization explains more."""
    common: float
    """Share of the squares of the same samples that is their mean."""


def look_over(about: Subject, inside: NDArray[np.bool_]) -> Overview:
    best, common = _shares(about, inside)
    return Overview(_columns(about.raw, about.raw_names), far_scales(about.raw), best, common)


def _columns(X: Any, names: tuple[str, ...]) -> Columns:
    n, m = X.shape
    X = X.tocsc() if sp.issparse(X) else X
    step = max(1, _BLOCK // n)
    found = [_measured(X[:, a : a + step], names[a : a + step]) for a in range(0, m, step)]
    return Columns(*(np.concatenate(values) for values in zip(*found, strict=True)))


def _measured(X: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The fields of `Columns` for some columns."""
    values = np.asarray(dense(X), dtype=np.float64)
    present = np.isfinite(values)
    counts = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0.0).sum(axis=0) / counts
    spread = np.sqrt((np.where(present, values - mean, 0.0) ** 2).sum(axis=0) / counts)
    low = np.where(present, values, np.inf).min(axis=0)
    high = np.where(present, values, -np.inf).max(axis=0)
    naming = np.array(
        [row_name_reason(*pair) is not None for pair in zip(names, values.T, strict=True)]
    )
    zeros = (present & (values == 0)).sum(axis=0) / counts
    return low, mean, high, spread, zeros, (~present).sum(axis=0), naming


def _shares(about: Subject, inside: NDArray[np.bool_]) -> tuple[FloatArray, float]:
    rows = np.flatnonzero(inside) if inside.any() else np.arange(len(inside))
    some = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MEASURED)).astype(int))]
    X = about.rows(some)
    small = X @ X.T if len(X) <= X.shape[1] else X.T @ X
    squares = np.maximum(np.linalg.eigvalsh(small)[::-1], 0)
    total = float(squares.sum())
    if total == 0:
        return np.zeros(len(squares)), 0.0
    return np.cumsum(squares) / total, float(len(X) * (X.mean(axis=0) ** 2).sum() / total)


def overview_section(about: Subject, seen: Overview) -> str:
    n, m = about.raw.shape
    columns = seen.columns
    spread = columns.spread
    words = (
        f"The table that the model was fitted to: {counted(n, 'sample')} of {counted(m, 'column')}"
        + (", before it was scaled." if about.inner.before else ".")
    )
    moving = spread[spread > 0]
    ratio = float(moving.max() / moving.min()) if len(moving) else float("nan")
    record = about.origin.record
    gaps, dropped = int(columns.gaps.sum()), 0
    if record is not None:
        gaps, dropped = sum(record.gaps.values()), record.rows_dropped
    told = "none" if not gaps else counted(gaps, "value")
    if record is not None and record.values_filled:
        told = f"{counted(record.values_filled, 'value')}, filled"
    facts = [
        ("largest spread against smallest", "–" if not ratio < np.inf else f"{number(ratio, 2)} ×"),
        ("values that are zero", percent(float(columns.zeros.mean()), 1)),
        ("gaps", told + (f"; {counted(dropped, 'row')} left out" if dropped else "")),
        ("columns without spread", count(int((spread == 0).sum()))),
    ]
    return lead(words) + reading(spreads(spread), facts) + _tables(about, seen) + _record(about)


def _tables(about: Subject, seen: Overview) -> str:
    """All columns, or those with the largest and the smallest spread; more behind a fold."""
    columns, m = seen.columns, len(seen.columns.spread)
    order = np.argsort(-columns.spread, kind="stable")
    shown, title = np.arange(m), "Columns"
    if m > _FEW:
        half = _FEW // 2
        shown = np.r_[order[:half], order[-half:]]
        title = f"The {half} columns with the largest spread and the {half} with the smallest"
    content = _column_table(about, columns, shown, title)
    if m > _FEW:
        many = order[:_MANY]
        title = f"Columns by spread{'' if m <= _MANY else f', the first {_MANY} of {m:,}'}"
        more = _column_table(about, columns, many, title)
        head = f"<summary>Show {counted(len(many), 'column')}</summary>"
        content += f"<details>{head}{more}</details>\n"
    return content


def _column_table(about: Subject, columns: Columns, shown: IntArray, title: str) -> str:
    filled = {} if about.origin.record is None else about.origin.record.gaps
    rows = []
    for j in shown:
        gaps = int(columns.gaps[j]) or filled.get(about.raw_names[j], 0)
        rows.append(
            [
                own(about.raw_names[j], 44),
                *(number(values[j]) for values in (columns.low, columns.mean, columns.high)),
                number(columns.spread[j]),
                percent(columns.zeros[j]),
                count(gaps) if gaps else "·",
            ]
        )
    header = ["Column", "Least", "Mean", "Largest", "Spread", "Zeros", "Gaps"]
    return table(title, header, rows, kind="columns-table")


def _record(about: Subject) -> str:
    """What was done to the file, where that is known."""
    record = about.origin.record
    if record is None:
        return ""
    rows = [("read by", f"<code>{text(record.call())}</code>")]
    if record.path is not None:
        rows.insert(0, ("file", f"<code>{text(record.path)}</code>"))
    if record.sha256 is not None:
        rows.append(("SHA-256", f"<code>{text(record.sha256)}</code>"))
    if record.skipped:
        told = "; ".join(f"{own(name)}: {text(why)}" for name, why in record.skipped.items())
        rows.append(("columns left out", told))
    if record.fills:
        named = list(record.fills.items())
        told = ", ".join(f"{own(name)} = {number(value, 6)}" for name, value in named[:_FEW])
        more = f" and {len(named) - _FEW:,} more" if len(named) > _FEW else ""
        rows.append(("gaps filled with", told + more))
    rows += [("remark", text(remark)) for remark in record.remarks]
    return table("How the table was read", ["", ""], rows, kind="facts")
