"""Vectors of numbers as a type of Numba's, for arithmetic in vector registers.

A vector has some lanes and takes as many registers as it needs. ``+``, ``-``, ``*`` and ``/`` take
two vectors, or a vector and a number, which then stands in every lane.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_model

# Bytes of a register. Wide ones, which slow some processors down for what comes after them, pay for
# much arithmetic in registers; where a machine has none, LLVM takes two others for one.
WIDTH, WIDE = 32, 64
# Bytes of a cache line.
LINE = 64

INDEX = ir.IntType(64)
_FAST = ("reassoc", "contract", "nsz", "arcp")


class Lanes(types.Type):
    """The type of vectors of ``count`` numbers, in whole registers."""

    def __init__(self, dtype: Any, count: int, width: int = WIDTH) -> None:
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Lanes({dtype}, {count}, {width})")
        number = ir.DoubleType() if dtype == types.float64 else ir.FloatType()
        self.of_register = per_register(dtype, width)
        self.register = ir.VectorType(number, self.of_register)


def per_register(dtype: Any, width: int = WIDTH) -> int:
    """How many numbers of a type fit into a register."""
    return 8 * width // int(dtype.bitwidth)


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        registers = ir.ArrayType(kind.register, kind.count // kind.of_register)
        super().__init__(manager, kind, registers)


def _spread(builder: Any, number: Any, register: Any) -> Any:
    """A number in every lane of a register."""
    first = builder.insert_element(ir.Constant(register, ir.Undefined), number, ir.IntType(32)(0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), register.count), [0] * register.count)
    return builder.shuffle_vector(first, first, everywhere)


def _mapped(builder: Any, lanes: Lanes, function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function register by register; numbers among the values stand in every lane."""
    count = lanes.count // lanes.of_register
    spread = [
        None if isinstance(value.type, ir.ArrayType) else _spread(builder, value, lanes.register)
        for value in values
    ]
    found = ir.Constant(ir.ArrayType(lanes.register, count), ir.Undefined)
    for i in range(count):
        sides = (
            builder.extract_value(value, i) if everywhere is None else everywhere
            for value, everywhere in zip(values, spread, strict=True)
        )
        found = builder.insert_value(found, function(*sides), i)
    return found


def _operator(symbol: Any, instruction: str) -> None:
    """Define an operator for vectors."""

    @infer_global(symbol)
    class _OfLanes(AbstractTemplate):
        def generic(self, given: Any, _: Any) -> Any:
            lanes = next((kind for kind in given if isinstance(kind, Lanes)), None)
            if lanes is None or len(given) != 2:
                return None
            kinds = [kind if isinstance(kind, Lanes) else lanes.dtype for kind in given]
            return signature(lanes, *kinds)

    def lower(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        function = partial(getattr(builder, instruction), flags=_FAST)
        return _mapped(builder, called.return_type, function, *arguments)

    for kinds in ((Lanes, Lanes), (Lanes, types.Float), (types.Float, Lanes)):
        lower_builtin(symbol, *kinds)(lower)


for _symbol, _instruction in (
    (operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):  # fmt: skip
    _operator(_symbol, _instruction)


def place_of(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    """The address of number ``place`` of a contiguous array of any shape."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [place])


def load_register(builder: Any, address: Any, register: Any) -> Any:
    """Load a register from any address, aligned to four bytes."""
    found = builder.load(builder.bitcast(address, register.as_pointer()))
    found.align = 4
    return found


def store_register(builder: Any, value: Any, address: Any) -> None:
    builder.store(value, builder.bitcast(address, value.type.as_pointer())).align = 4


def _registers_at(builder: Any, lanes: Lanes, address: Any) -> list[Any]:
    starts = range(0, lanes.count, lanes.of_register)
    return [builder.gep(address, [INDEX(start)]) for start in starts]


@intrinsic
def shortest(typing, array):
    """The number of lanes of one register of an array's numbers."""

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        return INDEX(per_register(array.dtype))

    return types.int64(array), generate


def _loading(lanes_of: Callable[[Any, int], Lanes]) -> Any:
    @intrinsic(prefer_literal=True)
    def load(typing, array, place, count):
        """A vector of an array's numbers from number ``place`` on."""
        if not isinstance(count, types.IntegerLiteral):
            return None
        lanes = lanes_of(array.dtype, count.literal_value)

        def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
            address = place_of(context, builder, called.args[0], *arguments[:2])
            found = ir.Constant(context.get_value_type(lanes), ir.Undefined)
            for i, part in enumerate(_registers_at(builder, lanes, address)):
                found = builder.insert_value(found, load_register(builder, part, lanes.register), i)
            return found

        return lanes(array, types.int64, count), generate

    return load


# ``count`` numbers; the same in wide registers; ``count`` registers full of numbers.
load = _loading(Lanes)
load_wide = _loading(lambda dtype, count: Lanes(dtype, count, WIDE))
load_registers = _loading(lambda dtype, count: Lanes(dtype, count * per_register(dtype)))


@intrinsic
def store(typing, lanes, array, place):
    """Write a vector into an array from number ``place`` on."""

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        vector, *where = arguments
        address = place_of(context, builder, called.args[1], *where)
        for i, part in enumerate(_registers_at(builder, lanes, address)):
            store_register(builder, builder.extract_value(vector, i), part)
        return context.get_dummy_value()

    return types.void(lanes, array, types.int64), generate


@intrinsic
def nothing(typing, lanes):
    """A vector of zeros, like ``lanes``."""

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        return context.get_constant_null(lanes)

    return lanes(lanes), generate


@intrinsic
def at(typing, array, place):
    """Number ``place`` of an array of any shape, not negative."""

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        return builder.load(place_of(context, builder, called.args[0], *arguments))

    return array.dtype(array, types.int64), generate


@intrinsic
def choose(typing, lanes, limit, above, otherwise):
    """In each lane: ``above`` if that of ``lanes`` is above the limit, ``otherwise`` if not."""

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        def chosen(value: Any, limit: Any, above: Any, otherwise: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", value, limit), above, otherwise)

        return _mapped(builder, lanes, chosen, *arguments)

    return lanes(lanes, lanes.dtype, lanes, lanes), generate


@intrinsic
def positive(typing, lanes):
    """max(0, lanes); NaN stays NaN."""

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        def above_zero(value: Any) -> Any:
            zero = ir.Constant(value.type, [0.0] * value.type.count)
            return builder.select(builder.fcmp_ordered("<", value, zero), zero, value)

        return _mapped(builder, lanes, above_zero, *arguments)

    return lanes(lanes), generate


@intrinsic
def root(typing, lanes):
    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        kind = lanes.register
        name = f"llvm.sqrt.v{kind.count}{kind.element.intrinsic_name}"
        function = builder.module.declare_intrinsic(name, (), ir.FunctionType(kind, [kind]))
        return _mapped(builder, lanes, lambda value: builder.call(function, [value]), *arguments)

    return lanes(lanes), generate


@intrinsic
def bits_below(typing, lanes, limit):
    """A bit for each lane that is below a limit, the lowest for the first lane."""

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        vector, limit = arguments
        limits, bits = _spread(builder, limit, lanes.register), INDEX(0)
        for i in range(vector.type.count):
            below = builder.fcmp_ordered("<", builder.extract_value(vector, i), limits)
            number = builder.zext(builder.bitcast(below, ir.IntType(lanes.of_register)), INDEX)
            bits = builder.or_(bits, builder.shl(number, INDEX(i * lanes.of_register)))
        return bits

    return types.int64(lanes, lanes.dtype), generate


@intrinsic
def fetch(typing, array, place):
    """Prefetch the cache line of number ``place`` of an array, which need not exist."""

    def generate(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        address = builder.bitcast(place_of(context, builder, called.args[0], *arguments), byte)
        # To read, into the second level, data.
        builder.call(function, [address, flag(0), flag(2), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
