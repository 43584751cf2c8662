"""Structures: named arrays and numbers that compiled code takes as one argument.

A structure is a table of addresses, lengths and numbers. Passing one costs as much as passing one
number, reading a field is a load or two, and no references are counted: the Python object keeps
the arrays alive, and whoever calls compiled code keeps the object.

Numba's own structures (``structref``) do the same with counted references, which made up most of
what had to be compiled.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from llvmlite import ir
from numba import types, typeof
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    register_model,
    unbox,
)

from .views import view

_SLOT = ir.IntType(64)


class StructureType(types.Type):
    """A structure of this name, with fields of these types."""

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = fields
        super().__init__(name=f"{name}({', '.join(f'{field}: {kind}' for field, kind in fields)})")

    def place(self, name: str) -> tuple[int, Any]:
        """Slot and type of a field."""
        slot = 0
        for field, kind in self.fields:
            if field == name:
                return slot, kind
            slot += 1 + kind.ndim if isinstance(kind, types.Array) else 1
        raise KeyError(name)


@register_model(StructureType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _SLOT.as_pointer())


@unbox(StructureType)
def _unbox(kind: Any, value: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, _SLOT.as_pointer()))


@infer_getattr
class _Fields(AttributeTemplate):
    key = StructureType

    def generic_resolve(self, kind: Any, name: str) -> Any:
        return dict(kind.fields).get(name)


@lower_getattr_generic(StructureType)
def _field(context: Any, builder: Any, structure: Any, value: Any, name: str) -> Any:
    slot, kind = structure.place(name)

    def load(number: int) -> Any:
        return builder.load(builder.gep(value, [_SLOT(slot + number)]))

    if isinstance(kind, types.Array):
        pointer = context.get_data_type(kind.dtype).as_pointer()
        shape = [load(1 + axis) for axis in range(kind.ndim)]
        return view(context, builder, kind, builder.inttoptr(load(0), pointer), shape)
    if isinstance(kind, StructureType):
        return builder.inttoptr(load(0), _SLOT.as_pointer())
    if kind == types.float64:
        return builder.bitcast(load(0), ir.DoubleType())
    if kind == types.boolean:
        return builder.trunc(load(0), ir.IntType(1))
    return load(0)


_known: dict[tuple[str, Any], StructureType] = {}


class Structure:
    """Base of all structures; a class has a tuple of ``fields``, in their order.

    Arrays and structures among them are attributes of the object, too.
    """

    fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        if tuple(values) != self.fields:
            raise TypeError(f"{type(self).__name__} has the fields {self.fields}")
        slots: list[int] = []
        kinds = []
        for name, value in values.items():
            kind, numbers = _described(name, value)
            kinds.append((name, kind))
            slots += numbers
        key = type(self).__name__, tuple(kinds)
        self._numba_type_ = _known.setdefault(key, StructureType(*key))
        self._slots = np.array(slots, np.int64)
        self._numbers = self._slots.view(np.float64)
        # They have to live as long as their addresses are in use.
        parts = (np.ndarray, Structure)
        vars(self).update({n: value for n, value in values.items() if isinstance(value, parts)})
        self.address = self._slots.ctypes.data

    def set(self, **numbers: float) -> None:
        """Change fields that are floating-point numbers."""
        for name, value in numbers.items():
            slot, kind = self._numba_type_.place(name)
            assert kind == types.float64, name
            self._numbers[slot] = value


    def set_integers(self, **numbers: int) -> None:
        """Change fields that are integers."""
        for name, value in numbers.items():
            slot, kind = self._numba_type_.place(name)
            assert kind == types.int64, name
            self._slots[slot] = value


def _described(name: str, value: Any) -> tuple[Any, list[int]]:
    """Type and slots of a field."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError(f"{name} is not contiguous")
        kind = types.Array(typeof(value).dtype, value.ndim, "C")
        return kind, [value.ctypes.data, *value.shape]
    if isinstance(value, Structure):
        return value._numba_type_, [value.address]
    if isinstance(value, bool | np.bool_):
        return types.boolean, [int(value)]
    if isinstance(value, float):
        return types.float64, [int(np.float64(value).view(np.int64))]
    return types.int64, [int(value)]
