"""Scores of numbers of parts and strengths by the labels of some samples: coarse, then finer."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from math import isnan
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer

from .._types import FloatArray
from ..models.clustering import FactorKMeans
from .path import FACTORS, followed
from .work import Work

# The most numbers of parts, and strengths, in the coarse grid.
_COARSE = 5
_COARSELY, _FINELY = "coarse grid", "finer grid"

Grid = dict[str, FloatArray]


def check_scorer(scoring: Any) -> Any:
    """A scikit-learn scorer, given by its name or as a function."""
    try:
        scorer = get_scorer(scoring)
        signature(scorer).bind("estimator", "X", "y")
    except (TypeError, ValueError) as error:
        raise ValueError(
            "scoring must be the name of a scorer of scikit-learn, such as "
            '"adjusted_rand_score", or a function of (estimator, X, y), as '
            f"sklearn.metrics.make_scorer makes of a metric, got {scoring!r}."
        ) from error
    return scorer


def _is_label(label: Any) -> bool:
    try:
        return label is not None and bool(label == label) and label != -1
    except TypeError:  # pandas.NA, whose comparisons have no truth value
        return False


def check_labels(y: Any, n_samples: int) -> tuple[Any, Any]:
    """(mask of the samples with a label, those labels); −1, NaN and None are no labels."""
    labels = np.asarray(y)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"y has shape {labels.shape}, but X has {n_samples} samples: give one label for each, "
            "and −1, NaN or None for those that have none."
        )
    if labels.dtype == object:
        known = np.array([_is_label(label) for label in labels])
    elif labels.dtype.kind == "f":
        known = np.isfinite(labels) & (labels != -1)
    else:
        known = labels != -1 if labels.dtype.kind in "iu" else np.ones(n_samples, dtype=np.bool_)
    given = labels[known]
    if labels.dtype.kind == "f" and (given % 1).any():
        raise ValueError(
            f"y has numbers that are no classes, such as {given[given % 1 != 0][0]:g}. Give labels "
            "of classes, or leave y out to choose without labels."
        )
    classes = {*given.tolist()}
    if len(classes) < 2:
        raise ValueError(
            f"y has labels of {len(classes)} class{'es' * (len(classes) != 1)} on {known.sum()} "
            "samples; at least two classes are needed to choose by them. Leave y out to choose "
            "without labels."
        )
    if labels.dtype == object and len({type(label) for label in given.tolist()}) > 1:
        given = given.astype(str)
    return known, given


def search(
    X: Any,
    clusters: FactorKMeans,
    labels: tuple[Any, Any],
    candidates: Sequence[int],
    strengths: Sequence[float] | None,
    scorer: Any,
    work: Work,
) -> Grid:
    """Scores of a coarse grid of parts and strengths, and of a finer one around its best.

    Without ``strengths`` they are `FACTORS` of the estimator's own, for each number of parts.
    """
    steps = FACTORS if strengths is None else strengths

    def scored(what: str, ks: Sequence[int], values: Sequence[float]) -> Grid:
        factors = strengths is None
        jobs = [(X, clusters, k, list(values), factors, labels, scorer) for k in ks]
        found = work.run(what, _scores, jobs)
        return {
            "n_components": np.repeat(ks, len(values)),
            "strength": np.concatenate([result["strengths"] for result in found]),
            "score": np.concatenate([result["scores"] for result in found]),
        }

    coarse = scored(_COARSELY, _thinned(candidates), _thinned(steps))
    best = int(np.argmax(coarse["score"]))
    ks = _around(candidates, _thinned(candidates), coarse["n_components"][best])
    values = _around(steps, _thinned(steps), _thinned(steps)[best % len(_thinned(steps))])
    fine = scored(_FINELY, ks, values)
    both = {name: np.concatenate([fine[name], coarse[name]]) for name in coarse}
    # Each pair once; if it is in both grids, from the path with the shorter steps.
    pairs = np.stack([both["n_components"], both["strength"]])
    once = np.unique(pairs, axis=1, return_index=True)[1]
    return {name: column[once] for name, column in both.items()}


def _thinned(values: Sequence[Any]) -> list[Any]:
    places = np.linspace(0, len(values) - 1, min(_COARSE, len(values))).round().astype(int)
    return [values[place] for place in places]


def _around(values: Sequence[Any], coarse: list[Any], best: Any) -> list[Any]:
    """The values between the neighbours of the best one in the coarse grid."""
    place = coarse.index(best)
    low, high = coarse[max(place - 1, 0)], coarse[min(place + 1, len(coarse) - 1)]
    return [value for value in values if low <= value <= high]


def _scores(
    X: Any, clusters: FactorKMeans, k: int, strengths: list[float], factors: bool, labels: Any,
    scorer: Any,
) -> dict[str, FloatArray]:  # fmt: skip
    """Scores along a path with k parts; ``strengths`` may be ``factors`` of the model's own."""
    known, given = labels
    model = clone(clusters.factorizer).set_params(n_components=k)
    if factors:
        # The automatic strength is known from the start of a fit.
        own = clone(model).set_params(max_iter=1, tol=0).fit(X).strength_
        strengths = [factor * own for factor in strengths]
    models = followed(X, model, strengths, Work()).models
    scores = []
    for factorizer in models:
        fitted = clone(clusters).set_params(factorizer=factorizer)
        fitted.n_features_in_ = factorizer.n_features_in_
        n_clusters = clusters.n_clusters or k
        fitted._cluster(factorizer, factorizer.codes_, n_clusters, 0)
        score = scorer(fitted, X[known], given)
        if not isinstance(score, Real) or isnan(score):
            raise ValueError(f"scoring returned {score!r} for {k} parts, and not a number.")
        scores.append(float(score))
    return {"scores": np.array(scores), "strengths": np.array(strengths)}
