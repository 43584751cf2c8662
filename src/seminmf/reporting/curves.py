"""A curve with its band, a marked value and a range, as SVG."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray
from .model.drawing import Frame, padded, ticks
from .model.markup import number

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
    band = np.zeros_like(about.y) if about.band is None else about.band
    low, high = float((about.y - band).min()), float((about.y + band).max())
    low, high = padded(low, high, 1.0 if about.counts else 0.0)
    frame = Frame(float(about.x.min()), float(about.x.max()), low, high, margin=14)
    body = ""
    if about.span is not None:
        left, end = frame.across(about.span)
        body += (
            f'<rect class="in area" x="{left - 7:.1f}" y="{frame.top}" '
            f'width="{end - left + 14:.1f}" height="{frame.bottom - frame.top}"/>'
        )
    body += frame.grid([y for y in ticks(low, high, 5) if not about.counts or y == round(y)])
    named = [i for i, name in enumerate(about.names) if name]
    shown = named[:: -(-len(named) // _MOST_NAMES) or 1]
    body += frame.below(about.x[shown], [about.names[i] for i in shown])
    if about.band is not None:
        x, above, below = frame.across(about.x), frame.up(about.y + band), frame.up(about.y - band)
        outline = [*zip(x, above, strict=True), *zip(x[::-1], below[::-1], strict=True)]
        points = "L".join(f"{a:.1f} {b:.1f}" for a, b in outline)
        body += f'<path class="pos area" d="M{points}Z"/>'
    body += frame.curve(about.x, about.y, dots=True)
    said = ""
    if about.chosen is not None:
        at = int(np.abs(about.x - about.chosen).argmin())
        body += frame.fence(about.x[at], "chosen", 0, 9) + frame.end(about.x[at], about.y[at], 6)
        said = f"; chosen is the place with {number(float(about.y[at]))}"
    label = (
        f"Line chart: {about.y_name} over {about.x_name}, from {number(float(about.y[0]))} to "
        f"{number(float(about.y[-1]))}{said}."
    )
    return frame.chart(label, body, about.x_name, about.y_name)
