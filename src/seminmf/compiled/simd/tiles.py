"""The innermost loops over a tile of samples.

A tile has a row of ``TILE`` samples for each component, and a row is one vector: LLVM would not see
that, because it cannot prove that the arrays do not overlap.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..jit import inlined, inner
from .lanes import (
    INDEX,
    Lanes,
    at,
    bits_below,
    choose,
    load,
    load_register,
    load_wide,
    nothing,
    per_register,
    place_of,
    positive,
    root,
    shortest,
    store,
    store_register,
)

# Samples in a tile.
TILE = 32


@inlined
def add_products(factors, first, stop, v, totals):
    """``totals`` += Σ_p factors[p] · v[p] over first ≤ p < stop."""
    sums = load(totals, 0, TILE)
    for p in range(first, stop):
        sums = sums + at(factors, p) * load(v, p * TILE, TILE)
    store(sums, totals, 0)


@inlined
def multiply_tile(signs, f, pull, push, stiffness, old, takes_root, limits, new):
    """The multiplicative rule: ``pull`` adds to the numerator, ``push`` and ``stiffness`` · v to
    the denominator.

    ``signs`` are the arrays of `codes._by_sign`: sizes of the entries of Ω, positive ones first,
    their columns, and how many are positive. With a denominator below the first of the ``limits``
    a code stays as it is, and a code below the second becomes zero.
    """
    (sizes, which, split), (smallest, vanished) = signs, limits
    k, stiff = sizes.shape[1], load(stiffness, 0, TILE)
    zero, one = nothing(stiff), nothing(stiff) + 1
    for q in range(k):
        slope, before = load(f, q * TILE, TILE), load(old, q * TILE, TILE)
        up = positive(slope) + load(pull, q * TILE, TILE)
        for e in range(q * k + split[q], q * k + k):
            up = up + at(sizes, e) * load(old, at(which, e) * TILE, TILE)
        down = positive(zero - slope) + load(push, q * TILE, TILE) + stiff * before
        for e in range(q * k, q * k + split[q]):
            down = down + at(sizes, e) * load(old, at(which, e) * TILE, TILE)
        ratio = choose(down, smallest, up / down, one)
        if takes_root:
            ratio = root(ratio)
        after = before * ratio
        store(choose(after, vanished, after, zero), new, q * TILE)


@inlined
def invert_tile(omega, stiffness, inverse):
    """``inverse[q]`` = 1 / (Ω_qq + stiffness), or zero if that is not positive."""
    stiff = load(stiffness, 0, TILE)
    for q in range(omega.shape[0]):
        curvature = stiff + omega[q, q]
        store(choose(curvature, 0, 1 / curvature, nothing(stiff)), inverse, q * TILE)


@inlined
def descend_tile(omega, target, stiffness, inverse, v):
    """One sweep of coordinate descent, in place.

    For q = 0, 1, …: v_q ← max(0, v_q − ((Ω v)_q + stiffness · v_q − target_q) · inverse_q).
    """
    k, stiff = omega.shape[0], load(stiffness, 0, TILE)
    for q in range(k):
        slope = stiff * load(v, q * TILE, TILE) - load(target, q * TILE, TILE)
        for p in range(k):
            slope = slope + at(omega, q * k + p) * load(v, p * TILE, TILE)
        step = slope * load(inverse, q * TILE, TILE)
        store(positive(load(v, q * TILE, TILE) - step), v, q * TILE)


@inlined
def fit_tile(omega, f, v, totals):
    """``totals`` = v Ω vᵀ − 2 v·f."""
    k, found = omega.shape[0], nothing(load(totals, 0, TILE))
    for q in range(k):
        value = load(v, q * TILE, TILE)
        sums = 0.5 * omega[q, q] * value - load(f, q * TILE, TILE)
        for p in range(q + 1, k):
            sums = sums + at(omega, q * k + p) * load(v, p * TILE, TILE)
        found = found + 2 * load(v, q * TILE, TILE) * sums
    store(found, totals, 0)


@inlined
def nearer_in_tile(queries, one, other, tiles, tile, limits, squares):
    """``squares[0]`` and ``[1]``: ‖q − s‖² of two ``queries`` to the samples s of a tile.

    Returns a bit for each square below its limit, those of the first query lowest. A tile has a row
    of ``TILE`` samples for each feature.
    """
    m = queries.shape[1]
    corner = tile * m * TILE
    first = second = nothing(load_wide(tiles, corner, TILE))
    for f in range(m):
        samples = load_wide(tiles, corner + f * TILE, TILE)
        step, beside = samples - at(queries, one * m + f), samples - at(queries, other * m + f)
        first, second = first + step * step, second + beside * beside
    store(first, squares, 0)
    store(second, squares, TILE)
    return bits_below(first, limits[0]) | (bits_below(second, limits[1]) << TILE)


def _transposed(builder: Any, vectors: list[Any]) -> list[Any]:
    """Transpose as many vectors as they have lanes: exchange halves, then quarters, ..."""
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


def _exchange(context: Any, builder: Any, called: Any, arguments: Any, *, out: bool) -> Any:
    """Copy between a tile, from sample ``r`` on, and as many matrix rows as a register has lanes.

    In blocks of as many components; the last block may overlap the one before it.
    """
    of_matrix, of_rows, _, of_tile, _ = called.args
    matrix, rows, start, tile, r = arguments
    count = per_register(of_matrix.dtype)
    register = Lanes(of_matrix.dtype, count).register
    length = builder.extract_value(context.make_array(of_matrix)(context, builder, matrix).shape, 1)
    corner, lines = place_of(context, builder, of_tile, tile, r), []
    for lane in range(count):
        place = builder.add(start, INDEX(lane))
        row = builder.load(place_of(context, builder, of_rows, rows, place))
        lines.append(place_of(context, builder, of_matrix, matrix, builder.mul(row, length)))
    last, step = builder.sub(length, INDEX(count)), INDEX(count)
    with cgutils.for_range_slice(builder, INDEX(0), length, step, INDEX) as (column, _):
        q = builder.select(builder.icmp_signed("<", column, last), column, last)
        in_matrix = [builder.gep(line, [q]) for line in lines]
        in_tile = [
            builder.gep(corner, [builder.mul(builder.add(q, INDEX(lane)), INDEX(TILE))])
            for lane in range(count)
        ]
        sources, targets = (in_tile, in_matrix) if out else (in_matrix, in_tile)
        found = [load_register(builder, source, register) for source in sources]
        for value, target in zip(_transposed(builder, found), targets, strict=True):
            store_register(builder, value, target)
    return context.get_dummy_value()


def _exchanging(*, out: bool) -> Any:
    @intrinsic
    def registers(typing, matrix, rows, start, tile, r):
        whole = types.int64
        return types.void(matrix, rows, whole, tile, whole), partial(_exchange, out=out)

    @inner
    def exchange(matrix, rows, start, count, tile):
        k, lanes = matrix.shape[1], shortest(matrix)
        if min(count, k) >= lanes:
            for first in range(0, count, lanes):
                r = min(first, count - lanes)
                registers(matrix, rows, start + r, tile, r)
            return
        for r in range(count):
            for q in range(k):
                if out:
                    matrix[rows[start + r], q] = tile[q, r]
                else:
                    tile[q, r] = matrix[rows[start + r], q]

    return exchange


# (matrix, rows, start, count, tile): the first copies ``tile[q, r] = matrix[rows[start + r], q]``
# for r < count, the second back.
load_tile, store_tile = _exchanging(out=False), _exchanging(out=True)
