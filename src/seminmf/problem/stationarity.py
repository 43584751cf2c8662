"""How far a pair (U, V) is from satisfying the first-order (KKT) conditions.

At a stationary point of J, the quadratic that majorises J there has its minimum, too. For V the
residual is the Newton step of each coordinate to its minimum over v ≥ 0, for U the step to the
minimiser, both in the norm of the quadratic and relative to the size of the factor:

    r_V = sqrt(Σ h (v − [v − g/h]₊)² / Σ h v²),   r_U = sqrt(tr(Δ M Δᵀ) / tr(U M Uᵀ))

The larger of the two is reported. It has no unit, does not change when scale is moved from U to V,
and stays meaningful with residuals of zero and enormous weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._types import FloatArray
from ..compiled.rooms import no_graph
from ..compiled.stationarity import newton_steps
from ..data import Engine, Rows, Visited
from ..graph.prepared import NeighbourGraph
from .basis import Basis, BasisRule, NonnegativeBasis
from .objective import Objective

_NO_PUSH = np.zeros((0, 1)), np.zeros(0)


def kkt_residual(
    objective: Objective,
    engine: Engine,
    graph: NeighbourGraph | None,
    share: FloatArray | None,
    factors: tuple[FloatArray, FloatArray],
    residuals: FloatArray,
    rule: BasisRule,
) -> float:
    """The larger of r_U and r_V at ``factors`` = (U, V)."""
    objective, basis, codes, _ = objective.with_ordinary(*factors)
    codes = codes if graph is None else graph.with_neighbours(codes)
    now = _exact(basis)
    sums = engine.summed(_sums, objective, engine, graph, share, basis, now.omega, codes, residuals)
    moment, gram, steps = sums[: len(basis)], sums[len(basis) : -2], sums[-2:, 0]
    return _kkt(objective, now, moment, gram, steps, rule)


def kkt_residual_of(
    objective: Objective,
    rows: Rows,
    basis: Basis,
    moments: Callable[[], tuple[FloatArray, FloatArray]],
    rule: BasisRule,
) -> float:
    """The KKT residual at the current point of a run; NaN if too little of it is known.

    Uses the products that the last pass left; ``moments``, those at the codes, may need a pass.
    """
    now = basis if basis.U.itemsize == 8 else _exact(basis.U)
    steps = rows.newton_steps(now.omega, objective.alpha, partial(_pushed, objective))
    if steps is None:
        return np.nan
    moment, gram = (sums.astype(np.float64, copy=False) for sums in moments())
    return _kkt(objective, now, moment, gram, steps, rule)


def _exact(basis: FloatArray) -> Basis:
    """In double precision, whose range no curvature leaves."""
    exact = basis.astype(np.float64, copy=False)
    return Basis.known(exact, exact.T @ exact)


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
    """The moments at V over the rows of an engine, stacked: m rows, k rows, and two rows that begin
    with numerator and denominator of r_V². ``codes`` may have further rows, of neighbours.

    In double precision, as Ω.
    """
    codes, k = np.ascontiguousarray(codes), basis.shape[1]
    alpha = float(objective.alpha)
    weights = objective.loss.weights(residuals, objective.floors.residual, share)
    weights = weights.astype(np.float64, copy=False)
    if graph is None:
        structure, edges = no_graph(codes.dtype), np.zeros(0, codes.dtype)
    else:
        structure = graph.structure
        edges = graph.measure(codes, objective)[1]

    def visit(rows: slice, visited: Visited) -> FloatArray:
        own = codes[rows].astype(np.float64, copy=False)
        push, ridge = _pushed(objective, own, None if share is None else share[rows])
        slopes = own @ omega - visited.times(basis)
        found = np.zeros((len(basis) + k + 2, k))
        found[-2:, 0] = newton_steps(
            rows.start, slopes, codes, omega, weights, structure, edges, alpha, push, ridge
        )
        weighted = weights[rows, None] * own
        found[: len(basis)] = visited.adjoint_times(weighted)
        found[len(basis) : -2] = own.T @ weighted
        return found

    return engine.sum_over_rows(visit)


def _pushed(
    objective: Objective, codes: FloatArray, share: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """What the penalty adds to half of gradient and curvature; empty arrays without one."""
    penalty = objective.penalty
    if penalty is None:
        return _NO_PUSH
    ridge = np.full(len(codes), 0.5 * objective.mu)
    if share is not None:
        ridge *= share
    push = ridge[:, None] * (penalty.measure(codes)[1] + penalty.curvature * codes)
    return push, ridge * penalty.curvature


def _kkt(
    objective: Objective, now: Basis, moment: FloatArray, gram: FloatArray, steps: FloatArray,
    rule: BasisRule,
) -> float:  # fmt: skip
    """The KKT residual from sums over all rows: moments at V, and the two sums of r_V²."""
    basis, beta, floor = now.U, objective.beta, objective.floors.basis
    step, size = steps.tolist()
    system = gram.copy()
    diagonal = system.reshape(-1)[:: len(system) + 1]
    diagonal += now.ridge(beta, floor)
    if isinstance(rule, NonnegativeBasis):
        # A step down ends at zero; coordinates without curvature are left out.
        delta = np.minimum(basis @ system - moment, diagonal * basis)
        np.divide(delta, diagonal, out=delta, where=diagonal > 0)
        delta[:, diagonal <= 0] = 0
    else:
        delta = basis - rule.step(moment, gram, now, beta, floor).U
    of_basis = _ratio(float(np.vdot(delta @ system, delta)), float(np.vdot(now.omega, system)))
    return float(np.sqrt(max(_ratio(step, size), of_basis, 0)))


def _ratio(step: float, size: float) -> float:
    return step / size if size > 0 else 0.0
