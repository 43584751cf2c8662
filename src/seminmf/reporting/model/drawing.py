"""Charts as SVG, drawn in the page itself so that its style colours them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._types import FloatArray
from ..._words import counted
from .markup import count, number, text

_WIDTH, _HEIGHT = 640, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 16, 36, 44
# A signal of more features is drawn by the extremes of so many stretches.
_STRETCHES = 300


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers from low to high."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    step = 10.0 ** math.floor(math.log10(span / wanted))
    step = next(step * f for f in (1, 2, 2.5, 5, 10, 20) if span / (step * f) <= wanted)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def _tick(value: float) -> str:
    return f"{value:,.10g}".replace("-", "−") if abs(value) < 10**7 else number(value)


@dataclass(frozen=True)
class Frame:
    """Where numbers stand in a chart: across from ``first`` to ``last``, upwards from ``low``."""

    first: float
    last: float
    low: float
    high: float
    margin: int = 0
    """Beside the first and the last."""

    left, right, top, bottom = _LEFT, _WIDTH - _RIGHT, _TOP, _HEIGHT - _BOTTOM

    def across(self, x: Any) -> Any:
        share = (np.asarray(x, dtype=float) - self.first) / ((self.last - self.first) or 1.0)
        return self.left + self.margin + (self.right - self.left - 2 * self.margin) * share

    def up(self, y: Any) -> Any:
        share = (np.asarray(y, dtype=float) - self.low) / (self.high - self.low)
        return self.bottom - (self.bottom - self.top) * share

    def grid(self, rows: list[float]) -> str:
        """Lines at these heights, with their numbers."""
        return "".join(
            f'<path class="grid" d="M{self.left} {y:.1f}H{self.right}"/>'
            f'<text x="{self.left - 8}" y="{y + 4:.1f}" text-anchor="end">{_tick(value)}</text>'
            for value, y in zip(rows, self.up(rows), strict=True)
        )

    def below(self, places: Any, names: Sequence[str]) -> str:
        """Names below the axis."""
        return "".join(
            f'<text x="{x:.1f}" y="{self.bottom + 18}" text-anchor="middle">{text(name)}</text>'
            for x, name in zip(self.across(places), names, strict=True)
        )

    def curve(self, x: Any, y: Any, *, dots: bool) -> str:
        """A line from point to point."""
        points = [f"{a:.1f} {b:.1f}" for a, b in zip(self.across(x), self.up(y), strict=True)]
        body = f'<polyline class="curve" points="{",".join(points)}"/>'
        for point in points if dots else ():
            a, b = point.split()
            body += f'<circle class="dot" cx="{a}" cy="{b}" r="2.6"/>'
        return body

    def end(self, x: float, y: float, radius: int) -> str:
        """A ring around a point."""
        return f'<circle class="end" cx="{self.across(x):.1f}" cy="{self.up(y):.1f}" r="{radius}"/>'

    def fence(self, x: float, words: str, above: int, shift: int) -> str:
        """A line upwards, so much above the top at most, with words on the side with more room."""
        place = float(self.across(x))
        side, shift = ("end", -shift) if place > (self.left + self.right) / 2 else ("start", shift)
        top = self.top - above
        return (
            f'<path class="fence" d="M{place:.1f} {top}V{self.bottom}"/>'
            f'<text class="fence-name" x="{place + shift:.1f}" y="{top + 13}" '
            f'text-anchor="{side}">{words}</text>'
        )

    def chart(self, label: str, body: str, x_name: str, y_name: str) -> str:
        """The whole of it."""
        return (
            f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            f'aria-label="{text(label)}">{body}'
            f'<path class="axis" d="M{self.left} {self.bottom}H{self.right}"/>'
            f'<text class="name" x="{(self.left + self.right) / 2:g}" y="{_HEIGHT - 6}" '
            f'text-anchor="middle">{text(x_name)}</text>'
            f'<text class="name" x="4" y="16">{text(y_name)}</text></svg>'
        )


def padded(low: float, high: float, least: float = 0.0) -> tuple[float, float]:
    """With some room below and above, at least so much."""
    room = max(0.08 * (high - low) or abs(high) * 0.05 or 1.0, least)
    return low - room, high + room


def line(history: FloatArray) -> str:
    """The objective after each iteration."""
    values = np.asarray(history, dtype=np.float64)
    steps = np.flatnonzero(np.isfinite(values)) + 1
    values = values[steps - 1]
    if not len(values):
        return "<p>There is no finite value to draw.</p>"
    last = max(int(steps[-1]), 2)
    frame = Frame(1, last, *padded(float(values.min()), float(values.max())), margin=8)
    columns = sorted({1, *(int(t) for t in ticks(1, last, 6) if t >= 1 and t == int(t))})
    body = frame.grid(ticks(frame.low, frame.high, 6))
    body += frame.below(columns, [count(column) for column in columns])
    body += frame.curve(steps, values, dots=len(values) <= 60)
    body += frame.end(steps[-1], values[-1], 5)
    label = (
        f"Line chart: the objective falls from {number(values[0], 4)} to {number(values[-1], 4)} "
        f"in {counted(len(history), 'iteration')}."
    )
    return frame.chart(label, body, "iteration", "objective")


def histogram(scores: FloatArray, threshold: float) -> str:
    """How outlier scores are spread, and where the threshold stands."""
    values = scores[np.isfinite(scores)]
    top = float(values.max(initial=0.0)) or 1.0
    # A few far outliers would leave no room for the others.
    wide = threshold > 0 and top > 6 * threshold and bool((values > 0).any())
    label = (
        f"Histogram of {count(len(values))} outlier scores, up to {number(top)}; the threshold is "
        f"at {number(threshold)}."
    )
    return _distribution(values, wide, label, ("outlier score", "samples"), threshold)


def spreads(values: FloatArray) -> str:
    """How the standard deviations of the columns are spread."""
    moving = values[values > 0]
    if not len(moving):
        return "<p>No column has any spread.</p>"
    wide = float(moving.max() / moving.min()) > 20
    label = (
        f"Histogram of the spreads of {count(len(moving))} columns, from {number(moving.min())} to "
        f"{number(moving.max())}."
    )
    return _distribution(moving, wide, label, ("spread of a column", "columns"))


def _distribution(
    values: FloatArray, wide: bool, label: str, names: tuple[str, str], threshold: float = math.nan
) -> str:
    """A histogram on a linear or, if ``wide``, a logarithmic axis."""
    top = float(values.max(initial=0.0)) or 1.0
    if wide:
        positive = values[values > 0]
        low, high = math.log10(max(float(np.quantile(positive, 0.01)), top * 1e-9)), math.log10(top)
        scaled = np.log10(np.maximum(values, 10**low))
        at = math.log10(threshold) if threshold > 0 else math.nan
        marks = _decades(10**low, top)
        places = [math.log10(m) for m in marks]
    else:
        low, high = 0.0, max(top, np.nan_to_num(threshold)) * 1.02
        scaled, at = values, threshold
        marks = ticks(low, high, 6)
        places = marks
    edges = np.linspace(low, high if high > low else low + 1, 49)
    heights, _ = np.histogram(scaled, edges)
    usual, _ = np.histogram(scaled[~(values > threshold)], edges)
    tallest = max(int(heights.max()), 1)
    frame = Frame(edges[0], edges[-1], 0, tallest)
    body = frame.grid([t for t in ticks(0, tallest, 4) if t == int(t)])
    sides, tops = frame.across(edges), frame.up(heights)
    for place in np.flatnonzero(heights):
        kind = "in" if usual[place] else "out"
        body += (
            f'<rect class="{kind}" x="{sides[place] + 0.5:.1f}" y="{tops[place]:.1f}" '
            f'width="{sides[place + 1] - sides[place] - 1:.1f}" '
            f'height="{frame.bottom - tops[place]:.1f}"/>'
        )
    body += frame.below(places, [_tick(mark) for mark in marks])
    if edges[0] <= at <= edges[-1]:
        body += frame.fence(at, f"threshold {number(threshold)}", 22, 7)
    return frame.chart(label, body, names[0] + (" (logarithmic)" if wide else ""), names[1])


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, … from low to high, or only powers of ten if these are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if last - first <= 3 else (1,)
    marks = [round(f * 10.0**e, 12) for e in range(first, last + 1) for f in factors]
    step = max(1, len(marks) // 8)
    return [m for m in marks[::step] if low <= m <= high]


def bar(value: float, own: float, common: float) -> str:
    """One bar of a list, as long as its share of the largest; two scales, see the style sheet."""
    width = 0.0 if not own > 0 else 100 * min(abs(float(value)) / own, 1.0)
    kind = "pos" if value >= 0 else "neg"
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{kind} scaled" width="{max(width, 0.4):.2f}" height="10" '
        f'transform="scale({_ratio(own, common)} 1)"/></svg>'
    )


def _ratio(own: float, common: float) -> str:
    """By how much a part is smaller on the scale of all parts than on its own."""
    return f"{own / common:.4g}" if common > 0 else "1"


def profile(values: FloatArray, common: float, label: str) -> str:
    """A part as a signal over the features in their order; two scales, see the style sheet."""
    low = high = np.nan_to_num(np.asarray(values, dtype=np.float64))
    if len(low) > _STRETCHES:
        starts = np.linspace(0, len(low), _STRETCHES, endpoint=False).astype(int)
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    width, height = 300, 120
    largest = float(np.abs(values).max(initial=0.0))
    scale = (height / 2 - 4) / (largest or 1.0)
    across = np.linspace(4, width - 4, max(len(low), 2))
    if len(low) == 1:
        low, high = np.repeat(low, 2), np.repeat(high, 2)

    def area(ends: FloatArray, kind: str) -> str:
        points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, -scale * ends, strict=True))
        return f'<path class="{kind} area" d="M{across[0]:.1f} 0L{points}L{across[-1]:.1f} 0Z"/>'

    middle = -scale * (low + high) / 2
    curve = ",".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, middle, strict=True))
    return (
        f'<svg class="profile" viewBox="0 {-height // 2} {width} {height}" role="img" '
        f'aria-label="{text(label)}"><g class="scaled" '
        f'transform="scale(1 {_ratio(largest, common)})">'
        f"{area(np.maximum(high, 0), 'pos')}{area(np.minimum(low, 0), 'neg')}"
        f'<polyline class="outline" points="{curve}"/></g>'
        f'<path class="zero" d="M4 0H{width - 4}"/></svg>'
    )
