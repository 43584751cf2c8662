"""The only outer loop: stopping, history, callback.

What an iteration does is the business of `descent`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite

import numpy as np

from .._types import FloatArray
from ..data import Space
from ..problem.objective import Objective
from .descent import Descent

# Where J falls by a smaller share than this per iteration, a subspace has given what it can: its
# lowest J is above that of the whole space by more.
_AT_REST = 1e-4


class Status(Enum):
    """How a run ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STOPPED = "stopped by callback"
    NONFINITE = "nonfinite"


@dataclass(frozen=True)
class Stopping:
    """``tol`` is the relative decrease of J per iteration below which the run has converged."""

    max_iter: int
    tol: float


@dataclass(frozen=True)
class Progress:
    """What a callback sees after each iteration. Return True from it to stop the run."""

    iteration: int
    objective: float
    start: int
    factors: Callable[[], tuple[FloatArray, FloatArray]] = field(repr=False)
    """Call it for copies of the present (basis, codes)."""


Callback = Callable[[Progress], object]


@dataclass
class Solution:
    """Where a run ended, in the units of the original α and β."""

    space: Space
    """Whose features the basis has, until `lift` turns it into those of X."""
    basis: FloatArray
    codes: FloatArray
    residuals: FloatArray
    problem: Objective
    history: list[float]
    status: Status
    kkt_residual: float = np.nan

    def lift(self) -> None:
        self.basis = self.space.lift(self.basis)

    @property
    def objective(self) -> float:
        return self.history[-1]

    @property
    def rank(self) -> float:
        """The objective, with what is not a number behind all numbers."""
        return self.objective if np.isfinite(self.objective) else np.inf


def run(
    descent: Descent,
    stopping: Stopping,
    callback: Callback | None = None,
    start: int = 0,
) -> Solution:
    """Iterate until one of the reasons in `Status`."""
    history: list[float] = []
    previous, eta = descent.value, descent.first_eta
    status = Status.MAX_ITER
    for iteration in range(1, stopping.max_iter + 1):
        value, eta = descent.iterate(eta)
        history.append(value)
        if not isfinite(value):
            status = Status.NONFINITE
            break
        if callback is not None and callback(
            Progress(iteration, value, start, descent.lifted_factors)
        ):
            status = Status.STOPPED
            break
        fall = previous - value
        if descent.confined:
            if fall <= max(stopping.tol, _AT_REST) * abs(previous):
                history[-1] = value = descent.widen()
        elif stopping.tol > 0 and fall <= stopping.tol * abs(previous):
            status = Status.CONVERGED
            break
        previous = value
    if descent.confined:
        history[-1] = descent.widen()
    basis, codes = descent.factors()
    return Solution(
        descent.space, basis, codes, descent.residuals(), descent.problem(), history, status
    )
