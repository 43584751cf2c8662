"""Compiled solvers of the convex problem of one sample at a time, for many samples.

Like `seminmf.kernels` these take small statistics of a sample, never the sample itself.
"""

import numpy as np

from .jit import compiled

# A direction whose part independent of those already in use is below this share of its length
# (squared) counts as linearly dependent: about the square root of the unit round-off.
_DEPENDENT = 1e-10
# A basis vector shorter (squared) than this share of the longest is nothing but round-off.
_VANISHED = 1e-24
# Dual feasibility: a gradient below this share of the largest |φ| (unit columns) counts as zero.
_DUAL = 1e-11


@compiled
def _solve_passive(gram, rhs, members, size, factor, solution):
    """Cholesky solve on the first ``size`` members; a dependent member gets solution 0.

    Returns the number of dependent members.
    """
    dependent = 0
    for a in range(size):
        i = members[a]
        for b in range(a + 1):
            total = gram[i, members[b]]
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            if a == b:
                if total > _DEPENDENT * gram[i, i]:
                    factor[a, a] = np.sqrt(total)
                else:
                    factor[a, a] = 0.0
                    dependent += 1
            elif factor[b, b] > 0:
                factor[a, b] = total / factor[b, b]
            else:
                factor[a, b] = 0.0
    for a in range(size):
        total = rhs[members[a]]
        for c in range(a):
            total -= factor[a, c] * solution[c]
        solution[a] = total / factor[a, a] if factor[a, a] > 0 else 0.0
    for a in range(size - 1, -1, -1):
        total = solution[a]
        for c in range(a + 1, size):
            total -= factor[c, a] * solution[c]
        solution[a] = total / factor[a, a] if factor[a, a] > 0 else 0.0
    return dependent


@compiled
def nnls_rows(phi, omega, stiffness, codes):
    """Non-negative least squares for each row: min over v ≥ 0 of v Ω vᵀ + c‖v‖² − 2 v·φ, in place.

    Lawson and Hanson's active-set method on the normal equations with unit columns, started
    from the support of ``codes`` (zeros are a valid start).
    """
    n, k = phi.shape
    scale = np.zeros(k)
    gram = np.empty((k, k))
    rhs = np.empty(k)
    v = np.empty(k)
    factor = np.empty((k, k))
    solution = np.empty(k)
    members = np.empty(k, np.int64)
    blocked = np.empty(k, np.bool_)
    longest = 0.0
    for q in range(k):
        longest = max(longest, omega[q, q])
    prepared = -1.0
    for i in range(n):
        if stiffness[i] != prepared:
            prepared = stiffness[i]
            for q in range(k):
                diagonal = omega[q, q] + prepared
                vanished = omega[q, q] <= _VANISHED * longest
                scale[q] = 0.0 if vanished else 1 / np.sqrt(diagonal)
            for q in range(k):
                for p in range(k):
                    gram[q, p] = omega[q, p] * scale[q] * scale[p]
                gram[q, q] += prepared * scale[q] * scale[q]
        largest = 0.0
        size = 0
        for q in range(k):
            rhs[q] = phi[i, q] * scale[q]
            largest = max(largest, abs(rhs[q]))
            v[q] = 0.0
            blocked[q] = scale[q] == 0
            if codes[i, q] > 0 and not blocked[q]:
                v[q] = codes[i, q] / scale[q]
                members[size] = q
                size += 1
        newest = -1
        # Each outer step lowers the objective, so no support occurs twice: the bound is only
        # for round-off.
        for _ in range(10 * k + 10):
            while size > 0:
                dependent = _solve_passive(gram, rhs, members, size, factor, solution)
                if dependent > 0:
                    kept = 0
                    for a in range(size):
                        if factor[a, a] > 0:
                            members[kept] = members[a]
                            kept += 1
                        else:
                            v[members[a]] = 0.0
                            blocked[members[a]] = True
                    size = kept
                    continue
                ratio, limiting = 1.0, -1
                for a in range(size):
                    if solution[a] <= 0:
                        present = v[members[a]]
                        length = present - solution[a]
                        reach = present / length if length > 0 else 0.0
                        if limiting < 0 or reach < ratio:
                            ratio, limiting = reach, a
                if limiting < 0:
                    for a in range(size):
                        v[members[a]] = solution[a]
                    if newest >= 0:
                        for q in range(k):
                            blocked[q] = scale[q] == 0
                    break
                kept = 0
                for a in range(size):
                    q = members[a]
                    # The one that limits the step leaves in any case, whatever the rounding.
                    leaves = solution[a] <= 0 and v[q] <= ratio * (v[q] - solution[a])
                    if leaves or a == limiting:
                        v[q] = 0.0
                        if q == newest:
                            blocked[q] = True
                    else:
                        v[q] += ratio * (solution[a] - v[q])
                        members[kept] = q
                        kept += 1
                size = kept
            steepest = _DUAL * largest
            newest = -1
            for q in range(k):
                if v[q] == 0 and not blocked[q]:
                    gradient = rhs[q]
                    for a in range(size):
                        gradient -= gram[q, members[a]] * v[members[a]]
                    if gradient > steepest:
                        steepest = gradient
                        newest = q
            if newest < 0:
                break
            members[size] = newest
            size += 1
        for q in range(k):
            codes[i, q] = v[q] * scale[q]


@compiled
def _norm_objective(v, target, factor, beyond, anchors, weights, alpha, misfit):
    """‖x − Uv‖ + α Σ_j w_j ‖v − a_j‖; leaves Rv − z in ``misfit``, without cancellation."""
    k = v.shape[0]
    square = beyond
    for q in range(k):
        total = -target[q]
        for p in range(q, k):
            total += factor[q, p] * v[p]
        misfit[q] = total
        square += total * total
    value = np.sqrt(square)
    for j in range(anchors.shape[0]):
        distance = 0.0
        for q in range(k):
            distance += (v[q] - anchors[j, q]) ** 2
        value += alpha * weights[j] * np.sqrt(distance)
    return value


@compiled
def robust_rows(
    targets, factor, beyond, indptr, neighbours, weights, anchors, alpha, shortest, max_iter, tol,
    codes,
):  # fmt: skip
    """min over v ≥ 0 of ‖x − Uv‖ + α Σ_j w_j ‖v − v_j‖ for each row, v_j the training codes.

    With U = QR, ``targets`` are Qᵀx, ``factor`` is R and ``beyond`` the squared distance of x from
    the span of U, so that ‖x − Uv‖² = ‖Qᵀx − Rv‖² + beyond. Reweighted least squares with
    coordinate descent inside. The minimum often lies exactly at a neighbour's code, where
    reweighting only creeps: every v_j is tried at the end.
    """
    n, k = targets.shape
    omega = factor.T @ factor
    v = np.empty(k)
    misfit = np.empty(k)
    gradient = np.empty(k)
    pull = np.empty(k)
    for i in range(n):
        first, last = indptr[i], indptr[i + 1]
        near = anchors[neighbours[first:last]]
        share = weights[first:last]
        target = targets[i]
        square = beyond[i]
        for q in range(k):
            square += target[q] ** 2
        shortest_residual = shortest * np.sqrt(square)
        size = 0.0
        for q in range(k):
            v[q] = 0.0
            for j in range(last - first):
                v[q] += near[j, q] / max(last - first, 1)
            size += v[q] * v[q]
        shortest_edge = shortest * np.sqrt(size)
        value = _norm_objective(v, target, factor, beyond[i], near, share, alpha, misfit)
        still = 0
        for _ in range(max_iter):
            residual = beyond[i]
            for q in range(k):
                residual += misfit[q] ** 2
            for q in range(k):
                gradient[q] = 0.0
                for p in range(q + 1):
                    gradient[q] += factor[p, q] * misfit[p]
            # α over the sample's weight 1 / (2 max(r, shortest)); the 2 cancels below.
            relative = alpha * max(np.sqrt(residual), shortest_residual)
            stiffness = 0.0
            for q in range(k):
                pull[q] = 0.0
            for j in range(last - first):
                distance = 0.0
                for q in range(k):
                    distance += (v[q] - near[j, q]) ** 2
                weight = relative * share[j] / max(np.sqrt(distance), shortest_edge, 1e-300)
                stiffness += weight
                for q in range(k):
                    pull[q] += weight * near[j, q]
            for _sweep in range(8):
                for q in range(k):
                    h = omega[q, q] + stiffness
                    if h > 0:
                        slope = gradient[q] + stiffness * v[q] - pull[q]
                        new = max(0.0, v[q] - slope / h)
                        step = new - v[q]
                        if step != 0:
                            v[q] = new
                            for p in range(k):
                                gradient[p] += step * omega[q, p]
            new_value = _norm_objective(v, target, factor, beyond[i], near, share, alpha, misfit)
            # Slow progress is not the end: ask for it several times in a row.
            still = still + 1 if value - new_value <= tol * value else 0
            value = new_value
            if still >= 5:
                break
        for j in range(last - first):
            at_anchor = _norm_objective(
                near[j], target, factor, beyond[i], near, share, alpha, misfit
            )
            if at_anchor <= value:
                value = at_anchor
                for q in range(k):
                    v[q] = near[j, q]
        for q in range(k):
            codes[i, q] = v[q]
