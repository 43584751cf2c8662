"""`SemiNMF` against tensorly's HALS, proxmin and matrix-fact, in their environment.

The goal is the objective ‖X − VUᵀ‖²_F that tensorly has after 100 iterations. tensorly's time is
that of those iterations; the others run until they are there too, or until they have had as long
as tensorly (then their time is a lower bound). Ours is from the call of ``fit`` to
the callback that sees the goal, from the default start. Nobody's own rule for stopping is in force:
``tol=0`` for tensorly and for us.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sklearn.base import clone

from .. import peers
from ..data import Floats, cifar, random_matrix
from ..results import Goal, Result, speedup
from ..row import Row
from ..timing import Arrival, interleave, time_to

# A peer is stopped after this many times what tensorly took.
_PATIENCE = 1.0


class TensorlyError(RuntimeError):
    """Without tensorly there is no goal to race for."""


class _Race:
    """The contestants, and what they found."""

    def __init__(self, X: Floats, k: int, iterations: int) -> None:
        from seminmf import SemiNMF

        self.X, self.k, self.iterations = X, k, iterations
        self.model = SemiNMF(k, max_iter=1000, tol=0, random_state=0)
        self.outcomes: dict[str, peers.Outcome] = {}
        self.arrivals: list[Arrival] = []
        self.failures: dict[str, str] = {}

    def tensorly(self) -> float:
        try:
            outcome = peers.tensorly_hals(self.X, self.k, self.iterations)
        except Exception as error:
            raise TensorlyError(f"{type(error).__name__}: {error}") from error
        self.outcomes["tensorly"] = outcome
        return outcome.seconds

    def ours(self) -> float:
        for _ in range(3):
            goal = self.outcomes["tensorly"].objective
            self.arrivals.append(time_to(self.model, self.X, goal))
        return min(arrival.seconds for arrival in self.arrivals)

    def other(self, name: str) -> float:
        """A peer that fails is out of the race; it must not end ours."""
        if name in self.failures:
            return math.inf
        leader = self.outcomes["tensorly"]
        try:
            outcome = peers.CHASERS[name](
                self.X, self.k, leader.objective, _PATIENCE * leader.seconds
            )
        except Exception as error:
            self.failures[name] = f"{type(error).__name__}: {error}"
            return math.inf
        self.outcomes[name] = outcome
        return outcome.seconds


def _measure(
    name: str, title: str, k: int, rounds: int, make: Callable[[bool], Floats], quick: bool
) -> Iterator[Result]:
    race = _Race(make(quick), k, 10 if quick else 100)
    what = f"`SemiNMF`, time to tensorly's objective after {race.iterations} iterations"
    case = f"{title} {race.X.shape[0]:,} × {race.X.shape[1]:,}, k={k}"
    clone(race.model).set_params(max_iter=5).fit(race.X[: 20 * k])  # compiles
    # tensorly has the first turn: its objective is everybody's goal.
    contestants: dict[str, Callable[[], float]] = {"tensorly": race.tensorly, "ours": race.ours}
    contestants |= {other: partial(race.other, other) for other in peers.CHASERS}
    try:
        best = interleave(contestants, 1 if quick else rounds, budget=45)
    except TensorlyError as error:
        yield Result(name, what, case, "tensorly", status="failed", note=str(error))
        return
    arrival = min(race.arrivals, key=lambda arrival: arrival.seconds)
    if math.isinf(arrival.seconds):
        ours = f"; ours stopped at J {arrival.value:.8g} after {arrival.iterations} iterations"
    else:
        ours = f"; ours in {arrival.iterations} iterations, fit returned at {arrival.whole:.3g} s"
    for other in ("tensorly", *peers.CHASERS):
        if other in race.failures:
            yield Result(name, what, case, other, status="failed", note=race.failures[other])
            continue
        outcome = race.outcomes[other]
        note = f"J {outcome.objective:.8g} after {outcome.iterations} iterations"
        if not outcome.reached:
            note = f"never there; {note}: a lower bound"
        yield speedup(
            name, what, case, other, ours=best["ours"], reference=best[other],
            goal=Goal(10.0 if other == "tensorly" else 1.0),
            note=note + (ours if other == "tensorly" else ""),
        )  # fmt: skip


def _centred_cifar(quick: bool) -> Floats:
    X = cifar(quick)
    X -= X.mean(axis=0)
    return np.ascontiguousarray(X)


def _row(
    name: str, title: str, k: int, rounds: int, make: Callable[[bool], Floats],
    threads: tuple[int, ...] = (1, 2),
) -> Row:  # fmt: skip
    measure = partial(_measure, name, title, k, rounds, make)
    summary = "SemiNMF against tensorly, proxmin and matrix-fact"
    return Row(name, summary, measure, threads, with_peers=True, timeout=300)


def _random(n: int, m: int, quick: bool) -> Floats:
    return random_matrix(n, m // 10 if quick else m)


ROWS = (
    _row("peers-128x10000", "random", 10, 3, partial(_random, 128, 10_000)),
    _row("peers-784x5000", "random", 20, 3, partial(_random, 784, 5_000)),
    _row("peers-cifar", "CIFAR-10 test, centred", 15, 1, _centred_cifar, (2,)),
)
