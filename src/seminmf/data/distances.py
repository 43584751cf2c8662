"""Distances of samples from the median sample and from predictions; spoilt copies of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._sparse import dense
from .._types import FloatArray, IntArray
from .cutting import pieces
from .storage import row_squares

# Entries per block, which stay in the cache.
_BLOCK_ENTRIES = 2**17
# The median is taken over no more than this many samples, drawn with a fixed seed.
_MIDDLE_SAMPLES = 4096
_SEED = 0


def distances_from_middle(X: Any) -> FloatArray:
    """Distance of each sample from the feature-wise median of the samples."""
    n, m = X.shape
    some = X
    if n > _MIDDLE_SAMPLES:
        some = X[np.sort(np.random.RandomState(_SEED).permutation(n)[:_MIDDLE_SAMPLES])]
    # The upper of the two middle values; np.median, which averages them, takes ten times as long.
    features, half = np.array(dense(some).T, order="C"), some.shape[0] // 2
    features.partition(half, axis=1)
    middle = features[:, half]
    found = np.empty(n)
    for block in pieces(n, _BLOCK_ENTRIES // m):
        found[block] = np.sqrt(row_squares(dense(X[block]) - middle))
    return found


@dataclass(frozen=True)
class Errors:
    """Prediction errors X − W·T, where T holds samples and row i of W combines them into x̂_i."""

    samples: Any
    weights: Any
    """W, of shape (n_samples, rows of T)."""
    told: Any
    """T."""
    lengths: FloatArray
    """‖x_i − x̂_i‖ for each sample."""

    @classmethod
    def from_means(cls, X: Any, others: Any, near: IntArray) -> Errors:
        """Predict sample i by the mean of the rows ``near[i]`` of ``others``."""
        n, count = near.shape
        parts = np.full(near.size, 1 / count), near.ravel(), np.arange(0, near.size + 1, count)
        means = sp.csr_array(parts, shape=(n, others.shape[0]))
        lengths = np.empty(n)
        for block in pieces(n, _BLOCK_ENTRIES // X.shape[1]):
            lengths[block] = np.sqrt(row_squares(X[block] - means[block] @ others))
        return cls(X, means, others, lengths)

    def of(self, rows: IntArray) -> FloatArray:
        """The errors of some samples in all features."""
        foretold = dense(self.weights[rows] @ self.told)
        return np.asarray(dense(self.samples[rows]) - foretold, dtype=np.float64)

    def along(self, axes: FloatArray) -> FloatArray:
        """The errors of all samples as coordinates along ``axes``."""
        own = self.samples @ axes
        if self.told.shape[0] > own.shape[0]:
            return np.asarray(own - (self.weights @ self.told) @ axes)
        told = own if self.told is self.samples else self.told @ axes
        return np.asarray(own - self.weights @ told)


def spoilt_copies(rows: Any, rng: np.random.RandomState) -> Any:
    """Two spoilt copies of each sample, dense or CSR as the samples are.

    In the first each feature is shuffled over the samples, which breaks what belongs together. The
    second is twice as long.
    """
    samples = dense(rows)
    shuffled = samples[
        rng.random_sample(samples.shape).argsort(axis=0), np.arange(samples.shape[1])
    ]
    copies = np.vstack([shuffled, 2 * samples])
    return sp.csr_array(copies) if sp.issparse(rows) else copies
