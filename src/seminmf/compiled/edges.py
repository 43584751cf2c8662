"""Lengths, weights and penalties of the edges of a graph."""

from functools import partial

import numpy as np
from numba import types

from .apart import Apart
from .jit import inner
from .measures import measure
from .views import rows_of, span

# Edges that are passed to the loss together.
EDGES_AT_ONCE = 512


@inner
def _squared_distances(codes, pairs, squares):
    """‖v_i − v_j‖² for each of the ``pairs``."""
    for b in range(pairs.shape[0]):
        i, j, total = np.uint64(pairs[b, 0]), np.uint64(pairs[b, 1]), codes.dtype.type(0)
        for q in range(codes.shape[1]):
            difference = codes[i, q] - codes[j, q]
            total += difference * difference
        squares[b] = total


@partial(Apart, returns=types.float64)
def edge_weights(graph, loss, parameters, floor, first, stop, codes, edges, room):
    """The penalty Σ w ρ(‖v_i − v_j‖) of the edges ``pairs[first:stop]``; writes their weights.

    ρ is the ``loss`` at this address. Both entries of an edge receive w ρ'(t)/2t, with t not below
    the floor. ``room`` holds three times `EDGES_AT_ONCE` numbers.
    """
    penalty = 0.0
    lengths, base = span(room, 0, EDGES_AT_ONCE), span(room, EDGES_AT_ONCE, 2 * EDGES_AT_ONCE)
    weights = span(room, 2 * EDGES_AT_ONCE, 3 * EDGES_AT_ONCE)
    for start in range(first, stop, EDGES_AT_ONCE):
        count = min(EDGES_AT_ONCE, stop - start)
        pairs = rows_of(graph.pairs, start, start + count)
        _squared_distances(codes, pairs, lengths)
        for b in range(count):
            base[b] = graph.base[np.uint64(pairs[b, 2])]
        # A loop of its own, since roots are slow unless vectorised.
        for b in range(count):
            lengths[b] = np.sqrt(lengths[b])
        penalty += measure(loss, count, lengths, base, 1, floor, parameters, weights)
        for b in range(count):
            edges[np.uint64(pairs[b, 2])] = weights[b]
            edges[np.uint64(pairs[b, 3])] = weights[b]
    return penalty


# How compiled code calls it, with the address first.
weigh_edges = edge_weights.call


def weigh_all_edges(graph, objective, codes, edges):
    """`edge_weights` of all edges of a graph under an objective, called from Python."""
    room, loss = np.empty(3 * EDGES_AT_ONCE, codes.dtype), objective.graph.block(codes.dtype)
    return edge_weights(
        graph, loss.address, loss.parameters, objective.floors.edge, 0, graph.pairs.shape[0], codes,
        edges, room,
    )  # fmt: skip
