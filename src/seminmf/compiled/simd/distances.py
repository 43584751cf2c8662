"""Distances of rows of a matrix, written as vector instructions; see `rows`."""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import types
from numba.extending import intrinsic

from .lanes import FAST, INDEX, Lanes, blocks, loop, transposed, unpacked

# Rows of no more vectors are taken apart without a loop.
_SHORT = 4


@intrinsic
def squared_distances(typing, rows, pairs, squares):
    """``squares[b]`` = ‖rows[i] − rows[j]‖² for the first two numbers i, j of each of the pairs.

    A row must fill at least one vector, and so must the pairs. As many pairs as a vector has lanes
    are handled together, because the sum over the lanes of one vector costs as much as that of all.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, pairs, squares = unpacked(context, builder, signature, arguments)
        lanes = Lanes(context, builder, signature.args[0].dtype)
        length = builder.extract_value(rows.shape, 1)
        count, width = (builder.extract_value(pairs.shape, axis) for axis in (0, 1))
        # The last vector may overlap the one before it, without the lanes that have been counted.
        earlier = builder.sdiv(builder.sub(length, INDEX(1)), INDEX(lanes.count))
        counted = builder.mul(earlier, INDEX(lanes.count))
        rest = builder.sub(length, INDEX(lanes.count))
        uncounted = lanes.not_before(builder.sub(counted, rest))

        def together(first: Any, known: int | None) -> None:
            """A vector of pairs, with so many vectors of a row before the last."""
            lines = []
            for lane in range(lanes.count):
                place = builder.mul(builder.add(first, INDEX(lane)), width)
                for column in range(2):
                    pointer = builder.gep(pairs.data, [builder.add(place, INDEX(column))])
                    i = builder.load(pointer)
                    i = context.cast(builder, i, signature.args[1].dtype, types.int64)
                    lines.append(builder.gep(rows.data, [builder.mul(i, length)]))

            def differences(offset: Any) -> list[Any]:
                vectors = [lanes.load(line, offset) for line in lines]
                return [
                    builder.fsub(one, other, flags=FAST)
                    for one, other in zip(vectors[::2], vectors[1::2], strict=True)
                ]

            def add_squares(totals: list[Any], parts: list[Any]) -> list[Any]:
                return [
                    lanes.add_product(total, part, part)
                    for total, part in zip(totals, parts, strict=True)
                ]

            def inner(start: Any, totals: list[Any]) -> list[Any]:
                return add_squares(totals, differences(start))

            totals = [lanes.zero] * lanes.count
            if known is None:
                _, *totals = loop(builder, INDEX(0), counted, lanes.count, totals, inner)
            else:
                for vector in range(known):
                    totals = inner(INDEX(vector * lanes.count), totals)
            parts = [builder.select(uncounted, part, lanes.zero) for part in differences(rest)]
            totals = add_squares(totals, parts)
            numbers = lanes.total(transposed(builder, totals))
            target = builder.gep(squares.data, [first])
            lanes.store(numbers, target, INDEX(0))

        def all_pairs(known: int | None) -> None:
            blocks(builder, count, lanes.count, partial(together, known=known))

        after = builder.append_basic_block("vectors.after")
        switch = builder.switch(earlier, builder.append_basic_block("vectors.any"))
        for known in (None, *range(_SHORT)):
            if known is None:
                builder.position_at_end(switch.default)
            else:
                builder.position_at_end(builder.append_basic_block(f"vectors.{known}"))
                switch.add_case(INDEX(known), builder.block)
            all_pairs(known)
            builder.branch(after)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return types.void(rows, pairs, squares), generate
