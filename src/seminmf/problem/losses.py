"""How the length t of a residual, or of an edge, enters the objective: ρ(t).

A loss has two functions of t: its value ρ(t), and its weight w(t) = ρ'(t) / 2t. The solver replaces
ρ by the quadratic w(s)·t² + const that touches it at the present length s, and lies above it if
ρ(√q) is a concave function of q (fact 1 of the theory page).

============  =================================  ===========================
loss          ρ(t)                               an outlier counts
============  =================================  ===========================
SquaredNorm   t²                                 by the square of its length
Norm          t                                  by its length
Huber         t²/2c up to c, then t − c/2        by its length
Cauchy        c/2 · log(1 + t²/c²)               hardly at all
============  =================================  ===========================

With c → 0 Huber's loss becomes the norm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isclose, log1p
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone

from .._types import FloatArray
from .term import TRIED, Term, agree, argument_names, measures, slope_of, told_fault

# Squares of parameters beyond these would be out of range.
_LEAST, _MOST = 1e-150, 1e150

__all__ = ["Cauchy", "Huber", "Loss", "Norm", "SquaredNorm", "loss_of"]


class Loss(Term):
    """Base of all losses; a new one defines ``value`` and ``weight`` as static methods.

    Both take t, and the attributes that they name as further arguments. Numba compiles them, so
    they may use numbers, ``math`` and ``if``. ``weight`` is never called with a t below a small
    positive floor, so that it may have a pole at zero.
    """

    power: ClassVar[int] = 1
    """p in ρ(c·t; c·scale) = cᵖ ρ(t; scale): the loss is measured in lengths to the power p."""
    typical: ClassVar[float] = 1.0
    """A parameter of ``"auto"`` becomes this many typical residuals."""

    weight: Callable[..., float]
    """ρ'(t) / 2t: a static method."""

    @property
    def quadratic(self) -> bool:
        """Whether the weights are the same for all residuals."""
        return self.weight is SquaredNorm.weight

    def resolved(self, typical_residual: float) -> Loss:
        """A copy with numbers in place of each ``"auto"``."""
        return self if self.is_resolved else self.with_scale(self.typical * typical_residual)

    def in_units(self, unit: float) -> Loss:
        """The loss ρ' with ρ'(t) = ρ(unit·t) / unitᵖ: all its parameters are lengths."""
        if unit == 1 or not argument_names(self.value):
            return self
        lengths = {
            name: value if value == "auto" else value / unit
            for name, value in self.parameters.items()
        }
        found: Loss = clone(self).set_params(**lengths)
        if not found.is_resolved:
            return found
        t = max(self.numbers())
        here, there = self.value(t, *self.numbers()), found.value(t / unit, *found.numbers())
        if not isclose(there * unit**self.power, here, rel_tol=1e-6):
            raise ValueError(
                f"{self!r} has parameters that are no lengths, so that it cannot be used with data "
                f"of this size. Rescale X, for example X / {unit:g}."
            )
        return found

    def block(self, dtype: Any) -> Any:
        """The compiled loop over many lengths."""
        return measures().measure_block(self.value, self.weight, self.numbers(), dtype)

    def measure(
        self, lengths: FloatArray, share: FloatArray | None = None, floor: float = 0.0
    ) -> tuple[float, FloatArray]:
        """Σ share · ρ(length), and share · w(length) with lengths not below ``floor``."""
        return measures().measure_lengths(self.block(lengths.dtype), lengths, share, floor)

    def total(self, lengths: FloatArray, share: FloatArray | None = None) -> float:
        """Σ share · ρ(length)."""
        return self.measure(lengths, share)[0]

    def weights(
        self, lengths: FloatArray, floor: float, share: FloatArray | None = None
    ) -> FloatArray:
        """share · w(length), with lengths not below ``floor``."""
        return self.measure(lengths, share, floor)[1]

    def check(self) -> None:
        """Raise an error if the solver could not lower an objective with this loss."""
        known = self if self.is_resolved else self.with_scale(1.0)
        numbers = known.numbers()
        for name, value in zip(argument_names(self.value), numbers, strict=True):
            if value <= 0:
                raise ValueError(f"{type(self).__name__}: {name} must be positive, got {value!r}.")
            if not _LEAST < value < _MOST:
                raise ValueError(
                    f"{type(self).__name__}: {name} must be between {_LEAST:g} and {_MOST:g}, got "
                    f"{value!r}. Rescale X and it."
                )
        fault = told_fault(lambda: _fault(self.value, self.weight, numbers))
        if fault:
            raise ValueError(f"{self!r} cannot be used: {fault}")


@lru_cache(maxsize=64)
def _fault(value: Any, weight: Any, numbers: tuple[float, ...]) -> str:
    """What is wrong with the functions of a loss; empty if they fit together."""
    block = measures().measure_block(value, weight, numbers, np.float64)
    t = max(numbers, default=1.0) * TRIED
    weights = measures().measure_lengths(block, t, None, 0.0)[1]
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        return "its weight must be a finite number, not negative, for every length."
    if not (weights > measures().LEAST_WEIGHT[8]).any():
        return "its weight is zero for every length, so that nothing would be fitted."
    if (np.diff(weights) > 1e-9 * weights[:-1]).any():
        return (
            "its weight grows with the length, so that ρ(√q) is not concave in q and no quadratic "
            "lies above it."
        )
    slopes = slope_of(
        np.vectorize(lambda x: measures().measure_lengths(block, np.array([x]), None, 0.0)[0]), t
    )
    if not agree(2 * t * weights, slopes):
        return "its weight is not ρ'(t) / 2t for the ρ of its value."
    return ""


class Norm(Loss):
    """ρ(t) = t: robust, an outlier counts by its distance."""

    @staticmethod
    def value(t: float) -> float:
        return t

    @staticmethod
    def weight(t: float) -> float:
        return 0.5 / t


class SquaredNorm(Loss):
    """ρ(t) = t²: least squares, an outlier counts by the square of its distance."""

    power = 2

    @staticmethod
    def value(t: float) -> float:
        return t * t

    @staticmethod
    def weight(t: float) -> float:
        return 1.0


class Huber(Loss):
    """ρ(t) = t²/2c up to t = c, then t − c/2: squares for ordinary samples, lengths for others.

    Parameters
    ----------
    scale : float or "auto", default="auto"
        c, in the units of X. "auto" takes the typical residual of the leading directions of X.
    """

    def __init__(self, scale: float | Literal["auto"] = "auto") -> None:
        self.scale = scale

    @staticmethod
    def value(t: float, scale: float) -> float:
        return t * t / (2 * scale) if t < scale else t - scale / 2

    @staticmethod
    def weight(t: float, scale: float) -> float:
        return 0.5 / max(t, scale)


class Cauchy(Loss):
    """ρ(t) = c/2 · log(1 + t²/c²): outliers hardly count. Not convex, so the start matters.

    Parameters
    ----------
    scale : float or "auto", default="auto"
        c, in the units of X. "auto" takes twice the typical residual of the leading directions.
    """

    typical = 2.0

    def __init__(self, scale: float | Literal["auto"] = "auto") -> None:
        self.scale = scale

    @staticmethod
    def value(t: float, scale: float) -> float:
        return 0.5 * scale * log1p((t / scale) ** 2)

    @staticmethod
    def weight(t: float, scale: float) -> float:
        return 0.5 * scale / (scale * scale + t * t)


NAMED = {"norm": Norm, "squared": SquaredNorm, "huber": Huber, "cauchy": Cauchy}


@lru_cache(maxsize=len(NAMED))
def _named(name: str) -> Loss:
    return NAMED[name]()


def loss_of(loss: Any) -> Loss:
    """A loss, given by its name or as an object, which is checked."""
    if isinstance(loss, str) and loss in NAMED:
        return _named(loss)
    if not isinstance(loss, Loss):
        names = ", ".join(map(repr, NAMED))
        raise ValueError(
            f"loss must be one of {names}, or an object of a class derived from "
            f"seminmf.losses.Loss, got {loss!r}."
        )
    loss.check()
    return loss
