"""One iteration of the rows, in one compiled call that threads share.

Given a basis, each sample gets its new code, then its residual and weight and the point from which
the next iteration starts; sums over the samples give the next basis. This is done block by block,
so that a block of X is in the cache for both of its products. What happens to a block depends on
the block alone, and only sums leave it: rows in memory, in a mapped file or elsewhere all run
through the same function.

With a graph, coordinate descent visits the samples chunk by chunk, and within a chunk colour by
colour, between the first product and the rest. A chunk is finished before the next one begins: its
rows of X and its codes are then still in the cache for the second product and for the neighbours.
"""

import numpy as np

from .basis import solve_basis
from .codes import DESCEND, SUM, update_codes
from .edges import weigh_edges
from .jit import borrowing, inlined, inner
from .loops import add_to, clear, copy, extrapolate, scale, sum_of
from .measures import measure, penalize
from .products import add_adjoint, add_cross, dense_rows, exact_residuals, times
from .threads.phases import barrier, done, enter, leave, take
from .views import line_of, rows_of, span

# Samples of a colour, and edges, that one thread takes at a time.
_SAMPLES_PER_ITEM = 64
EDGES_PER_ITEM = 2048


def phases_of(colours, chunks):
    """The number of phases of a call with so many colours and chunks in all."""
    return 1 + colours + 2 * chunks + 1


@inlined
def _rows_of_block(run, room, start, stop, origin, again):
    """The rows of X of a block; gathered rows of its chunk are kept for when it comes ``again``.

    ``origin`` is the first sample of the chunk.
    """
    kept = run.gathered.shape[0] > 0
    place = rows_of(run.gathered, start - origin, stop - origin) if kept else room.rows
    return place if kept and again else dense_rows(run.samples, start, stop, place)


@inner
def _residuals(run, room, rows, start, stop, point):
    """Residual lengths of a block: roots of ``left``, or from X where sums have cancelled."""
    left, lengths, lost = run.left, point.residuals, False
    for i in range(start, stop):
        lengths[i] = np.sqrt(left[i])
        lost = lost or left[i] < 0
    if lost:
        exact_residuals(run.samples, rows, start, stop, point, left, room.fitted)


@inner
def _codes_penalty(run, start, stop, codes, room):
    """Σ share · π(v) over a block."""
    terms, share, k = run.terms, run.samples.share, codes.shape[1]
    line, slopes = line_of(codes), line_of(room)
    if share.shape[0] == 0:
        block = span(line, start * k, stop * k)
        return penalize(terms.penalty, (stop - start) * k, block, terms.penalty_parameters, slopes)
    total = 0.0
    for i in range(start, stop):
        code = span(line, i * k, (i + 1) * k)
        total += share[i] * penalize(terms.penalty, k, code, terms.penalty_parameters, slopes)
    return total


@inner
def _measure(run, room, shard, rows, start, stop, new):
    """Residuals and weights of a block; adds its loss and penalty to those of the shard."""
    samples, terms = run.samples, run.terms
    _residuals(run, room, rows, start, stop, new)
    shared = samples.share.shape[0] > 0
    run.sums.losses[shard] += measure(
        terms.loss, stop - start, span(new.residuals, start, stop),
        span(samples.share, start if shared else 0, stop if shared else 0), shared,
        terms.residual_floor, terms.loss_parameters, span(new.weights, start, stop),
    )  # fmt: skip
    if terms.penalty != 0:
        run.sums.penalties[shard] += _codes_penalty(run, start, stop, new.codes, room.weighted)


@inner
def _add_moments(run, room, shard, rows, start, stop, old, new, step):
    """Extrapolate the codes of a block to where the next step starts, and add the moments there."""
    n, sums = stop - start, run.sums
    following, kept = rows_of(new.codes, start, stop), new.following
    if step.rule == DESCEND:
        codes = following
        following = (
            rows_of(kept, start, stop) if kept.shape[0] > 0 else rows_of(room.following, 0, n)
        )
        before = rows_of(old.codes, start, stop)
        extrapolate(codes, before, codes.dtype.type(step.eta), following)
    weighted = rows_of(room.weighted, 0, n)
    scale(span(new.weights, start, stop), following, weighted)
    height = weighted.shape[1]
    add_cross(
        run.kernels.add_cross, run.samples.blas, following, weighted,
        rows_of(sums.grams, shard * height, (shard + 1) * height),
    )  # fmt: skip
    size = sums.moments.shape[1]
    totals = span(line_of(sums.moments), shard * size, (shard + 1) * size)
    add_adjoint(run.kernels, run.samples, rows, start, weighted, totals)


@inner
def _visit(run, room, shard, start, stop, origin, ahead, old, new, step):
    """All that happens to a block outside of colours: φ ``ahead`` of them, the rest after them.

    Without colours everything happens in one visit, which is not ``ahead``.
    """
    by_colour = step.alpha > 0 and step.rule == DESCEND
    rows = _rows_of_block(run, room, start, stop, origin, by_colour and not ahead)
    phi = run.phi
    if phi.shape[0] == 0:
        # Its rows are numbered like the samples, as those of all other arrays.
        phi = rows_of(room.phi, -start, stop - start)
    if step.rule != SUM and ahead == by_colour:
        times(
            run.kernels.times, run.samples, rows, start, stop, new.basis.U,
            rows_of(phi, start, stop), room.spare,
        )  # fmt: skip
    if ahead:
        return
    if step.rule != SUM:
        if not by_colour:
            if step.rule == DESCEND:
                point, eta = rows_of(new.codes, start, stop), new.codes.dtype.type(step.start_eta)
                extrapolate(rows_of(old.codes, start, stop), point, eta, point)
            for r in range(stop - start):
                room.numbers[r] = start + r
            update_codes(
                run.kernels.update_codes, run, room, room.numbers, 0, stop - start, phi, old, new,
                step,
            )  # fmt: skip
        _measure(run, room, shard, rows, start, stop, new)
    _add_moments(run, room, shard, rows, start, stop, old, new, step)


@inlined
def _shards(call, phase, run, room, chunk, ahead, old, new, step):
    """Visit the blocks of a chunk; returns how often `barrier` offered the core."""
    cuts, sums = run.cuts, run.sums
    first = cuts.chunks[chunk]
    count, origin = cuts.chunks[chunk + 1] - first, cuts.blocks[cuts.shards[first]]
    shard = take(call, phase)
    while shard < count:
        if chunk == 0 and not ahead:
            sums.losses[shard] = sums.penalties[shard] = 0
            height, size = room.weighted.shape[1], sums.moments.shape[1]
            clear(line_of(rows_of(sums.grams, shard * height, (shard + 1) * height)))
            clear(span(line_of(sums.moments), shard * size, (shard + 1) * size))
        for b in range(cuts.shards[first + shard], cuts.shards[first + shard + 1]):
            start, stop = cuts.blocks[b], cuts.blocks[b + 1]
            _visit(run, room, shard, start, stop, origin, ahead, old, new, step)
        done(call, phase)
        shard = take(call, phase)
    return barrier(call, phase, count)


@inlined
def _colours(call, phase, run, room, chunk, old, new, step):
    """Coordinate descent on one colour after the other; returns offers as `barrier`."""
    graph, offers = run.graph, 0
    for colour in range(graph.groups[chunk], graph.groups[chunk + 1]):
        start, stop = graph.bounds[colour], graph.bounds[colour + 1]
        items = -(-(stop - start) // _SAMPLES_PER_ITEM)
        item = take(call, phase)
        while item < items:
            first = start + item * _SAMPLES_PER_ITEM
            update_codes(
                run.kernels.update_codes, run, room, graph.order, first,
                min(first + _SAMPLES_PER_ITEM, stop), run.phi, old, new, step,
            )  # fmt: skip
            done(call, phase)
            item = take(call, phase)
        offers += barrier(call, phase, items)
        phase += 1
    return offers


@inlined
def _edges(call, phase, run, room, new):
    """Weights and penalties of the edges; returns offers as `barrier`."""
    count = run.graph.pairs.shape[0]
    items = -(-count // EDGES_PER_ITEM)
    item = take(call, phase)
    while item < items:
        first = item * EDGES_PER_ITEM
        stop = min(first + EDGES_PER_ITEM, count)
        terms = run.terms
        run.sums.edges[item] = weigh_edges(
            run.kernels.weigh_edges, run.graph, terms.graph, terms.graph_parameters,
            terms.edge_floor, first, stop, new.codes, new.edges, room.lengths,
        )  # fmt: skip
        done(call, phase)
        item = take(call, phase)
    return barrier(call, phase, items)


@inner
def _add_up(sums, sparse):
    """Add the sums of all shards, in their order, to those of the first."""
    count = sums.losses.shape[0]
    height = sums.grams.shape[0] // count
    for shard in range(1, count):
        add_to(rows_of(sums.moments, 0, 1), rows_of(sums.moments, shard, shard + 1))
        add_to(
            rows_of(sums.grams, 0, height),
            rows_of(sums.grams, shard * height, (shard + 1) * height),
        )
    sums.totals[0], sums.totals[1] = sum_of(sums.losses), sum_of(sums.edges)
    sums.totals[2] = sum_of(sums.penalties)
    m, k = sums.moment.shape
    moments = line_of(sums.moments)
    # As `products.add_adjoint` leaves them.
    down, along = (sums.moments.shape[1] // m, 1) if sparse else (1, m)
    for j in range(m):
        for q in range(k):
            sums.moment[j, q] = moments[j * down + q * along]
    copy(rows_of(sums.grams, 0, k), sums.gram)


@inlined
def _solve(call, phase, run, old, new, step):
    """One thread solves for the basis of the new point; returns offers as `barrier`."""
    if take(call, phase) == 0:
        solving, sums, basis = run.solving, run.sums, new.basis
        sums.totals[3] = solve_basis(
            solving.solve, sums.moment, sums.gram, step.beta, step.floor, old.basis.lengths,
            solving, basis.U, basis.omega, basis.lengths,
        )  # fmt: skip
        done(call, phase)
    return barrier(call, phase, 1)


@borrowing
def iteration(call, number, room, run, old, new, step):
    """One step of the rows from the point ``old`` to ``new``; returns offers as `barrier`.

    Uses the basis of ``new``; a ``step`` that ``solves`` first computes it from the last sums, and
    does nothing else if that system is singular.

    Without a graph each row computes its starting point by ``start_eta`` from its old code and the
    one before, which is still in ``new``. With a graph the codes of ``new`` are those points
    already, and the next ones go to ``following``. To measure a point, or to sum over it, pass it
    as both ``old`` and ``new``. A step may take several calls, each for the next chunks; it is
    complete after the one with the last chunk.
    """
    cuts = run.cuts
    if not enter(call, number, room):
        return 0
    offers = 0
    if step.solves and cuts.begin == 0:
        offers += _solve(call, 0, run, old, new, step)
        if run.sums.totals[3] < 0:
            return offers + leave(call, number, room)
    phase = 1
    coupled, last = step.alpha > 0, cuts.end == cuts.chunks.shape[0] - 1
    by_colour = coupled and step.rule == DESCEND
    for chunk in range(cuts.begin, cuts.end):
        for turn in range(2 if by_colour else 1):
            ahead = by_colour and turn == 0
            offers += _shards(call, phase, run, room, chunk, ahead, old, new, step)
            phase += 1
            if ahead:
                offers += _colours(call, phase, run, room, chunk, old, new, step)
                phase += run.graph.groups[chunk + 1] - run.graph.groups[chunk]
    if last and coupled and step.rule != SUM:
        offers += _edges(call, phase, run, room, new)
    offers += leave(call, number, room)
    if last and room.leads:
        _add_up(run.sums, run.samples.sparse)
    return offers
