"""The base of losses and penalties: functions of one number, with parameters.

They are scikit-learn parameter objects, so that a grid search can vary their parameters. Their
functions are static methods in Python, and are compiled when a fit begins.
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

# Arguments at which functions are checked before use, in units of their scale.
TRIED = np.geomspace(1e-3, 1e3, 61)
# A slope is compared with differences at x(1 ± the first number); they may differ by the second.
_STEP, _APART = 1e-5, 1e-3
_NUMBERS = (int, float, np.number)


def name_in_files(cls: type) -> str:
    """The name of a class in model files, with its module if that is not of this package."""
    ours = cls.__module__.startswith("seminmf.")
    return cls.__qualname__ if ours else f"{cls.__module__}.{cls.__qualname__}"


class Term(BaseEstimator):
    """A loss or penalty: functions of one number and of the attributes named by their arguments."""

    known: ClassVar[dict[str, type[Term]]] = {}
    """All subclasses by their names in model files."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Term.known[name_in_files(cls)] = cls

    value: Callable[..., float]
    """What it adds to the objective at one number: a static method."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The attributes that the functions take, in order."""
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
        """Whether all parameters are numbers, none of them ``"auto"``."""
        return "auto" not in self.parameters.values()

    def with_scale(self, scale: float) -> Self:
        """A copy with this number in place of each ``"auto"``."""
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
    """The module of compiled loops; importing it loads the compiler."""
    from ..compiled import measures

    return measures


@lru_cache(maxsize=64)
def argument_names(function: Any) -> tuple[str, ...]:
    """The names of a function's arguments after the first."""
    return tuple(inspect.signature(function).parameters)[1:]


def told_fault(find: Callable[[], str]) -> str:
    """The fault that a check finds, or a sentence that says why Numba cannot compile."""
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
    """The slope of a function of arrays, by central differences."""
    return np.asarray((function(x * (1 + _STEP)) - function(x * (1 - _STEP))) / (2 * _STEP * x))


def agree(found: FloatArray, expected: FloatArray) -> bool:
    """Whether two computations of the same numbers agree, relative to the largest of them."""
    size = np.maximum(np.abs(expected), 1e-3 * np.abs(expected).max())
    return bool((np.abs(found - expected) <= _APART * np.maximum(size, 1e-300)).all())
