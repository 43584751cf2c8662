"""Structures and views: what compiled code takes, and how it reads parts of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import types

from seminmf.compiled.apart import Apart, kind_of
from seminmf.compiled.jit import borrowing
from seminmf.compiled.structures import Structure
from seminmf.compiled.views import line_of, matrix_at, rows_of, span


class Inside(Structure):
    fields = ("count", "vector")


class Outside(Structure):
    fields = ("number", "flag", "matrix", "inside")


@borrowing
def read(structure: Any, result: Any) -> None:
    result[0] = structure.number
    result[1] = 1.0 if structure.flag else 0.0
    result[2] = structure.matrix[1, 2]
    result[3] = structure.matrix.shape[0]
    result[4] = structure.inside.count
    result[5] = structure.inside.vector[structure.inside.vector.shape[0] - 1]


def example() -> Outside:
    inside = Inside(count=7, vector=np.array([1.0, 2.0, 9.0], np.float32))
    return Outside(number=-0.1, flag=True, matrix=np.arange(12.0).reshape(4, 3), inside=inside)


def test_fields_are_read_by_their_names() -> None:
    structure, result = example(), np.zeros(6)
    read(structure, result)
    np.testing.assert_array_equal(result, [-0.1, 1, 5, 4, 7, 9])
    assert structure.inside.count == 7
    structure.matrix[1, 2] = 50
    structure.inside.set_integers(count=-3)
    read(structure, result)
    np.testing.assert_array_equal(result, [-0.1, 1, 50, 4, -3, 9])


def test_arrays_live_as_long_as_the_structure() -> None:
    """Also if nobody else holds them."""
    held = [example() for _ in range(200)]
    for structure in held:
        result = np.zeros(6)
        read(structure, result)
        assert result[2] == 5
        assert result[5] == 9


def test_wrong_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="has the fields"):
        Inside(vector=np.zeros(3), count=1)
    with pytest.raises(ValueError, match="not contiguous"):
        Inside(count=1, vector=np.zeros(6)[::2])
    with pytest.raises(AttributeError, match="no field 'missing'"):
        example().missing  # noqa: B018


@borrowing
def add_one(structure: Any) -> None:
    for i in range(structure.matrix.shape[0]):
        for j in range(structure.matrix.shape[1]):
            structure.matrix[i, j] += 1
    structure.inside.vector[structure.inside.vector.shape[0] - 1] += 2


def test_arrays_that_a_structure_makes_itself() -> None:
    """By type and shape: zeros at first, of the same kind as others, and apart in each copy."""
    double, single = np.dtype(np.float64), np.dtype(np.float32)
    inside = Inside(count=7, vector=(single, 3))
    one = Outside(number=-0.1, flag=True, matrix=(double, 4, 3), inside=inside)
    assert kind_of(one) is kind_of(example())
    other = one.fresh()
    for structure in (one, other):
        add_one(structure)
        np.testing.assert_array_equal(structure.matrix, np.ones((4, 3)))
    add_one(other)
    np.testing.assert_array_equal(one.matrix, np.ones((4, 3)))
    np.testing.assert_array_equal(other.matrix, np.full((4, 3), 2))
    np.testing.assert_array_equal(one.inside.vector, [0, 0, 6])
    assert other.inside is one.inside
    result = np.zeros(6)
    read(other.fresh(), result)
    np.testing.assert_array_equal(result, [-0.1, 1, 0, 4, 7, 6])


def test_structures_of_the_same_kinds_have_one_type() -> None:
    """Otherwise everything would be compiled for each of them."""
    assert kind_of(example()) is kind_of(example())
    other = Inside(count=1, vector=np.zeros(3))
    assert kind_of(other) is not kind_of(example().inside)


@borrowing
def views(vector: Any, matrix: Any, result: Any) -> None:
    result[0] = span(vector, 2, 5)[1]
    result[1] = span(vector, 2, 5).shape[0]
    result[2] = rows_of(matrix, 1, 3)[1, 0]
    # Row 6 of this view is row 2 of the matrix.
    result[3] = rows_of(matrix, -4, 3)[6, 1]
    result[4] = matrix_at(vector, 1, 2, 3)[1, 1]
    result[5] = line_of(matrix)[7]
    span(vector, 6, 7)[0] = -5


def test_views() -> None:
    vector, matrix, result = np.arange(10.0), 100 + np.arange(12.0).reshape(4, 3), np.zeros(6)
    views(vector, matrix, result)
    np.testing.assert_array_equal(
        result, [vector[3], 3, matrix[2, 0], matrix[2, 1], vector[5], matrix[2, 1]]
    )
    assert vector[6] == -5


def doubled(structure: Any, out: Any, count: int) -> None:
    for i in range(count):
        out[i] = 2 * structure.vector[i]


APART = Apart(doubled)
call_doubled = APART.call


@borrowing
def through(address: int, structure: Any, out: Any) -> None:
    call_doubled(address, structure, out, 2)


def test_a_function_that_is_compiled_apart() -> None:
    structure, out = Inside(count=0, vector=np.array([1.0, 2.0, 3.0])), np.zeros(3)
    vector = types.Array(types.float64, 1, "C")
    address = APART.address(kind_of(structure), vector, types.int64)
    assert address == APART.address(kind_of(structure), vector, types.int64)
    through(address, structure, out)
    np.testing.assert_array_equal(out, [2, 4, 0])
    APART(structure, out, 3)
    np.testing.assert_array_equal(out, [2, 4, 6])
