"""The compiled pass over X from which the starts learn its leading directions."""

import numpy as np

from .jit import compiled
from .kernels import add_adjoint, add_to, clear, longest_part, scale, times
from .threads.phases import LOOKS, add, done, linger, take, wait


@compiled
def square_times(
    number, leads, bell, ledger, blocks, shards, X, lower, weights, directions, products, moments
):  # fmt: skip
    """``products`` = X · directions, and ``moments[0]`` = (weights ∘ products)ᵀ · X.

    For threads as in `fused.iteration`; ``moments`` has room for each shard, ``directions`` whole
    vectors of columns.
    """
    if leads:
        add(bell, 0, 1)
    weighted = np.empty((longest_part(blocks), directions.shape[1]), X.dtype)
    shard = take(ledger, 0)
    while shard < shards.shape[0] - 1:
        clear(moments[shard])
        for b in range(shards[shard], shards[shard + 1]):
            start, stop = blocks[b], blocks[b + 1]
            times(X, start, stop, lower, directions, products[start:stop])
            scale(weights[start:stop], products[start:stop], weighted)
            add_adjoint(X, start, stop, lower, weighted[: stop - start], moments[shard])
        done(ledger, 0)
        shard = take(ledger, 0)
    looks = wait(ledger, 0, shards.shape[0] - 1)
    if not leads:
        return linger(bell, number, LOOKS), looks
    for shard in range(1, shards.shape[0] - 1):
        add_to(moments[0], moments[shard])
    return True, looks
