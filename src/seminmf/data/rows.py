"""The rows of X in a run: codes, residuals, weights and edges, and what a pass over them returns.

Only `Statistics` leave the rows, whatever their number is: a loss, two penalties, and m × k + k × k
sums. Those are all that the basis and the decisions of a run need (fact 6 of the theory page).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from .._types import FloatArray, IntArray
from ..compiled import state
from ..compiled.codes import DESCEND, MEASURE, MULTIPLY, SUM, tile_rows
from ..compiled.edges import EDGES_AT_ONCE
from ..compiled.iteration import EDGES_PER_ITEM, iteration, phases_of
from ..compiled.kernels import find_kernels, no_kernels
from ..compiled.products import padded_width
from ..compiled.simd.tiles import TILE
from .cutting import cut_each_chunk, largest_part
from .engine import Engine, unpacked_moment
from .storage import DenseStorage

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

    def step(self, alpha: float, penalty: float, start_eta: float, eta: float) -> state.Step:
        """For compiled code, with the numbers of one call."""
        return state.Step(
            rule=self.kind, sweeps=self.sweeps, root=self.root, alpha=alpha, penalty=penalty,
            start_eta=start_eta, eta=eta,
        )  # fmt: skip


# Passes that change no codes.
_MEASURING, _SUMMING = Rule(MEASURE), Rule(SUM)


@dataclass(slots=True)
class Statistics:
    """What a pass over the rows finds: terms of J, and the moments Xᵀ(d∘Y) and Yᵀ(d∘Y)."""

    loss: float
    graph_penalty: float
    codes_penalty: float
    moment: FloatArray
    gram: FloatArray


class Graph(Protocol):
    """What the rows have to know of a graph; see `graph.prepared.NeighbourGraph`."""

    @property
    def base(self) -> FloatArray: ...
    @property
    def pairs(self) -> IntArray: ...
    @property
    def colour_starts(self) -> IntArray: ...
    @property
    def chunks(self) -> IntArray: ...
    @property
    def structure(self) -> state.Graph: ...


class _NoGraph:
    """Samples without edges."""

    def __init__(self, n_samples: int, dtype: Any) -> None:
        nobody: Any = np.zeros(0, np.int32)
        self.base, self.pairs = np.zeros(0, dtype), nobody.reshape(0, 4)
        self.colour_starts, self.chunks = np.zeros(1, np.int64), np.array([0, n_samples])
        self.structure = state.Graph(
            indptr=nobody, indices=nobody, base=self.base, pairs=self.pairs,
            order=np.zeros(0, np.int64), bounds=self.colour_starts, groups=np.zeros(2, np.int64),
        )  # fmt: skip


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
        self._graph: Graph
        self._coupled = graph is not None
        self._graph = graph or _NoGraph(engine.n_samples, engine.dtype)
        if numbering is not None:
            codes = codes[numbering]
            share = None if share is None else share[numbering]
        self._share = share
        self._current = _Point.of(codes, self._graph.base.copy())
        self._trial = _Point.of(codes.copy(), self._graph.base.copy())
        # The points Y are kept only where neighbours want to see them before they have moved.
        kept = self._coupled and rule.sequential
        self._following = np.empty_like(codes if kept else codes[:0])
        self._start_eta = 0.0
        self._steps: dict[int, state.Step] = {}
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
        keeps = numbering is not None and not engine.sparse
        gathered = largest_part(graph.chunks) if keeps else 0
        self._engine, self._terms = engine, terms
        self._phases = phases_of(len(graph.colour_starts) - 1, len(cuts.chunks) - 1)
        self._totals = np.zeros(3)
        self._moments = np.empty((shards, m * width), dtype)
        self._grams = np.empty((shards * height, k), dtype)
        self._U, self._omega = np.zeros((m, width), dtype), np.empty((k, k), dtype)
        self._basis = state.Basis(U=self._U, omega=self._omega)
        kernels = no_kernels()
        sums = state.Sums(
            losses=np.zeros(shards), penalties=np.zeros(shards), edges=np.zeros(items),
            moments=self._moments, grams=self._grams, totals=self._totals,
        )  # fmt: skip
        self._run = state.Run(
            samples=samples, cuts=cuts.structure, graph=graph.structure,
            terms=terms.structure, sums=sums, kernels=kernels,
            phi=np.empty((n if self._coupled else 0, width), dtype), fit=np.empty(n, dtype),
            gathered=np.empty((gathered, m), dtype),
        )  # fmt: skip
        gathers = engine.storage.gathers and not keeps
        self._rooms = [
            room_of(
                cuts.longest, m, k, width, dtype, leads=thread == 0, gathers=gathers,
                own_phi=not self._coupled, own_point=not len(self._following), sparse=engine.sparse,
            )
            for thread in range(engine.team.crew.helpers + 1)
        ]  # fmt: skip
        self._structures: dict[tuple[int, int, int], state.Point] = {}
        self._old, self._new = self._structure(self._current), self._structure(self._trial)
        step = self._step_of(self._rule)
        find_kernels(kernels, dtype, self._run, self._rooms[0], self._old, step)

    # What a run asks of its rows

    def measure(
        self, basis: FloatArray, omega: FloatArray, alpha: float, penalty: float
    ) -> Statistics:
        """Everything that follows from the basis and the current codes, and the moments at them."""
        return self._pass(self._old, basis, omega, _MEASURING, alpha, penalty, 0.0, 0.0)

    def advance(
        self, basis: FloatArray, omega: FloatArray, alpha: float, penalty: float, eta: float
    ) -> Statistics:
        """New codes into the trial point, and the moments at the point beyond them by ``eta``."""
        start = self._start_eta
        return self._pass(self._new, basis, omega, self._rule, alpha, penalty, start, eta)

    def accept(self, eta: float) -> None:
        """Make the trial point the current one; the next step starts beyond it by ``eta``."""
        self._current, self._trial = self._trial, self._current
        if len(self._following):
            self._trial.codes, self._following = self._following, self._trial.codes
        self._old, self._new = self._new, self._structure(self._trial)
        self._start_eta = eta

    def restart(self) -> tuple[FloatArray, FloatArray]:
        """Have the next step start from the current codes themselves; returns their moments."""
        self._trial.codes[:] = self._current.codes
        self._start_eta = 0.0
        found = self._pass(self._old, None, None, _SUMMING, 0.0, 0.0, 0.0, 0.0)
        return found.moment, found.gram

    @property
    def codes(self) -> FloatArray:
        """The current codes, in the given order of the samples; not to be kept."""
        return self._in_given_order(self._current.codes)

    @property
    def residuals(self) -> FloatArray:
        """The length of each sample's residual; not to be kept."""
        return self._in_given_order(self._current.residuals)

    def _in_given_order(self, rows: FloatArray) -> FloatArray:
        if self._numbering is None:
            return rows
        ordered = np.empty_like(rows)
        ordered[self._numbering] = rows
        return ordered

    def _pass(
        self, new: state.Point, basis: FloatArray | None, omega: FloatArray | None, rule: Rule,
        alpha: float, penalty: float, start_eta: float, eta: float,
    ) -> Statistics:  # fmt: skip
        if basis is not None:
            self._U[:, : basis.shape[1]] = basis
            self._omega[:] = omega
        step = self._step_of(rule)
        step.change(alpha, penalty, start_eta, eta)
        arguments = self._run, self._basis, self._old, new, step
        self._engine.team.call(iteration, self._rooms, arguments, self._phases)
        k = len(self._omega)
        moment = unpacked_moment(self._moments, self._engine.n_features, k, self._engine.sparse)
        loss, graph_penalty, codes_penalty = self._totals.tolist()
        return Statistics(loss, graph_penalty, codes_penalty, moment, self._grams[:k].copy())

    def _step_of(self, rule: Rule) -> state.Step:
        if rule.kind not in self._steps:
            self._steps[rule.kind] = rule.step(0.0, 0.0, 0.0, 0.0)
        return self._steps[rule.kind]

    def _structure(self, point: _Point) -> state.Point:
        """The point for compiled code. Codes change their places, so that there are several."""
        key = id(point), id(point.codes), id(self._following)
        if key not in self._structures:
            self._structures[key] = state.Point(
                codes=point.codes, residuals=point.residuals, weights=point.weights,
                edges=point.edges, following=self._following,
            )  # fmt: skip
        return self._structures[key]


def room_of(
    longest: int, m: int, k: int, width: int, dtype: Any, *, leads: bool = True,
    gathers: bool = False, own_phi: bool = False, own_point: bool = False, sparse: bool = False,
) -> state.Room:  # fmt: skip
    """Room of one thread, for blocks of ``longest`` rows; none for what it does not need."""

    def rows(wanted: bool, columns: int) -> FloatArray:
        return np.empty((longest if wanted else 0, columns), dtype)

    return state.Room(
        leads=leads, rows=rows(gathers, m), spare=np.empty(longest, dtype),
        phi=rows(own_phi, width), numbers=np.empty(longest, np.int64),
        bounds=np.zeros(2, np.int64), following=rows(own_point, k),
        weighted=np.zeros((longest, width if sparse else k), dtype), fitted=np.empty(m, dtype),
        tiles=np.zeros((tile_rows(k, width), TILE), dtype), every=np.arange(TILE),
        sums=np.zeros((TILE, k), dtype),
        sizes=np.empty((k, k), dtype), columns=np.empty((k, k), np.int64),
        split=np.empty(k, np.int64), lengths=np.empty(3 * EDGES_AT_ONCE, dtype),
    )  # fmt: skip


@lru_cache(maxsize=8)
def run_without_samples(count: int, dtype: Any) -> state.Run:
    """What a rule for codes looks at where there are neither samples nor graph nor penalty."""
    nothing, numbers, floats = np.zeros(0, dtype), np.zeros(0, np.int64), np.zeros(0)
    rows = np.zeros((0, 0), dtype)
    samples = DenseStorage(rows).samples(nothing, None, None, 0)
    terms = state.Terms(
        loss=0, loss_parameters=floats, graph=0, graph_parameters=floats, penalty=0,
        penalty_parameters=floats, curvature=0.0, residual_floor=0.0, edge_floor=0.0,
        cancellation=0.0,
    )  # fmt: skip
    return state.Run(
        samples=samples, cuts=state.Cuts(blocks=numbers, shards=numbers, chunks=numbers),
        graph=_NoGraph(0, dtype).structure, terms=terms,
        sums=state.Sums(
            losses=floats, penalties=floats, edges=floats, moments=rows, grams=rows, totals=floats
        ),
        kernels=no_kernels(), phi=rows, fit=np.empty(count, dtype), gathered=rows,
    )  # fmt: skip
