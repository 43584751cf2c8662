"""The basis step: a new basis from the moments Xᵀ(d∘V) and Vᵀ(d∘V)."""

from functools import partial

import numpy as np
from numba import types

from .apart import Apart
from .codes import update_codes
from .jit import borrowing, inner
from .loops import clear, copy
from .products import add_cross
from .simd.tiles import TILE, add_products, store_tile
from .views import line_of, span

# A pivot of the k × k system below this share of its diagonal entry counts as zero, and so does an
# eigenvalue below this share of the largest. Sums in single precision have fewer digits.
RANK_TOLERANCE, SINGLE_RANK_TOLERANCE = 1e-14, 1e-7


@inner
def _factorize(gram, beta, floor, lengths, diagonal, negative):
    """Cholesky factor L of gram + diag(ridge); False if that is singular to working precision.

    The ridge is β/2t for the present lengths t, not below the floor. L comes as its ``diagonal``
    and, in ``negative``, −L below the diagonal and −Lᵀ above it.
    """
    tolerance = RANK_TOLERANCE if gram.itemsize == 8 else SINGLE_RANK_TOLERANCE
    for q in range(gram.shape[0]):
        for p in range(q + 1):
            total = np.float64(gram[q, p])
            if p == q:
                total += 0.5 * beta / max(lengths[q], floor)
            whole = total
            for c in range(p):
                total -= negative[q, c] * negative[p, c]
            if p < q:
                negative[q, p] = negative[p, q] = -total / diagonal[p]
            elif total > tolerance * whole:
                diagonal[q] = np.sqrt(total)
            else:
                return False
    return True


@partial(Apart, returns=types.float64)
def basis_solution(moment, gram, beta, floor, before, room, basis, omega, lengths):
    """``basis`` = moment · (gram + diag(ridge))⁻¹ by Cholesky, ``omega`` = UᵀU, and ``lengths``.

    The ridge is β/2t for the lengths t ``before``, not below the floor. Returns the sum of the new
    lengths, or −1, with nothing written, if the system is singular to working precision.
    """
    m, k = moment.shape
    diagonal, negative, u = room.diagonal, room.negative, room.tile
    if not _factorize(gram, beta, floor, before, diagonal, negative):
        return -1.0
    for start in range(0, m, TILE):
        count = min(TILE, m - start)
        for r in range(count):
            for q in range(k):
                u[q, r] = moment[start + r, q]
        # Forward substitution, then backward.
        for turn in range(2 * k):
            q = turn if turn < k else 2 * k - 1 - turn
            entries = span(line_of(negative), q * k, (q + 1) * k)
            row = span(line_of(u), q * TILE, (q + 1) * TILE)
            add_products(entries, 0 if turn < k else q + 1, q if turn < k else k, u, row)
            for r in range(TILE):
                row[r] /= diagonal[q]
        store_tile(room.solution, room.features, start, count, u)
    for j in range(m):
        for q in range(k):
            basis[j, q] = room.solution[j, q]
    clear(line_of(room.products))
    add_cross(room.add_cross, room.blas, room.solution, room.solution, room.products)
    copy(room.products, omega)
    total = 0.0
    for q in range(k):
        lengths[q] = np.sqrt(room.products[q, q])
        total += lengths[q]
    return total


# How compiled code calls it, with the address first.
solve_basis = basis_solution.call


@borrowing
def nonnegative_basis(run, room, features, moment, old, new, step):
    """A non-negative basis by a rule for codes: the same problem with X transposed."""
    address = run.kernels.update_codes
    m = features.shape[0]
    update_codes(address, run, room, features, 0, m, moment, old, new, step)
