"""What losses and penalties have in common: functions of one number, with parameters.

Such a part is a scikit-learn parameter object, so that a grid search can vary what it is made of.
Its functions are written in Python, as static methods; they are compiled when a fit begins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._types import FloatArray

# Arguments at which a part is tried before it is used, in units of its scale.
TRIED = np.geomspace(1e-3, 1e3, 61)
# Differences of a function at x(1 ± this) against its slope, and how far they may be apart.
_STEP, _APART = 1e-5, 1e-3
_NUMBERS = (int, float, np.number)


def name_in_files(cls: type) -> str:
    """The name of a class; with its module, if that is not one of this package."""
    ours = cls.__module__.startswith("seminmf.")
    return cls.__qualname__ if ours else f"{cls.__module__}.{cls.__qualname__}"


class Part(BaseEstimator):
    """Functions of one number and of the object's attributes, which they name as arguments."""

    known: ClassVar[dict[str, type[Part]]] = {}
    """All classes of parts by the names that they have in model files."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Part.known[name_in_files(cls)] = cls

    value: Callable[..., float]
    """What it adds to the objective: a static method."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The attributes that the functions take, in their order."""
        names = argument_names(self.value)
        try:
            return {name: getattr(self, name) for name in names}
        except AttributeError:
            missing = next(name for name in names if not hasattr(self, name))
            raise TypeError(
                f"{type(self).__name__}.value takes {missing!r}, but {self!r} has no such "
                "attribute; let __init__ set it."
            ) from None

    @property
    def is_resolved(self) -> bool:
        """Whether all its parameters are numbers, and none is left to the data."""
        return "auto" not in self.parameters.values()

    def with_scale(self, scale: float) -> Self:
        """The same with this number for what is left to the data."""
        return type(self)(
            **{
                name: scale if isinstance(value, str) and value == "auto" else value
                for name, value in self.get_params(deep=False).items()
            }
        )

    def numbers(self) -> tuple[float, ...]:
        """The parameters as finite numbers."""
        numbers = []
        for name, value in self.parameters.items():
            number = isinstance(value, _NUMBERS) and not isinstance(value, bool)
            if not number or not isfinite(value):
                raise ValueError(
                    f"{type(self).__name__}: {name} must be a finite number, got {value!r}."
                )
            numbers.append(float(value))
        return tuple(numbers)


@lru_cache(maxsize=1)
def measures() -> Any:
    """The compiled loops; the compiler is loaded with them, when they are first asked for."""
    from ..compiled import measures

    return measures


@lru_cache(maxsize=64)
def argument_names(function: Any) -> tuple[str, ...]:
    """Of the arguments behind the first."""
    return tuple(inspect.signature(function).parameters)[1:]


def told_fault(find: Callable[[], str]) -> str:
    """What a check finds wrong with functions; or, in words, that they cannot be compiled."""
    try:
        return find()
    except Exception as error:
        if not type(error).__module__.startswith("numba."):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return (
            "Numba cannot compile its functions, which have to make a number of numbers alone: "
            f"{' '.join(lines[:3])[:300]}"
        )


def slope_of(function: Any, x: FloatArray) -> FloatArray:
    """The slope of a function of arrays, by differences."""
    return np.asarray((function(x * (1 + _STEP)) - function(x * (1 - _STEP))) / (2 * _STEP * x))


def agree(found: FloatArray, expected: FloatArray) -> bool:
    """Whether two ways to the same numbers end near each other, beside the largest of them."""
    size = np.maximum(np.abs(expected), 1e-3 * np.abs(expected).max())
    return bool((np.abs(found - expected) <= _APART * np.maximum(size, 1e-300)).all())
