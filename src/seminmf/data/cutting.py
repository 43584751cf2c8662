"""Where X is cut into blocks, shards and chunks for the compiled iteration.

A block is what stays in the cache between the two products with X, a shard is what has sums of its
own, and a chunk is what an iteration with a graph finishes before it goes on.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .._types import IntArray
from ..compiled.kernels import SKINNY

# A block of X stays in the cache between the two products, which want this many rows at least: ours
# less (256 kB in double precision) than those of BLAS. Threads want so many blocks, ...
_OWN_BLOCK, _BLAS_BLOCK = (2**15, 64), (2**18, 256)
_FEWEST_BLOCKS = 8
# ... but so few numbers are not worth cutting up.
_SMALL = 2**15
# Each shard of blocks has its own sums. Fixed by the shape of X alone, so that the order of the
# additions, and with it every digit of the result, is the same for any number of threads.
_MOST_SHARDS = 16
# With more features than this the products take so long that chunks make no difference.
_MOST_FEATURES_FOR_CHUNKS = 512


def _evenly(last: int, count: int) -> IntArray:
    """Bounds of ``count`` parts of equal size, as far as possible, from 0 to ``last``."""
    # NumPy's linspace is slow beside a fit of small data, which is not cut.
    return np.array([0, last]) if count == 1 else np.linspace(0, last, count + 1).astype(np.int64)


def cut_rows(n_samples: int, n_features: int, n_components: int) -> tuple[IntArray, IntArray]:
    """Where the blocks of rows begin and end, and which blocks make up the shards."""
    entries, fewest = _OWN_BLOCK if n_features * n_components <= SKINNY else _BLAS_BLOCK
    rows = max(min(entries // n_features, n_samples // _FEWEST_BLOCKS), fewest)
    small = n_samples * n_features <= _SMALL
    count = 1 if small else max(1, round(n_samples / rows))
    return _evenly(n_samples, count), _evenly(count, min(count, _MOST_SHARDS))


def cut_chunks(n_samples: int, n_features: int, n_components: int) -> IntArray:
    """Where the chunks begin and end in which the samples of a graph are gone through."""
    entries, fewest = _OWN_BLOCK
    count = 1
    if n_features <= min(_MOST_FEATURES_FOR_CHUNKS, SKINNY // n_components):
        count = max(1, round(n_samples / (_MOST_SHARDS * max(entries // n_features, fewest))))
    return _evenly(n_samples, count)


def cut_each_chunk(chunks: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Blocks and shards as in `cut_rows`, and which shards make up the chunks."""
    cuts = [np.linspace(*ends, _MOST_SHARDS + 1)[:-1] for ends in pairwise(chunks)]
    blocks = np.append(np.concatenate(cuts), chunks[-1]).astype(np.int64)
    shards = np.arange(len(blocks))
    return blocks, shards, shards[::_MOST_SHARDS]
