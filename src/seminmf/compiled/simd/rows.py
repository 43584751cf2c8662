"""The innermost loops over rows of a matrix.

LLVM would keep neither sums of several rows nor sums over neighbours in registers, since it cannot
prove that the arrays do not overlap. All arrays are C-contiguous and of one floating-point type.
Where the last vector of a row overlaps the one before it, both have the same results in registers,
which are written twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import inlined, inner
from .lanes import at, load_registers, nothing, shortest, store

# The most registers of columns that four rows are combined with, and that sums over neighbours use.
_MOST, _OF_ROW = 3, 4


@inlined
def _both(matrix, row, column, count, end):
    """``count`` registers of a row's columns from ``column`` on, and one more from ``end`` on."""
    return load_registers(matrix, row + column, count), load_registers(matrix, row + end, 1)


@inlined
def _store_both(some, last, matrix, row, column, end):
    store(some, matrix, row + column)
    store(last, matrix, row + end)


def _four_products(count: int) -> Any:
    @inner
    def four_products(X, i, last, basis, column, out):
        """Products of rows i to i + 3, none after ``last``, with some registers of columns."""
        m, width = X.shape[1], basis.shape[1]
        i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
        a = b = c = d = nothing(load_registers(basis, column, count))
        for j in range(m):
            factors = load_registers(basis, j * width + column, count)
            a = a + at(X, i * m + j) * factors
            b = b + at(X, i1 * m + j) * factors
            c = c + at(X, i2 * m + j) * factors
            d = d + at(X, i3 * m + j) * factors
        store(a, out, i * width + column)
        store(b, out, i1 * width + column)
        store(c, out, i2 * width + column)
        store(d, out, i3 * width + column)

    return four_products


_by_one, _by_two, _by_three = (_four_products(count) for count in (1, 2, _MOST))


@inlined
def rows_times(X, start, stop, basis, out):
    """``out[i] = X[i] · basis`` for start ≤ i < stop.

    ``basis`` and ``out`` have whole registers of columns.
    """
    lanes = shortest(basis)
    registers = basis.shape[1] // lanes
    # Pieces of about the same size: one register alone would not keep the processor busy.
    pieces = -(-registers // _MOST)
    size, larger = registers // pieces, registers % pieces
    for i in range(start, stop, 4):
        column = np.int64(0)
        for piece in range(pieces):
            count = size + 1 if piece < larger else size
            if count == _MOST:
                _by_three(X, i, stop - 1, basis, column, out)
            elif count == 2:
                _by_two(X, i, stop - 1, basis, column, out)
            else:
                _by_one(X, i, stop - 1, basis, column, out)
            column += count * lanes


# Four totals are in registers at a time, as above; after the last one, that is taken again.


def _four_sums(count: int) -> Any:
    @inner
    def four_sums(X, start, stop, column, end, weights, q, totals):
        """Add to totals q to q + 3 in some registers of columns, and one more at the ``end``."""
        m, k = X.shape[1], weights.shape[1]
        q1, q2, q3 = min(q + 1, k - 1), min(q + 2, k - 1), min(q + 3, k - 1)
        a, a_end = _both(totals, q * m, column, count, end)
        b, b_end = _both(totals, q1 * m, column, count, end)
        c, c_end = _both(totals, q2 * m, column, count, end)
        d, d_end = _both(totals, q3 * m, column, count, end)
        for i in range(start, stop):
            row, row_end = _both(X, i * m, column, count, end)
            weight = at(weights, i * k + q)
            a, a_end = a + weight * row, a_end + weight * row_end
            weight = at(weights, i * k + q1)
            b, b_end = b + weight * row, b_end + weight * row_end
            weight = at(weights, i * k + q2)
            c, c_end = c + weight * row, c_end + weight * row_end
            weight = at(weights, i * k + q3)
            d, d_end = d + weight * row, d_end + weight * row_end
        _store_both(a, a_end, totals, q * m, column, end)
        _store_both(b, b_end, totals, q1 * m, column, end)
        _store_both(c, c_end, totals, q2 * m, column, end)
        _store_both(d, d_end, totals, q3 * m, column, end)

    return four_sums


_sums_of_two, _sums_of_three = _four_sums(1), _four_sums(2)


@inlined
def add_rows(X, start, stop, weights, totals):
    """``totals[q] += Σ_i weights[i, q] · X[i]`` over start ≤ i < stop.

    A row must fill at least one register.
    """
    m, k, lanes = X.shape[1], weights.shape[1], shortest(X)
    registers = -(-m // lanes)
    pieces = -(-registers // _MOST)
    size, larger = registers // pieces, registers % pieces
    for q in range(0, k, 4):
        column = np.int64(0)
        for piece in range(pieces):
            count = size + 1 if piece < larger else size
            end = min(column + (count - 1) * lanes, m - lanes)
            if count == _MOST:
                _sums_of_three(X, start, stop, column, end, weights, q, totals)
            else:
                _sums_of_two(X, start, stop, min(column, end), end, weights, q, totals)
            column += count * lanes


def _sums_over(count: int) -> Any:
    @inner
    def sums_over(rows, which, start, tile, graph, factors, column, end, sums, totals):
        """`weighted_rows` for some registers of columns, and one more at the ``end``."""
        k, (indptr, indices, weights) = rows.shape[1], graph
        for r in range(tile):
            i, total = at(which, start + r), weights.dtype.type(0)
            some, last = _both(rows, 0, column, count, end)
            some, last = nothing(some), nothing(last)
            for e in range(at(indptr, i), at(indptr, i + 1)):
                weight = at(weights, e)
                total += weight
                row, row_end = _both(rows, at(indices, e) * k, column, count, end)
                some, last = some + weight * row, last + weight * row_end
            factor = at(factors, r)
            totals[r] = factor * total
            _store_both(factor * some, factor * last, sums, r * k, column, end)

    return sums_over


_over_two, _over_three, _over_four = (_sums_over(count) for count in (1, 2, 3))


@inner
def weighted_rows(rows, which, start, count, indptr, indices, weights, factors, sums, totals):
    """Weighted sums of ``rows`` by the entries of a CSR matrix, for a tile of samples.

    For r < count, i = which[start + r] and indptr[i] ≤ e < indptr[i + 1]:
    ``sums[r]`` = factors[r] Σ_e weights[e] · rows[indices[e]] and
    ``totals[r]`` = factors[r] Σ_e weights[e].

    A row must fill at least one register. Each number of registers has a loop of its own: its end
    is a branch that no processor can predict, so there should be only one for each sample.
    """
    k, lanes, graph = rows.shape[1], shortest(rows), (indptr, indices, weights)
    registers = -(-k // lanes)
    pieces = -(-registers // _OF_ROW)
    size, larger, column = registers // pieces, registers % pieces, np.int64(0)
    for piece in range(pieces):
        own = size + 1 if piece < larger else size
        end = min(column + (own - 1) * lanes, k - lanes)
        if own == _OF_ROW:
            _over_four(rows, which, start, count, graph, factors, column, end, sums, totals)
        elif own == 3:
            _over_three(rows, which, start, count, graph, factors, column, end, sums, totals)
        else:
            _over_two(
                rows, which, start, count, graph, factors, min(column, end), end, sums, totals
            )
        column += own * lanes


@inlined
def scatter_row(values, indices, first, stop, row, i, totals):
    """``totals[indices[e]] += values[e] · row[i]`` for first ≤ e < stop.

    ``row`` and ``totals`` have whole registers of columns.
    """
    width = row.shape[1]
    for e in range(first, stop):
        value, target = at(values, e), at(indices, e) * width
        for column in range(0, width, shortest(row)):
            change = value * load_registers(row, i * width + column, 1)
            store(load_registers(totals, target + column, 1) + change, totals, target + column)
