"""How far a pair (U, V) is from satisfying the first-order (KKT) conditions.

The quadratic that touches J at (U, V) is minimised by J's stationary points. For each coordinate of
V the residual is the Newton step to its minimum over v ≥ 0, for U the step to its minimiser, both
measured in the norm of the quadratic and relative to the size of the factor itself:

    r_V = sqrt(Σ h (v − [v − g/h]₊)² / Σ h v²),   r_U = sqrt(tr(Δ M Δᵀ) / tr(U M Uᵀ))

The larger of the two is reported. It has no unit, does not change when the scale goes from U to V,
and stays meaningful where residuals are zero and weights enormous.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..data import Engine, Visited
from ..graph.prepared import NeighbourGraph
from .basis import Basis, LeastSquaresBasis
from .objective import Objective


def kkt_residual(
    objective: Objective,
    engine: Engine,
    graph: NeighbourGraph | None,
    share: FloatArray | None,
    factors: tuple[FloatArray, FloatArray],
    residuals: FloatArray,
    nonnegative: bool,
) -> float:
    """The larger of the two relative residuals described above, at ``factors`` = (U, V)."""
    sums = stationarity_sums(objective, engine, graph, share, factors, residuals)
    return kkt_from_sums(objective, factors[0], sums, nonnegative)


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
    step, size = _codes_step(objective, engine, graph, share, factors, weights)
    own = factors[1][: engine.n_samples].astype(np.float64, copy=False)
    weighted = weights[:, None] * own
    return Sums(step, size, engine.adjoint_times(weighted), own.T @ weighted)


def kkt_from_sums(objective: Objective, basis: FloatArray, sums: Sums, nonnegative: bool) -> float:
    """The same as `kkt_residual` from what all rows contribute."""
    moment, gram, basis = sums.moment, sums.gram, basis.astype(np.float64, copy=False)
    beta, floor, now = objective.beta, objective.floors.basis, Basis.of(basis)
    system = gram + np.diag(now.ridge(beta, floor))
    if nonnegative:
        delta = _newton(basis, basis @ system - moment, system.diagonal())
    else:
        delta = basis - LeastSquaresBasis().step(moment, gram, now, beta, floor).U
    of_basis = _ratio(
        float(((delta @ system) * delta).sum()), float(((basis @ system) * basis).sum())
    )
    return float(np.sqrt(max(_ratio(sums.step, sums.size), of_basis, 0)))


def _ratio(step: float, size: float) -> float:
    return step / size if size > 0 else 0.0


def _newton(factor: FloatArray, gradient: FloatArray, curvature: FloatArray) -> FloatArray:
    """The step down to the minimum over factor ≥ 0, which is no longer than to zero; none where
    there is no curvature, which then measures nothing.
    """
    curvature = np.broadcast_to(curvature, gradient.shape)
    step: FloatArray = np.divide(
        np.minimum(gradient, curvature * factor), curvature, out=np.zeros_like(gradient),
        where=curvature > 0,
    )  # fmt: skip
    return step


def _codes_step(
    objective: Objective,
    engine: Engine,
    graph: Any,
    share: FloatArray | None,
    factors: tuple[FloatArray, FloatArray],
    weights: FloatArray,
) -> tuple[float, float]:
    """Numerator and denominator of r_V²."""
    (basis, codes), penalty = factors, objective.penalty
    exact = basis.astype(np.float64, copy=False)
    omega = exact.T @ exact
    pull: Any = None
    degree: FloatArray = np.zeros(0)
    if graph is not None:
        edges = graph.edge_weights(codes, objective.terms(codes.dtype, 0.0))
        laplacian = sp.csr_array(
            (edges, graph.indices, graph.indptr), shape=(engine.n_samples, len(codes))
        )
        pull = laplacian @ codes
        degree = np.asarray(laplacian.sum(axis=1)).ravel()

    def visit(rows: slice, _: Visited, phi: Any) -> tuple[float, float]:
        part, d = codes[rows].astype(np.float64, copy=False), weights[rows, None]
        gradient = d * (part @ omega - phi)
        curvature = d * omega.diagonal()
        if pull is not None:
            stiff = degree[rows, None]
            gradient = gradient + objective.alpha * (stiff * part - pull[rows])
            curvature = curvature + objective.alpha * stiff
        if penalty is not None:
            half = 0.5 * objective.mu * (1.0 if share is None else share[rows, None])
            gradient = gradient + half * (penalty.measure(part)[1] + penalty.curvature * part)
            curvature = curvature + half * penalty.curvature
        step = _newton(part, gradient, curvature)
        return float((curvature * step * step).sum()), float((curvature * part * part).sum())

    steps, sizes = zip(*engine.map_rows(basis, visit), strict=True)
    return sum(steps), sum(sizes)
