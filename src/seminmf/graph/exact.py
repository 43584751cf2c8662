"""Exact nearest neighbours, and what any search for neighbours has to offer."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .._types import FloatArray, IntArray
from ..compiled.threads.scikit_learn import ScikitLearn
from ..compiled.threads.team import Team

# Samples that a thread takes at a time, whatever the number of threads: a multiple of what
# scikit-learn takes, so that digits do not depend on it.
_BLOCK = 1024


class Search(Protocol):
    """Neighbours in some features."""

    recall: float
    """The share of the nearest neighbours that are found."""

    def neighbours(self) -> IntArray:
        """The nearest others of each sample, one row for each."""

    def query(self, features: Any, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices of the samples nearest to new ones, the nearest first, and the distances."""


class Exact:
    """By scikit-learn: trees where there are few features, all distances where there are many.

    Samples are shared among our own threads, each of which has one of OpenMP: the threads of OpenMP
    wait for each other awake, and where a core is busy, as with two fits at once, a search took
    many times as long.
    """

    recall = 1.0

    def __init__(self, features: Any, n_neighbors: int) -> None:
        self._features, self._n_neighbors = features, n_neighbors
        self._search = NearestNeighbors(n_neighbors=max(n_neighbors, 1)).fit(features)

    def neighbours(self) -> IntArray:
        count = self._n_neighbors
        if count == 0:
            return np.empty((self._features.shape[0], 0), np.int64)
        found = self._nearest(self._features, count + 1)[1]
        # Itself goes to the end, and the last is left out.
        others = np.argsort(found == np.arange(len(found))[:, None], axis=1, kind="stable")
        return np.take_along_axis(found, others[:, :count], axis=1)

    def query(self, features: Any, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        distances, indices = self._nearest(features, n_neighbors)
        return indices, distances

    def _nearest(self, features: Any, count: int) -> tuple[FloatArray, IntArray]:
        def visit(rows: slice) -> Any:
            return self._search.kneighbors(features[rows], count)

        n, (known, width) = features.shape[0], self._features.shape
        blocks = [slice(low, min(low + _BLOCK, n)) for low in range(0, n, _BLOCK)]
        with ScikitLearn(0.0), Team(float(n) * known * width, len(blocks)) as team:
            distances, indices = zip(*team.map(visit, blocks), strict=True)
        return np.concatenate(distances), np.concatenate(indices)
