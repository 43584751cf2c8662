"""Starts (U0, V0) of a run, with V0 ≥ 0.

No start is best for all data; `docs/starts.md` has the measurements behind ``"auto"``.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..compiled.kmeans import kmeans
from ..data import Engine, power_of_two, row_squares
from ..data.axes import Axes
from ..data.cutting import pieces
from ..data.samples import weighted_median
from ..problem.basis import Basis, LeastSquaresBasis
from .plan import ROUND_OFF
from .projection import nonnegative_codes

# How often both factors are solved for when a start is refined.
ROUNDS = 2
# Negative scores of samples nearer to the origin than this share of the mean are cut: lifting them
# above zero would make all columns of the codes nearly parallel.
NEAR_ORIGIN = 0.2
# Scores are cut if that loses no more than this share, by length, of what a shift leaves out. In
# mixtures where a shift cost one of two parts it was a tenth at most, of centred data it is four
# fifths and more, and between them both ended alike; no script of the repository measures this.
_CUT = 0.5
# Zeros become this share of the largest entry in starts of the multiplicative rules.
_LEAST_SHARE = 1e-4
# A sample shorter than this share of the longest is no basis vector: codes would be enormous.
_TOO_SHORT = 1e-14
# Weight of the squares of codes on unit axes beside the misfit, where a start only has to be near:
# the centres of centred samples add up to nothing, and what rounding leaves of that would be worth
# codes of 1e13.
_RIDGE = 1e-6
# Samples handled together where a copy of all would be large.
_PIECE = 2**14

Start = tuple[FloatArray, FloatArray]


def random_start(engine: Engine, k: int, rng: np.random.RandomState, low: float) -> Start:
    """The paper's start: U uniform in [low, 1], V in [0, 1]; ``low`` is −1, or 0 for NMF."""
    basis = rng.uniform(low, 1, (engine.n_features, k))
    return basis.astype(engine.dtype), engine.drawn(rng, k)


def svd_start(
    engine: Engine, k: int, weights: FloatArray, found: Axes, rng: np.random.RandomState,
    refine: bool = False,
) -> Start:  # fmt: skip
    """Non-negative codes with the error of a truncated SVD at once.

    The SVD X ≈ B Aᵀ is that of the rows scaled by √``weights``, as ``found`` by `leading_axes`; the
    signs of its axes are changed. With the weights of the robust loss at U = 0, 1/‖x_i‖, a far
    sample pulls no harder than a near one. If the samples lie on one side of the origin along the
    first axis, adding c_j times its scores to those of axis j makes them positive, and k components
    have the error of rank k. Otherwise one component is used for a shift: with
    s_i = min(0, min_j B_ij), V = [B − s, −s] and U = [A, −Σ_j a_j] have that of rank k − 1.
    Samples count as lying on one side if cutting the scores of the few others loses much less than
    the shift leaves out, which is the last axis.

    The second start is on a plateau: the basis has rank k − 1 only, and coordinate descent takes
    dozens of iterations to leave it. With ``refine`` it is left at once.
    """
    all_axes, scores = found
    axes = all_axes[:, :k]
    # An axis points to its longer tail, so the order of samples and features does not matter.
    tails = engine.summed(_tails, scores, weights, axes.shape[1])
    flip = np.where(tails < 0, engine.dtype.type(-1), engine.dtype.type(1))
    axes *= flip
    scores = engine.each(_flipped, scores, flip)
    along = engine.summed(_along, scores, weights)
    nearest = NEAR_ORIGIN * float(along / engine.summed(np.sum, weights))
    lifts = reduce(np.maximum, engine.gather(_lifts, scores, axes.shape[1], nearest))
    cut, last = engine.summed(_lost, scores, weights, lifts)
    # With fewer axes than components the shift leaves nothing out.
    if k == 1 or cut <= (_CUT**2 * last if len(lifts) == k else 0):
        basis, codes = _lifted_basis(axes, lifts), engine.each(_lifted_codes, scores, lifts)
    else:
        axes = axes[:, : k - 1]
        basis, codes = _shifted_basis(axes), engine.each(_shifted_codes, scores, axes.shape[1])
        if refine and basis.shape[1] == k:
            basis, codes = _refined(engine, k, weights, (all_axes, scores), codes)
    missing = k - basis.shape[1]
    if missing:
        # More components than the SVD has directions: the others start small and random.
        count = engine.n_samples * basis.shape[1]
        typical = float(engine.summed(np.sum, codes) / count) or 1.0
        more = engine.drawn(rng, missing, typical)
        codes = engine.each(lambda *both: np.hstack(both), codes, more)
        basis = np.hstack([basis, rng.uniform(-0.1, 0.1, (len(basis), missing))])
    return _contiguous(engine, basis, codes)


# The functions below make no copy of the scores, which may be as large as memory allows.


def _tails(scores: FloatArray, weights: FloatArray, count: int) -> FloatArray:
    """Weighted sums of the cubed scores along the first axes: the side of the longer tail."""
    tails = np.zeros(count)
    for rows in pieces(len(scores), _PIECE):
        some = scores[rows, :count]
        tails += weights[rows] @ (some * some * some)  # a power takes thirty times as long
    return tails


def _flipped(scores: FloatArray, flip: FloatArray) -> FloatArray:
    """Multiply the scores along the first axes by these signs, in place."""
    scores[:, : len(flip)] *= flip
    return scores


def _along(scores: FloatArray, weights: FloatArray) -> float:
    """The weighted sum of |score| along the first axis."""
    return float(weights @ np.abs(scores[:, 0]))


def _lifts(scores: FloatArray, count: int, nearest: float) -> FloatArray:
    """c_j of each axis: what makes scores of samples not near the origin non-negative."""
    lifts = np.zeros(count, scores.dtype)
    for rows in pieces(len(scores), _PIECE):
        some = scores[rows, :count]
        far = np.where(some[:, :1] <= nearest, scores.dtype.type(np.inf), some[:, :1])
        # A minimum along columns is several times faster than along short rows.
        np.maximum(lifts, -np.ascontiguousarray((some / far).T).min(axis=1), out=lifts)
    return lifts


def _lost(scores: FloatArray, weights: FloatArray, lifts: FloatArray) -> FloatArray:
    """Weighted sums of squares: of what `_lifted_codes` cut off, and along the last axis."""
    lost = np.zeros(2)
    for rows in pieces(len(scores), _PIECE):
        some = scores[rows, : len(lifts)].astype(np.float64)  # squares may be beyond single range
        codes = _lifted_codes(some, lifts)
        cut = codes - lifts * codes[:, :1] - some
        lost += weights[rows] @ np.stack([row_squares(cut), some[:, -1] ** 2], axis=1)
    return lost


def _lifted_codes(scores: FloatArray, lifts: FloatArray) -> FloatArray:
    """max(0, scores + ``lifts`` times the scores along the first axis)."""
    codes: FloatArray = lifts * scores[:, :1]
    codes += scores[:, : len(lifts)]
    np.maximum(codes, 0, out=codes)
    return codes


def _lifted_basis(axes: FloatArray, lifts: FloatArray) -> FloatArray:
    """The basis for `_lifted_codes`."""
    basis = axes.copy()
    basis[:, 0] -= axes[:, 1:] @ lifts[1:]
    return basis


def _shifted_codes(scores: FloatArray, count: int) -> FloatArray:
    """[B − s, −s] for scores B along the first axes and s_i = min(0, min_j B_ij)."""
    scores, shift = scores[:, :count], np.empty(len(scores), scores.dtype)
    for rows in pieces(len(scores), _PIECE):
        # A minimum along columns is several times faster than along short rows.
        np.minimum(0, np.ascontiguousarray(scores[rows].T).min(axis=0), out=shift[rows])
    codes = np.empty((len(scores), count + 1), scores.dtype)
    np.subtract(scores, shift[:, None], out=codes[:, :-1])
    np.negative(shift, out=codes[:, -1])
    return codes


def _shifted_basis(axes: FloatArray) -> FloatArray:
    """The basis for `_shifted_codes`: [A, −Σ_j a_j]."""
    return np.hstack([axes, -axes.sum(axis=1, keepdims=True)])


def _refined(engine: Engine, k: int, weights: FloatArray, found: Axes, codes: FloatArray) -> Start:
    """Solve for U and V in turn, exactly, in the few dimensions of the leading axes."""
    (axes, scores), rule = found, LeastSquaresBasis()
    small = engine.beside(engine.each(np.ascontiguousarray, scores), k)
    basis = Basis.of(np.zeros((axes.shape[1], k), engine.dtype))
    for _ in range(ROUNDS):
        weighted = engine.each(lambda codes, weights: weights[:, None] * codes, codes, weights)
        gram = engine.summed(lambda codes, weighted: codes.T @ weighted, codes, weighted)
        basis = rule.step(small.adjoint_times(weighted), gram, basis, 0.0, 1.0)
        codes = engine.each(least_squares_codes, small, basis.U, codes)
    return axes @ basis.U, codes


def least_squares_codes(
    engine: Engine, basis: FloatArray, codes: FloatArray | None = None
) -> FloatArray:
    """Codes by non-negative least squares; given ``codes`` are overwritten, and speed it up."""
    if codes is None:
        codes = np.zeros((engine.n_samples, basis.shape[1]), engine.dtype)
    nonnegative_codes(engine, basis, codes)
    return codes


def nonnegative_svd_start(engine: Engine, k: int, weights: FloatArray, found: Axes) -> Start:
    """An NMF start from the SVD: of each axis and its scores the half, + or −, with more of X."""
    axes, scores = found[0][:, :k], found[1]
    plus, minus = engine.summed(_energies, axes, scores, weights)
    signs = np.where(plus >= minus, 1, -1)
    codes = engine.each(lambda own: np.maximum(signs * own[:, : len(signs)], 0), scores)
    return _contiguous(engine, np.maximum(signs * axes, 0), codes)


def _energies(axes: FloatArray, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """The energy of the data in each half, + and −, of each axis and its scores; 2 × axes."""
    halves = [
        (np.maximum(sign * axes, 0) ** 2).sum(axis=0)
        * (weights[:, None] * np.maximum(sign * scores[:, : axes.shape[1]], 0) ** 2).sum(axis=0)
        for sign in (1, -1)
    ]
    return np.stack(halves)


def above_zero(factor: FloatArray) -> FloatArray:
    """Raise zeros to small values, since the multiplicative rules could never leave zero.

    Relative to the largest entry: repeated samples and empty features make no difference.
    """
    return np.maximum(factor, factor.dtype.type(_LEAST_SHARE) * factor.max())


def codes_above_zero(engine: Engine, codes: FloatArray) -> FloatArray:
    """`above_zero` for codes, which may lie on other sites."""
    largest = max(engine.gather(lambda codes: float(codes.max(initial=0)), codes))
    return engine.each(np.maximum, codes, engine.dtype.type(_LEAST_SHARE * largest))


def unit_free_codes(engine: Engine, basis: FloatArray, codes: FloatArray, length: float) -> Start:
    """A start from unit axes: moves the unit of X, which penalties expect in the basis, out of the
    codes, in place. The unit is ``length``, the typical length of a sample, as a power of two, so
    that no digit changes.
    """
    unit = basis.dtype.type(power_of_two(length))
    return basis * unit, engine.each(np.divide, codes, unit, codes)


def typical_residual(engine: Engine, k: int, found: Axes, share: FloatArray | None) -> float:
    """The median distance of a sample from the span of the k leading directions of X."""
    return _median(engine, engine.each(_left_over, engine.squares, found[1], k), share)


def _left_over(squares: FloatArray, scores: FloatArray, k: int) -> FloatArray:
    """Distances of samples from the span of the axes of their first k scores.

    A difference of squares has half the digits: a result below those is zero.
    """
    left = squares - row_squares(scores[:, :k])
    told = left > ROUND_OFF[squares.itemsize] * squares
    return np.asarray(np.sqrt(np.where(told, left, 0)))


def typical_spread(engine: Engine, weights: FloatArray, share: FloatArray | None) -> float:
    """The median distance of a sample from the mean of the weighted samples."""
    centre = engine.adjoint_times(weights) / engine.summed(np.sum, weights)
    return _median(engine, engine.each(_distances_from, engine, centre[:, None]), share)


def _distances_from(engine: Engine, centre: FloatArray) -> FloatArray:
    """Distances of all samples from a point, given as a column."""
    squares = engine.squares - 2 * engine.times(centre)[:, 0] + float(np.vdot(centre, centre))
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def _median(engine: Engine, values: FloatArray, share: FloatArray | None) -> float:
    return weighted_median(engine.brought(values), None if share is None else engine.brought(share))


def kmeans_start(
    engine: Engine, k: int, share: FloatArray | None, found: Axes, rng: np.random.RandomState
) -> Start:
    """Centres of k-means as the basis; codes by least squares, raised for the sample's own centre.

    Clusters are searched along the leading directions ``found``. Plain indicators would not do for
    the robust graph penalty: between neighbours with the same code an edge has length zero and an
    enormous weight, and reweighting never separates them again.
    """
    clusters = kmeans(found[1], k, rng.randint(2**31 - 1), weights=share)
    basis = np.ascontiguousarray(found[0] @ clusters.centres.T, engine.dtype)
    lengths = np.linalg.norm(basis, axis=0)
    basis[:, lengths < _TOO_SHORT * lengths.max()] = 0
    codes = 0.5 * _small_codes(engine, basis)
    codes[np.arange(engine.n_samples), clusters.labels] += 0.5
    return basis, codes


def _small_codes(engine: Engine, basis: FloatArray) -> FloatArray:
    """Codes by least squares, the smallest among those that fit equally well."""
    lengths = np.linalg.norm(basis, axis=0)
    lengths[lengths == 0] = 1
    codes = np.zeros((engine.n_samples, basis.shape[1]), engine.dtype)
    ridge, pull = np.full(len(codes), _RIDGE), np.broadcast_to(0.0, codes.shape)
    nonnegative_codes(engine, basis / lengths, codes, ridge, pull)
    return codes / lengths


def exemplar_start(engine: Engine, k: int, rng: np.random.RandomState | None) -> Start:
    """k samples, far from each other, as the basis; non-negative least squares for the codes."""
    squares = engine.brought(engine.squares)
    short = squares < _TOO_SHORT**2 * squares.max()
    chosen = _spread_samples(engine, k, short, rng)
    basis = np.ascontiguousarray(engine.chosen(chosen).T)
    basis[:, short[chosen]] = 0
    return basis, engine.each(least_squares_codes, engine, basis)


def _spread_samples(
    engine: Engine, k: int, short: NDArray[np.bool_], rng: np.random.RandomState | None
) -> list[int]:
    """Choose k samples, each drawn with its distance from those before as weight.

    Without ``rng`` the choice is fixed by the data: first the sample of median length, then always
    the farthest, apart from the farthest tenth, which may be outliers. ``short`` samples are taken
    if there are too few others.
    """
    squares, others = engine.brought(engine.squares).astype(np.float64), np.flatnonzero(~short)
    n = len(squares)
    if rng is None:
        first = np.argsort(squares[others], kind="stable")[len(others) // 2]
    else:
        first = rng.randint(len(others))
    chosen = [int(others[first])]
    nearest = np.full(n, np.inf)
    while len(chosen) < k:
        last = chosen[-1]
        products = engine.brought(engine.times(engine.chosen([last]).T)).ravel()
        distances = np.sqrt(np.maximum(squares + squares[last] - 2 * products, 0))
        nearest = np.minimum(nearest, distances)
        nearest[chosen] = nearest[short] = 0
        total = nearest.sum()
        if total == 0:
            remaining = np.setdiff1d(np.arange(n), chosen)
            chosen.extend(int(i) for i in remaining[: k - len(chosen)])
        elif rng is None:
            eligible = np.where(nearest <= np.quantile(nearest, 0.9), nearest, 0)
            chosen.append(int(np.argmax(eligible if eligible.any() else nearest)))
        else:
            chosen.append(int(rng.choice(n, p=nearest / total)))
    return chosen


def _contiguous(engine: Engine, basis: FloatArray, codes: FloatArray) -> Start:
    dtype = engine.dtype
    return np.ascontiguousarray(basis, dtype), engine.each(np.ascontiguousarray, codes, dtype)
