"""How far a pair (U, V) is from satisfying the first-order (KKT) conditions.

The quadratic that touches J at (U, V) is minimised by J's stationary points. For each coordinate of
V the residual is the Newton step to its minimum over v ≥ 0, for U the step to its minimiser, both
measured in the norm of the quadratic and relative to the size of the factor itself:

    r_V = sqrt(Σ h (v − [v − g/h]₊)² / Σ h v²),   r_U = sqrt(tr(Δ M Δᵀ) / tr(U M Uᵀ))

The larger of the two is reported. It has no unit, does not change when the scale goes from U to V,
and stays meaningful where residuals are zero and weights enormous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import FloatArray
from ..compiled.rooms import no_graph
from ..compiled.stationarity import newton_steps
from ..data import Engine, Visited
from ..graph.prepared import NeighbourGraph
from .basis import Basis, BasisRule, NonnegativeBasis
from .objective import Objective


def kkt_residual(
    objective: Objective,
    engine: Engine,
    graph: NeighbourGraph | None,
    share: FloatArray | None,
    factors: tuple[FloatArray, FloatArray],
    residuals: FloatArray,
    rule: BasisRule,
) -> float:
    """The larger of the two relative residuals described above, at ``factors`` = (U, V)."""
    sums = stationarity_sums(objective, engine, graph, share, factors, residuals)
    return kkt_from_sums(objective, factors[0], sums, rule)


@dataclass(frozen=True)
class Sums:
    """What the rows contribute: numerator and denominator of r_V², and the moments at V."""

    step: float
    size: float
    moment: FloatArray
    gram: FloatArray

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.step + other.step, self.size + other.size, self.moment + other.moment,
            self.gram + other.gram,
        )  # fmt: skip


def stationarity_sums(
    objective: Objective,
    engine: Engine,
    graph: Any,
    share: FloatArray | None,
    factors: tuple[FloatArray, FloatArray],
    residuals: FloatArray,
) -> Sums:
    """Those of the rows of an engine; beyond them ``codes`` may have some of neighbours.

    In double precision, whose range no curvature leaves.
    """
    weights = objective.loss.weights(residuals, objective.floors.residual, share)
    weights = weights.astype(np.float64, copy=False)
    own = factors[1][: engine.n_samples].astype(np.float64, copy=False)
    weighted = weights[:, None] * own
    measure = _codes_step(objective, graph, share, factors, weights)
    found: dict[int, tuple[float, float]] = {}

    def visit(rows: slice, visited: Visited) -> FloatArray:
        found[rows.start] = measure(rows, visited.times(factors[0]))
        return visited.adjoint_times(weighted[rows])

    moment = engine.sum_over_rows(visit)
    steps, sizes = zip(*(found[start] for start in sorted(found)), strict=True)
    return Sums(sum(steps), sum(sizes), moment, own.T @ weighted)


def kkt_from_sums(objective: Objective, basis: FloatArray, sums: Sums, rule: BasisRule) -> float:
    """The same as `kkt_residual` from what all rows contribute."""
    moment, gram, basis = sums.moment, sums.gram, basis.astype(np.float64, copy=False)
    beta, floor, now = objective.beta, objective.floors.basis, Basis.of(basis)
    system = gram.astype(np.float64)
    diagonal = np.einsum("ii->i", system)
    diagonal += now.ridge(beta, floor)
    if isinstance(rule, NonnegativeBasis):
        # A step down is no longer than to zero; where there is no curvature nothing is measured.
        delta = np.minimum(basis @ system - moment, diagonal * basis)
        np.divide(delta, diagonal, out=delta, where=diagonal > 0)
        delta[:, diagonal <= 0] = 0
    else:
        delta = basis - rule.step(moment, gram, now, beta, floor).U
    of_basis = _ratio(float(np.vdot(delta @ system, delta)), float(np.vdot(basis @ system, basis)))
    return float(np.sqrt(max(_ratio(sums.step, sums.size), of_basis, 0)))


def _ratio(step: float, size: float) -> float:
    return step / size if size > 0 else 0.0


def _codes_step(
    objective: Objective,
    graph: Any,
    share: FloatArray | None,
    factors: tuple[FloatArray, FloatArray],
    weights: FloatArray,
) -> Callable[[slice, FloatArray], tuple[float, float]]:
    """What some rows, with their X·U, add to the numerator and the denominator of r_V²."""
    basis, codes = factors[0], np.ascontiguousarray(factors[1])
    exact = basis.astype(np.float64, copy=False)
    omega, penalty, alpha = exact.T @ exact, objective.penalty, float(objective.alpha)
    nothing = np.zeros(0)
    if graph is None:
        structure, edges = no_graph(codes.dtype), np.zeros(0, codes.dtype)
    else:
        structure = graph.structure
        edges = graph.edge_weights(codes, objective.terms(codes.dtype, 0.0))

    def measure(rows: slice, phi: FloatArray) -> tuple[float, float]:
        push, ridge = nothing.reshape(0, 1), nothing
        if penalty is not None:
            part = codes[rows].astype(np.float64, copy=False)
            ridge = np.full(len(part), 0.5 * objective.mu)
            if share is not None:
                ridge *= share[rows]
            push = ridge[:, None] * (penalty.measure(part)[1] + penalty.curvature * part)
            ridge *= penalty.curvature
        phi = phi.astype(np.float64, copy=False)
        found: tuple[float, float] = newton_steps(
            rows.start, phi, codes, omega, weights, structure, edges, alpha, push, ridge
        )
        return found

    return measure
