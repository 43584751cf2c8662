"""The only outer loop: stopping, history, callback.

What an iteration does is in `descent`. Between iterations the state of a run is a few numbers here
and that of its descent; `checkpoint` keeps it on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf, isfinite

import numpy as np

from .._types import FloatArray
from ..data import Space
from ..problem.objective import Objective
from .checkpoint import Keeper, State
from .descent import Descent

# A subspace is left when J falls by a smaller share than this per iteration: its lowest J is above
# that of the whole space by more.
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

    def through(
        self, change: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    ) -> Progress:
        """The same with converted factors, computed only when asked for."""
        return replace(self, factors=lambda: change(*self.factors()))


Callback = Callable[[Progress], object]


@dataclass
class Solution:
    """Where a run ended, in the units of the original α and β."""

    space: Space
    """The basis is in the features of this space until `lift` converts it to those of X."""
    basis: FloatArray
    codes: FloatArray
    residuals: FloatArray
    problem: Objective
    history: list[float]
    status: Status
    kkt_residual: float = np.nan
    """NaN if unknown, as when the factors are no longer those of the run."""

    def lift(self) -> None:
        self.basis = self.space.lift(self.basis)

    def state(self) -> State:
        return {
            "compressed": self.space.compression is not None, "basis": self.basis,
            "codes": self.codes, "residuals": self.residuals, "objective": self.problem.state(),
            "history": self.history, "status": self.status.name,
        }  # fmt: skip

    @classmethod
    def restored(cls, state: State, space: Space, problem: Objective) -> Solution:
        """The solution of a `state`, found in this space for a problem with the same functions."""
        return cls(
            space, state["basis"], state["codes"], state["residuals"],
            problem.restored(state["objective"]), state["history"].tolist(),
            Status[state["status"]],
        )  # fmt: skip

    @property
    def objective(self) -> float:
        return self.history[-1]

    @property
    def rank(self) -> float:
        """The objective for comparisons, infinite where it is not a number."""
        return self.objective if np.isfinite(self.objective) else np.inf


def run(
    descent: Descent,
    stopping: Stopping,
    callback: Callback | None = None,
    start: int = 0,
    keeper: Keeper | None = None,
    state: State | None = None,
) -> Solution:
    """Iterate until one of the reasons in `Status`.

    A ``keeper`` keeps the state between iterations; a kept ``state`` is continued, and emptied.
    """
    with nullcontext() if keeper is None else keeper.listening():
        course = _Run(descent, state)
        status = course.iterate(stopping, callback, start, keeper)
    history = course.history
    if descent.confined:
        history[-1] = descent.widen()
    basis, codes = descent.factors()
    return Solution(
        descent.space, basis, codes, descent.residuals(), descent.problem(), history, status
    )


class _Run:
    """Iterations from a start, or from the kept state of an earlier run."""

    def __init__(self, descent: Descent, state: State | None = None) -> None:
        self._descent = descent
        self.history: list[float] = []
        self._previous, self._eta = descent.value, descent.first_eta
        if state is not None:
            descent.restore(state["descent"])
            self.history = state["history"].tolist()
            self._previous, self._eta = state["previous"], state["eta"]
            state.clear()  # its arrays are as large as the codes

    def state(self) -> State:
        return {
            "history": self.history, "previous": self._previous, "eta": self._eta,
            "descent": self._descent.state(),
        }  # fmt: skip

    def iterate(
        self, stopping: Stopping, callback: Callback | None, start: int, keeper: Keeper | None
    ) -> Status:
        descent, history = self._descent, self.history
        while True:
            if history and self._is_at_rest(stopping):
                return Status.CONVERGED
            if len(history) >= stopping.max_iter:
                return Status.MAX_ITER
            value, self._eta = descent.iterate(self._eta)
            history.append(value)
            if not isfinite(value):
                return Status.NONFINITE
            if keeper is not None:
                keeper.keep(self.state)
            if callback is not None and self._is_stopped(callback, start, keeper):
                return Status.STOPPED

    def _is_at_rest(self, stopping: Stopping) -> bool:
        """Whether the last iteration changed too little. A run at rest in a subspace moves to all
        features if those promise more.
        """
        descent, history, previous = self._descent, self.history, self._previous
        fall = previous - history[-1]
        if descent.confined:
            if fall <= max(stopping.tol, _AT_REST) * abs(previous):
                history[-1] = descent.widen()
                fall += descent.promised()
            else:
                fall = inf
        if stopping.tol > 0 and fall <= stopping.tol * abs(previous):
            return True
        self._previous = history[-1]
        return False

    def _is_stopped(self, callback: Callback, start: int, keeper: Keeper | None) -> bool:
        progress = Progress(
            len(self.history), self.history[-1], start, self._descent.lifted_factors
        )
        try:
            answer = callback(progress)
            if not isinstance(answer, bool | np.bool_ | int | None):
                told = f"callback returned {type(answer).__name__}"
                raise TypeError(f"{told}; let it return True to stop the run, and else None.")
            stopped = bool(answer)
        except BaseException:
            if keeper is not None:
                keeper.write(self.state)
            raise
        if stopped and keeper is not None:
            keeper.stop(self.state)
        return stopped
