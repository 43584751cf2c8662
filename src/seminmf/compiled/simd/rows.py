"""The innermost loops over rows of a matrix, written as vector instructions.

Numba leaves vectors to LLVM, which must prove that arrays do not overlap and that a loop is long
enough. In these loops, and in those of `seminmf.tiles`, it cannot: the sums of a tile went through
memory instead of registers, and sums over neighbours, with as many terms as there are components,
ran number by number.

All arrays are C-contiguous and of one floating-point type; the loops run over blocks of ``WIDTH``
bytes, which LLVM maps to what the processor has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .lanes import FAST, INDEX, Lanes, loop, pieces, unpacked

# Vectors of sums in registers.
_OF_ROW = 8
# Rows of no more numbers are fetched ahead.
_FETCHED = 128


@intrinsic
def weighted_rows(
    typing, rows, which, start, count, indptr, indices, weights, factors, sums, totals
):
    """What is found over the entries of rows of a CSR matrix, for a tile of samples.

    For r < count, i = which[start + r] and indptr[i] ≤ e < indptr[i + 1], each with a factor:
    ``sums[r]`` = factors[r] Σ_e weights[e] · rows[indices[e]] and
    ``totals[r]`` = factors[r] Σ_e weights[e].

    A row must fill at least one vector. The last vector of a row may overlap the one before it:
    what is calculated twice is written twice.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = unpacked(context, builder, signature, arguments)
        rows, which, start, count, indptr, indices, weights, factors, sums, totals = arrays
        lanes = Lanes(context, builder, signature.args[0].dtype)
        length = builder.extract_value(rows.shape, 1)

        def integer(array: Any, place: Any, kind: Any) -> Any:
            value = builder.load(builder.gep(array.data, [place]))
            return context.cast(builder, value, kind.dtype, types.int64)

        def columns(offsets: list[Any]) -> None:
            """These vectors of every sample, in one loop over its neighbours."""

            def sample(r: Any, _: list[Any]) -> list[Any]:
                i = integer(which, builder.add(start, r), signature.args[1])
                first = integer(indptr, i, signature.args[4])
                stop = integer(indptr, builder.add(i, INDEX(1)), signature.args[4])

                def body(e: Any, values: list[Any]) -> list[Any]:
                    j = integer(indices, e, signature.args[5])
                    row = builder.gep(rows.data, [builder.mul(j, length)])
                    weight = lanes.load_spread(weights.data, e)
                    return [builder.fadd(values[0], weight, flags=FAST)] + [
                        lanes.add_product(value, weight, lanes.load(row, offset))
                        for offset, value in zip(offsets, values[1:], strict=True)
                    ]

                nothing = [lanes.zero] * (len(offsets) + 1)
                _, total, *values = loop(builder, first, stop, 1, nothing, body)
                factor = lanes.load_spread(factors.data, r)
                total, *values = (builder.fmul(factor, v, flags=FAST) for v in (total, *values))
                place = builder.gep(totals.data, [r])
                builder.store(builder.extract_element(total, ir.IntType(32)(0)), place)
                target = builder.gep(sums.data, [builder.mul(r, length)])
                for offset, value in zip(offsets, values, strict=True):
                    lanes.store(value, target, offset)
                return []

            loop(builder, INDEX(0), count, 1, [], sample)

        def offsets_from(begin: Any, number: int) -> list[Any]:
            return [builder.add(begin, INDEX(lane * lanes.count)) for lane in range(number)]

        def full(begin: Any, _: list[Any]) -> list[Any]:
            columns(offsets_from(begin, _OF_ROW))
            return []

        # Every number of vectors has its own loop: the end of one is a branch that no processor
        # can foresee, so that there should be one for each sample.
        size = _OF_ROW * lanes.count
        (done,) = loop(builder, INDEX(0), builder.sub(length, INDEX(size)), size, [], full)
        rest = builder.sub(length, done)
        for number in range(1, _OF_ROW + 1):
            enough = builder.icmp_signed("<=", rest, INDEX(number * lanes.count))
            over = builder.icmp_signed(">", rest, INDEX((number - 1) * lanes.count))
            with builder.if_then(builder.and_(enough, over)):
                last = builder.sub(length, INDEX(lanes.count))
                columns([*offsets_from(done, number - 1), last])
        return context.get_dummy_value()

    graph = indptr, indices, weights
    arguments = rows, which, types.int64, types.int64, *graph, factors, sums, totals
    return types.void(*arguments), generate


@intrinsic
def fetch_row(typing, X, i):
    """Begin to bring row ``i`` of X into the cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        X, i = unpacked(context, builder, signature, arguments)
        lanes = Lanes(context, builder, signature.args[0].dtype)
        length = builder.extract_value(X.shape, 1)
        lanes.fetch(builder.gep(X.data, [builder.mul(i, length)]), length)
        return context.get_dummy_value()

    return types.void(X, types.int64), generate


@intrinsic
def rows_times(typing, X, start, stop, reach, basis, out):
    """``out[i] = X[i] · basis`` for start ≤ i < stop, where X[i, reach:] is zero.

    ``basis`` and ``out`` have whole vectors of columns. Four rows by up to three vectors are in
    registers at a time, which is as much as fits. Meanwhile the next four come from memory; of long
    rows the processor knows by itself what comes next.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        X, start, stop, reach, basis, out = unpacked(context, builder, signature, arguments)
        lanes = Lanes(context, builder, signature.args[0].dtype)
        length = builder.extract_value(X.shape, 1)
        width = builder.extract_value(basis.shape, 1)

        def block(first: Any, rows: int, column: Any, vectors: int) -> None:
            numbers = [builder.add(first, INDEX(row)) for row in range(rows)]
            lines = [builder.gep(X.data, [builder.mul(i, length)]) for i in numbers]
            offsets = [INDEX(vector * lanes.count) for vector in range(vectors)]

            def body(j: Any, totals: list[Any]) -> list[Any]:
                place = builder.gep(basis.data, [builder.add(builder.mul(j, width), column)])
                factors = [lanes.load(place, offset) for offset in offsets]
                entries = [lanes.load_spread(line, j) for line in lines]
                products = [(entry, factor) for entry in entries for factor in factors]
                return [
                    lanes.add_product(total, *pair)
                    for total, pair in zip(totals, products, strict=True)
                ]

            _, *totals = loop(builder, INDEX(0), reach, 1, [lanes.zero] * rows * vectors, body)
            for row, i in enumerate(numbers):
                target = builder.gep(out.data, [builder.add(builder.mul(i, width), column)])
                for vector, offset in enumerate(offsets):
                    lanes.store(totals[row * vectors + vector], target, offset)

        vectors = builder.sdiv(width, INDEX(lanes.count))

        def all_columns(first: Any, rows: int) -> None:
            def columns(vector: Any, count: int) -> None:
                block(first, rows, builder.mul(vector, INDEX(lanes.count)), count)

            pieces(builder, INDEX(0), vectors, 3, columns)

        done = start
        for rows in (4, 1):

            def body(first: Any, _: list[Any], rows: int = rows) -> list[Any]:
                with builder.if_then(builder.icmp_signed("<=", length, INDEX(_FETCHED))):
                    following = builder.mul(builder.add(first, INDEX(rows)), length)
                    lanes.fetch(builder.gep(X.data, [following]), builder.mul(length, INDEX(rows)))
                all_columns(first, rows)
                return []

            (done,) = loop(builder, done, builder.sub(stop, INDEX(rows - 1)), rows, [], body)
        return context.get_dummy_value()

    return types.void(X, types.int64, types.int64, types.int64, basis, out), generate


@intrinsic
def add_rows(typing, X, start, stop, reach, weights, totals):
    """``totals[q] += Σ_i weights[i, q] · X[i]`` over start ≤ i < stop, where X[i, reach:] is zero.

    What is not must fill at least one vector. The last vector may overlap the one before it, which
    is in registers at the same time: what is calculated twice is written twice.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        X, start, stop, reach, weights, totals = unpacked(context, builder, signature, arguments)
        lanes = Lanes(context, builder, signature.args[0].dtype)
        length = builder.extract_value(X.shape, 1)
        components = builder.extract_value(weights.shape, 1)
        rest = builder.sub(reach, INDEX(lanes.count))

        def block(first: Any, rows: int, column: Any, vectors: int) -> None:
            offsets = []
            for vector in range(vectors):
                offset = builder.add(column, INDEX(vector * lanes.count))
                before = builder.icmp_signed("<", offset, rest)
                offsets.append(builder.select(before, offset, rest))
            targets = []
            for row in range(rows):
                q = builder.add(first, INDEX(row))
                targets.append(builder.gep(totals.data, [builder.mul(q, length)]))

            def body(i: Any, sums: list[Any]) -> list[Any]:
                line = builder.gep(X.data, [builder.mul(i, length)])
                entries = [lanes.load(line, offset) for offset in offsets]
                place = builder.gep(weights.data, [builder.add(builder.mul(i, components), first)])
                factors = [lanes.load_spread(place, INDEX(row)) for row in range(rows)]
                products = [(factor, entry) for factor in factors for entry in entries]
                return [
                    lanes.add_product(total, *pair)
                    for total, pair in zip(sums, products, strict=True)
                ]

            places = [(target, offset) for target in targets for offset in offsets]
            present = [lanes.load(*place) for place in places]
            _, *sums = loop(builder, start, stop, 1, present, body)
            for place, total in zip(places, sums, strict=True):
                lanes.store(total, *place)

        vectors = builder.sdiv(builder.add(reach, INDEX(lanes.count - 1)), INDEX(lanes.count))

        def all_columns(first: Any, rows: int) -> None:
            def columns(vector: Any, count: int) -> None:
                block(first, rows, builder.mul(vector, INDEX(lanes.count)), count)

            pieces(builder, INDEX(0), vectors, 3, columns)

        pieces(builder, INDEX(0), components, 4, all_columns)
        return context.get_dummy_value()

    return types.void(X, types.int64, types.int64, types.int64, weights, totals), generate


@intrinsic
def scatter_row(typing, values, indices, first, stop, row, i, totals):
    """``totals[indices[e]] += values[e] · row[i]`` for first ≤ e < stop.

    ``row`` and ``totals`` have whole vectors of columns.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, indices, first, stop, row, i, totals = unpacked(
            context, builder, signature, arguments
        )
        lanes = Lanes(context, builder, signature.args[0].dtype)
        width = builder.extract_value(row.shape, 1)
        source = builder.gep(row.data, [builder.mul(i, width)])

        def entry(e: Any, _: list[Any]) -> list[Any]:
            j = builder.load(builder.gep(indices.data, [e]))
            j = context.cast(builder, j, signature.args[1].dtype, types.int64)
            target = builder.gep(totals.data, [builder.mul(j, width)])
            factor = lanes.load_spread(values.data, e)

            def columns(column: Any, _: list[Any]) -> list[Any]:
                total = lanes.load(target, column)
                changed = lanes.add_product(total, factor, lanes.load(source, column))
                lanes.store(changed, target, column)
                return []

            loop(builder, INDEX(0), width, lanes.count, [], columns)
            return []

        loop(builder, first, stop, 1, [], entry)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(values, indices, whole, whole, row, whole, totals), generate
