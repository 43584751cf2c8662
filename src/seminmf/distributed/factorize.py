"""From rows that lie with shards to a fitted factorization: graph, start, descent, finishing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from .._words import counted
from ..data import Space, Subspace
from ..data.axes import SEED
from ..data.samples import typical_length
from ..data.subspace import OVERSAMPLING, krylov_directions
from ..graph.index import DIRECTIONS, many_samples
from ..problem.losses import Loss, Norm
from ..problem.objective import Objective
from ..problem.stationarity import kkt_from_sums
from ..solve.descent import Descent
from ..solve.loop import Progress, Solution, run
from ..solve.plan import (
    ROUND_OFF,
    SHORTEST,
    Plan,
    code_length,
    floors_for,
    looks_at_data,
    scheme_of,
    with_typical,
    with_weights,
)
from . import start, steps
from .cells import Cells
from .engine import Halo, Held, RemoteEngine
from .neighbours import cells_of, find_neighbours, split_graph
from .shards import Shards, WorkerLostError, stacked

# So often workers may be lost in one fit before it gives up.
_MOST_LOSSES = 5


class Table(Protocol):
    """Rows of X wherever they come from: they can be read again if they were lost."""

    shape: tuple[int, int]
    dtype: Any

    def load(self) -> Shards:
        """Shards with the rows in their order."""

    def place(self, shards: Shards, cells: Cells) -> Shards:
        """New shards with the rows (and features) of one cell each, in the place of the old."""

    def collect(self, shards: Shards, what: str) -> Any:
        """``codes`` or ``residuals`` that the shards hold, in the order of the rows."""


def lengths_of(shards: Shards) -> tuple[float, float]:
    """Typical length and number of the samples. One number for each sample comes here for it."""
    parts = shards.map(steps.squares)
    squares = np.concatenate([own for own, _ in parts])
    share = None if parts[0][1] is None else np.concatenate([own for _, own in parts])
    return typical_length(squares, share), float(len(squares) if share is None else share.sum())


def value_range(shards: Shards) -> tuple[float, float]:
    """The smallest and the largest entry of X."""
    lows, highs = zip(*shards.map(steps.entry_range), strict=True)
    return min(lows), max(highs)


@dataclass(frozen=True)
class Fitted:
    """What was found; with a graph also what it is like, and samples that stand for all."""

    solution: Solution
    plan: Plan
    graph: dict[str, Any] | None
    directions: FloatArray | None
    """Along which samples were compared; None for all features."""
    landmarks: tuple[Any, FloatArray] | None
    """Some samples as they are stored, and their codes."""


class _Fit:
    """A plan on shards that may have to be made again."""

    def __init__(self, table: Table, graph: str | sp.csr_array, n_neighbors: int) -> None:
        self.table, self._graph, self._n_neighbors = table, graph, n_neighbors
        self.shards: Any = None
        self.halo: Halo | None = None
        self.directions: FloatArray | None = None

    def load(
        self, check: Callable[[float, float], None], make_plan: Callable[[float, float], Plan]
    ) -> None:
        """Rows, weights of the penalties, and the graph."""
        self.shards = self.table.load()
        check(*value_range(self.shards))
        plan = make_plan(*lengths_of(self.shards))
        if not plan.loss.is_resolved:
            typical = self._typical_residual(plan, Norm())
            plan = with_typical(plan, typical)
        if plan.weigh is not None:
            residual = self._typical_residual(plan, plan.loss)
            spread = start.typical_spread(self.shards)
            plan = with_weights(plan, plan.weigh(plan.loss, spread, residual))
        self.plan = plan
        if plan.alpha > 0:
            self._find_graph()

    def _typical_residual(self, plan: Plan, loss: Loss) -> float:
        """What is left of samples that are weighted as by a loss at U = 0."""
        self.shards.map(start.weigh, loss, SHORTEST * plan.length)
        k, dtype = plan.n_components, self.table.dtype
        return start.typical_residual(self.shards, self.table.shape, k, dtype)

    def _find_graph(self) -> None:
        """Place samples so that few neighbours are parted, and have the shards know their edges."""
        n, given = self.table.shape[0], not isinstance(self._graph, str)
        exact = not given and self._graph == "knn"
        directions = None if exact else self._comparing_directions()
        self.shards.map(steps.set_features, directions)
        cells = cells_of(self.shards, n, len(self.shards))
        if len(self.shards) > 1:
            self.shards = self.table.place(self.shards, cells)
        if given:
            order = np.concatenate(self.shards.map(getattr, "numbers"))
            matrix: Any = sp.csr_array(self._graph)[order][:, order]
            self.halo = split_graph(self.shards, matrix, self.shards.map(steps.size))
            return
        self.directions = directions
        approximate = not exact and many_samples(n, self._n_neighbors)
        self.halo = find_neighbours(self.shards, cells, self._n_neighbors, approximate=approximate)

    def _krylov_directions(self, loss: Loss, width: int) -> FloatArray:
        self.shards.map(start.weigh, loss, SHORTEST * self.plan.length)
        return krylov_directions(
            lambda D: start.total(self.shards.map(start.square_times, D)),
            self.table.shape[1], width, self.table.dtype,
        )  # fmt: skip

    def _comparing_directions(self) -> FloatArray | None:
        """Those along which samples are compared; None for all features. See `graph.index`."""
        shape, count = self.table.shape, DIRECTIONS * self.plan.n_components
        if shape[1] <= count:
            return None
        self.shards.map(steps.weigh_equally, self.plan.length)
        rng, dtype = np.random.RandomState(SEED), self.table.dtype
        axes: FloatArray = start.leading_axes(self.shards, shape, count, rng, dtype)
        return np.ascontiguousarray(axes[:, :count])

    # Runs

    def _engine(self, space: str, n_features: int) -> Any:
        shape = self.table.shape[0], n_features
        return RemoteEngine(self.shards, space, shape, self.table.dtype, self.halo)

    def _space(self, number: int) -> Space:
        """With a graph a run starts in the leading directions if the start comes from them."""
        plan, whole = self.plan, Space(self._engine("whole", self.table.shape[1]))
        early = plan.init in ("auto", "svd") and plan.solver == "cd" and not plan.nonnegative
        width = plan.n_components + OVERSAMPLING
        if plan.alpha == 0 or not early or not looks_at_data(plan, number):
            return whole
        if self.table.shape[1] < 4 * width:
            return whole
        directions = self._krylov_directions(plan.loss, width)
        self.shards.map(steps.add_subspace, directions)
        small = self._engine("leading", directions.shape[1])
        return Subspace(engine=small, wider=whole, directions=directions)

    def _descent(self, space: Space, basis: FloatArray) -> Descent:
        plan = self.plan
        code = code_length(start.code_square_of(self.shards), self.table.shape[0])
        objective = Objective(
            plan.loss, plan.graph_measure, plan.alpha, plan.beta, plan.penalty, plan.mu,
            floors_for(plan, basis, code),
        )  # fmt: skip
        graph: Any = self.halo
        scheme = scheme_of(plan, self.table.shape[1])
        held: Any = Held("codes")
        return Descent(space, objective, scheme, graph, None, (basis, held))

    def begin(self, rng: Any, number: int) -> Descent:
        space = self._space(number)
        engine: Any = space.engine
        return self._descent(space, start.make_start(self.plan, engine, rng, number))

    def go_on(self, basis: FloatArray) -> Descent:
        """From a basis alone, with the codes that are best for it."""
        plan = self.plan
        objective = Objective(plan.loss, plan.graph_measure, penalty=plan.penalty, mu=plan.mu)
        self.shards.map(steps.project, basis, objective)
        return self._descent(Space(self._engine("whole", self.table.shape[1])), basis)

    def described(self, solution: Solution, landmarks: int) -> Fitted:
        if self.halo is None:
            return Fitted(solution, self.plan, None, None, None)
        inner, recalls = zip(*self.shards.map(steps.graph_of), strict=True)
        n, edges = self.table.shape[0], sum(inner) + len(self.halo.ends)
        made: dict[str, Any] = {"search": "given", "samples": n, "edges": edges}
        made["crossing"] = len(self.halo.ends) / max(edges, 1)
        if isinstance(self._graph, str):
            search = "exact" if min(recalls) == 1 else "approximate"
            compared = self.table.shape[1] if self.directions is None else self.directions.shape[1]
            made.update(search=search, features=compared, recall=min(recalls))
        share = min(1.0, landmarks / n)
        rows, codes = zip(*self.shards.map(steps.some_samples, share), strict=True)
        some = stacked(rows), np.concatenate(codes)
        return Fitted(solution, self.plan, made, self.directions, some)

    def close(self) -> None:
        if self.shards is not None:
            self.shards.close()

    def finish(self, best: Solution) -> None:
        """Polish the codes without a graph, measure how far from optimal all is, and collect."""
        plan, basis = self.plan, best.space.lift(best.basis)
        objective = best.problem
        self.shards.map(steps.take_kept)
        if self.halo is None and plan.solver == "cd":
            loss, penalty, nothing = start.total(
                self.shards.map(steps.try_polish, basis, objective)
            )
            lengths = float(np.linalg.norm(basis, axis=0).sum())
            value = objective.total(loss, 0.0, penalty, lengths)
            if value <= best.objective + ROUND_OFF[basis.dtype.itemsize] * nothing:
                self.shards.map(steps.take_kept)
                best.history[-1] = float(value)
        elsewhere: list[Any] = [None] * len(self.shards)
        if self.halo is not None:
            table = np.concatenate(self.shards.map(steps.shown_codes))
            elsewhere = [table[seen] for seen in self.halo.sights]
        sums = self.shards.map_each(
            steps.stationarity, [(objective, basis, own) for own in elsewhere]
        )
        best.basis = basis
        best.codes = self.table.collect(self.shards, "codes")
        best.residuals = self.table.collect(self.shards, "residuals")
        rule = scheme_of(plan, self.table.shape[1]).basis
        best.kkt_residual = kkt_from_sums(objective, basis, start.total(sums), rule)


def factorize(
    table: Table,
    check: Callable[[float, float], None],
    make_plan: Callable[[float, float], Plan],
    graph: str | sp.csr_array,
    n_neighbors: int,
    landmarks: int,
    rng: Any,
) -> Fitted:
    """Fit the plan that ``make_plan`` makes of typical length and number of the samples.

    ``check`` sees the least and the largest entry of X before. About so many ``landmarks`` are
    samples that stand for all where neighbours of new ones are looked for. Where a worker is lost
    its rows are read again, and the fit goes on from the basis.
    """
    fit = _Fit(table, graph, n_neighbors)
    basis: FloatArray | None = None
    history: list[float] = []
    seed = deepcopy(rng)
    for losses in range(_MOST_LOSSES + 1):
        drawn = deepcopy(seed) if losses else rng
        try:
            fit.load(check, make_plan)
            solution = _best_run(fit, drawn, basis, history)
            basis, history = solution.space.lift(solution.basis), solution.history[:-1]
            fit.finish(solution)
            return fit.described(solution, landmarks)
        except _StoppedError as stopped:
            basis, history = stopped.basis, stopped.history
            error: Exception = stopped
        except WorkerLostError as lost:
            error = lost
        finally:
            fit.close()
        if losses < _MOST_LOSSES:
            where = "from its last basis" if basis is not None else "from the beginning"
            warnings.warn(
                f"A worker was lost; the rows are read again and the fit goes on {where}.",
                RuntimeWarning,
                stacklevel=2,
            )
    raise WorkerLostError(
        f"Workers were lost {_MOST_LOSSES + 1} times during the fit, the last time after "
        f"{counted(len(history), 'iteration')}. See the logs of the workers (memory is the "
        "usual reason: more "
        "workers, or smaller chunks), and fit again."
    ) from error


class _StoppedError(WorkerLostError):
    """A worker was lost in a run that can go on from where it was."""

    def __init__(self, basis: FloatArray, history: list[float]) -> None:
        super().__init__("A worker was lost.")
        self.basis, self.history = basis, history


def _best_run(fit: _Fit, rng: Any, basis: FloatArray | None, history: list[float]) -> Solution:
    """The best of all starts; of one that goes on from a basis, with what it had done before."""
    plan, best = fit.plan, None
    for number in range(plan.n_init):
        descent = fit.begin(rng, number) if basis is None else fit.go_on(basis)
        seen: list[float] = []
        stopping = replace(plan.stopping, max_iter=max(1, plan.stopping.max_iter - len(history)))
        try:
            solution = run(descent, stopping, _watching(fit, history, seen), number)
            if best is None or solution.rank < best.rank:
                fit.shards.map(steps.keep, solution.codes.scale)  # type: ignore[attr-defined]
                best = solution
        except WorkerLostError:
            if plan.n_init == 1 and seen:
                raise _StoppedError(descent.lifted_basis(), history + seen) from None
            raise
    assert best is not None
    best.history[:0] = history
    return best


def _watching(fit: _Fit, before: list[float], seen: list[float]) -> Callable[[Progress], object]:
    """A callback that keeps account, and shows the codes of all samples to that of the user."""
    callback = fit.plan.callback

    def watch(progress: Progress) -> object:
        seen.append(progress.objective)
        if callback is None:
            return None

        def factors() -> tuple[FloatArray, FloatArray]:
            basis, held = progress.factors()
            return basis, gathered(fit.shards, fit.table.shape[0], held)

        iteration = len(before) + progress.iteration
        return callback(replace(progress, iteration=iteration, factors=factors))

    return watch


def gathered(shards: Shards, n_samples: int, held: Any) -> FloatArray:
    """What shards hold of all samples, in the order of the samples, in this process."""
    parts = shards.map(steps.numbered, held.what)
    first = parts[0][1]
    whole = np.empty((n_samples, *first.shape[1:]), first.dtype)
    for numbers, values in parts:
        whole[numbers] = values * first.dtype.type(held.scale)
    return whole
