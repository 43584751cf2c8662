"""Where a run starts: (U0, V0), with V0 ≥ 0.

No start is best for all data; `docs/starts.md` has the measurements behind ``"auto"``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..data import Engine, power_of_two
from ..data.axes import Axes
from ..data.samples import weighted_median
from ..problem.basis import Basis, LeastSquaresBasis
from .plan import ROUND_OFF
from .projection import nonnegative_codes

# How often both factors are solved for when a start is refined.
ROUNDS = 2
# Samples nearer to the origin than this share of the mean have their negative scores cut: to lift
# them above zero would make all columns of the codes nearly parallel.
NEAR_ORIGIN = 0.2
# What stands for zero in starts of the multiplicative rules, as a share of the largest entry.
LEAST_SHARE = 1e-4
# Samples shorter than this share of the longest are no parts: others would have enormous codes.
_TOO_SHORT = 1e-14
# Samples of a piece.
_PIECE = 2**14

Start = tuple[FloatArray, FloatArray]


def random_start(
    n_samples: int, n_features: int, k: int, rng: np.random.RandomState, dtype: Any, low: float
) -> Start:
    """The paper's: U uniform in [low, 1] with low = −1 (0 for NMF), V uniform in [0, 1]."""
    basis = rng.uniform(low, 1, (n_features, k))
    codes = rng.uniform(0, 1, (n_samples, k))
    return basis.astype(dtype), codes.astype(dtype)


def svd_start(
    engine: Engine, k: int, weights: FloatArray, found: Axes, rng: np.random.RandomState,
    refine: bool = False,
) -> Start:  # fmt: skip
    """Non-negative codes with the error of a truncated SVD at once.

    The SVD X ≈ B Aᵀ is that of the rows weighted by √``weights``, as ``found`` by
    `leading_axes`, whose signs are changed: with those of the robust loss at U = 0, 1/‖x_i‖,
    a far sample pulls no harder than a near one. If all samples lie on one side of
    the origin along the first axis, adding c_j times its scores to those of axis j makes them
    positive, and rank k gives the error of rank k. Otherwise one component is needed for a shift:
    with s_i = min(0, min_j B_ij), V = [B − s, −s] and U = [A, −Σ_j a_j] have that of rank k − 1.

    That second start lies on a plateau: the basis has rank k − 1 only, and coordinate descent takes
    dozens of iterations to leave it. With ``refine`` it is left at once.
    """
    all_axes, all_scores = found
    axes, scores = all_axes[:, :k], all_scores[:, :k]
    # An axis points to its longer tail: independent of the order of samples and features. Nothing
    # here makes a copy of the scores, which may be as large as memory allows.
    tails = np.zeros(scores.shape[1])
    for rows in _pieces(len(scores)):
        some = scores[rows]
        tails += weights[rows] @ (some * some * some)  # a power takes thirty times as long
    flip = np.where(tails < 0, engine.dtype.type(-1), engine.dtype.type(1))
    axes *= flip
    scores *= flip
    first = scores[:, :1]
    if first.min() > 0:
        near = first[:, 0] < NEAR_ORIGIN * float(weights @ first[:, 0] / weights.sum())
        lifts = np.zeros(scores.shape[1], engine.dtype)
        for rows in _pieces(len(scores)):
            far = rows.start + np.flatnonzero(~near[rows])
            ratios = scores[far] / first[far]
            np.maximum(lifts, -ratios.min(axis=0, initial=0), out=lifts)
        basis, codes = lifted_basis(axes, lifts), lifted_codes(scores, lifts)
    elif k == 1:
        codes, basis = np.maximum(scores, 0), axes
    else:
        basis, codes = shifted_basis(axes[:, : k - 1]), shifted_codes(scores[:, : k - 1])
        if refine and codes.shape[1] == k:
            basis, codes = _refined(all_axes, all_scores, weights[:, None], codes, engine.team)
    if codes.shape[1] < k:
        # More components than the SVD has directions: the rest start small and random.
        missing = k - codes.shape[1]
        typical = float(np.abs(codes).mean()) or 1.0
        codes = np.hstack([codes, rng.uniform(0, typical, (len(codes), missing))])
        basis = np.hstack([basis, rng.uniform(-0.1, 0.1, (len(basis), missing))])
    return _contiguous(basis, codes, engine.dtype)


def _pieces(n_samples: int) -> Iterator[slice]:
    """Samples to be handled together where a copy of all would be large."""
    for start in range(0, n_samples, _PIECE):
        yield slice(start, min(start + _PIECE, n_samples))


def lifted_codes(scores: FloatArray, lifts: FloatArray) -> FloatArray:
    """Scores that are positive along the first axis, with ``lifts`` times those added to all."""
    codes: FloatArray = lifts * scores[:, :1]
    codes += scores
    np.maximum(codes, 0, out=codes)
    return codes


def lifted_basis(axes: FloatArray, lifts: FloatArray) -> FloatArray:
    """The basis for `lifted_codes`."""
    basis = axes.copy()
    basis[:, 0] -= axes[:, 1:] @ lifts[1:]
    return basis


def shifted_codes(scores: FloatArray) -> FloatArray:
    """[B − s, −s] for scores B and s_i = min(0, min_j B_ij)."""
    shift = np.empty(len(scores), scores.dtype)
    for rows in _pieces(len(scores)):
        # Along columns, a minimum is several times faster than along short rows.
        np.minimum(0, np.ascontiguousarray(scores[rows].T).min(axis=0), out=shift[rows])
    codes = np.empty((len(scores), scores.shape[1] + 1), scores.dtype)
    np.subtract(scores, shift[:, None], out=codes[:, :-1])
    np.negative(shift, out=codes[:, -1])
    return codes


def shifted_basis(axes: FloatArray) -> FloatArray:
    """The basis for `shifted_codes`: [A, −Σ_j a_j]."""
    basis = np.empty((len(axes), axes.shape[1] + 1), axes.dtype)
    basis[:, :-1] = axes
    np.negative(axes.sum(axis=1), out=basis[:, -1])
    return basis


def _refined(
    axes: FloatArray, scores: FloatArray, weights: FloatArray, codes: FloatArray, team: Any
) -> Start:
    """Exact least squares for U and V in turn, in the few dimensions of the leading axes."""
    small = Engine(np.ascontiguousarray(scores), codes.shape[1], team=team)
    rule = LeastSquaresBasis()
    basis = Basis.of(np.zeros((scores.shape[1], codes.shape[1]), codes.dtype))
    weighted = np.empty_like(codes)
    for _ in range(ROUNDS):
        np.multiply(weights, codes, out=weighted)
        moment = small.adjoint_times(weighted)
        basis = rule.step(moment, codes.T @ weighted, basis, 0.0, 1.0)
        nonnegative_codes(small, basis.U, codes)
    return axes @ basis.U, codes


def nonnegative_svd_start(engine: Engine, k: int, weights: FloatArray, found: Axes) -> Start:
    """NMF from the SVD: of each axis and its scores the half, + or −, with more of the data."""
    root, (axes, scores) = weights[:, None], (factor[:, :k] for factor in found)
    energies = [half_energy(axes, scores, root, sign) for sign in (1, -1)]
    signs = np.where(energies[0] >= energies[1], 1, -1)
    basis, codes = np.maximum(signs * axes, 0), np.maximum(signs * scores, 0)
    return _contiguous(basis, codes, engine.dtype)


def half_energy(axes: FloatArray, scores: FloatArray, weights: FloatArray, sign: int) -> FloatArray:
    """How much of the data lies in one half, + or −, of each axis and its scores."""
    half_axes, half_scores = np.maximum(sign * axes, 0), np.maximum(sign * scores, 0)
    energy: FloatArray = (half_axes**2).sum(axis=0) * (weights * half_scores**2).sum(axis=0)
    return energy


def above_zero(factor: FloatArray) -> FloatArray:
    """Small values for zeros, which the multiplicative rules could never leave.

    In proportion to the largest entry: repeated samples and empty features make no difference.
    """
    raised: FloatArray = np.maximum(factor, factor.dtype.type(LEAST_SHARE) * factor.max())
    return raised


def unit_free_codes(basis: FloatArray, codes: FloatArray, length: float) -> Start:
    """A start from axes of length one, with the unit of X in the basis, where penalties expect it.

    ``length`` is the typical length of a sample; of it a power of two is taken, so that no digit
    changes.
    """
    unit = basis.dtype.type(power_of_two(length))
    return basis * unit, codes / unit


def typical_residual(engine: Engine, k: int, found: Axes, share: FloatArray | None) -> float:
    """The median distance of a sample from the span of the k leading directions of X."""
    return weighted_median(left_over(engine, found[1][:, :k]), share)


def left_over(engine: Engine, scores: FloatArray) -> FloatArray:
    """Distances of samples from a span in which they have these scores.

    They come from a difference of squares, which has half the digits: less than these is zero.
    """
    left = engine.squares - np.einsum("ij,ij->i", scores, scores)
    told = left > ROUND_OFF[engine.dtype.itemsize] * engine.squares
    return np.asarray(np.sqrt(np.where(told, left, 0)))


def typical_spread(engine: Engine, weights: FloatArray, share: FloatArray | None) -> float:
    """The median distance of a sample from the mean of the weighted samples."""
    centre = engine.adjoint_times(weights[:, None]) / weights.sum()
    return weighted_median(distances_from(engine, centre), share)


def distances_from(engine: Engine, centre: FloatArray) -> FloatArray:
    """Of all samples from a point, given as a column."""
    squares = engine.squares - 2 * engine.times(centre)[:, 0] + float(np.vdot(centre, centre))
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def kmeans_start(
    engine: Engine, k: int, share: FloatArray | None, rng: np.random.RandomState
) -> Start:
    """The centres of k-means as the basis; codes by least squares, with more on the own centre.

    Bare indicators would not do for the robust graph penalty: where neighbours have the very same
    code their edge has length zero and enormous weight, and reweighting never parts them again.
    """
    centres, labels = engine.clusters(k, share, rng.randint(2**31 - 1))
    basis = np.ascontiguousarray(centres.T, engine.dtype)
    lengths = np.linalg.norm(basis, axis=0)
    basis[:, lengths < _TOO_SHORT * lengths.max()] = 0
    codes = np.zeros((engine.n_samples, k), engine.dtype)
    nonnegative_codes(engine, basis, codes)
    codes *= 0.5
    codes[np.arange(engine.n_samples), labels] += 0.5
    return basis, codes


def exemplar_start(engine: Engine, k: int, rng: np.random.RandomState | None) -> Start:
    """k samples, far from each other, as the basis; non-negative least squares for the codes."""
    short = engine.squares < _TOO_SHORT**2 * engine.squares.max()
    chosen = _spread_samples(engine, k, short, rng)
    basis = np.ascontiguousarray(engine.chosen(chosen).T)
    basis[:, short[chosen]] = 0
    codes = np.zeros((engine.n_samples, k), engine.dtype)
    nonnegative_codes(engine, basis, codes)
    return basis, codes


def _spread_samples(
    engine: Engine, k: int, short: NDArray[np.bool_], rng: np.random.RandomState | None
) -> list[int]:
    """One sample after the other, each drawn with its distance from those before as weight.

    Without ``rng`` the choice is fixed by the data: first the sample of median length, then always
    the farthest but for the farthest tenth, which may be outliers. ``short`` ones are taken where
    there are too few others.
    """
    n, squares, others = engine.n_samples, engine.squares.astype(np.float64), np.flatnonzero(~short)
    if rng is None:
        first = np.argsort(squares[others], kind="stable")[len(others) // 2]
    else:
        first = rng.randint(len(others))
    chosen = [int(others[first])]
    nearest = np.full(n, np.inf)
    while len(chosen) < k:
        last = chosen[-1]
        products = engine.times(engine.chosen([last]).T).ravel()
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


def _contiguous(basis: FloatArray, codes: FloatArray, dtype: Any) -> Start:
    return np.ascontiguousarray(basis, dtype), np.ascontiguousarray(codes, dtype)
