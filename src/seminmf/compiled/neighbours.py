"""Lists of the nearest samples found so far, and how they are made better.

A sample has a row of the lists: numbers of others, nearest first, and the squares of their
distances. Each function changes the lists of the samples that it is called for and of no others,
and reads what others had before: results do not depend on who does which samples when.
"""

from .jit import borrowing, inner
from .simd.distances import squared_distance


@inner
def _insert(near, squares, fresh, i, other, square):
    """Put a sample, which is not there, into the list of i, if it is nearer than the last."""
    place = near.shape[1] - 1
    if not square < squares[i, place]:
        return 0
    while place > 0 and squares[i, place - 1] > square:
        near[i, place], squares[i, place] = near[i, place - 1], squares[i, place - 1]
        fresh[i, place] = fresh[i, place - 1]
        place -= 1
    near[i, place], squares[i, place], fresh[i, place] = other, square, 1
    return 1


@inner
def _introduce(near, squares, fresh, i, other, square):
    """Put a sample into the list of i, if it is nearer than the last and not in it yet."""
    if square < squares[i, near.shape[1] - 1]:
        for place in range(near.shape[1]):
            if near[i, place] == other:
                return
        _insert(near, squares, fresh, i, other, square)


@borrowing
def join_leaves(features, order, bounds, leaves, room, lists):
    """Introduce the samples of a leaf to each other, for leaves ``leaves[0]`` to ``leaves[1]``.

    ``room`` has a row for each sample of a leaf.
    """
    near, squares, fresh = lists
    for b in range(leaves[0], leaves[1]):
        low, count = bounds[b], bounds[b + 1] - bounds[b]
        for a in range(count):
            for f in range(features.shape[1]):
                room[a, f] = features[order[low + a], f]
        for a in range(count):
            i = order[low + a]
            for c in range(a):
                j = order[low + c]
                square = squared_distance(room, a, room, c)
                _introduce(near, squares, fresh, i, j, square)
                _introduce(near, squares, fresh, j, i, square)


@borrowing
def list_visitors(near, fresh, counts, visitors, new):
    """Who has a sample in its list, as far as there is room; ``new`` says whose entry is fresh."""
    most = visitors.shape[1]
    for i in range(near.shape[0]):
        counts[i] = 0
    # The nearest first: they get the room.
    for place in range(near.shape[1]):
        for i in range(near.shape[0]):
            j = near[i, place]
            if j >= 0 and counts[j] < most:
                visitors[j, counts[j]], new[j, counts[j]] = i, fresh[i, place]
                counts[j] += 1


@inner
def _meet(features, i, before, lists, j, known, marks):
    """Introduce i to those in the list that j had; those that are not fresh only if j is new."""
    near, squares, fresh = lists
    old, old_fresh = before
    count = 0
    for place in range(old.shape[1]):
        other = old[j, place]
        if other < 0 or (known and not old_fresh[j, place]) or marks[other] == i:
            continue
        marks[other] = i
        count += _insert(
            near, squares, fresh, i, other, squared_distance(features, i, features, other)
        )
    return count


@borrowing
def improve(features, rows, before, lists, others, marks):
    """Introduce samples to the neighbours of their neighbours; returns how many entries changed.

    ``before`` has the lists and what was fresh in them before this round, ``others`` those who
    visit a sample, how many, and which entries are new. ``marks`` has a number for each sample.
    """
    near, squares, fresh = lists
    old, old_fresh = before
    visitors, counts, new = others
    changed = 0
    for i in range(rows[0], rows[1]):
        marks[i] = i
        for place in range(near.shape[1]):
            fresh[i, place] = 0
            if old[i, place] >= 0:
                marks[old[i, place]] = i
        for place in range(counts[i]):
            j = visitors[i, place]
            if new[i, place] and marks[j] != i:
                marks[j] = i
                changed += _insert(
                    near, squares, fresh, i, j, squared_distance(features, i, features, j)
                )
        for place in range(old.shape[1]):
            if old[i, place] >= 0:
                known = old_fresh[i, place] == 0
                changed += _meet(features, i, before, lists, old[i, place], known, marks)
        for place in range(counts[i]):
            known = new[i, place] == 0
            changed += _meet(features, i, before, lists, visitors[i, place], known, marks)
    return changed


@borrowing
def nearest_of_all(features, chosen, rows, lists):
    """The exact lists of some samples, by looking at all."""
    near, squares, fresh = lists
    for a in range(rows[0], rows[1]):
        i = chosen[a]
        for j in range(features.shape[0]):
            if j != i:
                _insert(near, squares, fresh, a, j, squared_distance(features, i, features, j))


@inner
def _walk(features, queries, q, links, lists, marks):
    """From who is in the list of a query along the links, nearest first, until all were visited.

    In the lists, ``fresh`` says who was not visited yet.
    """
    near, squares, fresh = lists
    indptr, indices = links
    place = 0
    while place < near.shape[1]:
        if near[q, place] < 0 or not fresh[q, place]:
            place += 1
            continue
        fresh[q, place] = 0
        visited = near[q, place]
        for e in range(indptr[visited], indptr[visited + 1]):
            j = indices[e]
            if marks[j] != q:
                marks[j] = q
                _insert(near, squares, fresh, q, j, squared_distance(queries, q, features, j))
        place = 0


@borrowing
def search(features, queries, rows, starts, links, lists, marks):
    """The nearest samples of each query, from a leaf along the links.

    ``starts`` has the range of samples, a leaf, from which each query begins; ``links`` who is
    next to a sample, in CSR form. Who is marked with the number of a query is not seen by it.
    """
    near, squares, fresh = lists
    for q in range(rows[0], rows[1]):
        for j in range(starts[q, 0], starts[q, 1]):
            if marks[j] == q:
                continue
            marks[j] = q
            _insert(near, squares, fresh, q, j, squared_distance(queries, q, features, j))
        _walk(features, queries, q, links, lists, marks)


@borrowing
def search_on(features, rows, links, lists, marks):
    """The nearest others of samples, from those in their lists along the links."""
    near, _, fresh = lists
    for i in range(rows[0], rows[1]):
        marks[i] = i
        for place in range(near.shape[1]):
            fresh[i, place] = 1
            if near[i, place] >= 0:
                marks[near[i, place]] = i
        _walk(features, features, i, links, lists, marks)
