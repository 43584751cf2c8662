"""Penalties on the codes: Σ_iq π(v_iq), with π a function of one code v ≥ 0.

A penalty has a value π(v); a curvature c ≥ 0; a shift s(v), the slope without the curvature,
s(v) = π'(v) − c·v; and a power p under rescaling, π(a·v) = aᵖ π(v). If π(v) − ½c·v² is concave, the
quadratic ½c·v² + s(u)·v + const touches π at u and lies above it, and that is what every solver
minimises. Rescaling, stationarity and ``transform`` read it from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .._types import FloatArray
from .term import TRIED, Term, agree, measures, slope_of, told_fault

__all__ = ["L1", "CodesPenalty"]


class CodesPenalty(Term):
    """Base of all penalties on the codes; a new one defines ``value`` and ``shift``.

    Both are static methods of v and of the attributes that they name as further arguments.

    Parameters
    ----------
    strength : float
        Dimensionless weight; see `seminmf.problem.strength`.
    """

    power: ClassVar[float] = 1
    curvature: ClassVar[float] = 0.0

    def __init__(self, strength: float = 0.0) -> None:
        self.strength = strength

    shift: Callable[..., float]
    """π'(v) − c·v: a static method."""

    def block(self, dtype: Any) -> Any:
        """The compiled loop over many codes."""
        return measures().penalty_block(self.value, self.shift, self.numbers(), dtype)

    def measure(
        self, codes: FloatArray, share: FloatArray | None = None
    ) -> tuple[float, FloatArray]:
        """Σ share · π(v) over all codes, and the shift at each."""
        return measures().penalize_codes(self.block(codes.dtype), codes, share)

    def check(self) -> None:
        """Raise an error if the solver could not lower an objective with this penalty."""
        fault = told_fault(self._fault)
        if fault:
            raise ValueError(f"{self!r} cannot be used: {fault}")

    def _fault(self) -> str:
        """What is wrong with the functions; empty if they fit together."""

        def values(codes: FloatArray) -> FloatArray:
            return np.array([self.measure(np.array([[code]]))[0] for code in codes])

        v, shifts = TRIED, self.measure(TRIED.reshape(1, -1))[1].ravel()
        if not (np.isfinite(values(v)).all() and np.isfinite(shifts).all()):
            return "its value and its shift must be finite for every code above zero."
        if self.curvature < 0 or (shifts < 0).any():
            return "its shift and its curvature must not be negative."
        if (np.diff(shifts) > 1e-9 * np.abs(shifts[:-1])).any():
            return (
                "its shift grows with the code: give it a curvature, so that what is left is "
                "concave."
            )
        if not agree(shifts + self.curvature * v, slope_of(values, v)):
            return "shift + curvature · v is not the slope of its value."
        if not agree(values(2 * v), 2**self.power * values(v)):
            return f"its value at 2v is not 2^{self.power:g} times that at v; set its power."
        return ""


class L1(CodesPenalty):
    """π(v) = v: codes with few entries that are not zero."""

    @staticmethod
    def value(v: float) -> float:
        return v

    @staticmethod
    def shift(v: float) -> float:
        return 1.0
