"""The page of ``seminmf tune``: curves, the choice in words, parts as their number grows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

from .._types import FloatArray
from .._words import counted
from .curves import Curve, curve
from .model import Report
from .model.drawing import profile
from .model.markup import count, lead, number, percent, plain, reading, table, text
from .model.page import tiles_box, whole_page
from .model.pictures import Scale, shrunk
from .model.sections import Section

# So many numbers of parts are shown beside each other, and so many parts of each.
_MOST_ROWS, _MOST_PARTS = 5, 24
_LONGEST_SIDE = 64
# Strengths with names below the axis, at most.
_NAMED = 5
# Parts that are found again at least so well.
_STEADY = 0.8


def tuning_page(
    found: Any,
    X: Any,
    *,
    image_shape: tuple[int, int] | None = None,
    title: str | None = None,
    when: datetime | None = None,
) -> Report:
    """Make a page about a fitted `seminmf.selection.SemiNMFSelector`.

    Parameters
    ----------
    found : SemiNMFSelector
        Fitted.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The data that it was fitted to.
    image_shape : (int, int), default=None
        Height and width, if samples are images.
    title : str, default=None
        The heading of the page.

    Returns
    -------
    report : Report
        Its ``html`` is the page, ``save(path)`` writes it.
    """
    n, m = X.shape
    k = found.best_params_["n_components"]
    heading = (
        plain(title) if title is not None else f"{counted(k, 'part')} in {counted(n, 'sample')}"
    )
    made = [_number(found), _strength(found), _growing(found, X, image_shape), _steady(found)]
    sections = [section for section in made if section is not None]
    page = whole_page(
        "seminmf · how many parts", heading, found.reason_, _doubts(found) + _tiles(found, n, m),
        "", sections, when,
    )  # fmt: skip
    return Report(page)


def _tiles(found: Any, n: int, m: int) -> str:
    best, choice = found.best_estimator_, found.choice_
    spread = "chosen by labels"
    if choice is not None:
        low, high = choice.interval
        spread = f"{low} to {high} do about as well" if high > low else "no other does as well"
    tiles = [
        ("samples", count(n), counted(m, "feature")),
        ("parts", count(found.best_params_["n_components"]), spread),
        (
            "strength",
            _short(found.best_params_["strength"]),
            f"{counted(best.n_active_, 'part')} in use",
        ),
    ]
    if choice is not None:
        tiles.append(("outliers", count(choice.n_outliers), "ignored in the choice"))
    if found.stability_ is not None:
        low, high = found.stability_.interval
        note = f"{number(low, 2)} to {number(high, 2)}, between subsamples"
        tiles.append(("agreement", number(found.stability_.agreement, 2), note))
    return tiles_box(tiles)


def _doubts(found: Any) -> str:
    return "".join(
        f'<p class="summary"><span class="flag">{text(d)}</span></p>' for d in found.doubts_
    )


def _number(found: Any) -> Section | None:
    choice = found.choice_
    if choice is None:
        grid = found.results_["grid"]
        order = np.argsort(-grid["score"], kind="stable")[:10]
        rows = [
            [count(grid["n_components"][i]), _short(grid["strength"][i]), number(grid["score"][i])]
            for i in order
        ]
        return (
            "parts",
            "Parts and strength",
            lead("Scores by the labels given, best first.")
            + table("The best of the grid", ["parts", "strength", "score"], rows),
        )
    numbers, error, se = (
        choice.table[name] for name in ("n_components", "error", "standard_error")
    )
    used = f"{count(choice.n_samples_used)} samples of {count(choice.n_features_used)} features"
    words = (
        "Blocks of samples × features are left out and predicted from the rest. With too few parts "
        "something is missing; with too many, the codes follow the noise. The band is one standard "
        "error of the difference to the best; the numbers in the shaded range are within two of "
        f"them. {used} were used."
    )
    drawn = Curve(
        numbers.astype(float), error, [count(value) for value in numbers], "number of parts",
        "error of left-out blocks", band=se, chosen=choice.n_components, span=choice.interval,
    )  # fmt: skip
    low, high = choice.interval
    facts = [
        ("chosen", counted(choice.n_components, "part")),
        ("smallest error", counted(choice.best, "part")),
        ("as good as the best", f"{low} to {high}" if high > low else f"{low} alone"),
    ]
    note = (
        "This is the number of parts that the samples are sums of. It is not the number of "
        "classes: no method is known that finds those without labels."
    )
    return "parts", "How many parts", lead(words) + reading(curve(drawn), facts) + lead(note)


def _strength(found: Any) -> Section:
    path, strength = found.results_["path"], found.best_params_["strength"]
    values = path["strength"]
    places = np.log10(values)
    chosen = float(np.log10(strength))
    # Some have their names below the axis, the chosen one among them.
    from_chosen = np.arange(len(values)) - int(np.abs(places - chosen).argmin())
    named = from_chosen % -(-len(values) // _NAMED) == 0
    names = [_short(value) if at else "" for value, at in zip(values, named, strict=True)]
    explained = Curve(
        places, path["explained"], names, "strength (logarithmic)", "share explained", chosen=chosen
    )
    active = Curve(
        places, path["n_active"].astype(float), names, "strength (logarithmic)", "parts in use",
        chosen=chosen, counts=True,
    )  # fmt: skip
    words = (
        "Only the product of the two penalties matters, so there is one number to choose. More "
        "strength makes the codes of neighbours more alike and switches parts off. Without labels "
        "the strength is not chosen by these curves: they show what another one would do."
    )
    best = found.best_estimator_
    facts = [
        ("strength", _short(strength)),
        ("parts in use", f"{best.n_active_} of {len(best.components_)}"),
        ("zeros in the codes", percent(float((best.codes_ == 0).mean()))),
    ]
    counts = [count(path["n_active"][place]) for place in (0, -1)]
    ends = [
        (f"in use at {_short(value)}", f"{many} of {len(best.components_)}")
        for value, many in zip(values[[0, -1]], counts, strict=True)
    ]
    charts = reading(curve(explained), facts) + lead("") + reading(curve(active), ends)
    return "strength", "How strong", lead(words) + charts


def _short(value: float) -> str:
    """A strength as people write it."""
    return f"{value:.3g}".replace("-0", "−").replace("-", "−")


def _growing(found: Any, X: Any, shape: tuple[int, int] | None) -> Section:
    k = found.best_params_["n_components"]
    key = "components" if found.choice_ is not None else "grid"
    candidates = sorted({int(value) for value in found.results_[key]["n_components"]})
    shown = _some(candidates, k)
    from ..selection.growth import grown_parts

    parts = grown_parts(X, shown)
    largest = max(float(np.abs(rows).max(initial=0.0)) for rows in parts.values())
    rows = []
    for number_, components in parts.items():
        cards = "".join(
            f'<li class="card part">{_picture(part, shape, largest, f"Part {j} of {number_}")}</li>'
            for j, part in enumerate(components[:_MOST_PARTS])
        )
        more = len(components) - _MOST_PARTS
        rest = f" The first {_MOST_PARTS} are shown." if more > 0 else ""
        mark = ", as chosen" if number_ == k else ""
        rows.append(
            f'<h3 class="lead">{number_} part{"s" * (number_ != 1)}{mark}'
            f'<span class="aside">{rest}</span></h3><ul class="parts images">{cards}</ul>'
        )
    words = (
        "Each row starts from the parts of the row above it and adds new ones. So you can see "
        "where parts split, and from which number on new ones look like noise. These are fits by "
        "least squares, without a graph."
    )
    return "growing", "Parts as their number grows", lead(words) + "".join(rows)


def _some(candidates: list[int], chosen: int) -> list[int]:
    """The chosen number, those next to it, and the ends."""
    place = candidates.index(chosen)
    last = len(candidates) - 1
    order = [place, place - 1, place + 1, 0, last, place - 2, place + 2]
    wanted: list[int] = []
    for i in order:
        if 0 <= i <= last and candidates[i] not in wanted and len(wanted) < _MOST_ROWS:
            wanted.append(candidates[i])
    return sorted(wanted)


def _picture(part: FloatArray, shape: tuple[int, int] | None, largest: float, label: str) -> str:
    if shape is None:
        return profile(part, largest, label)
    address = Scale(largest, signed=True).image(shrunk(part.reshape(shape), _LONGEST_SIDE))
    return f'<img class="pixels" src="{address}" alt="{text(label)}">'


def _steady(found: Any) -> Section | None:
    about = found.stability_
    if about is None:
        return None
    low, high = about.interval
    fitted = about.model.factorizer_
    weight = np.abs(fitted.codes_).sum(axis=0) * np.linalg.norm(fitted.components_, axis=1)
    share = weight / (weight.sum() or 1.0)
    rows = []
    for j in np.argsort(-np.nan_to_num(about.part_stability, nan=-1.0), kind="stable"):
        value = about.part_stability[j]
        judged = "switched off" if np.isnan(value) else "yes" if value >= _STEADY else "no"
        rows.append([f"part {j}", percent(float(share[j])), number(float(value), 2), judged])
    words = (
        f"The model was fitted to {len(about.labels)} random subsamples. The clusters of two of "
        f"them agree by {number(about.agreement, 2)} (adjusted Rand index; {number(low, 2)} to "
        f"{number(high, 2)} with 95 % confidence); the cophenetic correlation is "
        f"{number(about.cophenetic, 2)}. A part is stable if its mean cosine with its partners in "
        f"the subsamples is at least {_STEADY:g}; the others are one explanation among several."
    )
    header = ["part of the consensus", "share of the weight", "cosine", "stable"]
    return "stable", "Which parts are stable", lead(words) + table("Parts", header, rows)
