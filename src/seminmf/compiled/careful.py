"""Non-negative least squares by orthogonalisation, to full precision, for samples for which normal
equations lose too many digits.
"""

import numpy as np

from .jit import compiled, inner
from .single import DUAL, VANISHED

# Orthogonalisation with all digits leaves at least this much of an independent unit column.
_ROUND_OFF = 1e-14


@inner
def _least_squares(columns, target, members, first, size, orthonormal, upper, solution):
    """Least squares on ``size`` members by orthogonalisation; False if the last of them depends
    on the others.

    Members before the ``first`` are orthogonalised already. Each column is orthogonalised twice,
    which keeps all digits.
    """
    r = target.shape[0]
    for a in range(first, size):
        for i in range(r):
            orthonormal[a, i] = columns[members[a], i]
        for b in range(a):
            upper[b, a] = 0.0
        for _ in range(2):
            for b in range(a):
                product = 0.0
                for i in range(r):
                    product += orthonormal[b, i] * orthonormal[a, i]
                upper[b, a] += product
                for i in range(r):
                    orthonormal[a, i] -= product * orthonormal[b, i]
        square = 0.0
        for i in range(r):
            square += orthonormal[a, i] ** 2
        if square <= _ROUND_OFF**2:
            return False
        upper[a, a] = np.sqrt(square)
        for i in range(r):
            orthonormal[a, i] /= upper[a, a]
    for a in range(size - 1, -1, -1):
        total = 0.0
        for i in range(r):
            total += orthonormal[a, i] * target[i]
        for b in range(a + 1, size):
            total -= upper[a, b] * solution[b]
        solution[a] = total / upper[a, a]
    return True


@compiled
def careful_rows(targets, factor, codes):
    """min over v ≥ 0 of ‖factor · v − target‖ for each row, to full precision.

    Lawson and Hanson's method by orthogonalisation, from v = 0. Slower for few components than
    `nnls_rows`, which starts anywhere; meant for the rows that that one finds doubtful.
    """
    n, (r, k) = targets.shape[0], factor.shape
    scale, columns = np.zeros(k), np.zeros((k, r))
    for q in range(k):
        square = 0.0
        for i in range(r):
            square += factor[i, q] ** 2
        if square > VANISHED:
            scale[q] = 1 / np.sqrt(square)
        for i in range(r):
            columns[q, i] = scale[q] * factor[i, q]
    orthonormal, upper = np.empty((min(r, k) + 1, r)), np.empty((k, k))
    v, solution, misfit, target = np.empty(k), np.empty(k), np.empty(r), np.empty(r)
    members, blocked = np.empty(k, np.int64), np.empty(k, np.bool_)
    for row in range(n):
        size, length = 0, 0.0
        for i in range(r):
            target[i] = targets[row, i]
            misfit[i] = target[i]
            length += target[i] ** 2
        for q in range(k):
            v[q] = 0.0
            blocked[q] = scale[q] == 0
        left = length
        for _ in range(10 * k + 10):
            # The steepest direction, unless only round-off is left.
            newest, steepest = -1, DUAL * np.sqrt(left)
            if left <= _ROUND_OFF**2 * length:
                break
            for q in range(k):
                if v[q] == 0 and not blocked[q]:
                    slope = 0.0
                    for i in range(r):
                        slope += columns[q, i] * misfit[i]
                    if slope > steepest:
                        newest, steepest = q, slope
            if newest < 0 or size == min(r, k):
                break
            members[size] = newest
            size += 1
            independent = _least_squares(
                columns, target, members, size - 1, size, orthonormal, upper, solution
            )
            if not independent or solution[size - 1] <= 0:
                blocked[newest] = True
                size -= 1
                continue
            for q in range(k):
                blocked[q] = scale[q] == 0
            while size > 0:
                ratio, limiting = 1.0, -1
                for a in range(size):
                    present = v[members[a]]
                    if solution[a] <= 0 and present / (present - solution[a]) <= ratio:
                        ratio, limiting = present / (present - solution[a]), a
                kept, changed = 0, size
                for a in range(size):
                    q = members[a]
                    v[q] += ratio * (solution[a] - v[q])
                    if a == limiting or v[q] <= 0:
                        v[q] = 0.0
                        changed = min(changed, a)
                    else:
                        members[kept] = q
                        kept += 1
                size = kept
                if limiting < 0:
                    break
                _least_squares(
                    columns, target, members, changed, size, orthonormal, upper, solution
                )
            # Not from columns times codes, which may be large and cancel each other.
            for i in range(r):
                misfit[i] = target[i]
            for _ in range(2):
                for a in range(size):
                    product = 0.0
                    for i in range(r):
                        product += orthonormal[a, i] * misfit[i]
                    for i in range(r):
                        misfit[i] -= product * orthonormal[a, i]
            left = 0.0
            for i in range(r):
                left += misfit[i] ** 2
        for q in range(k):
            codes[row, q] = v[q] * scale[q]
