"""Neighbours of samples that lie at several sites.

Each site searches for the neighbours of its samples among its own. For a sample nearer to the cell
of another site than to the last of its neighbours, that site is asked, too; the neighbours then
chosen are as good as if all samples were in one place.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..data import Engine, row_squares
from ..graph.approximate import worth_it
from ..graph.index import index_of_features
from ..graph.neighbours import symmetric
from ..graph.prepared import NeighbourGraph
from .cells import Cells
from .engine import RemoteEngine, RemoteGraph
from .halo import Crossing, HaloGraph
from .sites import Held, Own

# Samples that the cells are made from, in all.
_SAMPLES_FOR_CELLS = 20_000


def cells_of(engine: RemoteEngine, features: Held) -> Cells:
    """A cell for each site, by the features of the samples."""
    step = max(1, round(engine.n_samples / _SAMPLES_FOR_CELLS))
    some = engine.gather(lambda own: np.asarray(own[::step]), features)
    return Cells.of(np.concatenate(some), len(engine.sites))


class _Search:
    """Neighbours of the samples of a site, with their distances and the sites they are at."""

    def __init__(
        self, features: FloatArray, number: int, cells: Cells, count: int, approximate: bool
    ) -> None:
        """Search among the own samples."""
        self._features, self._number, n = features, number, len(features)
        own = max(min(count, n - 1), 0)
        approximate = approximate and worth_it(n, count)
        self._index = index_of_features(features, own, approximate=approximate)
        self.recall = self._index.recall
        shape = n, count
        self._distances, self._homes = np.full(shape, np.inf), np.full(shape, number)
        self._indices = np.full(shape, -1)
        if own > 0:
            self._indices[:, :own] = indices = self._index.neighbours()
            for place, column in enumerate(indices.T):
                self._distances[:, place] = np.sqrt(row_squares(features - features[column]))
        near = cells.distances(features) < self._distances[:, -1:]
        near[:, number] = False
        self._asking = [np.flatnonzero(column) for column in near.T]

    def questions(self) -> list[Any]:
        """What to ask each other site: features of samples, or None."""
        return [self._features[rows] if len(rows) else None for rows in self._asking]

    def answers(self, questions: list[Any]) -> list[Any]:
        """The nearest samples here, and their distances, for the features of each asking site."""
        count = min(self._distances.shape[1], len(self._features))
        return [
            None if features is None or count == 0 else self._index.query(features, count)
            for features in questions
        ]

    def choose(self, answers: list[Any]) -> IntArray:
        """Keep the nearest of all found; returns (sample here, site, sample there) for each link
        to another site.
        """
        count = self._distances.shape[1]
        for other, (rows, answer) in enumerate(zip(self._asking, answers, strict=True)):
            if answer is None:
                continue
            found, distances = answer
            joined = np.hstack([self._distances[rows], distances])
            best = np.argsort(joined, axis=1, kind="stable")[:, :count]
            there = np.full(found.shape, other)
            for kept, more in (
                (self._distances, distances), (self._indices, found), (self._homes, there),
            ):  # fmt: skip
                kept[rows] = np.take_along_axis(np.hstack([kept[rows], more]), best, axis=1)
        rows, outer = np.nonzero(self._homes != self._number)
        places = rows, outer
        return np.stack([rows, self._homes[places], self._indices[places]], axis=1)

    def graph(self) -> sp.csr_array:
        """The graph of the links inside this site."""
        rows, places = np.nonzero((self._homes == self._number) & (self._indices >= 0))
        links = np.ones(len(rows)), (rows, self._indices[rows, places])
        n = len(self._features)
        return symmetric(sp.csr_array(links, shape=(n, n)))


def find_neighbours(
    engine: RemoteEngine, features: Held, cells: Cells, n_neighbors: int, *, approximate: bool
) -> tuple[RemoteGraph, float]:
    """The graph of the nearest neighbours of all samples by their features, and the share of the
    neighbours that were found.
    """
    numbers = range(len(engine.sites))
    search = engine.each(_Search, features, Own(numbers), cells, n_neighbors, approximate)
    # Question t of site s goes to site t as number s, and the answer back.
    questions = engine.gather(_Search.questions, search)
    answers = engine.gather(_Search.answers, search, Own(list(zip(*questions, strict=True))))
    chosen = engine.gather(_Search.choose, search, Own(list(zip(*answers, strict=True))))
    # An edge wherever one of two samples is a neighbour of the other, with the lower site first.
    found = np.concatenate([np.insert(links, 0, s, axis=1) for s, links in enumerate(chosen)])
    turned = found[:, 0] > found[:, 2]
    found[turned] = found[turned][:, [2, 3, 0, 1]]
    edges = np.unique(found, axis=0)
    inner = engine.each(_Search.graph, search)
    recall = min(engine.gather(getattr, search, "recall"))
    return _set_graph(engine, edges, np.ones(len(edges)), inner), recall


def split_graph(engine: RemoteEngine, matrix: sp.csr_array) -> RemoteGraph:
    """Use a given graph of samples that lie at the sites in their order."""
    ends = list(accumulate(engine.gather(getattr, engine, "n_samples"), initial=0))
    inner = [sp.csr_array(matrix[a:b, a:b]) for a, b in pairwise(ends)]
    upper = sp.triu(matrix, 1, format="coo")
    homes = np.searchsorted(ends, (upper.row, upper.col), side="right") - 1
    parted = homes[0] != homes[1]
    starts = np.array(ends)[homes[:, parted]]
    rows, columns = upper.row[parted] - starts[0], upper.col[parted] - starts[1]
    edges = np.stack([homes[0, parted], rows, homes[1, parted], columns], axis=1)
    return _set_graph(engine, edges, upper.data[parted], Own(inner))


def _prepared(engine: Engine, matrix: sp.csr_array, crossing: Crossing) -> HaloGraph:
    """The graph of a site's samples, prepared for the solver."""
    inner = NeighbourGraph.prepare(matrix, engine.squares, engine.dtype, engine.chunk_bounds)
    return HaloGraph.of(inner, crossing)


def _set_graph(
    engine: RemoteEngine, edges: IntArray, weights: FloatArray, inner: Held | Own
) -> RemoteGraph:
    """Give each site its edges.

    ``edges`` are those between sites, a row (site, sample, site, sample) for each; ``inner`` has
    the matrices of the edges inside each site.
    """
    sides = np.concatenate([edges[:, :2], edges[:, 2:]])
    # The table of codes that other sites need, sorted by site and sample.
    table, rows = np.unique(sides, axis=0, return_inverse=True)
    ends = rows.reshape(2, -1).T
    sights, crossings = [], []
    for site in range(len(engine.sites)):
        from_here, to_here = edges[:, 0] == site, edges[:, 2] == site
        own = np.concatenate([edges[from_here, 1], edges[to_here, 3]])
        other = np.concatenate([ends[from_here, 1], ends[to_here, 0]])
        seen, place = np.unique(other, return_inverse=True)
        both = np.concatenate([weights[from_here], weights[to_here]])
        first = np.arange(len(own)) < from_here.sum()
        sights.append(seen)
        crossings.append(Crossing(own, place, both, first, table[table[:, 0] == site, 1]))
    graph = engine.sites.each_as(RemoteGraph, _prepared, engine, inner, Own(crossings))
    graph.sights, graph.ends, graph.weights = sights, ends, weights
    return graph
