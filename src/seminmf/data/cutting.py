"""Where X is cut into blocks, shards and chunks; nothing else decides it.

A block stays in the cache between the two products with X, a shard has sums of its own, and a chunk
is finished by an iteration with a graph before the next one begins.
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

# (entries, rows at least) of a block, which has to stay in the cache between the two products: 256
# kB in double precision for our products; those of BLAS want longer blocks. Threads want this many
# blocks at least, unless X has so few entries that cutting does not pay.
_OWN_BLOCK, _BLAS_BLOCK = (2**15, 64), (2**18, 256)
_FEWEST_BLOCKS = 8
_SMALL = 2**15
# Shards have sums of their own. Their number depends on the shape of X alone, so that the order of
# additions, and with it every digit of the result, is the same for any number of threads.
_MOST_SHARDS = 16
# With more features than this the products take so long that chunks make no difference.
_MOST_FEATURES_FOR_CHUNKS = 512
# The most entries in a chunk of a source: chunks are read whole, and two of them have to fit into
# memory. Chunks of wide rows have fewer shards, but no fewer than this.
_CHUNK, _FEWEST_SHARDS = 2**22, 4
# Entries that Python visits at a time: more than a block, since each visit costs microseconds.
_VISITED = 2**17


@dataclass(frozen=True)
class Cuts:
    """Bounds of blocks (in samples), of shards (in blocks) and of chunks (in shards)."""

    blocks: IntArray
    shards: IntArray
    chunks: IntArray

    @once
    def structure(self) -> Any:
        """The same cuts for compiled code."""
        return Structure(
            blocks=self.blocks, shards=self.shards, chunks=self.chunks, begin=0, end=self.count
        )

    @property
    def count(self) -> int:
        """Number of chunks."""
        return len(self.chunks) - 1

    @property
    def bounds(self) -> IntArray:
        """Bounds of the chunks, in samples."""
        return self.blocks[self.shards[self.chunks]]

    @property
    def most_shards(self) -> int:
        """The most shards that a chunk has."""
        return longest_range(self.chunks)

    @property
    def longest(self) -> int:
        """Samples in the longest block."""
        return longest_range(self.blocks)


def longest_range(bounds: IntArray) -> int:
    """The largest difference of consecutive bounds."""
    # NumPy's functions are slow beside a fit of small data, which is not cut.
    return int(bounds[1] - bounds[0]) if len(bounds) == 2 else int(np.diff(bounds).max())


def _evenly(last: int, count: int) -> IntArray:
    """Bounds that divide 0 to ``last`` into ``count`` ranges, as equal as possible."""
    # NumPy's linspace is slow beside a fit of small data, which is not cut.
    return np.array([0, last]) if count == 1 else np.linspace(0, last, count + 1).astype(np.int64)


def pieces(count: int, step: int) -> list[slice]:
    """Slices that divide ``count`` things into runs of ``step``; the last may be shorter."""
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
    """Slices of the samples from ``start`` to ``stop`` that Python visits one at a time."""
    n_samples = stop - start
    count = min(max(1, round(n_samples * n_features / _VISITED)), n_samples)
    return [slice(*ends) for ends in pairwise((start + _evenly(n_samples, count)).tolist())]


def chunk_bounds(n_samples: int, n_features: int, n_components: int) -> IntArray:
    """Bounds, in samples, of the chunks in which an iteration with a graph visits X."""
    entries, fewest = _OWN_BLOCK
    count = 1
    if n_features <= min(_MOST_FEATURES_FOR_CHUNKS, SKINNY // n_components):
        count = max(1, round(n_samples / (_MOST_SHARDS * max(entries // n_features, fewest))))
    return _evenly(n_samples, count)


def cut_each_chunk(bounds: IntArray, count: int = _MOST_SHARDS) -> Cuts:
    """Cuts each of the chunks with these bounds into ``count`` shards of one block."""
    cuts = [np.linspace(*ends, count + 1)[:-1] for ends in pairwise(bounds)]
    blocks = np.append(np.concatenate(cuts), bounds[-1]).astype(np.int64)
    shards = np.arange(len(blocks))
    return Cuts(blocks, shards, shards[::count].copy())


def cut_stream(n_samples: int, entries_per_row: int, n_features: int, n_components: int) -> Cuts:
    """Cuts of a source whose chunks are read some at a time.

    They do not depend on how many chunks fit into memory, so neither do the digits of the result.
    """
    entries, _ = _OWN_BLOCK if n_features * n_components <= SKINNY else _BLAS_BLOCK
    rows = max(entries // entries_per_row, _OWN_BLOCK[1])
    shards = max(min(_MOST_SHARDS, _CHUNK // (rows * entries_per_row)), _FEWEST_SHARDS)
    shards = max(min(shards, n_samples // rows), 1)
    return cut_each_chunk(_evenly(n_samples, max(1, round(n_samples / (shards * rows)))), shards)
