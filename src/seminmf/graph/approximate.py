"""Nearest neighbours of many samples, almost all of them right, in time about proportional to n.

Trees that halve the samples bring some neighbours together (Dasgupta and Freund); then samples are
introduced to the neighbours of their neighbours, round by round (NN-descent: Dong, Charikar and Li,
2011). Then each of them looks for more along these neighbours, nearest first. How many are right is
measured on some samples, whose neighbours are looked for among all: it ends when enough are. A new
sample is led by a tree to a leaf, and goes on from there in the same way.

Equal features have equal results, with any number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..compiled.forest import find_leaves, part_nodes
from ..compiled.neighbours import (
    improve,
    join_leaves,
    list_visitors,
    nearest_of_all,
    search,
    search_on,
)
from ..compiled.threads.team import WORTH_SHARING, Team

# The share of the neighbours that have to be right, and what the measured share has to be: measured
# on so many neighbours it is uncertain by about one in a hundred.
RECALL, _AIM, _MEASURED = 0.95, 0.965, 1280
# Trees, and most samples in a leaf.
_TREES, _LEAF = 4, 64
# A list has room for so many more than are looked for; a sample meets the neighbours of so many of
# those that have it in their lists.
_MORE, _VISITORS = 11, 8
# Rounds end when so many of the neighbours are right, or when one changes less than this share of
# the lists. Searches along the lists, which then follow, find more for less work.
_ROUGH, _STILL = 0.8, 0.1
# Their lists are longer by a quarter, and again if a search does not find enough, up to so many
# times the first length.
_LONGER, _LONGEST = 1.25, 6
# Features are filled up with zeros to whole vectors.
_VECTOR = 8
# Rows at a time that are converted, so that there is no second copy of the features.
_BLOCK = 2**14
_SEED = 0


def worth_it(n_samples: int, n_neighbors: int) -> bool:
    """Whether meeting the neighbours of neighbours is less work than meeting all samples."""
    return (n_neighbors + _MORE) ** 2 <= n_samples


_Lists = tuple[IntArray, FloatArray, IntArray]


def _cuts(count: int, pieces: int) -> list[tuple[int, int]]:
    bounds = np.linspace(0, count, min(count, pieces) + 1).astype(int)
    return [(int(low), int(high)) for low, high in pairwise(bounds)]


def _team() -> Team:
    return Team(WORTH_SHARING, 2**10)


def _share(team: Team, count: int, function: Callable[[tuple[int, int]], Any]) -> list[Any]:
    """What the function returns for ranges of 0 … count."""
    return team.map(function, _cuts(count, 4 * team.size))


def _empty_lists(count: int, length: int) -> _Lists:
    return (
        np.full((count, length), -1, np.int32),
        np.full((count, length), np.inf, np.float32),
        np.zeros((count, length), np.uint8),
    )


@dataclass(frozen=True)
class _Tree:
    order: IntArray
    bounds: IntArray
    """Of the leaves, in the order."""
    planes: FloatArray
    offsets: FloatArray


def _grow(
    team: Team, points: FloatArray, leaf: int, rng: np.random.RandomState, first: float
) -> _Tree:
    """A tree with leaves of no more than ``leaf`` samples, whose root is parted at a share."""
    n, m = points.shape
    order, keys = np.arange(n, dtype=np.int32), np.empty(n, np.float32)
    bounds, share = np.array([0, n]), first
    planes, offsets = [np.empty((0, m), np.float32)], [np.empty(0, np.float32)]
    while np.diff(bounds).max() > leaf:
        nodes = len(bounds) - 1
        finer = np.empty(2 * nodes + 1, np.int64)
        finer[::2], finer[1::2] = bounds, bounds[:-1] + (share * np.diff(bounds)).astype(int)
        draws, plane = rng.random_sample((nodes, 2)), np.empty((nodes, m), np.float32)
        offset = np.empty(nodes, np.float32)
        level = finer, draws, plane, offset

        def visit(some: tuple[int, int], level: tuple[Any, ...] = level) -> None:
            bounds, draws, plane, offset = level
            part_nodes(points, order, keys, bounds, some, draws, plane, offset)

        _share(team, nodes, visit)
        bounds, share = finer, 0.5
        planes.append(plane)
        offsets.append(offset)
    return _Tree(order, bounds, np.concatenate(planes), np.concatenate(offsets))


class Approximate:
    """An index of samples given by their features.

    Attributes
    ----------
    recall : float
        Measured share of the nearest neighbours that were found.
    """

    def __init__(self, features: FloatArray, n_neighbors: int) -> None:
        self._centre = features.mean(axis=0, dtype=np.float64)
        farthest = np.maximum(
            features.max(axis=0) - self._centre, self._centre - features.min(axis=0)
        )
        self._size = float(farthest.max()) or 1.0
        self._n_neighbors, self._width = n_neighbors, features.shape[1]
        points, rng = self._points(features), np.random.RandomState(_SEED)
        self._leaf = max(_LEAF, 2 * (n_neighbors + _MORE + 1))
        with _team() as team:
            self._tree = _grow(team, points, self._leaf, rng, 0.5)
            # In the order of a tree, neighbours are near each other also in memory.
            self._samples = points[self._tree.order]
            del points
            self._measured = self._measure(team)
            self._near, self.recall = self._find(team, rng)
        if self.recall < RECALL:
            warnings.warn(
                f"Only {self.recall:.0%} of the {n_neighbors} nearest neighbours of a sample were "
                f'found, and {RECALL:.0%} were looked for. graph="knn" searches exactly.',
                UserWarning,
                stacklevel=2,
            )

    def _points(self, features: FloatArray) -> FloatArray:
        """As the compiled code takes them: distances are the same but for a factor."""
        points = np.zeros((len(features), -(-self._width // _VECTOR) * _VECTOR), np.float32)
        for low in range(0, len(points), _BLOCK):
            rows = slice(low, low + _BLOCK)
            points[rows, : self._width] = (features[rows] - self._centre) / self._size
        return points

    def _measure(self, team: Team) -> tuple[IntArray, FloatArray]:
        """Some samples, and the squared distance of the last of their nearest, exactly."""
        samples, p = self._samples, self._n_neighbors
        count = min(-(-_MEASURED // p), len(samples))
        chosen = np.linspace(0, len(samples) - 1, count).astype(np.int64)
        exact = _empty_lists(count, p)
        _share(team, count, lambda some: nearest_of_all(samples, chosen, some, exact))
        return chosen, exact[1][:, -1]

    def _find(self, team: Team, rng: np.random.RandomState) -> tuple[IntArray, float]:
        samples, p = self._samples, self._n_neighbors
        n = len(samples)
        lists = _empty_lists(n, min(p + _MORE, n - 1))
        own = np.arange(n, dtype=np.int32)
        self._join(team, own, self._tree.bounds, lists)
        for _ in range(_TREES - 1):
            # Parted elsewhere: where there is only one direction, no two leaves are the same.
            tree = _grow(team, samples, self._leaf, rng, rng.uniform(1 / 3, 2 / 3))
            self._join(team, tree.order, tree.bounds, lists)
        chosen, radii = self._measured

        def recall() -> float:
            return float((lists[1][chosen, :p] <= radii[:, None]).mean())

        changed, length, most = n * n, lists[0].shape[1], min(_LONGEST * lists[0].shape[1], n - 1)
        while recall() < _ROUGH and changed >= _STILL * n * length:
            changed = self._round(team, lists)
        while recall() < _AIM and lists[0].shape[1] < most:
            lists = _lengthened(lists, min(int(_LONGER * lists[0].shape[1] + 1), most))
            self._search_on(team, lists)
        return lists[0][:, : p + _MORE].copy(), recall()

    def _join(self, team: Team, order: IntArray, bounds: IntArray, lists: _Lists) -> None:
        def visit(leaves: tuple[int, int]) -> None:
            room = np.empty((self._leaf, self._samples.shape[1]), np.float32)
            join_leaves(self._samples, order, bounds, leaves, room, lists)

        _share(team, len(bounds) - 1, visit)

    def _round(self, team: Team, lists: _Lists) -> int:
        near, _, fresh = lists
        n = len(near)
        before = near.copy(), fresh.copy()
        counts, visitors = np.empty(n, np.int32), np.empty((n, _VISITORS), np.int32)
        new = np.empty((n, _VISITORS), np.uint8)
        list_visitors(near, fresh, counts, visitors, new)
        others = visitors, counts, new

        def visit(rows: tuple[int, int]) -> int:
            marks = np.full(n, -1, np.int32)
            return int(improve(self._samples, rows, before, lists, others, marks))

        return sum(_share(team, n, visit))

    def _search_on(self, team: Team, lists: _Lists) -> None:
        n, ways = len(self._samples), _ways(lists[0][:, : self._n_neighbors + _MORE])

        def visit(rows: tuple[int, int]) -> None:
            search_on(self._samples, rows, ways, lists, np.full(n, -1, np.int32))

        _share(team, n, visit)

    def neighbours(self) -> IntArray:
        """The nearest others of each sample; n × ``n_neighbors``."""
        order = self._tree.order
        found = np.empty((len(order), self._n_neighbors), np.int64)
        found[order] = order[self._near[:, : self._n_neighbors]]
        return found

    @cached_property
    def _links(self) -> tuple[IntArray, IntArray]:
        return _ways(self._near)

    @cached_property
    def _length(self) -> int:
        """How long the lists of a query have to be, by samples that do not see themselves."""
        chosen, radii = self._measured
        points, length, p = self._samples[chosen], self._near.shape[1], self._n_neighbors
        marks = np.full(len(self._samples), -1, np.int32)
        while True:
            lists = _empty_lists(len(chosen), length)
            for number, sample in enumerate(chosen):
                marks[sample] = number
                self._visit(points, (number, number + 1), lists, marks)
            right = float((lists[1][:, :p] <= radii[:, None]).mean())
            if right >= _AIM or length >= min(_LONGEST * (p + _MORE), len(self._samples) - 1):
                return length
            length = int(_LONGER * length + 1)
            marks[:] = -1

    def _visit(
        self, points: FloatArray, rows: tuple[int, int], lists: _Lists, marks: IntArray
    ) -> None:
        """Search for the nearest of some rows of ``points``."""
        tree, leaves = self._tree, np.empty(len(points), np.int64)
        find_leaves(points, rows, tree.planes, tree.offsets, leaves)
        starts = np.empty((len(points), 2), np.int64)
        mine = leaves[rows[0] : rows[1]]
        starts[rows[0] : rows[1], 0] = tree.bounds[mine]
        starts[rows[0] : rows[1], 1] = tree.bounds[mine + 1]
        search(self._samples, points, rows, starts, self._links, lists, marks)

    def query(self, features: FloatArray, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices of the nearest samples of new ones, the nearest first, and the distances."""
        points, n = self._points(features), len(self._samples)
        length = self._length + max(n_neighbors - self._n_neighbors, 0)
        lists = _empty_lists(len(points), min(length, n))
        with _team() as team:
            _share(
                team, len(points),
                lambda rows: self._visit(points, rows, lists, np.full(n, -1, np.int32)),
            )  # fmt: skip
        near, squares, _ = lists
        distances = np.sqrt(squares[:, :n_neighbors].astype(np.float64)) * self._size
        return self._tree.order[near[:, :n_neighbors]].astype(np.int64), distances


def _lengthened(lists: _Lists, length: int) -> _Lists:
    """Lists with more room."""
    longer = _empty_lists(len(lists[0]), length)
    for new, old in zip(longer, lists, strict=True):
        new[:, : old.shape[1]] = old
    return longer


def _ways(near: IntArray) -> tuple[IntArray, IntArray]:
    """From each sample to those in its list, and to those that have it in theirs; as CSR."""
    n, length = near.shape
    rows, columns = np.repeat(np.arange(n, dtype=np.int32), length), near.ravel()
    rows, columns = rows[columns >= 0], columns[columns >= 0]
    ways = sp.csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=(n, n))
    ways = sp.csr_array(ways + ways.T)
    return ways.indptr.astype(np.int64), ways.indices.astype(np.int32)
