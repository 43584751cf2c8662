"""Exact nearest neighbours, and what any search for neighbours has to offer."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .._types import FloatArray, IntArray
from ..compiled.threads.openmp import shared_if_worth
from ..compiled.threads.team import Team


class Search(Protocol):
    """Neighbours in some features."""

    recall: float
    """The share of the nearest neighbours that are found."""

    def neighbours(self) -> IntArray:
        """The nearest others of each sample, one row for each."""

    def query(self, features: Any, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices of the samples nearest to new ones, the nearest first, and the distances."""


class Exact:
    """By scikit-learn: trees where there are few features, all distances where there are many."""

    recall = 1.0

    def __init__(self, features: Any, n_neighbors: int) -> None:
        self._n_neighbors = n_neighbors
        self._search = NearestNeighbors(n_neighbors=max(n_neighbors, 1)).fit(features)

    def neighbours(self) -> IntArray:
        if self._n_neighbors == 0:
            return np.empty((self._search.n_samples_fit_, 0), np.int64)
        with _blas_held(), self._threads(self._search.n_samples_fit_):
            found: IntArray = self._search.kneighbors(return_distance=False)
        return found

    def query(self, features: Any, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        with _blas_held(), self._threads(features.shape[0]):
            distances, indices = self._search.kneighbors(features, n_neighbors)
        return indices, distances

    def _threads(self, count: int) -> AbstractContextManager[None]:
        """For a search of so many samples."""
        search = self._search
        return shared_if_worth(float(count) * search.n_samples_fit_ * search.n_features_in_)


def _blas_held() -> Team:
    """scikit-learn holds BLAS to one thread while it searches, and where Ctrl-C comes at the wrong
    moment leaves it there. A team does the same around it, and gives the threads back.
    """
    return Team(operations=0.0, most=1)
