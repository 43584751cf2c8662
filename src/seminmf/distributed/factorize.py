"""From rows that lie with shards to a fitted factorization, also where workers are lost on the way.

Rows, graph and engines are made ready here; what then happens is `solve.factorize`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from .._words import counted
from ..data import Engine
from ..data.features import directions_of
from ..data.samples import typical_length
from ..graph.index import DIRECTIONS, many_samples
from ..problem.objective import Objective
from ..solve.descent import Descent
from ..solve.factorize import Ground
from ..solve.factorize import factorize as solve
from ..solve.loop import Progress, Solution
from ..solve.plan import Plan
from ..solve.projection import solve_codes
from .dask import DaskTable
from .engine import RemoteEngine, RemoteGraph
from .neighbours import cells_of, find_neighbours, split_graph
from .shards import HERE, Shards, WorkerLostError, stacked

# So often workers may be lost in one fit before it gives up.
_MOST_LOSSES = 5


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


class _Ground(Ground):
    """Samples that lie with shards; it knows the run that is going on."""

    present: Descent

    def descent(self, *arguments: Any) -> Descent:
        self.present = super().descent(*arguments)
        return self.present


def _features(engine: Engine, directions: FloatArray | None) -> FloatArray:
    return engine.all_rows() if directions is None else engine.times(directions)


def _some_samples(engine: Engine, codes: FloatArray, share: float) -> tuple[Any, FloatArray]:
    """About that share of the samples, and their codes."""
    chosen = np.linspace(0, len(codes), round(share * len(codes)), endpoint=False).astype(int)
    return engine.chosen_rows(chosen), codes[chosen]


def _best_codes(engine: Engine, basis: FloatArray, objective: Objective) -> FloatArray:
    """Without regard to neighbours."""
    codes = np.zeros((engine.n_samples, basis.shape[1]), engine.dtype)
    solve_codes(engine, basis, objective, codes)
    return codes


class _Fit:
    """A plan on shards that may have to be made again."""

    def __init__(self, table: DaskTable, graph: str | sp.csr_array, n_neighbors: int) -> None:
        self.table, self._graph, self._n_neighbors = table, graph, n_neighbors
        self.shards: Shards | None = None
        self.basis: FloatArray | None = None
        """That of the run that is going on, or of the one before workers were lost."""
        self.history: list[float] = []
        self._seen: list[float] = []

    def load(
        self, check: Callable[[float, float], None], make_plan: Callable[[float, float], Plan]
    ) -> None:
        """Rows, what is minimised, and the graph."""
        self.shards, share, total = self.table.load(), self.table.share, self.table.shape[0]
        engine = self._engine(self.shards)
        lows, highs = zip(*engine.gather(getattr, engine, "range"), strict=True)
        check(min(lows), max(highs))
        # One number for each sample comes here for their typical length.
        length = typical_length(engine.brought(engine.squares), share)
        self.plan = make_plan(length, float(total if share is None else share.sum()))
        graph: Any = None
        if self.plan.alpha > 0:
            engine, graph = self._find_graph(engine)
        shares: Any = None if share is None else engine.each(getattr, HERE, "share")
        self.ground = _Ground(engine, self.plan.n_components, graph, shares)

    def _engine(self, shards: Shards) -> RemoteEngine:
        return shards.each_as(RemoteEngine, getattr, HERE, "engine")

    def _find_graph(self, engine: RemoteEngine) -> tuple[RemoteEngine, RemoteGraph]:
        """Place samples so that few neighbours are parted, and have the shards know their edges."""
        (n, m), count = self.table.shape, DIRECTIONS * self.plan.n_components
        exact = isinstance(self._graph, str) and self._graph == "knn"
        directions = None if exact or m <= count else directions_of(engine, count)
        features = engine.each(_features, engine, directions)
        cells = cells_of(engine, features)
        if len(engine.shards) > 1:
            self.shards = shards = self.table.place(engine.shards, features, cells)
            engine, features = self._engine(shards), shards.each(getattr, HERE, "features")
        if not isinstance(self._graph, str):
            order = np.concatenate(engine.gather(getattr, HERE, "numbers"))
            matrix: Any = sp.csr_array(self._graph)[order][:, order]
            self._directions, self._recall = None, 1.0
            return engine, split_graph(engine, matrix)
        approximate = not exact and many_samples(n, self._n_neighbors)
        graph, self._recall = find_neighbours(
            engine, features, cells, self._n_neighbors, approximate=approximate
        )
        self._directions = directions
        return engine, graph

    def run(self, rng: Any) -> tuple[Solution, Plan]:
        """The best of all starts; or on from a basis, with the codes that are best for it."""
        stopping, history, engine = self.plan.stopping, self.history, self.ground.engine
        left = replace(stopping, max_iter=max(1, stopping.max_iter - len(history)))
        plan = replace(self.plan, callback=self._watch, stopping=left)
        if self.basis is not None:
            objective = Objective(plan.loss, plan.graph_measure, penalty=plan.penalty, mu=plan.mu)
            codes = engine.each(_best_codes, engine, self.basis, objective)
            plan = replace(plan, init=(self.basis, codes))
        solution, plan = solve(self.ground, plan, rng)
        solution.history[:0] = history
        return solution, plan

    def _watch(self, progress: Progress) -> object:
        """Keep account, and show the codes of all samples to the callback of the user."""
        callback, ground = self.plan.callback, self.ground
        self._seen = [*self._seen[: progress.iteration - 1], progress.objective]
        if self.plan.n_init == 1:
            self.basis = ground.present.lifted_basis()
        if callback is None:
            return None
        engine: Any = ground.engine

        def factors() -> tuple[FloatArray, FloatArray]:
            basis, codes = progress.factors()
            return basis, engine.in_order(codes)

        iteration = len(self.history) + progress.iteration
        return callback(replace(progress, iteration=iteration, factors=factors))

    def lost(self) -> str:
        """Go on after a loss; returns from where, in words."""
        if self.basis is None:
            return "from the beginning"
        self.history, self._seen = self.history + self._seen, []
        return "from its last basis"

    def described(self, solution: Solution, plan: Plan, landmarks: int) -> Fitted:
        """With results that are collected."""
        engine, graph, held = self.ground.engine, self.ground.graph, solution.codes
        collected: Any = solution
        for name in ("codes", "residuals"):
            setattr(collected, name, self.table.collect(getattr(solution, name)))
        if not isinstance(graph, RemoteGraph):
            return Fitted(solution, plan, None, None, None)
        n, inner = engine.n_samples, engine.summed(lambda own: len(own.pairs), graph)
        edges = inner + len(graph.ends)
        made: dict[str, Any] = {"search": "given", "samples": n, "edges": edges}
        made["crossing"] = len(graph.ends) / max(edges, 1)
        if isinstance(self._graph, str):
            search = "exact" if self._recall == 1 else "approximate"
            along = self._directions
            compared = engine.n_features if along is None else along.shape[1]
            made.update(search=search, features=compared, recall=self._recall)
        share = min(1.0, landmarks / n)
        rows, codes = zip(*engine.gather(_some_samples, engine, held, share), strict=True)
        some = stacked(rows), np.concatenate(codes)
        return Fitted(solution, plan, made, self._directions, some)


def factorize(
    table: DaskTable,
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
    fit, seed = _Fit(table, graph, n_neighbors), deepcopy(rng)
    for losses in range(_MOST_LOSSES + 1):
        try:
            fit.load(check, make_plan)
            solution, plan = fit.run(deepcopy(seed) if losses else rng)
            return fit.described(solution, plan, landmarks)
        except WorkerLostError as lost:
            error, where = lost, fit.lost()
        finally:
            if fit.shards is not None:
                fit.shards.close()
        if losses < _MOST_LOSSES:
            warnings.warn(
                f"A worker was lost; the rows are read again and the fit goes on {where}.",
                RuntimeWarning,
                stacklevel=2,
            )
    raise WorkerLostError(
        f"Workers were lost {_MOST_LOSSES + 1} times during the fit, the last time after "
        f"{counted(len(fit.history), 'iteration')}. See the logs of the workers (memory is the "
        "usual reason: more workers, or smaller chunks), and fit again."
    ) from error
