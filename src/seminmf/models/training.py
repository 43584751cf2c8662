"""What happens in ``fit``: samples and their weights, α and β, the graph, the factorization.

Imported when a fit begins: behind it are the numerics and their compiler.
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

from .._once import once
from .._types import FloatArray, IntArray
from ..compiled.threads.turns import Turn
from ..data import Engine, Stream, divided, entry_range, graph_size, squares_of, unit_of
from ..data.features import features_of
from ..data.samples import checksum, distinct_rows, typical_length
from ..graph import neighbours as graphs
from ..graph.index import (
    NeighbourIndex,
    Recipe,
    automatic_recipe,
    index_of_features,
)
from ..problem.strength import Units
from ..solve.factorize import Ground, factorize
from ..solve.loop import Callback, Progress, Solution, Status
from ..solve.projection import Projector
from . import validation as check
from .persistence import LANDMARKS
from .settings import Settings

# Up to this many entries looking for equal samples takes no time.
_SMALL = 2**20


@dataclass(frozen=True)
class Trained:
    """What a fit found, for all samples in their original order."""

    solution: Solution
    alpha: float
    beta: float
    mu: float
    strength: float
    """That α and β come to."""
    projector: Projector
    links: sp.csr_array | None
    """Neighbours that were found for each distinct sample; None without a graph, or a given one."""
    member: IntArray | None
    """For each sample its number among the distinct ones; None if all are."""
    graph: dict[str, Any] | None
    """How the graph was made, see the attribute ``graph_``; None without one."""

    def among(self, parts: NDArray[np.bool_]) -> Trained:
        """With its parts in these places among others that are zero."""
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
        """What a fit to X / unit found, for X."""
        if unit == 1:
            return self
        solution, scale = self.solution, unit**self.solution.problem.loss.power
        number = solution.basis.dtype.type(unit)
        if float(np.abs(solution.basis).max()) * unit > float(np.finfo(number.dtype).max):
            raise ValueError(
                f"components_ are beyond the range of {solution.basis.dtype} in the units of X, "
                "because alpha and beta are so far from each other. Rescale X, for example "
                f'X / {unit:g}, or leave them at "auto".'
            )
        solution.basis, solution.residuals = solution.basis * number, solution.residuals * number
        for name, value, size in (
            ("The objective", max(solution.history), scale), ("alpha_", self.alpha, scale),
            ("beta_", self.beta, scale / unit), ("l1_", self.mu, scale),
        ):  # fmt: skip
            if 0 < value < inf and not 0 < value * size < inf:
                raise ValueError(
                    f"{name} is beyond the range of float64 in the units of X. Rescale X, for "
                    f"example X / {unit:g}, or what beta or sample_weight are given."
                )
        solution.history = [value * scale for value in solution.history]
        solution.problem = replace(solution.problem, loss=solution.problem.loss.in_units(1 / unit))
        return replace(
            self, alpha=self.alpha * scale, beta=self.beta * scale / unit, mu=self.mu * scale,
            projector=replace(self.projector, unit=unit),
        )  # fmt: skip


@dataclass(frozen=True)
class _Samples:
    """The samples that take part, each once, and how they stand for the original ones."""

    X: Any
    share: FloatArray | None
    member: IntArray | None
    """For each original sample its number in X, or −1 if its weight is zero; None if all are."""


def _select(X: Any, weights: FloatArray | None, merge: bool, at_least: int) -> _Samples:
    """Leave out samples of weight zero; with ``merge`` make equal samples one.

    They stay apart if there would be fewer than ``at_least``, the number of components.
    """
    representatives = member = np.arange(X.shape[0])
    if merge:
        representatives, member = distinct_rows(X)
        merge = len(representatives) >= at_least
        if not merge:
            representatives = member = np.arange(X.shape[0])
    if weights is None and len(representatives) == X.shape[0]:
        return _Samples(X, None, None)
    share = np.bincount(member, weights=weights)
    present = share > 0
    if not present.all():
        renumbered = np.where(present, np.cumsum(present) - 1, -1)
        representatives, member = representatives[present], renumbered[member]
        share = share[present]
    identical = len(representatives) == X.shape[0] and not merge
    rows = X if identical else X[representatives]
    return _Samples(rows, share.astype(X.dtype), None if identical else member)


def _build_graph(
    settings: Settings, X: Any
) -> tuple[sp.csr_array, sp.csr_array | None, NeighbourIndex]:
    """The graph matrix, the neighbours it was made of unless it was given, and the index in which
    neighbours of new samples are looked for.
    """
    graph, p = settings.graph, min(settings.n_neighbors, X.shape[0])
    if not isinstance(graph, str) and not sp.issparse(graph):
        index, links = NeighbourIndex.by_transformer(graph, X)
        return graphs.symmetric(links), links, index
    exact = isinstance(graph, str) and graph == "knn"
    recipe = Recipe if exact else partial(automatic_recipe, X, settings.n_components, p)
    index = NeighbourIndex(X, p, recipe)
    if sp.issparse(graph):
        # Whether there will be new samples to find neighbours for is not known yet.
        return graphs.given_graph(graph, X.shape[0]), None, index
    links = index.links()
    return graphs.symmetric(links), links, index


def _description(graph: Any, matrix: sp.csr_array, index: NeighbourIndex) -> dict[str, Any]:
    """What ``graph_`` says."""
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
    """A graph as part of the description of a fit."""
    name = "neighbours as they were found (a search that draws random numbers wants a seed)"
    return name, f"checksum {checksum(matrix)}"


def _landmarks(n_samples: int) -> IntArray:
    """Samples of a stream that stand for all where neighbours of new ones are looked for."""
    return np.linspace(0, n_samples, min(LANDMARKS, n_samples), endpoint=False).astype(np.int64)


def _graph_of_stream(
    settings: Settings, X: Stream
) -> tuple[sp.csr_array, NeighbourIndex, dict[str, Any]]:
    """The graph matrix of samples that are in memory some at a time, an index of some that stand
    for all, and what ``graph_`` says.
    """
    n, k = X.shape[0], settings.n_components
    p = min(settings.n_neighbors, n - 1)
    recipe = automatic_recipe(X, k, p)
    with Engine(X, k) as engine:
        some = engine.chosen(_landmarks(n).tolist())
    own = Recipe(directions=recipe.directions)
    index = NeighbourIndex(some, min(p, len(some)), own, whole=len(some) == n)
    if sp.issparse(settings.graph):
        matrix = graphs.given_graph(settings.graph, n)
        return matrix, index, {"search": "given", "samples": n, "edges": matrix.nnz // 2}
    features = features_of(X, recipe.directions)
    search = index_of_features(features, p, approximate=recipe.approximate)
    matrix = graphs.symmetric(graphs.links_of(search.neighbours(), n))
    made = {
        "search": "approximate" if recipe.approximate else "exact", "samples": n,
        "edges": matrix.nnz // 2, "features": features.shape[1], "recall": search.recall,
    }  # fmt: skip
    return matrix, index, made


def train(
    X: Any, settings: Settings, weights: FloatArray | None, *, complain: bool = True
) -> Trained:
    """Fit the model that the settings describe to (weighted) samples.

    Complain, unless told not to, where it ends before it has converged.
    """
    settings = settings.checked(X.shape, X.dtype)
    with Turn(X.shape[0] * X.shape[1] * settings.n_components):
        trained = Training.of(X, settings, weights).fit(settings)
    warn_of(trained.solution, settings if complain else replace(settings, tol=0.0))
    return trained


@dataclass(frozen=True)
class Training:
    """Samples made ready for fits that differ in nothing but their strengths and their starts."""

    X: Any
    """In the unit in which their largest entry is of ordinary size."""
    unit: float
    member: IntArray | None
    """For each sample its number among those that take part; None if all are."""
    units: Units
    index: NeighbourIndex | None
    links: sp.csr_array | None
    made: dict[str, Any] | None
    """What ``graph_`` says."""
    ground: Ground
    landmarks: IntArray | None
    """Samples whose codes are kept for new ones; None if all are."""

    @classmethod
    def of(cls, X: Any, settings: Settings, weights: FloatArray | None) -> Training:
        """With checked settings."""
        if isinstance(X, Stream):
            settings.check_stream(X)
        low, high = entry_range(X)
        check.check_range(low, high, settings.nonnegative, X.dtype)
        settings.check_proportions(max(-low, high), X.dtype)
        unit = unit_of(max(-low, high), X.dtype)
        loss, X, settings = settings.loss, divided(X, unit), settings.in_units(unit)
        samples = _taking_part(X, settings, weights)
        if samples.member is not None and sp.issparse(settings.graph):
            kept = np.flatnonzero(samples.member >= 0)
            whole = graphs.given_graph(settings.graph, X.shape[0])
            settings = replace(settings, graph=whole[kept][:, kept])
        data, share, k = samples.X, samples.share, settings.n_components
        squares = squares_of(data)
        total = data.shape[0] if share is None else share.sum()
        units = Units(float(total), typical_length(squares, share), settings.loss.power)
        settings.check_loss(units.length, X.dtype, loss)
        matrix, links, index, made = None, None, None, None
        landmarks = None
        plan = settings.plan(units)
        check.warn_if_lopsided(plan.alpha, plan.beta, plan.mu)
        if plan.alpha > 0 and isinstance(data, Stream):
            matrix, index, made = _graph_of_stream(settings, data)
            data = data.with_graph(graph_size(data, k, matrix.nnz))
            landmarks = _landmarks(data.shape[0])
        elif plan.alpha > 0:
            matrix, links, index = _build_graph(settings, data)
            made = _description(settings.graph, matrix, index)
        if matrix is not None and settings.checkpoint is not None:
            settings.checkpoint.describe(*_as_found(matrix))
        ground = Ground.of(data, k, squares, matrix, share)
        return cls(X, unit, samples.member, units, index, links, made, ground, landmarks)

    def fit(self, settings: Settings) -> Trained:
        """Those that the samples were made ready for, or others that fit to them."""
        settings = settings.in_units(self.unit)
        if self.member is not None:
            settings = self._restricted(settings, self.member)
        plan = settings.plan(self.units)
        solution, plan = factorize(self.ground, plan, settings.random_state)
        problem = solution.problem
        codes = None if self.index is None else solution.codes
        if codes is not None and self.landmarks is not None:
            codes = codes[self.landmarks]
        projector = Projector(
            solution.basis, problem.loss, problem.graph, plan.alpha, problem.penalty, plan.mu,
            self.index, codes,
        )  # fmt: skip
        if self.member is not None:
            _expand(solution, self.X, self.member, projector)
        trained = Trained(
            solution, plan.alpha, plan.beta, plan.mu, plan.strength, projector, self.links,
            self.member, self.made,
        )  # fmt: skip
        return trained.in_units_of_x(self.unit)

    def _restricted(self, settings: Settings, member: IntArray) -> Settings:
        """A start for the samples that take part; a callback that sees all samples."""
        callback = settings.callback
        if callback is not None:
            settings = replace(settings, callback=_with_all_samples(callback, self.X, member))
        if isinstance(settings.init, tuple):
            basis, codes = settings.init
            settings = replace(settings, init=(basis, np.ascontiguousarray(codes[member >= 0])))
        if settings.before is not None:
            basis, codes = settings.before
            settings = replace(settings, before=(basis, codes.take(self._first, axis=0)))
        return settings

    @once
    def _first(self) -> IntArray:
        """Where each of the samples that take part comes first: copies have the same code."""
        assert self.member is not None
        kept = np.flatnonzero(self.member >= 0)
        return kept[np.unique(self.member[kept], return_index=True)[1]]


def _taking_part(X: Any, settings: Settings, weights: FloatArray | None) -> _Samples:
    coupled = settings.coupled
    if coupled and isinstance(settings.graph, str):
        check.check_neighbours(settings.n_neighbors, X.shape[0])
    given = sp.issparse(settings.graph) or isinstance(settings.init, tuple)
    # Without a graph copies make no difference but to the starts, and only with few samples.
    small = X.shape[0] * X.shape[1] <= _SMALL
    merge = (coupled or small) and not given and settings.solver == "cd"
    merge = merge and not isinstance(X, Stream)
    samples = _select(X, weights, merge, settings.n_components)
    if samples.member is not None:
        which = "" if weights is None else " of positive sample_weight"
        check.check_sizes(samples.X.shape, settings.n_components, settings.nonnegative, which)
        check.check_range(*entry_range(samples.X), settings.nonnegative, X.dtype)
    return samples


def _with_all_samples(callback: Callback, X: Any, member: IntArray) -> Callback:
    def wrapped(progress: Progress) -> object:
        def factors() -> tuple[FloatArray, FloatArray]:
            basis, codes = progress.factors()
            everything, absent = codes[member], np.flatnonzero(member < 0)
            if len(absent):
                everything[absent] = Projector(basis).codes(X[absent])
            return basis, everything

        return callback(replace(progress, factors=factors))

    return wrapped


def _expand(solution: Solution, X: Any, member: IntArray, projector: Projector) -> None:
    """From distinct samples to all: copies share a code, absent samples are projected."""
    codes, residuals = (rows.take(member, axis=0) for rows in (solution.codes, solution.residuals))
    absent = np.flatnonzero(member < 0)
    if len(absent):
        codes[absent] = projector.codes(X[absent])
        residuals[absent] = projector.residuals(X[absent], codes[absent])
    solution.codes, solution.residuals = codes, residuals


def warn_of(solution: Solution, settings: Settings) -> None:
    """Say how a fit ended that did not end well."""
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
