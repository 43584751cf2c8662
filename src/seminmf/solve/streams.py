"""A factorization of samples that come in batches and are not kept.

Of all samples seen, two sums of fixed size remain,

    gram = Σ γ Vᵀ(d∘V)  (k × k),   moment = Σ γ Xᵀ(d∘V)  (m × k),

with the codes and weights that each batch had when it came, faded by γ < 1 if older batches are to
count less. For a new batch the codes are solved for the present basis, the batch is added to the
sums, and the new basis minimises the quadratic that they define [1]_. The weights, those of the
loss for each sample of a batch, make this as robust as a fit.

A basis fits the samples that it was computed from better than others, some of them exactly, and a
weight of 1 / residual would hold it there for ever. Residuals below the typical one of batches that
the basis has not seen yet therefore count as that.

References
----------
.. [1] Mairal J., Bach F., Ponce J., Sapiro G., "Online Learning for Matrix Factorization and Sparse
   Coding", 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._types import FloatArray
from ..data import DESCEND, Engine, Rule
from ..data.samples import weighted_median
from ..problem.basis import Basis, BasisRule, LeastSquaresBasis, NonnegativeBasis
from ..problem.objective import Objective
from .projection import solve_codes

# Sweeps of coordinate descent for a non-negative basis, which has no closed form. A sweep takes
# little beside a batch.
_SWEEPS = 10
# For the penalty, basis vectors shorter than this share of the mean length count as that long.
_RELATIVE_FLOOR = 1e-10


@dataclass(frozen=True)
class Memory:
    """What is kept of the samples seen: their two sums and their number."""

    gram: FloatArray
    moment: FloatArray
    weight: float
    """Their number, or total weight, faded like the sums."""
    typical: float
    """Typical residual of a batch before the basis has seen it."""
    n_samples: int

    def faded(self, share: float) -> Memory:
        gram, moment, weight = share * self.gram, share * self.moment, share * self.weight
        return replace(self, gram=gram, moment=moment, weight=weight)


@dataclass(frozen=True)
class Past:
    """A finished fit to continue from, whose samples are not there any more."""

    codes: FloatArray
    residuals: FloatArray
    share: FloatArray | None

    @property
    def weight(self) -> float:
        return float(len(self.codes) if self.share is None else self.share.sum())

    def remembered(self, basis: Basis, objective: Objective, typical: float) -> Memory:
        """The fit as a memory, with the moment whose best basis is that of the fit."""
        codes, residuals = self.codes.astype(np.float64), self.residuals.astype(np.float64)
        share = None if self.share is None else self.share.astype(np.float64)
        weights = objective.loss.weights(residuals, typical or 1.0, share)
        gram = codes.T @ (weights[:, None] * codes)
        ridge = basis.ridge(objective.beta * self.weight, _floor(basis))
        moment = basis.U @ (gram + np.diag(ridge))
        return Memory(gram, moment, self.weight, typical, len(codes))


@dataclass(frozen=True)
class Absorbed:
    """A batch after it was added: its codes, and the basis and memory changed by it."""

    basis: FloatArray
    codes: FloatArray
    residuals: FloatArray
    objective: float
    memory: Memory


def basis_rule(nonnegative: bool) -> BasisRule:
    """How the basis follows from the sums."""
    return NonnegativeBasis(Rule(DESCEND, sweeps=_SWEEPS)) if nonnegative else LeastSquaresBasis()


def _floor(basis: Basis) -> float:
    return _RELATIVE_FLOOR * float(basis.lengths.mean()) or _RELATIVE_FLOOR


def absorb(
    X: Any,
    share: FloatArray | None,
    basis: FloatArray,
    past: Past | Memory,
    objective: Objective,
    rule: BasisRule,
    forgetting: float,
) -> Absorbed:
    """Add a batch to the past, whose sums are multiplied by ``forgetting``.

    The β of the objective is that of one sample.
    """
    now = Basis.of(np.ascontiguousarray(basis, np.float64))
    with Engine(X, basis.shape[1]) as engine:
        codes = np.zeros((engine.n_samples, basis.shape[1]), engine.dtype)
        residuals = _solve(engine, now.U, objective, codes)
        typical = _middle(residuals, share)
        if isinstance(past, Past):
            past = past.remembered(now, objective, typical)
        past = past.faded(forgetting)
        memory = _with_batch(past, engine, codes, residuals, share, typical, objective)
        beta = objective.beta * memory.weight
        now = rule.step(memory.moment, memory.gram, now, beta, _floor(now))
        residuals = _solve(engine, now.U, objective, codes)
    batch = engine.n_samples if share is None else float(share.sum())
    loss = objective.loss.total(residuals, share)
    penalty = objective.mu * objective.codes_penalty(codes, share)
    value = loss + penalty + objective.beta * batch * now.penalty
    return Absorbed(now.U, codes, residuals, value, memory)


def _middle(residuals: FloatArray, share: FloatArray | None) -> float:
    """The weighted median over the samples that count."""
    if share is None:
        return weighted_median(residuals, None)
    return weighted_median(residuals[share > 0], share[share > 0])


def _solve(
    engine: Engine, basis: FloatArray, objective: Objective, codes: FloatArray
) -> FloatArray:
    """Solve for the codes in place, from those given; returns the residuals."""
    basis = basis.astype(engine.dtype)
    solve_codes(engine, basis, objective, codes)
    return engine.residuals(basis, codes)


def _with_batch(
    past: Memory,
    engine: Engine,
    codes: FloatArray,
    residuals: FloatArray,
    share: FloatArray | None,
    typical: float,
    objective: Objective,
) -> Memory:
    batch = engine.n_samples if share is None else float(share.sum())
    weight = past.weight + batch
    typical = (past.weight * past.typical + batch * typical) / weight
    weights = objective.loss.weights(residuals, typical or 1.0, share)[:, None]
    weighted = weights * codes
    gram = past.gram + codes.T.astype(np.float64) @ weighted
    moment = past.moment + engine.adjoint_times(weighted)
    return Memory(gram, moment, weight, typical, past.n_samples + engine.n_samples)
