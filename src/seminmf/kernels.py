"""The compiled loops, and nothing else.

Every kernel takes small statistics (``phi`` = X·U, ``omega`` = UᵀU, weights) and never X itself.
All of them release the GIL, so that the engine may run them on several threads at once, and none
starts threads of its own.

Rows are handled in tiles of ``TILE`` that are stored transposed: the innermost loop then runs over
independent samples with a constant trip count, which the compiler turns into full vector code
whatever the number of components is.

The compiled code is cached on disk. This module is imported on the first fit, not with the
package, because loading the compiler takes longer than most fits.
"""

import numpy as np

from ._compile import compiled

TILE = 64

# Pivots of the k × k system below this share of their diagonal entry count as zero, and so do
# eigenvalues below this share of the largest.
RANK_TOLERANCE = 1e-14

# In double and single precision: denominators below these have too few digits to divide by, ...
SMALLEST, SMALLEST_SINGLE = 1e-290, 1e-30
# ... and codes below these are zero. They only shrink, and products of them would be subnormal
# numbers, with which processors calculate a hundred times slower.
VANISHED, VANISHED_SINGLE = 1e-150, 1e-18


@compiled
def _neighbour_sums(row, codes, indptr, indices, edges, sums):
    """Write Σ_j W_ij v_j into ``sums`` and return Σ_j W_ij.

    Unsigned indices spare the test for negative ones.
    """
    total = edges.dtype.type(0)
    sums[:] = 0
    for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
        weight, other = edges[e], np.uint64(indices[e])
        total += weight
        for q in range(sums.shape[0]):
            sums[q] += weight * codes[other, q]
    return total


@compiled
def _add_products(row, v, first, totals):
    """``totals`` += Σ_p row[p] · v[p] over p ≥ ``first``, for a tile of samples.

    Four components at a time, so that the totals are loaded and stored a quarter as often.
    """
    k = v.shape[0]
    p = first
    while p + 3 < k:
        a, b, c, d = row[p], row[p + 1], row[p + 2], row[p + 3]
        for r in range(TILE):
            totals[r] += a * v[p, r] + b * v[p + 1, r] + c * v[p + 2, r] + d * v[p + 3, r]
        p += 4
    while p < k:
        a = row[p]
        for r in range(TILE):
            totals[r] += a * v[p, r]
        p += 1


@compiled
def _store(rows, start, count, v, f, omega, codes, fit, totals, products):
    """Write a tile of codes back, and ``fit`` = v Ω vᵀ − 2 v·φ for each of its samples."""
    k = v.shape[0]
    totals[:] = 0
    for q in range(k):
        half = omega[q, q] / 2
        for r in range(TILE):
            products[r] = half * v[q, r] - f[q, r]
        _add_products(omega[q], v, q + 1, products)
        for r in range(TILE):
            totals[r] += 2 * v[q, r] * products[r]
    for r in range(count):
        i = rows[start + r]
        fit[i] = totals[r]
        for q in range(k):
            codes[i, q] = v[q, r]


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
    v = np.zeros((k, TILE), dtype)
    f = np.zeros((k, TILE), dtype)
    pull = np.zeros((k, TILE), dtype)
    stiffness = np.zeros(TILE, dtype)
    gradient = np.zeros(TILE, dtype)
    totals = np.zeros(TILE, dtype)
    sums = np.zeros(k, dtype)
    start, group = bounds[0], 0
    while start < bounds[-1]:
        while start >= bounds[group + 1]:
            group += 1
        count = min(TILE, bounds[group + 1] - start)
        for r in range(count):
            i = rows[start + r]
            for q in range(k):
                v[q, r] = codes[i, q]
                f[q, r] = phi[i, q]
            if alpha > 0:
                scale = alpha / weights[i]
                degree = _neighbour_sums(i, codes, indptr, indices, edges, sums)
                stiffness[r] = scale * degree
                for q in range(k):
                    pull[q, r] = scale * sums[q]
        for _ in range(sweeps):
            for q in range(k):
                for r in range(TILE):
                    gradient[r] = -f[q, r]
                _add_products(omega[q], v, 0, gradient)
                curvature = omega[q, q]
                if alpha > 0:
                    for r in range(TILE):
                        h = curvature + stiffness[r]
                        slope = gradient[r] + stiffness[r] * v[q, r] - pull[q, r]
                        if h > 0:
                            v[q, r] = max(dtype.type(0), v[q, r] - slope / h)
                elif curvature > 0:
                    inverse = 1 / curvature
                    for r in range(TILE):
                        v[q, r] = max(dtype.type(0), v[q, r] - gradient[r] * inverse)
        _store(rows, start, count, v, f, omega, codes, fit, totals, gradient)
        start += count


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
    f = np.zeros((k, TILE), dtype)
    pull = np.zeros((k, TILE), dtype)
    push = np.zeros((k, TILE), dtype)
    up = np.zeros(TILE, dtype)
    down = np.zeros(TILE, dtype)
    sums = np.zeros(k, dtype)
    plus = np.maximum(omega, dtype.type(0))
    minus = np.maximum(-omega, dtype.type(0))
    double = dtype.type(SMALLEST) > 0
    smallest = dtype.type(SMALLEST if double else SMALLEST_SINGLE)
    vanished = dtype.type(VANISHED if double else VANISHED_SINGLE)
    for start in range(0, rows.shape[0], TILE):
        count = min(TILE, rows.shape[0] - start)
        for r in range(count):
            i = rows[start + r]
            for q in range(k):
                old[q, r] = source[i, q]
                f[q, r] = phi[i, q]
            if alpha > 0:
                scale = alpha / weights[i]
                degree = _neighbour_sums(i, source, indptr, indices, edges, sums)
                for q in range(k):
                    pull[q, r] = scale * sums[q]
                    push[q, r] = scale * degree * old[q, r]
        for q in range(k):
            for r in range(TILE):
                up[r] = max(f[q, r], dtype.type(0)) + pull[q, r]
                down[r] = max(-f[q, r], dtype.type(0)) + push[q, r]
            _add_products(minus[q], old, 0, up)
            _add_products(plus[q], old, 0, down)
            for r in range(TILE):
                ratio = up[r] / down[r] if down[r] > smallest else dtype.type(1)
                new = old[q, r] * (np.sqrt(ratio) if root else ratio)
                v[q, r] = new if new > vanished else dtype.type(0)
        _store(rows, start, count, v, f, omega, codes, fit, up, down)


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
    products = np.zeros((k, k))
    u = np.zeros((k, TILE))
    for start in range(0, m, TILE):
        count = min(TILE, m - start)
        for r in range(count):
            for q in range(k):
                u[q, r] = moment[start + r, q]
        for r in range(count, TILE):
            for q in range(k):
                u[q, r] = 0
        for q in range(k):
            for p in range(q):
                a = factor[q, p]
                for r in range(TILE):
                    u[q, r] -= a * u[p, r]
            a = 1 / factor[q, q]
            for r in range(TILE):
                u[q, r] *= a
        for q in range(k - 1, -1, -1):
            for p in range(q + 1, k):
                a = factor[p, q]
                for r in range(TILE):
                    u[q, r] -= a * u[p, r]
            a = 1 / factor[q, q]
            for r in range(TILE):
                u[q, r] *= a
        for r in range(count):
            for q in range(k):
                basis[start + r, q] = u[q, r]
        for q in range(k):
            for p in range(q + 1):
                total = 0.0
                for r in range(TILE):
                    total += u[q, r] * u[p, r]
                products[q, p] += total
    for q in range(k):
        for p in range(q + 1):
            omega[q, p] = products[q, p]
            omega[p, q] = products[q, p]
    return True


@compiled
def extrapolate(codes, previous, eta, weights, point, weighted):
    """``point`` = max(0, V + η(V − V_previous)) and ``weighted`` = d ∘ point."""
    n, k = codes.shape
    for i in range(n):
        d = weights[i]
        for q in range(k):
            y = codes[i, q] + eta * (codes[i, q] - previous[i, q])
            y = max(codes.dtype.type(0), y)
            point[i, q] = y
            weighted[i, q] = d * y


@compiled
def edge_weights(start, stop, codes, indptr, indices, base, mirror, squared, floor, edges):
    """Graph penalty over the edges (i, j), start ≤ i < stop, i < j; and their weights.

    With ``squared`` the penalty is Σ w ‖v_i − v_j‖² and the weights w stay as they are; otherwise
    it is Σ w ‖v_i − v_j‖ and both entries of the edge receive w / (2 max(‖v_i − v_j‖, floor)).
    """
    k = codes.shape[1]
    penalty = 0.0
    for i in range(np.uint64(start), np.uint64(stop)):
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
            j = np.uint64(indices[e])
            if j > i:
                total = 0.0
                for q in range(k):
                    difference = codes[i, q] - codes[j, q]
                    total += difference * difference
                if squared:
                    penalty += base[e] * total
                else:
                    distance = np.sqrt(total)
                    penalty += base[e] * distance
                    weight = 0.5 * base[e] / max(distance, floor)
                    edges[e] = weight
                    edges[mirror[e]] = weight
    return penalty


@compiled
def mirror_entries(indptr, indices):
    """For each stored entry (i, j) of a symmetric CSR pattern the position of (j, i)."""
    n = indptr.shape[0] - 1
    mirror = np.empty(indices.shape[0], indices.dtype)
    cursor = indptr[:-1].copy()
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            mirror[cursor[j]] = e
            cursor[j] += 1
    return mirror


@compiled
def greedy_colours(order, indptr, indices):
    """Colour the vertices in the given order with the smallest free colour."""
    n = indptr.shape[0] - 1
    colours = np.full(n, -1, np.int64)
    seen = np.full(n + 1, -1, np.int64)
    for i in order:
        for e in range(indptr[i], indptr[i + 1]):
            colour = colours[indices[e]]
            if colour >= 0:
                seen[colour] = i
        colour = 0
        while seen[colour] == i:
            colour += 1
        colours[i] = colour
    return colours


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
