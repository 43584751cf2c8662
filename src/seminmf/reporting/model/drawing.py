"""Charts as SVG, drawn in the page itself so that its style colours them."""

from __future__ import annotations

import math

import numpy as np

from ..._types import FloatArray, IntArray
from ..._words import counted
from .markup import count, number, text

__all__ = ["bar", "histogram", "line", "profile", "spreads"]

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


def _chart(label: str, body: str, x_name: str, y_name: str) -> str:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{text(label)}">{body}'
        f'<path class="axis" d="M{_LEFT} {bottom}H{right}"/>'
        f'<text class="name" x="{(_LEFT + right) / 2:g}" y="{_HEIGHT - 6}" '
        f'text-anchor="middle">{text(x_name)}</text>'
        f'<text class="name" x="4" y="16">{text(y_name)}</text></svg>'
    )


def _grid(values: list[float], place: FloatArray) -> str:
    right = _WIDTH - _RIGHT
    return "".join(
        f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>'
        f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_tick(value)}</text>'
        for value, y in zip(values, place, strict=True)
    )


def line(history: FloatArray) -> str:
    """The objective after each iteration."""
    values = np.asarray(history, dtype=np.float64)
    steps = np.arange(1, len(values) + 1)
    keep = np.isfinite(values)
    values, steps = values[keep], steps[keep]
    if not len(values):
        return "<p>There is no finite value to draw.</p>"
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    low, high = float(values.min()), float(values.max())
    pad = 0.08 * (high - low) or abs(high) * 0.05 or 1.0
    low, high = low - pad, high + pad
    last = max(int(steps[-1]), 2)

    def across(x: IntArray) -> FloatArray:
        return _LEFT + 8 + (right - _LEFT - 16) * (np.asarray(x, dtype=float) - 1) / (last - 1)

    def up(y: FloatArray | list[float]) -> FloatArray:
        return bottom - (bottom - _TOP) * (np.asarray(y, dtype=float) - low) / (high - low)

    rows = ticks(low, high, 6)
    columns = sorted({1, *(int(t) for t in ticks(1, last, 6) if t >= 1 and t == int(t))})
    points = [f"{x:.1f} {y:.1f}" for x, y in zip(across(steps), up(values), strict=True)]
    body = _grid(rows, up(rows))
    body += "".join(
        f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{count(c)}</text>'
        for c, x in zip(columns, across(np.array(columns)), strict=True)
    )
    body += f'<polyline class="curve" points="{",".join(points)}"/>'
    if len(points) <= 60:
        body += "".join(
            f'<circle class="dot" cx="{p.split()[0]}" cy="{p.split()[1]}" r="2.6"/>' for p in points
        )
    body += f'<circle class="end" cx="{points[-1].split()[0]}" cy="{points[-1].split()[1]}" r="5"/>'
    label = (
        f"Line chart: the objective falls from {number(values[0], 4)} to {number(values[-1], 4)} "
        f"in {counted(len(history), 'iteration')}."
    )
    return _chart(label, body, "iteration", "objective")


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
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    tallest = max(int(heights.max()), 1)

    def across(x: float) -> float:
        return _LEFT + (right - _LEFT) * (x - edges[0]) / (edges[-1] - edges[0])

    rows = [t for t in ticks(0, tallest, 4) if t == int(t)]
    body = _grid(rows, np.array([bottom - (bottom - _TOP) * t / tallest for t in rows]))
    for height, left, end in zip(heights, edges[:-1], edges[1:], strict=True):
        if height:
            size = (bottom - _TOP) * height / tallest
            kind = "out" if (left + end) / 2 > at else "in"
            body += (
                f'<rect class="{kind}" x="{across(left) + 0.5:.1f}" y="{bottom - size:.1f}" '
                f'width="{across(end) - across(left) - 1:.1f}" height="{size:.1f}"/>'
            )
    body += "".join(
        f'<text x="{across(x):.1f}" y="{bottom + 18}" text-anchor="middle">{_tick(m)}</text>'
        for m, x in zip(marks, places, strict=True)
    )
    if edges[0] <= at <= edges[-1]:
        x = across(at)
        side = "end" if x > (_LEFT + right) / 2 else "start"
        shift = -7 if side == "end" else 7
        body += (
            f'<path class="fence" d="M{x:.1f} {_TOP - 22}V{bottom}"/>'
            f'<text class="fence-name" x="{x + shift:.1f}" y="{_TOP - 9}" text-anchor="{side}">'
            f"threshold {number(threshold)}</text>"
        )
    return _chart(label, body, names[0] + (" (logarithmic)" if wide else ""), names[1])


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
