"""One run: the basis and its steps, with the rows of X behind it.

An iteration is: basis step, then a pass over the rows (codes, residuals, weights, penalties and the
moments for the next basis step), which `data.Rows` does for whoever holds X.

Two schemes run in it. ``mu`` is the paper's: every iterate equals the printed formulas. ``cd``
extrapolates the codes before each iteration, Y = max(0, V + η(V − V_previous)), and rescales the
two factors against each other. The weights are those of the accepted point V, which makes one set
of residuals and distances enough for J and for the next step. A step from Y need not lower J; if it
does not, it is taken back, η is halved, and a plain step from V is made, which cannot raise J.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._types import FloatArray
from ..data import CANCELLATION, LazyCompression, Rule, Space, Statistics, Subspace
from ..graph.prepared import NeighbourGraph
from ..problem.basis import Basis, BasisRule
from ..problem.objective import Floors, Objective, Terms
from .checkpoint import State

# Extrapolation: first step, growth after a success, ceiling.
_ETA_START, _ETA_GROWTH, _ETA_MOST = 0.7, 1.05, 0.95


@dataclass(frozen=True)
class Scheme:
    """The parts that make up an algorithm."""

    codes: Rule
    basis: BasisRule
    accelerate: bool


class _Point:
    """A basis, and what the pass over the rows with it has found."""

    __slots__ = ("basis", "found")

    def __init__(self, basis: Basis, found: Statistics) -> None:
        self.basis, self.found = basis, found


class Descent:
    """The state of one run and the steps that change it."""

    value: float
    """J at the present point."""

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
        """Begin at ``start`` = (basis, codes), which it may overwrite.

        Go on with the ``compression`` of X when that is due.
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
        """Begin at another start with the rows that there are, if they fit to it and to what is
        minimised: that may have other weights of its penalties.
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
        """Begin in a space at (basis, codes)."""
        self._take_up(space)
        self._rows = space.engine.begin(
            self._terms(), self.scheme.codes, self._graph, self._share, codes
        )
        self._measure(basis)

    def _measure(self, basis: FloatArray) -> None:
        """Take the present codes and this basis for where the run is."""
        measured = Basis.of(basis)
        found = self._rows.measure(basis, measured.omega, self._alpha, self.objective.mu)
        self._current = _Point(measured, found)
        self._moments = found.moment, found.gram
        self._from_codes = True
        self._rescale()

    def _take_up(self, space: Space) -> None:
        self.space = space
        whole = not self.confined and space.compression is None
        self._waiting = self._compression if whole else None

    def _terms(self) -> Terms:
        # In a subspace nothing can be computed directly: of the rest of x only the length is known.
        dtype = self.space.engine.dtype
        cancellation = 0.0 if self.confined else CANCELLATION[dtype.itemsize]
        return self.objective.terms(dtype, cancellation)

    @property
    def _alpha(self) -> float:
        return 0.0 if self._graph is None else self.objective.alpha

    # What the solution is

    def _value(self, point: _Point) -> float:
        found = point.found
        return self.objective.total(
            found.loss, found.graph_penalty, found.codes_penalty, point.basis.penalty
        )

    @property
    def first_eta(self) -> float:
        """How far the first extrapolation goes."""
        return _ETA_START if self.scheme.accelerate else 0.0

    def factors(self) -> tuple[FloatArray, FloatArray]:
        """Copies of (U, V), U in the features of the space, in the units of the original α, β."""
        scale = self.space.engine.dtype.type(self.scale)
        return self._current.basis.U / scale, self._rows.codes * scale

    def residuals(self) -> FloatArray:
        """A copy of the length of each sample's residual."""
        return self._rows.residuals.copy()

    def lifted_basis(self) -> FloatArray:
        """A copy of U in the features of X, in the units of the original α and β."""
        scale = self.space.engine.dtype.type(self.scale)
        return self.space.lift(self._current.basis.U / scale)

    def lifted_factors(self) -> tuple[FloatArray, FloatArray]:
        """The same with U in the features of X."""
        basis, codes = self.factors()
        return self.space.lift(basis), codes

    def problem(self) -> Objective:
        """What is minimised, in the units of the original α and β."""
        floors, scale = self.objective.floors, self.scale
        floors = Floors(floors.residual, floors.edge * scale, floors.basis / scale)
        return self.objective.rescaled(1 / scale, floors)

    # What can be kept

    def state(self) -> State:
        """All that the next iteration depends on."""
        now, (moment, gram) = self._current, self._moments
        found = now.found
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
                "U": now.basis.U, "omega": now.basis.omega, "lengths": now.basis.lengths,
                "penalty": now.basis.penalty,
            },
            "rows": self._rows.state(),
        }  # fmt: skip

    def restore(self, state: State) -> None:
        """Go on from a `state` of a descent in the same space, with the same parts."""
        self.objective, self.scale = self.objective.restored(state["objective"]), state["scale"]
        self._rows.restore(state["rows"])
        self._rows.enter(self.space.engine, self._terms())
        self._moments = state["moment"], state["gram"]
        self._from_codes = state["from_codes"]
        loss, graph_penalty, codes_penalty = state["terms"].tolist()
        found = Statistics(loss, graph_penalty, codes_penalty, *self._moments)
        self._current = _Point(Basis(**state["basis"]), found)
        self.value = self._value(self._current)

    # One iteration

    def iterate(self, eta: float) -> tuple[float, float]:
        """One iteration with extrapolation ``eta`` after it; returns J and the next ``eta``."""
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
        # A plain step fails by round-off alone: stay, and start again from here.
        self._step_back()
        return before, eta

    def _advance(self, eta: float) -> _Point:
        """Basis and codes step; the codes are those of the rows' trial point."""
        objective, now = self.objective, self._current.basis
        moment, gram = self._moments
        floor = objective.floors.basis
        basis = self.scheme.basis.step(moment, gram, now, objective.beta, floor)
        found = self._rows.advance(basis.U, basis.omega, self._alpha, objective.mu, eta)
        return _Point(basis, found)

    def _accept(self, trial: _Point, eta: float) -> None:
        self._rows.accept(eta)
        self._current = trial
        self._moments = trial.found.moment, trial.found.gram
        self._from_codes = eta == 0
        self._rescale()

    def _step_back(self) -> None:
        """The next iteration starts from V itself."""
        self._moments = self._rows.restart()
        self._from_codes = True

    def _rescale(self) -> None:
        """Make the best of the scale of V against U, by changing the weights instead of both."""
        if self.scheme.accelerate:
            found = self._current.found
            change = self.objective.best_scale(
                found.graph_penalty, found.codes_penalty, self._current.basis.penalty
            )
            self.objective = self.objective.rescaled(change)
            self.scale *= change
        self.value = self._value(self._current)

    # Spaces

    def _compress_if_due(self) -> None:
        """Go on in the compressed features. From the first basis step on U lies in them."""
        space = None if self._waiting is None else self._waiting.due()
        if space is not None and space.compression is not None:
            now = self._current.basis
            now.U = space.compression.lower(now.U)
            moment, gram = self._moments
            self._moments = space.compression.lower(moment), gram
            self._take_up(space)
            self._rows.enter(space.engine, self._terms())

    @property
    def confined(self) -> bool:
        """Whether the basis is confined to a subspace."""
        return isinstance(self.space, Subspace)

    @property
    def whole_space(self) -> Space:
        """Around the subspace, if there is one."""
        return self.space.wider if isinstance(self.space, Subspace) else self.space

    def widen(self) -> float:
        """Go on in the space around the subspace; returns J, now with all its digits."""
        space = self.space
        assert isinstance(space, Subspace)
        basis, codes = space.widened(self._current.basis.U), self._rows.codes
        del self._current, self._rows  # as large as what takes their place
        self._settle(space.wider, basis, codes)
        return self.value
