"""Nearest neighbours of many samples, almost all of them right, by looking into few cells.

Samples lie in cells with others near to them (an inverted file: Jégou, Douze and Schmid, 2011), and
a sample is compared with all in those cells whose centres are nearest to it. How many cells that
has to be is measured on some samples, whose neighbours are looked for among all. New samples go the
same way.

Equal features have equal results, with any number of threads.
"""

from __future__ import annotations

import warnings

import numpy as np

from .._types import FloatArray, IntArray
from ..compiled.neighbours import PER_TILE, choose_cells, meet_cells
from ..compiled.threads.team import WORTH_SHARING, Team
from ..data.cutting import pieces
from .cells import Lists, Tiles, by_blocks, cells_of, empty_lists, nearest_centres, rooms

# The share of the neighbours that have to be right, and what the measured share has to be: measured
# on so many neighbours, of so many samples at least, it is uncertain by about one in a hundred.
RECALL, _AIM, _MEASURED, _MEASURED_SAMPLES = 0.95, 0.965, 1280, 256
# A cell has about so many times the root of the number of samples, at least so many: larger cells
# make comparing with their samples more work, smaller ones comparing with their centres.
_ROOTS, _LEAST = 0.25, 64
# A sample chooses its cells among so many times as many, those that lie beside its own.
_BESIDE = 8
# If too few are right, it looks into so many times as many.
_MORE = 1.1
# A sample is compared with about so many at most, even if more of its neighbours are then wrong.
_MOST = 2**16
# Rows at a time that are converted, so that there is no second copy of the features.
_ROWS = 2**14
# Centres at a time that are compared with all.
_CENTRES = 2**8


def worth_it(n_samples: int, n_neighbors: int) -> bool:
    """Whether looking into some cells is less work than meeting all samples."""
    return n_neighbors**2 <= n_samples


def _team() -> Team:
    return Team(WORTH_SHARING, 2**10)


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
        self._n_neighbors = n_neighbors
        points = self._points(features)
        size = max(_LEAST, int(_ROOTS * len(points) ** 0.5), 2 * (n_neighbors + 1))
        with _team() as team:
            self._centres, labels = cells_of(team, points, size, n_neighbors + 1)
            self._samples = Tiles.of(points, labels)
            del points, labels
            self.recall = self._look_far_enough(team, min(-(-_MOST // size), len(self._centres)))
            self._near = self._find(team)
        if self.recall < RECALL:
            warnings.warn(
                f"Only {self.recall:.0%} of the {n_neighbors} nearest neighbours of a sample were "
                f'found; the aim is {RECALL:.0%}. graph="knn" searches exactly.',
                UserWarning,
                stacklevel=2,
            )

    def _points(self, features: FloatArray) -> FloatArray:
        """As the compiled code takes them: distances are the same but for a factor."""
        points = np.empty(features.shape, np.float32)
        for rows in pieces(len(points), _ROWS):
            points[rows] = (features[rows] - self._centre) / self._size
        return points

    def _look_far_enough(self, team: Team, most: int) -> float:
        """Choose how many cells to look into, at most so many; returns what share is then found."""
        samples, p = self._samples, self._n_neighbors
        count = min(max(-(-_MEASURED // p), _MEASURED_SAMPLES), len(samples.places))
        places = np.sort(samples.places[np.linspace(0, len(samples.places) - 1, count).astype(int)])
        points = samples.points(places)
        near, squares = samples.nearest_of_all(team, points, p, places)
        ranks = self._squares_of_centres(points).argsort(axis=1, kind="stable").argsort(axis=1)
        needed = np.take_along_axis(ranks, samples.cells(near), axis=1)
        looks = int(np.quantile(needed, _AIM, method="higher")) + 1
        while True:
            self._looks = min(looks, most)
            self._beside = self._cells_beside()
            found = self._look(points, samples.cells(places), places, p, self._looks)
            recall = float((found[1] <= squares[:, -1:]).mean())
            if recall >= _AIM or self._looks == most:
                return recall
            looks = int(_MORE * looks + 1)

    def _squares_of_centres(self, points: FloatArray) -> FloatArray:
        """Squared distances of points to all centres, but for a number for each point."""
        centres = self._centres.astype(np.float64)
        return (centres * centres).sum(axis=1) - 2 * points @ centres.T

    def _cells_beside(self) -> IntArray:
        """For each cell those nearest to it, the nearest first."""
        count = min(_BESIDE * self._looks, len(self._centres))
        beside = np.empty((len(self._centres), count), np.int32)
        for rows in pieces(len(beside), _CENTRES):
            squares = self._squares_of_centres(self._centres[rows])
            some = squares.argpartition(count - 1, axis=1)[:, :count]
            order = np.take_along_axis(squares, some, axis=1).argsort(axis=1)
            beside[rows] = np.take_along_axis(some, order, axis=1)
        return beside

    def _look(
        self, points: FloatArray, homes: IntArray, hidden: IntArray, length: int, looks: int
    ) -> Lists:
        """Places of the nearest samples of some points, which come in the order of their homes."""
        samples, beside, lists = self._samples, self._beside, empty_lists(len(points), length)
        cells, own_rooms = empty_lists(len(points), looks), rooms(len(points))
        shape = -(-beside.shape[1] // PER_TILE), points.shape[1], PER_TILE
        tiles, nobody = np.full(shape, np.inf, np.float32), np.full(len(points), -1)
        choose_cells(points, homes, self._centres, beside, nobody, cells, tiles, own_rooms)
        heads, callers = np.empty(len(samples.bounds), np.int64), np.empty(cells[0].size, np.int64)
        # First the nearest cell, so that few samples of the others are near enough for the lists.
        for some in (cells[0][:, :1], cells[0][:, 1:]):
            meet_cells(
                points, hidden, some, samples.bounds, samples.tiles, lists, own_rooms, heads,
                callers,
            )  # fmt: skip
        return lists

    def _find(self, team: Team) -> IntArray:
        """The nearest others of each sample."""
        samples, p = self._samples, self._n_neighbors
        near = np.empty((len(samples.places), p), np.int32)
        filled = np.flatnonzero(samples.samples >= 0)

        def find(rows: slice) -> None:
            places = filled[rows]
            homes = samples.cells(places)
            found, _ = self._look(samples.points(places), homes, places, p, self._looks)
            near[samples.samples[places]] = samples.samples[found]

        by_blocks(team, len(filled), find)
        return near

    def neighbours(self) -> IntArray:
        """The nearest others of each sample; n × ``n_neighbors``."""
        return self._near.astype(np.int64)

    def query(self, features: FloatArray, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices of the nearest samples of new ones, the nearest first, and the distances."""
        points, samples = self._points(features), self._samples
        near, squares = empty_lists(len(points), n_neighbors)
        # Each cell has more samples than neighbours were looked for in the fit.
        looks = min(self._looks * -(-n_neighbors // self._n_neighbors), self._beside.shape[1])
        with _team() as team:
            homes = nearest_centres(team, points, self._centres)
            order = np.argsort(homes, kind="stable")

            def find(rows: slice) -> None:
                some = order[rows]
                nobody = np.full(len(some), -1)
                found = self._look(points[some], homes[some], nobody, n_neighbors, looks)
                near[some], squares[some] = samples.samples[found[0]], found[1]

            by_blocks(team, len(points), find)
        return near.astype(np.int64), np.sqrt(squares.astype(np.float64)) * self._size
