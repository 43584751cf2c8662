"""Samples in cells of some hundred, each with those that are nearest to its centre (k-means)."""

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

# No cell has more than so many times as many samples as cells should have.
_LARGEST = 4
# Centres are the means of those samples that are nearest to them, of so many for each centre, after
# so many rounds from randomly chosen ones.
_PER_CENTRE, _ROUNDS = 32, 4
# Samples that are handled together: they look into the same cells.
_BLOCK = 256
_SEED = 0

Lists = tuple[IntArray, FloatArray]
"""Places of samples, nearest first, and the squares of their distances."""


def empty_lists(count: int, length: int, dtype: Any = np.float32) -> Lists:
    return np.full((count, length), -1, np.int32), np.full((count, length), np.inf, dtype)


def rooms(count: int, dtype: Any = np.float32) -> tuple[IntArray, FloatArray, FloatArray]:
    """What the compiled functions need to compare so many points with tiles, two at a time."""
    return np.arange(count), np.empty(2, dtype), np.empty((2, PER_TILE), dtype)


def by_blocks(team: Team, count: int, function: Callable[[slice], Any]) -> None:
    team.map(function, pieces(count, _BLOCK))


@dataclass(frozen=True)
class Tiles:
    """Samples in cells of whole tiles, which are filled up with samples infinitely far away."""

    tiles: FloatArray
    bounds: IntArray
    """Of the cells, in tiles."""
    samples: IntArray
    """Who is in a place, or −1."""
    places: IntArray
    """Where a sample is."""

    @classmethod
    def of(cls, points: FloatArray, labels: IntArray) -> Tiles:
        """The samples with labels 0, 1, … in a cell each; there is a sample for every label."""
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
        """The cells of places."""
        return np.asarray(np.searchsorted(self.bounds, places // PER_TILE, side="right") - 1)

    def nearest_of_all(
        self, team: Team, points: FloatArray, length: int, hidden: IntArray | None = None
    ) -> Lists:
        """Lists of points, by looking at all samples but those in the places ``hidden``.

        Points are of the same type of numbers as the samples.
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
    """Centres of cells, by k-means of some samples."""
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
    """Centres, and the cell of each sample: about ``size`` in each, and at least ``fewest``."""
    centres = _centres(team, points, max(1, len(points) // size))
    labels = nearest_centres(team, points, centres)
    sizes = np.bincount(labels, minlength=len(centres))
    kept, homeless = np.flatnonzero(sizes >= fewest), np.flatnonzero(sizes[labels] < fewest)
    labels = np.searchsorted(kept, labels)
    labels[homeless] = nearest_centres(team, points[homeless], centres[kept])
    # Where very many samples are about equal they fill several cells with one centre.
    sizes = np.bincount(labels)
    pieces = -(-sizes // (_LARGEST * size))
    order = np.argsort(labels, kind="stable")
    home, first = labels[order], np.cumsum(pieces) - pieces
    number = np.arange(len(points)) - (np.cumsum(sizes) - sizes)[home]
    labels[order] = first[home] + number * pieces[home] // sizes[home]
    return np.repeat(centres[kept], pieces, axis=0), labels
