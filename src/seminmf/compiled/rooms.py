"""Room that compiled code works in, made beforehand: it makes no arrays itself."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, types

from . import state
from .apart import kind_of
from .basis import basis_solution
from .blas import product_address
from .codes import tile_rows
from .edges import EDGES_AT_ONCE
from .kernels import NO_KERNELS, cross_kernel
from .simd.tiles import TILE


class Sizes(NamedTuple):
    """Rows of the longest block, features, components, columns of whole vectors, type."""

    longest: int
    m: int
    k: int
    width: int
    dtype: Any


def make_room(
    sizes: Sizes, *, leads: bool = True, gathers: bool = False, own_phi: bool = False,
    own_point: bool = False, sparse: bool = False,
) -> state.Room:  # fmt: skip
    """Room of one thread for an iteration; none for what it does not need."""
    longest, m, k, width, dtype = sizes

    def rows(wanted: bool, columns: int) -> Any:
        return np.empty((longest if wanted else 0, columns), dtype)

    return state.Room(
        leads=leads, rows=rows(gathers, m), spare=np.empty(longest, dtype),
        phi=rows(own_phi, width), numbers=np.empty(longest, np.int64),
        bounds=np.zeros(2, np.int64), following=rows(own_point, k),
        weighted=np.zeros((longest, width if sparse else k), dtype), fitted=np.empty(m, dtype),
        tiles=np.zeros((tile_rows(k, width), TILE), dtype), every=np.arange(TILE),
        sums=np.zeros((TILE, k), dtype), sizes=np.empty((k, k), dtype),
        columns=np.empty((k, k), np.int64), split=np.empty(k, np.int64),
        lengths=np.empty(3 * EDGES_AT_ONCE, dtype),
    )  # fmt: skip


@lru_cache(maxsize=4)
def _solver(dtype: Any) -> int:
    """The address of `basis_solution` for moments of this type."""
    vector, matrix = (types.Array(types.float64, axes, "C") for axes in (1, 2))
    own = types.Array(from_dtype(dtype), 2, "C")
    room = kind_of(no_basis_room())
    number = types.float64
    return basis_solution.address(own, own, number, number, vector, room, own, own, vector)


def make_basis_room(m: int, k: int, dtype: Any = None) -> state.BasisRoom:
    """Room for a basis of m features and k components; with a type, for compiled code, too."""
    return state.BasisRoom(
        diagonal=np.empty(k), negative=np.empty((k, k)), tile=np.zeros((k, TILE)),
        solution=np.empty((m, k)), products=np.empty((k, k)), features=np.arange(m),
        blas=product_address(np.float64), add_cross=cross_kernel(np.float64),
        solve=0 if dtype is None else _solver(dtype),
    )  # fmt: skip


@lru_cache(maxsize=1)
def no_basis_room() -> state.BasisRoom:
    return make_basis_room(0, 0)


@lru_cache(maxsize=4)
def no_basis(dtype: Any) -> state.Basis:
    nothing = np.zeros((0, 0), dtype)
    return state.Basis(U=nothing, omega=nothing, lengths=np.zeros(0))


def no_graph(dtype: Any) -> state.Graph:
    nobody: Any = np.zeros(0, np.int32)
    return state.Graph(
        indptr=nobody, indices=nobody, base=np.zeros(0, dtype), pairs=nobody.reshape(0, 4),
        order=np.zeros(0, np.int64), bounds=np.zeros(1, np.int64), groups=np.zeros(2, np.int64),
    )  # fmt: skip


@lru_cache(maxsize=8)
def run_without_samples(count: int, dtype: Any) -> state.Run:
    """What a rule for codes looks at where there are neither samples nor graph nor penalty."""
    nothing, numbers, floats = np.zeros(0, dtype), np.zeros(0, np.int64), np.zeros(0)
    rows, nobody = np.zeros((0, 0), dtype), np.zeros(0, np.int32)
    return state.Run(
        samples=state.Samples(
            n_features=0, entries=nothing, row_step=0, column_step=0, plain=True, sparse=False,
            lower=False, indices=nobody, indptr=nobody, ones=nothing, numbering=numbers,
            squares=nothing, share=nothing, blas=0,
        ),
        cuts=state.Cuts(blocks=numbers, shards=numbers, chunks=numbers, begin=0, end=0),
        graph=no_graph(dtype),
        terms=state.Terms(
            loss=0, loss_parameters=floats, graph=0, graph_parameters=floats, penalty=0,
            penalty_parameters=floats, curvature=0.0, residual_floor=0.0, edge_floor=0.0,
            cancellation=0.0,
        ),
        sums=state.Sums(
            losses=floats, penalties=floats, edges=floats, moments=rows, grams=rows, totals=floats,
            moment=rows, gram=rows,
        ),
        kernels=NO_KERNELS, phi=rows, fit=np.empty(count, dtype), gathered=rows,
        solving=no_basis_room(),
    )  # fmt: skip
