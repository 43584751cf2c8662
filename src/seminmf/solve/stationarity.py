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
import scipy.sparse as sp

from .._types import FloatArray
from ..data import Block
from ..graph.neighbours import NeighbourGraph
from .loop import Solution
from .updates import LeastSquaresBasis


def kkt_residual(
    graph: NeighbourGraph | None,
    share: FloatArray | None,
    solution: Solution,
    nonnegative: bool,
) -> float:
    """The larger of the two relative residuals described above."""
    engine = solution.space.engine
    objective, basis, codes = solution.problem, solution.basis, solution.codes
    weights = objective.sample_weights(solution.residuals, share)
    omega = basis.T @ basis
    pull: Any = None
    degree: FloatArray = np.zeros(0)
    if graph is not None:
        edges = graph.base.copy()
        graph.penalty(codes, objective.graph.power == 2, objective.floors.edge, edges, engine)
        laplacian = sp.csr_array((edges, graph.indices, graph.indptr), shape=(len(codes),) * 2)
        pull = laplacian @ codes
        degree = np.asarray(laplacian.sum(axis=1)).ravel()

    def visit(
        rows: slice, block: Block, phi: FloatArray | None
    ) -> tuple[FloatArray, tuple[float, float, FloatArray]]:
        assert phi is not None
        part, d = codes[rows], weights[rows, None]
        gradient = d * (part @ omega - phi)
        curvature = d * omega.diagonal()
        if pull is not None:
            stiff = degree[rows, None]
            gradient = gradient + objective.alpha * (stiff * part - pull[rows])
            curvature = curvature + objective.alpha * stiff
        step = part - np.maximum(part - gradient / np.maximum(curvature, 1e-300), 0)
        weighted = d * part
        energy = float((curvature * step * step).sum()), float((curvature * part * part).sum())
        return weighted, (*energy, part.T @ weighted)

    moment, results = engine.sweep(basis, visit)
    assert moment is not None
    step_v, size_v = (sum(result[i] for result in results) for i in (0, 1))
    gram = np.sum([result[2] for result in results], axis=0)
    ridge = objective.beta * objective.basis_weights(np.linalg.norm(basis, axis=0))
    system = gram + np.diag(ridge)
    if nonnegative:
        curvature = np.maximum(system.diagonal(), 1e-300)
        delta = basis - np.maximum(basis - (basis @ system - moment) / curvature, 0)
    else:
        delta = basis - LeastSquaresBasis().step(moment, gram, ridge, basis)[0]
    step_u = float(((delta @ system) * delta).sum())
    size_u = float(((basis @ system) * basis).sum())
    return float(
        np.sqrt(max(step_v / size_v if size_v > 0 else 0, step_u / size_u if size_u > 0 else 0, 0))
    )
