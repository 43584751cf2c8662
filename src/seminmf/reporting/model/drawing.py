"""Charts as SVG, drawn in the page itself so that its style colours them."""

from __future__ import annotations

import math

import numpy as np

from ..._types import FloatArray, IntArray
from .markup import count, number, text

__all__ = ["bar", "histogram", "line", "profile"]

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
        f"in {len(history)} iterations."
    )
    return _chart(label, body, "iteration", "objective")


def histogram(scores: FloatArray, threshold: float) -> str:
    """How outlier scores are spread, and where the threshold stands."""
    values = scores[np.isfinite(scores)]
    top = float(values.max(initial=0.0)) or 1.0
    positive = values[values > 0]
    lowest = float(np.quantile(positive, 0.01)) if len(positive) else top / 10
    wide = threshold > 0 and top > 6 * threshold and len(positive)
    if wide:  # a few far outliers would leave no room for the others
        low, high = math.log10(max(lowest, top * 1e-9)), math.log10(top)
        scaled = np.log10(np.maximum(values, 10**low))
        at = math.log10(threshold) if threshold > 0 else low
        marks = _decades(10**low, top)
        places = [math.log10(m) for m in marks]
    else:
        low, high = 0.0, max(top, threshold) * 1.02
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
            f'<path class="fence" d="M{x:.1f} {_TOP}V{bottom}"/>'
            f'<text class="fence-name" x="{x + shift:.1f}" y="{_TOP + 12}" text-anchor="{side}">'
            f"threshold {number(threshold)}</text>"
        )
    label = (
        f"Histogram of {count(len(values))} outlier scores, up to {number(top)}; the threshold is "
        f"at {number(threshold)}."
    )
    return _chart(label, body, "outlier score" + (" (logarithmic)" if wide else ""), "samples")


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, … from low to high, or only powers of ten if these are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if last - first <= 3 else (1,)
    marks = [round(f * 10.0**e, 12) for e in range(first, last + 1) for f in factors]
    step = max(1, len(marks) // 8)
    return [m for m in marks[::step] if low <= m <= high]


def bar(value: float, largest: float, signed: bool) -> str:
    """One bar of a table: to the right if positive, to the left if negative."""
    share = 0.0 if not largest > 0 else min(abs(float(value)) / largest, 1.0)
    width = (50 if signed else 100) * share
    left = 0.0 if not signed else (50.0 if value >= 0 else 50 - width)
    kind = "pos" if value >= 0 else "neg"
    zero = '<path class="zero" d="M50 0V10" />' if signed else ""
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{kind}" x="{left:.2f}" y="1" width="{max(width, 0.4):.2f}" height="8"/>'
        f"{zero}</svg>"
    )


def profile(values: FloatArray, largest: float, label: str) -> str:
    """A part as a signal over the features in their order."""
    low = high = np.nan_to_num(np.asarray(values, dtype=np.float64))
    if len(low) > _STRETCHES:
        starts = np.linspace(0, len(low), _STRETCHES, endpoint=False).astype(int)
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    width, height = 300, 120
    middle = height / 2
    scale = (middle - 4) / (largest or 1.0)
    across = np.linspace(4, width - 4, max(len(low), 2))
    if len(low) == 1:
        low, high = np.repeat(low, 2), np.repeat(high, 2)

    def area(ends: FloatArray, kind: str) -> str:
        y = middle - scale * np.clip(ends, -largest, largest)
        points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, y, strict=True))
        return (
            f'<path class="{kind} area" d="M{across[0]:.1f} {middle:g}L{points}'
            f'L{across[-1]:.1f} {middle:g}Z"/>'
        )

    y = middle - scale * np.clip((low + high) / 2, -largest, largest)
    curve = ",".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, y, strict=True))
    return (
        f'<svg class="profile" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{text(label)}">'
        f"{area(np.maximum(high, 0), 'pos')}{area(np.minimum(low, 0), 'neg')}"
        f'<path class="zero" d="M4 {middle:g}H{width - 4}"/>'
        f'<polyline class="outline" points="{curve}"/></svg>'
    )
