"""Default settings against 500 iterations of the plain formulas: time to the J these reach.

J is the same function for both: the paper's α and β, and the same graph, given as a matrix. The
plain formulas begin at the paper's random start, which costs them nothing; our time begins with
the call of ``fit`` and has the default start, compression and all preparations in it. It ends when
the callback first sees a J at most as large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from .. import plain, verify
from ..data import Problem, paper_problem, wide_problem
from ..results import Goal, Result, speedup
from ..row import Row
from ..timing import Arrival, interleave, seconds, time_to


def _measure(
    name: str, goal: float, make: Callable[[bool], Problem], quick: bool
) -> Iterator[Result]:
    from seminmf import L21SemiNMF

    problem = make(quick)
    verify.check(problem)
    X, start, iterations = problem.X, problem.start(), 50 if quick else 500
    model = L21SemiNMF(problem.n_components, **problem.parameters, random_state=0)
    target = math.nan
    arrivals: list[Arrival] = []

    def by_formulas() -> None:
        nonlocal target
        target = plain.l21_snf(X, *start, iterations, **problem.penalties).history[-1]

    def ours() -> float:
        # Much shorter than the reference: several turns for each of its own.
        for _ in range(1 if quick else 5):
            arrivals.append(time_to(model, X, target))
        return min(arrival.seconds for arrival in arrivals)

    model.fit(X)
    best = interleave(
        {"plain": lambda: seconds(by_formulas), "ours": ours}, rounds=1 if quick else 15, budget=25
    )
    arrival = min(arrivals, key=lambda arrival: arrival.seconds)
    note = (
        f"J {target:.6g} reached in {arrival.iterations} iterations, the first done after "
        f"{1e3 * arrival.first:.3g} ms; fit returned after {arrival.whole:.3g} s"
        if math.isfinite(arrival.seconds)
        else f"not reached: J {arrival.value:.8g} after {arrival.iterations} iterations, "
        f"plain.py {target:.8g}"
    )
    yield speedup(
        name, f"default settings, time to the J of {iterations} iterations", problem.name,
        "plain.py", ours=best["ours"], reference=best["plain"], goal=Goal(goal), note=note,
    )  # fmt: skip


def _row(name: str, goal: float, make: Callable[[bool], Problem]) -> Row:
    measure = partial(_measure, name, goal, make)
    return Row(name, "default settings, time to the J of 500 plain iterations", measure)


ROWS = (
    _row("objective-ionosphere", 100, lambda quick: paper_problem("ionosphere")),
    _row("objective-waveform", 100, lambda quick: paper_problem("waveform")),
    _row("objective-uspst", 60, lambda quick: paper_problem("uspst")),
    _row("objective-wide-k32", 200, lambda quick: wide_problem(32, quick)),
    _row("objective-wide-k16", 200, lambda quick: wide_problem(16, quick)),
)
