"""The map of the samples: points, legends, and the data of their tooltips."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._types import FloatArray, IntArray
from ..._words import counted
from ...embedding import FRAME, Dots
from ..style import LIGHT
from .findings import Findings
from .markup import count, json_block, middle, number, own, segments, text
from .pictures import address, png, shrunk

# Numbers of colours: of categories, which come again as rings and with an outline, and of scores.
COLOURS, SCORES = len(LIGHT.categories), len(LIGHT.steps)
_LOOKS = ("", "r", "o")
_WIDTH, _HEIGHT = (int(side) for side in FRAME)
_MOST_IN_LEGEND = 30
# Bytes of the pictures of all drawn samples before they are packed, and the longest side of one.
_PICTURES, _LONGEST_SIDE = 1_500_000, 32
# Buttons of the map: what they do, what stands on them, and what they are called.
_ZOOM = (("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("whole", "Whole map", "Whole map"))


def colour(letter: str, group: int) -> str:
    """Classes of a group's colour and, after all colours, of another look; −1 is no group."""
    if group < 0:
        return f"{letter}n"
    look = _LOOKS[group // COLOURS % len(_LOOKS)]
    return f"{letter}{group % COLOURS}" + (f" {letter}{look}" if look else "")


def swatch(letter: str, group: int) -> str:
    return f'<span class="swatch {colour(letter, group)}"></span>'


def map_figure(found: Findings) -> str:
    """The map with its controls, and the data of its points."""
    choices = [("cluster", "Cluster"), ("score", "Outlier score")]
    if found.subject.labels is not None:
        choices.insert(1, ("label", "Label"))
    layouts = (("codes", "By codes"), ("neighbours", "By neighbours"))
    zoom = "".join(
        f'<button type="button" id="zoom-{name}" aria-label="{words}">{sign}</button>'
        for name, sign, words in _ZOOM
    )
    bins, edges = _score_bins(found)
    return (
        '<figure class="map" id="map-figure"><div class="controls">'
        + segments("by", "Colour", choices, "cluster")
        + f'<div id="layouts" hidden>{segments("layout", "Places", layouts, "codes")}</div>'
        + f'<div class="zoom" id="zoom" hidden>{zoom}</div></div>'
        + '<div class="stage" id="stage">'
        + _svg(found, bins)
        + '<div class="tip" id="tip" hidden></div></div>'
        + _legends(found, edges)
        + f"<figcaption>{_caption(found)}</figcaption>"
        + '<p class="hidden" role="status" aria-live="polite" id="spoken"></p>'
        + "</figure>\n"
        + json_block("samples", _data(found))
    )


def _score_bins(found: Findings) -> tuple[IntArray, FloatArray]:
    """For each sample the number of its colour, and where the colours change.

    Equal steps from the smallest score to the largest below the threshold; outliers come last.
    """
    outliers = found.outliers
    inside = outliers.scores[~outliers.flagged]
    edges = np.linspace(inside.min(), inside.max(), SCORES + 1)
    bins = np.clip(np.searchsorted(edges, outliers.scores, side="left") - 1, 0, SCORES - 1)
    return np.where(outliers.flagged, SCORES, bins), edges


def _svg(found: Findings, bins: IntArray) -> str:
    dots, labels = found.plane.codes, found.subject.labels
    flagged = found.outliers.flagged
    marks = []
    for place, sample in enumerate(found.plane.drawn):
        classes = colour("k", found.cluster_of[sample]) + f" s{bins[sample]}"
        if labels is not None:
            classes += " " + colour("l", labels.codes[sample])
        a, b = dots.places[place, 0], _HEIGHT - dots.places[place, 1]
        where = f'transform="translate({a:.1f} {b:.1f})"'
        if dots.beyond[place]:
            turn = _outward(dots.places[place])
            where = f'{where[:-1]} rotate({turn})"'
            marks.append(f'<use class="{classes} far" href="#far" {where}/>')
        elif flagged[sample]:
            marks.append(f'<use class="{classes}" href="#cross" {where}/>')
        else:
            marks.append(f'<circle class="{classes}" r="{dots.radius:.1f}" {where}/>')
    title = (
        f"Map of {counted(len(marks), 'sample')}. Arrow keys move from sample to sample, Home goes "
        "to the most typical, End to the largest outlier; plus, minus and zero change the scale."
    )
    return (
        f'<svg id="map" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{text(title)}">'
        '<defs><path id="cross" d="M-3.4-3.4 3.4 3.4M3.4-3.4-3.4 3.4"/>'
        f'<path id="far" d="M5.5 0-3.2 4.6V-4.6Z"/><circle id="dot" r="{dots.radius:.1f}"/></defs>'
        f'<rect class="frame" x="1" y="1" width="{_WIDTH - 2}" height="{_HEIGHT - 2}" rx="10"/>'
        f'<g id="points">{"".join(marks)}</g><g id="names" aria-hidden="true"></g>'
        '<circle id="cursor" r="8"/></svg>'
    )


def _outward(place: FloatArray) -> int:
    """By how many degrees an arrow to the right turns to point out of the frame."""
    x, y = place
    distances = {0: _WIDTH - x, 90: y, 180: x, 270: _HEIGHT - y}
    return min(distances, key=lambda turn: distances[turn])


def _legends(found: Findings, edges: FloatArray) -> str:
    numbers = [(c.number, f"{c.number}", c.size) for c in found.clusters]
    parts = [_legend("cluster", "k", "Clusters", numbers)]
    labels = found.subject.labels
    if labels is not None:
        sizes = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.names))
        rows = [(i, own(name, 24), int(sizes[i])) for i, name in enumerate(labels.names)]
        if labels.missing:
            rows.append((-1, "no label", labels.missing))
        parts.append(_legend("label", "l", "Labels", rows))
    steps = "".join(
        f'<li><span class="swatch s{i}"></span>{number(edges[i])} – {number(edges[i + 1])}</li>'
        for i in range(SCORES)
    )
    if found.outliers.count:
        limit = number(found.outliers.threshold)
        steps += f'<li><span class="swatch s{SCORES}"></span>above {limit}</li>'
    head = '<li class="title">Outlier scores</li>'
    parts.append(f'<ul class="legend of-score" aria-label="Outlier scores">{head}{steps}</ul>')
    return '<div class="legends">' + "".join(parts) + _marks(found) + "</div>"


def _legend(kind: str, letter: str, title: str, rows: list[tuple[int, str, int]]) -> str:
    shown = rows
    if len(rows) > _MOST_IN_LEGEND:
        shown = sorted(sorted(rows, key=lambda row: -row[2])[:_MOST_IN_LEGEND])
    items = "".join(
        f'<li><button type="button" aria-pressed="false" data-kind="{kind}" data-value="{value}">'
        f"{swatch(letter, value)}{name} "
        f'<span class="size">{count(size)}</span></button></li>'
        for value, name, size in shown
    )
    if len(shown) < len(rows):
        items += f"<li>and {count(len(rows) - len(shown))} smaller ones</li>"
    head = f'<li class="title">{title}</li>'
    return f'<ul class="legend of-{kind}" aria-label="{title}">{head}{items}</ul>'


def _marks(found: Findings) -> str:
    """By neighbours no sample is beyond the frame, so that more of them have the other mark."""
    outlier, beyond = found.outliers.flagged[found.plane.drawn], found.plane.codes.beyond
    if not beyond.any():
        return _legend_of_marks("", int(outlier.sum()), 0)
    return _legend_of_marks(
        " by-codes", int((outlier & ~beyond).sum()), int(beyond.sum())
    ) + _legend_of_marks(" by-neighbours", int(outlier.sum()), 0)


def _legend_of_marks(kind: str, crosses: int, far: int) -> str:
    rows = [
        f'<li><span class="mark">{mark}</span>{name} <span class="size">{count(size)}</span></li>'
        for mark, name, size in (("×", "outlier", crosses), ("▸", "beyond the frame", far))
        if size
    ]
    head = '<li class="title">Marks</li>'
    body = head + "".join(rows)
    return f'<ul class="legend{kind}" aria-label="Marks">{body}</ul>' if rows else ""


def _caption(found: Findings) -> str:
    plane = found.plane
    words = [
        f'<span class="by-codes">Across: {text(plane.axes[0])}; upwards: {text(plane.axes[1])}; '
        "far samples do not choose them.</span>"
        '<span class="by-neighbours">Neighbours are near each other; directions and far distances '
        "mean nothing.</span>",
        "Samples that would cover each other are moved apart.",
    ]
    if not plane.complete:
        words.append(
            f"Drawn are {count(len(plane.drawn))} of {count(plane.total)} samples: those listed "
            "on this page, the outliers"
            + (
                f" (without {count(plane.outliers_left_out)} of the lesser ones)"
                if plane.outliers_left_out
                else ""
            )
            + ", and a random part of each cluster."
        )
    return " ".join(words)


def _places(dots: Dots) -> dict[str, Any]:
    """From the upper left corner of the frame."""
    x, y = dots.places[:, 0], _HEIGHT - dots.places[:, 1]
    return {"x": np.round(x, 1).tolist(), "y": np.round(y, 1).tolist()}


def _data(found: Findings) -> dict[str, Any]:
    """What the page's script knows of the points, in the order in which they are drawn."""
    about, codes = found.subject, found.subject.factorizer.codes_
    drawn = found.plane.drawn
    best = np.argsort(-codes[drawn], axis=1, kind="stable")[:, :3]
    most = found.clusters[0].most[0] if found.clusters else drawn[0]
    data: dict[str, Any] = {
        **_places(found.plane.codes),
        "neighbours": _places(found.plane.neighbours),
        "id": [middle(about.name(sample), 60) for sample in drawn],
        "cluster": [int(found.cluster_of[sample]) for sample in drawn],
        "score": [float(f"{found.outliers.scores[sample]:.4g}") for sample in drawn],
        "outlier": [int(found.outliers.flagged[sample]) for sample in drawn],
        "parts": best.tolist(),
        "codes": [
            [float(f"{codes[sample, j]:.3g}") for j in row]
            for sample, row in zip(drawn, best, strict=True)
        ],
        "median": found.outliers.median,
        "home": int(np.flatnonzero(drawn == most)[0]),
        "end": int(np.flatnonzero(drawn == found.outliers.ranked[0])[0]),
    }
    if about.labels is not None:
        data["label"] = [int(about.labels.codes[sample]) for sample in drawn]
        data["labels"] = [middle(name, 40) for name in about.labels.names]
    if about.image_shape is not None:
        data["pictures"] = _pictures(found, drawn)
    return data


def _pictures(found: Findings, drawn: IntArray) -> dict[str, Any]:
    """One image with the pictures of all points, as small as it has to be."""
    shape = found.subject.image_shape
    assert shape is not None
    scale = found.picture_scale
    room = int(np.sqrt(_PICTURES / len(drawn)))
    longest = max(4, min(_LONGEST_SIDE, room))
    columns = int(np.ceil(np.sqrt(len(drawn))))
    sheet: Any = None
    for place in range(0, len(drawn), columns):
        rows = found.subject.rows(drawn[place : place + columns])
        small = scale.indices(shrunk(rows.reshape(-1, *shape), longest))
        height, width = small.shape[1:]
        if sheet is None:
            sheet = np.zeros((-(-len(drawn) // columns) * height, columns * width), dtype=np.uint8)
        top = place // columns * height
        sheet[top : top + height, : len(small) * width] = np.concatenate(list(small), axis=1)
    return {
        "address": address(png(sheet, scale.palette)),
        "columns": columns,
        "width": width,
        "height": height,
    }
