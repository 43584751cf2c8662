"""Loops that prepare a graph: its edges, and colours for samples that are not neighbours."""

import numpy as np

from .jit import compiled


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
