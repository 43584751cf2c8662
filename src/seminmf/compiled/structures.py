"""Structures: named arrays and numbers that compiled code takes as one argument.

A structure is a table of addresses, lengths and numbers. Passing one costs as much as passing a
number, reading a field is a load or two, and no references are counted: the Python object keeps the
arrays alive, and whoever calls compiled code keeps the object.

Numba's own structures (``structref``) count references, which made up most of what had to be
compiled.
"""

from __future__ import annotations

import ctypes
from array import array
from math import prod
from struct import Struct
from typing import Any, ClassVar, Self

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
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
# Bytes of a cache line.
_LINE = 64


class StructureType(types.Type):
    """Numba's type of a structure with this name and fields of these types."""

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = dict(fields)
        self.slots: dict[str, int] = {}
        slot = 0
        for field, kind in fields:
            self.slots[field] = slot
            slot += 1 + kind.ndim if isinstance(kind, types.Array) else 1
        super().__init__(name=f"{name}({', '.join(f'{field}: {kind}' for field, kind in fields)})")


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
        return kind.fields.get(name)


@lower_getattr_generic(StructureType)
def _field(context: Any, builder: Any, structure: Any, value: Any, name: str) -> Any:
    slot, kind = structure.slots[name], structure.fields[name]

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


def _slow_address(array: Any) -> int:
    return int(array.ctypes.data)


def _fast_address(array: Any) -> int:
    """The data pointer that an array object has behind the head of every Python object."""
    return _number_at(id(array) + _HEAD).value


_number_at, _HEAD = ctypes.c_size_t.from_address, object.__basicsize__
_sample = np.zeros(3)[1:]
# NumPy's own way takes four times as long, and a run needs some eighty addresses.
_address = _fast_address if _fast_address(_sample) == _slow_address(_sample) else _slow_address

# Types and table layouts, by the class of the structure and the kinds of its fields.
_known: dict[tuple[Any, ...], tuple[StructureType, Struct]] = {}
_NUMBERS = {int: types.int64, float: types.float64, bool: types.boolean}


class Structure:
    """Base of all structures; a class lists its ``fields`` in order.

    Fields are attributes, too, with the values they had when the object was made. Instead of an
    array, a tuple of its type and shape may be given: the array then starts as zeros, in one piece
    of memory with the structure's other such arrays, and `fresh` makes a copy with new ones.
    """

    fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        if tuple(values) != self.fields:
            raise TypeError(f"{type(self).__name__} has the fields {self.fields}")
        slots: list[Any] = []
        kinds: list[Any] = [type(self)]
        made: dict[str, tuple[int, int, Any]] = {}
        size = 0
        for name, value in values.items():
            kind = type(value)
            if kind is np.ndarray:
                if not value.flags.c_contiguous:
                    raise ValueError(f"{type(self).__name__}: an array is not contiguous")
                kinds += value.dtype.num, value.ndim
                slots += _address(value), *value.shape
            elif kind in _NUMBERS:
                kinds.append(kind)
                slots.append(value)
            elif kind is tuple:
                made[name] = len(slots), size, value
                kinds += value[0].num, len(value) - 1
                slots += size, *value[1:]
                # Each array starts on a cache line.
                size += -(-prod(value[1:]) * value[0].itemsize // _LINE) * _LINE
            else:
                kinds.append(id(value._numba_type_))
                slots.append(value.address)
        key = tuple(kinds)
        known = _known.get(key)
        if known is None:
            _known[key] = known = _described(type(self).__name__, values)
        self._numba_type_, layout = known
        self._slots = array("q", layout.pack(*slots))
        self.address = self._slots.buffer_info()[0]
        # The arrays must live as long as their addresses are in use.
        self.__dict__.update(values)
        self._made = made
        if made:
            self._make(size)

    def _make(self, size: int) -> None:
        """Allocate the arrays given by type and shape, ``size`` bytes in all."""
        self._room = np.zeros(size, np.uint8)
        begin = _address(self._room)
        for name, (slot, place, _) in self._made.items():
            self._slots[slot] = begin + place
            self.__dict__.pop(name, None)

    def changed(self, **others: Any) -> Self:
        """A copy with some arrays or structures replaced by others of the same type and shape."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **others)
        other._slots = slots = self._slots[:]
        other.address = slots.buffer_info()[0]
        for name, value in others.items():
            address = value.address if isinstance(value, Structure) else _address(value)
            slots[self._numba_type_.slots[name]] = address
        return other

    def fresh(self) -> Self:
        """A copy with new arrays, of zeros, in place of those given by type and shape."""
        other = self.changed()
        other._make(len(self._room))
        return other

    def __getattr__(self, name: str) -> Any:
        made = self.__dict__.get("_made", {})
        if name not in made:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        _, place, (dtype, *shape) = made[name]
        found = self.__dict__[name] = np.ndarray(shape, dtype, self._room, place)
        return found

    def set_integers(self, **numbers: int) -> None:
        """Change integer fields."""
        for name, value in numbers.items():
            self._slots[self._numba_type_.slots[name]] = value

    def set_structure(self, name: str, structure: Structure) -> None:
        """Change a field that is a structure to another of the same type."""
        self._slots[self._numba_type_.slots[name]] = structure.address
        setattr(self, name, structure)

    def set_vector(self, name: str, vector: Any, first: int = 0) -> None:
        """Point a field at a vector, so that entry ``first`` of the field is its first number.

        For entries of which only a window is in memory; those before ``first`` must not be read.
        """
        same = vector.dtype == getattr(self, name).dtype and vector.ndim == 1
        if not same or not vector.flags.c_contiguous:
            raise ValueError(f"{type(self).__name__}: {name} is another kind of array")
        self._slots[self._numba_type_.slots[name]] = _address(vector) - first * vector.itemsize
        setattr(self, name, vector)


def _described(name: str, values: dict[str, Any]) -> tuple[StructureType, Struct]:
    """The type of a structure with such fields, and the layout of its table."""
    found, letters = [], "="
    for field, value in values.items():
        if isinstance(value, np.ndarray):
            value = value.dtype, *value.shape
        if isinstance(value, tuple):
            dtype, *shape = value
            found.append((field, types.Array(from_dtype(dtype), len(shape), "C")))
            letters += len(value) * "q"
        else:
            found.append((field, _NUMBERS.get(type(value)) or value._numba_type_))
            letters += "d" if isinstance(value, float) else "q"
    return StructureType(name, tuple(found)), Struct(letters)
