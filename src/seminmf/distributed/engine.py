"""An engine whose rows lie at sites; the factorization does not see the difference.

`RemoteEngine` has the methods of `data.Engine`, `RemoteRows` takes the place of `data.Rows`, and
`RemoteGraph` that of `graph.prepared.NeighbourGraph`. That a step was accepted is sent to the sites
with the next call, together with the codes of their neighbours on other sites: an iteration is one
round trip.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..data import Engine, Rows, Rule, Statistics, row_squares
from .halo import HaloGraph, HaloRows
from .sites import HERE, Held, Own, Sites

# Arrays with a row for each sample are `Held` objects here.


def _facts(engine: Engine) -> tuple[Any, ...]:
    return engine.n_samples, engine.n_features, engine.dtype, engine.stored, engine.sparse


def _drawn(engine: Engine, seed: int, columns: int, most: float) -> FloatArray:
    return engine.drawn(np.random.RandomState(seed), columns, most)


def _kept(verb: Callable[..., Any]) -> Any:
    """A method of `Engine` for the engines of all sites, whose results stay there."""
    return lambda engine, *arguments: engine.each(verb, engine, *arguments)


def _added(verb: Callable[..., Any]) -> Any:
    """A method of `Engine` for the engines of all sites, whose results are added up here."""
    return lambda engine, *arguments: np.asarray(engine.summed(verb, engine, *arguments))


class RemoteEngine(Held, Engine):
    """The engines of all sites as one."""

    def __init__(self, sites: Sites, name: str) -> None:
        super().__init__(sites, name)
        sizes, features, dtypes, stored, sparse = zip(*sites.gather(_facts, self), strict=True)
        self.n_samples, self.n_features, self.dtype = sum(sizes), features[0], dtypes[0]
        self.stored, self.sparse, self.whole = sum(stored), sparse[0], False
        self._ends = np.append(0, np.cumsum(sizes))
        self.squares = self.each(getattr, self, "squares")

    def __enter__(self) -> RemoteEngine:
        return self

    def __exit__(self, *error: Any) -> None:
        """Does nothing: whoever made the sites closes them."""

    def each(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.sites.each(function, *arguments)

    def gather(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        return self.sites.gather(function, *arguments)

    def brought(self, rows: Any) -> FloatArray:
        return np.concatenate(self.gather(np.asarray, rows))

    def in_order(self, rows: Any) -> FloatArray:
        """`brought`, in the order of the samples."""
        found = self.brought(rows)
        ordered = np.empty_like(found)
        ordered[np.concatenate(self.gather(getattr, HERE, "numbers"))] = found
        return ordered

    def placed(self, rows: Any) -> Any:
        if isinstance(rows, Held):
            return rows.copy()
        numbers = self.gather(getattr, HERE, "numbers")
        return self.each(np.array, Own([rows[own] for own in numbers]), self.dtype)

    def drawn(self, rng: np.random.RandomState, columns: int, most: float = 1.0) -> Any:
        seeds = rng.randint(2**31 - 1, size=len(self.sites)).tolist()
        return self.each(_drawn, self, Own(seeds), columns, most)

    def beside(self, features: Any, n_components: int, squares: Any = None) -> RemoteEngine:
        return self.sites.each_as(
            RemoteEngine, Engine.beside, self, features, n_components, squares
        )

    def chosen(self, numbers: list[int]) -> FloatArray:
        places, homes = np.array(numbers), np.searchsorted(self._ends, numbers, side="right") - 1
        wanted = [(places[homes == s] - self._ends[s]).tolist() for s in range(len(self.sites))]
        found = np.empty((len(numbers), self.n_features), self.dtype)
        for site, rows in enumerate(self.gather(Engine.chosen, self, Own(wanted))):
            found[homes == site] = rows
        return found

    times, residuals = _kept(Engine.times), _kept(Engine.residuals)
    adjoint_times, square_times = _added(Engine.adjoint_times), _added(Engine.square_times)
    weighted_moment = _added(Engine.weighted_moment)

    def begin(self, terms: Any, rule: Rule, graph: Any, share: Any, codes: Any) -> Any:
        return RemoteRows(self, terms, rule, graph, share, codes)


def _shown(graph: HaloGraph, codes: FloatArray) -> FloatArray:
    return codes[graph.crossing.shown]


def _inner_penalty(graph: HaloGraph, codes: FloatArray, objective: Any) -> float:
    return graph.measure(codes, objective)[0]


class RemoteGraph(Held):
    """The graphs of all sites, and the edges between sites.

    Codes that other sites need form a table, site after site. Site s needs its rows ``sights[s]``;
    edge e is between its rows ``ends[e, 0]`` and ``ends[e, 1]`` and has weight ``weights[e]``.
    """

    sights: list[IntArray]
    ends: IntArray
    weights: FloatArray

    def table(self, codes: Held) -> FloatArray:
        """The codes that other sites need."""
        return np.concatenate(self.sites.gather(_shown, self, codes))

    def seen(self, table: FloatArray) -> Own:
        """The rows of the table that each site needs."""
        return Own([table[own] for own in self.sights])

    def with_neighbours(self, codes: Any) -> Any:
        """Codes of all samples that edges of a site end at, its own samples first."""
        return self.sites.each(
            lambda *both: np.concatenate(both), codes, self.seen(self.table(codes))
        )

    def measure(self, codes: Any, objective: Any) -> tuple[float, None]:
        """The graph penalty of an objective at these codes."""
        inner = self.sites.gather(_inner_penalty, self, self.with_neighbours(codes), objective)
        return sum(inner) + self.penalty(self.table(codes), objective), None

    def penalty(self, table: FloatArray, objective: Any) -> float:
        """The penalty of the edges between sites."""
        steps = table[self.ends[:, 0]] - table[self.ends[:, 1]]
        lengths = np.sqrt(row_squares(steps))
        weights = self.weights.astype(lengths.dtype)
        return float(objective.graph.total(lengths, weights)) if len(lengths) else 0.0


def _obey(
    rows: Any, accepted: float | None, elsewhere: FloatArray | None, method: str, arguments: Any
) -> tuple[Any, FloatArray | None]:
    """Call a method of a site's rows; returns its result, and the codes that other sites need.

    If the trial point of the call before was ``accepted``, with this extrapolation, that is done
    first, with the codes of the neighbours ``elsewhere`` at that point.
    """
    if accepted is not None:
        rows.accept(accepted)
    if elsewhere is not None:
        rows.meet(elsewhere)
    found = getattr(rows, method)(*arguments) if method else None
    seen = isinstance(rows, HaloRows) and isinstance(found, Statistics)
    return found, rows.shown(trial=method == "advance") if seen else None


class RemoteRows:
    """The rows of all sites in a run; see `data.Rows`."""

    def __init__(
        self, engine: RemoteEngine, terms: Any, rule: Rule, graph: RemoteGraph | None, share: Any,
        codes: Any,
    ) -> None:  # fmt: skip
        self._sites, self._graph, self._terms = engine.sites, graph, terms
        kind: Any = Rows
        if graph is not None:
            kind, codes = HaloRows, graph.with_neighbours(codes)
        self._rows = engine.each(kind, engine, terms, rule, graph, share, codes)
        self._accepted: float | None = None
        # The codes of the trial point that other sites need.
        self._trial: FloatArray | None = None

    def measure(self, *arguments: Any) -> Statistics:
        return self._statistics("measure", arguments)

    def advance(self, *arguments: Any) -> Statistics:
        return self._statistics("advance", arguments)

    def solve(self, *numbers: float) -> None:
        """None: the caller has the moments, and solves for the basis itself."""

    def newton_steps(self, *arguments: Any) -> None:
        """None: the products of a pass stay at the sites."""

    def widen(self, *arguments: Any) -> bool:
        """False: a run starts anew in other features."""
        return False

    def accept(self, eta: float) -> None:
        self._tell()
        self._accepted = eta

    def restart(self) -> tuple[FloatArray, FloatArray]:
        moments, grams = zip(*(found for found, _ in self._ask("restart")), strict=True)
        return np.sum(moments, axis=0), np.sum(grams, axis=0)

    @property
    def codes(self) -> Held:
        self._tell()
        return self._sites.each(getattr, self._rows, "codes")

    @property
    def residuals(self) -> Held:
        self._tell()
        return self._sites.each(getattr, self._rows, "residuals")

    def _tell(self) -> None:
        """Tell the sites what was accepted."""
        if self._accepted is not None:
            self._ask("")

    def _ask(self, method: str, arguments: Any = ()) -> list[Any]:
        accepted, self._accepted = self._accepted, None
        elsewhere = None
        if accepted is not None and self._graph is not None and self._trial is not None:
            elsewhere = self._graph.seen(self._trial)
        return self._sites.gather(_obey, self._rows, accepted, elsewhere, method, arguments)

    def _statistics(self, method: str, arguments: Any) -> Statistics:
        parts, shown = zip(*self._ask(method, arguments), strict=True)
        total = Statistics(
            *(sum(getattr(part, name) for part in parts) for name in Statistics.__slots__)
        )
        if self._graph is not None:
            table = np.concatenate(shown)
            total.graph_penalty += self._graph.penalty(table, self._terms.objective)
            if method == "advance":
                self._trial = table
        return total
