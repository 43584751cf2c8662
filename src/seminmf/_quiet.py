"""Calls without NumPy's warnings about numbers out of range."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np

_Result = TypeVar("_Result")


def quietly(function: Callable[..., _Result], *arguments: Any, **named: Any) -> _Result:
    """Call a function without warnings of overflow and of invalid values.

    In a context of its own, which ends with the call: `numpy.errstate` stays in force if an
    interrupt comes while it is entered.
    """

    def called() -> _Result:
        np.seterr(over="ignore", invalid="ignore")
        return function(*arguments, **named)

    return copy_context().run(called)
