"""What happens in ``fit``: samples and their weights, α and β, the graph, the factorization.

Imported when a fit begins: behind it are the numerics and their compiler.
"""

from __future__ import annotations

import warnings
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .._types import FloatArray, IntArray
from ..data import Engine, Stream, entry_range, graph_size, squares_of
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
from ..problem.losses import Loss, loss_of
from ..problem.penalties import L1, CodesPenalty
from ..problem.strength import Units, resolve, resolve_penalty
from ..solve.factorize import Plan, factorize
from ..solve.loop import Callback, Progress, Solution, Status, Stopping
from ..solve.projection import Projector
from . import validation as check
from .persistence import LANDMARKS

# Up to this many entries looking for equal samples takes no time.
_SMALL = 2**20


@dataclass(frozen=True)
class Settings:
    """An estimator's parameters, and the parts its class stands for."""

    n_components: Any
    alpha: Any
    beta: Any
    strength: Any
    graph: Any
    n_neighbors: Any
    l1: Any
    codes_penalty: Any
    solver: Any
    init: Any
    n_init: Any
    max_iter: Any
    tol: Any
    callback: Callback | None
    checkpoint: Any
    random_state: Any
    loss: Any
    graph_measure: Loss
    nonnegative: bool
    max_memory: Any
    before: tuple[FloatArray, FloatArray] | None = None
    """Basis and codes of the last fit, to go on from."""
    known: Any = None  # what `_build_graph` has returned for another fit to the same samples

    def checked(self, shape: tuple[int, int], dtype: Any) -> Settings:
        """The same with every value checked against the shape of the data."""
        n, m = shape
        k = check.check_integer("n_components", self.n_components, 1)
        check.check_integer("n_neighbors", self.n_neighbors, 1)
        random_state = check.check_seed(self.random_state)
        check.check_callback(self.callback)
        check.check_sizes(shape, k, self.nonnegative)
        if isinstance(self.graph, str):
            check.check_choice("graph", self.graph, ("auto", "knn"))
        elif not sp.issparse(self.graph) and not hasattr(self.graph, "fit_transform"):
            raise ValueError(
                'graph must be "auto", "knn", a sparse matrix of shape (n_samples, n_samples) or a '
                f"scikit-learn neighbours transformer, got {type(self.graph).__name__}."
            )
        return replace(
            self,
            n_components=k,
            alpha=check.check_penalty("alpha", self.alpha),
            beta=check.check_penalty("beta", self.beta),
            strength=check.check_number("strength", self.strength),
            codes_penalty=self._checked_penalty(),
            loss=loss_of(self.loss),
            solver=check.check_choice("solver", self.solver, check.SOLVERS),
            init=check.check_start(self.init, n, m, k, self.nonnegative, dtype),
            before=check.check_before(self.before, n, m, k, dtype),
            n_init=check.check_integer("n_init", self.n_init, 1) if self.before is None else 1,
            max_iter=check.check_integer("max_iter", self.max_iter, 1),
            tol=check.check_number("tol", self.tol),
            random_state=random_state,
        )

    def check_stream(self, X: Stream) -> None:
        """What cannot be done with rows that are in memory some at a time."""
        if isinstance(self.init, str) and self.init == "kmeans":
            raise ValueError(
                'init="kmeans" needs all samples in memory at a time; for a source take "auto", '
                '"svd", "random" or "exemplar".'
            )
        searched = not sp.issparse(self.graph)
        if self.coupled and searched and not (isinstance(self.graph, str) and self.graph == "auto"):
            raise ValueError(
                f"graph={self.graph!r} needs all samples in memory at a time. For a source take "
                'graph="auto", which looks for neighbours in the leading directions of X, a sparse '
                "matrix of neighbours, or alpha=0 and beta=0 for a model without a graph."
            )
        if self.coupled:
            count = 2 * self.n_neighbors * X.shape[0] if searched else self.graph.nnz
            X = X.with_graph(graph_size(X, self.n_components, count))
        X.check_memory(self.n_components)

    @property
    def coupled(self) -> bool:
        """Whether there is a graph, as far as it can be told before α is known."""
        auto = self.alpha == "auto"
        return bool((auto and self.strength > 0 and self.beta != 0) or (not auto and self.alpha))

    def _checked_penalty(self) -> CodesPenalty | None:
        """The penalty on the codes; None if its strength is zero."""
        l1, penalty = check.check_number("l1", self.l1), self.codes_penalty
        if penalty is None:
            return L1(l1) if l1 > 0 else None
        if l1 > 0:
            raise ValueError(
                f"l1={self.l1!r} and codes_penalty={penalty!r} cannot be combined: they are two "
                "penalties on the codes. Leave one of them at its default."
            )
        if not isinstance(penalty, CodesPenalty):
            raise ValueError(
                "codes_penalty must be None or an object of a class derived from "
                f"seminmf.penalties.CodesPenalty, got {penalty!r}."
            )
        if check.check_number("codes_penalty.strength", penalty.strength) == 0:
            return None
        penalty.check()
        return penalty

    def weights(self, units: Units) -> tuple[float, float, float]:
        """α, β and μ."""
        alpha, beta = resolve(self.alpha, self.beta, self.strength, units, self.graph_measure.power)
        if self.codes_penalty is None:
            check.warn_if_lopsided(alpha, beta)
            return alpha, beta, 0.0
        given_as = f"l1={self.l1!r}" if self.l1 > 0 else f"codes_penalty={self.codes_penalty!r}"
        free = self.beta == "auto"
        mu, beta = resolve_penalty(self.codes_penalty, given_as, beta, free, units)
        return alpha, beta, mu

    def plan(self, alpha: float, beta: float, mu: float, length: float) -> Plan:
        return Plan(
            self.n_components, self.loss, self.graph_measure, alpha, beta, self.codes_penalty, mu,
            self.nonnegative, self.solver, self.before or self.init, self.n_init,
            Stopping(self.max_iter, self.tol), self.callback, length, self.checkpoint,
        )  # fmt: skip


# Which of the settings an estimator has as parameters, or a class stands for.
PARAMETERS = tuple(field.name for field in fields(Settings) if field.default is MISSING)


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


def train(X: Any, settings: Settings, weights: FloatArray | None) -> Trained:
    """Fit the model that the settings describe to (weighted) samples."""
    settings = settings.checked(X.shape, X.dtype)
    if isinstance(X, Stream):
        settings.check_stream(X)
    check.check_range(*entry_range(X), settings.nonnegative, X.dtype)
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
    warn_of(solution, settings)
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
            f"The objective became {solution.objective} after {len(solution.history)} iterations. "
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
