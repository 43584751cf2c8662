"""The map of the samples: points, legends, and the data of their tooltips."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._types import FloatArray, IntArray
from .findings import Findings
from .markup import count, json_block, number, own, short, text
from .pictures import address, png, shrunk

__all__ = ["map_figure", "swatch"]

# Numbers of colours in the style sheet: of categories, which repeat, and of outlier scores.
COLOURS, SCORES = 10, 5
_WIDTH, _HEIGHT, _EDGE = 720, 500, 16
_MOST_IN_LEGEND, _MOST_NAMES = 30, 30
# More points than these are drawn smaller.
_DENSE = 1500
# Bytes of the pictures of all drawn samples before they are packed, and the longest side of one.
_PICTURES, _LONGEST_SIDE = 1_500_000, 32


def colour(letter: str, group: int) -> str:
    """Classes of a group's colour; after all colours come rings of them instead of discs."""
    ring = f" {letter}r" if group // COLOURS % 2 else ""
    return f"{letter}{group % COLOURS}{ring}"


def swatch(letter: str, group: int) -> str:
    return f'<span class="swatch {colour(letter, group)}"></span>'


def map_figure(found: Findings) -> str:
    """The map with its controls, and the data of its points."""
    drawn = found.plane.drawn
    x = _EDGE + (_WIDTH - 2 * _EDGE) * found.plane.places[:, 0]
    y = _EDGE + (_HEIGHT - 2 * _EDGE) * (1 - found.plane.places[:, 1])
    bins, edges = _score_bins(found)
    svg = _svg(found, x, y, bins)
    return (
        '<figure class="map" id="map-figure">'
        + _control(found)
        + '<div class="stage" id="stage">'
        + svg
        + '<div class="tip" id="tip" hidden></div></div>'
        + _legends(found, edges)
        + f"<figcaption>{_caption(found)}</figcaption>"
        + '<p class="hidden" role="status" aria-live="polite" id="spoken"></p>'
        + "</figure>\n"
        + json_block("samples", _data(found, drawn, x, y))
    )


def _control(found: Findings) -> str:
    choices = [("cluster", "Cluster"), ("score", "Outlier score")]
    if found.subject.labels is not None:
        choices.insert(1, ("label", "Label"))
    radios = "".join(
        f'<input type="radio" name="colour" id="by-{name}" value="{name}"'
        f'{" checked" if name == "cluster" else ""}><label for="by-{name}">{title}</label>'
        for name, title in choices
    )
    return f'<fieldset class="segments"><legend>Colour by</legend><div>{radios}</div></fieldset>'


def _score_bins(found: Findings) -> tuple[IntArray, FloatArray]:
    """For each sample the number of its colour, and where the colours change.

    Equal steps from the smallest score to the largest below the threshold; outliers come last.
    """
    outliers = found.outliers
    inside = outliers.scores[~outliers.flagged]
    edges = np.linspace(inside.min(), inside.max(), SCORES + 1)
    bins = np.clip(np.searchsorted(edges, outliers.scores, side="left") - 1, 0, SCORES - 1)
    return np.where(outliers.flagged, SCORES, bins), edges


def _svg(found: Findings, x: FloatArray, y: FloatArray, bins: IntArray) -> str:
    drawn, labels = found.plane.drawn, found.subject.labels
    flagged = found.outliers.flagged
    dense = len(drawn) > _DENSE
    radius = 2.6 if dense else 3.4
    marks = []
    for place, sample in enumerate(drawn):
        classes = colour("k", found.cluster_of[sample]) + f" s{bins[sample]}"
        if labels is not None:
            classes += " " + colour("l", labels.codes[sample])
        a, b = x[place], y[place]
        if found.plane.beyond[place]:
            turn = _outward(a, b)
            marks.append(
                f'<use class="{classes}" href="#far" '
                f'transform="translate({a:.1f} {b:.1f}) rotate({turn})"/>'
            )
        elif flagged[sample]:
            marks.append(f'<use class="{classes}" href="#cross" x="{a:.1f}" y="{b:.1f}"/>')
        else:
            marks.append(f'<circle class="{classes}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}"/>')
    names = _names(found.cluster_of[drawn], x, y, ~flagged[drawn], "cluster", None)
    if labels is not None:
        names += _names(labels.codes[drawn], x, y, ~flagged[drawn], "label", labels.names)
    title = (
        f"Map of {count(len(drawn))} samples by their codes. Arrow keys move from sample to "
        "sample, Home goes to the most typical, End to the largest outlier."
    )
    return (
        f'<svg id="map" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{text(title)}">'
        '<defs><path id="cross" d="M-3.4-3.4 3.4 3.4M3.4-3.4-3.4 3.4"/>'
        '<path id="far" d="M5.5 0-3.2 4.6V-4.6Z"/></defs>'
        f'<rect class="frame" x="1" y="1" width="{_WIDTH - 2}" height="{_HEIGHT - 2}" rx="10"/>'
        f'<g id="points"{" class=dense" if dense else ""}>{"".join(marks)}</g>{names}'
        '<circle id="cursor" r="8"/></svg>'
    )


def _outward(x: float, y: float) -> int:
    """By how many degrees an arrow to the right turns to point out of the frame."""
    distances = {0: _WIDTH - _EDGE - x, 90: _HEIGHT - _EDGE - y, 180: x - _EDGE, 270: y - _EDGE}
    return min(distances, key=lambda turn: distances[turn])


def _names(
    codes: IntArray, x: FloatArray, y: FloatArray, fitted: Any, kind: str, words: Any
) -> str:
    """The name of each group where the middle of it is, moved where two would overlap."""
    groups = np.unique(codes[fitted])
    if len(groups) > _MOST_NAMES:
        return ""
    taken: list[tuple[float, float, float]] = []
    texts = []
    for group in groups:
        member = fitted & (codes == group)
        word = str(group) if words is None else short(words[group], 16)
        half = 5 + 4.5 * len(word)
        a, b = float(np.median(x[member])), float(np.median(y[member]))
        a = min(max(a, half + 4), _WIDTH - half - 4)
        for shift in (0, -20, 20, -40, 40, -60, 60, -80, 80):
            c = b + shift
            free = all(abs(a - p) > half + h or abs(c - q) > 18 for p, q, h in taken)
            if free and 16 < c < _HEIGHT - 10:
                b = c
                break
        taken.append((a, b, half))
        texts.append(f'<text x="{a:.1f}" y="{b + 5:.1f}">{text(word)}</text>')
    return f'<g class="names of-{kind}" aria-hidden="true">{"".join(texts)}</g>'


def _legends(found: Findings, edges: FloatArray) -> str:
    numbers = [(c.number, f"{c.number}", c.size) for c in found.clusters]
    parts = [_legend("cluster", "k", "Clusters", numbers)]
    labels = found.subject.labels
    if labels is not None:
        sizes = np.bincount(labels.codes, minlength=len(labels.names))
        rows = [(i, own(name, 24), int(sizes[i])) for i, name in enumerate(labels.names)]
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
    drawn = found.plane.drawn
    crosses = int((found.outliers.flagged[drawn] & ~found.plane.beyond).sum())
    far = int(found.plane.beyond.sum())
    rows = [
        f'<li><span class="mark">{mark}</span>{name} <span class="size">{count(size)}</span></li>'
        for mark, name, size in (("×", "outlier", crosses), ("▸", "beyond the frame", far))
        if size
    ]
    head = '<li class="title">Marks</li>'
    return f'<ul class="legend" aria-label="Marks">{head}{"".join(rows)}</ul>' if rows else ""


def _caption(found: Findings) -> str:
    plane = found.plane
    words = [f"Across: {text(plane.axes[0])}; upwards: {text(plane.axes[1])}."]
    if found.outliers.count:
        words.append("Directions and frame are chosen by the samples that are no outliers.")
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


def _data(found: Findings, drawn: IntArray, x: FloatArray, y: FloatArray) -> dict[str, Any]:
    """What the page's script knows of the points, in the order in which they are drawn."""
    about, codes = found.subject, found.subject.factorizer.codes_
    best = np.argsort(-codes[drawn], axis=1, kind="stable")[:, :3]
    most = found.clusters[0].most[0] if found.clusters else drawn[0]
    data: dict[str, Any] = {
        "x": [round(float(v), 1) for v in x],
        "y": [round(float(v), 1) for v in y],
        "id": [short(about.name(sample)) for sample in drawn],
        "cluster": [int(found.cluster_of[sample]) for sample in drawn],
        "score": [float(f"{found.outliers.scores[sample]:.4g}") for sample in drawn],
        "outlier": [int(found.outliers.flagged[sample]) for sample in drawn],
        "parts": best.tolist(),
        "codes": [
            [float(f"{codes[sample, j]:.3g}") for j in row]
            for sample, row in zip(drawn, best, strict=True)
        ],
        "median": found.outliers.median,
        "largest": float(codes[drawn].max()),
        "home": int(np.flatnonzero(drawn == most)[0]),
        "end": int(np.flatnonzero(drawn == found.outliers.ranked[0])[0]),
    }
    if about.labels is not None:
        data["label"] = [int(about.labels.codes[sample]) for sample in drawn]
        data["labels"] = [short(name) for name in about.labels.names]
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
