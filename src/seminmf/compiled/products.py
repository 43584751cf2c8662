"""Products with rows of X, dense or sparse: the only compiled code that reads entries of X.

``rows`` are the dense rows of some samples, as from `dense_rows`, and are not read if X is sparse.
Products have enough columns to fill whole vectors; sums over the rows of X are k × m for dense X,
m × columns for sparse X.
"""

import numpy as np

from .apart import Apart
from .blas import blas_add_cross, blas_times
from .jit import inlined, inner
from .simd.lanes import LINE, WIDTH, fetch
from .simd.rows import add_rows, rows_times, scatter_row, weighted_rows
from .views import matrix_at, rows_of

# Products whose narrow factor has at most this many entries, and so stays in the cache, are made
# here, larger ones by BLAS, which is meant for them. Rows of X are added up in strips of this many.
SKINNY, STRIP = 40_000, 64
# How many rows ahead memory is fetched when rows are copied.
_ROWS_AHEAD = 4


def padded_width(n_components, dtype):
    """The number of components, rounded up to whole vectors."""
    count = WIDTH // dtype.itemsize
    return -(-n_components // count) * count


@inner
def gather(samples, start, stop, room):
    """Copy the rows of X of the samples from ``start`` to ``stop`` into ``room``.

    They may be anywhere in X, so the processor is told in advance which ones come next.
    """
    m, numbered = samples.n_features, samples.numbering.shape[0] > 0
    entries, step = samples.entries, samples.column_step
    by_rows = matrix_at(entries, 0, 0, m)
    if numbered and step == 1 and samples.row_step == m:
        for i in range(start, stop):
            ahead = samples.numbering[min(i + _ROWS_AHEAD, stop - 1)]
            for j in range(0, m, LINE // entries.itemsize):
                fetch(by_rows, ahead * m + j)
            number = samples.numbering[i]
            for j in range(m):
                room[i - start, j] = by_rows[number, j]
        return
    for i in range(start, stop):
        first = (samples.numbering[i] if numbered else i) * samples.row_step
        for j in range(m):
            room[i - start, j] = entries[first + j * step]


@inlined
def dense_rows(samples, start, stop, room):
    """The rows of X of some samples as a matrix; copied to ``room`` unless X is ``plain``."""
    m = samples.n_features
    rows = rows_of(room, 0, stop - start)
    if samples.plain:
        rows = matrix_at(samples.entries, start * m, stop - start, m)
    elif not samples.sparse:
        gather(samples, start, stop, rows)
    return rows


@inner
def _sparse_row(samples, i):
    """Where the entries of sample i begin and end."""
    number = samples.numbering[i]
    return samples.indptr[number], samples.indptr[number + 1]


@Apart
def products(samples, rows, start, stop, basis, out, spare):
    """``out`` = X · basis for the samples from ``start`` to ``stop``.

    ``spare`` is room for a number for each of them, used if X is sparse.
    """
    n = stop - start
    if samples.sparse:
        weighted_rows(
            basis, samples.numbering, start, n, samples.indptr, samples.indices, samples.entries,
            samples.ones, out, spare,
        )  # fmt: skip
    elif basis.size <= SKINNY:
        for first in range(0, n, STRIP):
            rows_times(rows, first, min(first + STRIP, n), basis, out)
    else:
        blas_times(samples.blas, rows, basis, out)


@Apart
def cross_products(blas, rows, weighted, totals):
    """``totals`` += weightedᵀ · rows."""
    n, m = rows.shape
    if m * weighted.shape[1] <= SKINNY and m * rows.itemsize >= WIDTH:
        for first in range(0, n, STRIP):
            add_rows(rows, first, min(first + STRIP, n), weighted, totals)
    else:
        blas_add_cross(blas, rows, weighted, totals)


@Apart
def sparse_adjoint_products(samples, start, weighted, sums):
    """``sums`` += Σ x · weightedᵀ over the samples from ``start`` on, for sparse X.

    ``weighted`` has a row for each of them, with whole vectors of columns.
    """
    totals = matrix_at(sums, 0, samples.n_features, weighted.shape[1])
    for r in range(weighted.shape[0]):
        first, last = _sparse_row(samples, start + r)
        scatter_row(samples.entries, samples.indices, first, last, weighted, r, totals)


# How compiled code calls these, with the address first.
times, add_cross = products.call, cross_products.call
_add_sparse_adjoint = sparse_adjoint_products.call


@inner
def add_adjoint(kernels, samples, rows, start, weighted, sums):
    """``sums`` += Σ x · weightedᵀ over the samples from ``start`` on.

    ``weighted`` has a row for each of them, for sparse X with whole vectors of columns.
    """
    if samples.sparse:
        _add_sparse_adjoint(kernels.add_sparse_adjoint, samples, start, weighted, sums)
    else:
        totals = matrix_at(sums, 0, weighted.shape[1], samples.n_features)
        add_cross(kernels.add_cross, samples.blas, rows, weighted, totals)


@inner
def exact_residuals(samples, rows, start, stop, point, left, fitted):
    """‖x − Uv‖ by the explicit difference, for those samples of a block whose ``left`` is negative.

    ``fitted`` is room for one sample.
    """
    basis, codes, lengths = point.basis.U, point.codes, point.residuals
    m, k = samples.n_features, codes.shape[1]
    for i in range(start, stop):
        if left[i] < 0:
            for j in range(m):
                total = lengths.dtype.type(0)
                for q in range(k):
                    total += basis[j, q] * codes[i, q]
                fitted[j] = -total
            if samples.sparse:
                first, last = _sparse_row(samples, i)
                for e in range(first, last):
                    fitted[samples.indices[e]] += samples.entries[e]
            else:
                for j in range(m):
                    fitted[j] += rows[i - start, j]
            square = 0.0
            for j in range(m):
                square += fitted[j] * fitted[j]
            lengths[i] = np.sqrt(square)
