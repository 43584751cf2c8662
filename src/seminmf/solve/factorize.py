"""From validated data to a fitted factorization: graph, engine, starts, solver, finishing.

This module is the door to the numerics: the estimators import it when a fit begins, and with it
the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..data import (
    DESCEND,
    MULTIPLY,
    Engine,
    LazyCompression,
    Rule,
    Space,
    leading_subspace,
)
from ..graph.prepared import NeighbourGraph
from ..problem.basis import LeastSquaresBasis, NonnegativeBasis
from ..problem.losses import Loss, Norm
from ..problem.objective import PAPER_FLOORS, Floors, Objective
from ..problem.penalties import CodesPenalty
from ..problem.stationarity import kkt_residual
from . import starts
from .checkpoint import Checkpoint, Keeper, State
from .descent import Descent, Scheme
from .finishing import Finish
from .loop import Callback, Solution, Stopping, run
from .projection import solve_codes

# Lengths below this share of a typical one are not told from zero, keyed by bytes per number.
_RELATIVE_FLOOR = {8: 1e-10, 4: 1e-6}
# Shorter samples than this share of a typical one count as so long in the weights of the SVD start.
SHORTEST = 1e-3
# With fewer samples than this many per component, samples themselves may be the best basis.
_FEW_SAMPLES = 20
# Differences of the objective below this share of what it is for V = 0 mean nothing, and lengths
# below this share of a typical one have no digits; keyed by bytes per number.
ROUND_OFF = {8: 1e-14, 4: 1e-6}
# With so many features per component a second sweep over the codes takes little beside the products
# with X. More than two bring nothing (docs/constants.md).
_FEATURES_FOR_TWO_SWEEPS = 12
# Samples with more features than samples are compressed at once if that costs no more than so many
# iterations: few fits end before.
_FEWEST_ITERATIONS = 12


@dataclass(frozen=True)
class Plan:
    """What to fit and how, with every parameter a checked value."""

    n_components: int
    loss: Loss
    graph_measure: Loss
    alpha: float
    beta: float
    penalty: CodesPenalty | None
    mu: float
    nonnegative: bool
    solver: str
    init: str | tuple[FloatArray, FloatArray]
    n_init: int
    stopping: Stopping
    callback: Callback | None
    length: float
    """Typical length of a sample."""
    checkpoint: Checkpoint | None = None


def scheme_of(plan: Plan, n_features: int) -> Scheme:
    """A second sweep pays where products with X or visits to neighbours take most of the time."""
    if plan.solver == "mu":
        rule = Rule(MULTIPLY, root=not plan.nonnegative)
    else:
        two = plan.alpha > 0 or n_features >= _FEATURES_FOR_TWO_SWEEPS * plan.n_components
        rule = Rule(DESCEND, sweeps=2 if two else 1)
    basis = NonnegativeBasis(rule) if plan.nonnegative else LeastSquaresBasis()
    return Scheme(rule, basis, accelerate=plan.solver == "cd")


def looks_at_data(plan: Plan, number: int) -> bool:
    """Whether the start depends on X. The SVD gives the same one each time, so that further
    starts of "auto" are random.
    """
    return isinstance(plan.init, str) and (
        plan.init in ("svd", "kmeans", "exemplar") or (plan.init == "auto" and number == 0)
    )


def _space(
    plan: Plan,
    engine: Engine,
    compression: LazyCompression,
    share: FloatArray | None,
    number: int,
) -> Space:
    """Where a run starts: if that is cheap in the span of the samples, where all is faster.
    Factors of an earlier factorization of the same ground start where that one ended.

    With a graph, which takes many iterations, in the leading directions if the start comes from
    them. Without one the start is so near to the end that they bring nothing.
    """
    space = Space(engine)
    if isinstance(plan.init, tuple) and number == 0:
        return compression.space or space
    if not looks_at_data(plan, number) or plan.nonnegative:
        return space
    space = (
        compression.at_once(np.inf if starts.few_samples(engine) else _FEWEST_ITERATIONS) or space
    )
    if plan.alpha > 0 and plan.init in ("auto", "svd") and plan.solver == "cd":
        weights = _start_weights(plan, engine, share)
        return leading_subspace(space, plan.n_components, weights) or space
    return space


def _known_space(
    plan: Plan,
    engine: Engine,
    compression: LazyCompression,
    share: FloatArray | None,
    state: State,
) -> Space:
    """Where a run was when its ``state`` was kept."""
    space = compression.space if state["compressed"] else Space(engine)
    if state.get("confined"):
        assert space is not None
        space = leading_subspace(space, plan.n_components, _start_weights(plan, engine, share))
    assert space is not None
    return space


def _known_factors(state: State) -> tuple[FloatArray, FloatArray]:
    """Of the right shapes to begin with; the ``state`` is what a run then goes on from."""
    return state["basis"]["U"].copy(), state["rows"]["codes"].copy()


def _with_scale(plan: Plan, engine: Engine, share: FloatArray | None) -> Plan:
    """With a number for the scale of the loss, if that is left to the data."""
    if plan.loss.is_resolved:
        return plan
    weights = Norm().weights(np.sqrt(engine.squares), SHORTEST * plan.length, share)
    typical = starts.typical_residual(engine, plan.n_components, weights, share)
    # Where the leading directions leave nothing, any scale is as good as another.
    return replace(plan, loss=plan.loss.resolved(typical or SHORTEST * plan.length))


def _start_weights(plan: Plan, engine: Engine, share: FloatArray | None) -> FloatArray:
    """Those of the loss at U = 0."""
    return plan.loss.weights(np.sqrt(engine.squares), SHORTEST * plan.length, share)


def _make_start(
    plan: Plan, space: Space, share: FloatArray | None, rng: np.random.RandomState, number: int
) -> tuple[FloatArray, FloatArray]:
    engine = space.engine
    if isinstance(plan.init, tuple):
        return space.lower(plan.init[0].copy()), plan.init[1].copy()
    n, m, k = engine.n_samples, engine.n_features, plan.n_components
    if not looks_at_data(plan, number):
        return starts.random_start(n, m, k, rng, engine.dtype, 0.0 if plan.nonnegative else -1.0)
    if plan.nonnegative or not starts.few_samples(engine):
        basis, codes = _data_start(plan, engine, share, rng)
    else:
        small, lift = starts.reduced(engine)
        basis, codes = _data_start(plan, small, share, rng)
        basis = lift(basis)
    if plan.nonnegative:
        basis = starts.above_zero(np.maximum(basis, 0))
    if plan.nonnegative or plan.solver == "mu":
        codes = starts.above_zero(codes)
    return basis, codes


def _data_start(
    plan: Plan, engine: Engine, share: FloatArray | None, rng: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    """A start that looks at the data."""
    k = plan.n_components
    if plan.init == "kmeans":
        return starts.kmeans_start(engine, k, share, rng)
    if plan.init == "exemplar":
        return starts.exemplar_start(engine, k, rng)
    weights = _start_weights(plan, engine, share)
    if plan.nonnegative:
        start = starts.nonnegative_svd_start(engine, k, weights, rng)
        return starts.unit_free_codes(*start, plan.length)
    refine = plan.alpha == 0 and plan.loss.quadratic
    start = starts.svd_start(engine, k, weights, rng, refine)
    start = starts.unit_free_codes(*start, plan.length)
    robust_alone = not plan.loss.quadratic and plan.alpha == 0 and plan.solver == "cd"
    if plan.init == "auto" and robust_alone and engine.n_samples <= _FEW_SAMPLES * k:
        # So few samples may be best explained by k of them, exactly: take the better start.
        rival = starts.exemplar_start(engine, k, None)
        if _loss(plan, engine, share, *rival) < _loss(plan, engine, share, *start):
            return rival
    return start


def _loss(
    plan: Plan, engine: Engine, share: FloatArray | None, basis: FloatArray, codes: FloatArray
) -> float:
    """The loss at a start, by the short formula."""
    fit = np.einsum("ij,ij->i", codes @ (basis.T @ basis) - 2 * engine.times(basis), codes)
    return plan.loss.total(np.sqrt(np.maximum(engine.squares + fit, 0)), share)


def code_length(square: float, n_samples: int) -> float:
    """The typical length of a code where their squares sum up to this; one if all are zero."""
    return float(np.sqrt(square / n_samples)) or 1.0


def floors_for(plan: Plan, basis: FloatArray, code: float) -> Floors:
    """The paper's floors for its algorithm, unless residuals have larger round-off; in proportion
    to the data for ours.

    ``code`` is the typical length of a code.
    """
    paper, size = plan.solver == "mu", basis.dtype.itemsize
    share = (ROUND_OFF if paper else _RELATIVE_FLOOR)[size]
    shortest = share * (plan.length or 1.0)
    if paper:
        return replace(PAPER_FLOORS, residual=max(shortest, PAPER_FLOORS.residual))
    vector = float(np.linalg.norm(basis, axis=0).mean()) or 1.0
    return Floors(shortest, share * code, share * vector)


def exact_codes(solution: Solution) -> tuple[FloatArray, FloatArray]:
    """The basis, and codes that are exactly optimal for it where there is no graph.

    Parts of which rounding alone is left, beside the longest, are zero: codes that use them would
    be enormous.
    """
    engine = solution.space.engine
    lengths = np.linalg.norm(solution.basis, axis=0)
    left = lengths > ROUND_OFF[solution.basis.itemsize] * lengths.max()
    basis, codes = np.where(left, solution.basis, 0), solution.codes.copy()
    if codes.shape[1] > min(engine.n_samples, engine.n_features):
        # The solution is not unique: take the one that ``transform`` arrives at.
        codes[:] = 0
    solve_codes(engine, basis, solution.problem, codes)
    return basis, codes


def _polish(solution: Solution, share: FloatArray | None) -> None:
    """Each sample's code is the solution of its own problem, which is what ``transform`` gives.

    Part of the last iteration.
    """
    engine, objective = solution.space.engine, solution.problem
    basis, codes = exact_codes(solution)
    residuals = engine.residuals(basis, codes)
    loss, penalty = objective.loss.total(residuals, share), objective.codes_penalty(codes, share)
    value = objective.total(loss, 0.0, penalty, float(np.linalg.norm(basis, axis=0).sum()))
    nothing = objective.loss.total(np.sqrt(engine.squares), share)
    if value <= solution.objective + ROUND_OFF[codes.itemsize] * nothing:
        solution.basis, solution.codes, solution.residuals = basis, codes, residuals
        solution.history[-1] = value


def _around(
    number: int, rng: np.random.RandomState, compression: LazyCompression, best: Solution | None
) -> State:
    """What there is to keep beside the run from start ``number``."""
    state: State = {
        "start": number, "rng": rng.get_state(legacy=False), "compression": compression.state(),
    }  # fmt: skip
    return state if best is None else {**state, "best": best.state()}


class Ground:
    """Samples and their graph, on which any number of factorizations can be made.

    ``squares`` are ‖x_i‖², ``matrix`` the graph (None without one), ``share`` the sample weights.
    """

    def __init__(
        self,
        X: Any,
        n_components: int,
        squares: FloatArray,
        matrix: sp.csr_array | None,
        share: FloatArray | None,
    ) -> None:
        self.engine = engine = Engine(X, n_components, squares=squares)
        self.compression = LazyCompression(engine, n_components)
        self.share = share
        self.graph: NeighbourGraph | None = None
        if matrix is not None:
            self.graph = NeighbourGraph.prepare(
                matrix, squares, engine.dtype, engine.chunk_bounds, renumber=engine.whole
            )


def factorize(ground: Ground, plan: Plan, rng: np.random.RandomState) -> Solution:
    """Run the plan; the best of ``n_init`` starts, with its basis in the features of X."""
    engine, compression = ground.engine, ground.compression
    graph, share = ground.graph, ground.share
    best: Solution | None = None
    with engine:
        plan = _with_scale(plan, engine, share)
        objective = Objective(
            plan.loss, plan.graph_measure, plan.alpha, plan.beta, plan.penalty, plan.mu
        )
        nothing = plan.loss.total(np.sqrt(engine.squares), share)
        checkpoint, found, first = plan.checkpoint, None, 0
        if checkpoint is not None and checkpoint.found is not None:
            found = checkpoint.found
            first = found["start"]
            rng.set_state(found["rng"])
            compression.restore(found["compression"])
            if "best" in found:
                space = _known_space(plan, engine, compression, share, found["best"])
                best = Solution.restored(found["best"], space, objective)
        for number in range(first, plan.n_init):
            if found is None:
                space = _space(plan, engine, compression, share, number)
                start = _make_start(plan, space, share, rng, number)
                code = code_length(float(np.vdot(start[1], start[1])), engine.n_samples)
                local = replace(objective, floors=floors_for(plan, start[0], code))
            else:
                space = _known_space(plan, engine, compression, share, found["run"]["descent"])
                start, local = _known_factors(found["run"]["descent"]), objective
            waiting = None if plan.nonnegative else compression
            scheme = scheme_of(plan, engine.n_features)
            descent = Descent(space, local, scheme, graph, share, start, waiting)
            del space, start  # their arrays are as large as the codes
            keeper = None
            if checkpoint is not None:
                keeper = Keeper(checkpoint, partial(_around, number, rng, compression, best))
            state = None if found is None else found["run"]
            solution = run(descent, plan.stopping, plan.callback, number, keeper, state)
            del descent
            found = None
            if plan.solver == "cd":
                finish = Finish(
                    scheme, graph, share, local, plan.length, nothing, plan.stopping, plan.callback
                )
                solution = finish.thaw(solution, number)
            if best is None or solution.rank < best.rank:
                best = solution
        assert best is not None
        if plan.solver == "cd":
            finish.drop_parts(best)
            if graph is None:
                _polish(best, share)
        best.kkt_residual = kkt_residual(
            best.problem, best.space.engine, graph, share, (best.basis, best.codes),
            best.residuals, plan.nonnegative,
        )  # fmt: skip
        best.lift()
    return best
