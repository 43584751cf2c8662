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

import numpy as np

from ..compiled import iteration as fused
from ..compiled import kernels
from .._types import FloatArray, IntArray
from ..data import Block, LazyCompression, Space, Subspace, Visitor
from ..data.fused_step import FusedStep, Moments, Point
from ..graph.neighbours import NeighbourGraph
from ..problem.objective import Floors, Norm, Objective, SquaredNorm
from .updates import BasisRule, CodesRule, Coupling, LeastSquaresBasis, no_coupling

# ‖x − Uv‖² = ‖x‖² + (v Ω vᵀ − 2 v·φ) loses half the digits when it is this small against ‖x‖²:
# such residuals are computed directly. Keyed by the bytes of a number.
_CANCELLATION = {8: 1e-4, 4: 1e-2}
# Extrapolation: first step, growth after a success, ceiling.
ETA_START, _ETA_GROWTH, _ETA_MOST = 0.7, 1.05, 0.95
# Rows per task when the codes of a graph model are updated on several threads.
_ROWS_PER_TASK = 2048


@dataclass(frozen=True)
class Scheme:
    """The parts that make up an algorithm."""

    codes: CodesRule
    basis: BasisRule
    accelerate: bool


class Descent:
    """The state of one run and the steps that change it."""

    def __init__(
        self,
        space: Space,
        objective: Objective,
        scheme: Callable[[Space], Scheme],
        graph: NeighbourGraph | None,
        share: FloatArray | None,
        basis: FloatArray,
        codes: FloatArray,
        compression: LazyCompression | None = None,
    ) -> None:
        """Start at (basis, codes), which it may overwrite.

        What the ``scheme`` is may depend on the space. Go on with the ``compression`` of X when
        that is due.
        """
        self.objective = objective
        self.scale = 1.0
        self._scheme_in = scheme
        self._given = graph, share
        self._compression = None if compression is None or not compression.possible else compression
        self._settle(space, basis, codes)

    def _settle(self, space: Space, basis: FloatArray, codes: FloatArray) -> None:
        """Begin in a space at (basis, codes), codes and all that was given in the given order."""
        graph, share = self._given
        self.scheme = self._scheme_in(space)
        # Codes and all that belongs to samples may be stored in another order than the samples.
        self._numbering = None
        if graph is not None and self.scheme.codes.sequential and space.engine.array is not None:
            self._numbering = graph.numbering
        if graph is not None and self._numbering is not None:
            graph = graph.renumbered
            codes = codes[self._numbering]
            share = None if share is None else share[self._numbering]
        self.graph, self.share = graph, share
        dtype, coupled = codes.dtype, graph is not None
        edges = np.zeros(0, dtype) if graph is None else graph.base.copy()
        self.current = Point.at(basis, codes, edges)
        self.trial = self.current.empty_copy()
        # The points Y are kept only where neighbours want to see them before they have moved.
        self._spare = np.empty_like(codes if self.scheme.accelerate and coupled else codes[:0])
        self._start_eta = 0.0
        self._fit = np.empty(len(codes), dtype)
        self._within: IntArray = np.arange(len(codes))
        self._enter(space)
        if self._step is None:
            self.moments = self._measure(self.current)
            self._measure_graph(self.current)
        else:
            self.moments = self._step.measure(self.current, self.objective.alpha)
        if self.scheme.accelerate:
            self._rescale()
        self.trial.codes[:] = codes

    # What the solution is

    def value(self, point: Point) -> float:
        return self.objective.total(point.loss, point.graph_penalty, point.basis_penalty)

    def factors(self) -> tuple[FloatArray, FloatArray]:
        """Copies of (U, V), U in the features of the space, in the units of the original α, β."""
        scale = self.engine.dtype.type(self.scale)
        return self.current.basis / scale, self._in_given_order(self.current.codes) * scale

    def residuals(self) -> FloatArray:
        """A copy of the length of each sample's residual."""
        return self._in_given_order(self.current.residuals).copy()

    def _in_given_order(self, rows: FloatArray) -> FloatArray:
        """Rows as the samples came."""
        if self._numbering is None:
            return rows
        ordered = np.empty_like(rows)
        ordered[self._numbering] = rows
        return ordered

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

    def _residuals(self, rows: slice, block: Block, point: Point) -> None:
        """Residuals from ``fit``; directly from X where the short formula cancels."""
        squares, residuals = self.engine.squares[rows], point.residuals[rows]
        lost = kernels.residual_lengths(
            squares, self._fit[rows], squares.dtype.type(self._cancellation), residuals
        )
        if lost:
            where = np.flatnonzero(residuals**2 < self._cancellation * squares)
            residuals[where] = block.exact_residuals(where, point.codes[rows][where], point.basis)

    def _measure(self, point: Point) -> Moments:
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

    def _weighted(self, point: Point, rows: slice) -> tuple[FloatArray, FloatArray]:
        """d∘V and Vᵀ(d∘V) for a block of rows."""
        codes = point.codes[rows]
        weighted = point.weights[rows, None] * codes
        return weighted, codes.T @ weighted

    def _collect(self, basis: FloatArray | None, visit: Visitor[FloatArray]) -> Moments:
        moment, grams = self.engine.sweep(basis, visit)
        assert moment is not None
        return Moments(moment, reduce(np.add, grams))

    def _measure_graph(self, point: Point) -> None:
        if self.graph is not None:
            point.graph_penalty = self.graph.penalty(
                point.codes, self.objective.graph.power == 2, self.objective.floors.edge,
                point.edges, self.engine,
            )  # fmt: skip

    def _step_back(self) -> None:
        """The next iteration starts from V itself."""
        self.trial.codes[:] = self.current.codes
        self._start_eta = 0.0
        self.moments = self._collect(
            None, lambda rows, block, phi: self._weighted(self.current, rows)
        )

    # One iteration

    def _advance(self, eta: float) -> Moments:
        """Basis and codes step into the trial point; the moments for the step after it."""
        objective, new = self.objective, self.trial
        if self._step is not None:
            moments = self._step(
                self.current, self.moments, objective.alpha, objective.beta,
                (self._start_eta, eta), new, self._spare,
            )  # fmt: skip
            if moments is not None:
                return moments
        ridge = objective.beta * objective.basis_weights(self.current.lengths)
        basis, omega = self.scheme.basis.step(
            self.moments.moment, self.moments.gram, ridge, self.current.basis
        )
        new.basis = np.ascontiguousarray(basis)
        new.lengths = np.sqrt(omega.diagonal())
        new.basis_penalty = float(new.lengths.sum())
        if self.graph is None:
            coupling = no_coupling(self.engine.dtype)

            def update(rows: slice, phi: FloatArray) -> None:
                count = rows.stop - rows.start
                if self.scheme.accelerate:
                    self._extrapolate(rows, self.current, self._start_eta, new.codes[rows])
                self.scheme.codes.apply(
                    self._within[:count], np.array([0, count]), phi, omega,
                    self.current.codes[rows], new.codes[rows], self.current.weights[rows],
                    coupling, self._fit[rows],
                )  # fmt: skip

            moments = self._finish(eta, new.basis, update)
        else:
            self._update_coupled(self.graph, omega)
            moments = self._finish(eta, None, None)
        self._measure_graph(new)
        return moments

    def _fused_step(self) -> FusedStep | None:
        """The same in one compiled call; None where that does not know all the parts."""
        parts = self.objective.loss, self.objective.graph
        known = all(isinstance(part, Norm | SquaredNorm) for part in parts)
        least_squares = isinstance(self.scheme.basis, LeastSquaresBasis)
        if self.engine.array is None or not known or not least_squares:
            return None
        return FusedStep(
            self.engine, self.objective, self.scheme.codes.sweeps, self.graph, self.share,
            self._fit, self.current.codes.shape[1], self._cancellation,
        )  # fmt: skip

    def _update_coupled(self, graph: NeighbourGraph, omega: FloatArray) -> None:
        """The codes step with a graph."""
        old, new, engine, rule = self.current, self.trial, self.engine, self.scheme.codes
        phi = engine.times(new.basis)
        alpha = engine.dtype.type(self.objective.alpha)
        if rule.sequential:
            bounds = graph.colour_starts
            arguments = (
                fused.new_ledger(bounds, graph.chunks), graph.order, bounds, phi, omega,
                new.codes, old.weights, graph.indptr, graph.indices, old.edges, alpha, rule.sweeps,
                self._fit,
            )  # fmt: skip
            engine.team.crew.call(fused.codes_by_colour, arguments)
            return
        coupling = Coupling(graph.indptr, graph.indices, old.edges, alpha)

        def update(first: int) -> None:
            part = self._within[first : first + _ROWS_PER_TASK]
            rule.apply(
                part, np.array([0, len(part)]), phi, omega, old.codes, new.codes, old.weights,
                coupling, self._fit,
            )  # fmt: skip

        engine.team.map(update, range(0, len(phi), _ROWS_PER_TASK))

    def _finish(
        self,
        eta: float,
        basis: FloatArray | None,
        update: Callable[[slice, FloatArray], None] | None,
    ) -> Moments:
        """The (second half of the) pass over X: residuals, weights, next point and its moments."""
        new = self.trial

        def visit(
            rows: slice, block: Block, phi: FloatArray | None
        ) -> tuple[FloatArray, tuple[float, FloatArray]]:
            if update is not None and phi is not None:
                update(rows, phi)
            self._residuals(rows, block, new)
            share = None if self.share is None else self.share[rows]
            residuals = new.residuals[rows]
            new.weights[rows] = self.objective.sample_weights(residuals, share)
            point = self._spare[rows] if len(self._spare) else np.empty_like(new.codes[rows])
            point[:] = self.current.codes[rows]
            self._extrapolate(rows, new, eta, point)
            weighted = new.weights[rows, None] * point
            gram = point.T @ weighted
            return weighted, (self.objective.loss.value(residuals, share), gram)

        moment, results = self.engine.sweep(basis, visit)
        assert moment is not None
        new.loss = sum(loss for loss, _ in results)
        return Moments(moment, reduce(np.add, [gram for _, gram in results]))

    def _extrapolate(self, rows: slice, now: Point, eta: float, point: FloatArray) -> None:
        """``point``, which holds the codes before those of ``now``, goes beyond them."""
        kernels.extrapolate(now.codes[rows], self.engine.dtype.type(eta), point)

    def _accept(self, moments: Moments, eta: float) -> None:
        self.current, self.trial = self.trial, self.current
        if len(self._spare):
            self.trial.codes, self._spare = self._spare, self.trial.codes
        self.moments = moments
        self._start_eta = eta
        if self.scheme.accelerate:
            self._rescale()

    def _rescale(self) -> None:
        """Make the best of the scale of V against U, by changing α and β instead of both."""
        now = self.current
        change = self.objective.best_scale(now.graph_penalty, now.basis_penalty)
        self.objective = self.objective.rescaled(change)
        self.scale *= change

    # Spaces

    def _enter(self, space: Space) -> None:
        """Take the samples from this space."""
        engine, confined = space.engine, isinstance(space, Subspace)
        self.space = space
        self.engine = engine if self._numbering is None else engine.renumbered(self._numbering)
        whole = not confined and space.compression is None
        self._waiting = self._compression if whole else None
        # In a subspace nothing can be computed directly: of the rest of x only the length is known.
        self._cancellation = 0.0 if confined else _CANCELLATION[engine.dtype.itemsize]
        self._step = self._fused_step()

    def _compress_if_due(self) -> None:
        """Go on in the compressed features. From the first basis step on U lies in them."""
        space = None if self._waiting is None else self._waiting.due()
        if space is not None and space.compression is not None:
            self.current.basis = space.compression.lower(self.current.basis)
            self.trial.basis = np.empty_like(self.current.basis)
            self.moments.moment = space.compression.lower(self.moments.moment)
            self._enter(space)

    @property
    def confined(self) -> bool:
        """Whether the basis is confined to a subspace."""
        return isinstance(self.space, Subspace)

    def widen(self) -> float:
        """Go on in the space around the subspace; returns J, now with all its digits."""
        space = self.space
        assert isinstance(space, Subspace)
        basis, codes = space.widened(self.current.basis), self._in_given_order(self.current.codes)
        del self.current, self.trial, self._spare  # as large as what takes their place
        self._settle(space.wider, basis, codes)
        return self.value(self.current)

    def iterate(self, eta: float) -> tuple[float, float]:
        """One iteration with extrapolation ``eta`` after it; returns J and the next ``eta``."""
        self._compress_if_due()
        moments = self._advance(eta)
        if not self.scheme.accelerate:
            self._accept(moments, 0.0)
            return self.value(self.current), 0.0
        before, after = self.value(self.current), self.value(self.trial)
        if not after <= before and self._start_eta > 0:
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
