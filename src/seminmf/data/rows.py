"""The rows of X in a run: codes, residuals, weights and edges, and what a pass over them returns.

Only `Statistics` leave the rows, whatever their number is: a loss, two penalties, and m × k + k × k
sums. Those are all that the basis and the decisions of a run need (fact 6 of the theory page).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._types import FloatArray, IntArray
from ..compiled import state
from ..compiled.codes import DESCEND, MEASURE, MULTIPLY, SUM
from ..compiled.iteration import EDGES_PER_ITEM, iteration, phases_of
from ..compiled.products import padded_width
from .cutting import cut_each_chunk
from .engine import Engine, unpacked_moment

__all__ = ["DESCEND", "MULTIPLY", "Rows", "Rule", "Statistics"]


@dataclass(frozen=True)
class Rule:
    """How codes are updated: `DESCEND` or `MULTIPLY`, so many sweeps, with or without the root."""

    kind: int
    sweeps: int = 0
    root: bool = True

    @property
    def sequential(self) -> bool:
        """Whether a row must see the new codes of the neighbours that came before it."""
        return self.kind == DESCEND


@dataclass(frozen=True)
class Statistics:
    """What a pass over the rows finds: terms of J, and the moments Xᵀ(d∘Y) and Yᵀ(d∘Y)."""

    loss: float
    graph_penalty: float
    codes_penalty: float
    moment: FloatArray
    gram: FloatArray


class Graph(Protocol):
    """What the rows have to know of a graph; see `compiled.state.GraphType`."""

    indptr: IntArray
    indices: IntArray
    base: FloatArray
    pairs: IntArray
    order: IntArray
    colour_starts: IntArray
    groups: IntArray
    chunks: IntArray
    """Bounds of the chunks, in samples."""


class _NoGraph:
    """Samples without edges."""

    def __init__(self, n_samples: int, dtype: Any) -> None:
        self.indptr = self.indices = nobody = np.zeros(0, np.int32)
        self.base, self.pairs = np.zeros(0, dtype), nobody.reshape(0, 4)
        self.order, self.colour_starts = np.zeros(0, np.int64), np.zeros(1, np.int64)
        self.groups, self.chunks = np.zeros(2, np.int64), np.array([0, n_samples])


@dataclass
class _Point:
    codes: FloatArray
    residuals: FloatArray
    weights: FloatArray
    edges: FloatArray

    @classmethod
    def of(cls, codes: FloatArray, edges: FloatArray) -> _Point:
        n, dtype = len(codes), codes.dtype
        return cls(codes, np.empty(n, dtype), np.empty(n, dtype), edges)


class Rows:
    """Two points of a run, the current one and a trial, with the rows of X behind them.

    Parameters
    ----------
    engine : Engine
    terms : object
        What is minimised: its ``structure`` is one of `compiled.state.TermsType`.
    rule : Rule
    graph : Graph or None
        Of the samples in the order of the ``numbering``.
    numbering : array of shape (n_samples,) or None
        The samples in the order in which their state is kept; None keeps them as they come.
    share : array of shape (n_samples,) or None
        Sample weights.
    codes : array of shape (n_samples, n_components)
        To start from; may be overwritten.
    """

    def __init__(
        self,
        engine: Engine,
        terms: Any,
        rule: Rule,
        graph: Graph | None,
        numbering: IntArray | None,
        share: FloatArray | None,
        codes: FloatArray,
    ) -> None:
        self._rule, self._numbering = rule, numbering
        self._coupled = graph is not None
        if graph is None:
            graph = _NoGraph(engine.n_samples, engine.dtype)
        self._graph = graph
        if numbering is not None:
            codes = codes[numbering]
            share = None if share is None else share[numbering]
        self._share = share
        self._current = _Point.of(codes, graph.base.copy())
        self._trial = _Point.of(codes.copy(), graph.base.copy())
        # The points Y are kept only where neighbours want to see them before they have moved.
        kept = self._coupled and rule.sequential
        self._following = np.empty_like(codes if kept else codes[:0])
        self._start_eta = 0.0
        self.enter(engine, terms)

    def enter(self, engine: Engine, terms: Any) -> None:
        """Go on with the same samples in other features."""
        n, m, k = engine.n_samples, engine.n_features, self._current.codes.shape[1]
        graph, dtype, numbering = self._graph, engine.dtype, self._numbering
        cuts = engine.cuts
        if self._rule.sequential and len(graph.chunks) > 2:
            cuts = cut_each_chunk(graph.chunks)
        squares = engine.squares if numbering is None else engine.squares[numbering]
        samples = engine.storage.samples(squares, self._share, numbering, cuts.longest)
        width, shards = padded_width(k, dtype), cuts.most_shards
        height = width if engine.sparse else k
        items = -(-len(graph.pairs) // EDGES_PER_ITEM)
        # A chunk whose rows have to be gathered keeps them for the second product.
        gathers = numbering is not None and not engine.sparse
        gathered = int(np.diff(graph.chunks).max()) if gathers else 0
        self._engine, self._terms = engine, terms
        self._phases = phases_of(len(graph.colour_starts) - 1, len(cuts.chunks) - 1)
        self._totals = np.zeros(3)
        self._moments = np.empty((shards, m * width), dtype)
        self._grams = np.empty((shards * height, k), dtype)
        self._U, self._omega = np.zeros((m, width), dtype), np.empty((k, k), dtype)
        sums = state.make_sums(
            np.zeros(shards), np.zeros(shards), np.zeros(items), self._moments, self._grams,
            self._totals,
        )  # fmt: skip
        fit, phi = np.empty(n, dtype), np.empty((n if self._coupled else 0, width), dtype)
        gathered_rows = np.empty((gathered, m), dtype)
        structure = state.make_graph(
            graph.indptr, graph.indices, graph.base, graph.pairs, graph.order,
            graph.colour_starts, graph.groups,
        )  # fmt: skip
        self._basis = state.make_basis(self._U, self._omega)
        self._run = state.make_run(
            samples, cuts.structure, structure, terms.structure, sums,
            state.make_scratch(phi, fit, gathered_rows),
        )  # fmt: skip
        self._structures: dict[tuple[int, ...], Any] = {}

    # What a run asks of its rows

    def measure(
        self, basis: FloatArray, omega: FloatArray, alpha: float, penalty: float
    ) -> Statistics:
        """Everything that follows from the basis and the current codes, and the moments at them."""
        return self._pass(self._current, basis, omega, (MEASURE, 0, True, alpha, penalty, 0.0, 0.0))

    def advance(
        self, basis: FloatArray, omega: FloatArray, alpha: float, penalty: float, eta: float
    ) -> Statistics:
        """New codes into the trial point, and the moments at the point beyond them by ``eta``."""
        rule = self._rule
        step = (rule.kind, rule.sweeps, rule.root, alpha, penalty, self._start_eta, eta)
        return self._pass(self._trial, basis, omega, step)

    def accept(self, eta: float) -> None:
        """Make the trial point the current one; the next step starts beyond it by ``eta``."""
        self._current, self._trial = self._trial, self._current
        if len(self._following):
            self._trial.codes, self._following = self._following, self._trial.codes
        self._start_eta = eta

    def restart(self) -> tuple[FloatArray, FloatArray]:
        """Have the next step start from the current codes themselves; returns their moments."""
        self._trial.codes[:] = self._current.codes
        self._start_eta = 0.0
        found = self._pass(self._current, None, None, (SUM, 0, True, 0.0, 0.0, 0.0, 0.0))
        return found.moment, found.gram

    @property
    def codes(self) -> FloatArray:
        """A copy of the current codes, in the given order of the samples."""
        return self._in_given_order(self._current.codes)

    @property
    def residuals(self) -> FloatArray:
        """A copy of the length of each sample's residual."""
        return self._in_given_order(self._current.residuals)

    def _in_given_order(self, rows: FloatArray) -> FloatArray:
        ordered = np.empty_like(rows)
        ordered[slice(None) if self._numbering is None else self._numbering] = rows
        return ordered

    def _pass(
        self, new: _Point, basis: FloatArray | None, omega: FloatArray | None, step: tuple[Any, ...]
    ) -> Statistics:
        if basis is not None:
            self._U[:, : basis.shape[1]] = basis
            self._omega[:] = omega
        old = self._current
        arguments = (
            self._run, self._basis, self._structure(old), self._structure(new),
            state.make_step(*step),
        )  # fmt: skip
        self._engine.team.call(iteration, arguments, self._phases)
        k = new.codes.shape[1]
        moment = unpacked_moment(self._moments, self._engine.n_features, k, self._engine.sparse)
        loss, graph_penalty, codes_penalty = self._totals.tolist()
        return Statistics(loss, graph_penalty, codes_penalty, moment, self._grams[:k].copy())

    def _structure(self, point: _Point) -> Any:
        """The point for compiled code; arrays change their places, so that there are several."""
        arrays = point.codes, point.residuals, point.weights, point.edges, self._following
        key = tuple(map(id, arrays))
        if key not in self._structures:
            self._structures[key] = state.make_point(*arrays)
        return self._structures[key]
