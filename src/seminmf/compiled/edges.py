"""The compiled loops over the edges of a graph, and nothing else."""

import numpy as np

from .jit import compiled
from .simd.lanes import WIDTH
from .simd.tiles import TILE
from .simd.rows import squared_distances


@compiled
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


@compiled
def edge_weights(first, stop, codes, pairs, base, squared, floor, edges):
    """Graph penalty over the edges in ``pairs[first:stop]``, and their weights.

    With ``squared`` the penalty is Σ w ‖v_i − v_j‖² and the weights w stay as they are; otherwise
    it is Σ w ‖v_i − v_j‖ and both entries of the edge receive w / (2 max(‖v_i − v_j‖, floor)).
    """
    penalty = 0.0
    squares, halves = np.zeros(TILE, codes.dtype), np.zeros(TILE)
    for start in range(first, stop, TILE):
        count = min(TILE, stop - start)
        tile = pairs[start : start + count]
        _squared_distances(codes, tile, squares)
        if squared:
            for b in range(count):
                penalty += base[tile[b, 2]] * squares[b]
            continue
        # A loop of its own, because roots and quotients are slow unless they are vectors.
        for b in range(TILE):
            squares[b] = np.sqrt(squares[b])
            halves[b] = 0.5 / max(squares[b], floor)
        for b in range(count):
            entry = np.uint64(tile[b, 2])
            penalty += base[entry] * squares[b]
            weight = base[entry] * halves[b]
            edges[entry] = weight
            edges[np.uint64(tile[b, 3])] = weight
    return penalty


@compiled
def is_symmetric(indptr, indices, data, tolerance):
    """Whether (j, i) is stored for each (i, j), with the same weight but for the last digits."""
    cursor = indptr[:-1].copy()
    for i in range(len(cursor)):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            # Columns are sorted: those who have j as a neighbour come in the order of row j.
            mirrored = cursor[j]
            if mirrored == indptr[j + 1] or indices[mirrored] != i:
                return False
            if abs(data[e] - data[mirrored]) > tolerance * data[mirrored]:
                return False
            cursor[j] += 1
    return True


@compiled
def list_edges(indptr, indices):
    """The edges i < j of a symmetric CSR pattern: i, j, and where (i, j) and (j, i) are stored."""
    pairs = np.empty((indices.shape[0] // 2, 4), indices.dtype)
    cursor = indptr[:-1].copy()
    count = 0
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j > i:
                pairs[count, 0], pairs[count, 1] = i, j
                pairs[count, 2], pairs[count, 3] = e, cursor[j]
                # The entries of row j left of its diagonal come in the order of i.
                cursor[j] += 1
                count += 1
    return pairs


@compiled
def greedy_colours(order, indptr, indices):
    """Colour the vertices in the given order with the smallest free colour."""
    n = indptr.shape[0] - 1
    colours = np.full(n, -1, np.int64)
    seen = np.full(n + 1, -1, np.int64)
    for i in order:
        for e in range(indptr[i], indptr[i + 1]):
            colour = colours[indices[e]]
            if colour >= 0:
                seen[colour] = i
        colour = 0
        while seen[colour] == i:
            colour += 1
        colours[i] = colour
    return colours


@compiled
def group_by_colour(samples, chunks, colours):
    """The samples of each chunk colour by colour.

    ``samples[chunks[c]:chunks[c + 1]]`` are those of a chunk. Returned are the samples in their new
    order, where in it the colours begin, those of all chunks, and at which of these the chunks do.
    """
    count = colours.max() + 1
    order = np.empty_like(samples)
    starts = np.empty((chunks.shape[0] - 1) * count + 1, np.int64)
    groups = np.empty_like(chunks)
    found = 0
    for c in range(chunks.shape[0] - 1):
        groups[c] = found
        places = np.zeros(count + 1, np.int64)
        for s in range(chunks[c], chunks[c + 1]):
            places[colours[samples[s]] + 1] += 1
        places[0] = chunks[c]
        for colour in range(count):
            if places[colour + 1] > 0:
                starts[found] = places[colour]
                found += 1
            places[colour + 1] += places[colour]
        # From now on places[colour] is where the next sample of that colour goes.
        for s in range(chunks[c], chunks[c + 1]):
            colour = colours[samples[s]]
            order[places[colour]] = samples[s]
            places[colour] += 1
    starts[found], groups[-1] = chunks[-1], found
    return order, starts[: found + 1], groups
