"""The parts as images, signals or bars."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IntArray
from .drawing import bar, profile
from .findings import Findings
from .markup import count, lead, number, own, percent
from .pictures import Scale, shrunk

__all__ = ["parts_section"]

# What is shown of large models: so many parts, and features of a part.
_MOST_PARTS, _MOST_FEATURES = 60, 12
# Unnamed features are drawn as a signal from this number on; fewer are bars.
_SIGNAL = 8
_LONGEST_SIDE = 96


def parts_section(found: Findings) -> str:
    about = found.subject
    parts = np.asarray(about.factorizer.components_, dtype=np.float64)
    largest = float(np.abs(parts).max(initial=0.0))
    signed = bool((parts < 0).any())
    words = (
        "Every sample is a sum, with weights that are never negative, of these "
        f"{count(len(parts))} parts, numbered as in <code>components_</code>. "
    )
    if signed:
        words += '<span class="key pos"></span>above and <span class="key neg"></span>below zero, '
        words += "all on one scale. "
    m = parts.shape[1]
    as_signal = about.image_shape is None and not about.named and m >= _SIGNAL
    if as_signal:
        words += f"Each is drawn over the {count(m)} features in their order."
    elif about.image_shape is None and m > _MOST_FEATURES:
        words += f"Of {count(m)} features the {_MOST_FEATURES} largest of each part are shown."
    active = parts.any(axis=1)
    if not active.all():
        words += f" {count((~active).sum())} of them are switched off, that is zero, and not shown."
    stability = getattr(about.factorizer, "stability_", None)
    if stability is not None:
        words += (
            " Parts that come back are found again from random starts; the share is the mean "
            "cosine with what is found there. Others are one explanation among several."
        )
    order = np.flatnonzero(active)
    if len(order) > _MOST_PARTS:
        order = np.sort(np.argsort(-found.usage, kind="stable")[:_MOST_PARTS])
        words += f" Shown are the {_MOST_PARTS} parts that the samples use most."
    cards = []
    for j in order:
        aside = f"{percent(found.usage[j])} of the weight"
        if stability is not None and np.isfinite(stability[j]):
            aside += f", comes back {percent(stability[j])}"
        title = f'Part {j} <span class="aside">{aside}</span>'
        if about.image_shape is not None:
            body = _part_image(parts[j], about.image_shape, largest, signed, int(j))
        elif as_signal:
            top = ", ".join(about.feature_names[i] for i in _top(parts[j], 3))
            label = f"Part {j} over the features; largest in size at {top}."
            body = profile(parts[j], largest, label)
        else:
            body = _part_bars(parts[j], about.feature_names, largest, signed, int(j))
        cards.append(f'<li class="card part"><h3>{title}</h3>{body}</li>')
    kind = "parts images" if about.image_shape is not None else "parts"
    return lead(words) + f'<ul class="{kind}">{"".join(cards)}</ul>\n'


def _top(part: FloatArray, wanted: int) -> IntArray:
    return np.argsort(-np.abs(part), kind="stable")[:wanted]


def _part_image(
    part: FloatArray, shape: tuple[int, int], largest: float, signed: bool, number_: int
) -> str:
    scale = Scale(largest, signed)
    address = scale.image(shrunk(part.reshape(shape), _LONGEST_SIDE))
    return f'<img class="pixels" src="{address}" alt="Part {number_} as an image">'


def _part_bars(
    part: FloatArray, names: tuple[str, ...], largest: float, signed: bool, number_: int
) -> str:
    rows = "".join(
        f'<tr><th scope="row">{own(names[i], 40)}</th>'
        f"<td>{bar(part[i], largest, signed)}</td><td>{number(part[i])}</td></tr>"
        for i in _top(part, _MOST_FEATURES)
    )
    return (
        f'<table class="bars"><caption class="hidden">Part {number_}: its largest features'
        '</caption><thead class="hidden"><tr><th scope="col">feature</th><th scope="col">bar</th>'
        f'<th scope="col">value</th></tr></thead><tbody>{rows}</tbody></table>'
    )
