"""Losses and penalties as compiled code sees them: loops called by their address.

A loss is two Python functions of one number, ρ(t) and its weight. They are compiled into one loop
over the lengths of a block, which the iteration calls by its address. So the iteration is compiled
once for all losses, a new loss costs a fraction of a second, and one written outside this package
runs like ours. Penalties on the codes work in the same way.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, njit, types
from numba.extending import intrinsic

from .jit import at_an_address, compiled
from .views import line_of, span

# The most parameters that a function may take after its argument.
MOST_PARAMETERS = 3
# Added to weights, by bytes per number, because graph and penalty are divided by them and a loss
# that rises no more has weight zero. Beside other weights it vanishes, and a quadratic of more
# weight is still above the loss.
LEAST_WEIGHT = {8: 1e-200, 4: 1e-20}

Scalar = Callable[..., float]


@dataclass(frozen=True)
class Block:
    """A compiled loop over many arguments, with the parameters of its function."""

    address: int
    parameters: Any
    keeps: Any
    """Must live as long as the address is in use."""


# Placeholders in the loops below, which are compiled with actual functions in their place.
_value = _weight = _slope = _least = None


def _measure(count, lengths, share, shared, floor, parameters, weights):
    """Returns Σ share · ρ(length); writes share · weight(length) for each length.

    In separate loops: one that both adds up and writes would be rounded in two ways, depending on
    whether the arrays are close to each other in memory.
    """
    a, b, c = parameters[0], parameters[1], parameters[2]
    total = 0.0
    if shared:
        for i in range(count):
            total += share[i] * _value(np.float64(lengths[i]), a, b, c)
        for i in range(count):
            weight = _weight(max(np.float64(lengths[i]), floor), a, b, c)
            weights[i] = share[i] * weight + _least
    else:
        for i in range(count):
            total += _value(np.float64(lengths[i]), a, b, c)
        for i in range(count):
            weights[i] = _weight(max(np.float64(lengths[i]), floor), a, b, c) + _least
    return total


def _penalize(count, codes, parameters, shifts):
    """Returns Σ π(v); writes the slope of π for each code. Separate loops as in `_measure`."""
    a, b, c = parameters[0], parameters[1], parameters[2]
    total = 0.0
    for i in range(count):
        total += _value(np.float64(codes[i]), a, b, c)
    for i in range(count):
        shifts[i] = _slope(np.float64(codes[i]), a, b, c)
    return total


def _with_room_for_parameters(function: Scalar, count: int) -> Any:
    """The function with `MOST_PARAMETERS` parameters, of which it uses ``count``."""
    scalar = njit(fastmath=True, error_model="numpy")(function)
    adapted: list[Scalar] = [
        lambda t, a, b, c: scalar(t),
        lambda t, a, b, c: scalar(t, a),
        lambda t, a, b, c: scalar(t, a, b),
        lambda t, a, b, c: scalar(t, a, b, c),
    ]
    return njit(fastmath=True, error_model="numpy")(adapted[count])


def _fingerprint(function: Any) -> str:
    """A hash of a function's bytecode, so that old machine code is not taken for new."""
    code = function.__code__
    text = repr((code.co_code, code.co_consts, code.co_names))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is_ours(function: Any) -> bool:
    """Whether a function is of this package: those depend on nothing but their text."""
    return str(function.__module__).split(".")[0] == __name__.split(".")[0]


def _check_arguments(functions: tuple[Scalar, Scalar], count: int) -> None:
    for function in functions:
        wanted = len(inspect.signature(function).parameters) - 1
        if wanted != count:
            raise TypeError(
                f"{function.__qualname__} takes {wanted} parameters after its argument, but there "
                f"are {count}."
            )
    if count > MOST_PARAMETERS:
        raise TypeError(
            f"{functions[0].__qualname__} takes {count} parameters; there may be {MOST_PARAMETERS}."
        )


def _pointer(dtype: Any) -> Any:
    return types.CPointer(from_dtype(np.dtype(dtype)))


_NUMBERS = types.CPointer(types.float64)


def _signature(template: Any, dtype: Any) -> Any:
    numbers = _pointer(dtype)
    if template is _measure:
        return types.float64(
            types.int64, numbers, numbers, types.int64, types.float64, _NUMBERS, numbers
        )
    return types.float64(types.int64, numbers, _NUMBERS, numbers)


@lru_cache(maxsize=64)
def _compiled(
    template: Any, second: str, functions: tuple[Scalar, Scalar], count: int, dtype: Any
) -> Any:
    """The loop of ``template`` around these functions."""
    names = dict(zip(("_value", second), functions, strict=True))
    found = {name: _with_room_for_parameters(f, count) for name, f in names.items()}
    found["_least"] = LEAST_WEIGHT[np.dtype(dtype).itemsize]
    loop = FunctionType(template.__code__, {**globals(), **found}, template.__name__)
    loop.__module__ = template.__module__
    # Machine code is kept on disk under this name.
    parts = "_".join(_fingerprint(function) for function in functions)
    loop.__qualname__ = f"{template.__name__}_{parts}"
    keep = all(_is_ours(function) for function in functions)
    return at_an_address(loop, _signature(template, dtype), keep=keep)


@lru_cache(maxsize=256)
def _block(
    template: Any, second: str, functions: tuple[Scalar, Scalar], values: tuple[float, ...],
    dtype: Any,
) -> Block:  # fmt: skip
    _check_arguments(functions, len(values))
    parameters = np.zeros(MOST_PARAMETERS)
    parameters[: len(values)] = values
    made = _compiled(template, second, functions, len(values), np.dtype(dtype))
    return Block(made.address, parameters, made)


def measure_block(value: Scalar, weight: Scalar, values: tuple[float, ...], dtype: Any) -> Block:
    """The loop of a loss ρ and its weight ρ'(t)/2t, both functions of t and the parameters."""
    return _block(_measure, "_weight", (value, weight), values, dtype)


def penalty_block(value: Scalar, slope: Scalar, values: tuple[float, ...], dtype: Any) -> Block:
    """The loop of a penalty π and its slope, both functions of a code v ≥ 0 and the parameters."""
    return _block(_penalize, "_slope", (value, slope), values, dtype)


def _call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Call the address in the first argument with the others, arrays as pointers."""
    address, *rest = arguments
    values = []
    for kind, value in zip(signature.args[1:], rest, strict=True):
        if isinstance(kind, types.Array):
            value = context.make_array(kind)(context, builder, value).data
        values.append(value)
    kind = ir.FunctionType(ir.DoubleType(), [value.type for value in values])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), values)


@intrinsic
def measure(typing, address, count, lengths, share, shared, floor, parameters, weights):
    """Call the loop of a loss: returns the loss of ``count`` lengths, writes their ``weights``.

    ``share`` is read only if ``shared`` is 1.
    """
    return (
        types.float64(
            types.int64, types.int64, lengths, share, types.int64, types.float64, parameters,
            weights,
        ),
        _call,
    )  # fmt: skip


@intrinsic
def penalize(typing, address, count, codes, parameters, shifts):
    """Call the loop of a penalty: returns that of ``count`` codes, writes their slopes."""
    return types.float64(types.int64, types.int64, codes, parameters, shifts), _call


@compiled
def _measure_all(address, lengths, share, shared, floor, parameters, weights):
    return measure(address, lengths.shape[0], lengths, share, shared, floor, parameters, weights)


def measure_lengths(block: Block, lengths: Any, share: Any, floor: float) -> tuple[float, Any]:
    """The loss of all ``lengths``, weighted by ``share`` unless it is None, and their weights."""
    lengths = np.ascontiguousarray(lengths)
    weights = np.empty_like(lengths)
    shares = lengths if share is None else np.ascontiguousarray(share, lengths.dtype)
    shared = int(share is not None)
    total = _measure_all(block.address, lengths, shares, shared, floor, block.parameters, weights)
    return float(total), weights


@compiled
def _penalize_all(address, codes, parameters, shifts):
    k = codes.shape[1]
    totals = np.empty(codes.shape[0])
    for i in range(codes.shape[0]):
        line, slopes = (
            span(line_of(codes), i * k, (i + 1) * k),
            span(line_of(shifts), i * k, (i + 1) * k),
        )
        totals[i] = penalize(address, k, line, parameters, slopes)
    return totals


def penalize_codes(block: Block, codes: Any, share: Any) -> tuple[float, Any]:
    """The penalty of all ``codes``, rows weighted by ``share``, and the slope at each code."""
    codes = np.ascontiguousarray(codes)
    shifts = np.empty_like(codes)
    totals = _penalize_all(block.address, codes, block.parameters, shifts)
    return float(totals.sum() if share is None else totals @ share), shifts
