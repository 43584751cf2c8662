"""A new basis from the two moments Xᵀ(d∘V) and Vᵀ(d∘V)."""

import numpy as np

from .codes import save, update_codes
from .jit import compiled
from .loops import copy
from .products import add_cross
from .simd.tiles import TILE, add_products

# Pivots of the k × k system below this share of their diagonal entry count as zero, and so do
# eigenvalues below this share of the largest.
RANK_TOLERANCE = 1e-14


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
    negative = np.zeros((k, k))
    for q in range(k):
        for p in range(k):
            negative[q, p] = -factor[max(q, p), min(q, p)]
    features = np.arange(m)
    solution, u = np.zeros((m, k)), np.zeros((k, TILE))
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
        save(solution, features, start, count, u)
    copy(solution, basis)
    products = np.zeros((k, k))
    add_cross(solution, solution, products)
    copy(products, omega)
    return True


@compiled
def nonnegative_basis(run, features, bounds, moment, gram, old, new, step):
    """The basis by a rule for codes: the problem is the same with X transposed."""
    update_codes(run, features, bounds, moment, gram, old, new, step)
