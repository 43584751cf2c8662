"""Distances of whole samples, from the middle and from what others say of them; spoilt samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._sparse import dense
from .._types import FloatArray, IntArray
from .cutting import pieces
from .storage import row_squares

# Numbers per block, which stay in the cache.
_BLOCK_ENTRIES = 2**17
# The middle of the data is the median of no more than so many samples, ...
_MIDDLE_SAMPLES = 4096
# ... the same each time.
_SEED = 0


def distances_from_middle(X: Any) -> FloatArray:
    """Of each sample from the median of all, feature by feature."""
    n, m = X.shape
    some = X
    if n > _MIDDLE_SAMPLES:
        some = X[np.sort(np.random.RandomState(_SEED).permutation(n)[:_MIDDLE_SAMPLES])]
    # The upper of two medians; np.median takes ten times as long for both.
    features, half = np.array(dense(some).T, order="C"), some.shape[0] // 2
    features.partition(half, axis=1)
    middle = features[:, half]
    found = np.empty(n)
    for block in pieces(n, _BLOCK_ENTRIES // m):
        found[block] = np.sqrt(row_squares(dense(X[block]) - middle))
    return found


@dataclass(frozen=True)
class Errors:
    """X − W T: samples, and what others say that they should be."""

    samples: Any
    weights: Any
    """Of the rows of T in what is said of each sample."""
    told: Any
    lengths: FloatArray

    @classmethod
    def from_means(cls, X: Any, others: Any, near: IntArray) -> Errors:
        """Each by the mean of those ``others`` whose numbers ``near`` has in its row."""
        n, count = near.shape
        parts = np.full(near.size, 1 / count), near.ravel(), np.arange(0, near.size + 1, count)
        means = sp.csr_array(parts, shape=(n, others.shape[0]))
        lengths = np.empty(n)
        for block in pieces(n, _BLOCK_ENTRIES // X.shape[1]):
            lengths[block] = np.sqrt(row_squares(X[block] - means[block] @ others))
        return cls(X, means, others, lengths)

    def of(self, rows: IntArray) -> FloatArray:
        """Those of some samples, in full."""
        foretold = dense(self.weights[rows] @ self.told)
        return np.asarray(dense(self.samples[rows]) - foretold, dtype=np.float64)

    def along(self, axes: FloatArray) -> FloatArray:
        """Their coordinates, sample by sample."""
        own = self.samples @ axes
        if self.told.shape[0] > own.shape[0]:
            return np.asarray(own - (self.weights @ self.told) @ axes)
        told = own if self.told is self.samples else self.told @ axes
        return np.asarray(own - self.weights @ told)


def spoilt_copies(rows: Any, rng: np.random.RandomState) -> Any:
    """Two copies of each sample that are not like it, stored as they are.

    In the first each number is that of another of the samples: what belongs together does not any
    more. The second is twice as long.
    """
    samples = dense(rows)
    shuffled = samples[
        rng.random_sample(samples.shape).argsort(axis=0), np.arange(samples.shape[1])
    ]
    copies = np.vstack([shuffled, 2 * samples])
    return sp.csr_array(copies) if sp.issparse(rows) else copies
