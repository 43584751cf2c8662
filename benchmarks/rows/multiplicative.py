"""An iteration of ``solver="mu"`` against the same iteration by the plain formulas.

Per iteration: the plain loop's time divided by its iterations (it has no start-up to speak of);
ours between the callbacks of the 2nd and the last iteration, callbacks included. On the wide
matrices ours makes 500 iterations, as the paper does, and the compression of X is in the time. The
note has the time of the two products with X by BLAS, and that of as many operations in a product of
two square matrices, which is as fast as the machine can be: no iteration on X itself goes below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from .. import plain, verify
from ..data import Problem, paper_problem, wide_problem
from ..results import Goal, Result, speedup
from ..row import Row
from ..timing import interleave, per_iteration, seconds

_WHAT = "`mu` per iteration"
_SQUARE = 512


def _measure(
    name: str, goal: float, iterations: int, make: Callable[[bool], Problem], quick: bool
) -> Iterator[Result]:
    from seminmf import L21SemiNMF

    problem = make(quick)
    difference = verify.check(problem)
    X, start = problem.X, problem.start()
    count = max(20, iterations // 10) if quick else iterations
    square = np.random.default_rng(0).random((_SQUARE, _SQUARE))
    operations = 4 * X.size * problem.n_components
    model = L21SemiNMF(problem.n_components, **problem.parameters, solver="mu", init=start)
    best = interleave(
        {
            "plain": lambda: seconds(
                lambda: plain.l21_snf(X, *start, count, **problem.penalties)
            ) / count,
            "products": lambda: seconds(
                lambda: [(X @ start[0], X.T @ start[1]) for _ in range(count)]
            ) / count,
            "peak": lambda: seconds(lambda: square @ square) * operations / (2 * _SQUARE**3),
            "ours": lambda: per_iteration(model, X, 4 * count),
        },
        rounds=2 if quick else 7,
        budget=15,
    )  # fmt: skip
    yield speedup(
        name, _WHAT, problem.name, "plain.py", ours=best["ours"], reference=best["plain"],
        goal=Goal(goal),
        note=f"iterates agree to {difference:.0e}; "
        f"X @ U and X.T @ V alone {1e6 * best['products']:.0f} µs, "
        f"as many operations at peak {1e6 * best['peak']:.0f} µs",
    )  # fmt: skip


def _row(name: str, goal: float, iterations: int, make: Callable[[bool], Problem]) -> Row:
    measure = partial(_measure, name, goal, iterations, make)
    return Row(name, "one iteration of the paper's algorithm against plain.py", measure)


ROWS = (
    _row("mu-wide-k32", 40, 125, lambda quick: wide_problem(32, quick)),
    _row("mu-wide-k16", 60, 125, lambda quick: wide_problem(16, quick)),
    _row("mu-waveform", 6, 100, lambda quick: paper_problem("waveform")),
    _row("mu-uspst", 6, 100, lambda quick: paper_problem("uspst")),
    _row("mu-ionosphere", 6, 500, lambda quick: paper_problem("ionosphere")),
)
