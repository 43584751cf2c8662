"""Numbers out of range, without what NumPy says of them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np

_Result = TypeVar("_Result")


def quietly(function: Callable[..., _Result], *arguments: Any, **named: Any) -> _Result:
    """What a function returns; what overflows on its way, or is no number, is not told.

    In a context of its own, which ends with it: `numpy.errstate` stays behind where an interrupt
    comes while it is entered.
    """

    def called() -> _Result:
        np.seterr(over="ignore", invalid="ignore")
        return function(*arguments, **named)

    return copy_context().run(called)
