"""From validated data to a fitted factorization: graph, engine, starts, solver, finishing.

This module is the door to the numerics: the estimators import it when a fit begins, and with it
the compiler.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..data import (
    Engine,
    LazyCompression,
    Space,
    leading_subspace,
)
from ..graph.prepared import NeighbourGraph
from ..problem.losses import Norm
from ..problem.objective import Floors, Objective
from ..problem.stationarity import kkt_residual
from . import starts
from .checkpoint import Keeper, State
from .descent import Descent, Scheme
from .finishing import Finish
from .loop import Solution, run
from .plan import (
    ROUND_OFF,
    SHORTEST,
    Plan,
    Weights,
    code_length,
    floors_for,
    looks_at_data,
    scheme_of,
    with_typical,
    with_weights,
)
from .projection import solve_codes

# With fewer samples than this many per component, samples themselves may be the best basis.
_FEW_SAMPLES = 20


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
    if isinstance(plan.init, tuple):
        known = compression.space
        return known if known is not None and _lies_in(known, plan.init[0]) else Space(engine)
    if not looks_at_data(plan, number) or plan.nonnegative:
        return Space(engine)
    # With more than a few samples it waits: compressing all of them early was slower.
    most = np.inf if starts.few_samples(engine) else 0.0
    space = compression.at_once(most) or Space(engine)
    if plan.alpha > 0 and plan.init in ("auto", "svd") and plan.solver == "cd":
        weights = _start_weights(plan, engine, share)
        return leading_subspace(space, plan.n_components, weights) or space
    return space


def _lies_in(space: Space, basis: FloatArray) -> bool:
    """Whether nothing of a basis is lost there."""
    rest = np.linalg.norm(space.lift(space.lower(basis)) - basis)
    return bool(rest <= ROUND_OFF[basis.itemsize] ** 0.5 * np.linalg.norm(basis))


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


def _with_scale(plan: Plan, engine: Engine, share: FloatArray | None) -> Plan:
    """With a number for the scale of the loss, if that is left to the data."""
    if plan.loss.is_resolved:
        return plan
    weights = Norm().weights(np.sqrt(engine.squares), SHORTEST * plan.length, share)
    typical = starts.typical_residual(engine, plan.n_components, weights, share)
    return with_typical(plan, typical, engine.dtype)


def _weighed(plan: Plan, engine: Engine, share: FloatArray | None) -> Plan:
    """With α, β and μ in proportion to what can be gained, if they are left to the data."""
    if plan.weigh is None:
        return plan
    weights = _start_weights(plan, engine, share)
    spread = starts.typical_spread(engine, weights, share)
    residual = starts.typical_residual(engine, plan.n_components, weights, share)
    return with_weights(plan, plan.weigh(plan.loss, spread, residual))


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


def exact_codes(solution: Solution) -> tuple[FloatArray, FloatArray]:
    """The basis, and codes that are exactly optimal for it where there is no graph.

    Parts of which rounding alone is left, beside the longest and beside what samples have of
    others, are zero: codes that use them would be enormous.
    """
    engine = solution.space.engine
    lengths = np.linalg.norm(solution.basis.astype(np.float64), axis=0)
    used = lengths * solution.codes.max(axis=0)
    least = ROUND_OFF[solution.basis.itemsize]
    left = (lengths > least * lengths.max()) | (used > least * used.max())
    basis, codes = np.where(left, solution.basis, 0), np.where(left, solution.codes, 0)
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
    nothing = objective.loss.total(np.sqrt(engine.squares), share)
    most = solution.objective + ROUND_OFF[codes.itemsize] * nothing
    length = float(np.linalg.norm(basis.astype(np.float64), axis=0).sum())
    value = _value(objective, share, codes, residuals, length)
    if objective.penalty is None and value > most:
        # By round-off, and with an enormous weight even that counts.
        worse = residuals > solution.residuals
        before = np.where(basis.any(axis=0), solution.codes, 0)
        codes[worse], residuals[worse] = before[worse], solution.residuals[worse]
        value = _value(objective, share, codes, residuals, length)
    if value <= most:
        solution.basis, solution.codes, solution.residuals = basis, codes, residuals
        solution.history[-1] = value


def _value(
    objective: Objective,
    share: FloatArray | None,
    codes: FloatArray,
    residuals: FloatArray,
    length: float,
) -> float:
    """J without a graph, for a basis of this sum of lengths."""
    loss, penalty = objective.loss.total(residuals, share), objective.codes_penalty(codes, share)
    return objective.total(loss, 0.0, penalty, length)


def _around(
    number: int,
    weights: Weights,
    rng: np.random.RandomState,
    compression: LazyCompression,
    best: Solution | None,
) -> State:
    """What there is to keep beside the run from start ``number``."""
    state: State = {
        "start": number, "weights": list(weights), "rng": rng.get_state(legacy=False),
        "compression": compression.state(),
    }  # fmt: skip
    return state if best is None else {**state, "best": best.state()}


class Ground:
    """Samples and their graph, on which any number of factorizations can be made.

    ``squares`` are ‖x_i‖², ``matrix`` the graph (None without one), ``share`` the sample weights.
    Those that are made within ``with ground:`` have their threads in common, and what a run works
    in.
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
        self._entered = 0
        # What those have in common that are made together, from the first of them on.
        self._floors: Floors | None = None
        self._last: Descent | None = None

    def __enter__(self) -> Self:
        if self._entered == 0:
            self.engine.__enter__()
        self._entered += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered -= 1
        if self._entered == 0:
            self._floors = self._last = None
            self.engine.__exit__(*error)

    def floors(self, plan: Plan, start: tuple[FloatArray, FloatArray]) -> Floors:
        """In proportion to a start."""
        if self._floors is not None:
            return self._floors
        basis, codes = start
        found = floors_for(plan, basis, code_length(float(np.vdot(codes, codes)), len(codes)))
        self._floors = found if self._entered > 1 else None
        return found

    def descent(
        self,
        space: Space,
        objective: Objective,
        scheme: Scheme,
        start: tuple[FloatArray, FloatArray],
        nonnegative: bool,
    ) -> Descent:
        """From a start, which it may overwrite; that of the run before, if it is still there."""
        last = self._last
        if last is None or not last.begins_again(space, objective, scheme, start):
            self._last = None
            waiting = None if nonnegative else self.compression
            last = Descent(space, objective, scheme, self.graph, self.share, start, waiting)
        # As large as the codes: kept only for others that are known to come.
        self._last = last if self._entered > 1 else None
        return last


def factorize(ground: Ground, plan: Plan, rng: np.random.RandomState) -> tuple[Solution, Plan]:
    """Run the plan; the best of ``n_init`` starts, with its basis in the features of X.

    Returns the plan as well, with all that was left to the data.
    """
    engine, compression = ground.engine, ground.compression
    graph, share = ground.graph, ground.share
    best: Solution | None = None
    with ground:
        plan = _with_scale(plan, engine, share)
        scheme = scheme_of(plan, engine.n_features)
        checkpoint, found, first, space = plan.checkpoint, None, 0, None
        if checkpoint is not None and checkpoint.found is not None:
            found = checkpoint.found
            first = found["start"]
            rng.set_state(found["rng"])
            compression.restore(found["compression"])
            plan = with_weights(plan, found["weights"].tolist())
        else:
            space = _space(plan, engine, compression, share, first)
            plan = _weighed(plan, space.engine, share)
        weights = plan.alpha, plan.beta, plan.mu
        minimised = partial(
            Objective, plan.loss, plan.graph_measure, plan.alpha, plan.beta, plan.penalty, plan.mu
        )
        nothing = plan.loss.total(np.sqrt(engine.squares), share)
        if found is not None and "best" in found:
            known = _known_space(plan, engine, compression, share, found["best"])
            best = Solution.restored(found["best"], known, minimised())
        for number in range(first, plan.n_init):
            if found is None:
                space = space or _space(plan, engine, compression, share, number)
                start = _make_start(plan, space, share, rng, number)
                objective = minimised(ground.floors(plan, start))
            else:
                state = found["run"]["descent"]
                space, objective = (
                    _known_space(plan, engine, compression, share, state),
                    minimised(),
                )
                # Of the right shapes to begin with; the state is what the run then goes on from.
                start = state["basis"]["U"].copy(), state["rows"]["codes"].copy()
            descent = ground.descent(space, objective, scheme, start, plan.nonnegative)
            scheme = descent.scheme
            space = None  # its arrays are as large as the codes, and so are those of the start
            del start
            keeper = None
            if checkpoint is not None:
                around = partial(_around, number, weights, rng, compression, best)
                keeper = Keeper(checkpoint, around)
            state = None if found is None else found["run"]
            solution = run(descent, plan.stopping, plan.callback, number, keeper, state)
            del descent
            found = None
            if plan.solver == "cd":
                finish = Finish(
                    scheme, graph, share, objective, plan.length, nothing, plan.stopping,
                    plan.callback,
                )  # fmt: skip
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
            best.residuals, scheme.basis,
        )  # fmt: skip
        best.lift()
    return best, plan
