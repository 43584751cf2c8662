"""From validated data to a fitted factorization: graph, engine, starts, solver, finishing.

This module is the door to the numerics: the estimators import it when a fit begins, and with it
the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import init as starts
from ._types import FloatArray
from .engines import Compression, Engine, pays
from .graph import NeighbourGraph
from .objective import PAPER_FLOORS, Floors, Measure, Objective
from .projection import nonnegative_codes
from .solver import Callback, Descent, Scheme, Solution, Stopping, run
from .stationarity import kkt_residual
from .updates import (
    CodesRule,
    CoordinateDescent,
    LeastSquaresBasis,
    Multiplicative,
    NonnegativeBasis,
)

# Lengths below this share of a typical one are not told from zero, keyed by bytes per number.
_RELATIVE_FLOOR = {8: 1e-10, 4: 1e-6}
# Sweeps of coordinate descent per iteration.
_SWEEPS = 2


@dataclass(frozen=True)
class Plan:
    """What to fit and how, with every parameter a checked value."""

    n_components: int
    loss: Measure
    graph_measure: Measure
    alpha: float
    beta: float
    nonnegative: bool
    solver: str
    init: str | tuple[FloatArray, FloatArray]
    n_init: int
    stopping: Stopping
    callback: Callback | None
    length: float
    """Typical length of a sample."""


def _scheme(plan: Plan) -> Scheme:
    rule: CodesRule
    if plan.solver == "mu":
        rule = Multiplicative(root=not plan.nonnegative)
    else:
        rule = CoordinateDescent(_SWEEPS)
    basis = NonnegativeBasis(rule) if plan.nonnegative else LeastSquaresBasis()
    return Scheme(rule, basis, accelerate=plan.solver == "cd")


class _Space:
    """The features that the solver works in: those of X, or those of its compression."""

    def __init__(self, X: Any, plan: Plan, squares: FloatArray) -> None:
        self.full = Engine(X, plan.n_components, squares=squares)
        self.compression: Compression | None = None
        self.engine = self.full
        if not plan.nonnegative and pays(X, plan.n_components):
            self.compression = Compression(X)
            self.engine = Engine(self.compression.L, plan.n_components, squares=squares)

    def lift(self, basis: FloatArray) -> FloatArray:
        return basis if self.compression is None else self.compression.lift(basis)

    def descent(
        self,
        start: tuple[FloatArray, FloatArray],
        objective: Objective,
        scheme: Scheme,
        graph: NeighbourGraph | None,
        share: FloatArray | None,
    ) -> Descent:
        """Begin at a start that is in the features of X, or already in those of the engine.

        The part of U0 outside the row space of X is lost by compression, but it belongs to the
        residuals and lengths from which the first weights are made.
        """
        basis, codes = start
        if self.compression is None or basis.shape[0] == self.engine.n_features:
            return Descent(self.engine, objective, scheme, graph, share, basis, codes)
        residuals = self.full.residuals(basis, codes)
        lengths = np.linalg.norm(basis, axis=0)
        lowered = self.compression.lower(basis)
        return Descent(
            self.engine, objective, scheme, graph, share, lowered, codes, residuals, lengths
        )


def _make_start(
    name: str, space: _Space, plan: Plan, share: FloatArray | None, rng: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    engine, k = space.engine, plan.n_components
    if name == "random":
        n, m = space.full.n_samples, space.full.n_features
        low = 0.0 if plan.nonnegative else -1.0
        return starts.random_start(n, m, k, rng, engine.dtype, low)
    if name == "svd":
        lengths = np.sqrt(engine.squares)
        weights = plan.loss.weights(lengths, 1e-3 * plan.length)
        weights = weights if share is None else weights * share
        start = starts.nonnegative_svd_start if plan.nonnegative else starts.svd_start
        basis, codes = start(engine, k, weights, rng)
    elif name == "kmeans":
        basis, codes = starts.kmeans_start(engine, k, share, rng)
    else:
        basis, codes = starts.exemplar_start(engine, k, share, rng)
    if plan.nonnegative:
        basis = starts.above_zero(np.maximum(basis, 0), None)
    if plan.nonnegative or plan.solver == "mu":
        codes = starts.above_zero(codes, share)
    return basis, codes


def _floors(plan: Plan, basis: FloatArray, codes: FloatArray) -> Floors:
    """The paper's floors for its algorithm; in proportion to the data for ours."""
    if plan.solver == "mu":
        return PAPER_FLOORS
    share = _RELATIVE_FLOOR[basis.dtype.itemsize]
    code = float(np.sqrt((codes**2).sum(axis=1).mean())) or 1.0
    vector = float(np.linalg.norm(basis, axis=0).mean()) or 1.0
    return Floors(share * (plan.length or 1.0), share * code, share * vector)


def _polish(engine: Engine, solution: Solution, objective: Objective, share: Any) -> None:
    """Codes that are exactly optimal for the final basis; part of the last iteration.

    Without a graph each sample's code is then its non-negative least-squares solution, which is
    what ``transform`` gives.
    """
    codes = solution.codes.copy()
    nonnegative_codes(engine, solution.basis, codes)
    residuals = engine.residuals(solution.basis, codes)
    loss = objective.loss.value(residuals, share)
    value = objective.total(loss, 0.0, np.linalg.norm(solution.basis, axis=0))
    if value <= solution.objective:
        solution.codes, solution.residuals = codes, residuals
        solution.history[-1] = value


def factorize(
    X: Any,
    plan: Plan,
    squares: FloatArray,
    matrix: sp.csr_array | None,
    share: FloatArray | None,
    rng: np.random.RandomState,
) -> Solution:
    """Run the plan; the best of ``n_init`` starts, with its basis in the features of X.

    ``squares`` are ‖x_i‖², ``matrix`` the graph (None without one), ``share`` the sample weights.
    """
    space = _Space(X, plan, squares)
    scheme = _scheme(plan)
    objective = Objective(plan.loss, plan.graph_measure, plan.alpha, plan.beta)
    best: Solution | None = None
    with space.full, space.engine:
        engine = space.engine
        graph = None
        if matrix is not None:
            graph = NeighbourGraph.prepare(matrix, engine.squares, engine.dtype)
        for number in range(plan.n_init):
            if isinstance(plan.init, tuple):
                start = plan.init
            else:
                name = "svd" if plan.init == "auto" else plan.init
                start = _make_start(name, space, plan, share, rng)
            local = replace(objective, floors=_floors(plan, *start))
            descent = space.descent(start, local, scheme, graph, share)
            callback = _lifting(plan.callback, space.lift)
            solution = run(descent, plan.stopping, callback, number)
            if best is None or solution.objective < best.objective:
                best, best_objective = solution, local
        assert best is not None
        if graph is None and plan.solver == "cd":
            _polish(engine, best, best_objective, share)
        best.kkt_residual = kkt_residual(
            engine, best_objective, graph, share, best.basis, best.codes, best.residuals,
            plan.nonnegative,
        )  # fmt: skip
    best.basis = space.lift(best.basis)
    return best


def _lifting(
    callback: Callback | None, lift: Callable[[FloatArray], FloatArray]
) -> Callback | None:
    """A callback that sees the basis in the features of X."""
    if callback is None:
        return None

    def wrapped(progress: Any) -> object:
        def factors() -> tuple[FloatArray, FloatArray]:
            basis, codes = progress.factors()
            return lift(basis), codes

        return callback(replace(progress, factors=factors))

    return wrapped
