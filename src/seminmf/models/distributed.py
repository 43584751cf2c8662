"""Fits of Dask arrays, also where workers are lost on the way; and codes of them, which stay where
they are until they are asked for.

Rows, graph and engines are made ready here; what then happens is `solve.factorize`.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, number_type
from .._words import counted
from ..data import Engine, unit_of
from ..data.features import directions_of
from ..distributed.dask import DaskTable, checked_rows
from ..distributed.engine import RemoteEngine, RemoteGraph
from ..distributed.neighbours import cells_of, find_neighbours, split_graph
from ..distributed.sites import HERE, Sites, WorkerLostError, stacked
from ..graph.index import DIRECTIONS, many_samples
from ..graph.neighbours import given_graph
from ..problem.objective import Objective
from ..solve.descent import Descent
from ..solve.factorize import Ground, factorize
from ..solve.loop import Progress, Solution
from ..solve.plan import Plan
from ..solve.projection import Projector, solve_codes
from . import validation as check
from .persistence import LANDMARKS
from .settings import Settings
from .training import Trained, index_of_some, warn_of

# So often workers may be lost in one fit before it gives up.
_MOST_LOSSES = 5


def train_on_dask(X: Any, settings: Settings, weights: FloatArray | None) -> Trained:
    """Fit the model that the settings describe; codes and residuals are Dask arrays.

    Where a worker is lost its rows are read again, and the fit goes on from the basis.
    """
    settings = _checked(settings.checked(X.shape, number_type(X.dtype)), X.shape)
    fit, seed = DaskFit(X, settings, weights), deepcopy(settings.random_state)
    for losses in range(_MOST_LOSSES + 1):
        try:
            fit.load()
            solution, plan = fit.run(deepcopy(seed) if losses else settings.random_state)
            trained = fit.trained(solution, plan)
            warn_of(solution, settings)
            return trained
        except WorkerLostError as lost:
            error, where = lost, fit.lost()
        finally:
            if fit.sites is not None:
                fit.sites.close()
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


def _checked(settings: Settings, shape: tuple[int, int]) -> Settings:
    """What there is not for Dask arrays is refused before any work."""
    if settings.checkpoint is not None:
        raise ValueError(
            "checkpoint is not offered for a Dask array: the rows of a worker that is lost are "
            "read again, and the fit goes on. Leave checkpoint at None."
        )
    if isinstance(settings.init, str) and settings.init == "kmeans":
        raise ValueError(
            'init="kmeans" is not offered for a Dask array. Use "auto", "svd", "exemplar", '
            '"random" or a tuple (U0, V0).'
        )
    if not settings.coupled:
        return settings
    if sp.issparse(settings.graph):
        return replace(settings, graph=given_graph(settings.graph, shape[0]))
    if not isinstance(settings.graph, str):
        raise ValueError(
            f"graph={type(settings.graph).__name__} is not offered for a Dask array: its samples "
            'lie on several workers. Use "auto", "knn" or a sparse matrix.'
        )
    check.check_neighbours(settings.n_neighbors, shape[0])
    return settings


class _Ground(Ground):
    """Samples that lie at sites; it knows the run that is going on."""

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


class DaskFit:
    """A fit on sites, which may have to be made again."""

    def __init__(self, X: Any, settings: Settings, weights: FloatArray | None) -> None:
        dtype = number_type(X.dtype)
        share = None if weights is None else weights.astype(dtype)
        self.table, self.settings = DaskTable(X, share, settings.n_components), settings
        self.sites: Sites | None = None
        self.basis: FloatArray | None = None
        """That of the run that is going on, or of the one before workers were lost."""
        self.history: list[float] = []
        self._seen: list[float] = []
        self._directions: FloatArray | None = None
        self._found: dict[str, Any] = {"search": "given"}

    def load(self) -> None:
        """Rows, what is minimised, and the graph."""
        self.sites, share, settings = self.table.load(), self.table.share, self.settings
        engine = self._engine(self.sites)
        lows, highs = zip(*engine.gather(getattr, engine, "range"), strict=True)
        low, high = min(lows), max(highs)
        check.check_range(low, high, settings.nonnegative, engine.dtype)
        unit = unit_of(max(-low, high), engine.dtype)
        if unit != 1:
            raise ValueError(
                f"X has entries up to {max(-low, high):g} in absolute value, and a Dask array is "
                f"not rescaled automatically. Rescale X, for example X / {unit:g}."
            )
        # One number for each sample comes here for their typical length.
        self.plan = settings.first_plan(engine.brought(engine.squares), share, settings.loss)
        graph: Any = None
        if self.plan.alpha > 0:
            engine, graph = self._find_graph(engine)
        shares: Any = None if share is None else engine.each(getattr, HERE, "share")
        self.ground = _Ground(engine, self.plan.n_components, graph, shares)

    def _engine(self, sites: Sites) -> RemoteEngine:
        return sites.each_as(RemoteEngine, getattr, HERE, "engine")

    def _find_graph(self, engine: RemoteEngine) -> tuple[RemoteEngine, RemoteGraph]:
        """Place samples so that few neighbours are parted, and have the sites know their edges."""
        given, p = self.settings.graph, self.settings.n_neighbors
        (n, m), count = self.table.shape, DIRECTIONS * self.plan.n_components
        exact = isinstance(given, str) and given == "knn"
        directions = None if exact or m <= count else directions_of(engine, count)
        features = engine.each(_features, engine, directions)
        cells = cells_of(engine, features)
        if len(engine.sites) > 1:
            self.sites = sites = self.table.place(engine.sites, features, cells)
            engine, features = self._engine(sites), sites.each(getattr, HERE, "features")
        if sp.issparse(given):
            order = np.concatenate(engine.gather(getattr, HERE, "numbers"))
            matrix: Any = sp.csr_array(given)[order][:, order]
            return engine, split_graph(engine, matrix)
        approximate = not exact and many_samples(n, p)
        graph, recall = find_neighbours(engine, features, cells, p, approximate=approximate)
        self._directions = directions
        self._found = {
            "search": "exact" if recall == 1 else "approximate", "recall": recall,
            "features": m if directions is None else directions.shape[1],
        }  # fmt: skip
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
        solution, plan = factorize(self.ground, plan, rng)
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
        seen = progress.through(lambda basis, codes: (basis, engine.in_order(codes)))
        return callback(replace(seen, iteration=len(self.history) + progress.iteration))

    def lost(self) -> str:
        """Go on after a loss; returns from where, in words."""
        if self.basis is None:
            return "from the beginning"
        self.history, self._seen = self.history + self._seen, []
        return "from its last basis"

    def trained(self, solution: Solution, plan: Plan) -> Trained:
        """With results that are collected."""
        engine, graph, held = self.ground.engine, self.ground.graph, solution.codes
        collected: Any = solution
        for name in ("codes", "residuals"):
            setattr(collected, name, self.table.collect(getattr(solution, name)))
        if not isinstance(graph, RemoteGraph):
            return Trained.of(solution, plan, None, None)
        n = engine.n_samples
        edges = engine.summed(lambda own: len(own.pairs), graph) + len(graph.ends)
        crossing = len(graph.ends) / max(edges, 1)
        made = {**self._found, "samples": n, "edges": edges, "crossing": crossing}
        found = engine.gather(_some_samples, engine, held, min(1.0, LANDMARKS / n))
        rows, codes = zip(*found, strict=True)
        index = index_of_some(stacked(rows), n, self.settings.n_neighbors, self._directions)
        return Trained.of(solution, plan, index, np.concatenate(codes), graph=made)


def _codes_of(block: Any, projector: Projector, dtype: Any) -> FloatArray:
    return projector.codes(checked_rows(block, 0, dtype))


def lazy_codes(X: Any, projector: Projector) -> Any:
    """Codes of a Dask array, as a Dask array that is calculated when it is asked for."""
    dtype, k = number_type(X.dtype), projector.basis.shape[1]
    return X.map_blocks(
        _codes_of, projector, dtype, dtype=dtype, chunks=(X.chunks[0], (k,)),
        meta=np.empty((0, 0), dtype),
    )  # fmt: skip
