"""How far a pair (U, V) is from satisfying the first-order (KKT) conditions.

The quadratic that touches J at (U, V) is minimised by J's stationary points. For each coordinate of
V the residual is the Newton step to its minimum over v ≥ 0, for U the step to its minimiser, both
measured in the norm of the quadratic and relative to the size of the factor itself:

    r_V = sqrt(Σ h (v − [v − g/h]₊)² / Σ h v²),   r_U = sqrt(tr(Δ M Δᵀ) / tr(U M Uᵀ))

The larger of the two is reported. It has no unit, does not change when the scale goes from U to V,
and stays meaningful where residuals are zero and weights enormous.
"""

from __future__ import annotations

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
    objective, basis, codes, _ = objective.with_ordinary(*factors)
    codes = codes if graph is None else graph.with_neighbours(codes)
    exact = basis.astype(np.float64, copy=False)
    omega = exact.T @ exact
    sums = engine.summed(_sums, objective, engine, graph, share, basis, omega, codes, residuals)
    return _kkt(objective, Basis.known(exact, omega), sums, rule)


def _sums(
    objective: Objective,
    engine: Engine,
    graph: Any,
    share: FloatArray | None,
    basis: FloatArray,
    omega: FloatArray,
    codes: FloatArray,
    residuals: FloatArray,
) -> FloatArray:
    """The moments at V of the rows of an engine, one below the other, and under them numerator and
    denominator of r_V²; beyond the rows ``codes`` may have some of neighbours.

    In double precision, whose range no curvature leaves.
    """
    codes, k = np.ascontiguousarray(codes), basis.shape[1]
    penalty, alpha = objective.penalty, float(objective.alpha)
    weights = objective.loss.weights(residuals, objective.floors.residual, share)
    weights = weights.astype(np.float64, copy=False)
    nothing = np.zeros(0)
    if graph is None:
        structure, edges = no_graph(codes.dtype), np.zeros(0, codes.dtype)
    else:
        structure = graph.structure
        edges = graph.measure(codes, objective)[1]

    def visit(rows: slice, visited: Visited) -> FloatArray:
        own = codes[rows].astype(np.float64, copy=False)
        push, ridge = nothing.reshape(0, 1), nothing
        if penalty is not None:
            ridge = np.full(len(own), 0.5 * objective.mu)
            if share is not None:
                ridge *= share[rows]
            push = ridge[:, None] * (penalty.measure(own)[1] + penalty.curvature * own)
            ridge *= penalty.curvature
        phi = visited.times(basis).astype(np.float64, copy=False)
        found = np.zeros((len(basis) + k + 2, k))
        found[-2:, 0] = newton_steps(
            rows.start, phi, codes, omega, weights, structure, edges, alpha, push, ridge
        )
        weighted = weights[rows, None] * own
        found[: len(basis)] = visited.adjoint_times(weighted)
        found[len(basis) : -2] = own.T @ weighted
        return found

    return engine.sum_over_rows(visit)


def _kkt(objective: Objective, now: Basis, sums: FloatArray, rule: BasisRule) -> float:
    """From what all rows contribute."""
    basis, beta, floor = now.U, objective.beta, objective.floors.basis
    moment, gram, (step, size) = sums[: len(basis)], sums[len(basis) : -2], sums[-2:, 0].tolist()
    system = gram.copy()
    diagonal = system.reshape(-1)[:: len(system) + 1]
    diagonal += now.ridge(beta, floor)
    if isinstance(rule, NonnegativeBasis):
        # A step down is no longer than to zero; where there is no curvature nothing is measured.
        delta = np.minimum(basis @ system - moment, diagonal * basis)
        np.divide(delta, diagonal, out=delta, where=diagonal > 0)
        delta[:, diagonal <= 0] = 0
    else:
        delta = basis - rule.step(moment, gram, now, beta, floor).U
    of_basis = _ratio(float(np.vdot(delta @ system, delta)), float(np.vdot(basis @ system, basis)))
    return float(np.sqrt(max(_ratio(step, size), of_basis, 0)))


def _ratio(step: float, size: float) -> float:
    return step / size if size > 0 else 0.0
