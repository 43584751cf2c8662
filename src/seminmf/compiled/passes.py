"""Products with all of X in one pass over it, from which the starts learn its directions."""

from .jit import borrowing
from .loops import add_to, clear, scale
from .products import add_adjoint, dense_rows, times
from .threads.phases import barrier, done, enter, leave, take
from .views import line_of, part, rows_of


@borrowing
def pass_over(call, number, room, samples, cuts, directions, weights, products, moments):
    """``products`` = X · directions, and in ``moments[0]`` the sum of x · (weight · product)ᵀ.

    Directions and products have whole vectors of columns, moments a row for each shard. For
    threads as in `iteration.iteration`.
    """
    if not enter(call, number, room):
        return 0
    shards, blocks, size = cuts.shards, cuts.blocks, moments.shape[1]
    shard = take(call, 0)
    while shard < shards.shape[0] - 1:
        totals = part(line_of(moments), shard * size, (shard + 1) * size)
        clear(totals)
        for b in range(shards[shard], shards[shard + 1]):
            start, stop = blocks[b], blocks[b + 1]
            rows = dense_rows(samples, start, stop, room.rows)
            found, weighted = (
                rows_of(products, start, stop),
                rows_of(room.weighted, 0, stop - start),
            )
            times(room.kernels.times, samples, rows, start, stop, directions, found, room.spare)
            scale(part(weights, start, stop), found, weighted)
            add_adjoint(room.kernels, samples, rows, start, weighted, totals)
        done(call, 0)
        shard = take(call, 0)
    offers = barrier(call, 0, shards.shape[0] - 1) + leave(call, number, room)
    if room.leads:
        for shard in range(1, moments.shape[0]):
            add_to(rows_of(moments, 0, 1), rows_of(moments, shard, shard + 1))
    return offers
