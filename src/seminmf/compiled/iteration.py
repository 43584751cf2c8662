"""One iteration in one compiled call, on one or several threads, for X that is a dense array.

It is the iteration of `seminmf.descent`, step by step. There, one call from Python follows the
other; on a few hundred samples those calls take longer than the arithmetic, and on a few thousand
a thread that is woken from Python comes too late. Here the threads share the items of a phase as
described in `seminmf.ledger`: the basis (one item), shards of rows, colours, edges.

With a graph, coordinate descent goes through the samples chunk by chunk and through the colours of
a chunk. Everything that is done for a chunk is done before the next: its rows of X and its codes
are then still in the cache when the second product and the neighbours want them.
"""

import numpy as np

from .jit import compiled, part_of_compiled
from .edges import edge_weights
from .kernels import (
    add_adjoint,
    add_to,
    cd_codes,
    clear,
    copy,
    extrapolate,
    longest_part,
    mu_codes,
    residual_lengths,
    scale,
    solve_basis,
    times,
)
from .simd.lanes import WIDTH
from .threads.phases import LOOKS, add, done, linger, take, wait
from .simd.rows import fetch_row

# Rows of a colour, and edges, in one item.
_ROWS_PER_ITEM = 64
_EDGES_PER_ITEM = 2048
# So few rows are one item with all their colours.
_ROWS_FOR_ONE = 512
# Rows of X that are on their way from memory when one is copied.
_ROWS_AHEAD = 4


def padded_width(n_components, dtype):
    """As many columns as there are components, and more to fill the last vector."""
    count = WIDTH // dtype.itemsize
    return -(-n_components // count) * count


def edge_items(edges):
    """How many items the edges make."""
    return -(-edges // _EDGES_PER_ITEM)


def new_ledger(bounds, chunks):
    """For one iteration; ``bounds`` are those of the colours, ``chunks`` those of the chunks."""
    return np.zeros(2 * (len(bounds) + 2 * len(chunks) + 1), np.int64)


@compiled
def _exact_residuals(X, basis, codes, squares, cancellation, lengths):
    """‖x − Uv‖ by the explicit difference, for the rows where the short formula cancels."""
    m, k = basis.shape
    for i in range(X.shape[0]):
        if lengths[i] * lengths[i] < cancellation * squares[i]:
            total = 0.0
            for j in range(m):
                fitted = codes.dtype.type(0)
                for q in range(k):
                    fitted += basis[j, q] * codes[i, q]
                total += (X[i, j] - fitted) ** 2
            lengths[i] = np.sqrt(total)


@compiled
def _sample_weights(residuals, share, power, floor, weights):
    """Weights as in `objective.Norm` and `objective.SquaredNorm`; returns the loss."""
    loss = 0.0
    half, one = residuals.dtype.type(0.5), residuals.dtype.type(1)
    for i in range(residuals.shape[0]):
        length = residuals[i]
        weight = half / max(length, floor) if power == 1 else one
        measure = length if power == 1 else length * length
        if share.shape[0] > 0:
            weight *= share[i]
            measure *= share[i]
        weights[i] = weight
        loss += measure
    return loss


@part_of_compiled
def _update_block(
    start, stop, X, origin, lower, rows, indptr, indices, edges, alpha, sweeps, start_eta, basis,
    omega, weights, source, codes, phi, fit,
):  # fmt: skip
    """Products with the basis and new codes for a block of rows that need not see each other's.

    The first row of ``X`` is that of sample ``origin``.
    """
    first, last = start - origin, stop - origin
    if alpha > 0:
        # Neighbours are anywhere, so that rows go by their numbers in the whole.
        times(X, first, last, lower, basis, phi[start:stop])
        mu_codes(
            rows[start:stop], phi, omega, source, codes, weights, indptr, indices, edges, alpha,
            True, fit,
        )  # fmt: skip
        return
    count = stop - start
    products = phi[:count]
    times(X, first, last, lower, basis, products)
    if sweeps == 0:
        mu_codes(
            rows[:count], products, omega, source[start:stop], codes[start:stop],
            weights[start:stop], indptr, indices, edges, alpha, True, fit[start:stop],
        )  # fmt: skip
    else:
        bounds = np.array([0, count])
        extrapolate(source[start:stop], start_eta, codes[start:stop])
        cd_codes(
            rows[:count], bounds, products, omega, codes[start:stop], weights[start:stop], indptr,
            indices, edges, alpha, sweeps, fit[start:stop],
        )  # fmt: skip


@part_of_compiled
def _look_at_block(start, stop, X, origin, lower, basis, omega, codes, weights, products, fit):
    """As `_update_block`, but the codes stay as they are."""
    count = stop - start
    nobody, nothing = np.zeros(0, np.int32), np.zeros(0, codes.dtype)
    times(X, start - origin, stop - origin, lower, basis, products[:count])
    cd_codes(
        np.arange(count), np.array([0, count]), products[:count], omega, codes[start:stop],
        weights[start:stop], nobody, nobody, nothing, codes.dtype.type(0), 0, fit[start:stop],
    )  # fmt: skip


@part_of_compiled
def _finish_block(
    start, stop, X, origin, lower, squares, share, basis, codes, previous, fit, cancellation,
    loss_power, floor, accelerated, eta, residuals, weights, point, local, weighted, gram, moment,
):  # fmt: skip
    """Residuals, weights and the next point; adds to the moments and returns the loss.

    The first row of ``X`` is that of sample ``origin``. The next point is kept in ``point`` if
    there is room for it; ``local`` and ``weighted`` have room for a block.
    """
    squares, codes = squares[start:stop], codes[start:stop]
    residuals, weights = residuals[start:stop], weights[start:stop]
    if residual_lengths(squares, fit[start:stop], cancellation, residuals) > 0:
        rows = X[start - origin : stop - origin]
        _exact_residuals(rows, basis, codes, squares, cancellation, residuals)
    loss = _sample_weights(
        residuals, share[start:stop] if share.shape[0] > 0 else share, loss_power, floor, weights
    )
    count = stop - start
    weighted, following = weighted[:count], codes
    if accelerated:
        following = local[:count] if point.shape[0] == 0 else point[start:stop]
        copy(previous[start:stop], following)
        extrapolate(codes, eta, following)
    scale(weights, following, weighted)
    add_adjoint(following, 0, count, False, weighted, gram)
    add_adjoint(X, start - origin, stop - origin, lower, weighted, moment)
    return loss


@part_of_compiled
def _gather(X, numbering, start, stop, rows):
    """``rows`` = the rows of X of the samples from ``start`` to ``stop``.

    They may be anywhere in X, so that the processor has to be told which ones come next.
    """
    for i in range(start, stop):
        fetch_row(X, numbering[min(i + _ROWS_AHEAD, stop - 1)])
        number = numbering[i]
        for j in range(X.shape[1]):
            rows[i - start, j] = X[number, j]


@part_of_compiled
def _products(
    ledger, phase, blocks, shards, X, lower, numbering, source, origin, basis, phi
):  # fmt: skip
    """``phi`` = X · basis for the rows of some shards; returns the looks spent waiting.

    The first row of ``source`` is that of sample ``origin``; it is filled from X if there is a
    ``numbering``, and X itself otherwise.
    """
    shard = take(ledger, phase)
    while shard < shards.shape[0] - 1:
        for b in range(shards[shard], shards[shard + 1]):
            start, stop = blocks[b], blocks[b + 1]
            if numbering.shape[0] > 0:
                _gather(X, numbering, start, stop, source[start - origin :])
            times(source, start - origin, stop - origin, lower, basis, phi[start:stop])
        done(ledger, phase)
        shard = take(ledger, phase)
    return wait(ledger, phase, shards.shape[0] - 1)


@part_of_compiled
def _all_edges(
    ledger, phase, codes, pairs, base, squared, floor, edges, penalties
):  # fmt: skip
    """Weights and penalties of the edges; returns the looks spent waiting."""
    items = -(-pairs.shape[0] // _EDGES_PER_ITEM)
    item = take(ledger, phase)
    while item < items:
        first = item * _EDGES_PER_ITEM
        stop = min(first + _EDGES_PER_ITEM, pairs.shape[0])
        penalties[item] = edge_weights(first, stop, codes, pairs, base, squared, floor, edges)
        done(ledger, phase)
        item = take(ledger, phase)
    return wait(ledger, phase, items)


@part_of_compiled
def _by_colour(
    ledger, phase, rows, bounds, phi, omega, codes, weights, indptr, indices, edges, alpha, sweeps,
    fit,
):  # fmt: skip
    """Coordinate descent on one colour after the other; returns the looks spent waiting."""
    if bounds[-1] - bounds[0] <= _ROWS_FOR_ONE:
        if take(ledger, phase) == 0:
            cd_codes(
                rows, bounds, phi, omega, codes, weights, indptr, indices, edges, alpha, sweeps,
                fit,
            )  # fmt: skip
            done(ledger, phase)
        return wait(ledger, phase, 1)
    looks = 0
    for colour in range(bounds.shape[0] - 1):
        first, stop = bounds[colour], bounds[colour + 1]
        items = -(-(stop - first) // _ROWS_PER_ITEM)
        item = take(ledger, phase + colour)
        while item < items:
            start = first + item * _ROWS_PER_ITEM
            ends = np.array([0, min(_ROWS_PER_ITEM, stop - start)])
            cd_codes(
                rows[start : start + ends[1]], ends, phi, omega, codes, weights, indptr, indices,
                edges, alpha, sweeps, fit,
            )  # fmt: skip
            done(ledger, phase + colour)
            item = take(ledger, phase + colour)
        looks += wait(ledger, phase + colour, items)
    return looks


@compiled
def codes_by_colour(
    number, leads, bell, ledger, rows, bounds, phi, omega, codes, weights, indptr, indices, edges,
    alpha, sweeps, fit,
):  # fmt: skip
    """That step of an iteration alone; for threads as in `iteration`."""
    if leads:
        add(bell, 0, 1)
    looks = _by_colour(
        ledger, 0, rows, bounds, phi, omega, codes, weights, indptr, indices, edges, alpha, sweeps,
        fit,
    )  # fmt: skip
    return leads or linger(bell, number, LOOKS), looks


@compiled
def iteration(
    number, leads, bell, ledger,
    blocks, shards, chunks, losses, penalties, moments, grams, solved, totals,
    X, lower, numbering, gathered, squares, share,
    rows, bounds, groups, indptr, indices, base, pairs, padded, omega, phi, fit,
    loss_power, graph_power, residual_floor, edge_floor, basis_floor, cancellation,
    sweeps, alpha, beta, start_eta, eta, moment, gram,
    old_lengths, old_codes, old_weights, old_edges,
    basis, lengths, codes, residuals, weights, edges, point, next_moment, next_gram,
):  # fmt: skip
    """Basis, codes, residuals, weights, edges, and the moments for the next basis.

    The thread that ``leads`` rings the ``bell``, and at the end returns whether the system for the
    basis was regular, and the looks spent waiting. Where it was singular, nothing has been written.
    Otherwise ``totals`` are the loss and the penalties of graph and basis. The other threads return
    whether the bell rang again.

    If there are less than no ``sweeps``, basis and codes stay as they are and are only measured.

    Without a graph each row first makes its starting point from ``old_codes`` and from the codes
    before those, which it finds in ``codes``, by ``start_eta``. With one, ``codes`` are those
    points already, and the next ones are left in ``point``.

    Chunk c is made of the shards from ``chunks[c]`` on and of the colours from ``groups[c]`` on.
    Sample i is row ``numbering[i]`` of X, or row i where there is no numbering.
    """
    k = codes.shape[1]
    if leads:
        add(bell, 0, 1)
    looks = 0
    if take(ledger, 0) == 0:
        if sweeps < 0:
            clear(omega)
            add_adjoint(basis, 0, basis.shape[0], False, basis, omega)
            solved[0] = True
        else:
            ridge = np.empty(k)
            for q in range(k):
                ridge[q] = beta * 0.5 / max(old_lengths[q], basis_floor)
            solved[0] = solve_basis(moment, gram, ridge, basis, omega)
        for q in range(k):
            lengths[q] = np.sqrt(omega[q, q])
        copy(basis, padded)
        done(ledger, 0)
    looks += wait(ledger, 0, 1)
    phase, coloured = 1, alpha > 0 and sweeps > 0
    if solved[0]:
        longest = longest_part(blocks)
        local, weighted = np.empty((longest, k), X.dtype), np.empty((longest, k), X.dtype)
        own_products = alpha == 0 or sweeps < 0
        products = np.empty((longest, padded.shape[1]), X.dtype) if own_products else phi
        source, origin = X, 0
        for chunk in range(chunks.shape[0] - 1):
            first_shard = chunks[chunk]
            shard_count = chunks[chunk + 1] - first_shard
            if numbering.shape[0] > 0:
                source, origin = gathered, blocks[shards[first_shard]]
            if coloured:
                ends = bounds[groups[chunk] : groups[chunk + 1] + 1]
                looks += _products(
                    ledger, phase, blocks, shards[first_shard : chunks[chunk + 1] + 1], X, lower,
                    numbering, source, origin, padded, phi,
                )  # fmt: skip
                looks += _by_colour(
                    ledger, phase + 1, rows, ends, phi, omega, codes, old_weights, indptr, indices,
                    old_edges, alpha, sweeps, fit,
                )  # fmt: skip
                phase += ends.shape[0]
            shard = take(ledger, phase)
            while shard < shard_count:
                if chunk == 0:
                    losses[shard] = 0
                    clear(moments[shard])
                    clear(grams[shard])
                for b in range(shards[first_shard + shard], shards[first_shard + shard + 1]):
                    start, stop = blocks[b], blocks[b + 1]
                    if not coloured and numbering.shape[0] > 0:
                        _gather(X, numbering, start, stop, gathered[start - origin :])
                    if sweeps < 0:
                        _look_at_block(
                            start, stop, source, origin, lower, padded, omega, codes, old_weights,
                            products, fit,
                        )  # fmt: skip
                    elif not coloured:
                        _update_block(
                            start, stop, source, origin, lower, rows, indptr, indices, old_edges,
                            alpha, sweeps, start_eta, padded, omega, old_weights, old_codes, codes,
                            products, fit,
                        )  # fmt: skip
                    losses[shard] += _finish_block(
                        start, stop, source, origin, lower, squares, share, basis, codes,
                        old_codes, fit, cancellation, loss_power, residual_floor, sweeps > 0, eta,
                        residuals, weights, point, local, weighted, grams[shard],
                        moments[shard],
                    )  # fmt: skip
                done(ledger, phase)
                shard = take(ledger, phase)
            looks += wait(ledger, phase, shard_count)
            phase += 1
        if alpha > 0:
            looks += _all_edges(
                ledger, phase, codes, pairs, base, graph_power == 2, edge_floor, edges, penalties
            )
    if not leads:
        return linger(bell, number, LOOKS), looks
    if not solved[0]:
        return False, looks
    for shard in range(1, losses.shape[0]):
        add_to(moments[0], moments[shard])
        add_to(grams[0], grams[shard])
    copy(moments[0].T, next_moment)
    copy(grams[0], next_gram)
    totals[0], totals[1], totals[2] = losses.sum(), penalties.sum(), lengths.sum()
    return True, looks
