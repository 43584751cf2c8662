"""The neighbour graph: a symmetric CSR pattern with non-negative weights and no diagonal.

w_ij = 1 if i is among the p nearest neighbours of j **or** j among those of i; or a given matrix;
or what a scikit-learn neighbours transformer finds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from ..compiled import edges as graph_kernels
from .._types import FloatArray, IntArray
from ..data import Engine

# Edges per task when the penalty is summed on several threads.
_EDGES_PER_TASK = 8192
# Samples are renumbered if so many more of the edges are then within a chunk.
_WORTH_RENUMBERING = 0.2


def neighbour_pairs(
    queries: Any, fitted: Any, n_neighbors: int, *, same: bool
) -> tuple[IntArray, FloatArray]:
    """Indices of the nearest samples of ``fitted`` for each query, and the distances."""
    search = NearestNeighbors(n_neighbors=n_neighbors).fit(fitted)
    distances, indices = search.kneighbors(None if same else queries)
    return indices, distances


def symmetric(links: sp.csr_array) -> sp.csr_array:
    """An edge where one of the two is a neighbour of the other."""
    return _without_loops(sp.csr_array(links.maximum(links.T)))


def _without_loops(matrix: sp.csr_array) -> sp.csr_array:
    """No diagonal, no stored zeros, sorted columns."""
    if matrix.diagonal().any():
        matrix.setdiag(0)
    if not matrix.data.all():
        matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def knn_links(X: Any, n_neighbors: int) -> sp.csr_array:
    """Ones in each row for the nearest neighbours of a sample."""
    n = X.shape[0]
    if n_neighbors == 0:
        return sp.csr_array((n, n))
    indices, _ = neighbour_pairs(None, X, n_neighbors, same=True)
    indptr = np.arange(0, n * n_neighbors + 1, n_neighbors)
    ones = np.ones(n * n_neighbors)
    return sp.csr_array((ones, indices.ravel(), indptr), shape=(n, n))


def knn_graph(X: Any, n_neighbors: int) -> sp.csr_array:
    """Exact symmetrised nearest-neighbour graph with weights 1."""
    return symmetric(knn_links(X, n_neighbors))


def transformer_links(transformer: Any, X: Any) -> tuple[sp.csr_array, Any, int]:
    """Neighbours that a scikit-learn neighbours transformer finds, and the fitted transformer.

    Its stored entries are the neighbours; what they hold (distances or ones) does not matter,
    and a stored entry of a sample with itself is left out. The third value is the most neighbours
    that a sample found, itself left out.
    """
    fitted = clone(transformer)
    found = sp.csr_array(fitted.fit_transform(X))
    if found.shape != (X.shape[0], X.shape[0]):
        raise ValueError(
            f"graph: the transformer {transformer!r} returned a matrix of shape {found.shape} "
            f"for {X.shape[0]} samples; it must return one row and one column per sample, as "
            "sklearn.neighbors.KNeighborsTransformer does."
        )
    others = found.indices != np.repeat(np.arange(X.shape[0]), np.diff(found.indptr))
    most = int(np.add.reduceat(np.append(others, 0), found.indptr[:-1]).max())
    found.data = np.ones_like(found.data, dtype=np.float64)
    return _without_loops(found), fitted, most


def given_graph(graph: Any, n_samples: int) -> sp.csr_array:
    """Check a given matrix and bring it into our form; itself if it has that form already."""
    formed = _in_our_form(graph)
    matrix = graph if formed else sp.csr_array(graph, dtype=np.float64, copy=True)
    if matrix.shape != (n_samples, n_samples):
        raise ValueError(
            f"graph has shape {matrix.shape}, but X has {n_samples} samples; pass a square "
            f"matrix of shape ({n_samples}, {n_samples}) with one row per sample."
        )
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise ValueError("graph contains NaN or infinity; pass finite, non-negative weights.")
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(
            f"graph has negative weights (smallest {matrix.data.min():g}); weights measure "
            "similarity and must be zero or positive."
        )
    if not formed:
        matrix = _without_loops(matrix)
    if not graph_kernels.is_symmetric(matrix.indptr, matrix.indices, matrix.data, 1e-12):
        warnings.warn(
            "graph is not symmetric; max(graph, graph.T) is used. Pass a symmetric matrix to "
            "silence this warning.",
            UserWarning,
            stacklevel=4,
        )
        return symmetric(matrix)
    return matrix


def _in_our_form(graph: Any) -> bool:
    """Whether neither storage nor diagonal have to be changed."""
    if not isinstance(graph, sp.csr_array) or graph.dtype != np.float64:
        return False
    plain = graph.shape[0] == graph.shape[1] and graph.has_canonical_format and graph.data.all()
    return bool(plain) and not graph.diagonal().any()


def _inverse(numbering: IntArray) -> IntArray:
    place = np.empty_like(numbering)
    place[numbering] = np.arange(len(numbering))
    return place


def _numbering(matrix: sp.csr_array, chunks: IntArray) -> IntArray | None:
    """An order of the samples in which neighbours are near, if that brings them into one chunk.

    None where most are already, where that cannot be, and for more entries than SciPy's search,
    with its 32-bit numbers, can take.
    """
    if matrix.nnz >= 2**31 - 1:
        return None
    found = reverse_cuthill_mckee(sp.csr_matrix(matrix), symmetric_mode=True).astype(np.int64)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    chunk = np.repeat(np.arange(len(chunks) - 1), np.diff(chunks))

    def together(chunk: IntArray) -> float:
        return float((chunk[rows] == chunk[matrix.indices]).mean()) if len(rows) else 1.0

    gain = together(chunk[_inverse(found)]) - together(chunk)
    return found if gain > _WORTH_RENUMBERING else None


@dataclass(frozen=True)
class NeighbourGraph:
    """A graph prepared for the solver: a list of edges, and an order for sequential updates.

    Samples of one colour are not neighbours of each other, so that they may be updated at the
    same time: the result of a sweep in the order of the colours does not depend on threads.
    Vertices are coloured in the order of their norm, so that it does not depend on the order of
    the samples either. Only where there are so many samples that their codes would not stay in the
    cache from colour to colour, they are gone through in chunks, and colour by colour in those.
    """

    indptr: IntArray
    indices: IntArray
    base: FloatArray
    pairs: IntArray
    """A row for each edge, see `graph_kernels.list_edges`."""
    order: IntArray
    colour_starts: IntArray
    """Where in ``order`` the colours begin, those of all chunks."""
    chunks: IntArray
    """Which of the (renumbered) samples make up the chunks: bounds between them."""
    groups: IntArray
    """Which of the colours make up the chunks: bounds between them."""
    numbering: IntArray | None
    """The samples in an order in which neighbours are near; None if they are as they come."""

    @classmethod
    def prepare(
        cls, matrix: sp.csr_array, key: FloatArray, dtype: Any, chunks: IntArray | None = None
    ) -> NeighbourGraph:
        """``key`` gives the order in which the vertices are coloured."""
        kind = np.int32 if matrix.nnz < 2**31 - 1 else np.int64
        indptr, indices = matrix.indptr.astype(kind), matrix.indices.astype(kind)
        colours = graph_kernels.greedy_colours(np.argsort(key, kind="stable"), indptr, indices)
        samples: IntArray = np.arange(len(colours))
        chunks = np.array([0, len(samples)]) if chunks is None else chunks
        numbering = _numbering(matrix, chunks) if len(chunks) > 2 else None
        order, starts, groups = graph_kernels.group_by_colour(
            samples if numbering is None else numbering, chunks, colours
        )
        pairs = graph_kernels.list_edges(indptr, indices)
        base = matrix.data.astype(dtype)
        return cls(indptr, indices, base, pairs, order, starts, chunks, groups, numbering)

    @cached_property
    def renumbered(self) -> NeighbourGraph:
        """The same for samples that are stored in the order of ``numbering``."""
        if self.numbering is None:
            return self
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
            pairs=graph_kernels.list_edges(indptr, indices),
            order=_inverse(self.numbering)[self.order],
            numbering=None,
        )

    def penalty(
        self, codes: FloatArray, squared: bool, floor: float, edges: FloatArray, engine: Engine
    ) -> float:
        """Σ_{i<j} w_ij ρ(‖v_i − v_j‖); writes this iteration's weights W_ij into ``edges``."""
        count = len(self.pairs)

        def part(first: int) -> float:
            penalty: float = graph_kernels.edge_weights(
                first, min(first + _EDGES_PER_TASK, count), codes, self.pairs, self.base, squared,
                floor, edges,
            )  # fmt: skip
            return penalty

        return sum(engine.team.map(part, range(0, count, _EDGES_PER_TASK)))
