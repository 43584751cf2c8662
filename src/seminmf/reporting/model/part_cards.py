"""The parts as images, signals or bars, and which clusters and classes use them."""

from __future__ import annotations

import re

import numpy as np

from ..._types import FloatArray, IntArray
from ..._words import counted
from .chart_map import swatch
from .drawing import bar, profile
from .findings import Findings
from .markup import count, lead, number, own, percent, segments, table
from .pictures import Scale, shrunk

# What is shown of large models: so many parts, features of a part at first and when asked for, and
# clusters or labels.
_MOST_PARTS, _FEW, _MANY, _MOST_COLUMNS = 60, 12, 50, 40
# Unnamed features are drawn as a signal from this number on; fewer are bars.
_SIGNAL = 8
_LONGEST_SIDE = 96
# Longest name of a feature that fits on a card, and of a label above a column.
_LONGEST_NAME, _LONGEST_LABEL = 34, 22
# Longest name of a column that is not turned.
_UPRIGHT = 4
# Shades of a heat map.
SHADES = 10


def _shown(found: Findings) -> IntArray:
    """The parts that are not zero, or those of them that the samples use most."""
    active = np.flatnonzero(np.asarray(found.subject.factorizer.components_).any(axis=1))
    return np.sort(active[np.argsort(-found.usage[active], kind="stable")[:_MOST_PARTS]])


def parts_section(found: Findings) -> str:
    about = found.subject
    parts = np.asarray(about.factorizer.components_, dtype=np.float64)
    common = float(np.abs(parts).max(initial=0.0))
    signed = bool((parts < 0).any())
    words = (
        "Every sample is a sum, with weights that are never negative, of "
        f"{counted(len(parts), 'part')}, counted from 0 as in <code>components_</code>. "
    )
    if signed:
        words += '<span class="key pos"></span>above and <span class="key neg"></span>below zero. '
    m = parts.shape[1]
    as_signal = about.image_shape is None and not about.named and m >= _SIGNAL
    if as_signal:
        words += f"Each is drawn over the {count(m)} features in their order."
    elif about.image_shape is None and m > _FEW:
        words += f"Of {count(m)} features those are shown that are largest in size."
    off = int((~parts.any(axis=1)).sum())
    if off:
        words += f" {count(off)} of them {'is' if off == 1 else 'are'} zero, and not shown."
    stability = getattr(about.factorizer, "stability_", None)
    if stability is not None:
        words += (
            " Parts that come back are found again from random starts; the share is the mean "
            "cosine with what is found there. Others are one explanation among several."
        )
    order = _shown(found)
    if len(order) + off < len(parts):
        words += f" Shown are the {_MOST_PARTS} parts that the samples use most."
    cards = []
    for j in order:
        aside = f"{percent(found.usage[j])} of the weight"
        if stability is not None and np.isfinite(stability[j]):
            aside += f", comes back {percent(stability[j])}"
        title = f'Part {j} <span class="aside">{aside}</span>'
        if about.image_shape is not None:
            body = _part_images(parts[j], about.image_shape, common, signed, int(j))
        elif as_signal:
            top = ", ".join(about.feature_names[i] for i in _largest(parts[j], 3))
            label = f"Part {j} over the features; largest in size at {top}."
            body = profile(parts[j], common, label)
        else:
            body = _part_bars(parts[j], about.feature_names, common, signed)
        cards.append(f'<li class="card part"><h3>{title}</h3>{body}</li>')
    kind = "parts images" if about.image_shape is not None else "parts"
    choices = (("own", "Each its own"), ("common", "One for all"))
    switch = segments("scale", "Scale", choices, "own") if len(order) > 1 else ""
    return lead(words) + switch + f'<ul class="{kind}">{"".join(cards)}</ul>\n'


def _largest(part: FloatArray, wanted: int) -> IntArray:
    """Features by size, without zeros."""
    order = np.argsort(-np.abs(part), kind="stable")[:wanted]
    return order[part[order] != 0]


def _part_images(
    part: FloatArray, shape: tuple[int, int], common: float, signed: bool, number_: int
) -> str:
    """On its own scale and on that of all parts, of which the style sheet shows one."""
    small = shrunk(part.reshape(shape), _LONGEST_SIDE)
    largest = float(np.abs(part).max(initial=0.0))
    return "".join(
        f'<img class="pixels {kind}" src="{Scale(bound, signed).image(small)}" '
        f'alt="Part {number_} as an image">'
        for kind, bound in (("own", largest), ("common", common))
    )


def _part_bars(part: FloatArray, names: tuple[str, ...], common: float, signed: bool) -> str:
    """The largest features, those above zero and those below apart; more of them on demand."""
    order = _largest(part, _MANY)
    biggest = float(np.abs(part).max(initial=0.0))

    def groups(features: IntArray) -> str:
        made = ""
        for above, title in ((True, "Above zero"), (False, "Below zero")):
            chosen = features[(part[features] > 0) == above]
            rows = "".join(
                f'<li><span class="name">{own(names[i], _LONGEST_NAME)}</span>'
                f'{bar(part[i], biggest, common)}<span class="value">{number(part[i])}</span></li>'
                for i in chosen
            )
            head = f"<h4>{title}</h4>" if signed else ""
            made += f'{head}<ol class="bars">{rows}</ol>' if len(chosen) else ""
        return made

    made = groups(order[:_FEW])
    if len(order) > _FEW:
        made += (
            f'<details class="more"><summary>Show {len(order)}</summary>{groups(order[_FEW:])}'
            "</details>"
        )
    return made


def uses_section(found: Findings) -> str:
    """Heat maps of the mean share of each part in clusters and, where given, labels."""
    words = (
        "How much of a sample each part makes up, on average over a cluster"
        + ("" if found.subject.labels is None else " and over a label")
        + ", in percent. Columns add up to 100; parts of the same cluster stand together."
    )
    clusters = [(swatch("k", c.number) + str(c.number), c.number) for c in found.clusters]
    order = _shown(found)
    top = _means(found.shares, found.cluster_of, len(clusters))[:, order].argmax(axis=0)
    order = order[np.lexsort((order, top))]
    made = _heat(found, "Parts × clusters", clusters, found.cluster_of, order)
    labels = found.subject.labels
    if labels is not None:
        named = [(own(name, _LONGEST_LABEL), i) for i, name in enumerate(labels.names)]
        made += _heat(found, "Parts × labels", named, labels.codes, order)
    return lead(words) + f'<div class="uses">{made}</div>\n'


def _means(shares: FloatArray, group_of: IntArray, count_: int) -> FloatArray:
    """Mean share of each part, one row per group; zero for a group without samples."""
    known = group_of >= 0
    largest = int(max(group_of.max(initial=0) + 1, count_))
    sizes = np.bincount(group_of[known], minlength=largest)
    sums = np.stack(
        [np.bincount(group_of[known], column, largest) for column in shares[known].T], axis=1
    )
    return np.asarray(sums / np.maximum(sizes, 1)[:, None])


def _heat(
    found: Findings, title: str, columns: list[tuple[str, int]], group_of: IntArray, order: IntArray
) -> str:
    means = _means(found.shares, group_of, len(columns))
    sizes = np.bincount(group_of[group_of >= 0], minlength=len(means))
    if len(columns) > _MOST_COLUMNS:
        columns = sorted(columns, key=lambda column: -sizes[column[1]])[:_MOST_COLUMNS]
        columns.sort(key=lambda column: column[1])
        title += f", the {_MOST_COLUMNS} largest"
    top = max(float(means[:, order].max(initial=0.0)), 1e-300)
    header = ['<span class="hidden">Part</span>', *(f"<span>{name}</span>" for name, _ in columns)]
    rows = []
    for j in order:
        row: list[str | tuple[str, str]] = [f"Part {j}"]
        for _, group in columns:
            share = float(means[group, j])
            shade = int(np.ceil(SHADES * share / top)) if share >= 0.005 else 0
            row.append((f"{100 * share:.0f}" if share >= 0.005 else "·", f"u{shade}"))
        rows.append(row)
    longest = max(len(re.sub("<.*?>", "", name)) for name, _ in columns)
    return table(title, header, rows, kind="heat" if longest <= _UPRIGHT else "heat turned")
