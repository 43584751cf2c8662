"""Lengths, weights and penalties of the edges of a graph."""

import numpy as np

from .jit import compiled, inner
from .measures import measure
from .simd.lanes import WIDTH
from .simd.tiles import TILE
from .simd.rows import squared_distances
from .views import rows_of


@inner
def _squared_distances(codes, pairs, squares):
    """‖v_i − v_j‖² for each of the ``pairs``."""
    k = codes.shape[1]
    if min(k, pairs.shape[0]) * codes.itemsize >= WIDTH:
        squared_distances(codes, pairs, squares)
    else:
        for b in range(pairs.shape[0]):
            total = 0.0
            for q in range(k):
                difference = codes[pairs[b, 0], q] - codes[pairs[b, 1], q]
                total += difference * difference
            squares[b] = total


@inner
def weigh_edges(graph, terms, first, stop, codes, edges):
    """Graph penalty Σ w ρ(‖v_i − v_j‖) over the edges in ``pairs[first:stop]``, and their weights.

    Both entries of an edge receive w ρ'(t)/2t, with t not below the floor.
    """
    penalty = 0.0
    lengths, base, weights = (
        np.zeros(TILE, codes.dtype), np.zeros(TILE, codes.dtype), np.zeros(TILE, codes.dtype)
    )  # fmt: skip
    for start in range(first, stop, TILE):
        count = min(TILE, stop - start)
        pairs = rows_of(graph.pairs, start, start + count)
        _squared_distances(codes, pairs, lengths)
        # A loop of its own, because roots are slow unless they are vectors.
        for b in range(TILE):
            lengths[b] = np.sqrt(lengths[b])
        for b in range(count):
            base[b] = graph.base[np.uint64(pairs[b, 2])]
        penalty += measure(
            terms.graph, count, lengths, base, 1, terms.edge_floor, terms.graph_parameters, weights
        )
        for b in range(count):
            edges[np.uint64(pairs[b, 2])] = weights[b]
            edges[np.uint64(pairs[b, 3])] = weights[b]
    return penalty


@compiled
def weigh_all_edges(graph, terms, codes, edges):
    """The same for all edges, on one thread."""
    return weigh_edges(graph, terms, 0, graph.pairs.shape[0], codes, edges)
