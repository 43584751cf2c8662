"""Samples divided into cells of some hundred by their nearest centres (k-means)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..compiled.neighbours import PER_TILE, fill_tiles, meet_all, read_tiles
from ..compiled.threads.team import Team
from ..data.cutting import pieces

# A cell has at most this many times the intended number of samples.
_LARGEST = 4
# Centres come from this many samples per centre and this many rounds of k-means, begun from
# randomly chosen samples.
_PER_CENTRE, _ROUNDS = 32, 4
# Samples handled together: being neighbours, they look into the same cells.
_BLOCK = 256
_SEED = 0

Lists = tuple[IntArray, FloatArray]
"""A row for each query: places of samples, nearest first, and their squared distances."""


def empty_lists(count: int, length: int, dtype: Any = np.float32) -> Lists:
    return np.full((count, length), -1, np.int32), np.full((count, length), np.inf, dtype)


def rooms(count: int, dtype: Any = np.float32) -> tuple[IntArray, FloatArray, FloatArray]:
    """Room in which compiled functions compare ``count`` points with tiles, two at a time."""
    return np.arange(count), np.empty(2, dtype), np.empty((2, PER_TILE), dtype)


def by_blocks(team: Team, count: int, function: Callable[[slice], Any]) -> None:
    team.map(function, pieces(count, _BLOCK))


@dataclass(frozen=True)
class Tiles:
    """Samples in cells of whole tiles, padded with samples infinitely far away."""

    tiles: FloatArray
    bounds: IntArray
    """First tile of each cell, and the number of tiles."""
    samples: IntArray
    """The sample at each place, or −1."""
    places: IntArray
    """The place of each sample."""

    @classmethod
    def of(cls, points: FloatArray, labels: IntArray) -> Tiles:
        """A cell for each of the labels 0, 1, …, none of which may be without samples."""
        sizes = np.bincount(labels)
        bounds = np.append(0, np.cumsum(-(-sizes // PER_TILE)))
        order = np.argsort(labels, kind="stable")
        before = np.cumsum(sizes) - sizes
        where = np.arange(len(points)) + (PER_TILE * bounds[:-1] - before)[labels[order]]
        tiles = np.full((bounds[-1], points.shape[1], PER_TILE), np.inf, points.dtype)
        fill_tiles(points, order, where, tiles)
        samples, places = np.full(PER_TILE * len(tiles), -1, np.int32), np.empty_like(where)
        samples[where], places[order] = order, where
        return cls(tiles, bounds, samples, places)

    def points(self, places: IntArray) -> FloatArray:
        """The samples at some places, as rows."""
        rows = np.empty((len(places), self.tiles.shape[1]), np.float32)
        read_tiles(self.tiles, places, rows)
        return rows

    def cells(self, places: IntArray) -> IntArray:
        """The cell of each place."""
        return np.asarray(np.searchsorted(self.bounds, places // PER_TILE, side="right") - 1)

    def nearest_of_all(
        self, team: Team, points: FloatArray, length: int, hidden: IntArray | None = None
    ) -> Lists:
        """The ``length`` nearest samples of each point, by comparison with all samples.

        A point skips the sample at its place in ``hidden``. Points and samples need one dtype.
        """
        near, squares = empty_lists(len(points), length, points.dtype)
        unseen = np.full(len(points), -1) if hidden is None else hidden

        def meet(rows: slice) -> None:
            some, lists = points[rows], (near[rows], squares[rows])
            meet_all(some, unseen[rows], self.tiles, lists, rooms(len(some), points.dtype))

        by_blocks(team, len(points), meet)
        return near, squares


def nearest_centres(team: Team, points: FloatArray, centres: FloatArray) -> IntArray:
    """The number of the nearest centre of each point."""
    one_cell = Tiles.of(centres, np.zeros(len(centres), np.int64))
    return one_cell.nearest_of_all(team, points, 1)[0][:, 0].astype(np.int64)


def _centres(team: Team, points: FloatArray, count: int) -> FloatArray:
    """``count`` centres of cells, by k-means of a sample of the points."""
    chosen = np.random.RandomState(_SEED).permutation(len(points))[: _PER_CENTRE * count]
    some, centres = points[np.sort(chosen)], points[chosen[:count]]
    for _ in range(_ROUNDS):
        labels = nearest_centres(team, some, centres)
        member = np.ones(len(some), np.float32), labels, np.arange(len(some) + 1)
        sums = sp.csr_array(member, shape=(len(some), count)).T @ some
        sizes = np.bincount(labels, minlength=count)[:, None]
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres).astype(np.float32)
    return centres


def cells_of(team: Team, points: FloatArray, size: int, fewest: int) -> tuple[FloatArray, IntArray]:
    """(centres, cell of each point): cells of about ``size`` points, and at least ``fewest``."""
    centres = _centres(team, points, max(1, len(points) // size))
    labels = nearest_centres(team, points, centres)
    sizes = np.bincount(labels, minlength=len(centres))
    kept, homeless = np.flatnonzero(sizes >= fewest), np.flatnonzero(sizes[labels] < fewest)
    labels = np.searchsorted(kept, labels)
    labels[homeless] = nearest_centres(team, points[homeless], centres[kept])
    # Very many nearly equal samples fill several cells with the same centre.
    sizes = np.bincount(labels)
    pieces = -(-sizes // (_LARGEST * size))
    order = np.argsort(labels, kind="stable")
    home, first = labels[order], np.cumsum(pieces) - pieces
    number = np.arange(len(points)) - (np.cumsum(sizes) - sizes)[home]
    labels[order] = first[home] + number * pieces[home] // sizes[home]
    return np.repeat(centres[kept], pieces, axis=0), labels
