"""The steps of one iteration, as pure functions of small statistics.

A codes rule takes (φ, Ω, d, W) to new codes, a basis rule takes the two moments

    moment = Xᵀ(d∘V)  (m × k),   gram = Vᵀ(d∘V)  (k × k)

to a new basis. What is told apart here is *how* a step is taken; *when*, is `seminmf.descent`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..compiled import kernels
from .._types import FloatArray, IntArray


@dataclass
class Coupling:
    """The graph as the codes rules see it: a CSR pattern with the weights of this iteration."""

    indptr: IntArray
    indices: IntArray
    edges: FloatArray
    alpha: float


def no_coupling(dtype: Any) -> Coupling:
    return Coupling(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, dtype), 0.0)


class CodesRule(Protocol):
    """New codes for some rows, given everything else."""

    @property
    def sequential(self) -> bool:
        """Whether a row must see the new codes of the neighbours that came before it."""

    @property
    def sweeps(self) -> int:
        """How often coordinate descent goes through a row; 0 for the multiplicative rule."""

    def apply(
        self,
        rows: IntArray,
        bounds: IntArray,
        phi: FloatArray,
        omega: FloatArray,
        source: FloatArray,
        codes: FloatArray,
        weights: FloatArray,
        coupling: Coupling,
        fit: FloatArray,
    ) -> None:
        """Write new ``codes`` and ``fit`` = ‖x − Uv‖² − ‖x‖² for the ``rows``.

        ``codes`` holds the point to start from, ``source`` the codes that the weights belong to.
        A ``sequential`` rule reads its neighbours from ``codes`` in their present state and
        goes through ``rows`` by the classes between ``bounds``, which have no inner edges.
        """


@dataclass(frozen=True)
class CoordinateDescent:
    """v_q ← max(0, v_q − g_q / h_q), one component after the other; every sweep lowers J."""

    sweeps: int = 1
    sequential: bool = True

    def apply(
        self,
        rows: IntArray,
        bounds: IntArray,
        phi: FloatArray,
        omega: FloatArray,
        source: FloatArray,
        codes: FloatArray,
        weights: FloatArray,
        coupling: Coupling,
        fit: FloatArray,
    ) -> None:
        kernels.cd_codes(
            rows, bounds, phi, omega, codes, weights, coupling.indptr, coupling.indices,
            coupling.edges, codes.dtype.type(coupling.alpha), self.sweeps, fit,
        )  # fmt: skip


@dataclass(frozen=True)
class Multiplicative:
    """The paper's rule; without the ``root`` it is Lee and Seung's, for non-negative data."""

    root: bool = True
    sequential: bool = False
    sweeps: int = 0

    def apply(
        self,
        rows: IntArray,
        bounds: IntArray,
        phi: FloatArray,
        omega: FloatArray,
        source: FloatArray,
        codes: FloatArray,
        weights: FloatArray,
        coupling: Coupling,
        fit: FloatArray,
    ) -> None:
        kernels.mu_codes(
            rows, phi, omega, source, codes, weights, coupling.indptr, coupling.indices,
            coupling.edges, codes.dtype.type(coupling.alpha), self.root, fit,
        )  # fmt: skip


def _singular_step(moment: FloatArray, system: FloatArray) -> FloatArray:
    """The shortest solution U of U · system = moment, in the scale of a unit diagonal."""
    scale = 1 / np.sqrt(system.diagonal())
    values, vectors = np.linalg.eigh(scale[:, None] * system * scale)
    keep = values > kernels.RANK_TOLERANCE * values[-1]
    vectors = scale[:, None] * vectors[:, keep]
    solution: FloatArray = (moment @ vectors) / values[keep] @ vectors.T
    return solution


class BasisRule(Protocol):
    """A new basis from the two moments."""

    def step(
        self, moment: FloatArray, gram: FloatArray, ridge: FloatArray, basis: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Lower tr(U (G + diag ridge) Uᵀ) − 2 tr(moment Uᵀ), from the present ``basis``.

        Returns U and Ω = UᵀU.
        """


@dataclass(frozen=True)
class LeastSquaresBasis:
    """U = moment · (gram + diag(ridge))⁻¹ by Cholesky; by eigenvectors where that is singular.

    A component that no sample uses and no penalty holds (zero diagonal) keeps its basis vector:
    every choice is optimal, and this one lets the component come back into use.
    """

    def step(
        self, moment: FloatArray, gram: FloatArray, ridge: FloatArray, basis: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        updated, omega = np.empty_like(moment), np.empty(gram.shape, moment.dtype)
        if kernels.solve_basis(moment, gram, ridge, updated, omega):
            return updated, omega
        updated = basis.copy()
        system = gram.astype(np.float64) + np.diag(ridge)
        used = system.diagonal() > 0
        if used.any():
            updated[:, used] = _singular_step(moment[:, used], system[np.ix_(used, used)])
        return updated, updated.T @ updated


@dataclass(frozen=True)
class NonnegativeBasis:
    """The basis by the same rule as the codes: the problem is the same with X transposed."""

    rule: CodesRule

    def step(
        self, moment: FloatArray, gram: FloatArray, ridge: FloatArray, basis: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        rows = np.arange(moment.shape[0])
        updated = basis.copy()
        weights = np.ones(len(rows), basis.dtype)
        self.rule.apply(
            rows, np.array([0, len(rows)]), moment, gram.astype(basis.dtype), basis, updated,
            weights, no_coupling(basis.dtype), np.empty(len(rows), basis.dtype),
        )  # fmt: skip
        return updated, updated.T @ updated
