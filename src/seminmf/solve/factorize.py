"""From validated data to a fitted factorization: graph, engine, starts, solver, finishing.

Estimators import this module, and with it the compiler, when a fit begins.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..data import TOGETHER, Engine, LazyCompression, Space, Subspace, leading_subspace
from ..data.axes import Axes, exact, few_samples, leading_axes
from ..graph.prepared import NeighbourGraph
from ..problem.losses import Loss, Norm
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
    code_square,
    floors_for,
    looks_at_data,
    random_size,
    scheme_of,
    with_weights,
)

# With fewer samples per component than this, samples themselves may be the best basis.
_FEW_SAMPLES = 20


class Ground:
    """An engine with its graph and sample weights ``share``, for any number of factorizations.

    Factorizations made within ``with ground:`` share their threads and the arrays of a run.
    """

    def __init__(
        self,
        engine: Engine,
        n_components: int,
        graph: NeighbourGraph | None,
        share: FloatArray | None,
    ) -> None:
        self.engine, self.graph, self.share = engine, graph, share
        self.compression = LazyCompression(engine, n_components)
        self._entered = 0
        # Shared by the factorizations made within one ``with``.
        self._floors: Floors | None = None
        self._last: Descent | None = None
        self._leading: Subspace | None = None
        self._at_zero: tuple[Loss, tuple[float, FloatArray]] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        n_components: int,
        squares: FloatArray,
        matrix: sp.csr_array | None,
        share: FloatArray | None,
    ) -> Ground:
        """A ground for X with ``squares`` ‖x_i‖² and the graph ``matrix``, or None without one."""
        engine, graph = Engine(X, n_components, squares=squares), None
        if matrix is not None:
            graph = NeighbourGraph.prepare(
                matrix, squares, engine.dtype, engine.chunk_bounds, renumber=engine.whole
            )
        return cls(engine, n_components, graph, share)

    def __enter__(self) -> Self:
        if self._entered == 0:
            self.engine.__enter__()
        self._entered += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered -= 1
        if self._entered == 0:
            self._floors = self._last = self._leading = None
            self.engine.__exit__(*error)

    @property
    def several(self) -> bool:
        """Whether other factorizations share the ``with`` of this one."""
        return self._entered > 1

    def at_zero(self, loss: Loss, least: float) -> tuple[float, FloatArray]:
        """The loss at U = 0, and its weights there, in which shorter samples count as ``least``
        long.
        """
        if self._at_zero is None or self._at_zero[0] is not loss:
            engine = self.engine
            lengths = engine.each(np.sqrt, engine.squares)
            found = engine.each(loss.measure, lengths, self.share, least)
            total = float(engine.summed(itemgetter(0), found))
            self._at_zero = loss, (total, engine.each(itemgetter(1), found))
        return self._at_zero[1]

    def floors(self, plan: Plan, start: tuple[FloatArray, FloatArray]) -> Floors:
        """Floors for a start, the same for all factorizations of one ``with``."""
        if self._floors is not None:
            return self._floors
        basis, codes = start
        square = self.engine.summed(code_square, codes)
        found = floors_for(plan, basis, code_length(square, self.engine.n_samples))
        self._floors = found if self.several else None
        return found

    def leading(self, space: Space, n_components: int, weights: FloatArray) -> Subspace | None:
        """The leading directions of a space; None if they would not pay."""
        found = leading_subspace(space, n_components, weights)
        self._leading = found if self.several else None
        return found

    def around(self, basis: FloatArray) -> Subspace | None:
        """A subspace for a run that continues from a basis, if an earlier run of this ``with`` had
        one. It contains that basis: what the leading directions miss need not be found again.
        """
        return None if self._leading is None else self._leading.holding(basis)

    def descent(
        self,
        space: Space,
        objective: Objective,
        scheme: Scheme,
        start: tuple[FloatArray, FloatArray],
        nonnegative: bool,
    ) -> Descent:
        """A descent from a start, which it may overwrite; reuses that of the last run if it can."""
        last = self._last
        if last is None or not last.begins_again(space, objective, scheme, start):
            self._last = None
            waiting = None if nonnegative else self.compression
            last = Descent(space, objective, scheme, self.graph, self.share, start, waiting)
        # As large as the codes: kept only if more factorizations are to come.
        self._last = last if self.several else None
        return last


class _Beginning:
    """Chooses the space and start of each run of a plan, and sets what the plan leaves to X."""

    def __init__(self, ground: Ground, plan: Plan, rng: np.random.RandomState) -> None:
        self._ground, self._engine, self._compression = ground, ground.engine, ground.compression
        self._share, self._rng = ground.share, rng
        self._directions: tuple[Engine, Axes] | None = None
        self.plan = plan if plan.loss.is_resolved else self._with_scale(plan)

    @property
    def nothing(self) -> float:
        """The loss at U = 0."""
        return self._ground.at_zero(self.plan.loss, SHORTEST * self.plan.length)[0]

    @property
    def _weights(self) -> FloatArray:
        """The weights of the loss at U = 0."""
        return self._ground.at_zero(self.plan.loss, SHORTEST * self.plan.length)[1]

    def _with_scale(self, plan: Plan) -> Plan:
        """The plan with a number for the scale of its loss."""
        weights, k = self._ground.at_zero(Norm(), SHORTEST * plan.length)[1], plan.n_components
        found = leading_axes(self._engine, k, weights)
        typical = starts.typical_residual(self._engine, k, found, self._share)
        # If the leading directions leave nothing, any scale will do.
        return replace(plan, loss=plan.loss.resolved(typical or SHORTEST * plan.length))

    def weigh(self, space: Space) -> None:
        """Set α, β and μ by what can be gained, if the plan leaves them to the data."""
        plan, engine, k = self.plan, space.engine, self.plan.n_components
        if plan.weigh is None:
            return
        spread = starts.typical_spread(engine, self._weights, self._share)
        found = leading_axes(engine, k, self._weights)
        residual = starts.typical_residual(engine, k, found, self._share)
        self.plan = with_weights(plan, plan.weigh(plan.loss, spread, residual))
        self._directions = engine, found

    def space(self, number: int) -> Space:
        """The space in which run ``number`` starts.

        The span of the samples, if compressing to it is cheap. With a graph, whose fits take many
        iterations, the leading directions if the start comes from them; without a graph such a
        start is so near to the end that they bring nothing. Given factors of an earlier
        factorization start where that one ended.
        """
        plan, engine = self.plan, self._engine
        if isinstance(plan.init, tuple):
            around = self._ground.around(plan.init[0])
            if around is not None:
                return around
            known = self._compression.space
            return known if known is not None and _lies_in(known, plan.init[0]) else Space(engine)
        if not looks_at_data(plan, number) or plan.nonnegative:
            return Space(engine)
        # A single run compresses only when that pays: earlier was slower. With few samples the
        # start computes their products anyway.
        together, few = TOGETHER if self._ground.several else 0.0, few_samples(engine)
        space = self._compression.at_once(together, gram_is_known=few) or Space(engine)
        if plan.alpha > 0 and plan.init in ("auto", "svd") and plan.solver == "cd":
            return self._ground.leading(space, plan.n_components, self._weights) or space
        return space

    def known_space(self, state: State) -> Space:
        """The space of a run whose ``state`` was kept."""
        space = self._compression.space if state["compressed"] else Space(self._engine)
        assert space is not None
        if state.get("confined"):
            confined = leading_subspace(space, self.plan.n_components, self._weights)
            assert confined is not None
            return confined
        return space

    def start(self, space: Space, number: int) -> starts.Start:
        """(basis, codes) from which run ``number`` starts in its space."""
        plan, engine = self.plan, space.engine
        if isinstance(plan.init, tuple):
            held = space.held if isinstance(space, Subspace) else None
            basis = space.lower(plan.init[0].copy()) if held is None else held
            return basis, engine.placed(plan.init[1])
        if not looks_at_data(plan, number):
            low = 0.0 if plan.nonnegative else -1.0
            basis, codes = starts.random_start(engine, plan.n_components, self._rng, low)
            size = random_size(plan, engine.n_features)
            return basis * engine.dtype.type(size), codes
        basis, codes = self._from_data(engine)
        if plan.nonnegative:
            basis = starts.above_zero(np.maximum(basis, 0))
        if plan.nonnegative or plan.solver == "mu":
            codes = starts.codes_above_zero(engine, codes)
        return basis, codes

    def _from_data(self, engine: Engine) -> starts.Start:
        """A start computed from X."""
        plan, k, rng = self.plan, self.plan.n_components, self._rng
        if plan.init == "exemplar":
            return starts.exemplar_start(engine, k, rng)
        refine = plan.alpha == 0 and plan.loss.quadratic
        found = self._known_directions(engine)
        if found is None:
            found = leading_axes(engine, k, self._weights, rng, more=refine)
        if plan.init == "kmeans":
            return starts.kmeans_start(engine, k, self._share, found, rng)
        if plan.nonnegative:
            start = starts.nonnegative_svd_start(engine, k, self._weights, found)
        else:
            start = starts.svd_start(engine, k, self._weights, found, rng, refine)
        start = starts.unit_free_codes(engine, *start, plan.length)
        robust_alone = not plan.loss.quadratic and plan.alpha == 0 and plan.solver == "cd"
        few = engine.n_samples <= _FEW_SAMPLES * k
        if plan.init == "auto" and robust_alone and few and not plan.nonnegative:
            # So few samples may be explained best by k of them, exactly: take the better start.
            rival = starts.exemplar_start(engine, k, None)
            if self._loss(engine, *rival) < self._loss(engine, *start):
                return rival
        return start

    def _known_directions(self, engine: Engine) -> Axes | None:
        """The axes found by `weigh`, unless random: those of a start depend on its seed."""
        if self._directions is None or not exact(engine):
            return None
        of, found = self._directions
        return found if of is engine else None

    def _loss(self, engine: Engine, basis: FloatArray, codes: FloatArray) -> float:
        """The loss at a start."""
        residuals = engine.residuals(basis, codes)
        return float(engine.summed(self.plan.loss.total, residuals, self._share))


def _lies_in(space: Space, basis: FloatArray) -> bool:
    """Whether a basis lies in a space, up to round-off."""
    rest = np.linalg.norm(space.lift(space.lower(basis)) - basis)
    return bool(rest <= ROUND_OFF[basis.itemsize] ** 0.5 * np.linalg.norm(basis))


def _around(
    number: int,
    weights: Weights,
    rng: np.random.RandomState,
    compression: LazyCompression,
    best: Solution | None,
) -> State:
    """The state to keep around that of the run from start ``number``."""
    state: State = {
        "start": number, "weights": list(weights), "rng": rng.get_state(legacy=False),
        "compression": compression.state(),
    }  # fmt: skip
    return state if best is None else {**state, "best": best.state()}


def factorize(ground: Ground, plan: Plan, rng: np.random.RandomState) -> tuple[Solution, Plan]:
    """Run a plan and return the best of its ``n_init`` starts, with its basis in features of X.

    Returns the plan as well, with all that it had left to the data.
    """
    engine, compression = ground.engine, ground.compression
    graph, share = ground.graph, ground.share
    best: Solution | None = None
    with ground:
        beginning = _Beginning(ground, plan, rng)
        scheme = scheme_of(plan, engine.n_features)
        checkpoint, found, first, space = plan.checkpoint, None, 0, None
        if checkpoint is not None and checkpoint.found is not None:
            found = checkpoint.found
            first = found["start"]
            rng.set_state(found["rng"])
            compression.restore(found["compression"])
            beginning.plan = with_weights(beginning.plan, found["weights"].tolist())
        else:
            space = beginning.space(first)
            beginning.weigh(space)
        plan = beginning.plan
        weights = plan.alpha, plan.beta, plan.mu
        minimised = partial(
            Objective, plan.loss, plan.graph_measure, plan.alpha, plan.beta, plan.penalty, plan.mu
        )
        if found is not None and "best" in found:
            best = Solution.restored(
                found["best"], beginning.known_space(found["best"]), minimised()
            )
        for number in range(first, plan.n_init):
            if found is None:
                space = space or beginning.space(number)
                start = beginning.start(space, number)
                objective = minimised(ground.floors(plan, start))
            else:
                state = found["run"]["descent"]
                space, objective = beginning.known_space(state), minimised()
                # Placeholders of the right shapes, which the state then overwrites.
                start = state["basis"]["U"].copy(), state["rows"]["codes"].copy()
            descent = ground.descent(space, objective, scheme, start, plan.nonnegative)
            scheme = descent.scheme
            space = None  # its arrays are as large as the codes, as are those of the start
            del start
            keeper = None
            if checkpoint is not None:
                around = partial(_around, number, weights, rng, compression, best)
                keeper = Keeper(checkpoint, around)
            state = None if found is None else found["run"]
            solution = run(descent, plan.stopping, plan.callback, number, keeper, state)
            finish = None
            if plan.solver == "cd":
                finish = Finish(
                    scheme, graph, share, objective, plan.length, beginning.nothing, plan.stopping,
                    plan.callback,
                )  # fmt: skip
            better = best is None or solution.rank < best.rank
            frozen = finish is not None and finish.frozen(solution)
            if better and not frozen and (finish is None or finish.leaves(solution)):
                solution.kkt_residual = descent.kkt_residual()
            del descent
            found = None
            if finish is not None and frozen:
                solution = finish.thaw(solution, number)
            if best is None or solution.rank < best.rank:
                best = solution
        assert best is not None
        # Where the distance is known already, there was nothing to drop.
        if finish is not None and np.isnan(best.kkt_residual):
            finish.drop_parts(best)
            if graph is None:
                finish.polish(best)
        if np.isnan(best.kkt_residual):
            best.kkt_residual = kkt_residual(
                best.problem, best.space.engine, graph, share, (best.basis, best.codes),
                best.residuals, scheme.basis,
            )  # fmt: skip
        best.lift()
    return best, plan
