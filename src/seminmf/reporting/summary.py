"""From rows to means, differences and verdicts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = dict[str, Any]
LEAST_TOLERANCE = 1.5  # points
SDS = 2.0  # standard deviations of the paper


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (of the sample, n − 1) of some runs."""

    mean: float
    sd: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.sd:.2f}"


@dataclass(frozen=True)
class Comparison:
    """Our mean beside the paper's."""

    ours: Spread
    paper: tuple[float, float]

    @property
    def difference(self) -> float:
        return self.ours.mean - self.paper[0]

    @property
    def tolerance(self) -> float:
        return max(SDS * self.paper[1], LEAST_TOLERANCE)

    @property
    def verdict(self) -> str:
        """ "within" the tolerance, "better" by more than it, or "outside"."""
        if abs(self.difference) <= self.tolerance:
            return "within"
        return "better" if self.difference > 0 else "outside"


def select(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Rows whose columns have the given values; None stands for an absent column."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def group(rows: Iterable[Row], *names: str) -> dict[tuple[Hashable, ...], list[Row]]:
    """Rows by the values of some columns, sorted by them."""
    found: dict[tuple[Hashable, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return dict(sorted(found.items(), key=lambda item: tuple(map(_sortable, item[0]))))


_ORDER = ("ionosphere", "waveform", "uspst", "uspst_zip")


def _sortable(value: Hashable) -> tuple[int, float, str]:
    """Numbers by size, then the data sets in the paper's order, then other texts."""
    if isinstance(value, (int, float)):
        return (0, float(value), "")
    if value in _ORDER:
        return (1, _ORDER.index(str(value)), "")
    return (2, 0.0, str(value))


def spread(rows: Iterable[Row], column: str) -> Spread | None:
    """Mean and SD of a column over the rows that have it; None if none has."""
    values = [float(row[column]) for row in rows if column in row]
    if not values:
        return None
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Spread(float(np.mean(values)), sd, len(values))


def compare(rows: Iterable[Row], column: str, paper: tuple[float, float]) -> Comparison | None:
    ours = spread(rows, column)
    return None if ours is None else Comparison(ours, paper)


def curve(rows: Iterable[Row], x: str, y: str) -> tuple[list[float], list[float]]:
    """Mean of a column at each value of another, over the runs."""
    points: dict[float, list[float]] = {}
    for row in rows:
        if x in row and y in row:
            points.setdefault(float(row[x]), []).append(float(row[y]))
    most = max(map(len, points.values()), default=0)
    # Runs that stopped early would make the mean jump: keep the part that all have.
    xs = sorted(value for value, found in points.items() if len(found) == most)
    return xs, [math.fsum(points[value]) / len(points[value]) for value in xs]


def best_pair(rows: Iterable[Row]) -> tuple[float, float] | None:
    """(α, β) with the best mean of ACC and NMI."""
    means = {}
    for (alpha, beta), found in group(rows, "alpha", "beta").items():
        acc, nmi = spread(found, "ACC"), spread(found, "NMI")
        if acc and nmi:
            means[alpha, beta] = acc.mean + nmi.mean
    if not means:
        return None
    alpha, beta = max(means, key=lambda pair: means[pair])
    return float(str(alpha)), float(str(beta))
