"""The basis step: a new basis from the two moments

    moment = Xᵀ(d∘V)  (m × k),   gram = Vᵀ(d∘V)  (k × k)

by one of two rules. Both lower tr(U (G + diag ridge) Uᵀ) − 2 tr(moment Uᵀ) with ridge_j = β/2‖u_j‖,
the weights of β Σ_j ‖u_j‖ at the present basis, with lengths not below a floor.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .._quiet import quietly
from .._types import FloatArray
from ..compiled import state
from ..compiled.basis import (
    RANK_TOLERANCE,
    SINGLE_RANK_TOLERANCE,
    basis_solution,
    nonnegative_basis,
)
from ..compiled.kernels import find_kernels
from ..compiled.rooms import (
    Sizes,
    basis_room_for,
    room_for,
    run_without_samples,
)
from ..data import Rule

# A part with less than this share of the weighted squares of the codes counts as unused: its vector
# would leave the range of numbers. By bytes per number.
_UNUSED = {8: 1e-200, 4: 1e-30}


def lengths_of(U: FloatArray) -> FloatArray:
    """‖u_j‖ for each column, in double precision, whose range the squares do not leave."""
    exact = U.astype(np.float64, copy=False)
    return np.sqrt((exact * exact).sum(axis=0))


class Basis:
    """A basis U (m × k) with Ω = UᵀU, the lengths ‖u_j‖ of its columns, and their sum."""

    __slots__ = ("U", "lengths", "omega", "penalty")

    def __init__(
        self, U: FloatArray, omega: FloatArray, lengths: FloatArray, penalty: float
    ) -> None:
        self.U, self.omega, self.lengths, self.penalty = U, omega, lengths, penalty

    @classmethod
    def of(cls, U: FloatArray) -> Basis:
        # An overflow makes J infinite, and the step that led there is taken back.
        return cls.known(U, quietly(np.matmul, U.T, U))

    @classmethod
    def known(cls, U: FloatArray, omega: FloatArray) -> Basis:
        """A basis whose Ω is known."""
        lengths = np.sqrt(omega.diagonal().astype(np.float64))
        return cls(U, omega, lengths, float(lengths.sum()))

    def ridge(self, beta: float, floor: float) -> FloatArray:
        return 0.5 * beta / np.maximum(self.lengths, floor)


class BasisRule(Protocol):
    """How a new basis follows from the two moments."""

    def step(
        self, moment: FloatArray, gram: FloatArray, basis: Basis, beta: float, floor: float
    ) -> Basis:
        """The basis after the present ``basis``."""


def _singular_step(moment: FloatArray, system: FloatArray) -> FloatArray:
    """The shortest U with U · system = moment, in units that make the diagonal one."""
    scale = 1 / np.sqrt(system.diagonal())
    values, vectors = np.linalg.eigh(scale[:, None] * system * scale)
    tolerance = RANK_TOLERANCE if moment.itemsize == 8 else SINGLE_RANK_TOLERANCE
    keep = values > tolerance * values[-1]
    vectors = scale[:, None] * vectors[:, keep]
    return (moment @ vectors) / values[keep] @ vectors.T


class LeastSquaresBasis:
    """U = moment · (gram + diag(ridge))⁻¹ by Cholesky, or by eigenvectors if that is singular.

    A component that no sample uses and no penalty holds (zero diagonal) keeps its basis vector:
    every choice is optimal, and this one lets the component come back into use.
    """

    def step(
        self, moment: FloatArray, gram: FloatArray, basis: Basis, beta: float, floor: float
    ) -> Basis:
        updated, omega = np.empty_like(moment), np.empty(gram.shape, moment.dtype)
        lengths, room = np.empty_like(basis.lengths), basis_room_for(*moment.shape).fresh()
        total = basis_solution(
            moment, gram, beta, floor, basis.lengths, room, updated, omega, lengths
        )
        if total >= 0:
            return Basis(updated, omega, lengths, total)
        updated = basis.U.copy()
        system = gram.astype(np.float64) + np.diag(basis.ridge(beta, floor))
        used = system.diagonal() > _UNUSED[basis.U.itemsize] * system.diagonal().max()
        if used.any():
            updated[:, used] = _singular_step(moment[:, used], system[np.ix_(used, used)])
        return Basis.of(updated)


class NonnegativeBasis:
    """A non-negative basis by the rule of the codes: the problem is the same with X transposed."""

    def __init__(self, rule: Rule) -> None:
        self._step = rule.step()

    def step(
        self, moment: FloatArray, gram: FloatArray, basis: Basis, beta: float, floor: float
    ) -> Basis:
        (m, k), dtype = moment.shape, basis.U.dtype
        updated, nothing = basis.U.copy(), np.zeros(0, dtype)
        omega = np.ascontiguousarray(gram, dtype)
        square = state.Basis(U=omega, omega=omega, lengths=basis.lengths)
        old, new = (
            state.Point(
                basis=square, codes=factor, residuals=nothing, weights=nothing, edges=nothing,
                following=factor[:0],
            )
            for factor in (basis.U, updated)
        )  # fmt: skip
        run, room = run_without_samples(m, dtype), room_for(Sizes(0, 0, k, k, dtype)).fresh()
        find_kernels(run, room, old, self._step, dtype)
        nonnegative_basis(run, room, np.arange(m), moment, old, new, self._step)
        return Basis.of(updated)
