"""Neighbours of samples that lie with several shards.

Each shard looks for the neighbours of its samples among its own. A sample that is nearer to the
cell of another shard than to the last of its neighbours asks there too; who is then chosen is as
good as if all samples were in one place.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..graph.approximate import worth_it
from ..graph.index import index_of_features
from ..graph.neighbours import symmetric
from ..graph.prepared import NeighbourGraph
from .cells import Cells
from .engine import Halo
from .halo import Crossing, HaloGraph
from .shards import Shard, Shards

# Samples by which the cells are chosen, in all.
_SAMPLES_FOR_CELLS = 20_000


def _some_features(shard: Shard, share: float) -> FloatArray:
    step = max(1, round(1 / share))
    return np.asarray(shard.features[::step])


def cells_of(shards: Shards, n_samples: int, count: int) -> Cells:
    """So many cells, by the features that the shards hold."""
    share = min(1.0, _SAMPLES_FOR_CELLS / n_samples)
    return Cells.of(np.concatenate(shards.map(_some_features, share)), count)


def _search(shard: Shard, number: int, cells: Cells, count: int, approximate: bool) -> list[Any]:
    """Look for neighbours here; returns for each other shard what to ask it: features, or None."""
    n = len(shard.features)
    own = min(count, n - 1)
    approximate = approximate and worth_it(n, count)
    shard.index = index_of_features(shard.features, max(own, 0), approximate=approximate)
    shard.recall = shard.index.recall
    shard.found = np.full((n, count), np.inf), np.full((n, count), -1), np.full((n, count), number)
    if own > 0:
        indices = shard.index.neighbours()
        shard.found[1][:, :own] = indices
        for place, column in enumerate(indices.T):
            steps = shard.features - shard.features[column]
            shard.found[0][:, place] = np.sqrt(np.einsum("ij,ij->i", steps, steps))
    farthest = shard.found[0][:, -1:]
    near = cells.distances(shard.features) < farthest
    near[:, number] = False
    shard.asking = [np.flatnonzero(column) for column in near.T]
    return [shard.features[rows] if len(rows) else None for rows in shard.asking]


def _answer(shard: Shard, questions: list[Any], count: int) -> list[Any]:
    """For the features of each asking shard, distances and numbers of the nearest samples here."""
    count = min(count, len(shard.features))
    answers: list[Any] = []
    for features in questions:
        if features is None or count == 0:
            answers.append(None)
        else:
            indices, distances = shard.index.query(features, count)
            answers.append((distances, indices))
    return answers


def _choose(shard: Shard, number: int, answers: list[Any]) -> IntArray:
    """The nearest of all that were found: a row (sample here, shard, sample there) for each link
    to another shard. Those within this one are kept.
    """
    distances, indices, homes = shard.found
    count = distances.shape[1]
    for other, (rows, answer) in enumerate(zip(shard.asking, answers, strict=True)):
        if answer is None:
            continue
        joined = np.hstack([distances[rows], answer[0]])
        best = np.argsort(joined, axis=1, kind="stable")[:, :count]
        distances[rows] = np.take_along_axis(joined, best, axis=1)
        there = np.full(answer[1].shape, other)
        for kept, more in ((indices, answer[1]), (homes, there)):
            kept[rows] = np.take_along_axis(np.hstack([kept[rows], more]), best, axis=1)
    shard.found = shard.asking = shard.index = None
    rows = np.repeat(np.arange(len(indices)), count)
    indices, homes = indices.ravel(), homes.ravel()
    inner = (homes == number) & (indices >= 0)
    ones, n = np.ones(int(inner.sum())), len(shard.features)
    shard.links = sp.csr_array((ones, (rows[inner], indices[inner])), shape=(n, n))
    outer = homes != number
    return np.stack([rows[outer], homes[outer], indices[outer]], axis=1)


def _prepare(shard: Shard, matrix: Any, crossing: Crossing) -> None:
    """The graph of the samples here, for the solver."""
    if matrix is None:
        matrix, shard.links = symmetric(shard.links), None
    engine = shard.engine
    inner = NeighbourGraph.prepare(matrix, engine.squares, engine.dtype, engine.chunk_bounds)
    shard.graph = HaloGraph(inner, crossing)


def find_neighbours(shards: Shards, cells: Cells, n_neighbors: int, *, approximate: bool) -> Halo:
    """Find the neighbours of all samples by their features, and make the graph of them."""
    numbers = range(len(shards))
    questions = shards.map_each(_search, [(s, cells, n_neighbors, approximate) for s in numbers])
    asked = [[questions[s][other] for s in numbers] for other in numbers]
    answers = shards.map_each(_answer, [(own, n_neighbors) for own in asked])
    returned = [[answers[other][s] for other in numbers] for s in numbers]
    chosen = shards.map_each(_choose, [(s, returned[s]) for s in numbers])
    # An edge where one of the two is a neighbour of the other, with the lower shard first.
    found = np.concatenate([np.insert(links, 0, s, axis=1) for s, links in enumerate(chosen)])
    turned = found[:, 0] > found[:, 2]
    found[turned] = found[turned][:, [2, 3, 0, 1]]
    edges = np.unique(found, axis=0)
    return set_graph(shards, edges, np.ones(len(edges)), None)


def split_graph(shards: Shards, matrix: sp.csr_array, sizes: list[int]) -> Halo:
    """Use a given graph of samples that lie with the shards in their order."""
    ends = list(accumulate(sizes, initial=0))
    inner = [sp.csr_array(matrix[a:b, a:b]) for a, b in pairwise(ends)]
    upper = sp.triu(matrix, 1, format="coo")
    homes = np.searchsorted(ends, (upper.row, upper.col), side="right") - 1
    parted = homes[0] != homes[1]
    starts = np.array(ends)[homes[:, parted]]
    rows, columns = upper.row[parted] - starts[0], upper.col[parted] - starts[1]
    edges = np.stack([homes[0, parted], rows, homes[1, parted], columns], axis=1)
    return set_graph(shards, edges, upper.data[parted], inner)


def set_graph(shards: Shards, edges: IntArray, weights: FloatArray, inner: Any) -> Halo:
    """Have each shard know its edges.

    ``edges`` are those between shards, a row (shard, sample, shard, sample) for each; ``inner`` are
    the matrices of the others, or None where the shards have them.
    """
    count = len(shards)
    sides = np.concatenate([edges[:, :2], edges[:, 2:]])
    # The table of codes that are seen elsewhere: by shard, and by sample.
    table, rows = np.unique(sides, axis=0, return_inverse=True)
    ends = rows.reshape(2, -1).T
    sights, arguments = [], []
    for shard in range(count):
        from_here, to_here = edges[:, 0] == shard, edges[:, 2] == shard
        own = np.concatenate([edges[from_here, 1], edges[to_here, 3]])
        other = np.concatenate([ends[from_here, 1], ends[to_here, 0]])
        seen, place = np.unique(other, return_inverse=True)
        shown = table[table[:, 0] == shard, 1]
        both = np.concatenate([weights[from_here], weights[to_here]])
        first = np.arange(len(own)) < from_here.sum()
        sights.append(seen)
        crossing = Crossing(own, place, both, first, len(seen), shown)
        arguments.append((None if inner is None else inner[shard], crossing))
    shards.map_each(_prepare, arguments)
    return Halo(sights, ends, weights)
