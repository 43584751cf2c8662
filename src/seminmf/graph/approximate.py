"""Nearest neighbours of many samples, almost all of them right, in time about proportional to n.

Trees that halve the samples bring some neighbours together (Dasgupta and Freund); then samples are
introduced to the neighbours of their neighbours, round by round (NN-descent: Dong, Charikar and Li,
2011). How many of the neighbours are right is measured on some samples, whose neighbours are looked
for among all, and rounds go on until enough are. A new sample is led by a tree to a leaf, and from
there along the neighbours to those that are nearest to it.

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
from ..compiled.neighbours import improve, join_leaves, list_visitors, nearest_of_all, search
from ..compiled.threads.team import WORTH_SHARING, Team

# The share of the neighbours that have to be right, and what the measured share has to be: measured
# on so many neighbours it is uncertain by about one in a hundred.
RECALL, _AIM, _MEASURED = 0.95, 0.97, 1280
# Trees, and most samples in a leaf.
_TREES, _LEAF = 4, 64
# A list has room for so many more than are looked for; a sample meets the neighbours of so many of
# those that have it in their lists.
_MORE, _VISITORS = 15, 8
# A round that changes less than this share of the lists is the last with lists so long. Then they
# are made longer by a half, up to so many times the first length.
_STILL, _LONGER, _LONGEST = 0.03, 1.5, 4
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
        chosen = np.linspace(0, n - 1, min(-(-_MEASURED // p), n)).astype(np.int64)
        exact = _empty_lists(len(chosen), p)
        _share(team, len(chosen), lambda some: nearest_of_all(samples, chosen, some, exact))

        def recall() -> float:
            return float((lists[1][chosen, :p] <= exact[1][:, -1:]).mean())

        most = min(_LONGEST * lists[0].shape[1], n - 1)
        while recall() < _AIM:
            changed = self._round(team, lists)
            length = lists[0].shape[1]
            if changed < _STILL * n * length and recall() < _AIM:
                if length == most:
                    break
                lists = _lengthened(lists, min(int(_LONGER * length), most))
        return lists[0], recall()

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

    def neighbours(self) -> IntArray:
        """The nearest others of each sample; n × ``n_neighbors``."""
        order = self._tree.order
        found = np.empty((len(order), self._n_neighbors), np.int64)
        found[order] = order[self._near[:, : self._n_neighbors]]
        return found

    @cached_property
    def _ways(self) -> tuple[IntArray, IntArray]:
        """From each sample to those in its list, and to those that have it in theirs."""
        n, length = self._near.shape
        rows, columns = np.repeat(np.arange(n, dtype=np.int32), length), self._near.ravel()
        rows, columns = rows[columns >= 0], columns[columns >= 0]
        ways = sp.csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=(n, n))
        ways = sp.csr_array(ways + ways.T)
        return ways.indptr.astype(np.int64), ways.indices.astype(np.int32)

    def query(self, features: FloatArray, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices of the nearest samples of new ones, the nearest first, and the distances."""
        points, n = self._points(features), len(self._samples)
        leaves, tree = np.empty(len(points), np.int64), self._tree
        lists = _empty_lists(len(points), min(n_neighbors + _MORE, n))
        ways = self._ways

        def visit(rows: tuple[int, int]) -> None:
            find_leaves(points, rows, tree.planes, tree.offsets, leaves)
            mine = leaves[rows[0] : rows[1]]
            starts[rows[0] : rows[1], 0] = tree.bounds[mine]
            starts[rows[0] : rows[1], 1] = tree.bounds[mine + 1]
            marks = np.full(n, -1, np.int32)
            search(self._samples, points, rows, starts, ways, lists, marks)

        starts = np.empty((len(points), 2), np.int64)
        with _team() as team:
            _share(team, len(points), visit)
        near, squares, _ = lists
        distances = np.sqrt(squares[:, :n_neighbors].astype(np.float64)) * self._size
        return tree.order[near[:, :n_neighbors]].astype(np.int64), distances


def _lengthened(lists: _Lists, length: int) -> _Lists:
    """Lists with more room; all in them are fresh again, for those who had no room before."""
    longer = _empty_lists(len(lists[0]), length)
    for new, old in zip(longer, lists, strict=True):
        new[:, : old.shape[1]] = old
    longer[2][:] = 1
    return longer
