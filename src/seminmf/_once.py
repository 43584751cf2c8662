"""Properties that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_Value = TypeVar("_Value")


class once(Generic[_Value]):  # noqa: N801 - a decorator, as `property`
    """A property that is computed on first use and kept.

    Not `functools.cached_property`, which before Python 3.12 has one lock for all objects of a
    class: fits in several threads waited there for each other, and a process forked meanwhile for
    ever.
    """

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        # The object's attribute now shadows this. Of two threads the first one's value stays.
        return instance.__dict__.setdefault(self._name, self._function(instance))
