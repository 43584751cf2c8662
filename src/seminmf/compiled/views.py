"""Views of arrays without the cost of a slice.

Numba compiles a slice into some hundred instructions (negative indices, lengths, reference counts).
These views only move a pointer. They own nothing: the array has to outlive them, as the arguments
of a compiled function do.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .simd.lanes import place_of


def view(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """A C-contiguous array of type ``kind`` at an address."""
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    itemsize = context.get_constant(types.intp, size)
    strides = [itemsize]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = context.make_array(kind)(context, builder)
    context.populate_array(
        array, data=data, shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides), itemsize=itemsize, meminfo=None,
    )  # fmt: skip
    return array._getvalue()


@intrinsic
def span(typing, vector, start, stop):
    """``vector[start:stop]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, start, stop = arguments
        data = place_of(context, builder, signature.args[0], vector, start)
        return view(context, builder, signature.return_type, data, [builder.sub(stop, start)])

    return vector.copy(layout="C", readonly=False)(vector, types.intp, types.intp), generate


@intrinsic
def rows_of(typing, matrix, start, stop):
    """``matrix[start:stop]``.

    ``start`` may be negative: row i of the view is then row i + start of the matrix, and must not
    be used where there is none.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, start, stop = arguments
        source = context.make_array(signature.args[0])(context, builder, matrix)
        width = builder.extract_value(source.shape, 1)
        data = builder.gep(source.data, [builder.mul(start, width)])
        shape = [builder.sub(stop, start), width]
        return view(context, builder, signature.return_type, data, shape)

    return matrix.copy(layout="C", readonly=False)(matrix, types.intp, types.intp), generate


@intrinsic
def matrix_at(typing, entries, offset, n, m):
    """The n × m numbers of ``entries`` from ``offset`` on, as a matrix."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        entries, offset, *shape = arguments
        data = place_of(context, builder, signature.args[0], entries, offset)
        return view(context, builder, signature.return_type, data, shape)

    result = types.Array(entries.dtype, 2, "C")
    return result(entries, types.intp, types.intp, types.intp), generate


@intrinsic
def line_of(typing, matrix):
    """All numbers of a matrix, row after row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, arguments[0])
        size = builder.mul(*(builder.extract_value(source.shape, axis) for axis in (0, 1)))
        return view(context, builder, signature.return_type, source.data, [size])

    return types.Array(matrix.dtype, 1, "C")(matrix), generate
