"""A graph prepared for the solver: a list of edges, and an order for sequential updates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .._once import once
from .._types import FloatArray, IntArray
from ..compiled.colouring import greedy_colours, group_by_colour, list_edges
from ..compiled.edges import weigh_all_edges
from ..compiled.state import Graph

# Samples are renumbered if that brings at least this share more of the edges inside a chunk.
_WORTH_RENUMBERING = 0.2


def inverse(numbering: IntArray) -> IntArray:
    """The inverse permutation: the place of each sample in this order."""
    place = np.empty_like(numbering)
    place[numbering] = np.arange(len(numbering))
    return place


def _pairs(indptr: IntArray, indices: IntArray) -> IntArray:
    """A row for each edge, see `compiled.colouring.list_edges`."""
    pairs = np.empty((len(indices) // 2, 4), indices.dtype)
    list_edges(indptr, indices, indptr[:-1].copy(), pairs)
    return pairs


def _numbering(matrix: sp.csr_array, chunks: IntArray) -> IntArray | None:
    """An order of the samples that brings neighbours into the same chunk.

    None if that gains too little, and for more entries than SciPy's search, with its 32-bit
    numbers, can take.
    """
    if matrix.nnz >= 2**31 - 1:
        return None
    found = reverse_cuthill_mckee(sp.csr_matrix(matrix), symmetric_mode=True).astype(np.int64)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    chunk = np.repeat(np.arange(len(chunks) - 1), np.diff(chunks))

    def together(chunk: IntArray) -> float:
        return float((chunk[rows] == chunk[matrix.indices]).mean()) if len(rows) else 1.0

    gain = together(chunk[inverse(found)]) - together(chunk)
    return found if gain > _WORTH_RENUMBERING else None


@dataclass(frozen=True)
class NeighbourGraph:
    """A graph prepared for the solver: a list of edges, and an order for sequential updates.

    Samples are coloured so that no two neighbours share a colour. Those of one colour may be
    updated at the same time: the result of a sweep, colour by colour, does not depend on threads.
    Vertices are coloured in the order of their norm, so that it does not depend on the order of the
    samples either. Only with so many samples that their codes would not stay in the cache from
    colour to colour, a sweep goes chunk by chunk, and colour by colour within each.
    """

    indptr: IntArray
    indices: IntArray
    base: FloatArray
    pairs: IntArray
    """A row for each edge, see `compiled.colouring.list_edges`."""
    order: IntArray
    colour_starts: IntArray
    """Where in ``order`` each colour of each chunk begins."""
    chunks: IntArray
    """Bounds of the chunks among the (renumbered) samples."""
    groups: IntArray
    """Bounds of the chunks among the colours."""
    numbering: IntArray | None
    """An order of the samples in which neighbours are near each other; None for the given order."""

    @classmethod
    def prepare(
        cls, matrix: sp.csr_array, key: FloatArray, dtype: Any, chunks: IntArray | None = None,
        renumber: bool = True,
    ) -> NeighbourGraph:  # fmt: skip
        """Prepare a CSR matrix; vertices are coloured in the order of ``key``.

        With ``renumber`` the samples may be put into another order.
        """
        kind = np.int32 if matrix.nnz < 2**31 - 1 else np.int64
        indptr, indices = matrix.indptr.astype(kind), matrix.indices.astype(kind)
        n = len(indptr) - 1
        chunks = np.array([0, n]) if chunks is None else chunks
        numbering = _numbering(matrix, chunks) if renumber and len(chunks) > 2 else None
        samples: IntArray = np.arange(n) if numbering is None else numbering
        colours, order, groups = np.full(n, -1), np.empty(n, np.int64), np.empty_like(chunks)
        first = np.argsort(key, kind="stable")
        count = greedy_colours(first, indptr, indices, np.full(n + 1, -1), colours)
        starts = np.empty((len(chunks) - 1) * count + 1, np.int64)
        places = np.empty(count + 1, np.int64)
        found = group_by_colour(samples, chunks, colours, places, order, starts, groups)
        base, pairs = matrix.data.astype(dtype), _pairs(indptr, indices)
        return cls(
            indptr, indices, base, pairs, order, starts[: found + 1], chunks, groups, numbering
        )

    @property
    def renumbered(self) -> NeighbourGraph:
        """The same graph for samples that are stored in the order of ``numbering``."""
        # Not cached when it is itself: that reference cycle would keep it in memory for a while.
        return self if self.numbering is None else self._renumbered

    @once
    def _renumbered(self) -> NeighbourGraph:
        assert self.numbering is not None
        n = len(self.order)
        matrix = sp.csr_array((self.base, self.indices, self.indptr), shape=(n, n))
        matrix = matrix[self.numbering][:, self.numbering]
        matrix.sort_indices()
        indptr, indices = (
            part.astype(self.indices.dtype) for part in (matrix.indptr, matrix.indices)
        )
        return replace(
            self,
            indptr=indptr,
            indices=indices,
            base=matrix.data,
            pairs=_pairs(indptr, indices),
            order=inverse(self.numbering)[self.order],
            numbering=None,
        )

    @once
    def structure(self) -> Graph:
        """The graph for compiled code."""
        return Graph(
            indptr=self.indptr, indices=self.indices, base=self.base, pairs=self.pairs,
            order=self.order, bounds=self.colour_starts, groups=self.groups,
        )  # fmt: skip

    def with_neighbours(self, codes: FloatArray) -> FloatArray:
        """Codes of all samples that edges end at; here those are the given ones."""
        return codes

    def measure(self, codes: FloatArray, objective: Any) -> tuple[float, FloatArray]:
        """The graph penalty of an objective at these codes, and W_ij in the order of ``base``."""
        edges = np.empty_like(self.base)
        return weigh_all_edges(self.structure, objective, codes, edges), edges
