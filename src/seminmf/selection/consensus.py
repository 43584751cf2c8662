"""One fitted model for what many fits agree on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._types import FloatArray, IntArray
from ..compiled.kmeans import kmeans
from ..compiled.threads.cores import AtWork
from ..models.certificate import matched_cosines
from ..models.clustering import FactorKMeans

__all__ = ["consensus_model"]

# Starts of the k-means of memberships; with a hundred the result is no steadier.
_STARTS = 20


def consensus_model(
    X: Any, model: FactorKMeans, labels: IntArray, parts: list[FloatArray]
) -> tuple[FactorKMeans, FloatArray]:
    """(clusters and parts as a fitted model, how far each part is found in the runs).

    The parts are those of a fit to all samples. (From medians of the parts of the runs it ended in
    worse minima: on tox_171 of the panel in one that knows no clusters.) The clusters are k-means
    of its codes from the clusters that the runs agree on.
    """
    factorizer = clone(model.factorizer).set_params(random_state=0).fit(X)
    n_clusters = model.n_clusters or factorizer.n_components
    agreed = _agreed(labels, n_clusters)
    # With too few different samples some are empty: then from a start of its own.
    start = agreed if len(np.unique(agreed)) == n_clusters else None
    fitted = clone(model).set_params(random_state=0)
    fitted._cluster(factorizer, factorizer.codes_, n_clusters, 0, start)
    fitted.n_features_in_ = factorizer.n_features_in_
    found = [matched_cosines(factorizer.components_, other) for other in parts]
    factorizer.stability_ = np.mean(found, axis=0)
    return fitted, factorizer.stability_


def _agreed(labels: IntArray, n_clusters: int) -> IntArray:
    """Clusters of samples that were together in most runs: k-means of their memberships.

    Clusters have no names that runs share; that two samples were together is in the distance of
    their rows, whatever the names are. A sample that was absent has the mean of the others there.
    Clusters differ in the leading directions of these rows; what only some runs say is in others.
    """
    columns = []
    for row in labels:
        here = row >= 0
        members = (row[:, None] == np.arange(row.max() + 1)).astype(np.float64)
        members[~here] = members[here].mean(axis=0)
        columns.append(members - members.mean(axis=0))
    together = np.hstack(columns)
    with AtWork():
        leading = np.linalg.eigh(together.T @ together)[1][:, -n_clusters:]
        return kmeans(together @ leading, n_clusters, 0, _STARTS).labels
