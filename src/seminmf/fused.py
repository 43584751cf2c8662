"""One iteration in one compiled call, on one or several threads, for X that is a dense array.

It is the iteration of `seminmf.descent`, step by step. There, one call from Python follows the
other; on a few hundred samples those calls take longer than the arithmetic, and on a few thousand
a thread that is woken from Python comes too late. Here the threads share the items of a phase as
described in `seminmf.ledger`: the basis (one item), shards of rows, colours, edges.
"""

import numpy as np

from ._compile import compiled
from .graph_kernels import edge_weights
from .kernels import (
    SKINNY,
    add_adjoint,
    cd_codes,
    extrapolate,
    mu_codes,
    residual_lengths,
    solve_basis,
    times,
)
from .ledger import add, done, linger, take, wait
from .vectors import WIDTH

# Rows of a colour, and edges, in one item.
_ROWS_PER_ITEM = 128
_EDGES_PER_ITEM = 2048
# A block of X stays in the cache between the two products, which want this many rows at least: ours
# less (256 kB in double precision) than those of BLAS. Threads want so many blocks, ...
_OWN_BLOCK, _BLAS_BLOCK = (2**15, 64), (2**18, 256)
_FEWEST_BLOCKS = 8
# ... but so few numbers are not worth cutting up.
_SMALL = 2**15
# Each shard of blocks has its own sums. Fixed by the shape of X alone, so that the order of the
# additions, and with it every digit of the result, is the same for any number of threads.
_MOST_SHARDS = 16
# How often a helper looks for the next iteration before it goes to sleep: some 0.2 ms.
_LOOKS = 100_000


def cut_rows(n_samples, n_features, n_components):
    """Where the blocks of rows begin and end, and which blocks make up the shards."""
    entries, fewest = _OWN_BLOCK if n_features * n_components <= SKINNY else _BLAS_BLOCK
    rows = max(min(entries // n_features, n_samples // _FEWEST_BLOCKS), fewest)
    small = n_samples * n_features <= _SMALL
    count = 1 if small else max(1, round(n_samples / rows))
    blocks = np.linspace(0, n_samples, count + 1).astype(np.int64)
    shards = np.linspace(0, count, min(count, _MOST_SHARDS) + 1).astype(np.int64)
    return blocks, shards


def padded_width(n_components, dtype):
    """As many columns as there are components, and more to fill the last vector."""
    count = WIDTH // dtype.itemsize
    return -(-n_components // count) * count


def edge_items(edges):
    """How many items the edges make."""
    return -(-edges // _EDGES_PER_ITEM)


def new_ledger(bounds):
    """For one iteration; ``bounds`` are those of the colours."""
    return np.zeros(2 * (len(bounds) + 3), np.int64)


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


@compiled
def _update_block(
    start, stop, X, lower, rows, indptr, indices, edges, alpha, sweeps, basis, omega, weights,
    source, codes, phi, fit,
):  # fmt: skip
    """Products with the basis and new codes for a block of rows that need not see each other's."""
    if alpha > 0:
        # Neighbours are anywhere, so that rows go by their numbers in the whole.
        times(X, start, stop, lower, basis, phi[start:stop])
        mu_codes(
            rows[start:stop], phi, omega, source, codes, weights, indptr, indices, edges, alpha,
            True, fit,
        )  # fmt: skip
        return
    count = stop - start
    products = phi[:count]
    times(X, start, stop, lower, basis, products)
    if sweeps == 0:
        mu_codes(
            rows[:count], products, omega, source[start:stop], codes[start:stop],
            weights[start:stop], indptr, indices, edges, alpha, True, fit[start:stop],
        )  # fmt: skip
    else:
        bounds = np.array([0, count])
        cd_codes(
            rows[:count], bounds, products, omega, codes[start:stop], weights[start:stop], indptr,
            indices, edges, alpha, sweeps, fit[start:stop],
        )  # fmt: skip


@compiled
def _finish_block(
    start, stop, X, lower, squares, share, basis, codes, previous, fit, cancellation, loss_power,
    floor, accelerated, eta, residuals, weights, point, weighted, gram, moment,
):  # fmt: skip
    """Residuals, weights and the next point; adds to the moments and returns the loss."""
    squares, codes = squares[start:stop], codes[start:stop]
    residuals, weights = residuals[start:stop], weights[start:stop]
    if residual_lengths(squares, fit[start:stop], cancellation, residuals) > 0:
        _exact_residuals(X[start:stop], basis, codes, squares, cancellation, residuals)
    loss = _sample_weights(
        residuals, share[start:stop] if share.shape[0] > 0 else share, loss_power, floor, weights
    )
    weighted = weighted[: stop - start]
    if accelerated:
        extrapolate(codes, previous[start:stop], eta, weights, point[start:stop], weighted)
        add_adjoint(point, start, stop, False, weighted, gram)
    else:
        for i in range(codes.shape[0]):
            for q in range(codes.shape[1]):
                weighted[i, q] = weights[i] * codes[i, q]
        add_adjoint(codes, 0, stop - start, False, weighted, gram)
    add_adjoint(X, start, stop, lower, weighted, moment)
    return loss


@compiled
def iteration(
    number, leads, bell, ledger, blocks, shards, losses, penalties, moments, grams, solved,
    X, lower, squares, share, rows, bounds, indptr, indices, base, pairs,
    sweeps, loss_power, graph_power, alpha, residual_floor, edge_floor,
    cancellation, eta, moment, gram, ridge, old_codes, old_weights, old_edges,
    basis, padded, omega, lengths, codes, residuals, weights, edges, point, phi, fit,
    next_moment, next_gram,
):  # fmt: skip
    """Basis, codes, residuals, weights, edges, and the moments for the next basis.

    The thread that ``leads`` rings the ``bell``, and at the end returns (whether the system for the
    basis was regular, loss, graph penalty, looks spent waiting). Where it was singular, nothing has
    been written. The others return (whether the bell rang again, ...).
    """
    k = codes.shape[1]
    if leads:
        add(bell, 0, 1)
    looks = 0
    if take(ledger, 0) == 0:
        solved[0] = solve_basis(moment, gram, ridge, basis, omega)
        for q in range(k):
            lengths[q] = np.sqrt(omega[q, q])
        padded[:, :k] = basis
        done(ledger, 0)
    looks += wait(ledger, 0, 1)
    phase, coloured = 1, alpha > 0 and sweeps > 0
    shard_count = shards.shape[0] - 1
    longest = 0
    for b in range(blocks.shape[0] - 1):
        longest = max(longest, blocks[b + 1] - blocks[b])
    if solved[0]:
        if coloured:
            shard = take(ledger, phase)
            while shard < shard_count:
                for b in range(shards[shard], shards[shard + 1]):
                    start, stop = blocks[b], blocks[b + 1]
                    times(X, start, stop, lower, padded, phi[start:stop])
                done(ledger, phase)
                shard = take(ledger, phase)
            looks += wait(ledger, phase, shard_count)
            phase += 1
            for colour in range(bounds.shape[0] - 1):
                first, stop = bounds[colour], bounds[colour + 1]
                items = -(-(stop - first) // _ROWS_PER_ITEM)
                item = take(ledger, phase)
                while item < items:
                    start = first + item * _ROWS_PER_ITEM
                    ends = np.array([0, min(_ROWS_PER_ITEM, stop - start)])
                    cd_codes(
                        rows[start : start + ends[1]], ends, phi, omega, codes, old_weights,
                        indptr, indices, old_edges, alpha, sweeps, fit,
                    )  # fmt: skip
                    done(ledger, phase)
                    item = take(ledger, phase)
                looks += wait(ledger, phase, items)
                phase += 1
        weighted = np.empty((longest, k), X.dtype)
        products = phi if alpha > 0 else np.empty((longest, padded.shape[1]), X.dtype)
        shard = take(ledger, phase)
        while shard < shard_count:
            losses[shard], moments[shard], grams[shard] = 0, 0, 0
            for b in range(shards[shard], shards[shard + 1]):
                start, stop = blocks[b], blocks[b + 1]
                if not coloured:
                    _update_block(
                        start, stop, X, lower, rows, indptr, indices, old_edges, alpha, sweeps,
                        padded, omega, old_weights, old_codes, codes, products, fit,
                    )  # fmt: skip
                losses[shard] += _finish_block(
                    start, stop, X, lower, squares, share, basis, codes, old_codes, fit,
                    cancellation, loss_power, residual_floor, sweeps > 0, eta, residuals, weights,
                    point, weighted, grams[shard], moments[shard],
                )  # fmt: skip
            done(ledger, phase)
            shard = take(ledger, phase)
        looks += wait(ledger, phase, shard_count)
        phase += 1
        if alpha > 0:
            items = -(-pairs.shape[0] // _EDGES_PER_ITEM)
            item = take(ledger, phase)
            while item < items:
                first = item * _EDGES_PER_ITEM
                stop = min(first + _EDGES_PER_ITEM, pairs.shape[0])
                penalties[item] = edge_weights(
                    first, stop, codes, pairs, base, graph_power == 2, edge_floor, edges
                )
                done(ledger, phase)
                item = take(ledger, phase)
            looks += wait(ledger, phase, items)
    if not leads:
        return linger(bell, number, _LOOKS), 0.0, 0.0, looks
    if not solved[0]:
        return False, 0.0, 0.0, looks
    for shard in range(1, shard_count):
        moments[0] += moments[shard]
        grams[0] += grams[shard]
    next_moment[:] = moments[0].T
    next_gram[:] = grams[0]
    return True, losses.sum(), penalties.sum(), looks
