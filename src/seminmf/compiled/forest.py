"""Trees that halve the samples again and again: first guesses at who is next to whom.

A node is a range of places in an order of the samples; it is parted along the line through two of
its samples. All leaves of a tree are on one level.
"""

from .jit import borrowing, inner


@inner
def _select(keys, order, low, high, middle):
    """Bring the smallest keys of [low, high) before place ``middle``, their samples with them."""
    first, last = low, high - 1
    while first < last:
        pivot = keys[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@borrowing
def part_nodes(features, order, keys, bounds, nodes, draws, planes, offsets):
    """Part nodes ``nodes[0]`` to ``nodes[1]`` of a level, in ``order``.

    Node b has the places from ``bounds[2b]`` to ``bounds[2b + 2]``, of which those before
    ``bounds[2b + 1]`` are for the samples that are left of the others. ``draws`` has two numbers in
    [0, 1) for each node, which choose two samples; written are the difference of these, in
    ``planes``, and in ``offsets`` the product with it from which on samples are right.
    """
    m = features.shape[1]
    for b in range(nodes[0], nodes[1]):
        low, middle, high = bounds[2 * b], bounds[2 * b + 1], bounds[2 * b + 2]
        one = order[low + int(draws[b, 0] * (high - low))]
        # Another one: the places after the first, round about.
        step = 1 + int(draws[b, 1] * (high - low - 1))
        other = order[low + (int(draws[b, 0] * (high - low)) + step) % (high - low)]
        for f in range(m):
            planes[b, f] = features[one, f] - features[other, f]
        for place in range(low, high):
            i = order[place]
            total = features[i, 0] * planes[b, 0]
            for f in range(1, m):
                total += features[i, f] * planes[b, f]
            keys[place] = total
        _select(keys, order, low, high, middle)
        offsets[b] = keys[middle]


@borrowing
def find_leaves(queries, rows, planes, offsets, leaves):
    """The leaf of each query of rows ``rows[0]`` to ``rows[1]`` in a tree.

    The nodes of all levels one after another; those of a level are twice as many as of the last.
    """
    for i in range(rows[0], rows[1]):
        first, node, width = 0, 0, 1
        while first < planes.shape[0]:
            total = queries[i, 0] * planes[first + node, 0]
            for f in range(1, planes.shape[1]):
                total += queries[i, f] * planes[first + node, f]
            right = 1 if total >= offsets[first + node] else 0
            node = 2 * node + right
            first += width
            width *= 2
        leaves[i] = node
