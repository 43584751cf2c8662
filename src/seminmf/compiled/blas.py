"""Products of matrices by BLAS, called by its address, which is known at run time only."""

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
    """The address of SciPy's ``gemm`` for numbers of this type."""
    capsule = cython_blas.__pyx_capi__["dgemm" if np.dtype(dtype).itemsize == 8 else "sgemm"]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))


def _gemm(
    builder: Any, number: Any, address: Any, letters: str, beta: float, sizes: list[Any],
    matrices: list[Any], steps: list[Any],
) -> None:  # fmt: skip
    """C = op(A) op(B) + beta C for matrices stored by columns; BLAS takes all by pointers."""
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


def _product(letters: str, beta: float, order: Any) -> Any:
    """A product of matrices stored by rows; BLAS sees each as its transpose, stored by columns.

    ``order`` turns three matrices, the number of rows n and the numbers of columns m and k of the
    first and the second into the sizes, matrices and steps that BLAS takes.
    """

    @intrinsic
    def product(typing, address, rows, other, out):
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args[1:]
            arrays = [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(kinds, arguments[1:], strict=True)
            ]
            (n, m), (_, width), _ = (
                [builder.extract_value(array.shape, axis) for axis in (0, 1)] for array in arrays
            )
            found = order(*(array.data for array in arrays), n, m, width)
            number = context.get_data_type(kinds[0].dtype)
            _gemm(builder, number, arguments[0], letters, beta, *found)
            return context.get_dummy_value()

        return types.void(types.int64, rows, other, out), generate

    return product


# (address, rows, basis, out): ``out`` = rows · basis.
# (address, rows, weighted, totals): ``totals`` += weightedᵀ · rows.
blas_times = _product("NN", 0.0, lambda a, b, c, n, m, k: ([k, n, m], [b, a, c], [k, m, k]))
blas_add_cross = _product("NT", 1.0, lambda a, b, c, n, m, k: ([m, k, n], [a, b, c], [m, k, m]))
