"""The compiled loops, and nothing else.

Two of them, `times` and `add_adjoint`, are the products with X; the others take small statistics
(``phi`` = X·U, ``omega`` = UᵀU, weights) and never X itself. All of them release the GIL, so that
several threads may run them at once, and none starts threads of its own.

Rows are handled in tiles of ``TILE`` that are stored transposed: the innermost loop then runs over
independent samples with a constant trip count, which the compiler turns into full vector code
whatever the number of components is.

The compiled code is cached on disk. This module is imported on the first fit, not with the
package, because loading the compiler takes longer than most fits.
"""

import numpy as np

from .jit import compiled
from .simd.lanes import WIDTH
from .simd.tiles import (
    TILE,
    add_products,
    descend_tile,
    fit_tile,
    invert_tile,
    load_tile,
    multiply_tile,
    store_tile,
)
from .simd.rows import add_rows, rows_times, scale_rows, weighted_rows

# Pivots of the k × k system below this share of their diagonal entry count as zero, and so do
# eigenvalues below this share of the largest.
RANK_TOLERANCE = 1e-14

# Products whose narrow factor has so few entries that it stays in the cache are done here, larger
# ones by BLAS, which is made for those. Rows of X are added up in strips.
SKINNY, STRIP = 20_000, 64

# In double and single precision: denominators below these have too few digits to divide by, ...
SMALLEST, SMALLEST_SINGLE = 1e-290, 1e-30
# ... and codes below these are zero. They only shrink, and products of them would be subnormal
# numbers, with which processors calculate a hundred times slower.
VANISHED, VANISHED_SINGLE = 1e-150, 1e-18

# The samples of a tile, as they come.
_EVERY = np.arange(TILE)


# Three loops that NumPy has words for; but those can fail, with a message, and Numba compiles
# functions on strings for that for seconds.


@compiled
def clear(matrix):
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] = 0


@compiled
def copy(matrix, target):
    """Into the first columns of ``target``."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            target[i, j] = matrix[i, j]


@compiled
def add_to(total, part):
    for i in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[i, j] += part[i, j]


@compiled
def longest_part(bounds):
    """The largest difference of consecutive bounds."""
    longest = 0
    for b in range(bounds.shape[0] - 1):
        longest = max(longest, bounds[b + 1] - bounds[b])
    return longest


@compiled
def _load(matrix, rows, start, count, tile):
    """``tile[q, r] = matrix[rows[start + r], q]`` for r < count."""
    if min(count, matrix.shape[1]) * matrix.itemsize >= WIDTH:
        load_tile(matrix, rows, start, count, tile)
    else:
        for r in range(count):
            for q in range(matrix.shape[1]):
                tile[q, r] = matrix[rows[start + r], q]


@compiled
def _save(matrix, rows, start, count, tile):
    """``matrix[rows[start + r], q] = tile[q, r]`` for r < count."""
    if min(count, matrix.shape[1]) * matrix.itemsize >= WIDTH:
        store_tile(matrix, rows, start, count, tile)
    else:
        for r in range(count):
            for q in range(matrix.shape[1]):
                matrix[rows[start + r], q] = tile[q, r]


@compiled
def _pulls(
    rows, start, count, codes, weights, indptr, indices, edges, alpha, scale, sums, pull, stiffness
):  # fmt: skip
    """What the neighbours do to a tile of samples: α Σ_j W_ij v_j / d_i and α Σ_j W_ij / d_i."""
    k = codes.shape[1]
    for r in range(count):
        scale[r] = weights[rows[start + r]]
    for r in range(TILE):
        scale[r] = alpha / scale[r]
    if k * codes.itemsize >= WIDTH:
        weighted_rows(codes, rows, start, count, indptr, indices, edges, scale, sums, stiffness)
    else:
        for r in range(count):
            i = rows[start + r]
            stiffness[r] = 0
            sums[r] = 0
            for e in range(indptr[i], indptr[i + 1]):
                weight = scale[r] * edges[e]
                stiffness[r] += weight
                for q in range(k):
                    sums[r, q] += weight * codes[indices[e], q]
    _load(sums, _EVERY, 0, count, pull)


@compiled
def _store(rows, start, count, v, f, omega, codes, fit, totals):
    """Write a tile of codes back, and ``fit`` = v Ω vᵀ − 2 v·φ for each of its samples."""
    fit_tile(omega, f, v, totals)
    for r in range(count):
        fit[rows[start + r]] = totals[r]
    _save(codes, rows, start, count, v)


@compiled
def cd_codes(
    rows, bounds, phi, omega, codes, weights, indptr, indices, edges, alpha, sweeps, fit
):  # fmt: skip
    """Cyclic coordinate descent on the codes of ``rows``, in place.

    Each row minimises d·(v Ω vᵀ − 2 v·φ) + α Σ_j W_ij ‖v − v_j‖² over v ≥ 0, starting from its
    present value and reading its neighbours' present values. ``rows[bounds[c]:bounds[c + 1]]``
    are handled together, class after class, and must not be neighbours of each other.

    ``fit[i]`` receives v Ω vᵀ − 2 v·φ, which is ‖x − Uv‖² − ‖x‖².
    """
    k = codes.shape[1]
    dtype = codes.dtype
    # One array: to allocate seven takes half as long as the work on a tile, and there may be one.
    space = np.zeros((3 * k + phi.shape[1] + 3, TILE), dtype)
    v, pull, inverse, f = space[:k], space[k : 2 * k], space[2 * k : 3 * k], space[3 * k : -3]
    stiffness, scale, totals = space[-3], space[-2], space[-1]
    scale[:] = 1
    sums = np.zeros((TILE, k), dtype)
    invert_tile(omega, stiffness, inverse)
    start, group = bounds[0], 0
    while start < bounds[-1]:
        while start >= bounds[group + 1]:
            group += 1
        count = min(TILE, bounds[group + 1] - start)
        _load(codes, rows, start, count, v)
        _load(phi, rows, start, count, f)
        if alpha > 0:
            _pulls(
                rows, start, count, codes, weights, indptr, indices, edges, alpha, scale, sums,
                pull, stiffness,
            )  # fmt: skip
            for q in range(k):
                for r in range(TILE):
                    pull[q, r] += f[q, r]
            invert_tile(omega, stiffness, inverse)
        target = pull if alpha > 0 else f
        for _ in range(sweeps):
            descend_tile(omega, target, stiffness, inverse, v)
        _store(rows, start, count, v, f, omega, codes, fit, totals)
        start += count


@compiled
def _by_sign(omega):
    """The entries of each row of Ω without their signs, the positive ones first.

    Returns them, the columns they come from, and how many are positive. Ω⁺ and Ω⁻ together have no
    more entries than Ω, so that products with both cost no more than one with Ω.
    """
    k = omega.shape[0]
    sizes, columns, split = np.empty_like(omega), np.empty((k, k), np.int64), np.zeros(k, np.int64)
    for q in range(k):
        last = k
        for p in range(k):
            if omega[q, p] > 0:
                place = split[q]
                split[q] += 1
            else:
                last -= 1
                place = last
            sizes[q, place], columns[q, place] = abs(omega[q, p]), p
    return sizes, columns, split


@compiled
def mu_codes(
    rows, phi, omega, source, codes, weights, indptr, indices, edges, alpha, root, fit
):  # fmt: skip
    """The paper's multiplicative rule (eq. l21snfsol): ``source`` → ``codes``.

    v ← v ∘ (numerator / denominator)^½ (or ^1 with ``root=False``, Lee and Seung's rule for
    non-negative data); all rows read the old codes. An entry whose denominator is zero, or has
    run out of digits near the smallest numbers, has no influence on the objective and stays.
    ``fit`` as in `cd_codes`.
    """
    k = codes.shape[1]
    dtype = codes.dtype
    old = np.zeros((k, TILE), dtype)
    v = np.zeros((k, TILE), dtype)
    f = np.zeros((phi.shape[1], TILE), dtype)
    pull = np.zeros((k, TILE), dtype)
    stiffness = np.zeros(TILE, dtype)
    scale = np.ones(TILE, dtype)
    totals = np.zeros(TILE, dtype)
    sums = np.zeros((TILE, k), dtype)
    sizes, partners, split = _by_sign(omega)
    double = dtype.type(SMALLEST) > 0
    smallest = dtype.type(SMALLEST if double else SMALLEST_SINGLE)
    vanished = dtype.type(VANISHED if double else VANISHED_SINGLE)
    for start in range(0, rows.shape[0], TILE):
        count = min(TILE, rows.shape[0] - start)
        _load(source, rows, start, count, old)
        _load(phi, rows, start, count, f)
        if alpha > 0:
            _pulls(
                rows, start, count, source, weights, indptr, indices, edges, alpha, scale, sums,
                pull, stiffness,
            )  # fmt: skip
        multiply_tile(sizes, partners, split, f, pull, stiffness, old, root, smallest, vanished, v)
        _store(rows, start, count, v, f, omega, codes, fit, totals)


@compiled
def times(X, start, stop, lower, basis, out):
    """``out`` = X[start:stop] · basis, both with whole vectors of columns.

    ``lower`` says that X has only zeros right of its diagonal.
    """
    n, m = stop - start, X.shape[1]
    rows = X[start:stop]
    if basis.size <= SKINNY:
        for first in range(0, n, STRIP):
            last = min(first + STRIP, n)
            reach = min(m, start + last) if lower else m
            rows_times(rows, first, last, reach, basis, out)
    else:
        np.dot(rows, basis, out)


@compiled
def add_adjoint(X, start, stop, lower, weighted, totals):
    """``totals`` += weightedᵀ · X[start:stop], with ``lower`` as in `times`."""
    n, m = stop - start, X.shape[1]
    rows = X[start:stop]
    if m * weighted.shape[1] <= SKINNY and m * X.itemsize >= WIDTH:
        for first in range(0, n, STRIP):
            last = min(first + STRIP, n)
            reach = min(m, max(start + last, TILE)) if lower else m
            add_rows(rows, first, last, reach, weighted, totals)
    else:
        add_to(totals, np.dot(weighted.T, rows))


@compiled
def solve_basis(moment, gram, ridge, basis, omega):
    """``basis`` = moment · (gram + diag(ridge))⁻¹ by Cholesky, and ``omega`` = UᵀU.

    Returns False, with nothing written, where the system is singular to working precision.
    """
    m, k = moment.shape
    factor = np.zeros((k, k))
    for q in range(k):
        for p in range(q + 1):
            total = np.float64(gram[q, p])
            if p == q:
                total += ridge[q]
            diagonal = total
            for c in range(p):
                total -= factor[q, c] * factor[p, c]
            if p < q:
                factor[q, p] = total / factor[p, p]
            elif total > RANK_TOLERANCE * diagonal:
                factor[q, q] = np.sqrt(total)
            else:
                return False
    # −L left of the diagonal and −Lᵀ right of it.
    negative = np.empty((k, k))
    for q in range(k):
        for p in range(k):
            negative[q, p] = -factor[max(q, p), min(q, p)]
    features = np.arange(m)
    solution, u = np.empty((m, k)), np.zeros((k, TILE))
    for start in range(0, m, TILE):
        count = min(TILE, m - start)
        for r in range(count):
            for q in range(k):
                u[q, r] = moment[start + r, q]
        for q in range(k):
            add_products(negative[q], 0, q, u, u[q])
            for r in range(TILE):
                u[q, r] /= factor[q, q]
        for q in range(k - 1, -1, -1):
            add_products(negative[q], q + 1, k, u, u[q])
            for r in range(TILE):
                u[q, r] /= factor[q, q]
        _save(solution, features, start, count, u)
    copy(solution, basis)
    products = np.zeros((k, k))
    add_adjoint(solution, 0, m, False, solution, products)
    copy(products, omega)
    return True


@compiled
def extrapolate(codes, eta, point):
    """``point``, where V_previous was, becomes max(0, V + η(V − V_previous))."""
    v, y = codes.reshape(codes.size), point.reshape(point.size)
    for i in range(v.shape[0]):
        y[i] = max(codes.dtype.type(0), v[i] + eta * (v[i] - y[i]))


@compiled
def scale(factors, rows, out):
    """``out[i] = factors[i] · rows[i]``."""
    if rows.shape[1] * rows.itemsize >= WIDTH:
        scale_rows(factors, rows, out)
    else:
        for i in range(rows.shape[0]):
            for q in range(rows.shape[1]):
                out[i, q] = factors[i] * rows[i, q]


@compiled
def residual_lengths(squares, fit, cancellation, lengths):
    """√(‖x‖² + fit) for each row; returns how many are lost to cancellation.

    Those are the rows whose ‖x − Uv‖² is below ``cancellation`` times ‖x‖².
    """
    lost = 0
    for i in range(squares.shape[0]):
        square = squares[i] + fit[i]
        if square < cancellation * squares[i]:
            lost += 1
        lengths[i] = np.sqrt(max(square, squares.dtype.type(0)))
    return lost
