"""Loops for which NumPy has functions. Those can raise errors with messages, for which Numba
compiles string functions for seconds.
"""

from .jit import inner
from .views import line_of


@inner
def clear(vector):
    for i in range(vector.shape[0]):
        vector[i] = 0


@inner
def copy(matrix, target):
    """Copy a matrix into the first columns of ``target``."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            target[i, j] = matrix[i, j]


@inner
def add_to(total, part):
    for i in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[i, j] += part[i, j]


@inner
def sum_of(numbers):
    total = 0.0
    for i in range(numbers.shape[0]):
        total += numbers[i]
    return total


@inner
def scale(factors, rows, out):
    """``out[i] = factors[i] · rows[i]``, in the first columns of ``out``."""
    for i in range(rows.shape[0]):
        for q in range(rows.shape[1]):
            out[i, q] = factors[i] * rows[i, q]


@inner
def extrapolate(codes, before, eta, point):
    """``point`` = max(0, V + η(V − V_previous)); it may be the array of V_previous."""
    v, last, y = line_of(codes), line_of(before), line_of(point)
    for i in range(v.shape[0]):
        y[i] = max(codes.dtype.type(0), v[i] + eta * (v[i] - last[i]))


@inner
def longest_range(bounds):
    """The largest difference of consecutive bounds."""
    longest = 0
    for b in range(bounds.shape[0] - 1):
        longest = max(longest, bounds[b + 1] - bounds[b])
    return longest
