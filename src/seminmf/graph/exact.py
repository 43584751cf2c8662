"""Exact nearest neighbours, and what any search for neighbours has to offer."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from .._types import FloatArray, IntArray
from ..compiled.threads.scikit_learn import ScikitLearn
from ..compiled.threads.team import Team
from ..data.cutting import pieces
from .cells import Tiles

# Up to so many samples, and so many entries, which are copied, all distances are calculated by our
# own code. It makes differences, where scikit-learn expands the square and loses digits.
_MOST_SAMPLES, _MOST_ENTRIES = 2**14, 2**23
# Samples that a thread takes at a time of scikit-learn, whatever the number of threads: a multiple
# of what scikit-learn takes, so that digits do not depend on it.
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
    """All distances; by scikit-learn where samples are sparse or many, with trees for few features.

    Samples are shared among our own threads, each of which has one of OpenMP: the threads of OpenMP
    wait for each other awake, and where a core is busy, as with two fits at once, a search took
    many times as long.
    """

    recall = 1.0

    def __init__(self, features: Any, n_neighbors: int) -> None:
        self._features, self._n_neighbors = features, n_neighbors
        n, m = features.shape
        self._tiles: Tiles | None = None
        self._search: Any = None
        if sp.issparse(features) or n > _MOST_SAMPLES or n * m > _MOST_ENTRIES:
            self._search = NearestNeighbors(n_neighbors=max(n_neighbors, 1)).fit(features)
        else:
            self._tiles = Tiles.of(_plain(features), np.zeros(n, np.int64))

    def neighbours(self) -> IntArray:
        count, n = self._n_neighbors, self._features.shape[0]
        if count == 0:
            return np.empty((n, 0), np.int64)
        if self._tiles is not None:
            return self._met(self._tiles, self._features, count, np.arange(n))[0]
        found = self._nearest(self._features, count + 1)[1]
        return others_of(np.arange(len(found)), found)

    def query(self, features: Any, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        if self._tiles is not None:
            return self._met(self._tiles, features, n_neighbors)
        distances, indices = self._nearest(features, n_neighbors)
        return indices, distances

    def _met(
        self, tiles: Tiles, features: Any, count: int, hidden: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        with self._team(features, features.shape[0]) as team:
            near, squares = tiles.nearest_of_all(team, _plain(features), count, hidden)
        # Beyond the range of numbers all samples are as far.
        return np.maximum(near, 0).astype(np.int64), np.sqrt(squares)

    def _nearest(self, features: Any, count: int) -> tuple[FloatArray, IntArray]:
        def visit(rows: slice) -> Any:
            return self._search.kneighbors(features[rows], count)

        blocks = pieces(features.shape[0], _BLOCK)
        with ScikitLearn(0.0), self._team(features, len(blocks)) as team:
            distances, indices = zip(*team.map(visit, blocks), strict=True)
        return np.concatenate(distances), np.concatenate(indices)

    def _team(self, features: Any, most: int) -> Team:
        known, width = self._features.shape
        return Team(float(features.shape[0]) * known * width, most)


def others_of(samples: IntArray, found: IntArray) -> IntArray:
    """Rows of what was found for some samples: itself, or if it is not there the last, left out."""
    order = np.argsort(found == samples[:, None], axis=1, kind="stable")
    return np.take_along_axis(found, order[:, :-1], axis=1)


def _plain(features: Any) -> FloatArray:
    """As compiled code takes them: one type of numbers, in rows, and as if to be written to."""
    return np.require(features, np.float64, ["C", "W"])
