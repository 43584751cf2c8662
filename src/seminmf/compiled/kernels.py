"""Addresses of what is compiled apart, for the types of numbers that a fit has."""

from __future__ import annotations

from typing import Any

from numba import from_dtype, types

from .apart import kind_of
from .codes import codes_update
from .edges import edge_weights
from .products import adjoint_products, cross_products, products
from .state import Kernels, Samples
from .structures import Structure

_ORDER = types.Array(types.int64, 1, "C")


def _arrays(dtype: Any) -> tuple[Any, Any]:
    """The types of a vector and of a matrix."""
    number = from_dtype(dtype)
    return types.Array(number, 1, "C"), types.Array(number, 2, "C")


def no_kernels() -> Kernels:
    """A structure for addresses that are not known yet."""
    return Kernels(**dict.fromkeys(Kernels.fields, 0))


def add_product_kernels(kernels: Kernels, samples: Samples, dtype: Any) -> None:
    """Those that products with X need."""
    (vector, matrix), kind, whole = _arrays(dtype), kind_of(samples), types.int64
    kernels.set_integers(
        times=products.address(kind, matrix, whole, whole, matrix, matrix, vector),
        add_adjoint=adjoint_products.address(kind, matrix, whole, whole, matrix, vector),
    )


def cross_kernel(dtype: Any) -> int:
    _, matrix = _arrays(dtype)
    return cross_products.address(types.int64, matrix, matrix, matrix)


def update_kernel(dtype: Any, run: Any, room: Any, point: Any, step: Any) -> int:
    _, matrix = _arrays(dtype)
    kinds = (kind_of(structure) for structure in (point, point, step))
    return codes_update.address(
        kind_of(run), kind_of(room), _ORDER, _ORDER, matrix, matrix, *kinds
    )


def edge_kernel(dtype: Any, graph: Structure, terms: Structure) -> int:
    vector, matrix = _arrays(dtype)
    return edge_weights.address(
        kind_of(graph), kind_of(terms), types.int64, types.int64, matrix, vector, vector
    )
