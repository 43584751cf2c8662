"""The paper's formulas as a careful NumPy user would write them: the yardstick.

Samples are rows, X (n × m) ≈ V Uᵀ. Products go to BLAS, the graph is a scipy.sparse matrix whose
pattern is made once, each edge's length is computed once, the weights d, b and W are computed once
per iteration, and the large residual matrix is written into one buffer. What is not here is what
needs a derivation or a compiler: no product is saved by algebra and no two passes are fused.

The paper's equations ``snfsol``, ``grsnfsol`` and ``l21snfsol`` are `snf`, `gr_snf` and `l21_snf`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EPSILON = 1e-10  # the paper's floor for every denominator that is a length


@dataclass(frozen=True)
class Run:
    """Where a run ended, and J before each iteration and after the last."""

    basis: Floats
    codes: Floats
    history: list[float]


class _Edges:
    """A symmetric graph with a fixed pattern, whose weights change from iteration to iteration."""

    def __init__(self, graph: Any) -> None:
        whole = sp.csr_array(graph, dtype=np.float64)
        upper = sp.coo_array(sp.triu(whole, k=1))
        self.start, self.stop = upper.row, upper.col
        self.base = upper.data
        number = sp.coo_array((np.arange(1.0, upper.nnz + 1), (self.start, self.stop)), whole.shape)
        self.matrix = sp.csr_array(number + number.T)
        self._edge_of_entry = self.matrix.data.astype(np.intp) - 1
        self.set(self.base)

    def set(self, weights: Floats) -> None:
        self.matrix.data = weights[self._edge_of_entry]
        self.sums = np.asarray(self.matrix.sum(axis=1)).ravel()

    def lengths(self, codes: Floats) -> Floats:
        difference = codes[self.start] - codes[self.stop]
        return np.sqrt(np.einsum("ij,ij->i", difference, difference))


def _residuals(X: Floats, basis: Floats, codes: Floats, buffer: Floats) -> Floats:
    """‖x_i − U v_i‖ by the explicit difference."""
    np.matmul(codes, basis.T, out=buffer)
    np.subtract(X, buffer, out=buffer)
    return np.sqrt(np.einsum("ij,ij->i", buffer, buffer))


def _basis(X: Floats, codes: Floats, weighted: Floats, ridge: Floats | None) -> Floats:
    """U = Xᵀ(d∘V) (Vᵀ(d∘V) + β diag(b))⁻¹."""
    gram = codes.T @ weighted
    if ridge is not None:
        gram[np.diag_indices_from(gram)] += ridge
    return np.linalg.solve(gram, (X.T @ weighted).T).T


def _codes(
    X: Floats, basis: Floats, codes: Floats, d: Floats | None, alpha: float, edges: _Edges | None
) -> Floats:
    """V ∘ sqrt[(d∘(Φ⁺ + VΩ⁻) + αWV) / (d∘(Φ⁻ + VΩ⁺) + αS∘V)]."""
    phi = X @ basis
    omega = basis.T @ basis
    above = np.maximum(phi, 0)
    below = above - phi
    above += codes @ np.maximum(-omega, 0)
    below += codes @ np.maximum(omega, 0)
    if d is not None:
        above *= d[:, None]
        below *= d[:, None]
    if edges is not None:
        above += alpha * (edges.matrix @ codes)
        below += (alpha * edges.sums)[:, None] * codes
    above /= np.maximum(below, 1e-300, out=below)
    return codes * np.sqrt(above, out=above)


def snf(X: Floats, basis: Floats, codes: Floats, iterations: int) -> Run:
    """‖X − VUᵀ‖²_F by eq. snfsol."""
    return gr_snf(X, basis, codes, iterations)


def gr_snf(
    X: Floats,
    basis: Floats,
    codes: Floats,
    iterations: int,
    alpha: float = 0.0,
    beta: float = 0.0,
    graph: Any = None,
) -> Run:
    """‖X − VUᵀ‖²_F + α Σ_{i<j} w_ij ‖v_i − v_j‖² + β Σ_j ‖u_j‖ by eq. grsnfsol."""
    edges = _Edges(graph) if alpha else None
    buffer = np.empty_like(X)
    history = []

    def value() -> float:
        total = float((_residuals(X, basis, codes, buffer) ** 2).sum())
        if edges is not None:
            total += alpha * float(edges.base @ edges.lengths(codes) ** 2)
        return total + beta * float(np.linalg.norm(basis, axis=0).sum())

    for _ in range(iterations):
        history.append(value())
        lengths = np.linalg.norm(basis, axis=0)
        ridge = beta * 0.5 / np.maximum(lengths, EPSILON) if beta else None
        basis = _basis(X, codes, codes, ridge)
        codes = _codes(X, basis, codes, None, alpha, edges)
    history.append(value())
    return Run(basis, codes, history)


def l21_snf(
    X: Floats,
    basis: Floats,
    codes: Floats,
    iterations: int,
    alpha: float = 0.0,
    beta: float = 0.0,
    graph: Any = None,
) -> Run:
    """Σ_i ‖x_i − Uv_i‖ + α Σ_{i<j} w_ij ‖v_i − v_j‖ + β Σ_j ‖u_j‖ by eq. l21snfsol.

    J costs nothing extra: its terms are the lengths that the weights are made of.
    """
    edges = _Edges(graph) if alpha else None
    buffer = np.empty_like(X)
    history = []
    for iteration in range(iterations + 1):
        residuals = _residuals(X, basis, codes, buffer)
        lengths = np.linalg.norm(basis, axis=0)
        total = float(residuals.sum()) + beta * float(lengths.sum())
        if edges is not None:
            distances = edges.lengths(codes)
            total += alpha * float(edges.base @ distances)
            edges.set(edges.base / np.maximum(distances, EPSILON))
        history.append(total)
        if iteration == iterations:
            break
        d = 1 / np.maximum(residuals, EPSILON)
        ridge = beta / np.maximum(lengths, EPSILON) if beta else None
        basis = _basis(X, codes, d[:, None] * codes, ridge)
        codes = _codes(X, basis, codes, d, alpha, edges)
    return Run(basis, codes, history)
