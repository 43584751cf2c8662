"""Saved outcomes → page. Nothing here measures anything."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean, geometric_mean

from ..report import setting
from .outcome import AGAIN, OTHER, PRESENT, Outcome
from .table import OBJECTIVE, SEEDS

# What counts as a difference: of times beyond this share and twice the noise, of results beyond
# these shares. Accuracies and errors are means over all data sets.
_TIME, _OBJECTIVE, _SCORE = 0.05, 0.005, 0.01
# Where the noise is larger, it cannot be said that there is no difference.
_NOISY = 0.2

_METHOD = f"""\
# Which constants matter?

The thresholds and other constants inside the package, and what difference each of them makes. The
page is made by `python -m benchmarks.constants`; every measurement is a row of
[constants.csv](constants.csv).

**How to read the table.** Each constant is set to other values, one constant at a time.
A constant *matters for speed* if some value on some data set takes longer or shorter by more than
{100 * _TIME:.0f} % and by more than twice the noise, in both halves of the rounds. It *matters for
results* if an objective differs by more than {100 * _OBJECTIVE:.1f} %, or a mean accuracy or error
by more than {100 * _SCORE:.0f} %. Where twice the noise is more than {100 * _NOISY:.0f} % on some
data set and no difference exceeds it, the constant *cannot be told from noise*.

**Times** and **objectives** are relative to the present value: below 1 is better. They are those of
whole fits with default settings and a given graph, in processor time on one thread and in
wall-clock time on two. The fits of all values take turns in a process, again and again, and the
best time of each counts. The present value takes part twice, and the difference of its two times is
the noise. Constants that are compiled in have a process for each value, compiled beforehand, and
these processes take turns in the same way (`apart` in the rows).

**Accuracy** judges the constants of the clusters: that of `FactorKMeans` on labelled data, clean
and with a fifth of outliers, relative to the present value (above 1 is better). **Error** judges
the scales of the losses: how badly the other samples are reconstructed where a fifth are outliers,
relative to `L21SemiNMF` (below 1 is better). Both are means over data sets and {SEEDS} seeds.
"""


def _at(row: Outcome) -> str:
    threads = f", {row.threads} threads" if row.threads > 1 else ""
    return f" ({row.value}: {row.data}{threads})"


def _span(ratios: list[tuple[float, Outcome]], digits: int) -> str:
    """Smallest and largest, with the values and the data sets where they were seen."""
    if not ratios:
        return "–"
    low, high = min(ratios, key=lambda pair: pair[0]), max(ratios, key=lambda pair: pair[0])
    least, most = (f"{ratio:.{digits}f}" for ratio, _ in (low, high))
    return least if least == most else f"{least}{_at(low[1])} to {most}{_at(high[1])}"


class _Summary:
    """All outcomes of one constant."""

    def __init__(self, rows: list[Outcome]) -> None:
        self.rows = rows
        self.others = [row for row in rows if row.role == OTHER]

    @property
    def values(self) -> str:
        """Those that were tried, with the mean of their times over all data sets."""
        ratios: dict[str, list[float]] = defaultdict(list)
        for row in self.others:
            ratios[row.value].append(row.seconds_ratio)
        if not self.times:
            return ", ".join(ratios)
        return ", ".join(f"{value} (×{geometric_mean(r):.2f})" for value, r in ratios.items())

    # Time

    @property
    def times(self) -> list[tuple[float, Outcome]]:
        return [
            (row.seconds_ratio, row) for row in self.others if not math.isnan(row.seconds_ratio)
        ]

    def _limit(self, row: Outcome) -> float:
        """The share that counts as a difference of times, where the row was measured."""
        seen = (
            abs(r.seconds_ratio - 1) for r in self.rows if r.role == AGAIN and r.group == row.group
        )
        return max(_TIME, 2 * max(seen, default=0.0))

    @property
    def noise(self) -> float:
        """The largest of these shares."""
        return max((self._limit(row) for _, row in self.times), default=0.0)

    def _differs(self, row: Outcome) -> bool:
        """Whether the time is another one, in both halves of the rounds."""
        # Of factors, so that twice as fast is as much as twice as slow.
        limit = math.log1p(self._limit(row))
        halves = [math.log(ratio) for ratio in (row.first_ratio, row.second_ratio)]
        return min(halves) > limit or max(halves) < -limit

    @property
    def matters_for_speed(self) -> bool:
        return any(self._differs(row) for _, row in self.times)

    # Results

    @property
    def results(self) -> list[tuple[float, Outcome]]:
        if self.rows[0].measure == OBJECTIVE:
            return [(row.result_ratio, row) for row in self.others]
        return self._means()

    def _means(self) -> list[tuple[float, Outcome]]:
        """The mean of each value over the data sets."""
        by_value: dict[str, list[Outcome]] = defaultdict(list)
        for row in self.rows:
            by_value[row.value].append(row)
        return [(fmean(row.result_ratio for row in rows), rows[0]) for rows in by_value.values()]

    @property
    def matters_for_results(self) -> bool:
        if self.rows[0].measure == OBJECTIVE:
            return any(abs(ratio - 1) > _OBJECTIVE for ratio, _ in self.results)
        (present,) = (ratio for ratio, row in self._means() if row.role == PRESENT)
        return any(abs(ratio / present - 1) > _SCORE for ratio, _ in self._means())

    @property
    def result_text(self) -> str:
        if self.rows[0].measure == OBJECTIVE:
            return _span(self.results, 4)
        means = ", ".join(f"{ratio:.3f} ({row.value})" for ratio, row in self._means())
        single = _span([(row.result_ratio, row) for row in self.others], 2)
        return f"{self.rows[0].measure} {means}; single sets {single}"

    @property
    def is_idle(self) -> bool:
        """Whether it makes no difference."""
        return not (self.matters_for_speed or self.matters_for_results or self.noise > _NOISY)

    @property
    def verdict(self) -> str:
        speed, results = self.matters_for_speed, self.matters_for_results
        if speed and results:
            return "**matters for speed and results**"
        if speed or results:
            return f"**matters for {'speed' if speed else 'results'}**"
        if not self.times:
            return f"makes no difference within {100 * _SCORE:.0f} %"
        if not self.is_idle:
            return f"cannot be told from noise ({100 * self.noise:.0f} %)"
        return f"makes no difference within noise ({100 * self.noise:.0f} %)"


def markdown(rows: list[Outcome], order: list[tuple[str, str]]) -> str:
    """The page."""
    lines = [_METHOD]
    if not rows:
        return "\n".join([*lines, "Nothing has been measured yet.", ""])
    lines += [
        setting(rows), "",
        "| constant | present | tried (mean time) | time | result | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for row in rows:
        groups[row.module, row.constant].append(row)
    summaries = [_Summary(groups[key]) for key in order if key in groups]
    lines += map(_line, summaries)
    idle = [f"`{s.rows[0].module}.{s.rows[0].constant}`" for s in summaries if s.is_idle]
    return "\n".join([*lines, "", f"No difference: {', '.join(idle) or 'none'}.", ""])


def _line(summary: _Summary) -> str:
    first = summary.rows[0]
    cells = [
        f"`{first.module}` `{first.constant}`", first.present, summary.values,
        _span(summary.times, 2), summary.result_text, summary.verdict,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"
