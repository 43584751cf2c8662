"""Exact nearest neighbours, and the protocol of any search for neighbours."""

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

# Up to this many samples and entries, which are copied, our own code computes all distances: by
# differences, where scikit-learn expands the square and loses digits.
_MOST_SAMPLES, _MOST_ENTRIES = 2**14, 2**23
# Samples that a thread passes to scikit-learn at a time, for any number of threads: a multiple of
# what scikit-learn itself takes, so that digits do not depend on it.
_BLOCK = 1024


class Search(Protocol):
    """A search for neighbours among samples given by features."""

    recall: float
    """The share of the true nearest neighbours that is found."""

    def neighbours(self) -> IntArray:
        """The nearest other samples of each sample, nearest first; a row for each."""

    def query(self, features: Any, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Numbers of the samples nearest to new ones, nearest first, and their distances."""


class Exact:
    """Exact search; by scikit-learn, with trees for few features, if samples are sparse or many.

    Samples are shared among our own threads, each with one OpenMP thread: OpenMP threads spin while
    they wait for each other, and with a busy core, as with two fits at once, a search took many
    times as long.
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
        # Distances out of the range of numbers are all infinite, and leave lists unfilled.
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
    """Each row of ``found`` without the sample itself, or without its last if that is missing."""
    order = np.argsort(found == samples[:, None], axis=1, kind="stable")
    return np.take_along_axis(found, order[:, :-1], axis=1)


def _plain(features: Any) -> FloatArray:
    """Features as compiled code takes them: float64, C-contiguous, marked as writeable."""
    return np.require(features, np.float64, ["C", "W"])
