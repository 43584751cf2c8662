"""A new basis from the two moments

    moment = Xᵀ(d∘V)  (m × k),   gram = Vᵀ(d∘V)  (k × k)

by one of two rules. Both lower tr(U (G + diag ridge) Uᵀ) − 2 tr(moment Uᵀ).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from .._types import FloatArray
from ..compiled import state
from ..compiled.basis import RANK_TOLERANCE, nonnegative_basis, solve_basis
from ..data import Rule


class BasisRule(Protocol):
    """A new basis from the two moments."""

    def step(
        self, moment: FloatArray, gram: FloatArray, ridge: FloatArray, basis: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """U and Ω = UᵀU, from the present ``basis``."""


def _singular_step(moment: FloatArray, system: FloatArray) -> FloatArray:
    """The shortest solution U of U · system = moment, in the scale of a unit diagonal."""
    scale = 1 / np.sqrt(system.diagonal())
    values, vectors = np.linalg.eigh(scale[:, None] * system * scale)
    keep = values > RANK_TOLERANCE * values[-1]
    vectors = scale[:, None] * vectors[:, keep]
    solution: FloatArray = (moment @ vectors) / values[keep] @ vectors.T
    return solution


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
        if solve_basis(moment, gram, ridge, updated, omega):
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

    rule: Rule

    def step(
        self, moment: FloatArray, gram: FloatArray, ridge: FloatArray, basis: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        (m, _), dtype = moment.shape, basis.dtype
        features: Any = np.arange(m)
        bounds, updated = np.array([0, m]), basis.copy()
        old, new = (_point(factor) for factor in (basis, updated))
        rule = self.rule
        step = state.make_step(rule.kind, rule.sweeps, rule.root, 0.0, 0.0, 0.0, 0.0)
        run = _run_without_samples(m, dtype)
        nonnegative_basis(run, features, bounds, moment, gram.astype(dtype), old, new, step)
        return updated, updated.T @ updated


def _point(rows: FloatArray) -> Any:
    nothing = np.zeros(0, rows.dtype)
    return state.make_point(rows, nothing, nothing, nothing, rows[:0])


@lru_cache(maxsize=8)
def _run_without_samples(count: int, dtype: Any) -> Any:
    """What the rule for codes looks at where there are neither samples nor graph nor penalty."""
    nothing, nobody, numbers = np.zeros(0, dtype), np.zeros(0, np.int32), np.zeros(0, np.int64)
    rows, floats, parameters = np.zeros((0, 0), dtype), np.zeros(0), np.zeros(1)
    samples = state.make_dense(nothing, (0, 0), True, False, nobody, numbers, nothing, nothing, 0)
    graph = state.make_graph(
        nobody, nobody, nothing, nobody.reshape(0, 4), numbers, numbers, numbers
    )
    terms = state.make_terms(0, 0, 0, (parameters,) * 3, 0.0, (0.0, 0.0, 0.0))
    sums = state.make_sums(floats, floats, floats, rows, rows, floats)
    scratch = state.make_scratch(rows, np.empty(count, dtype), rows)
    cuts = state.make_cuts(numbers, numbers, numbers)
    return state.make_run(samples, cuts, graph, terms, sums, scratch)
