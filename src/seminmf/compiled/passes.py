"""Products with all of X in one pass over it: for starts, compression and whoever wants them."""

import numpy as np

from .jit import compiled
from .loops import add_to, clear, longest_part, scale
from .products import add_adjoint, dense_rows, times
from .threads.phases import barrier, done, enter, leave, take
from .views import line_of, part, rows_of


@compiled
def pass_over(call, leads, samples, cuts, directions, weights, products, moments):
    """``products`` = X · directions, and in ``moments[0]`` the sum of x · (weight · product)ᵀ.

    Directions and products have whole vectors of columns, moments a row for each shard. Without
    ``directions`` the products are given; without ``moments`` there are no sums. For threads as in
    `iteration.iteration`.
    """
    if not enter(call, leads):
        return 0
    shards, blocks, size = cuts.shards, cuts.blocks, moments.shape[1]
    longest, gathers = longest_part(blocks), not samples.plain and not samples.sparse
    room = np.empty((longest if gathers else 0, samples.n_features), products.dtype)
    weighted = np.empty((longest, products.shape[1]), products.dtype)
    shard = take(call, 0)
    while shard < shards.shape[0] - 1:
        totals = part(line_of(moments), shard * size, (shard + 1) * size)
        if moments.shape[0] > 0:
            clear(totals)
        for b in range(shards[shard], shards[shard + 1]):
            start, stop = blocks[b], blocks[b + 1]
            rows = dense_rows(samples, start, stop, room)
            found = rows_of(products, start, stop)
            if directions.shape[0] > 0:
                times(samples, rows, start, stop, directions, found)
            if moments.shape[0] > 0:
                here = rows_of(weighted, 0, stop - start)
                scale(part(weights, start, stop), found, here)
                add_adjoint(samples, rows, start, stop, here, totals)
        done(call, 0)
        shard = take(call, 0)
    offers = barrier(call, 0, shards.shape[0] - 1) + leave(call, leads)
    if leads:
        for shard in range(1, moments.shape[0]):
            add_to(rows_of(moments, 0, 1), rows_of(moments, shard, shard + 1))
    return offers
