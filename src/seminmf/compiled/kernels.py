"""Addresses of the functions that are compiled apart, for the types of a run."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import from_dtype, types

from .apart import kind_of
from .codes import codes_update
from .edges import edge_weights
from .iteration import iteration
from .products import cross_products, products, sparse_adjoint_products
from .state import Call, Kernels

_ORDER, _PARAMETERS = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")


def _arrays(dtype: Any) -> tuple[Any, Any]:
    """The types of a vector and of a matrix."""
    number = from_dtype(dtype)
    return types.Array(number, 1, "C"), types.Array(number, 2, "C")


# Placeholder in a run, since the addresses depend on the run's own type.
NO_KERNELS = Kernels(**dict.fromkeys(Kernels.fields, 0))


def find_kernels(run: Any, room: Any, point: Any, step: Any, dtype: Any) -> None:
    """Set the addresses in a run, for its type and those of the other arguments of `iteration`."""
    kinds = kind_of(run), kind_of(room), kind_of(point), kind_of(step)
    run.set_structure("kernels", _all(*kinds, dtype))


def find_iteration(run: Any, room: Any, point: Any, step: Any) -> Any:
    """The machine code of `iteration` for arguments of these types, without a check in each call.

    Numba's lookup of the overload takes as long as a basis step of few features.
    """
    return _entry(kind_of(room), kind_of(run), kind_of(point), kind_of(step))


@lru_cache(maxsize=16)
def _entry(room: Any, run: Any, point: Any, step: Any) -> Any:
    counters = np.zeros(1, np.int64)
    call = kind_of(Call(bell=counters, counters=counters))
    kinds = call, types.int64, room, run, point, point, step
    iteration.compile(kinds)
    return iteration.overloads[kinds].entry_point


@lru_cache(maxsize=16)
def cross_kernel(dtype: Any) -> int:
    _, matrix = _arrays(dtype)
    return cross_products.address(types.int64, matrix, matrix, matrix)


@lru_cache(maxsize=16)
def _all(run: Any, room: Any, point: Any, step: Any, dtype: Any) -> Kernels:
    (vector, matrix), whole, fields = _arrays(dtype), types.int64, run.fields
    update = codes_update.address(run, room, _ORDER, whole, whole, matrix, point, point, step)
    weigh = edge_weights.address(
        fields["graph"], whole, _PARAMETERS, types.float64, whole, whole, matrix, vector, vector
    )
    samples = fields["samples"]
    return Kernels(
        times=products.address(samples, matrix, whole, whole, matrix, matrix, vector),
        add_cross=cross_kernel(dtype),
        add_sparse_adjoint=sparse_adjoint_products.address(samples, whole, matrix, vector),
        update_codes=update, weigh_edges=weigh,
    )  # fmt: skip
