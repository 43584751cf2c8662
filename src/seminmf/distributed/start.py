"""Where a run starts whose rows lie with shards: the starts of `solve.starts`, by sums."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..data import Engine, power_of_two
from ..data.axes import EXACT_SIZE, OVERSAMPLING, POWER_PASSES, SEED, eigenvectors
from ..data.samples import weighted_median
from ..problem.basis import Basis, LeastSquaresBasis
from ..solve import starts
from ..solve.plan import SHORTEST, Plan, code_square, looks_at_data, random_size
from ..solve.projection import nonnegative_codes
from .engine import RemoteEngine
from .shards import Shard, Shards


def total(parts: list[Any]) -> Any:
    """The sum over the shards, in their order."""
    return reduce(np.add, parts)


def weigh(shard: Shard, loss: Any, floor: float) -> None:
    """Keep the weights of the loss at U = 0."""
    shard.weights = loss.weights(np.sqrt(shard.engine.squares), floor, shard.share)


def square_times(shard: Shard, directions: FloatArray) -> FloatArray:
    """Xᵀ(w∘(XD))."""
    return shard.active.square_times(shard.weights, directions)


def _moment(shard: Shard) -> FloatArray:
    return shard.active.weighted_moment(shard.weights[:, None])


def _score(shard: Shard, axes: FloatArray) -> FloatArray:
    """Keep the scores XA; returns their weighted products with each other."""
    scores = shard.scores = shard.active.times(axes)
    products: FloatArray = scores.T @ (shard.weights[:, None] * scores)
    return products


def _turn(shard: Shard, turn: FloatArray) -> None:
    shard.scores = shard.scores @ turn


def leading_axes(shards: Shards, shape: tuple[int, int], k: int, rng: Any, dtype: Any) -> Any:
    """Leading directions of the weighted rows, whose scores stay with the shards."""
    n, m = shape
    width = min(k + OVERSAMPLING, n, m)
    if m <= EXACT_SIZE:
        axes = eigenvectors(total(shards.map(_moment)), width).astype(dtype, copy=False)
        shards.map(_score, axes)
        return axes
    directions = rng.standard_normal((m, width)).astype(dtype)
    for _ in range(POWER_PASSES):
        directions = total(shards.map(square_times, np.linalg.qr(directions)[0]))
    directions = np.linalg.qr(directions)[0]
    turn = eigenvectors(total(shards.map(_score, directions)), width)
    shards.map(_turn, turn)
    return directions @ turn


def _tails(shard: Shard, k: int) -> FloatArray:
    scores = shard.scores[:, :k]
    tails: FloatArray = shard.weights @ (scores * scores * scores)
    return tails


def _flip(shard: Shard, flip: FloatArray) -> FloatArray:
    """Turn axes round; returns the least score along the first, its weighted sum, the weights'."""
    shard.scores[:, : len(flip)] *= flip
    first, weights = shard.scores[:, 0], shard.weights
    return np.array([first.min(), weights @ first, weights.sum()])


def _least_ratios(shard: Shard, k: int, nearest: float) -> FloatArray:
    scores = shard.scores[:, :k]
    far = scores[:, 0] >= nearest
    ratios = scores[far] / scores[far, :1]
    least: FloatArray = ratios.min(axis=0) if len(ratios) else np.full(k, np.inf, scores.dtype)
    return least


def _set_codes(shard: Shard, lifts: FloatArray | None, k: int) -> None:
    scores = shard.scores
    if lifts is not None:
        codes = starts.lifted_codes(scores[:, :k], lifts)
    elif k == 1:
        codes = np.maximum(scores[:, :1], 0)
    else:
        codes = starts.shifted_codes(scores[:, : k - 1])
    shard.codes = np.ascontiguousarray(codes, shard.engine.dtype)


def _svd_start(shards: Shards, axes: FloatArray, k: int, refine: bool) -> FloatArray:
    """See `solve.starts.svd_start`; returns the basis, codes stay with the shards."""
    tails = total(shards.map(_tails, k))
    flip = np.where(tails < 0, axes.dtype.type(-1), axes.dtype.type(1))
    found = shards.map(_flip, flip)
    kept, least = axes[:, :k] * flip, min(part[0] for part in found)
    _, first, weight = total(found)
    lifts = None
    if least > 0:
        ratios = shards.map(_least_ratios, k, starts.NEAR_ORIGIN * first / weight)
        lifts = np.maximum(-np.min(ratios, axis=0), 0)
        basis = starts.lifted_basis(kept, lifts)
    else:
        basis = kept if k == 1 else starts.shifted_basis(kept[:, : k - 1])
    shards.map(_set_codes, lifts, k)
    if refine and lifts is None and k > 1:
        turned = axes.copy()
        turned[:, :k] = kept
        return _refined(shards, turned, k)
    return basis


def _small_moments(shard: Shard) -> Any:
    """Moments of the codes with the scores, as one matrix below the other."""
    weighted = shard.weights[:, None] * shard.codes
    return np.vstack([shard.scores.T @ weighted, shard.codes.T @ weighted])


def _small_codes(shard: Shard, basis: FloatArray) -> None:
    scores = np.ascontiguousarray(shard.scores)
    small = Engine(scores, basis.shape[1], team=shard.engine.team)
    nonnegative_codes(small, basis, shard.codes)


def _refined(shards: Shards, axes: FloatArray, k: int) -> FloatArray:
    rule, width = LeastSquaresBasis(), axes.shape[1]
    basis = Basis.of(np.zeros((width, k), axes.dtype))
    for _ in range(starts.ROUNDS):
        moments = total(shards.map(_small_moments))
        moment, gram = np.ascontiguousarray(moments[:width]), moments[width:]
        basis = rule.step(moment, gram, basis, 0.0, 1.0)
        shards.map(_small_codes, basis.U)
    return axes @ basis.U


def _energies(shard: Shard, axes: FloatArray) -> FloatArray:
    scores, weights = shard.scores[:, : axes.shape[1]], shard.weights[:, None]
    return np.stack([starts.half_energy(axes, scores, weights, sign) for sign in (1, -1)])


def _set_halves(shard: Shard, signs: FloatArray) -> None:
    shard.codes = np.maximum(signs * shard.scores[:, : len(signs)], 0).astype(shard.engine.dtype)


def _random_codes(shard: Shard, seed: int, k: int) -> None:
    codes = np.random.RandomState(seed).uniform(0, 1, (shard.engine.n_samples, k))
    shard.codes = codes.astype(shard.engine.dtype)


def _given_codes(shard: Shard, codes: FloatArray) -> None:
    shard.codes = codes.astype(shard.engine.dtype)


def _largest_code(shard: Shard) -> float:
    return float(shard.codes.max(initial=0))


def _raise_codes(shard: Shard, least: float) -> None:
    np.maximum(shard.codes, shard.codes.dtype.type(least), out=shard.codes)


def _divide_codes(shard: Shard, unit: Any) -> None:
    shard.codes /= unit


def _code_square(shard: Shard) -> float:
    return code_square(shard.codes)


def code_square_of(shards: Shards) -> float:
    """Σ ‖v_i‖²."""
    return float(sum(shards.map(_code_square)))


def _numbers(shard: Shard) -> IntArray:
    return shard.numbers


def _take_space(shard: Shard, space: str) -> None:
    """Begin anew in a space; what a run before has left is not wanted any more."""
    shard.active, shard.rows = shard.spaces[space], None


def _left_over(shard: Shard, k: int) -> tuple[FloatArray, FloatArray | None]:
    return starts.left_over(shard.engine, shard.scores[:, :k]), shard.share


def typical_residual(shards: Shards, shape: tuple[int, int], k: int, dtype: Any) -> float:
    """See `solve.starts.typical_residual`; the weights are those that were kept last."""
    leading_axes(shards, shape, k, np.random.RandomState(SEED), dtype)
    return _median(shards.map(_left_over, k))


def _weighted_sum(shard: Shard) -> FloatArray:
    """Σ w x, and Σ w behind it."""
    weights = shard.weights[:, None]
    return np.append(shard.engine.adjoint_times(weights)[:, 0], weights.sum())


def _distances_from(shard: Shard, centre: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    return starts.distances_from(shard.engine, centre[:, None]), shard.share


def typical_spread(shards: Shards) -> float:
    """See `solve.starts.typical_spread`; the weights are those that were kept last."""
    sums = total(shards.map(_weighted_sum))
    return _median(shards.map(_distances_from, sums[:-1] / sums[-1]))


def _median(parts: list[Any]) -> float:
    """Of what all shards found for their samples, with the shares of these."""
    share = None if parts[0][1] is None else np.concatenate([own for _, own in parts])
    return weighted_median(np.concatenate([found for found, _ in parts]), share)


def make_start(plan: Plan, engine: RemoteEngine, rng: Any, number: int) -> FloatArray:
    """The basis of a start in the features of an engine; its codes are with the shards."""
    shards, dtype = engine.shards, engine.dtype
    shape = _, m = engine.n_samples, engine.n_features
    k = plan.n_components
    shards.map(_take_space, engine.space)
    if isinstance(plan.init, tuple):
        basis, codes = plan.init
        numbers = shards.map(_numbers)
        shards.map_each(_given_codes, [(codes[own],) for own in numbers])
        return np.array(basis, dtype)
    if not looks_at_data(plan, number):
        basis = rng.uniform(0.0 if plan.nonnegative else -1.0, 1, (m, k)) * random_size(plan, m)
        seeds = [(rng.randint(2**31 - 1), k) for _ in range(len(shards))]
        shards.map_each(_random_codes, seeds)
        return basis.astype(dtype)
    shards.map(weigh, plan.loss, SHORTEST * plan.length)
    axes = leading_axes(shards, shape, k, rng, dtype)
    if plan.nonnegative:
        kept = axes[:, :k]
        plus, minus = total(shards.map(_energies, kept))
        signs = np.where(plus >= minus, 1, -1)
        shards.map(_set_halves, signs)
        basis = starts.above_zero(np.maximum(signs * kept, 0))
    else:
        basis = _svd_start(shards, axes, k, plan.alpha == 0 and plan.loss.quadratic)
    if plan.nonnegative or plan.solver == "mu":
        largest = max(shards.map(_largest_code))
        shards.map(_raise_codes, starts.LEAST_SHARE * largest)
    # As `solve.starts.unit_free_codes`.
    unit = dtype.type(power_of_two(plan.length))
    shards.map(_divide_codes, unit)
    return np.ascontiguousarray(basis * unit, dtype)
