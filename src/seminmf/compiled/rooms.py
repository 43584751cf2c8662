"""Working memory for compiled code, which makes no arrays itself."""

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

_WHOLE, _DOUBLE = np.dtype(np.int64), np.dtype(np.float64)
_EVERY: Any = np.arange(TILE)


class Sizes(NamedTuple):
    """Rows of the longest block, features m, components k, k as whole vectors, number type."""

    longest: int
    m: int
    k: int
    width: int
    dtype: Any


# The structures below depend on sizes alone. One of each of the last kinds is kept as a template,
# from which others are made (`Structure.fresh`).
_kept = lru_cache(maxsize=32)


@_kept
def room_for(
    sizes: Sizes, *, leads: bool = True, gathers: bool = False, own_phi: bool = False,
    own_point: bool = False, sparse: bool = False,
) -> state.Room:  # fmt: skip
    """Room of one thread for an iteration, of size zero where the run does not need it."""
    longest, m, k, width, dtype = sizes
    return state.Room(
        leads=leads, rows=(dtype, longest * gathers, m), spare=(dtype, longest),
        phi=(dtype, longest * own_phi, width), numbers=(_WHOLE, longest),
        following=(dtype, longest * own_point, k),
        weighted=(dtype, longest, width if sparse else k), fitted=(dtype, m),
        tiles=(dtype, tile_rows(k, width), TILE), every=_EVERY, sums=(dtype, TILE, k),
        sizes=(dtype, k, k), columns=(_WHOLE, k, k), split=(_WHOLE, k),
        lengths=(dtype, 3 * EDGES_AT_ONCE),
    )  # fmt: skip


@lru_cache(maxsize=4)
def _solver(dtype: Any) -> int:
    """The address of `basis_solution` for moments of this type."""
    vector = types.Array(types.float64, 1, "C")
    own = types.Array(from_dtype(dtype), 2, "C")
    room = kind_of(no_basis_room())
    number = types.float64
    return basis_solution.address(own, own, number, number, vector, room, own, own, vector)


@_kept
def basis_room_for(m: int, k: int, dtype: Any = None) -> state.BasisRoom:
    """Room to solve for an m × k basis; with ``dtype`` also the solver's address."""
    return state.BasisRoom(
        diagonal=(_DOUBLE, k), negative=(_DOUBLE, k, k), tile=(_DOUBLE, k, TILE),
        solution=(_DOUBLE, m, k), products=(_DOUBLE, k, k), features=np.arange(m),
        blas=product_address(np.float64), add_cross=cross_kernel(np.float64),
        solve=0 if dtype is None else _solver(dtype),
    )  # fmt: skip


@lru_cache(maxsize=1)
def no_basis_room() -> state.BasisRoom:
    return basis_room_for(0, 0)


@_kept
def basis_for(m: int, k: int, width: int, dtype: Any) -> state.Basis:
    """An m × k basis, with columns padded to ``width``."""
    return state.Basis(U=(dtype, m, width), omega=(dtype, k, k), lengths=(_DOUBLE, k))


@_kept
def sums_for(sizes: Sizes, shards: int, items: int, sparse: bool) -> state.Sums:
    """Sums of so many shards, and of so many items of edges."""
    _, m, k, width, dtype = sizes
    return state.Sums(
        losses=(_DOUBLE, shards), penalties=(_DOUBLE, shards), edges=(_DOUBLE, items),
        moments=(dtype, shards, m * width), grams=(dtype, shards * (width if sparse else k), k),
        totals=(_DOUBLE, 4), moment=(dtype, m, k), gram=(dtype, k, k),
    )  # fmt: skip


@lru_cache(maxsize=4)
def no_graph(dtype: Any) -> state.Graph:
    nobody: Any = np.zeros(0, np.int32)
    return state.Graph(
        indptr=nobody, indices=nobody, base=np.zeros(0, dtype), pairs=nobody.reshape(0, 4),
        order=np.zeros(0, np.int64), bounds=np.zeros(1, np.int64), groups=np.zeros(2, np.int64),
    )  # fmt: skip


@lru_cache(maxsize=8)
def run_without_samples(count: int, dtype: Any) -> state.Run:
    """A run without samples, graph and penalty, for `basis.nonnegative_basis`."""
    nothing, numbers, floats = np.zeros(0, dtype), np.zeros(0, np.int64), np.zeros(0)
    rows, nobody = np.zeros((0, 0), dtype), np.zeros(0, np.int32)
    return state.Run(
        samples=state.Samples(
            n_features=0, entries=nothing, row_step=0, column_step=0, plain=True, sparse=False,
            indices=nobody, indptr=nobody, ones=nothing, numbering=numbers,
            squares=np.zeros(count, dtype), share=nothing, blas=0,
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
        kernels=NO_KERNELS, phi=rows, left=np.empty(count, dtype), gathered=rows,
        solving=no_basis_room(),
    )  # fmt: skip
