"""What happens in ``fit``: samples and their weights, α and β, the graph, the factorization.

Imported when a fit begins: behind it are the numerics and their compiler.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .._types import FloatArray, IntArray
from .._words import counted
from ..data import Engine, Stream, divided, entry_range, graph_size, squares_of, unit_of
from ..data.features import features_of, leading_directions
from ..data.samples import checksum, distinct_rows, typical_length
from ..graph import neighbours as graphs
from ..graph.index import (
    NeighbourIndex,
    Recipe,
    automatic_recipe,
    index_of_features,
    many_samples,
)
from ..problem.strength import Units
from ..solve.factorize import factorize
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
    projector: Projector
    links: sp.csr_array | None
    """Neighbours that were found for each distinct sample; None without a graph, or a given one."""
    member: IntArray | None
    """For each sample its number among the distinct ones; None if all are."""
    graph: dict[str, Any] | None
    """How the graph was made, see the attribute ``graph_``; None without one."""

    def in_units_of_x(self, unit: float) -> Trained:
        """What a fit to X / unit found, for X."""
        if unit == 1:
            return self
        solution, scale = self.solution, unit**self.solution.problem.loss.power
        number = solution.basis.dtype.type(unit)
        solution.basis, solution.residuals = solution.basis * number, solution.residuals * number
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
    if settings.known is not None:
        return settings.known
    graph, p = settings.graph, min(settings.n_neighbors, X.shape[0])
    if not isinstance(graph, str) and not sp.issparse(graph):
        index, links = NeighbourIndex.by_transformer(graph, X)
        return graphs.symmetric(links), links, index
    exact = isinstance(graph, str) and graph == "knn"
    recipe = Recipe() if exact else automatic_recipe(X, settings.n_components, p)
    index = NeighbourIndex(X, p, recipe)
    if sp.issparse(graph):
        return graphs.given_graph(graph, X.shape[0]), None, index
    links = index.links()
    return graphs.symmetric(links), links, index


def _description(graph: Any, matrix: sp.csr_array, index: NeighbourIndex) -> dict[str, Any]:
    """What ``graph_`` says."""
    n, directions = matrix.shape[0], index.recipe.directions
    made = {"search": "given", "samples": n, "edges": matrix.nnz // 2}
    if isinstance(graph, str):
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
    (n, m), k = X.shape, settings.n_components
    directions = leading_directions(X, 2 * k) if m > 2 * k else None
    p = min(settings.n_neighbors, n - 1)
    with Engine(X, k) as engine:
        some = engine.chosen(_landmarks(n).tolist())
    recipe = Recipe(directions=directions)
    index = NeighbourIndex(some, min(p, len(some)), recipe, whole=len(some) == n)
    if sp.issparse(settings.graph):
        matrix = graphs.given_graph(settings.graph, n)
        return matrix, index, {"search": "given", "samples": n, "edges": matrix.nnz // 2}
    approximate = many_samples(n, p)
    features = features_of(X, directions)
    search = index_of_features(features, p, approximate=approximate)
    matrix = graphs.symmetric(graphs.links_of(search.neighbours(), n))
    made = {
        "search": "approximate" if approximate else "exact", "samples": n,
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
    if isinstance(X, Stream):
        settings.check_stream(X)
    low, high = entry_range(X)
    check.check_range(low, high, settings.nonnegative, X.dtype)
    unit = unit_of(max(-low, high), X.dtype)
    trained = _train(divided(X, unit), settings.in_units(unit), weights).in_units_of_x(unit)
    warn_of(trained.solution, settings if complain else replace(settings, tol=0.0))
    return trained


def _train(X: Any, settings: Settings, weights: FloatArray | None) -> Trained:
    """The same with checked settings, for data of ordinary size."""
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
        settings = _restrict(settings, X, samples.member)
        which = "" if weights is None else " of positive sample_weight"
        check.check_sizes(samples.X.shape, settings.n_components, settings.nonnegative, which)
        check.check_range(*entry_range(samples.X), settings.nonnegative, X.dtype)
    data, share = samples.X, samples.share

    squares = squares_of(data)
    length = typical_length(squares, share)
    total = data.shape[0] if share is None else share.sum()
    alpha, beta, mu = settings.weights(Units(float(total), length, settings.loss.power))
    matrix, links, index, made = None, None, None, None
    if alpha > 0 and isinstance(data, Stream):
        matrix, index, made = _graph_of_stream(settings, data)
        data = data.with_graph(graph_size(data, settings.n_components, matrix.nnz))
    elif alpha > 0:
        matrix, links, index = _build_graph(settings, data)
        made = _description(settings.graph, matrix, index)
    if matrix is not None and settings.checkpoint is not None:
        settings.checkpoint.describe(*_as_found(matrix))

    plan, rng = settings.plan(alpha, beta, mu, length), settings.random_state
    solution = factorize(data, plan, squares, matrix, share, rng)
    problem = solution.problem
    codes = None if index is None else solution.codes
    if isinstance(data, Stream) and index is not None:
        codes = solution.codes[_landmarks(data.shape[0])]
    projector = Projector(
        solution.basis, problem.loss, problem.graph, alpha, problem.penalty, mu, index, codes
    )
    if samples.member is not None:
        _expand(solution, X, samples.member, projector)
    return Trained(solution, alpha, beta, mu, projector, links, samples.member, made)


def _restrict(settings: Settings, X: Any, member: IntArray) -> Settings:
    """Start and graph for the samples that take part; a callback that sees all samples."""
    kept = np.flatnonzero(member >= 0)
    callback = settings.callback
    if callback is not None:
        settings = replace(settings, callback=_with_all_samples(callback, X, member))
    if isinstance(settings.init, tuple):
        basis, codes = settings.init
        settings = replace(settings, init=(basis, np.ascontiguousarray(codes[kept])))
    if settings.before is not None:
        basis, codes = settings.before
        _, first = np.unique(member[kept], return_index=True)  # copies have the same code
        settings = replace(settings, before=(basis, np.ascontiguousarray(codes[kept[first]])))
    if sp.issparse(settings.graph):
        whole = graphs.given_graph(settings.graph, X.shape[0])
        settings = replace(settings, graph=whole[kept][:, kept])
    return settings


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
    codes, residuals = solution.codes[member], solution.residuals[member]
    absent = np.flatnonzero(member < 0)
    if len(absent):
        codes[absent] = projector.codes(X[absent])
        residuals[absent] = projector.residuals(X[absent], codes[absent])
    solution.codes, solution.residuals = codes, residuals


def warn_of(solution: Solution, settings: Settings) -> None:
    """Say how a fit ended that did not end well."""
    if solution.status is Status.NONFINITE:
        raise FloatingPointError(
            f"The objective became {solution.objective} after "
            f"{counted(len(solution.history), 'iteration')}. "
            "Standardize X (its entries differ by too many orders of magnitude), or use "
            'solver="cd", which takes such steps back.'
        )
    if solution.status is Status.MAX_ITER and settings.tol > 0:
        warnings.warn(
            f"The objective still falls by more than tol={settings.tol:g} per iteration after "
            f"max_iter={settings.max_iter} iterations. Increase max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
