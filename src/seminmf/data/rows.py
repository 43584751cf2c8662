"""The rows of X in a run: codes, residuals, weights and edges, and what a pass over them returns.

Only `Statistics` leave the rows, of a size that does not depend on n: a loss, two penalties, and
m × k + k × k sums. The basis and all decisions of a run need no more (fact 6 of the theory page).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import FloatArray
from ..compiled import state
from ..compiled.codes import DESCEND, MEASURE, MULTIPLY, SUM
from ..compiled.iteration import EDGES_PER_ITEM, phases_of
from ..compiled.kernels import NO_KERNELS, find_iteration, find_kernels
from ..compiled.products import padded_width
from ..compiled.rooms import Sizes, basis_for, basis_room_for, room_for, sums_for
from ..compiled.state import Point
from ..compiled.stationarity import newton_steps
from .cutting import cut_each_chunk, cut_visits, longest_range
from .graphs import Graph, NoGraph
from .storage import CANCELLATION

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["DESCEND", "MULTIPLY", "Rows", "Rule", "Statistics"]

Pushed = Callable[[FloatArray, FloatArray | None], tuple[FloatArray, FloatArray]]
"""(codes, shares) → what a penalty adds to half of the gradient and half of the curvature."""


@dataclass(frozen=True)
class Rule:
    """How codes are updated: `DESCEND` by ``sweeps``, or `MULTIPLY`, with or without ``root``."""

    kind: int
    sweeps: int = 0
    root: bool = True

    @property
    def sequential(self) -> bool:
        """Whether a row must see new codes of the neighbours that come before it."""
        return self.kind == DESCEND

    def step(self, alpha: float = 0.0) -> state.Step:
        """The step for compiled code; `state.Step.change` sets the other numbers of a call."""
        return state.Step(
            sweeps=self.sweeps, root=self.root, rule=self.kind, solves=False, alpha=alpha,
            penalty=0.0, start_eta=0.0, eta=0.0, beta=0.0, floor=0.0,
        )  # fmt: skip


@dataclass(slots=True)
class Statistics:
    """What a pass over the rows returns: terms of J, and the moments Xᵀ(d∘Y) and Yᵀ(d∘Y).

    The moments are overwritten by the next pass.
    """

    loss: float
    graph_penalty: float
    codes_penalty: float
    moment: FloatArray
    gram: FloatArray
    basis_penalty: float = 0.0


def _points(
    n: int, bases: list[state.Basis], codes: FloatArray, base: FloatArray, kept: bool
) -> list[Point]:
    """The points that a run takes in turn: from each it goes to the next, and around again.

    They share two arrays of codes, or three if ``kept``: then the codes that steps start from
    (``following``) are kept until all neighbours have seen them. All else exists twice.
    """
    places, following = [codes, codes.copy()], [codes[:0]]
    if kept:
        places.append(np.empty_like(codes))
        following = [*places[1:], codes]
    first = Point(
        basis=bases[0], codes=codes, residuals=np.empty(n, codes.dtype),
        weights=np.empty(n, codes.dtype), edges=base.copy(), following=following[0],
    )  # fmt: skip
    second = first.changed(
        basis=bases[1], residuals=np.empty_like(first.residuals),
        weights=np.empty_like(first.weights), edges=base.copy(), codes=places[1],
        following=following[1 % len(following)],
    )  # fmt: skip
    return [first, second] + [
        (second if turn % 2 else first).changed(
            codes=places[turn % len(places)], following=following[turn % len(following)]
        )
        for turn in range(2, 6 if kept else 2)
    ]


class Rows:
    """The rows of X with two points of a run, the current one and a trial.

    Parameters
    ----------
    engine : Engine
    terms : object
        The objective; its ``structure`` is one of `compiled.state.TermsType`.
    rule : Rule
    graph : Graph or None
        A sequential rule keeps the state of the samples in the order of its ``numbering``.
    share : array of shape (n_samples,) or None
        Sample weights.
    codes : array of shape (n_samples or more, n_components)
        The first codes; may be overwritten. Rows beyond the samples are codes of samples on other
        sites, which the graph may name as neighbours.
    """

    def __init__(
        self,
        engine: Engine,
        terms: Any,
        rule: Rule,
        graph: Graph | None,
        share: FloatArray | None,
        codes: FloatArray,
    ) -> None:
        self._rule = rule
        self._coupled = graph is not None
        self._graph: Graph = graph or NoGraph(engine.n_samples, engine.dtype)
        numbering = None
        if rule.sequential:
            numbering, self._graph = self._graph.numbering, self._graph.renumbered
        self._numbering = numbering
        self._own = slice(0, engine.n_samples)
        self._visits = cut_visits(0, engine.n_samples, codes.shape[1])
        if numbering is not None:
            codes = np.concatenate([codes[numbering], codes[engine.n_samples :]])
            share = None if share is None else share[numbering]
        self._share = share
        # Neighbours that have not moved yet read the codes that steps start from.
        self._keeps = self._coupled and rule.sequential
        k = codes.shape[1]
        basis = basis_for(engine.n_features, k, padded_width(k, engine.dtype), engine.dtype)
        bases = [basis.fresh(), basis.fresh()]
        self._points = _points(engine.n_samples, bases, codes, self._graph.base, self._keeps)
        self._turn, self._start_eta = 0, 0.0
        self._step = rule.step()
        self.enter(engine, terms)

    @property
    def _current(self) -> Point:
        return self._points[self._turn]

    @property
    def _trial(self) -> Point:
        return self._points[(self._turn + 1) % len(self._points)]

    def enter(self, engine: Engine, terms: Any) -> None:
        """Continue with the same samples in the features of another engine."""
        n, m, k = engine.n_samples, engine.n_features, self._current.codes.shape[1]
        graph, dtype, numbering = self._graph, engine.dtype, self._numbering
        cuts = engine.cuts
        if self._rule.sequential and len(graph.chunks) > 2 and engine.whole:
            cuts = cut_each_chunk(graph.chunks)
        squares = engine.squares if numbering is None else engine.squares[numbering]
        samples = engine.storage.samples(squares, self._share, numbering, cuts.longest)
        width, shards = padded_width(k, dtype), cuts.most_shards
        items = -(-len(graph.pairs) // EDGES_PER_ITEM)
        # A chunk whose rows have to be gathered keeps them for the second product.
        keeps = numbering is not None and not engine.sparse
        gathered = longest_range(graph.chunks) if keeps else 0
        self._engine, self._terms = engine, terms
        self._cuts = cuts.structure
        self._phases = phases_of(len(graph.colour_starts) - 1, cuts.count)
        if len(self._current.basis.U) != m:
            bases = [basis_for(m, k, width, dtype).fresh() for _ in range(2)]
            for turn, point in enumerate(self._points):
                point.set_structure("basis", bases[turn % 2])
        sizes = Sizes(cuts.longest, m, k, width, dtype)
        self._sums = sums_for(sizes, shards, items, engine.sparse).fresh()
        self._run = state.Run(
            samples=samples, cuts=self._cuts, graph=graph.structure,
            terms=terms.structure, sums=self._sums, kernels=NO_KERNELS,
            phi=(dtype, n if self._coupled else 0, width), left=(dtype, n),
            gathered=(dtype, gathered, m), solving=basis_room_for(m, k, dtype).fresh(),
        )  # fmt: skip
        gathers = engine.storage.gathers and not keeps
        self._rooms = [
            room_for(
                sizes, leads=thread == 0, gathers=gathers, own_phi=not self._coupled,
                own_point=not self._keeps, sparse=engine.sparse,
            ).fresh()
            for thread in range(engine.team.crew.helpers + 1)
        ]  # fmt: skip
        kinds = self._run, self._rooms[0], self._current, self._step
        find_kernels(*kinds, dtype)
        self._iteration = find_iteration(*kinds)
        # The point whose basis the products with X (`phi`) belong to.
        self._reached: Point | None = None

    def begins_again(self, codes: FloatArray) -> bool:
        """Start from other codes; False, with nothing done, if their shape differs."""
        now = self._current
        if codes.shape != now.codes.shape:
            return False
        own = codes[self._own] if self._numbering is None else codes[self._numbering]
        for place in (now.codes, self._trial.codes):
            place[self._own] = own
            place[len(own) :] = codes[len(own) :]
        self._start_eta = 0.0
        return True

    def widen(self, engine: Engine, terms: Any, basis: FloatArray, omega: FloatArray) -> bool:
        """Continue in more features, in which ``basis`` is the present one, and keep the point.

        False, with nothing done, if its residuals lack digits that the wider features would show.
        """
        now, phi, reached = self._current, self._run.phi, self._reached
        squares = engine.squares if self._numbering is None else engine.squares[self._numbering]
        if (now.residuals**2 < CANCELLATION[engine.dtype.itemsize] * squares).any():
            return False
        self.enter(engine, terms)
        self._show(now, basis, omega)
        self._run.phi[:] = phi
        self._reached = reached
        return True

    # What a run asks of its rows

    def measure(
        self, basis: FloatArray, omega: FloatArray, alpha: float, penalty: float
    ) -> Statistics:
        """The loss and penalties of a basis with the current codes, and the moments there."""
        self._show(self._current, basis, omega)
        self._step.change(MEASURE, alpha, penalty)
        return self._pass(self._current)

    def advance(
        self, basis: FloatArray, omega: FloatArray, alpha: float, penalty: float, eta: float
    ) -> Statistics:
        """Update the codes into the trial point; the moments are those extrapolated by ``eta``."""
        self._show(self._trial, basis, omega)
        self._step.change(self._rule.kind, alpha, penalty, self._start_eta, eta)
        return self._pass(self._trial)

    def solve(
        self, alpha: float, penalty: float, eta: float, beta: float, floor: float
    ) -> Statistics | None:
        """As `advance`, with the basis that solves the least squares of the last moments.

        β and the floor of lengths make up its ridge. None if the system is singular.
        """
        rule, start_eta = self._rule.kind, self._start_eta
        self._step.change(rule, alpha, penalty, start_eta, eta, beta, floor, solves=True)
        found = self._pass(self._trial)
        return found if found.basis_penalty >= 0 else None

    def accept(self, eta: float) -> None:
        """Make the trial point the current one; the next step starts extrapolated by ``eta``."""
        self._turn = (self._turn + 1) % len(self._points)
        self._start_eta = eta

    def restart(self) -> tuple[FloatArray, FloatArray]:
        """Have the next step start from the current codes; returns the moments there."""
        self._trial.codes[:] = self._current.codes
        self._start_eta = 0.0
        self._step.change(SUM, 0.0, 0.0)
        reached = self._reached
        found = self._pass(self._current)
        self._reached = reached  # sums need no products with the basis
        return found.moment, found.gram

    def newton_steps(self, omega: FloatArray, alpha: float, pushed: Pushed) -> FloatArray | None:
        """Σ h (v − [v − g/h]₊)² and Σ h v² at the current codes, see `compiled.stationarity`.

        Reads no X, only the products that the last pass left; None if those are missing or belong
        to another point. Computed in double precision, whose range the curvatures h stay in;
        ``omega`` is that of the current basis in double precision.
        """
        now, phi, k = self._current, self._run.phi, len(omega)
        if self._reached is not now or len(phi) == 0:
            return None
        structure, weights = self._graph.structure, now.weights.astype(np.float64, copy=False)

        def visit(rows: slice) -> FloatArray:
            own = now.codes[rows].astype(np.float64, copy=False)
            push, ridge = pushed(own, None if self._share is None else self._share[rows])
            return np.array(
                newton_steps(
                    rows.start, own @ omega - phi[rows, :k], now.codes, omega, weights,
                    structure, now.edges, alpha, push, ridge,
                )
            )  # fmt: skip

        return reduce(np.add, self._engine.team.map(visit, self._visits))

    def take(
        self, basis: FloatArray, omega: FloatArray, lengths: FloatArray, moment: FloatArray,
        gram: FloatArray,
    ) -> None:  # fmt: skip
        """Continue from this basis, with these moments at the current codes."""
        self._show(self._current, basis, omega)
        self._current.basis.lengths[:] = lengths
        self._sums.moment[:], self._sums.gram[:] = moment, gram

    @property
    def basis(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Copies of the current basis U, of Ω = UᵀU, and of the lengths of the columns of U."""
        basis = self._current.basis
        return basis.U[:, : len(basis.omega)].copy(), basis.omega.copy(), basis.lengths.copy()

    @property
    def codes(self) -> FloatArray:
        """The current codes in the caller's order of samples; the next pass may overwrite them."""
        return self._in_given_order(self._current.codes[self._own])

    @property
    def residuals(self) -> FloatArray:
        """The residual length of each sample; the next pass may overwrite them."""
        return self._in_given_order(self._current.residuals)

    def state(self) -> dict[str, Any]:
        """What the next step depends on, in the internal order of the samples; not copied."""
        now = self._current
        return {
            "codes": now.codes, "residuals": now.residuals, "weights": now.weights,
            "edges": now.edges, "before": self._trial.codes, "start_eta": self._start_eta,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state` of rows with the same samples, graph and rule."""
        now = self._current
        for name in ("codes", "residuals", "weights", "edges"):
            getattr(now, name)[:] = state[name]
        self._trial.codes[:] = state["before"]
        self._start_eta = state["start_eta"]

    def _in_given_order(self, rows: FloatArray) -> FloatArray:
        if self._numbering is None:
            return rows
        ordered = np.empty_like(rows)
        ordered[self._numbering] = rows
        return ordered

    def _show(self, point: Point, basis: FloatArray, omega: FloatArray) -> None:
        """Put a basis into a point, where compiled code reads it."""
        place = point.basis
        place.U[:, : basis.shape[1]] = basis
        place.omega[:] = omega
        place.lengths[:] = np.sqrt(omega.diagonal().astype(np.float64))
        self._sums.totals[3] = place.lengths.sum()

    def _pass(self, new: Point) -> Statistics:
        arguments, sums = (self._run, self._current, new, self._step), self._sums
        call = self._engine.team.call
        self._reached = new
        for window in self._engine.storage.windows():
            window.show(self._run.samples, self._cuts)
            call(self._iteration, self._rooms, arguments, self._phases)
            loss, graph_penalty, codes_penalty, basis_penalty = sums.totals.tolist()
            if basis_penalty < 0:  # no basis solves the least squares
                break
        moment, gram = sums.moment, sums.gram
        return Statistics(loss, graph_penalty, codes_penalty, moment, gram, basis_penalty)
