"""The loops in vector instructions against the same in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from seminmf import kernels, vectors
from seminmf.vectors import TILE, WIDTH

DTYPES = [np.float64, np.float32]
# From one vector of numbers to several, with every kind of remainder.
LENGTHS = [8, 9, 13, 16, 20, 31, 33, 50]


@njit
def add_products(factors: Any, which: Any, first: int, stop: int, v: Any, totals: Any) -> None:
    vectors.add_products(factors, which, first, stop, v, totals)


@njit
def weighted_rows(
    rows: Any, which: Any, start: int, count: int, indptr: Any, indices: Any, weights: Any,
    factors: Any, sums: Any, totals: Any,
) -> None:  # fmt: skip
    vectors.weighted_rows(
        rows, which, start, count, indptr, indices, weights, factors, sums, totals
    )


@njit
def squared_distance(rows: Any, i: int, j: int) -> Any:
    return vectors.squared_distance(rows, i, j)


@njit
def load_tile(matrix: Any, rows: Any, start: int, count: int, tile: Any) -> None:
    vectors.load_tile(matrix, rows, start, count, tile)


@njit
def store_tile(matrix: Any, rows: Any, start: int, count: int, tile: Any) -> None:
    vectors.store_tile(matrix, rows, start, count, tile)


@njit
def rows_times(X: Any, start: int, stop: int, reach: int, basis: Any, out: Any) -> None:
    vectors.rows_times(X, start, stop, reach, basis, out)


@njit
def add_rows(X: Any, start: int, stop: int, reach: int, weights: Any, totals: Any) -> None:
    vectors.add_rows(X, start, stop, reach, weights, totals)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("first", "stop"), [(0, 7), (2, 5), (3, 3)])
def test_products_are_added_for_every_sample_of_a_tile(dtype: Any, first: int, stop: int) -> None:
    factors, v, totals = (numbers(shape, dtype) for shape in ((7,), (9, TILE), (TILE,)))
    which = np.array([8, 0, 3, 3, 1, 7, 2])
    expected = totals + factors[first:stop] @ v[which[first:stop]]
    add_products(factors, which, first, stop, v, totals)
    np.testing.assert_allclose(totals, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)


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
@pytest.mark.parametrize("k", LENGTHS)
def test_distances_count_every_component_once(dtype: Any, k: int) -> None:
    rows = numbers((5, k), dtype)
    expected = float(((rows[1] - rows[4]).astype(float) ** 2).sum())
    assert squared_distance(rows, 1, 4) == pytest.approx(expected, rel=1e-5)
    assert squared_distance(rows, 2, 2) == 0


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
    for reach in (m, m // 2):
        rows_times(X, 1, n + 1, reach, basis, out)
        expected = (X[:, :reach] @ basis[:reach])[1:-1]
        np.testing.assert_allclose(out[1:-1], expected, rtol=1e-4, atol=1e-5)
    assert np.isnan(out[[0, -1]]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", LENGTHS)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 11])
def test_weighted_sums_of_rows(dtype: Any, m: int, k: int) -> None:
    X, weights = numbers((9, m), dtype), numbers((9, k), dtype, 1)
    totals = numbers((k + 1, m), dtype, 2)
    expected = totals.copy()
    for reach in (m, max(8, m - 5)):
        expected[:k, :reach] += weights[2:8].T @ X[2:8, :reach]
        add_rows(X, 2, 8, reach, weights, totals[:k])
    np.testing.assert_allclose(totals, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("start", [0, 70])
def test_products_of_rows_below_the_diagonal(start: int) -> None:
    """What is right of the diagonal is not read, and everything else is."""
    n, k = 3 * kernels.STRIP, 8
    X, basis, weighted = (numbers(shape, np.float64) for shape in ((n, n), (n, k), (n, k)))
    triangle = np.tril(X)
    rows = n - start
    out, totals = np.empty((rows, k)), np.zeros((k, n))
    kernels.times(triangle, start, n, True, basis, out)
    np.testing.assert_allclose(out, triangle[start:] @ basis, atol=1e-12)
    kernels.add_adjoint(triangle, start, n, True, weighted[:rows], totals)
    np.testing.assert_allclose(totals, weighted[:rows].T @ triangle[start:], atol=1e-12)


def test_a_tile_is_made_of_whole_vectors() -> None:
    for dtype in DTYPES:
        assert TILE % (WIDTH // np.dtype(dtype).itemsize) == 0
