"""Vectors in LLVM's language: what the loops of `seminmf.vectors` are built from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

# Bytes of a vector.
WIDTH = 32

# Bytes of a line of the cache.
_LINE = 64

INDEX = ir.IntType(64)
FAST = ("reassoc", "contract", "nsz", "arcp")


class Lanes:
    """Vectors of one type of numbers, and what is done with them."""

    def __init__(self, context: Any, builder: Any, dtype: Any, width: int = WIDTH) -> None:
        self.builder = builder
        number = context.get_data_type(dtype)
        self._alignment = context.get_abi_sizeof(number)
        self.count = width // self._alignment
        self._type = ir.VectorType(number, self.count)
        self.zero, self.one = self.constant(0.0), self.constant(1.0)

    def _pointer(self, data: Any, offset: Any) -> Any:
        element = self.builder.gep(data, [offset])
        return self.builder.bitcast(element, self._type.as_pointer())

    def load(self, data: Any, offset: Any) -> Any:
        vector = self.builder.load(self._pointer(data, offset))
        vector.align = self._alignment
        return vector

    def store(self, vector: Any, data: Any, offset: Any) -> None:
        self.builder.store(vector, self._pointer(data, offset)).align = self._alignment

    def load_spread(self, data: Any, offset: Any) -> Any:
        """One number, in every lane."""
        return self.spread(self.builder.load(self.builder.gep(data, [offset])))

    def fetch(self, data: Any, count: Any) -> None:
        """Begin to bring so many numbers into the cache; they need not exist."""
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = self.builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)

        def line(offset: Any, _: list[Any]) -> list[Any]:
            place = self.builder.bitcast(self.builder.gep(data, [offset]), byte)
            # To read, into the second level, data.
            self.builder.call(function, [place, flag(0), flag(2), flag(1)])
            return []

        loop(self.builder, INDEX(0), count, _LINE // self._alignment, [], line)

    def constant(self, value: float) -> Any:
        return ir.Constant(self._type, [value] * self.count)

    def spread(self, value: Any) -> Any:
        return spread(self.builder, value, self.count)

    def positive(self, vector: Any) -> Any:
        """max(0, vector), and what is not a number remains so."""
        below = self.builder.fcmp_ordered("<", vector, self.zero)
        return self.builder.select(below, self.zero, vector)

    def negative(self, vector: Any) -> Any:
        return self.builder.fsub(self.zero, vector, flags=FAST)

    def root(self, vector: Any) -> Any:
        kind = ir.FunctionType(self._type, [self._type])
        name = f"llvm.sqrt.v{self.count}{self._type.element.intrinsic_name}"
        function = self.builder.module.declare_intrinsic(name, (), kind)
        return self.builder.call(function, [vector])

    def add_product(self, total: Any, left: Any, right: Any) -> Any:
        product = self.builder.fmul(left, right, flags=FAST)
        return self.builder.fadd(total, product, flags=FAST)

    def bits(self, lanes: Any) -> Any:
        """Which lanes are true, as the bits of a number; the first is the lowest."""
        number = self.builder.bitcast(lanes, ir.IntType(self.count))
        return self.builder.zext(number, INDEX)


def spread(builder: Any, value: Any, count: int) -> Any:
    kind = ir.VectorType(value.type, count)
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(first, nothing, everywhere)


def loop(
    builder: Any, start: Any, stop: Any, step: int, initial: list[Any], body: Callable[..., Any]
) -> list[Any]:
    """``for i in range(start, stop, step): values = body(i, values)``; returns the last values.

    The first of them is where ``i`` stood at the end.
    """
    before = builder.block
    head, inside, after = (builder.append_basic_block(f"vectors.{n}") for n in "abc")
    builder.branch(head)
    builder.position_at_end(head)
    phis = [builder.phi(value.type) for value in (start, *initial)]
    for phi, value in zip(phis, (start, *initial), strict=True):
        phi.add_incoming(value, before)
    i, *values = phis
    builder.cbranch(builder.icmp_signed("<", i, stop), inside, after)
    builder.position_at_end(inside)
    changed = [*body(i, values)]
    following = builder.add(i, INDEX(step))
    for phi, value in zip(phis, (following, *changed), strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return phis


def unpacked(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Arrays with their fields; other arguments as they are."""
    return [
        context.make_array(kind)(context, builder, value)
        if isinstance(kind, types.Array)
        else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def transposed(builder: Any, vectors: list[Any]) -> list[Any]:
    """As many vectors as they have lanes, rows and columns exchanged: halves, then quarters, ..."""
    count = len(vectors)
    half = count // 2
    while half:
        for i in range(count):
            if i & half == 0:
                # In a shuffle the lanes of the second vector are numbered from ``count`` on.
                low = [c if c & half == 0 else count + c - half for c in range(count)]
                high = [c + half if c & half == 0 else count + c for c in range(count)]
                pair = vectors[i], vectors[i + half]
                kind = ir.VectorType(ir.IntType(32), count)
                vectors[i], vectors[i + half] = (
                    builder.shuffle_vector(*pair, ir.Constant(kind, lanes)) for lanes in (low, high)
                )
        half //= 2
    return vectors


def blocks(builder: Any, length: Any, size: int, body: Callable[[Any], None]) -> None:
    """``body`` at every start of a block of ``size``; the last may overlap the one before it."""
    rest = builder.sub(length, INDEX(size))

    def step(start: Any, _: list[Any]) -> list[Any]:
        body(start)
        return []

    (done,) = loop(builder, INDEX(0), builder.add(rest, INDEX(1)), size, [], step)
    with builder.if_then(builder.icmp_signed("<", done, length)):
        body(rest)


def pieces(
    builder: Any, start: Any, stop: Any, most: int, body: Callable[[Any, int], None]
) -> None:
    """``body(begin, size)`` for pieces of ``most``; the last ones are smaller but not much.

    A last piece of one keeps nobody busy: four in pieces of three are two and two.
    """
    length = builder.sub(stop, start)
    left = builder.srem(length, INDEX(most))
    small = builder.and_(
        builder.icmp_signed(">", length, INDEX(most)),
        builder.and_(
            builder.icmp_signed(">", left, INDEX(0)),
            builder.icmp_signed("<", left, INDEX(most - 1)),
        ),
    )
    left = builder.select(small, builder.add(left, INDEX(most)), left)
    done, end = start, builder.sub(stop, left)
    for size in range(most, 0, -1):

        def step(begin: Any, _: list[Any], size: int = size) -> list[Any]:
            body(begin, size)
            return []

        (done,) = loop(builder, done, builder.sub(end, INDEX(size - 1)), size, [], step)
        end = stop
