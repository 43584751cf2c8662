"""The paper's scores: k-means of the codes, majority-vote labels, ACC and NMI in percent."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from .._types import FloatArray, IntArray
from ..metrics import majority_accuracy, majority_labels, nmi

KMEANS_STARTS = 10


def clusters_of(codes: FloatArray, k: int, seed: int) -> IntArray:
    """Clusters of the rows by k-means, the best of ten starts."""
    labels = KMeans(k, n_init=KMEANS_STARTS, random_state=seed).fit_predict(codes)
    return np.asarray(labels)


def scores_of(clusters: IntArray, y: IntArray) -> dict[str, float]:
    """ACC and NMI of the labels that the clusters get by majority vote."""
    return {
        "ACC": 100 * majority_accuracy(y, clusters),
        "NMI": 100 * nmi(y, majority_labels(y, clusters)),
    }
