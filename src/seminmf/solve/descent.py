"""One run: its basis, the rows of X with their codes, and the steps that change both.

An iteration is a basis step, then a pass over the rows (codes, residuals, weights, penalties and
the moments for the next basis step), which `data.Rows` makes wherever X is.

There are two schemes. ``mu`` is the paper's: every iterate equals the printed formulas. ``cd``
extrapolates the codes before each iteration, Y = max(0, V + η(V − V_previous)), and rescales the
two factors against each other. The weights are those of the accepted point V, so one set of
residuals and distances does for J and for the next step. A step from Y need not lower J; if it does
not, it is undone, η is halved, and a plain step from V is made, which cannot raise J.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray
from ..data import CANCELLATION, LazyCompression, Rule, Space, Statistics, Subspace
from ..graph.prepared import NeighbourGraph
from ..problem.basis import Basis, BasisRule, LeastSquaresBasis
from ..problem.objective import Floors, Objective, Terms, within_range
from ..problem.stationarity import kkt_residual_of
from .checkpoint import State

# Extrapolation: the first η, its growth after a success, its maximum.
_ETA_START, _ETA_GROWTH, _ETA_MOST = 0.7, 1.05, 0.95


@dataclass(frozen=True)
class Scheme:
    """An algorithm: rules for codes and basis, and whether it extrapolates and rescales."""

    codes: Rule
    basis: BasisRule
    accelerate: bool


class Descent:
    """The state of one run and the steps that change it."""

    value: float
    """J at the present point."""
    _known: Basis | None
    """The present basis; None if only the rows have it."""
    _tried: Basis | None = None
    """The basis of the trial point; None if only the rows have it."""

    def __init__(
        self,
        space: Space,
        objective: Objective,
        scheme: Scheme,
        graph: NeighbourGraph | None,
        share: FloatArray | None,
        start: tuple[FloatArray, FloatArray],
        compression: LazyCompression | None = None,
    ) -> None:
        """Begin at ``start`` = (basis, codes), which may be overwritten.

        The run moves to the ``compression`` of X when that is due.
        """
        self.objective, basis, codes, self.scale = objective.with_ordinary(*start)
        self.scheme = scheme
        self._graph, self._share = graph, share
        self._compression = None if compression is None or not compression.possible else compression
        self._settle(space, basis, codes)

    def begins_again(
        self,
        space: Space,
        objective: Objective,
        scheme: Scheme,
        start: tuple[FloatArray, FloatArray],
    ) -> bool:
        """Restart from another start with the rows already there.

        False, with nothing done, if the rule, the shape of the codes, or more of the objective than
        the weights of its penalties differs.
        """
        objective, basis, codes, scale = objective.with_ordinary(*start)
        if self.scheme.codes != scheme.codes or not self.objective.has_terms_of(objective):
            return False
        if not self._rows.begins_again(codes):
            return False
        self.objective, self.scale = objective, scale
        if self.space.engine is not space.engine:
            self._take_up(space)
            self._rows.enter(space.engine, self._terms())
        self._measure(basis)
        return True

    def _settle(self, space: Space, basis: FloatArray, codes: FloatArray) -> None:
        """Begin in a space at (basis, codes), with new rows."""
        self._take_up(space)
        self._rows = space.engine.begin(
            self._terms(), self.scheme.codes, self._graph, self._share, codes
        )
        self._measure(basis)

    def _measure(self, basis: FloatArray) -> None:
        """Make this basis, with the rows' current codes, the present point."""
        self._known = measured = Basis.known(basis, basis.T @ basis)
        self._current = found = self._rows.measure(
            basis, measured.omega, self._alpha, self.objective.mu
        )
        found.basis_penalty = measured.penalty
        self._moments = found.moment, found.gram
        self._from_codes = True
        self._rescale()

    def _take_up(self, space: Space) -> None:
        self.space = space
        whole = not self.confined and space.compression is None
        self._waiting = self._compression if whole else None

    def _terms(self) -> Terms:
        # A subspace cannot compute residuals directly: of the rest of x it knows the length only.
        dtype = self.space.engine.dtype
        cancellation = 0.0 if self.confined else CANCELLATION[dtype.itemsize]
        return self.objective.terms(dtype, cancellation)

    @property
    def _alpha(self) -> float:
        return 0.0 if self._graph is None else self.objective.alpha

    # The present point

    def _value(self, found: Statistics) -> float:
        return self.objective.total(
            found.loss, found.graph_penalty, found.codes_penalty, found.basis_penalty
        )

    @property
    def _basis(self) -> Basis:
        """The present basis, fetched from the rows if they solved for it."""
        if self._known is None:
            self._known = Basis(*self._rows.basis, self._current.basis_penalty)
        return self._known

    @property
    def first_eta(self) -> float:
        """η of the first iteration."""
        return _ETA_START if self.scheme.accelerate else 0.0

    def factors(self) -> tuple[FloatArray, FloatArray]:
        """Copies of (U, V) in the units of the original α and β, U in the features of the space."""
        scale = self.space.engine.dtype.type(self.scale)
        return self._basis.U / scale, self._rows.codes * scale

    def residuals(self) -> FloatArray:
        """A copy of the residual length of each sample."""
        return self._rows.residuals.copy()

    def lifted_basis(self) -> FloatArray:
        """A copy of U in the features of X, in the units of the original α and β."""
        scale = self.space.engine.dtype.type(self.scale)
        return self.space.lift(self._basis.U / scale)

    def lifted_factors(self) -> tuple[FloatArray, FloatArray]:
        """`factors` with U in the features of X."""
        basis, codes = self.factors()
        return self.space.lift(basis), codes

    def kkt_residual(self) -> float:
        """The KKT residual at the present point, or NaN, see `problem.stationarity`."""
        return kkt_residual_of(
            self.objective, self._rows, self._basis, self._own_moments, self.scheme.basis
        )

    def _own_moments(self) -> tuple[FloatArray, FloatArray]:
        """The moments at the codes themselves, and not at extrapolated ones."""
        if not self._from_codes:
            self._step_back()
        return self._moments

    def problem(self) -> Objective:
        """The objective in the units of the original α and β."""
        floors, scale = self.objective.floors, self.scale
        floors = Floors(floors.residual, floors.edge * scale, floors.basis / scale)
        return self.objective.rescaled(1 / scale, floors)

    # Saving and restoring

    def state(self) -> State:
        """All that the next iteration depends on."""
        now, found, (moment, gram) = self._basis, self._current, self._moments
        return {
            "confined": self.confined,
            "compressed": self.whole_space.compression is not None,
            "objective": self.objective.state(),
            "scale": self.scale,
            "from_codes": self._from_codes,
            "moment": moment,
            "gram": gram,
            "terms": [found.loss, found.graph_penalty, found.codes_penalty],
            "basis": {
                "U": now.U, "omega": now.omega, "lengths": now.lengths, "penalty": now.penalty,
            },
            "rows": self._rows.state(),
        }  # fmt: skip

    def restore(self, state: State) -> None:
        """Continue from the `state` of a descent in the same space, with the same objective."""
        self.objective, self.scale = self.objective.restored(state["objective"]), state["scale"]
        self._rows.restore(state["rows"])
        self._rows.enter(self.space.engine, self._terms())
        self._go_on_from(Basis(**state["basis"]), state["moment"], state["gram"])
        self._from_codes = state["from_codes"]
        loss, graph_penalty, codes_penalty = state["terms"].tolist()
        self._current = Statistics(
            loss, graph_penalty, codes_penalty, *self._moments, self._basis.penalty
        )
        self.value = self._value(self._current)

    def _go_on_from(self, basis: Basis, moment: FloatArray, gram: FloatArray) -> None:
        self._rows.take(basis.U, basis.omega, basis.lengths, moment, gram)
        self._known, self._moments = basis, (moment, gram)

    # One iteration

    def iterate(self, eta: float) -> tuple[float, float]:
        """Make an iteration that extrapolates by ``eta`` at its end; returns J and the next η."""
        self._compress_if_due()
        trial = self._advance(eta)
        if not self.scheme.accelerate:
            self._accept(trial, 0.0)
            return self.value, 0.0
        before, after = self.value, self._value(trial)
        if not after <= before and not self._from_codes:
            eta /= 2
            self._step_back()
            trial = self._advance(eta)
            after = self._value(trial)
        if after <= before:
            self._accept(trial, eta)
            return self.value, min(eta * _ETA_GROWTH, _ETA_MOST)
        # A plain step fails through round-off alone: stay, and start again from here.
        self._step_back()
        return before, eta

    def _advance(self, eta: float) -> Statistics:
        """The basis step, and the codes step into the rows' trial point."""
        objective, rule, self._tried = self.objective, self.scheme.basis, None
        alpha, mu, beta, floor = self._alpha, objective.mu, objective.beta, objective.floors.basis
        if type(rule) is LeastSquaresBasis:
            solved = self._rows.solve(alpha, mu, eta, beta, floor)
            if solved is not None:
                return solved
        self._tried = basis = rule.step(*self._moments, self._basis, beta, floor)
        found = self._rows.advance(basis.U, basis.omega, alpha, mu, eta)
        found.basis_penalty = basis.penalty
        return found

    def _accept(self, trial: Statistics, eta: float) -> None:
        self._rows.accept(eta)
        self._current, self._known = trial, self._tried
        self._moments = trial.moment, trial.gram
        self._from_codes = eta == 0
        self._rescale()

    def _step_back(self) -> None:
        """Have the next iteration start from V itself."""
        self._moments = self._rows.restart()
        self._from_codes = True

    def _rescale(self) -> None:
        """Find the best scale of V against U, and change α, β and μ instead of both factors."""
        if self.scheme.accelerate:
            found = self._current
            change = self.objective.best_scale(
                found.graph_penalty, found.codes_penalty, found.basis_penalty
            )
            change = within_range(change, self.scale, self.space.engine.dtype.itemsize)
            self.objective = self.objective.rescaled(change)
            self.scale *= change
        self.value = self._value(self._current)

    # Spaces

    def _compress_if_due(self) -> None:
        """Move to the compressed features, in which U lies from the first basis step on."""
        space = None if self._waiting is None else self._waiting.due()
        if space is not None and space.compression is not None:
            now, lower, (moment, gram) = self._basis, space.compression.lower, self._moments
            basis = Basis(lower(now.U), now.omega, now.lengths, now.penalty)
            self._take_up(space)
            self._rows.enter(space.engine, self._terms())
            self._go_on_from(basis, lower(moment), gram)

    @property
    def confined(self) -> bool:
        """Whether the basis is confined to a subspace."""
        return isinstance(self.space, Subspace)

    @property
    def whole_space(self) -> Space:
        """The space, or the one around it if it is a subspace."""
        return self.space.wider if isinstance(self.space, Subspace) else self.space

    def widen(self) -> float:
        """Move to the space around the subspace; returns J, now with all its digits."""
        space, now = self.space, self._basis
        assert isinstance(space, Subspace)
        basis = space.widened(now.U)
        self._take_up(space.wider)
        if self._rows.widen(space.wider.engine, self._terms(), basis, now.omega):
            self._known = Basis(basis, now.omega, now.lengths, now.penalty)
            self._step_back()
        else:
            codes = self._rows.codes
            del self._current, self._moments, self._rows  # as large as their successors
            self._settle(space.wider, basis, codes)
        return self.value

    def promised(self) -> float:
        """About how much the next basis step lowers J, without making it."""
        now, objective = self._basis, self.objective
        moment, gram = self._own_moments()
        beta, floor = objective.beta, objective.floors.basis
        delta = now.U - self.scheme.basis.step(moment, gram, now, beta, floor).U
        # Twice the decrease of the quadratic that majorises J; J falls by more than once that.
        return float(np.vdot(delta @ (gram + np.diag(now.ridge(beta, floor))), delta))
