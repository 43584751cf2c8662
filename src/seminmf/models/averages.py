"""Averages of samples: of each with its neighbours, and of all with little weight on outliers.

Importing this loads the compiler, as fits do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..compiled.averages import add_by_label, average, find_middle, squares_of_averages
from ..data import divided, unit_of
from ..data.features import features_of, leading_directions
from ..graph.index import DIRECTIONS, NeighbourIndex

__all__ = [
    "Averages", "coordinates", "geometric_median", "lengths", "means_by_label", "nearest_links",
]  # fmt: skip

# The most steps to the geometric median, enough to reach copies of one sample that are most of the
# data. It ends earlier after a step shorter than this share of the usual distance from it.
_STEPS, _STILL = 10, 1e-2
# Below the largest square of this size, squares may underflow; above it those that do are nothing.
_LEAST = 1e-200


def _in_range(values: FloatArray) -> tuple[FloatArray, float]:
    """(values whose squares neither over- nor underflow, their unit)."""
    values = np.asarray(values, dtype=np.float64)
    unit = unit_of(max(float(values.max(initial=0)), -float(values.min(initial=0))), values.dtype)
    return divided(values, unit), unit


def _plain(values: FloatArray) -> FloatArray:
    """Values as compiled code takes them: float64, C-contiguous, writeable."""
    values = np.ascontiguousarray(values, np.float64)
    return values if values.flags.writeable else values.copy()


def lengths(steps: FloatArray) -> FloatArray:
    """Lengths of rows, whose squares may be out of the range of numbers."""
    steps = np.asarray(steps, dtype=np.float64)
    squares = np.einsum("ij,ij->i", steps, steps)
    if _LEAST < squares.max(initial=0) < np.inf:
        return np.asarray(np.sqrt(squares))
    steps, unit = _in_range(steps)
    return np.asarray(unit * np.sqrt(np.einsum("ij,ij->i", steps, steps)))


def coordinates(
    index: NeighbourIndex, n_components: int, unit: float
) -> tuple[FloatArray, FloatArray | None]:
    """(coordinates, directions): samples along the directions in which neighbours were searched, or
    along the leading ones, in a new array. Directions are None if the coordinates are all features.
    """
    directions = index.recipe.directions
    if directions is None:
        directions = leading_directions(index.samples, DIRECTIONS * n_components)
        found = features_of(index.samples, directions)
    else:
        found = index.features
    return divided(np.array(found, np.float64), 1 / unit), directions


def means_by_label(
    rows: FloatArray, shares: FloatArray, labels: IntArray, count: int
) -> tuple[FloatArray, FloatArray]:
    """Means of the rows of each label, weighted by ``shares``, and the sums of the shares."""
    sums, weights = np.zeros((count, rows.shape[1])), np.zeros(count)
    add_by_label(_plain(rows), _plain(shares), labels, sums, weights)
    sums /= np.where(weights > 0, weights, 1)[:, None]
    return sums.astype(rows.dtype, copy=False), weights


def geometric_median(places: FloatArray) -> FloatArray:
    """Weights of the samples in their geometric median.

    It minimises the sum of the distances to the samples, and rotates with them.
    """
    weights, middle = np.empty(len(places)), np.empty((2, places.shape[1]))
    find_middle(_plain(_in_range(places)[0]), _STEPS, _STILL, weights, *middle)
    return weights


def nearest_links(
    links: sp.csr_array, own: FloatArray, others: FloatArray, most: int | None
) -> sp.csr_array:
    """Of the links between samples and others at most so many of each, the shortest."""
    counts = np.diff(links.indptr)
    if most is None or most >= counts.max(initial=0):
        return links
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((lengths(own[rows] - others[links.indices]), rows))
    kept = order[np.arange(len(rows)) - links.indptr[rows] < most]
    indptr = np.append(0, np.minimum(counts, most).cumsum())
    return sp.csr_array((links.data[kept], links.indices[kept], indptr), shape=links.shape)


@dataclass(frozen=True)
class Averages:
    """A function that averages each sample, with all its copies, and its neighbours."""

    copies: FloatArray
    indptr: IntArray
    indices: IntArray
    """The neighbours of each sample, as in a CSR matrix."""

    @classmethod
    def over(cls, links: sp.csr_array, copies: FloatArray) -> Averages:
        return cls(copies, links.indptr.astype(np.int64), links.indices.astype(np.int64))

    def __call__(self, own: FloatArray, others: FloatArray) -> FloatArray:
        means = np.empty(own.shape)
        average(_plain(own), _plain(others), self.copies, self.indptr, self.indices, means)
        return means.astype(own.dtype, copy=False)

    def in_common(self, values: FloatArray) -> float:
        """The share of the averages' squares that comes from what neighbours have in common.

        Averages of independent values have the squared weights (``leave``) of their squares, that
        is 1/(p + 1) for p + 1 values. With s in common and e independent, squares are s + e before
        and s + leave · e after averaging.
        """
        values, mean = _plain(_in_range(values)[0]), np.empty((1, values.shape[1]))
        before, after, leave = squares_of_averages(
            values, self.copies, self.indptr, self.indices, mean
        )
        if after == 0 or leave == 1:
            return 0.0
        return float(np.clip((after - leave * before) / (1 - leave) / after, 0, 1))
