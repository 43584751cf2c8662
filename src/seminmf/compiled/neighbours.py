"""Nearest neighbours of queries among samples that lie in cells of some hundred each.

The samples of a cell are in tiles, with a row of ``TILE`` samples for each feature, so that a query
is compared with as many at once as a vector has lanes. The result for a query is a list: places of
samples in the tiles, nearest first, and the squares of their distances. A function changes only the
lists of the queries it is called for, and each query meets samples in an order of its own: results
do not depend on which queries are processed when, or together.
"""

from .jit import borrowing, inner
from .simd.tiles import TILE, nearer_in_tile

PER_TILE = TILE


@borrowing
def fill_tiles(points, order, places, tiles):
    """Put point ``order[i]`` at place ``places[i]`` of the tiles."""
    for i in range(places.shape[0]):
        tile, lane = places[i] // TILE, places[i] % TILE
        for f in range(points.shape[1]):
            tiles[tile, f, lane] = points[order[i], f]


@borrowing
def read_tiles(tiles, places, points):
    """The points at some places of the tiles, as rows of ``points``."""
    for i in range(places.shape[0]):
        tile, lane = places[i] // TILE, places[i] % TILE
        for f in range(points.shape[1]):
            points[i, f] = tiles[tile, f, lane]


@inner
def _take(near, squares, q, hidden, tile, found, distances):
    """Insert the samples of a tile marked by the bits ``found`` into the sorted list of query q."""
    end, lane = near.shape[1] - 1, 0
    while found != 0:
        sample, square = tile * TILE + lane, distances[lane]
        if found & 1 and square < squares[q, end] and sample != hidden:
            place = end
            while place > 0 and squares[q, place - 1] > square:
                near[q, place], squares[q, place] = near[q, place - 1], squares[q, place - 1]
                place -= 1
            near[q, place], squares[q, place] = sample, square
        found >>= 1
        lane += 1


@inner
def _meet(queries, some, first, last, hidden, tiles, start, stop, lists, rooms):
    """Compare queries ``some[first:last]`` with the samples of tiles ``start`` to ``stop``."""
    near, squares = lists
    _, limits, distances = rooms
    end = near.shape[1] - 1
    for tile in range(start, stop):
        for a in range(first, last, 2):
            one, other = some[a], some[min(a + 1, last - 1)]
            limits[0], limits[1] = squares[one, end], squares[other, end]
            found = nearer_in_tile(queries, one, other, tiles, tile, limits, distances)
            if found != 0:
                mask = (1 << TILE) - 1
                _take(near, squares, one, hidden[one], tile, found & mask, distances[0])
                if other != one:
                    found = (found >> TILE) & mask
                    _take(near, squares, other, hidden[other], tile, found, distances[1])


@borrowing
def meet_all(queries, hidden, tiles, lists, rooms):
    """Compare queries with the samples of all tiles.

    A query skips the sample at the place ``hidden`` for it. ``rooms`` are the numbers of the
    queries, and room for two limits and for the distances of two queries to a tile.
    """
    everyone = rooms[0]
    _meet(queries, everyone, 0, len(everyone), hidden, tiles, 0, tiles.shape[0], lists, rooms)


@borrowing
def choose_cells(queries, homes, centres, beside, nobody, lists, tiles, rooms):
    """Fill ``lists`` with the cells nearest to each query, among those ``beside`` its home.

    Queries are sorted by their homes. ``tiles`` have room for the centres of the cells beside one,
    and are infinite after them; ``nobody`` has −1 for each query.
    """
    near, _ = lists
    everyone, first = rooms[0], 0
    while first < len(everyone):
        home, last = homes[first], first
        while last < len(everyone) and homes[last] == home:
            last += 1
        for a in range(beside.shape[1]):
            for f in range(queries.shape[1]):
                tiles[a // TILE, f, a % TILE] = centres[beside[home, a], f]
        _meet(queries, everyone, first, last, nobody, tiles, 0, tiles.shape[0], lists, rooms)
        for q in range(first, last):
            for a in range(near.shape[1]):
                near[q, a] = beside[home, near[q, a]]
        first = last


@borrowing
def meet_cells(queries, hidden, cells, bounds, tiles, lists, rooms, heads, callers):
    """Compare each query with the samples of its ``cells``.

    Cell c has tiles ``bounds[c]`` to ``bounds[c + 1]``. All queries of a cell are compared with it
    together: ``callers`` is room for all (query, cell) pairs, ``heads`` for one number more than
    there are cells.
    """
    for c in range(heads.shape[0]):
        heads[c] = 0
    for q in range(cells.shape[0]):
        for a in range(cells.shape[1]):
            heads[cells[q, a] + 1] += 1
    for c in range(1, heads.shape[0]):
        heads[c] += heads[c - 1]
    for q in range(cells.shape[0]):
        for a in range(cells.shape[1]):
            callers[heads[cells[q, a]]] = q
            heads[cells[q, a]] += 1
    first = 0
    for c in range(bounds.shape[0] - 1):
        last = heads[c]
        if last > first:
            start, stop = bounds[c], bounds[c + 1]
            _meet(queries, callers, first, last, hidden, tiles, start, stop, lists, rooms)
        first = last
