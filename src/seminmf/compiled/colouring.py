"""Loops that prepare a graph: check and list its edges, and colour the samples."""

import numpy as np

from .jit import borrowing


@borrowing
def sort_symmetric(indptr, indices, data, starts, columns, weights, seen, found, tolerance):
    """Sort the entries of a symmetric CSR graph into ``columns`` and ``weights``; False if invalid.

    All entries must be in range, off the diagonal, positive, finite, stored once, and equal to
    those on the other side within ``tolerance``. ``starts`` is room for where rows of the transpose
    begin (which has sorted columns whatever the order before), ``seen`` and ``found`` for the
    columns and weights of one row.
    """
    n = seen.shape[0]
    for i in range(n):
        starts[i + 1], seen[i] = 0, -1
    for i in range(n):
        if not 0 <= indptr[i] <= indptr[i + 1] <= indices.shape[0]:
            return False
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if not (0 <= j < n and j != i and 0 < data[e] < np.inf):
                return False
            starts[j + 1] += 1
    starts[0] = 0
    for i in range(n):
        starts[i + 1] += starts[i]
        if starts[i + 1] != indptr[i + 1]:
            return False
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            place = starts[indices[e]]
            columns[place], weights[place] = i, data[e]
            starts[indices[e]] += 1
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            seen[indices[e]], found[indices[e]] = i, data[e]
        for e in range(indptr[i], indptr[i + 1]):
            j = columns[e]
            if seen[j] != i or abs(weights[e] - found[j]) > tolerance * found[j]:
                return False
            weights[e], seen[j] = found[j], -1
    return True


@borrowing
def list_edges(indptr, indices, cursor, pairs):
    """The edges i < j of a symmetric CSR pattern: i, j, and where (i, j) and (j, i) are stored.

    ``cursor`` is a copy of where the rows begin, and is used up.
    """
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


@borrowing
def greedy_colours(order, indptr, indices, seen, colours):
    """Give each vertex, in ``order``, the smallest colour free among its neighbours.

    Returns the number of colours. ``colours``, and ``seen`` with one place more, start as −1.
    """
    most = 0
    for place in range(order.shape[0]):
        i = order[place]
        for e in range(indptr[i], indptr[i + 1]):
            colour = colours[indices[e]]
            if colour >= 0:
                seen[colour] = i
        colour = 0
        while seen[colour] == i:
            colour += 1
        colours[i] = colour
        most = max(most, colour + 1)
    return most


@borrowing
def group_by_colour(samples, chunks, colours, places, order, starts, groups):
    """Sort the samples of each chunk by colour; returns the number of groups of one colour.

    ``samples[chunks[c]:chunks[c + 1]]`` are those of chunk c. Writes the samples in their new
    ``order``, where each group ``starts`` in it, and the first group of each chunk (``groups``).
    ``places`` is room, one more than there are colours.
    """
    count = places.shape[0] - 1
    found = 0
    for c in range(chunks.shape[0] - 1):
        groups[c] = found
        for colour in range(count + 1):
            places[colour] = 0
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
    starts[found], groups[chunks.shape[0] - 1] = chunks[chunks.shape[0] - 1], found
    return found
