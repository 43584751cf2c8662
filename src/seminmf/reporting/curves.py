"""A curve with its band, a marked value and a range, as SVG."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray
from .model.drawing import _BOTTOM, _HEIGHT, _LEFT, _RIGHT, _TOP, _WIDTH, _chart, _grid, ticks
from .model.markup import number, text

__all__ = ["Curve", "curve"]

# Names below the axis, at most.
_MOST_NAMES = 14


@dataclass(frozen=True)
class Curve:
    """What is drawn."""

    x: FloatArray
    y: FloatArray
    names: list[str]
    """Below the places x; an empty name is none."""
    x_name: str
    y_name: str
    band: FloatArray | None = None
    chosen: float | None = None
    span: tuple[float, float] | None = None
    counts: bool = False
    """Whether y are counts, between which there is nothing."""


def curve(about: Curve) -> str:
    """The curve as SVG."""
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    band = np.zeros_like(about.y) if about.band is None else about.band
    low, high = float((about.y - band).min()), float((about.y + band).max())
    pad = 0.08 * (high - low) or abs(high) * 0.05 or 1.0
    pad = max(pad, 1.0) if about.counts else pad
    low, high = low - pad, high + pad
    first, last = float(about.x.min()), float(about.x.max())

    def across(x: FloatArray | float) -> FloatArray:
        share = (np.asarray(x, dtype=float) - first) / ((last - first) or 1.0)
        return _LEFT + 14 + (right - _LEFT - 28) * share

    def up(y: FloatArray | list[float]) -> FloatArray:
        return bottom - (bottom - _TOP) * (np.asarray(y, dtype=float) - low) / (high - low)

    rows = [row for row in ticks(low, high, 5) if not about.counts or row == round(row)]
    body = ""
    if about.span is not None:
        left, end = (float(across(value)) for value in about.span)
        body += (
            f'<rect class="in area" x="{left - 7:.1f}" y="{_TOP}" width="{end - left + 14:.1f}" '
            f'height="{bottom - _TOP}"/>'
        )
    body += _grid(rows, up(rows))
    named = [i for i, name in enumerate(about.names) if name]
    for i in named[:: -(-len(named) // _MOST_NAMES) or 1]:
        body += (
            f'<text x="{float(across(about.x[i])):.1f}" y="{bottom + 18}" text-anchor="middle">'
            f"{text(about.names[i])}</text>"
        )
    places, middle = across(about.x), up(about.y)
    if about.band is not None:
        above, below = up(about.y + band), up(about.y - band)
        outline = [*zip(places, above, strict=True), *zip(places[::-1], below[::-1], strict=True)]
        points = "L".join(f"{a:.1f} {b:.1f}" for a, b in outline)
        body += f'<path class="pos area" d="M{points}Z"/>'
    points = ",".join(f"{a:.1f} {b:.1f}" for a, b in zip(places, middle, strict=True))
    body += f'<polyline class="curve" points="{points}"/>'
    body += "".join(
        f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="2.6"/>'
        for a, b in zip(places, middle, strict=True)
    )
    said = ""
    if about.chosen is not None:
        at = int(np.abs(about.x - about.chosen).argmin())
        a, b = float(places[at]), float(middle[at])
        side, shift = ("end", -9) if a > (_LEFT + right) / 2 else ("start", 9)
        body += (
            f'<path class="fence" d="M{a:.1f} {_TOP}V{bottom}"/>'
            f'<circle class="end" cx="{a:.1f}" cy="{b:.1f}" r="6"/>'
            f'<text class="fence-name" x="{a + shift:.1f}" y="{_TOP + 12}" text-anchor="{side}">'
            "chosen</text>"
        )
        said = f"; chosen is the place with {number(float(about.y[at]))}"
    label = (
        f"Line chart: {about.y_name} over {about.x_name}, from {number(float(about.y[0]))} to "
        f"{number(float(about.y[-1]))}{said}."
    )
    return _chart(label, body, about.x_name, about.y_name)
