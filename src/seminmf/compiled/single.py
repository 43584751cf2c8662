"""Compiled solvers of the convex problem of one sample, applied to many samples.

They take small statistics of a sample, never the sample itself.
"""

import numpy as np

from .jit import compiled, inner
from .loops import clear, longest_range
from .measures import measure, penalize
from .views import line_of, span

# A direction counts as linearly dependent if its component independent of those in use is below
# this share of its length (both squared): about the square root of the unit round-off.
_DEPENDENT = 1e-10
# A basis vector shorter (squared) than this has lost its digits. No relative limit would do: the
# scale of a vector may be in its codes.
VANISHED = 1e-290
# Dual feasibility: a gradient below this share of the largest |φ| (unit columns) counts as zero.
DUAL = 1e-14
# Reweighting: lengths below this share of the sample's own count as zero. It stops when the
# objective of a sample has fallen by less than the tolerance so many times in a row, or after so
# many rounds of so many sweeps.
SHORTEST = 1e-9
_TOLERANCE, _STILL, _ROUNDS, _SWEEPS = 1e-13, 5, 2000, 8


@inner
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


@inner
def _exchange(members, size, factor, solution, v):
    """Exchange the last member, which depends on the others, for one of those, in place.

    Raising x_last by t and lowering the others by t times their shares in it keeps the fit, and
    may lower the objective through a linear term, until one of the others is zero: that one leaves.
    Returns False if none would.
    """
    last = size - 1
    for a in range(last - 1, -1, -1):
        total = factor[last, a]
        for c in range(a + 1, last):
            total -= factor[c, a] * solution[c]
        solution[a] = total / factor[a, a]
    limiting, reach = -1, 0.0
    for a in range(last):
        if solution[a] > 0 and (limiting < 0 or v[members[a]] < reach * solution[a]):
            limiting, reach = a, v[members[a]] / solution[a]
    if limiting < 0:
        return False
    for a in range(last):
        v[members[a]] = max(v[members[a]] - reach * solution[a], 0.0)
    v[members[limiting]] = 0.0
    v[members[last]] = reach
    members[limiting] = members[last]
    return True


@compiled
def nnls_rows(phi, omega, stiffness, codes):
    """Non-negative least squares for each row: min over v ≥ 0 of v Ω vᵀ + c‖v‖² − 2 v·φ, in place.

    Lawson and Hanson's active-set method on the normal equations with unit columns, started from
    the support of ``codes``, which may be zeros. Normal equations have half the digits: returns for
    each row whether it met directions that they cannot tell from dependent ones, so that it needs
    `careful.careful_rows`.
    """
    n, k = phi.shape
    doubtful = np.zeros(n, np.bool_)
    scale = np.zeros(k)
    gram = np.empty((k, k))
    rhs = np.empty(k)
    v = np.empty(k)
    factor = np.empty((k, k))
    solution = np.empty(k)
    members = np.empty(k, np.int64)
    blocked = np.empty(k, np.bool_)
    prepared = -1.0
    for i in range(n):
        if stiffness[i] != prepared:
            prepared = stiffness[i]
            for q in range(k):
                diagonal = omega[q, q] + prepared
                scale[q] = 0.0 if omega[q, q] <= VANISHED else 1 / np.sqrt(diagonal)
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
        newest, left = -1, 10 * k + 10
        # Each outer step lowers the objective, so that no support occurs twice: the bound is only
        # for round-off.
        while left > 0:
            left -= 1
            while size > 0:
                dependent = _solve_passive(gram, rhs, members, size, factor, solution)
                if dependent > 0:
                    doubtful[i] = True
                    last = size - 1
                    only = dependent == 1 and members[last] == newest and factor[last, last] == 0
                    if only and _exchange(members, size, factor, solution, v):
                        size -= 1
                        continue
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
                    # The limiting member leaves in any case, whatever the rounding.
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
            steepest = DUAL * largest
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
        doubtful[i] = doubtful[i] or left == 0
        for q in range(k):
            codes[i, q] = v[q] * scale[q]
    return doubtful


@inner
def _misfit(v, target, factor, beyond, misfit):
    """‖x − Uv‖ without cancellation; writes Rv − z to ``misfit``, with z the target."""
    k, square = v.shape[0], beyond
    for q in range(k):
        total = -target[q]
        for p in range(q, k):
            total += factor[q, p] * v[p]
        misfit[q] = total
        square += total * total
    return np.sqrt(square)


@inner
def _distances(v, graph, first, last, anchors, lengths):
    """‖v − v_j‖ for the neighbours j of a sample."""
    for e in range(first, last):
        square = 0.0
        for q in range(v.shape[0]):
            square += (v[q] - anchors[graph.indices[e], q]) ** 2
        lengths[e - first] = np.sqrt(square)


@inner
def _sample_objective(ties, v, residual, lengths, first, last, floors, weights):
    """J of a sample at v, given its residual and the lengths of its edges.

    Writes to ``weights`` those of the edges, then that of the residual, then the slope of the
    penalty at each entry of v.
    """
    terms, graph, count, k = ties.terms, ties.graph, last - first, v.shape[0]
    own, shifts = span(weights, count, count + 1), span(weights, count + 1, count + 1 + k)
    value = measure(terms.loss, 1, residual, residual, 0, floors[0], terms.loss_parameters, own)
    if count > 0:
        base = span(graph.base, first, last)
        value += ties.alpha * measure(
            terms.graph, count, lengths, base, 1, floors[1], terms.graph_parameters, weights
        )
    if ties.penalty > 0:
        value += ties.penalty * penalize(terms.penalty, k, v, terms.penalty_parameters, shifts)
    else:
        clear(shifts)
    return value


@compiled
def reweighted_rows(ties, targets, factor, beyond, anchors, codes):
    """min over v ≥ 0 of ρ(‖x − Uv‖) + α Σ_j w_j ρ_g(‖v − v_j‖) + μ Σ_q π(v_q) for each row.

    With U = QR, ``targets`` are Qᵀx, ``factor`` is R and ``beyond`` the squared distance of x from
    the span of U, so that ‖x − Uv‖² = ‖Qᵀx − Rv‖² + beyond. ``anchors`` are the codes v_j of the
    training samples. Reweighted least squares with coordinate descent inside, started from
    ``codes``, where neither the residual nor an edge should have length zero, since it would stay
    there. The minimum is often exactly at a neighbour's code, which reweighting only creeps up to:
    every v_j is tried at the end. Returns the value of each row.
    """
    n, k = targets.shape
    graph, terms = ties.graph, ties.terms
    omega = np.zeros((k, k))
    for q in range(k):
        for p in range(k):
            for c in range(min(q, p) + 1):
                omega[q, p] += factor[c, q] * factor[c, p]
    most = longest_range(graph.indptr)
    v, misfit, gradient, target = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    lengths, residual, floors = np.empty(most), np.empty(1), np.empty(2)
    weights, values = np.empty(most + 1 + k), np.empty(n)
    for i in range(n):
        first, last = graph.indptr[i], graph.indptr[i + 1]
        count, square, size = last - first, beyond[i], 0.0
        for q in range(k):
            v[q], target[q] = codes[i, q], targets[i, q]
            square += target[q] ** 2
            size += v[q] * v[q]
        floors[0], floors[1] = SHORTEST * np.sqrt(square), max(SHORTEST * np.sqrt(size), 1e-300)
        residual[0] = _misfit(v, target, factor, beyond[i], misfit)
        _distances(v, graph, first, last, anchors, lengths)
        value = _sample_objective(ties, v, residual, lengths, first, last, floors, weights)
        still = 0
        for _ in range(_ROUNDS):
            # All in units of the weight of the residual.
            unit = 1 / weights[count]
            stiffness = 0.5 * ties.penalty * terms.curvature * unit
            for q in range(k):
                slope = 0.5 * ties.penalty * weights[count + 1 + q] * unit
                for p in range(q + 1):
                    slope += factor[p, q] * misfit[p]
                gradient[q] = slope
            for e in range(first, last):
                weight = ties.alpha * weights[e - first] * unit
                stiffness += weight
                for q in range(k):
                    gradient[q] -= weight * anchors[graph.indices[e], q]
            for _sweep in range(_SWEEPS):
                for q in range(k):
                    h = omega[q, q] + stiffness
                    if h > 0:
                        new = max(0.0, v[q] - (gradient[q] + stiffness * v[q]) / h)
                        step = new - v[q]
                        if step != 0:
                            v[q] = new
                            for p in range(k):
                                gradient[p] += step * omega[q, p]
            residual[0] = _misfit(v, target, factor, beyond[i], misfit)
            _distances(v, graph, first, last, anchors, lengths)
            changed = _sample_objective(ties, v, residual, lengths, first, last, floors, weights)
            # One small decrease may only be slow progress.
            still = still + 1 if value - changed <= _TOLERANCE * value else 0
            value = changed
            if still >= _STILL:
                break
        for e in range(first, last):
            anchor = span(line_of(anchors), graph.indices[e] * k, (graph.indices[e] + 1) * k)
            residual[0] = _misfit(anchor, target, factor, beyond[i], misfit)
            _distances(anchor, graph, first, last, anchors, lengths)
            there = _sample_objective(ties, anchor, residual, lengths, first, last, floors, weights)
            if there <= value:
                value = there
                for q in range(k):
                    v[q] = anchor[q]
        values[i] = value
        for q in range(k):
            codes[i, q] = v[q]
    return values
