"""What ``fit`` does: samples and their weights, α and β, the graph, the factorization.

Imported when a fit begins, since it loads the numerics and their compiler.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._types import FloatArray, IntArray
from ..compiled.threads.turns import Turn
from ..data import Engine, Stream, divided, entry_range, graph_size, squares_of, unit_of
from ..data.samples import checksum
from ..graph import neighbours as graphs
from ..graph.index import NeighbourIndex, Recipe, automatic_recipe
from ..problem.strength import Units
from ..solve.factorize import Ground, factorize
from ..solve.loop import Solution, Status
from ..solve.plan import Plan, with_weights
from ..solve.projection import Projector
from . import validation as check
from .persistence import LANDMARKS
from .present import Present
from .settings import Settings


@dataclass(frozen=True)
class Trained:
    """The result of a fit, for all samples in their original order."""

    solution: Solution
    plan: Plan
    """With the α, β and μ that were used."""
    strength: float
    """The dimensionless strength of α and β."""
    projector: Projector
    graph: dict[str, Any] | None = None
    """How the graph was made, see the attribute ``graph_``; None without one."""
    links: sp.csr_array | None = None
    """The neighbours found for each distinct sample; None without a graph or with a given one."""
    member: IntArray | None = None
    """The number of each sample among the distinct ones; None if all are distinct."""

    @classmethod
    def of(
        cls, solution: Solution, plan: Plan, index: NeighbourIndex | None, codes: Any, **more: Any
    ) -> Trained:
        """The result, with an index of training samples and their codes if there is a graph."""
        problem = solution.problem
        projector = Projector(
            solution.basis, problem.loss, problem.graph, plan.alpha, problem.penalty, plan.mu,
            index, None if index is None else codes,
        )  # fmt: skip
        return cls(solution, plan, plan.strength, projector, **more)

    def among(self, parts: NDArray[np.bool_]) -> Trained:
        """The result with its parts at the places ``parts`` (a mask), zero parts at the others."""
        if parts.all():
            return self

        def spread(factor: FloatArray) -> FloatArray:
            wide = np.zeros((len(factor), len(parts)), factor.dtype)
            wide[:, parts] = factor
            return wide

        solution, known = self.solution, self.projector.training_codes
        solution.basis, solution.codes = spread(solution.basis), spread(solution.codes)
        codes = None if known is None else spread(known)
        basis = spread(self.projector.basis)
        return replace(self, projector=replace(self.projector, basis=basis, training_codes=codes))

    def in_units_of_x(self, unit: float) -> Trained:
        """The result of a fit to X / unit, converted to the units of X."""
        if unit == 1:
            return self
        solution, plan, scale = self.solution, self.plan, unit**self.solution.problem.loss.power
        number = solution.basis.dtype.type(unit)
        check.check_range_of_parts(solution.basis, unit)
        solution.basis, solution.residuals = solution.basis * number, solution.residuals * number
        for name, value, size in (
            ("The objective", max(solution.history), scale), ("alpha_", plan.alpha, scale),
            ("beta_", plan.beta, scale / unit), ("l1_", plan.mu, scale),
        ):  # fmt: skip
            if 0 < value < inf and not 0 < value * size < inf:
                raise ValueError(
                    f"{name} is beyond the range of float64 in the units of X. Rescale X, for "
                    f"example X / {unit:g}, or choose another beta or sample_weight."
                )
        solution.history = [value * scale for value in solution.history]
        solution.problem = replace(solution.problem, loss=solution.problem.loss.in_units(1 / unit))
        weights = plan.alpha * scale, plan.beta * scale / unit, plan.mu * scale
        projector = replace(self.projector, unit=unit)
        return replace(self, plan=with_weights(plan, weights), projector=projector)


def _build_graph(
    settings: Settings, X: Any
) -> tuple[sp.csr_array, sp.csr_array | None, NeighbourIndex]:
    """(graph matrix, neighbours it was made from or None if given, index for new samples)."""
    graph, p = settings.graph, min(settings.n_neighbors, X.shape[0])
    if not isinstance(graph, str) and not sp.issparse(graph):
        index, links = NeighbourIndex.by_transformer(graph, X)
        return graphs.symmetric(links), links, index
    exact = isinstance(graph, str) and graph == "knn"
    recipe = Recipe if exact else partial(automatic_recipe, X, settings.n_components, p)
    index = NeighbourIndex(X, p, recipe)
    if sp.issparse(graph):
        # Search is by the automatic recipe, made only if new samples come.
        return graphs.given_graph(graph, X.shape[0]), None, index
    links = index.links()
    return graphs.symmetric(links), links, index


def index_of_some(
    rows: Any, n_samples: int, n_neighbors: int, directions: FloatArray | None
) -> NeighbourIndex:
    """An index of samples that represent all when new ones look for neighbours."""
    count = min(n_neighbors, rows.shape[0])
    whole = rows.shape[0] == n_samples
    return NeighbourIndex(rows, count, Recipe(directions=directions), whole=whole)


def _description(graph: Any, matrix: sp.csr_array, index: NeighbourIndex) -> dict[str, Any]:
    """The content of the attribute ``graph_``."""
    made = {"search": "given", "samples": matrix.shape[0], "edges": matrix.nnz // 2}
    if isinstance(graph, str):
        directions = index.recipe.directions
        search = "approximate" if index.recipe.approximate else "exact"
        features = index.samples.shape[1] if directions is None else directions.shape[1]
        made.update(search=search, features=features, recall=index.search.recall)
    elif not sp.issparse(graph):
        made.update(search=type(graph).__name__)
    return made


def _as_found(matrix: sp.csr_array) -> tuple[str, str]:
    """A graph for the description of a fit in its checkpoint."""
    name = "neighbours as they were found (a search that draws random numbers wants a seed)"
    return name, f"checksum {checksum(matrix)}"


def _landmarks(n_samples: int) -> IntArray:
    """Samples of a stream that represent all when new ones look for neighbours."""
    return np.linspace(0, n_samples, min(LANDMARKS, n_samples), endpoint=False).astype(np.int64)


def train(
    X: Any, settings: Settings, weights: FloatArray | None, *, complain: bool = True
) -> Trained:
    """Fit the model that the settings describe to (weighted) samples.

    Warn if it ends before it has converged, unless ``complain`` is False.
    """
    settings = settings.checked(X.shape, X.dtype)
    with Turn(X.shape[0] * X.shape[1] * settings.n_components):
        trained = Training.of(X, settings, weights).fit(settings)
    warn_of(trained.solution, settings if complain else replace(settings, tol=0.0))
    return trained


@dataclass(frozen=True)
class Training:
    """Samples prepared for fits that differ only in their strengths and starts."""

    present: Present
    unit: float
    """X is divided by it, so that its largest entry is of ordinary size."""
    units: Units
    index: NeighbourIndex | None
    links: sp.csr_array | None
    made: dict[str, Any] | None
    """The content of ``graph_``."""
    ground: Ground
    landmarks: IntArray | None
    """Samples whose codes are kept for new ones; None for all."""

    @classmethod
    def of(cls, X: Any, settings: Settings, weights: FloatArray | None) -> Training:
        """Prepare the samples for these settings, which must be checked."""
        if isinstance(X, Stream):
            settings.check_stream(X)
        low, high = entry_range(X)
        check.check_range(low, high, settings.nonnegative, X.dtype)
        settings.check_proportions(max(-low, high), X.dtype)
        unit = unit_of(max(-low, high), X.dtype)
        loss, X, settings = settings.loss, divided(X, unit), settings.in_units(unit)
        if settings.coupled and isinstance(settings.graph, str):
            check.check_neighbours(settings.n_neighbors, X.shape[0])
        present = Present.among(X, settings, weights)
        settings = present.graph(settings)
        data, share, k = present.rows, present.share, settings.n_components
        squares = squares_of(data)
        plan = settings.first_plan(squares, share, loss)
        matrix, links, index, made, landmarks = None, None, None, None, None
        if plan.alpha > 0:
            matrix, links, index = _build_graph(settings, data)
            made = _description(settings.graph, matrix, index)
            if settings.checkpoint is not None:
                settings.checkpoint.describe(*_as_found(matrix))
        if index is not None and matrix is not None and isinstance(data, Stream):
            n, landmarks, links = data.shape[0], _landmarks(data.shape[0]), None
            with Engine(data, k) as engine:
                some = engine.chosen(landmarks.tolist())
            index = index_of_some(some, n, index.n_neighbors, index.recipe.directions)
            data = data.with_graph(graph_size(data, k, matrix.nnz))
        ground = Ground.of(data, k, squares, matrix, share)
        return cls(present, unit, plan.units, index, links, made, ground, landmarks)

    def fit(self, settings: Settings) -> Trained:
        """Fit with these settings, which may have other strengths and starts."""
        settings = self.present.settings(settings.in_units(self.unit))
        plan = settings.plan(self.units)
        solution, plan = factorize(self.ground, plan, settings.random_state)
        codes = solution.codes if self.landmarks is None else solution.codes[self.landmarks]
        trained = Trained.of(
            solution, plan, self.index, codes, graph=self.made, links=self.links,
            member=self.present.member,
        )  # fmt: skip
        self.present.expand(solution, trained.projector)
        return trained.in_units_of_x(self.unit)


def warn_of(solution: Solution, settings: Settings) -> None:
    """Raise an error or warn if a fit did not end well."""
    if solution.status is Status.NONFINITE:
        other = ', or use solver="cd", which takes such steps back' * (settings.solver == "mu")
        raise FloatingPointError(
            "The objective left the range of floating-point numbers in iteration "
            f"{len(solution.history)}. Standardize X (its entries differ by too many orders of "
            f"magnitude){other}."
        )
    if solution.status is Status.MAX_ITER and settings.tol > 0:
        warnings.warn(
            f"The objective still falls by more than tol={settings.tol:g} per iteration after "
            f"max_iter={settings.max_iter} iterations. Increase max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
