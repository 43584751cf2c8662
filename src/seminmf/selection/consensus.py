"""A fitted model for the consensus of many fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from .._types import FloatArray, IntArray
from ..compiled.kmeans import kmeans
from ..compiled.threads.cores import AtWork
from ..models.certificate import matched_cosines
from ..models.clustering import FactorKMeans
from ..models.reading import Reading


def consensus_model(
    X: Any, model: FactorKMeans, labels: IntArray, parts: list[FloatArray]
) -> tuple[FactorKMeans, FloatArray]:
    """(the consensus as a fitted model, mean cosine of each part with its partners in the runs).

    The parts are those of a fit to all samples. (Fits from medians of the parts of the runs ended
    in worse minima: on tox_171 of the panel in one without clusters.) The clusters are k-means of
    its codes, started from the clusters that the runs agree on.
    """
    factorizer = clone(model.factorizer).set_params(random_state=0).fit(X)
    n_clusters = model.n_clusters or factorizer.n_components
    fitted = clone(model).set_params(random_state=0)
    with AtWork():
        _, seen = Reading.of(
            factorizer, factorizer.codes_, n_clusters, fitted.metric, fitted.refine
        )
        agreed = _agreed(seen.places, labels, n_clusters)
    fitted._cluster(factorizer, factorizer.codes_, n_clusters, 0, agreed)
    fitted.n_features_in_ = factorizer.n_features_in_
    found = [matched_cosines(factorizer.components_, other) for other in parts]
    factorizer.stability_ = np.mean(found, axis=0)
    return fitted, factorizer.stability_


def _agreed(places: FloatArray, runs: IntArray, n_clusters: int) -> IntArray | None:
    """Clusters of all samples that the runs agree on; None if no run has ``n_clusters``.

    k-means of all samples is started from the clusters of each run, and the vote from its tightest
    result, whatever the draws: a sample goes where most runs have it, k-means continues from there,
    and the runs vote again as long as they agree more with the result.
    """
    settled = [_settled(places, run, n_clusters) for run in runs]
    clusters = min(settled, key=lambda found: found[0])[1]
    if clusters is None:
        return None
    agreement = _agreement(clusters, runs)
    while True:
        voted = _settled(places, _voted(clusters, runs, n_clusters), n_clusters)[1]
        if voted is None or (more := _agreement(voted, runs)) <= agreement:
            return clusters
        clusters, agreement = voted, more


def _settled(places: FloatArray, start: IntArray, n_clusters: int) -> tuple[float, IntArray | None]:
    """(inertia, clusters) of k-means from clusters of some of the samples; (inf, None) if those are
    fewer than ``n_clusters``.
    """
    if len(np.unique(start[start >= 0])) < n_clusters:
        return np.inf, None
    means = np.array([places[start == label].mean(axis=0) for label in range(n_clusters)])
    found = kmeans(places, n_clusters, 0, centres=means)
    return found.inertia, found.labels


def _voted(clusters: IntArray, runs: IntArray, n_clusters: int) -> IntArray:
    """The cluster of each sample in most runs, where ``clusters`` itself has a vote, too.

    Each run numbers its clusters in its own way: they are matched one to one.
    """
    votes = np.eye(n_clusters)[clusters]
    for run in runs:
        here = np.flatnonzero(run >= 0)
        shared = np.zeros((n_clusters, n_clusters))
        np.add.at(shared, (run[here], clusters[here]), 1)
        votes[here, linear_sum_assignment(shared, maximize=True)[1][run[here]]] += 1
    return np.asarray(votes.argmax(axis=1))


def _agreement(clusters: IntArray, runs: IntArray) -> float:
    return float(np.nanmean([rand_index(clusters, run) for run in runs]))


def rand_index(one: IntArray, other: IntArray) -> float:
    """Adjusted Rand index on the samples with labels ≥ 0 in both; NaN if there are none.

    For hundreds of pairs of small tables, which scikit-learn checks for longer than it counts.
    """
    both, width = (one >= 0) & (other >= 0), int(other.max()) + 1
    if not both.any():
        return np.nan
    shared = np.bincount(one[both] * width + other[both], minlength=(one.max() + 1) * width)
    counts = shared.reshape(-1, width)
    of = (counts, counts.sum(axis=1), counts.sum(axis=0), counts.sum())
    together, ones, others, pairs = (float((sizes * (sizes - 1)).sum()) for sizes in of)
    by_chance = ones * others / max(pairs, 1.0)
    most = (ones + others) / 2
    return 1.0 if most == by_chance else (together - by_chance) / (most - by_chance)
