"""One fitted model for what many fits agree on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from .._types import FloatArray, IntArray
from ..models.certificate import matched, matched_cosines, unit_rows
from ..models.clustering import FactorKMeans
from .growth import fit_from

__all__ = ["consensus_model"]

# Starts of the k-means of memberships.
_STARTS = 10


def consensus_model(
    X: Any, model: FactorKMeans, labels: IntArray, parts: list[FloatArray]
) -> tuple[FactorKMeans, FloatArray]:
    """(clusters and parts as a fitted model, how far each part is found in the runs).

    The parts are medians over the runs, from which a fit to all samples goes on; so they are those
    of a minimum, and the nearest one. The clusters are k-means of the codes, once from the clusters
    that the runs agree on and once from those of each run; of the ends the one counts that agrees
    best with all runs.
    """
    factorizer = clone(model.factorizer).set_params(random_state=0)
    basis = np.ascontiguousarray(_median_parts(parts).T)
    fit_from(factorizer, X, basis, _codes(X, basis))
    n_clusters = model.n_clusters or factorizer.n_components
    fitted = clone(model).set_params(random_state=0)
    given = [_agreed(labels, n_clusters), *labels]
    # Not from those that left clusters empty; where all did, from a start of its own.
    starts = [start for start in given if len(np.unique(start[start >= 0])) == n_clusters]
    best = -np.inf
    for start in starts or [None]:
        rival = clone(fitted)
        rival._cluster(factorizer, factorizer.codes_, n_clusters, 0, start)
        likeness = _likeness(rival.labels_, labels)
        if likeness > best:
            best, fitted = likeness, rival
    fitted.n_features_in_ = factorizer.n_features_in_
    parts_now = factorizer.components_
    steady = np.mean([matched_cosines(parts_now, other) for other in parts], axis=0)
    factorizer.stability_ = steady
    return fitted, steady


def _likeness(clusters: IntArray, labels: IntArray) -> float:
    """Mean adjusted Rand index with the clusters of the runs."""
    return float(
        np.mean([adjusted_rand_score(run[run >= 0], clusters[run >= 0]) for run in labels])
    )


def _codes(X: Any, basis: FloatArray) -> FloatArray:
    from ..solve.projection import Projector

    codes: FloatArray = Projector(basis.astype(X.dtype, copy=False)).codes(X)
    return codes


def _median_parts(parts: list[FloatArray]) -> FloatArray:
    """Of each part of the run that agrees best with the others, the median of its partners."""
    likeness = [
        np.mean([np.nanmean(matched_cosines(one, other)) for other in parts]) for one in parts
    ]
    middle = parts[int(np.argmax(likeness))]
    partners = []
    for other in parts:
        rows, columns = matched(middle, other)
        directions = np.zeros_like(middle)
        directions[rows] = unit_rows(other[columns])
        partners.append(directions)
    lengths = np.linalg.norm(middle, axis=1, keepdims=True)
    median = np.median(partners, axis=0)
    # Where half of the runs have no such part, that of the one run stands.
    median = np.where(median.any(axis=1, keepdims=True), median, unit_rows(middle))
    return np.asarray(lengths * unit_rows(median))


def _agreed(labels: IntArray, n_clusters: int) -> IntArray:
    """Clusters of samples that were together in most runs: k-means of their memberships.

    Clusters have no names that runs share; that two samples were together is in the distance of
    their rows, whatever the names are. A sample that was absent has the mean of the others there.
    """
    columns = []
    for row in labels:
        here = row >= 0
        members = (row[:, None] == np.arange(row.max() + 1)).astype(np.float64)
        members[~here] = members[here].mean(axis=0)
        columns.append(members)
    search = KMeans(n_clusters, n_init=_STARTS, random_state=0).fit(np.hstack(columns))
    found: IntArray = search.labels_.astype(np.int64)
    return found
