"""New codes for some samples: coordinate descent, or the paper's multiplicative rule.

Each sample minimises over v ≥ 0, with everything else held fixed,

    d (v Ω vᵀ − 2 v·φ) + α Σ_j W_ij ‖v − v_j‖² + ½c ‖v‖² + s·v

with d its weight, φ = Uᵀx, Ω = UᵀU, W the weights of its edges, and s, c the slope and the
curvature of the penalty on its code. Divided by d, that is a target φ + pull − push in the place of
φ, and a stiffness beside the diagonal of Ω: both rules see nothing else of graph and penalty.

Samples are handled in tiles of ``TILE`` that are stored transposed: the innermost loop then runs
over independent samples with a constant trip count, whatever the number of components is.
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
from .views import line_of, part, rows_of

# What a call does with the codes: nothing but sums, nothing but measuring, or one of the rules.
SUM, MEASURE, DESCEND, MULTIPLY = range(4)

# In double and single precision: denominators below these have too few digits to divide by, ...
_SMALLEST, _SMALLEST_SINGLE = 1e-290, 1e-30
# ... and codes below these are zero. They only shrink, and products of them would be subnormal
# numbers, with which processors calculate a hundred times slower.
_VANISHED, _VANISHED_SINGLE = 1e-150, 1e-18


def tile_rows(k, width):
    """Rows of ``TILE`` numbers that `update_codes` needs: five for each component, φ, and three."""
    return 5 * k + width + 3


@inner
def _by_sign(omega, sizes, columns, split):
    """The entries of each row of Ω without their signs, the positive ones first.

    With the columns they come from, and how many are positive. Ω⁺ and Ω⁻ together have no more
    entries than Ω, so that products with both cost no more than one with Ω.
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
    """The multiplicative rule for a tile, with the limits of its precision."""
    double = v.dtype.type(_SMALLEST) > 0
    smallest = v.dtype.type(_SMALLEST if double else _SMALLEST_SINGLE)
    vanished = v.dtype.type(_VANISHED if double else _VANISHED_SINGLE)
    signs = room.sizes, room.columns, room.split
    multiply_tile(signs, f, pull, push, stiffness, before, root, (smallest, vanished), v)


@inner
def _add_neighbours(graph, room, order, start, count, codes, edges, scale, pull, stiffness):
    """What the neighbours do to a tile: scale Σ_j W_ij v_j and scale Σ_j W_ij."""
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
    # (A literal 0 would have it compiled a second time.)
    load_tile(sums, room.every, np.int64(0), count, pull)


@inner
def _add_penalty(terms, share, order, start, count, weight, v, scale, push, stiffness):
    """What the penalty does to a tile with codes v: half its slope and half its curvature."""
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
    """What is left of the samples of a tile: ‖x‖² + ``fit``, negative where sums have cancelled it.

    What is added up is ‖x‖² and products of parts, (Σ_q v_q ‖u_q‖)² together at most.
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

    Coordinate descent takes them together, so that they must not be neighbours of each other. It
    begins at the codes that are there, and reads those of the neighbours as they are now; other
    rules read all from ``old``. Weights are those of ``old``.

    ``left`` receives ‖x − Uv‖² = ‖x‖² + v Ω vᵀ − 2 v·φ, see `_leave`.
    """
    omega = new.basis.omega
    k, width, dtype = omega.shape[0], phi.shape[1], omega.dtype
    rule, tiles, line = step.rule, room.tiles, line_of(room.tiles)
    alpha = dtype.type(step.alpha)
    penalized = step.penalty > 0 and rule != MEASURE
    tied = (alpha > 0 or penalized) and rule != MEASURE
    # The tiles of a thread, see `tile_rows`. They began with zeros; lanes beyond the last sample
    # have what a tile before left there, which is looked at by nobody.
    v, before, inverse = (
        rows_of(tiles, 0, k),
        rows_of(tiles, k, 2 * k),
        rows_of(tiles, 2 * k, 3 * k),
    )
    pull, push = rows_of(tiles, 3 * k, 4 * k), rows_of(tiles, 4 * k, 5 * k)
    f, rest = rows_of(tiles, 5 * k, 5 * k + width), (5 * k + width) * TILE
    stiffness, scale = part(line, rest, rest + TILE), part(line, rest + TILE, rest + 2 * TILE)
    totals = part(line, rest + 2 * TILE, rest + 3 * TILE)
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
            # A loop of its own, because quotients are slow unless they are vectors.
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
                # In one line, because only that becomes vectors.
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
        # φ is not needed any more.
        _leave(run, order, first, count, omega, v, totals, part(line_of(f), 0, TILE))
        if rule != MEASURE:
            store_tile(new.codes, order, first, count, v)


# How compiled code calls it, with an address before the arguments.
update_codes = codes_update.call
