"""Products of matrices by BLAS, called by its address: compiled code cannot know it beforehand."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.linalg.cython_blas as cython_blas
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_INT = ir.IntType(32)


@lru_cache(maxsize=4)
def product_address(dtype: Any) -> int:
    """Where SciPy's ``gemm`` for numbers of this type is."""
    capsule = cython_blas.__pyx_capi__["dgemm" if np.dtype(dtype).itemsize == 8 else "sgemm"]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))


def _gemm(context: Any, builder: Any, kind: Any, address: Any, letters: str, sizes: list[Any],
          matrices: list[Any], steps: list[Any], beta: float) -> None:  # fmt: skip
    """C = op(A) op(B) + beta C by columns; all arguments of BLAS are pointers."""
    number = context.get_data_type(kind)
    letter = ir.IntType(8)

    def stored(value: Any) -> Any:
        place = builder.alloca(value.type)
        builder.store(value, place)
        return place

    flags = [stored(letter(ord(flag))) for flag in letters]
    lengths = [stored(builder.trunc(size, _INT)) for size in sizes]
    leading = [stored(builder.trunc(step, _INT)) for step in steps]
    one, factor = stored(ir.Constant(number, 1.0)), stored(ir.Constant(number, beta))
    a, b, c = matrices
    arguments = [*flags, *lengths, one, a, leading[0], b, leading[1], factor, c, leading[2]]
    signature = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(builder.inttoptr(address, signature.as_pointer()), arguments)


def _arrays(context: Any, builder: Any, signature: Any, arguments: Any) -> tuple[list[Any], Any]:
    """Data and shapes of all arguments behind the first."""
    kinds = signature.args[1:]
    arrays = [
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(kinds, arguments[1:], strict=True)
    ]
    shapes = [[builder.extract_value(array.shape, axis) for axis in (0, 1)] for array in arrays]
    return [array.data for array in arrays], shapes


@intrinsic
def blas_times(typing, address, rows, basis, out):
    """``out`` = rows · basis."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (a, b, c), ((n, m), (_, width), _) = _arrays(context, builder, signature, arguments)
        # What lies by rows is the transpose of what lies by columns.
        _gemm(
            context, builder, signature.args[1].dtype, arguments[0], "NN", [width, n, m], [b, a, c],
            [width, m, width], 0.0,
        )  # fmt: skip
        return context.get_dummy_value()

    return types.void(types.int64, rows, basis, out), generate


@intrinsic
def blas_add_cross(typing, address, rows, weighted, totals):
    """``totals`` += weightedᵀ · rows."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (a, b, c), ((n, m), (_, k), _) = _arrays(context, builder, signature, arguments)
        _gemm(
            context, builder, signature.args[1].dtype, arguments[0], "NT", [m, k, n], [a, b, c],
            [m, k, m], 1.0,
        )  # fmt: skip
        return context.get_dummy_value()

    return types.void(types.int64, rows, weighted, totals), generate
