"""Which rows of X are equal, and how much each sample counts.

A sample of weight 2 means the same as two equal samples of weight 1, and one of weight 0 the same
as none. Graph models need care for this: a sample and its copies are one vertex of the graph.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from .cutting import pieces

# Rows per block of the hash, so that its temporary stays small.
_BLOCK_ENTRIES = 2**18


@lru_cache(maxsize=8)
def _factors(count: int) -> Any:
    """A random odd 64-bit number for each column."""
    drawn = np.random.default_rng(0).integers(1, 2**63, size=count, dtype=np.uint64)
    return drawn | np.uint64(1)


def _row_hashes(X: Any) -> IntArray:
    """A 64-bit hash of each row; equal rows have equal hashes, whatever their position."""
    n, m = X.shape
    hashes, factors = np.zeros(n, np.uint64), _factors(m)

    def mix(values: FloatArray) -> Any:
        # Adding zero turns −0.0 into 0.0; the shift spreads the high bits of a float. Zero stays 0,
        # so that a sparse row has the hash of a dense one.
        bits = np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64)
        return (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)

    if sp.issparse(X):
        rows = np.repeat(np.arange(n), np.diff(X.indptr))
        np.add.at(hashes, rows, mix(X.data) * factors[X.indices])
        return hashes
    for part in pieces(n, _BLOCK_ENTRIES // max(m, 1)):
        hashes[part] = mix(X[part]) @ factors
    return hashes


def checksum(X: Any) -> str:
    """A checksum of all entries of an array or CSR matrix, in one pass."""
    digest = sha256()
    for part in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        for rows in pieces(len(part), _BLOCK_ENTRIES // max(part[:1].size, 1)):
            digest.update(np.ascontiguousarray(part[rows]).view(np.uint8).data)
    return digest.hexdigest()[:16]


def _same_rows(X: Any, rows: IntArray, Y: Any, others: IntArray) -> NDArray[np.bool_]:
    """For each pair of row numbers, whether the two rows are equal entry by entry."""
    same = np.empty(len(rows), np.bool_)
    for part in pieces(len(rows), _BLOCK_ENTRIES // max(X.shape[1], 1)):
        one, other = X[rows[part]], Y[others[part]]
        if sp.issparse(X):
            same[part] = np.asarray(abs(one - other).sum(axis=1)).ravel() == 0
        else:
            same[part] = (one == other).all(axis=1)
    return same


class KnownRows:
    """Rows to compare others with; their hashes are computed once."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        hashes = _row_hashes(rows)
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def match(self, X: Any) -> IntArray:
        """For each row of X the number of the first equal row, or −1."""
        if not len(self._order):
            return np.full(X.shape[0], -1)
        hashes = _row_hashes(X)
        place = np.minimum(np.searchsorted(self._sorted, hashes), len(self._order) - 1)
        candidate = np.where(self._sorted[place] == hashes, self._order[place], -1)
        rows = np.flatnonzero(candidate >= 0)
        same = _same_rows(X, rows, self._rows, candidate[rows])
        candidate[rows[~same]] = -1
        return candidate


def distinct_rows(X: Any) -> tuple[IntArray, IntArray]:
    """(representatives, member): X[representatives[member[i]]] equals X[i].

    The order of the representatives depends on the rows alone, not on their positions.
    """
    hashes = _row_hashes(X)
    _, first, member = np.unique(hashes, return_index=True, return_inverse=True)
    copies = np.flatnonzero(first[member] != np.arange(X.shape[0]))
    if not _same_rows(X, copies, X, first[member[copies]]).all():
        # Two different rows with one hash, which practically never happens: keep every row.
        return np.arange(X.shape[0]), np.arange(X.shape[0])
    return first, member


def weighted_median(values: FloatArray, share: FloatArray | None) -> float:
    """The value that splits the weights in half; the mean of two where it falls between them."""
    if share is None:
        # As np.median, which spends five times as long looking for missing values.
        middle = (len(values) - 1) // 2, len(values) // 2
        ordered = np.partition(values, middle)
        return float((ordered[middle[0]] + ordered[middle[1]]) / 2)
    order = np.argsort(values)
    below = np.cumsum(share[order], dtype=np.float64)
    half = below[-1] / 2
    place = int(np.searchsorted(below, half * (1 - 1e-12)))
    median = float(values[order[place]])
    if abs(below[place] - half) <= 1e-12 * half and place + 1 < len(values):
        median = (median + float(values[order[place + 1]])) / 2
    return median


def typical_length(squares: FloatArray, share: FloatArray | None) -> float:
    """Median length of the rows that are not zero, given their squared lengths.

    A median, because a few enormous outliers must not set the scale; without zero rows, because
    they say nothing about it and may be many.
    """
    nonzero = squares > 0
    if not nonzero.all():
        squares = squares[nonzero]
        share = None if share is None else share[nonzero]
    return weighted_median(np.sqrt(squares), share) if len(squares) else 0.0
