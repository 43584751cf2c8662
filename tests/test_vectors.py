"""The loops in vector instructions against the same in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from seminmf.compiled import codes, edges, loops
from seminmf.compiled.blas import blas_add_cross, blas_times, product_address
from seminmf.compiled.jit import borrowing
from seminmf.compiled.simd import rows as vectors
from seminmf.compiled.simd import tiles
from seminmf.compiled.simd.lanes import WIDTH
from seminmf.compiled.simd.tiles import TILE

DTYPES = [np.float64, np.float32]
# From one vector of numbers to several, with every kind of remainder.
LENGTHS = [8, 9, 13, 16, 20, 31, 33, 50]


@njit
def add_products(factors: Any, first: int, stop: int, v: Any, totals: Any) -> None:
    tiles.add_products(factors, first, stop, v, totals)


@njit
def multiply_tile(
    sizes: Any, which: Any, split: Any, f: Any, pull: Any, push: Any, stiffness: Any, old: Any,
    root: bool, smallest: Any, vanished: Any, new: Any,
) -> None:  # fmt: skip
    signs, limits = (sizes, which, split), (smallest, vanished)
    tiles.multiply_tile(signs, f, pull, push, stiffness, old, root, limits, new)


@njit
def invert_tile(omega: Any, stiffness: Any, inverse: Any) -> None:
    tiles.invert_tile(omega, stiffness, inverse)


@njit
def descend_tile(omega: Any, target: Any, stiffness: Any, inverse: Any, v: Any) -> None:
    tiles.descend_tile(omega, target, stiffness, inverse, v)


@njit
def fit_tile(omega: Any, f: Any, v: Any, totals: Any) -> None:
    tiles.fit_tile(omega, f, v, totals)


@njit
def weighted_rows(
    rows: Any, which: Any, start: int, count: int, indptr: Any, indices: Any, weights: Any,
    factors: Any, sums: Any, totals: Any,
) -> None:  # fmt: skip
    vectors.weighted_rows(
        rows, which, start, count, indptr, indices, weights, factors, sums, totals
    )


@njit
def squared_distances(rows: Any, pairs: Any, squares: Any) -> None:
    edges._squared_distances(rows, pairs, squares)


@njit
def nearer_in_tile(
    queries: Any, one: int, other: int, filled: Any, tile: int, limits: Any, squares: Any
) -> int:
    return tiles.nearer_in_tile(queries, one, other, filled, tile, limits, squares)


@njit
def load_tile(matrix: Any, rows: Any, start: int, count: int, tile: Any) -> None:
    tiles.load_tile(matrix, rows, start, count, tile)


@njit
def store_tile(matrix: Any, rows: Any, start: int, count: int, tile: Any) -> None:
    tiles.store_tile(matrix, rows, start, count, tile)


@njit
def rows_times(X: Any, start: int, stop: int, basis: Any, out: Any) -> None:
    vectors.rows_times(X, start, stop, basis, out)


@njit
def add_rows(X: Any, start: int, stop: int, weights: Any, totals: Any) -> None:
    vectors.add_rows(X, start, stop, weights, totals)


@njit
def scatter_row(
    values: Any, indices: Any, first: int, stop: int, row: Any, i: int, totals: Any
) -> None:
    vectors.scatter_row(values, indices, first, stop, row, i, totals)


@borrowing
def by_sign(omega: Any, sizes: Any, columns: Any, split: Any) -> None:
    codes._by_sign(omega, sizes, columns, split)


@borrowing
def extrapolate(now: Any, before: Any, eta: Any, point: Any) -> None:
    loops.extrapolate(now, before, eta, point)


@borrowing
def scale(factors: Any, rows: Any, out: Any) -> None:
    loops.scale(factors, rows, out)


@borrowing
def times_by_blas(address: int, rows: Any, basis: Any, out: Any) -> None:
    blas_times(address, rows, basis, out)


@borrowing
def add_cross_by_blas(address: int, rows: Any, weighted: Any, totals: Any) -> None:
    blas_add_cross(address, rows, weighted, totals)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def tolerance(dtype: Any) -> float:
    return 1e-4 if dtype == np.float32 else 1e-12


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("first", "stop"), [(0, 7), (2, 5), (3, 3)])
def test_products_are_added_for_every_sample_of_a_tile(dtype: Any, first: int, stop: int) -> None:
    factors, v, totals = (numbers(shape, dtype) for shape in ((7,), (7, TILE), (TILE,)))
    expected = totals + factors[first:stop] @ v[first:stop]
    add_products(factors, first, stop, v, totals)
    np.testing.assert_allclose(totals, expected, rtol=tolerance(dtype), atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 5, 10])
@pytest.mark.parametrize("root", [True, False])
def test_the_multiplicative_rule(dtype: Any, k: int, root: bool) -> None:
    omega, f = numbers((k, k), dtype), numbers((k + 1, TILE), dtype, 1)
    old, pull, push, stiffness = (
        abs(numbers(shape, dtype, seed))
        for seed, shape in ((2, (k, TILE)), (2, (k, TILE)), (3, (k, TILE)), (2, (TILE,)))
    )
    old[0, :3] = 0
    slopes = f[:k].astype(float)
    up = np.maximum(slopes, 0) + pull + np.maximum(-omega, 0) @ old
    down = np.maximum(-slopes, 0) + push + stiffness * old + np.maximum(omega, 0) @ old
    # Denominators that are too small, and codes that vanish; and some of neither.
    smallest, vanished = dtype(np.quantile(down, 0.1)), dtype(np.quantile(old, 0.2))
    ratio = np.divide(up, down, where=down > smallest, out=np.ones_like(down))
    expected = old * (np.sqrt(ratio) if root else ratio)
    expected[expected <= vanished] = 0
    new = np.full((k, TILE), np.nan, dtype)
    signs = np.empty((k, k), dtype), np.empty((k, k), np.int64), np.empty(k, np.int64)
    by_sign(omega, *signs)
    multiply_tile(*signs, f, pull, push, stiffness, old, root, smallest, vanished, new)
    np.testing.assert_allclose(new, expected, rtol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 5, 10])
def test_a_sweep_of_coordinate_descent(dtype: Any, k: int) -> None:
    omega, target = numbers((k, k), dtype), numbers((k + 1, TILE), dtype, 1)
    v, stiffness = abs(numbers((k, TILE), dtype, 2)), abs(numbers((TILE,), dtype, 3))
    inverse, expected = np.full((k, TILE), np.nan, dtype), v.astype(float)
    # Curvatures of both signs, and none at all.
    omega[0, 0] = -stiffness[5]
    invert_tile(omega, stiffness, inverse)
    for q in range(k):
        curvature = (omega[q, q] + stiffness).astype(float)
        steps = np.divide(1, curvature, where=curvature > 0, out=np.zeros(TILE))
        np.testing.assert_allclose(inverse[q], steps, rtol=tolerance(dtype))
        slope = omega[q] @ expected + stiffness * expected[q] - target[q]
        expected[q] = np.maximum(0, expected[q] - slope * inverse[q])
    descend_tile(omega, target, stiffness, inverse, v)
    np.testing.assert_allclose(v, expected, rtol=tolerance(dtype), atol=tolerance(dtype))


def test_what_is_not_a_number_remains_so_in_a_sweep() -> None:
    target, ones = np.full((1, TILE), np.nan), np.ones((1, TILE))
    v = ones.copy()
    descend_tile(np.eye(1), target, ones[0], ones, v)
    assert np.isnan(v).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 5, 10])
def test_the_fit_of_a_tile(dtype: Any, k: int) -> None:
    half, f, v = (numbers(shape, dtype) for shape in ((k, k), (k + 1, TILE), (k, TILE)))
    omega, totals = half + half.T, np.full(TILE, np.nan, dtype)
    expected = np.einsum("pr,pq,qr->r", v, omega, v) - 2 * (v * f[:k]).sum(0)
    fit_tile(omega, f, v, totals)
    np.testing.assert_allclose(totals, expected, rtol=tolerance(dtype), atol=tolerance(dtype) * 20)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("k", [*LENGTHS, 64, 72, 73, 140])
def test_sums_over_neighbours(dtype: Any, index: Any, k: int) -> None:
    rows, weights = numbers((12, k), dtype), numbers((9,), dtype, 1)
    indptr, indices = (
        np.array([0, 2, 8, 8, 9], index),
        np.array([3, 11, 0, 5, 5, 7, 1, 2, 4], index),
    )
    which, start, factors = np.array([3, 1, 2, 3, 0]), 1, numbers((3,), dtype, 2)
    sums, totals = np.full((5, k), np.nan, dtype), np.full(4, np.nan, dtype)
    weighted_rows(rows, which, start, 3, indptr, indices, weights, factors, sums[1:4], totals[:3])
    for r, i in enumerate(which[start : start + 3]):
        entries = slice(indptr[i], indptr[i + 1])
        expected = factors[r] * (weights[entries] @ rows[indices[entries]])
        np.testing.assert_allclose(sums[1 + r], expected, rtol=1e-4, atol=1e-5)
        expected = factors[r] * weights[entries].sum()
        np.testing.assert_allclose(totals[r], expected, rtol=1e-4, atol=1e-5)
    # Nothing is written beside the sums.
    assert np.isnan(sums[[0, 4]]).all()
    assert np.isnan(totals[3])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("count", [8, 11])
def test_distances_count_every_component_once(dtype: Any, index: Any, k: int, count: int) -> None:
    rows = numbers((9, k), dtype)
    pairs = np.random.default_rng(1).integers(0, 9, (count, 4)).astype(index)
    pairs[2, :2] = 5
    squares = np.full(count + 1, np.nan, dtype)
    squared_distances(rows, pairs, squares[:count])
    differences = (rows[pairs[:, 0]] - rows[pairs[:, 1]]).astype(float)
    np.testing.assert_allclose(squares[:count], (differences**2).sum(1), rtol=1e-5)
    assert squares[2] == 0
    assert np.isnan(squares[count])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 7, 24])
def test_distances_to_a_tile(dtype: Any, k: int) -> None:
    queries, filled = numbers((5, k), dtype), numbers((3, k, TILE), dtype)
    filled[1, :, 3] = queries[4]
    filled[1, :, 9] = np.inf
    expected = ((filled[1].astype(float) - queries[[4, 0], :, None]) ** 2).sum(axis=1)
    limits, squares = np.sort(expected)[:, 12].astype(dtype), np.zeros((2, TILE), dtype)
    found = nearer_in_tile(queries, 4, 0, filled, 1, limits, squares)
    np.testing.assert_allclose(squares, expected, rtol=1e-5, atol=1e-12)
    assert squares[0, 3] == 0
    bits = [found >> place & 1 == 1 for place in range(2 * TILE)]
    np.testing.assert_array_equal(bits, (squares < limits[:, None]).ravel())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("count", [8, 11, TILE])
def test_tiles_are_rows_transposed(dtype: Any, k: int, count: int) -> None:
    matrix = numbers((3 * TILE, k), dtype)
    rows = np.random.default_rng(1).permutation(3 * TILE)
    tile = np.full((k, TILE), np.nan, dtype)
    load_tile(matrix, rows, 5, count, tile)
    chosen = rows[5 : 5 + count]
    np.testing.assert_array_equal(tile[:, :count], matrix[chosen].T)
    assert np.isnan(tile[:, count:]).all()

    tile[:, count:] = 7
    target = np.zeros_like(matrix)
    store_tile(target, rows, 5, count, tile)
    np.testing.assert_array_equal(target[chosen], matrix[chosen])
    assert np.delete(target, chosen, axis=0).max() == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("vectors_of_columns", range(1, 9))
@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 3), (11, 20)])
def test_products_with_a_narrow_basis(dtype: Any, vectors_of_columns: int, n: int, m: int) -> None:
    width = vectors_of_columns * WIDTH // np.dtype(dtype).itemsize
    X, basis = numbers((n + 2, m), dtype), numbers((m, width), dtype, 1)
    out = np.full((n + 2, width), np.nan, dtype)
    rows_times(X, 1, n + 1, basis, out)
    np.testing.assert_allclose(out[1:-1], (X @ basis)[1:-1], rtol=1e-4, atol=1e-5)
    assert np.isnan(out[[0, -1]]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", LENGTHS)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 11])
def test_weighted_sums_of_rows(dtype: Any, m: int, k: int) -> None:
    X, weights = numbers((9, m), dtype), numbers((9, k), dtype, 1)
    totals = numbers((k + 1, m), dtype, 2)
    expected = totals.copy()
    expected[:k] += weights[2:8].T @ X[2:8]
    add_rows(X, 2, 8, weights, totals[:k])
    np.testing.assert_allclose(totals, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 3, *LENGTHS])
def test_extrapolated_codes_are_not_negative(dtype: Any, k: int) -> None:
    now, previous = (abs(numbers((7, k), dtype, seed)) for seed in (0, 1))
    eta, point = dtype(0.7), previous.copy()
    extrapolate(now, point, eta, point)
    expected = np.maximum(0, now + eta * (now - previous))
    assert (expected == 0).any()
    np.testing.assert_allclose(point, expected, rtol=tolerance(dtype), atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 3, *LENGTHS])
def test_scaled_rows(dtype: Any, k: int) -> None:
    rows, factors = numbers((7, k), dtype), numbers((7,), dtype, 2)
    scaled = np.full((8, k), np.nan, dtype)
    scale(factors, rows, scaled[:7])
    np.testing.assert_allclose(scaled[:7], factors[:, None] * rows, rtol=tolerance(dtype))
    assert np.isnan(scaled[7]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 3, 8])
def test_scaled_rows_of_wider_ones(dtype: Any, k: int) -> None:
    """What is beyond the columns stays as it is."""
    rows, factors = numbers((7, k), dtype), numbers((7,), dtype, 2)
    scaled = np.full((7, k + 4), 5, dtype)
    scale(factors, rows, scaled)
    np.testing.assert_allclose(scaled[:, :k], factors[:, None] * rows, rtol=tolerance(dtype))
    assert (scaled[:, k:] == 5).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "m", "k"), [(5, 7, 4), (40, 300, 90), (3, 1, 2)])
def test_products_by_blas(dtype: Any, n: int, m: int, k: int) -> None:
    rows, basis, weighted = (numbers(s, dtype) for s in ((n, m), (m, k), (n, k)))
    out, totals = np.full((n, k), np.nan, dtype), numbers((k, m), dtype, 3)
    expected = totals + weighted.T @ rows
    times_by_blas(product_address(dtype), rows, basis, out)
    add_cross_by_blas(product_address(dtype), rows, weighted, totals)
    np.testing.assert_allclose(out, rows @ basis, rtol=1e-3, atol=1e-3 * tolerance(dtype) ** 0.5)
    np.testing.assert_allclose(totals, expected, rtol=1e-3, atol=1e-3 * tolerance(dtype) ** 0.5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("columns", [8, 16, 24])
def test_entries_of_a_sparse_row_are_scattered(dtype: Any, index: Any, columns: int) -> None:
    values, indices = numbers((6,), dtype), np.array([3, 0, 9, 9, 1, 2], index)
    row, totals = numbers((4, columns), dtype, 1), numbers((10, columns), dtype, 2)
    expected = totals.copy()
    for e in range(1, 5):
        expected[indices[e]] += values[e] * row[2]
    scatter_row(values, indices, 1, 5, row, 2, totals)
    np.testing.assert_allclose(totals, expected, rtol=1e-5, atol=1e-6)


def test_a_tile_is_made_of_whole_vectors() -> None:
    for dtype in DTYPES:
        assert TILE % (WIDTH // np.dtype(dtype).itemsize) == 0
