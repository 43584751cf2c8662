"""The innermost loops over a tile of samples, as vector instructions; see `seminmf.vectors`.

A tile has a row of ``TILE`` samples for each component.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numba import types
from numba.extending import intrinsic

from .lanes import FAST, INDEX, Lanes, blocks, loop, transposed, unpacked

# Samples of a tile.
TILE = 32
# Vectors of sums in registers: the additions of one group fill the time in which another divides.
_OF_TILE = 4
# Bytes of the vectors where there is nothing but arithmetic in registers; where a machine has only
# shorter ones, LLVM takes two for one.
_WIDE = 64


def _tile_and_rows(context: Any, builder: Any, signature: Any, arguments: Any, store: bool) -> None:
    """Between a tile and the rows of a matrix with one column for each component."""
    matrix, rows, start, count, tile = unpacked(context, builder, signature, arguments)
    lanes = Lanes(context, builder, signature.args[0].dtype)
    length = builder.extract_value(matrix.shape, 1)

    def samples(first: Any) -> None:
        lines = []
        for lane in range(lanes.count):
            place = builder.add(builder.add(start, first), INDEX(lane))
            row = builder.load(builder.gep(rows.data, [place]))
            lines.append(builder.gep(matrix.data, [builder.mul(row, length)]))

        def components(column: Any) -> None:
            corner = builder.add(builder.mul(column, INDEX(TILE)), first)
            places = [builder.add(corner, INDEX(lane * TILE)) for lane in range(lanes.count)]
            if store:
                vectors = [lanes.load(tile.data, place) for place in places]
                for line, vector in zip(lines, transposed(builder, vectors), strict=True):
                    lanes.store(vector, line, column)
            else:
                vectors = [lanes.load(line, column) for line in lines]
                for place, vector in zip(places, transposed(builder, vectors), strict=True):
                    lanes.store(vector, tile.data, place)

        blocks(builder, length, lanes.count, components)

    blocks(builder, count, lanes.count, samples)


@intrinsic
def load_tile(typing, matrix, rows, start, count, tile):
    """``tile[q, r] = matrix[rows[start + r], q]`` for r < count.

    There must be a vector of samples and one of components at least.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _tile_and_rows(context, builder, signature, arguments, store=False)
        return context.get_dummy_value()

    return types.void(matrix, rows, types.int64, types.int64, tile), generate


@intrinsic
def store_tile(typing, matrix, rows, start, count, tile):
    """``matrix[rows[start + r], q] = tile[q, r]`` for r < count, with as many as in `load_tile`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _tile_and_rows(context, builder, signature, arguments, store=True)
        return context.get_dummy_value()

    return types.void(matrix, rows, types.int64, types.int64, tile), generate


class _Tile:
    """Linear combinations of the components of a tile, which has a row of samples for each."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes, self._builder = lanes, lanes.builder

    def groups(self) -> Iterator[list[Any]]:
        """Where the vectors begin that are in registers together."""
        count = self._lanes.count
        size = min(_OF_TILE * count, TILE)
        for start in range(0, TILE, size):
            yield [INDEX(offset) for offset in range(start, start + size, count)]

    def row(self, tile: Any, component: Any) -> Any:
        return self._builder.gep(tile.data, [self._builder.mul(component, INDEX(TILE))])

    def load(self, row: Any, offsets: list[Any]) -> list[Any]:
        return [self._lanes.load(row, offset) for offset in offsets]

    def store(self, vectors: list[Any], row: Any, offsets: list[Any]) -> None:
        for vector, offset in zip(vectors, offsets, strict=True):
            self._lanes.store(vector, row, offset)

    def add_products(
        self, sums: list[Any], factors: Any, first: Any, stop: Any, v: Any, offsets: list[Any],
        which: Any = None,
    ) -> list[Any]:  # fmt: skip
        """``sums`` + Σ_p factors[p] · v[p] over first ≤ p < stop, or v[which[p]]."""

        def body(p: Any, sums: list[Any]) -> list[Any]:
            factor = self._lanes.load_spread(factors, p)
            component = p if which is None else self._builder.load(self._builder.gep(which, [p]))
            vectors = self.load(self.row(v, component), offsets)
            return [
                self._lanes.add_product(total, factor, vector)
                for total, vector in zip(sums, vectors, strict=True)
            ]

        return loop(self._builder, first, stop, 1, sums, body)[1:]


@intrinsic
def add_products(typing, factors, first, stop, v, totals):
    """``totals`` += Σ_p factors[p] · v[p] over first ≤ p < stop, for a tile of samples.

    ``v`` has a row of ``TILE`` samples for each component.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        factors, first, stop, v, totals = unpacked(context, builder, signature, arguments)
        tile = _Tile(Lanes(context, builder, signature.args[3].dtype))
        for offsets in tile.groups():
            sums = tile.load(totals.data, offsets)
            sums = tile.add_products(sums, factors.data, first, stop, v, offsets)
            tile.store(sums, totals.data, offsets)
        return context.get_dummy_value()

    return types.void(factors, types.int64, types.int64, v, totals), generate


@intrinsic
def multiply_tile(
    typing, sizes, which, split, f, pull, push, stiffness, old, root, smallest, vanished, new
):
    """The multiplicative rule for a tile of samples: what ``pull`` adds goes above the fraction
    line, what ``push`` and ``stiffness`` · v add goes below it.

    Row q of ``sizes`` has the sizes of the entries of a row of Ω, those of the split[q] positive
    ones first, and that of ``which`` the components they belong to.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = unpacked(context, builder, signature, arguments)
        sizes, which, split, f, pull, push, stiffness, old, root, smallest, vanished, new = arrays
        lanes = Lanes(context, builder, signature.args[0].dtype)
        tile = _Tile(lanes)
        k = builder.extract_value(sizes.shape, 1)
        smallest, vanished = (lanes.spread(limit) for limit in (smallest, vanished))

        def component(q: Any, _: list[Any]) -> list[Any]:
            start = builder.mul(q, k)
            row, columns = (builder.gep(array.data, [start]) for array in (sizes, which))
            middle = builder.load(builder.gep(split.data, [q]))
            for offsets in tile.groups():
                slopes = tile.load(tile.row(f, q), offsets)
                up = [
                    builder.fadd(lanes.positive(slope), attraction, flags=FAST)
                    for slope, attraction in zip(
                        slopes, tile.load(tile.row(pull, q), offsets), strict=True
                    )
                ]
                up = tile.add_products(up, row, middle, k, old, offsets, columns)
                before = tile.load(tile.row(old, q), offsets)
                down = [
                    lanes.add_product(
                        builder.fadd(lanes.positive(lanes.negative(slope)), repulsion, flags=FAST),
                        factor,
                        value,
                    )
                    for slope, repulsion, factor, value in zip(
                        slopes,
                        tile.load(tile.row(push, q), offsets),
                        tile.load(stiffness.data, offsets),
                        before,
                        strict=True,
                    )
                ]
                down = tile.add_products(down, row, INDEX(0), middle, old, offsets, columns)
                after = []
                for value, numerator, denominator in zip(before, up, down, strict=True):
                    ratio = builder.fdiv(numerator, denominator)
                    sound = builder.fcmp_ordered(">", denominator, smallest)
                    ratio = builder.select(sound, ratio, lanes.one)
                    ratio = builder.select(root, lanes.root(ratio), ratio)
                    value = builder.fmul(value, ratio, flags=FAST)
                    present = builder.fcmp_ordered(">", value, vanished)
                    after.append(builder.select(present, value, lanes.zero))
                tile.store(after, tile.row(new, q), offsets)
            return []

        loop(builder, INDEX(0), k, 1, [], component)
        return context.get_dummy_value()

    arguments = sizes, which, split, f, pull, push, stiffness, old, types.boolean
    return types.void(*arguments, sizes.dtype, sizes.dtype, new), generate


@intrinsic
def invert_tile(typing, omega, stiffness, inverse):
    """``inverse[q]`` = 1 / (Ω_qq + stiffness), and zero where that is not positive."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        omega, stiffness, inverse = unpacked(context, builder, signature, arguments)
        lanes = Lanes(context, builder, signature.args[0].dtype)
        tile = _Tile(lanes)
        k = builder.extract_value(omega.shape, 1)

        def component(q: Any, _: list[Any]) -> list[Any]:
            curvature = lanes.load_spread(omega.data, builder.mul(q, builder.add(k, INDEX(1))))
            for offsets in tile.groups():
                inverses = []
                for addition in tile.load(stiffness.data, offsets):
                    h = builder.fadd(curvature, addition, flags=FAST)
                    positive = builder.fcmp_ordered(">", h, lanes.zero)
                    inverses.append(
                        builder.select(positive, builder.fdiv(lanes.one, h), lanes.zero)
                    )
                tile.store(inverses, tile.row(inverse, q), offsets)
            return []

        loop(builder, INDEX(0), k, 1, [], component)
        return context.get_dummy_value()

    return types.void(omega, stiffness, inverse), generate


@intrinsic
def descend_tile(typing, omega, target, stiffness, inverse, v):
    """One sweep of coordinate descent over a tile of samples, in place.

    One q after the other: v_q ← max(0, v_q − ((Ω v)_q + stiffness · v_q − target_q) · inverse_q).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        omega, target, stiffness, inverse, v = unpacked(context, builder, signature, arguments)
        lanes = Lanes(context, builder, signature.args[0].dtype)
        tile = _Tile(lanes)
        k = builder.extract_value(omega.shape, 1)

        def component(q: Any, _: list[Any]) -> list[Any]:
            row = builder.gep(omega.data, [builder.mul(q, k)])
            for offsets in tile.groups():
                values = tile.load(tile.row(v, q), offsets)
                slopes = [
                    lanes.add_product(lanes.negative(goal), factor, value)
                    for goal, factor, value in zip(
                        tile.load(tile.row(target, q), offsets),
                        tile.load(stiffness.data, offsets),
                        values,
                        strict=True,
                    )
                ]
                slopes = tile.add_products(slopes, row, INDEX(0), k, v, offsets)
                after = [
                    lanes.positive(lanes.add_product(value, lanes.negative(slope), step))
                    for value, slope, step in zip(
                        values, slopes, tile.load(tile.row(inverse, q), offsets), strict=True
                    )
                ]
                tile.store(after, tile.row(v, q), offsets)
            return []

        loop(builder, INDEX(0), k, 1, [], component)
        return context.get_dummy_value()

    return types.void(omega, target, stiffness, inverse, v), generate


@intrinsic
def fit_tile(typing, omega, f, v, totals):
    """``totals`` = v Ω vᵀ − 2 v·f for a tile of samples."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        omega, f, v, totals = unpacked(context, builder, signature, arguments)
        lanes = Lanes(context, builder, signature.args[0].dtype)
        tile = _Tile(lanes)
        k = builder.extract_value(omega.shape, 1)
        half = lanes.constant(0.5)
        for offsets in tile.groups():
            tile.store([lanes.zero] * len(offsets), totals.data, offsets)

            def component(q: Any, _: list[Any], offsets: list[Any] = offsets) -> list[Any]:
                row = builder.gep(omega.data, [builder.mul(q, k)])
                diagonal = builder.fmul(half, lanes.load_spread(row, q), flags=FAST)
                values = tile.load(tile.row(v, q), offsets)
                sums = [
                    builder.fsub(builder.fmul(diagonal, value, flags=FAST), slope, flags=FAST)
                    for value, slope in zip(values, tile.load(tile.row(f, q), offsets), strict=True)
                ]
                sums = tile.add_products(sums, row, builder.add(q, INDEX(1)), k, v, offsets)
                tile.store(
                    [
                        lanes.add_product(total, builder.fadd(value, value, flags=FAST), part)
                        for total, value, part in zip(
                            tile.load(totals.data, offsets), values, sums, strict=True
                        )
                    ],
                    totals.data,
                    offsets,
                )
                return []

            loop(builder, INDEX(0), k, 1, [], component)
        return context.get_dummy_value()

    return types.void(omega, f, v, totals), generate


@intrinsic
def nearer_in_tile(typing, queries, one, other, tiles, tile, limits, squares):
    """``squares[0]`` and ``[1]``: of two rows of ``queries`` to the samples of a tile, ‖q − s‖².

    Returns a bit for each square that is below its limit, those of the first row first. A tile has
    a row of ``TILE`` samples for each feature.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        queries, one, other, tiles, tile, limits, squares = unpacked(
            context, builder, signature, arguments
        )
        lanes = Lanes(context, builder, signature.args[0].dtype, _WIDE)
        length = builder.extract_value(queries.shape, 1)
        rows = [builder.gep(queries.data, [builder.mul(row, length)]) for row in (one, other)]
        corner = builder.gep(tiles.data, [builder.mul(builder.mul(tile, length), INDEX(TILE))])
        starts = range(0, TILE, lanes.count)

        def feature(f: Any, totals: list[Any]) -> list[Any]:
            place = builder.mul(f, INDEX(TILE))
            samples = [lanes.load(corner, builder.add(place, INDEX(start))) for start in starts]
            numbers = [lanes.load_spread(row, f) for row in rows]
            steps = [builder.fsub(s, number, flags=FAST) for number in numbers for s in samples]
            return [
                lanes.add_product(total, step, step)
                for total, step in zip(totals, steps, strict=True)
            ]

        zeros = [lanes.zero] * (len(rows) * len(starts))
        _, *totals = loop(builder, INDEX(0), length, 1, zeros, feature)
        found = INDEX(0)
        for place, total in zip(range(0, 2 * TILE, lanes.count), totals, strict=True):
            lanes.store(total, squares.data, INDEX(place))
            limit = lanes.load_spread(limits.data, INDEX(place // TILE))
            bits = lanes.bits(builder.fcmp_ordered("<", total, limit))
            found = builder.or_(found, builder.shl(bits, INDEX(place)))
        return found

    integer = types.int64
    return integer(queries, integer, integer, tiles, integer, limits, squares), generate
