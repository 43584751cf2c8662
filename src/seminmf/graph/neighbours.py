"""The neighbour graph: a symmetric CSR matrix of non-negative weights with an empty diagonal.

w_ij = 1 if i is among the p nearest neighbours of j **or** j among those of i; or the matrix is
given, or comes from a scikit-learn neighbours transformer.
"""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._sparse import check_indices
from .._types import IntArray
from ..compiled.colouring import sort_symmetric
from ..compiled.threads.scikit_learn import during
from .exact import Exact


def symmetric(links: sp.csr_array) -> sp.csr_array:
    """A graph with an edge wherever one of two samples is a neighbour of the other."""
    return _without_loops(sp.csr_array(links.maximum(links.T)))


def _without_loops(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix without diagonal and stored zeros, with sorted columns."""
    if matrix.diagonal().any():
        matrix.setdiag(0)
    if not matrix.data.all():
        matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def links_of(indices: IntArray, n_others: int) -> sp.csr_array:
    """An n × ``n_others`` matrix with a 1 for each neighbour in ``indices``, a row per sample."""
    n, count = indices.shape
    indptr = np.arange(0, n * count + 1, count) if count else np.zeros(n + 1, np.int64)
    return sp.csr_array((np.ones(n * count), indices.ravel(), indptr), shape=(n, n_others))


def knn_graph(X: Any, n_neighbors: int) -> sp.csr_array:
    """The exact symmetric graph of the ``n_neighbors`` nearest neighbours, with weights 1."""
    return symmetric(links_of(Exact(X, n_neighbors).neighbours(), X.shape[0]))


def transformer_links(transformer: Any, X: Any) -> tuple[sp.csr_array, Any, int]:
    """(links, fitted transformer, most): neighbours that a scikit-learn transformer finds.

    Its stored entries are the neighbours; their values (distances or ones) do not matter, and
    entries of samples with themselves are left out. ``most`` is the most neighbours of a sample.
    """
    fitted = clone(transformer)
    with during(fitted):
        found = checked_links(transformer, fitted.fit_transform(X), X.shape[0], X.shape[0])
    others = found.indices != np.repeat(np.arange(X.shape[0]), np.diff(found.indptr))
    most = int(np.add.reduceat(np.append(others, 0), found.indptr[:-1]).max())
    found.data = np.ones_like(found.data, dtype=np.float64)
    return _without_loops(found), fitted, most


def checked_links(transformer: Any, found: Any, n_samples: int, n_others: int) -> sp.csr_array:
    """A transformer's result as CSR, or an error if its shape or its indices are wrong."""
    shape = getattr(found, "shape", None)
    if shape != (n_samples, n_others):
        kind = f"a {type(found).__name__}" if shape is None else f"a matrix of shape {shape}"
        raise ValueError(
            f"graph: the transformer {transformer!r} returned {kind} for {n_samples} samples; it "
            f"must return one row for each, and one column for each of the {n_others} of the fit, "
            "as sklearn.neighbors.KNeighborsTransformer does."
        )
    if sp.issparse(found):
        check_indices(f"graph: what the transformer {transformer!r} returned", found)
    return sp.csr_array(found)


def given_graph(graph: Any, n_samples: int) -> sp.csr_array:
    """Check a given matrix and bring it into our form; unchanged if it has that form already."""
    if isinstance(graph, sp.csr_array) and graph.shape == (n_samples, n_samples):
        found = _sorted(graph)
        if found is not None:
            return found
    check_indices("graph", graph)
    if graph.dtype.kind not in "biuf":
        raise ValueError(f"graph has entries of {graph.dtype}; pass real, non-negative weights.")
    matrix = sp.csr_array(graph, dtype=np.float64, copy=True)
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
    matrix = _without_loops(matrix)
    if _sorted(matrix) is None:
        warnings.warn(
            "graph is not symmetric; max(graph, graph.T) is used. Pass a symmetric matrix to "
            "silence this warning.",
            UserWarning,
            stacklevel=4,
        )
        return symmetric(matrix)
    return matrix


def _sorted(graph: sp.csr_array) -> sp.csr_array | None:
    """A float64 graph with sorted columns, itself if they are; None if it is no valid graph."""
    n, count = graph.shape[0], len(graph.indices)
    fits = len(graph.indptr) == n + 1 and len(graph.data) == count == graph.indptr[-1]
    if graph.dtype != np.float64 or not fits:
        return None
    # Copied, so that compiled code sees one type of arrays, whatever that of the graph.
    given = [np.array(part, np.int64) for part in (graph.indptr, graph.indices)]
    starts, columns, seen = (np.empty(size, np.int64) for size in (n + 1, count, n))
    weights, found = np.empty(count), np.empty(n)
    room = starts, columns, weights, seen, found
    if not sort_symmetric(*given, graph.data.copy(), *room, 1e-12):
        return None
    if (columns == graph.indices).all():
        return graph
    ordered: Any = copy(graph)  # the constructor would check every index
    ordered.data, ordered.indices = weights, columns.astype(graph.indices.dtype, copy=False)
    ordered.has_canonical_format = True
    return ordered
