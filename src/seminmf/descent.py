"""One run as a state, and the step from one iterate to the next.

An iteration is: basis step, codes step, then residuals, weights, penalties and the moments for the
next basis step. Everything that needs X happens in one pass over it (`Engine.sweep`); with a graph
the codes step stands between two half passes, because it goes through the samples colour by colour.

Two schemes run in it. ``mu`` is the paper's: every iterate equals the printed formulas. ``cd``
extrapolates the codes before each iteration, Y = max(0, V + η(V − V_previous)), and rescales the
two factors against each other. The weights are those of the accepted point V, which makes one set
of residuals and distances enough for J and for the next step. A step from Y need not lower J; if it
does not, it is taken back, η is halved, and a plain step from V is made, which cannot raise J.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import fused, kernels
from ._types import FloatArray, IntArray
from .engines import Block, Engine, LazyCompression, Space, Visitor
from .graph import NeighbourGraph
from .objective import Floors, Norm, Objective, SquaredNorm
from .updates import BasisRule, CodesRule, Coupling, LeastSquaresBasis, no_coupling

# ‖x − Uv‖² = ‖x‖² + (v Ω vᵀ − 2 v·φ) loses half the digits when it is this small against ‖x‖²:
# such residuals are computed directly. Keyed by the bytes of a number.
_CANCELLATION = {8: 1e-4, 4: 1e-2}
# Extrapolation: first step, growth after a success, ceiling.
ETA_START, _ETA_GROWTH, _ETA_MOST = 0.7, 1.05, 0.95
# Rows per task when the codes of a graph model are updated on several threads; with fewer rows in
# a colour than two tasks the colours are left to one thread, which needs no waiting in between.
_ROWS_PER_TASK = 2048


@dataclass(frozen=True)
class Scheme:
    """The parts that make up an algorithm."""

    codes: CodesRule
    basis: BasisRule
    accelerate: bool


@dataclass
class _Point:
    """A pair (U, V) with what follows from it."""

    basis: FloatArray
    codes: FloatArray
    lengths: FloatArray
    residuals: FloatArray
    weights: FloatArray
    edges: FloatArray
    loss: float = np.nan
    graph_penalty: float = 0.0


@dataclass
class _Moments:
    """Xᵀ(d∘Y) and Yᵀ(d∘Y) at the point from which the next iteration starts."""

    moment: FloatArray
    gram: FloatArray


@dataclass(frozen=True)
class _Workspace:
    """Arrays in which the threads of the compiled iteration leave their parts."""

    X: FloatArray
    blocks: IntArray
    shards: IntArray
    losses: FloatArray
    penalties: FloatArray
    moments: FloatArray
    grams: FloatArray
    solved: NDArray[np.bool_]
    omega: FloatArray
    padded: FloatArray
    phi: FloatArray

    @classmethod
    def for_problem(
        cls, engine: Engine, X: FloatArray, codes: FloatArray, graph: NeighbourGraph | None
    ) -> _Workspace:
        (n, k), m, dtype = codes.shape, X.shape[1], X.dtype
        shards = len(engine.row_shards) - 1
        items = 0 if graph is None else fused.edge_items(len(graph.pairs))
        width = fused.padded_width(k, dtype)
        return cls(
            X, engine.row_blocks, engine.row_shards, np.zeros(shards), np.zeros(items),
            np.empty((shards, k, m), dtype), np.empty((shards, k, k), dtype), np.zeros(1, np.bool_),
            np.empty((k, k), dtype), np.zeros((m, width), dtype),
            np.empty((0 if graph is None else n, width), dtype),
        )  # fmt: skip

    def shared(self) -> tuple[Any, ...]:
        return (
            self.blocks, self.shards, self.losses, self.penalties, self.moments, self.grams,
            self.solved,
        )  # fmt: skip


class Descent:
    """The state of one run and the steps that change it."""

    def __init__(
        self,
        space: Space,
        objective: Objective,
        scheme: Scheme,
        graph: NeighbourGraph | None,
        share: FloatArray | None,
        basis: FloatArray,
        codes: FloatArray,
        compression: LazyCompression | None = None,
    ) -> None:
        """Start at (basis, codes), which it may overwrite.

        Go on with the ``compression`` of X when that is due.
        """
        self.space, self.objective, self.scheme = space, objective, scheme
        engine = space.engine
        self.graph, self.share = graph, share
        self.scale = 1.0
        self.extrapolated = False
        self._waiting = compression if space.compression is None else None
        n = len(codes)
        edges = np.zeros(0, engine.dtype) if graph is None else graph.base.copy()
        self.current = _Point(
            basis, codes,
            np.linalg.norm(basis, axis=0),
            np.empty(n, engine.dtype), np.empty(n, engine.dtype), edges,
        )  # fmt: skip
        self.trial = _Point(
            basis, np.empty_like(codes), self.current.lengths,
            np.empty(n, engine.dtype), np.empty(n, engine.dtype), edges.copy(),
        )  # fmt: skip
        self._spare = np.empty_like(codes)
        self._fit = np.empty(n, engine.dtype)
        self._within: IntArray = np.arange(n)
        self._work: _Workspace | None = None
        self._present_share = np.empty(0, engine.dtype) if share is None else share
        self._pattern = self._compiled_pattern()
        self._cancellation = _CANCELLATION[engine.dtype.itemsize]
        self._tasks = self._plan()
        self.moments = self._measure(self.current)
        self._measure_graph(self.current)
        if scheme.accelerate:
            self._rescale()
        self.trial.codes[:] = codes

    # What the solution is

    def value(self, point: _Point) -> float:
        return self.objective.total(point.loss, point.graph_penalty, point.lengths)

    @property
    def engine(self) -> Engine:
        return self.space.engine

    def factors(self) -> tuple[FloatArray, FloatArray]:
        """Copies of (U, V), U in the features of the space, in the units of the original α, β."""
        scale = self.engine.dtype.type(self.scale)
        return self.current.basis / scale, self.current.codes * scale

    def lifted_factors(self) -> tuple[FloatArray, FloatArray]:
        """The same with U in the features of X."""
        basis, codes = self.factors()
        return self.space.lift(basis), codes

    def problem(self) -> Objective:
        """What is minimised, in the units of the original α and β."""
        original, floors = self.objective.rescaled(1 / self.scale), self.objective.floors
        edge, basis = floors.edge * self.scale, floors.basis / self.scale
        return replace(original, floors=Floors(floors.residual, edge, basis))

    # Measuring a point

    def _residuals(self, rows: slice, block: Block, point: _Point) -> None:
        """Residuals from ``fit``; directly from X where the short formula cancels."""
        squares, residuals = self.engine.squares[rows], point.residuals[rows]
        lost = kernels.residual_lengths(
            squares, self._fit[rows], squares.dtype.type(self._cancellation), residuals
        )
        if lost:
            where = np.flatnonzero(residuals**2 < self._cancellation * squares)
            residuals[where] = block.exact_residuals(where, point.codes[rows][where], point.basis)

    def _measure(self, point: _Point) -> _Moments:
        """Residuals, weights and loss of (U, V), and the moments at V, in one pass over X."""
        omega = point.basis.T @ point.basis

        def visit(
            rows: slice, block: Block, phi: FloatArray | None
        ) -> tuple[FloatArray, FloatArray]:
            assert phi is not None
            codes = point.codes[rows]
            self._fit[rows] = np.einsum("ij,ij->i", codes @ omega - 2 * phi, codes)
            self._residuals(rows, block, point)
            share = None if self.share is None else self.share[rows]
            point.weights[rows] = self.objective.sample_weights(point.residuals[rows], share)
            return self._weighted(point, rows)

        moments = self._collect(point.basis, visit)
        point.loss = self.objective.loss.value(point.residuals, self.share)
        return moments

    def _weighted(self, point: _Point, rows: slice) -> tuple[FloatArray, FloatArray]:
        """d∘V and Vᵀ(d∘V) for a block of rows."""
        codes = point.codes[rows]
        weighted = point.weights[rows, None] * codes
        return weighted, codes.T @ weighted

    def _collect(self, basis: FloatArray | None, visit: Visitor[FloatArray]) -> _Moments:
        moment, grams = self.engine.sweep(basis, visit)
        assert moment is not None
        return _Moments(moment, reduce(np.add, grams))

    def _measure_graph(self, point: _Point) -> None:
        if self.graph is not None:
            point.graph_penalty = self.graph.penalty(
                point.codes, self.objective.graph.power == 2, self.objective.floors.edge,
                point.edges, self.engine,
            )  # fmt: skip

    def _step_back(self) -> None:
        """The next iteration starts from V itself."""
        self.trial.codes[:] = self.current.codes
        self.extrapolated = False
        self.moments = self._collect(
            None, lambda rows, block, phi: self._weighted(self.current, rows)
        )

    # One iteration

    def _advance(self, eta: float) -> _Moments:
        """Basis and codes step into the trial point; the moments for the step after it."""
        objective, new = self.objective, self.trial
        ridge = objective.beta * objective.basis_weights(self.current.lengths)
        moments = self._advance_at_once(eta, ridge)
        if moments is not None:
            return moments
        new.basis, omega = self.scheme.basis.step(
            self.moments.moment, self.moments.gram, ridge, self.current.basis
        )
        new.lengths = np.sqrt(omega.diagonal())
        if self.graph is None:
            coupling = no_coupling(self.engine.dtype)

            def update(rows: slice, phi: FloatArray) -> None:
                count = rows.stop - rows.start
                self.scheme.codes.apply(
                    self._within[:count], np.array([0, count]), phi, omega,
                    self.current.codes[rows], new.codes[rows], self.current.weights[rows],
                    coupling, self._fit[rows],
                )  # fmt: skip

            moments = self._finish(eta, new.basis, update)
        else:
            self._update_by_colour(self.graph, omega)
            moments = self._finish(eta, None, None)
        self._measure_graph(new)
        return moments

    def _advance_at_once(self, eta: float, ridge: FloatArray) -> _Moments | None:
        """The same in one compiled call; None where that cannot be."""
        engine, scheme, graph = self.engine, self.scheme, self.graph
        objective, old, new, X = self.objective, self.current, self.trial, engine.array
        if X is None or not self._fusable:
            return None
        if self._work is None or self._work.X is not X:
            self._work = _Workspace.for_problem(engine, X, old.codes, graph)
        dtype, k, work = X.dtype, old.codes.shape[1], self._work
        alpha = dtype.type(0 if graph is None else objective.alpha)
        basis, lengths = np.empty((X.shape[1], k), dtype), np.empty(k, dtype)
        moments = _Moments(np.empty_like(basis), np.empty((k, k), dtype))
        arguments = (
            fused.new_ledger(self._pattern[1]), *work.shared(), X, engine.lower, engine.squares,
            self._present_share, *self._pattern,
            scheme.codes.sweeps, objective.loss.power, objective.graph.power, alpha,
            dtype.type(objective.floors.residual), objective.floors.edge,
            dtype.type(self._cancellation), dtype.type(eta),
            self.moments.moment, self.moments.gram, ridge, old.codes, old.weights, old.edges,
            basis, work.padded, work.omega, lengths, new.codes, new.residuals, new.weights,
            new.edges, self._spare, work.phi, self._fit, moments.moment, moments.gram,
        )  # fmt: skip
        solved, loss, penalty = engine.team.crew.call(fused.iteration, arguments)
        if not solved:
            return None
        new.basis, new.lengths, new.loss, new.graph_penalty = basis, lengths, loss, penalty
        return moments

    @property
    def _fusable(self) -> bool:
        """Whether the compiled iteration knows all the parts of this one."""
        parts = self.objective.loss, self.objective.graph
        known = all(isinstance(part, Norm | SquaredNorm) for part in parts)
        return known and isinstance(self.scheme.basis, LeastSquaresBasis)

    def _compiled_pattern(self) -> tuple[IntArray | FloatArray, ...]:
        """Rows, their classes and the graph, as the compiled iteration takes them."""
        graph, rows = self.graph, self._within
        bounds: IntArray = np.array([0, len(rows)])
        if graph is None:
            nobody, nothing = np.zeros(0, np.int32), np.zeros(0, self.engine.dtype)
            return rows, bounds, np.zeros(1, np.int32), nobody, nothing, nobody.reshape(0, 4)
        if self.scheme.codes.sequential:
            rows, bounds = graph.order, graph.colour_starts
        return rows, bounds, graph.indptr, graph.indices, graph.base, graph.pairs

    def _update_by_colour(self, graph: NeighbourGraph, omega: FloatArray) -> None:
        new = self.trial
        phi = self.engine.times(new.basis)
        coupling = Coupling(graph.indptr, graph.indices, self.current.edges, self.objective.alpha)

        def update(bounds: IntArray) -> None:
            self.scheme.codes.apply(
                graph.order[bounds[0]:bounds[-1]], bounds - bounds[0], phi, omega,
                self.current.codes, new.codes, self.current.weights, coupling, self._fit,
            )  # fmt: skip

        for tasks in self._tasks:
            self.engine.team.map(update, tasks)

    def _plan(self) -> list[list[IntArray]]:
        """Which rows are updated at the same time: lists of tasks, to be done one after another."""
        if self.graph is None:
            return []
        starts, size = self.graph.colour_starts, self.engine.team.size
        if not self.scheme.codes.sequential:
            starts = starts[[0, -1]]
        elif size == 1 or len(self.graph.order) < 2 * _ROWS_PER_TASK * (len(starts) - 1):
            return [[starts]]
        share = max(64, min(_ROWS_PER_TASK, -(-int(starts[-1]) // size)))
        plan = []
        for first, stop in pairwise(starts):
            cuts = np.append(np.arange(first, stop, share), stop)
            plan.append([cuts[i : i + 2] for i in range(len(cuts) - 1)])
        return plan

    def _finish(
        self,
        eta: float,
        basis: FloatArray | None,
        update: Callable[[slice, FloatArray], None] | None,
    ) -> _Moments:
        """The (second half of the) pass over X: residuals, weights, next point and its moments."""
        new, step = self.trial, self.engine.dtype.type(eta)

        def visit(
            rows: slice, block: Block, phi: FloatArray | None
        ) -> tuple[FloatArray, tuple[float, FloatArray]]:
            if update is not None and phi is not None:
                update(rows, phi)
            self._residuals(rows, block, new)
            share = None if self.share is None else self.share[rows]
            residuals = new.residuals[rows]
            new.weights[rows] = self.objective.sample_weights(residuals, share)
            point = self._spare[rows]
            weighted = np.empty_like(point)
            kernels.extrapolate(
                new.codes[rows], self.current.codes[rows], step, new.weights[rows], point, weighted
            )
            gram = point.T @ weighted
            return weighted, (self.objective.loss.value(residuals, share), gram)

        moment, results = self.engine.sweep(basis, visit)
        assert moment is not None
        new.loss = sum(loss for loss, _ in results)
        return _Moments(moment, reduce(np.add, [gram for _, gram in results]))

    def _accept(self, moments: _Moments, eta: float) -> None:
        free = self.current.codes
        self.current, self.trial = self.trial, self.current
        self.trial.codes, self._spare = self._spare, free
        self.moments = moments
        self.extrapolated = eta > 0
        if self.scheme.accelerate:
            self._rescale()

    def _rescale(self) -> None:
        """Make the best of the scale of V against U, by changing α and β instead of both."""
        change = self.objective.best_scale(self.current.graph_penalty, self.current.lengths)
        self.objective = self.objective.rescaled(change)
        self.scale *= change

    def _compress_if_due(self) -> None:
        """Go on in the compressed features. From the first basis step on U lies in them."""
        space = None if self._waiting is None else self._waiting.due()
        if space is not None and space.compression is not None:
            self._waiting = None
            self.space = space
            self.current.basis = space.compression.lower(self.current.basis)
            self.moments.moment = space.compression.lower(self.moments.moment)

    def iterate(self, eta: float) -> tuple[float, float]:
        """One iteration with extrapolation ``eta`` after it; returns J and the next ``eta``."""
        self._compress_if_due()
        moments = self._advance(eta)
        if not self.scheme.accelerate:
            self._accept(moments, 0.0)
            return self.value(self.current), 0.0
        before, after = self.value(self.current), self.value(self.trial)
        if not after <= before and self.extrapolated:
            eta /= 2
            self._step_back()
            moments = self._advance(eta)
            after = self.value(self.trial)
        if after <= before:
            self._accept(moments, eta)
            return self.value(self.current), min(eta * _ETA_GROWTH, _ETA_MOST)
        # A plain step fails by round-off alone: stay, and start again from here.
        self._step_back()
        return before, eta
