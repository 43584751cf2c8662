"""Products with all of X in one pass over it, from which the starts learn its directions."""

from .jit import borrowing, part_of_compiled
from .loops import add_to, clear, scale
from .products import add_adjoint, dense_rows, times
from .threads.phases import barrier, done, enter, leave, take
from .views import line_of, part, rows_of


@part_of_compiled
def _pass_over_chunk(call, chunk, room, samples, cuts, directions, weights, products, moments):
    """The shards of a chunk; returns the offers of `barrier`."""
    first, size, phase = cuts.chunks[chunk], moments.shape[1], chunk - cuts.begin
    count = cuts.chunks[chunk + 1] - first
    shard = take(call, phase)
    while shard < count:
        totals = part(line_of(moments), shard * size, (shard + 1) * size)
        if chunk == 0:
            clear(totals)
        for b in range(cuts.shards[first + shard], cuts.shards[first + shard + 1]):
            start, stop = cuts.blocks[b], cuts.blocks[b + 1]
            rows = dense_rows(samples, start, stop, room.rows)
            weighted = rows_of(room.weighted, 0, stop - start)
            found = rows_of(products, start, stop) if products.shape[0] > 0 else weighted
            times(room.kernels.times, samples, rows, start, stop, directions, found, room.spare)
            scale(part(weights, start, stop), found, weighted)
            add_adjoint(room.kernels, samples, rows, start, weighted, totals)
        done(call, phase)
        shard = take(call, phase)
    return barrier(call, phase, count)


@borrowing
def pass_over(call, number, room, samples, cuts, directions, weights, products, moments):
    """``products`` = X · directions, and in ``moments[0]`` the sum of x · (weight · product)ᵀ.

    Directions and products have whole vectors of columns, moments a row for each shard of a chunk.
    Products without rows are not kept.
    For threads and chunks as in `iteration.iteration`, with a phase for each chunk.
    """
    if not enter(call, number, room):
        return 0
    offers = 0
    for chunk in range(cuts.begin, cuts.end):
        offers += _pass_over_chunk(
            call, chunk, room, samples, cuts, directions, weights, products, moments
        )
    offers += leave(call, number, room)
    if room.leads and cuts.end == cuts.chunks.shape[0] - 1:
        for shard in range(1, moments.shape[0]):
            add_to(rows_of(moments, 0, 1), rows_of(moments, shard, shard + 1))
    return offers
