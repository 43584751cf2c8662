"""k-means: ``count`` centres with a small sum of squared distances to the samples.

A start draws samples as centres, each the best of a few candidates that are drawn in proportion to
their squared distances from the centres before (greedy k-means++). Then samples go to their nearest
centres, and centres to the means of their samples, until nothing changes (Lloyd). Of several
starts, the one with the least sum of squares after a few such rounds is continued.

Samples lie in tiles, so that a centre is compared with as many of them at once as a vector has
lanes, by differences: expanded squares lose the digits of near samples. Threads share blocks of
tiles, whose sums are added up in order: digits do not depend on which thread did what.
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np

from .._types import FloatArray, IntArray
from .jit import borrowing, inlined
from .loops import add_to, clear, copy, sum_of
from .simd.tiles import TILE, nearer_in_tile
from .structures import Structure
from .threads.phases import barrier, done, enter, leave, take
from .threads.team import Team
from .views import line_of, matrix_at, rows_of, span

# The most rounds of a start, which also ends when the squared steps of all centres sum to less than
# this share of the mean squared distance, per feature, of a sample from its centre.
_ROUNDS, _STILL = 300, 1e-4
# Rounds after which starts are compared. The best of five after that many ends tighter than the
# best of three that are all run to their ends (`benchmarks.panel.starts`), in less time.
_HEAT = 5
# A sample is at its centre if their squared distance is below this share of its squared length:
# a mean is not known more exactly.
_SAME = 1e-26
# The fewest tiles of a block, and the most blocks, each of which has sums of its own.
_FEWEST_TILES, _MOST_BLOCKS = 32, 64
# Places of ``state``: the next centre to choose, the number of candidates (0 before a start), flags
# for over and for the last round, the round, and the number of the start.
_STEP, _TRIED, _OVER, _LAST, _ROUND, _START = range(6)
_REAL, _WHOLE, _LABEL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32)


class Partition(NamedTuple):
    """Centres, and the nearest one of each sample."""

    centres: FloatArray
    labels: IntArray
    inertia: float
    """The weighted sum of the squared distances of the samples to their centres."""
    rounds: int


class _Search(Structure):
    """The samples, as rows and in tiles, and the state of the present start.

    ``draws``: numbers from 0 to 1, a row for each centre of each start. ``squares``: distance² of
    each sample to its nearest centre; ``trials``: the same if a candidate were a centre. ``best``:
    the centres to continue with after all starts, whose sum of squares is ``least``. ``sums``,
    ``sizes`` and ``losses`` have rows for the blocks.
    """

    fields = (
        "rows", "weights", "tiles", "block", "draws", "candidates", "trials", "potentials",
        "centres", "best", "least", "labels", "squares", "sums", "sizes", "losses", "moved",
        "state",
    )  # fmt: skip


class _Seat(Structure):
    """Working memory of one thread: distance² to two centres, and to the nearest of all."""

    fields = ("leads", "limits", "pair", "least", "nearest")


@inlined
def _begin(search):
    """Draw the first candidate of the next start; after the last start, continue the best one."""
    state, squares, labels = search.state, search.squares, search.labels
    for i in range(labels.shape[0]):
        squares[i], labels[i] = np.inf, -1
    if state[_START] == search.draws.shape[0]:
        copy(search.best, search.centres)
        state[_STEP], state[_TRIED] = search.centres.shape[0], 1
        return
    # The sample at which the cumulative weights exceed the number drawn.
    wanted, first = search.draws[state[_START], 0, 0] * sum_of(search.weights), 0
    while first < labels.shape[0] - 1 and search.weights[first] <= wanted:
        wanted -= search.weights[first]
        first += 1
    copy(rows_of(search.rows, first, first + 1), rows_of(search.candidates, 0, 1))
    state[_STEP], state[_TRIED], state[_ROUND] = 0, 1, 0


@inlined
def _try(search, seat, block):
    """distance² to the nearest of the centres and each candidate, for the samples of a block."""
    n, tried, pair, limits = search.rows.shape[0], search.state[_TRIED], seat.pair, seat.limits
    tiles, candidates, trials = search.tiles, search.candidates, line_of(search.trials)
    totals = line_of(rows_of(search.potentials, block, block + 1))
    first = block * search.block
    clear(totals)
    for tile in range(first, min(first + search.block, tiles.shape[0])):
        begin = tile * TILE
        stop = min(begin + TILE, n)
        squares, weights = span(search.squares, begin, stop), span(search.weights, begin, stop)
        for c in range(0, tried, 2):
            other = min(c + 1, tried - 1)
            nearer_in_tile(candidates, c, other, tiles, tile, limits, pair)
            for place in range(other - c + 1):
                trial = span(trials, (c + place) * n + begin, (c + place) * n + stop)
                found = span(line_of(pair), place * TILE, (place + 1) * TILE)
                for lane in range(stop - begin):
                    trial[lane] = min(found[lane], squares[lane])
                # A loop of its own, see `measures._measure`.
                total = 0.0
                for lane in range(stop - begin):
                    total += weights[lane] * trial[lane]
                totals[c + place] += total


@inlined
def _choose(search):
    """Make the best candidate the next centre, and draw candidates for the one after it."""
    state, rows, weights, squares = search.state, search.rows, search.weights, search.squares
    totals, candidates, n = search.potentials, search.candidates, search.rows.shape[0]
    best, least = 0, np.inf
    for c in range(state[_TRIED]):
        total = 0.0
        for block in range(totals.shape[0]):
            total += totals[block, c]
        if total < least:
            best, least = c, total
    copy(rows_of(candidates, best, best + 1), rows_of(search.centres, state[_STEP], n))
    copy(rows_of(search.trials, best, best + 1), matrix_at(squares, 0, 1, n))
    state[_STEP] += 1
    state[_TRIED] = totals.shape[1]
    if state[_STEP] == search.centres.shape[0]:
        return
    for c in range(state[_TRIED]):
        # The sample at which the cumulative squares reach the number drawn.
        wanted, block = search.draws[state[_START], state[_STEP], c] * least, 0
        while block < totals.shape[0] - 1 and totals[block, best] <= wanted:
            wanted -= totals[block, best]
            block += 1
        begin = block * search.block * TILE
        chosen = begin
        for i in range(begin, min(begin + search.block * TILE, n)):
            share = weights[i] * squares[i]
            if share > 0 and wanted >= 0:
                chosen = i
            wanted -= share
        copy(rows_of(rows, chosen, chosen + 1), rows_of(candidates, c, c + 1))


@inlined
def _assign(search, seat, block):
    """Find the nearest centre of each sample of a block; sum the samples of each centre."""
    limits, least, nearest, pair = seat.limits, seat.least, seat.nearest, line_of(seat.pair)
    tiles, rows, centres = search.tiles, line_of(search.rows), search.centres
    (n, d), k = search.rows.shape, centres.shape[0]
    sums = line_of(rows_of(search.sums, block * k, (block + 1) * k))
    sizes = line_of(rows_of(search.sizes, block, block + 1))
    loss, moved, first = 0.0, 0, block * search.block
    clear(sums)
    clear(sizes)
    for tile in range(first, min(first + search.block, tiles.shape[0])):
        for lane in range(TILE):
            least[lane], nearest[lane] = np.inf, 0
        for c in range(0, k, 2):
            nearer_in_tile(centres, c, min(c + 1, k - 1), tiles, tile, limits, seat.pair)
            for place in range(2):
                found = span(pair, place * TILE, (place + 1) * TILE)
                for lane in range(TILE):
                    nearer = found[lane] < least[lane]
                    least[lane] = found[lane] if nearer else least[lane]
                    nearest[lane] = c + place if nearer else nearest[lane]
        begin = tile * TILE
        stop = min(begin + TILE, n)
        labels, squares = span(search.labels, begin, stop), span(search.squares, begin, stop)
        weights = span(search.weights, begin, stop)
        for lane in range(stop - begin):
            c, weight = nearest[lane], weights[lane]
            moved += c != labels[lane]
            labels[lane], squares[lane] = c, least[lane]
            loss += weight * least[lane]
            sizes[c] += weight
            total = span(sums, c * d, (c + 1) * d)
            row = span(rows, (begin + lane) * d, (begin + lane + 1) * d)
            for f in range(d):
                total[f] += weight * row[f]
    search.losses[block], search.moved[block] = loss, moved


@inlined
def _farthest(search):
    """The sample farthest from its centre; −1 if all samples are at their centres."""
    found, most = 0, 0.0
    for i in range(search.rows.shape[0]):
        share = search.weights[i] * search.squares[i]
        if share > most:
            found, most = i, share
    length = 0.0
    for f in range(search.rows.shape[1]):
        length += search.rows[found, f] ** 2
    return found if search.squares[found] > _SAME * length else -1


@inlined
def _move(search):
    """Move centres to the means of their samples, and those without any to the farthest samples."""
    state, centres, losses, moved = search.state, search.centres, search.losses, search.moved
    (k, d), rows, starts = centres.shape, search.rows, search.draws.shape[0]
    races = starts > 1 and state[_START] < starts
    sums, sizes = rows_of(search.sums, 0, k), line_of(rows_of(search.sizes, 0, 1))
    for block in range(1, losses.shape[0]):
        losses[0] += losses[block]
        moved[0] += moved[block]
        add_to(sums, rows_of(search.sums, block * k, (block + 1) * k))
        add_to(rows_of(search.sizes, 0, 1), rows_of(search.sizes, block, block + 1))
    state[_ROUND] += 1
    for c in range(k):
        i = -1 if sizes[c] > 0 or state[_LAST] else _farthest(search)
        if i >= 0:
            weight, before = search.weights[i], search.labels[i]
            search.squares[i], search.labels[i] = 0.0, c
            sizes[before] -= weight
            sizes[c] = weight
            for f in range(d):
                sums[before, f] -= weight * rows[i, f]
                sums[c, f] = weight * rows[i, f]
            moved[0] += 1
    state[_OVER] = not races and (moved[0] == 0 or state[_LAST])
    if state[_OVER]:
        return
    change = 0.0
    least = _STILL * losses[0] / (d * sum_of(sizes))
    for c in range(k):
        for f in range(d if sizes[c] > 0 else 0):
            mean = sums[c, f] / sizes[c]
            change += (mean - centres[c, f]) ** 2
            centres[c, f] = mean
    if races and moved[0] == 0:
        state[_ROUND] = _HEAT  # further rounds would change nothing
    if not races:
        state[_LAST] = change <= least or state[_ROUND] >= _ROUNDS
    elif state[_ROUND] == _HEAT:
        if state[_START] == 0 or losses[0] < search.least[0]:
            search.least[0] = losses[0]
            copy(centres, search.best)
        state[_START] += 1
        state[_STEP], state[_TRIED] = 0, 0


@borrowing
def _search_from(call, number, seat, search):
    """All starts, on each thread; returns offers as `barrier`."""
    if not enter(call, number, seat):
        return 0
    offers, phase, state = 0, 0, search.state
    blocks, count = search.losses.shape[0], search.centres.shape[0]
    while not state[_OVER]:
        begins, spreads = state[_TRIED] == 0, state[_STEP] < count
        block = take(call, phase)
        while block < blocks:
            if spreads:
                _try(search, seat, block)
            else:
                _assign(search, seat, block)
            done(call, phase)
            block = take(call, phase)
        offers += barrier(call, phase, blocks)
        if take(call, phase + 1) == 0:
            if begins:
                _begin(search)
            elif spreads:
                _choose(search)
            else:
                _move(search)
            done(call, phase + 1)
        offers += barrier(call, phase + 1, 1)
        phase += 2
    return offers + leave(call, number, seat)


@borrowing
def _fill_squares(tiles, centres, seat, squares):
    n, k = squares.shape
    pair = seat.pair
    for tile in range(tiles.shape[0]):
        begin = tile * TILE
        for c in range(0, k, 2):
            other = min(c + 1, k - 1)
            nearer_in_tile(centres, c, other, tiles, tile, seat.limits, pair)
            for place in range(other - c + 1):
                for lane in range(min(n - begin, TILE)):
                    squares[begin + lane, c + place] = pair[place, lane]


@lru_cache(maxsize=1)
def _a_seat() -> _Seat:
    """A template for `Structure.fresh`."""
    return _Seat(
        leads=True, limits=(_REAL, 2), pair=(_REAL, 2, TILE), least=(_REAL, TILE),
        nearest=(_WHOLE, TILE),
    )  # fmt: skip


def _tiles(rows: FloatArray) -> FloatArray:
    """The rows in tiles, of shape (tiles, features, TILE); zeros fill the last one."""
    n, d = rows.shape
    count = -(-n // TILE)
    tiles = np.zeros((count, d, TILE))
    whole = n // TILE
    tiles[:whole] = rows[: whole * TILE].reshape(whole, TILE, d).transpose(0, 2, 1)
    if whole < count:
        tiles[whole, :, : n - whole * TILE] = rows[whole * TILE :].T
    return tiles


def squared_distances(points: FloatArray, centres: FloatArray) -> FloatArray:
    """Squared distance of each point to each centre, with the digits that `kmeans` finds."""
    rows, centres = (np.ascontiguousarray(some, _REAL) for some in (points, centres))
    squares = np.empty((len(rows), len(centres)))
    _fill_squares(_tiles(rows), centres, _a_seat().fresh(), squares)
    return squares


def kmeans(
    points: FloatArray, count: int, seed: int, starts: int = 1, weights: FloatArray | None = None,
    centres: FloatArray | None = None,
) -> Partition:  # fmt: skip
    """``count`` centres from the best of some ``starts``, or from given first ``centres``."""
    rows = np.ascontiguousarray(points, _REAL)
    (n, d), tiles, rng = rows.shape, _tiles(rows), np.random.default_rng(seed)
    block = max(_FEWEST_TILES, -(-len(tiles) // _MOST_BLOCKS))
    blocks, tried = -(-len(tiles) // block), 2 + int(log(count))
    shares = np.ones(n) if weights is None else np.ascontiguousarray(weights, _REAL)
    starts = starts if centres is None else 0
    search = _Search(
        rows=rows, weights=shares, tiles=tiles, block=block,
        draws=rng.random((starts, count, tried)), candidates=(_REAL, tried, d),
        trials=(_REAL, tried, n), potentials=(_REAL, blocks, tried), centres=(_REAL, count, d),
        best=(_REAL, count, d), least=(_REAL, 1), labels=(_LABEL, n), squares=(_REAL, n),
        sums=(_REAL, blocks * count, d), sizes=(_REAL, blocks, count), losses=(_REAL, blocks),
        moved=(_WHOLE, blocks), state=(_WHOLE, 6),
    )  # fmt: skip
    if centres is not None:
        search.best[:] = centres
    with Team(float(rows.size) * count, blocks) as team:
        seats = [_a_seat().fresh() for _ in range(team.crew.helpers + 1)]
        for seat in seats[1:]:
            seat.set_integers(leads=0)
        phases = 2 * (starts * (1 + count + _HEAT) + 1 + _ROUNDS + 1)
        team.call(_search_from, seats, (search,), phases)
    loss, rounds = float(search.losses[0]), int(search.state[_ROUND])
    return Partition(search.centres.copy(), search.labels.copy(), loss, rounds)
