"""New codes for some samples, by coordinate descent or the paper's multiplicative rule.

Each sample minimises over v ≥ 0, with everything else held fixed,

    d (v Ω vᵀ − 2 v·φ) + α Σ_j W_ij ‖v − v_j‖² + ½c ‖v‖² + s·v

with its weight d, φ = Uᵀx, Ω = UᵀU, the weights W of its edges, and the slope s and curvature c of
the penalty on its code. Divided by d, this replaces φ by a target φ + pull − push and adds a
stiffness to the diagonal of Ω: the rules know no more of graph and penalty.

Samples are handled in tiles of ``TILE`` that are stored transposed: the innermost loop then runs
over independent samples with a constant trip count, for any number of components.
"""

import numpy as np

from .apart import Apart
from .jit import inner
from .loops import clear
from .measures import penalize
from .simd.lanes import WIDTH
from .simd.rows import weighted_rows
from .simd.tiles import (
    TILE,
    descend_tile,
    fit_tile,
    invert_tile,
    load_tile,
    multiply_tile,
    store_tile,
)
from .views import line_of, rows_of, span

# What a call does: only sum, only measure, or update the codes by one of the rules.
SUM, MEASURE, DESCEND, MULTIPLY = range(4)

# In double and single precision: a smaller denominator has too few digits to divide by, ...
_SMALLEST, _SMALLEST_SINGLE = 1e-290, 1e-30
# ... and a smaller code becomes zero. It could only shrink on, and its products would be subnormal
# numbers, with which processors compute a hundred times slower.
_VANISHED, _VANISHED_SINGLE = 1e-150, 1e-18


def tile_rows(k, width):
    """Rows of ``TILE`` numbers in the tiles of a thread: five per component, φ, and three more."""
    return 5 * k + width + 3


@inner
def _by_sign(omega, sizes, columns, split):
    """Split each row of Ω by sign: absolute values, the positive entries first.

    ``columns`` are their columns in Ω, ``split[q]`` the number of positive ones. Ω⁺ and Ω⁻ together
    have no more entries than Ω, so products with both cost no more than one with Ω.
    """
    k = omega.shape[0]
    for q in range(k):
        split[q], last = 0, k
        for p in range(k):
            if omega[q, p] > 0:
                place = split[q]
                split[q] += 1
            else:
                last -= 1
                place = last
            sizes[q, place], columns[q, place] = abs(omega[q, p]), p


@inner
def _multiply(room, f, pull, push, stiffness, before, root, v):
    """The multiplicative rule for a tile, with the limits of the number type."""
    double = v.dtype.type(_SMALLEST) > 0
    smallest = v.dtype.type(_SMALLEST if double else _SMALLEST_SINGLE)
    vanished = v.dtype.type(_VANISHED if double else _VANISHED_SINGLE)
    signs = room.sizes, room.columns, room.split
    multiply_tile(signs, f, pull, push, stiffness, before, root, (smallest, vanished), v)


@inner
def _add_neighbours(graph, room, order, start, count, codes, edges, scale, pull, stiffness):
    """The neighbours of a tile: ``pull`` = scale Σ_j W_ij v_j, ``stiffness`` = scale Σ_j W_ij."""
    k, sums = codes.shape[1], room.sums
    if k * codes.itemsize >= WIDTH:
        weighted_rows(
            codes, order, start, count, graph.indptr, graph.indices, edges, scale, sums, stiffness
        )
    else:
        for r in range(count):
            i = order[start + r]
            stiffness[r] = 0
            for q in range(k):
                sums[r, q] = 0
            for e in range(graph.indptr[i], graph.indptr[i + 1]):
                weight = scale[r] * edges[e]
                stiffness[r] += weight
                for q in range(k):
                    sums[r, q] += weight * codes[graph.indices[e], q]
    # (A literal 0 would make Numba compile it a second time.)
    load_tile(sums, room.every, np.int64(0), count, pull)


@inner
def _add_penalty(terms, share, order, start, count, weight, v, scale, push, stiffness):
    """The penalty of a tile with codes v: half its slope to ``push``, half its curvature added."""
    k = v.shape[0]
    half, curvature = push.dtype.type(0.5 * weight), push.dtype.type(terms.curvature)
    penalize(terms.penalty, k * TILE, v, terms.penalty_parameters, push)
    for r in range(count):
        factor = half * scale[r]
        if share.shape[0] > 0:
            factor *= share[order[start + r]]
        stiffness[r] += factor * curvature
        for q in range(k):
            push[q, r] *= factor


@inner
def _leave(run, order, first, count, omega, v, fit, added):
    """``left`` = ‖x‖² + ``fit`` for the samples of a tile, or −1 where the sum has cancelled.

    The terms added are ‖x‖² and products of basis vectors, (Σ_q v_q ‖u_q‖)² together at most.
    """
    left, squares = run.left, run.samples.squares
    cancellation, lost = left.dtype.type(run.terms.cancellation), left.dtype.type(-1)
    clear(added)
    for q in range(v.shape[0]):
        size = np.sqrt(omega[q, q])
        for r in range(TILE):
            added[r] += size * v[q, r]
    for r in range(count):
        i = order[first + r]
        square = squares[i] + fit[r]
        cancelled = square < cancellation * (squares[i] + added[r] * added[r])
        left[i] = lost if cancelled else square


@Apart
def codes_update(run, room, order, start, stop, phi, old, new, step):
    """Codes of the samples ``order[start:stop]``, by the rule of the ``step``, into ``new``.

    Coordinate descent updates them together, so none may be a neighbour of another. It starts from
    the codes in ``new`` and reads those of the neighbours there, as they are by now; other rules
    read everything from ``old``. The weights are those of ``old``.

    ``left`` receives ‖x − Uv‖² = ‖x‖² + v Ω vᵀ − 2 v·φ, see `_leave`.
    """
    omega = new.basis.omega
    k, width, dtype = omega.shape[0], phi.shape[1], omega.dtype
    rule, tiles, line = step.rule, room.tiles, line_of(room.tiles)
    alpha = dtype.type(step.alpha)
    penalized = step.penalty > 0 and rule != MEASURE
    tied = (alpha > 0 or penalized) and rule != MEASURE
    # The tiles of a thread, see `tile_rows`. Lanes beyond the last sample hold leftovers of an
    # earlier tile, or zeros; nothing reads their results.
    v, before, inverse = (
        rows_of(tiles, 0, k),
        rows_of(tiles, k, 2 * k),
        rows_of(tiles, 2 * k, 3 * k),
    )
    pull, push = rows_of(tiles, 3 * k, 4 * k), rows_of(tiles, 4 * k, 5 * k)
    f, rest = rows_of(tiles, 5 * k, 5 * k + width), (5 * k + width) * TILE
    stiffness, scale = span(line, rest, rest + TILE), span(line, rest + TILE, rest + 2 * TILE)
    totals = span(line, rest + 2 * TILE, rest + 3 * TILE)
    goal, slopes, opposite = line_of(pull), line_of(f), line_of(push)
    if rule == MULTIPLY:
        _by_sign(omega, room.sizes, room.columns, room.split)
    elif not tied:
        invert_tile(omega, stiffness, inverse)
    for r in range(TILE):
        scale[r] = 1
    source = new.codes if rule == DESCEND else old.codes
    for first in range(start, stop, TILE):
        count = min(TILE, stop - first)
        load_tile(source, order, first, count, v)
        load_tile(phi, order, first, count, f)
        if tied:
            for r in range(count):
                scale[r] = old.weights[order[first + r]]
            # A loop of its own, since quotients are slow unless vectorised.
            for r in range(TILE):
                scale[r] = 1 / scale[r]
                totals[r] = alpha * scale[r]
            if alpha > 0:
                _add_neighbours(
                    run.graph, room, order, first, count, source, old.edges, totals, pull,
                    stiffness,
                )  # fmt: skip
            else:
                clear(line_of(pull))
                clear(stiffness)
            if penalized:
                _add_penalty(
                    run.terms, run.samples.share, order, first, count, step.penalty, v, scale, push,
                    stiffness,
                )  # fmt: skip
        if rule == DESCEND:
            if tied:
                # As one flat loop, the only form that is vectorised.
                for place in range(k * TILE):
                    goal[place] += slopes[place] - opposite[place]
                invert_tile(omega, stiffness, inverse)
            for _ in range(step.sweeps):
                descend_tile(omega, pull if tied else f, stiffness, inverse, v)
        elif rule == MULTIPLY:
            for q in range(k):
                for r in range(TILE):
                    before[q, r] = v[q, r]
            _multiply(room, f, pull, push, stiffness, before, step.root, v)
        fit_tile(omega, f, v, totals)
        # φ is not needed any more: its tile is room for `_leave`.
        _leave(run, order, first, count, omega, v, totals, span(line_of(f), 0, TILE))
        if rule != MEASURE:
            store_tile(new.codes, order, first, count, v)


# How compiled code calls it, with the address first.
update_codes = codes_update.call
