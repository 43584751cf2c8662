"""Where X is cut into blocks, shards and chunks: the one place that decides it.

A block is what stays in the cache between the two products with X, a shard is what has sums of its
own, and a chunk is what an iteration with a graph finishes before it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._once import once
from .._types import IntArray
from ..compiled.products import SKINNY
from ..compiled.state import Cuts as Structure

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
# A chunk of a source is read as a whole, and twice as much of memory is the least for it: of wide
# rows it has fewer shards, down to so many.
_CHUNK, _FEWEST_SHARDS = 2**22, 4
# Numbers that Python visits at a time: more than a block, because a visit costs some microseconds.
_VISITED = 2**17


@dataclass(frozen=True)
class Cuts:
    """Bounds of blocks (in samples), of shards (in blocks) and of chunks (in shards)."""

    blocks: IntArray
    shards: IntArray
    chunks: IntArray

    @once
    def structure(self) -> Any:
        """The same for compiled code."""
        return Structure(
            blocks=self.blocks, shards=self.shards, chunks=self.chunks, begin=0, end=self.count
        )

    @property
    def count(self) -> int:
        """Of chunks."""
        return len(self.chunks) - 1

    @property
    def bounds(self) -> IntArray:
        """Of the chunks, in samples."""
        return self.blocks[self.shards[self.chunks]]

    @property
    def most_shards(self) -> int:
        """Of a chunk."""
        return largest_part(self.chunks)

    @property
    def longest(self) -> int:
        """Samples of the longest block."""
        return largest_part(self.blocks)


def largest_part(bounds: IntArray) -> int:
    """The largest difference of consecutive bounds."""
    # NumPy's functions are slow beside a fit of small data, which is not cut.
    return int(bounds[1] - bounds[0]) if len(bounds) == 2 else int(np.diff(bounds).max())


def _evenly(last: int, count: int) -> IntArray:
    """Bounds of ``count`` parts of equal size, as far as possible, from 0 to ``last``."""
    # NumPy's linspace is slow beside a fit of small data, which is not cut.
    return np.array([0, last]) if count == 1 else np.linspace(0, last, count + 1).astype(np.int64)


def pieces(count: int, step: int) -> list[slice]:
    """Slices of so many things, each of ``step`` but the last, and of one at least."""
    step = max(step, 1)
    return [slice(first, min(first + step, count)) for first in range(0, count, step)]


def cut_rows(
    n_samples: int, n_features: int, n_components: int, block_rows: int | None = None
) -> Cuts:
    """Blocks and shards of one chunk; ``block_rows`` sets the size of a block."""
    entries, fewest = _OWN_BLOCK if n_features * n_components <= SKINNY else _BLAS_BLOCK
    rows = max(min(entries // n_features, n_samples // _FEWEST_BLOCKS), fewest)
    small = n_samples * n_features <= _SMALL
    count = 1 if small else max(1, round(n_samples / rows))
    if block_rows is not None:
        count = max(1, n_samples // block_rows)
    shards = _evenly(count, min(count, _MOST_SHARDS))
    return Cuts(_evenly(n_samples, count), shards, np.array([0, len(shards) - 1]))


def cut_visits(start: int, stop: int, n_features: int) -> list[slice]:
    """Samples of a chunk that Python visits together."""
    n_samples = stop - start
    count = min(max(1, round(n_samples * n_features / _VISITED)), n_samples)
    return [slice(*ends) for ends in pairwise((start + _evenly(n_samples, count)).tolist())]


def chunk_bounds(n_samples: int, n_features: int, n_components: int) -> IntArray:
    """Where the chunks begin and end in which the samples of a graph are gone through."""
    entries, fewest = _OWN_BLOCK
    count = 1
    if n_features <= min(_MOST_FEATURES_FOR_CHUNKS, SKINNY // n_components):
        count = max(1, round(n_samples / (_MOST_SHARDS * max(entries // n_features, fewest))))
    return _evenly(n_samples, count)


def cut_each_chunk(bounds: IntArray, count: int = _MOST_SHARDS) -> Cuts:
    """As many shards for each of the chunks with these bounds, each of one block."""
    cuts = [np.linspace(*ends, count + 1)[:-1] for ends in pairwise(bounds)]
    blocks = np.append(np.concatenate(cuts), bounds[-1]).astype(np.int64)
    shards = np.arange(len(blocks))
    return Cuts(blocks, shards, shards[::count].copy())


def cut_stream(n_samples: int, entries_per_row: int, n_features: int, n_components: int) -> Cuts:
    """Chunks of samples that are in memory some at a time.

    However many are there at a time, they are cut in the same places: the digits of the result do
    not depend on that.
    """
    entries, _ = _OWN_BLOCK if n_features * n_components <= SKINNY else _BLAS_BLOCK
    rows = max(entries // entries_per_row, _OWN_BLOCK[1])
    shards = max(min(_MOST_SHARDS, _CHUNK // (rows * entries_per_row)), _FEWEST_SHARDS)
    shards = max(min(shards, n_samples // rows), 1)
    return cut_each_chunk(_evenly(n_samples, max(1, round(n_samples / (shards * rows)))), shards)
