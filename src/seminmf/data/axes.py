"""Leading directions of X, optionally with weighted rows.

A run starts from them (`solve.starts`), and neighbours are searched in them (`features`).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .._types import FloatArray
from .engine import Engine

# Up to this many samples or features, the axes are exact eigenvectors of a Gram matrix; beyond that
# they come from a randomised range finder with this many extra directions and power passes.
EXACT_SIZE, OVERSAMPLING, POWER_PASSES = 300, 6, 2
_EIGENVECTORS = {8: lapack.dsyevr, 4: lapack.ssyevr}
# The default seed is fixed: equal data get equal scales and neighbours.
SEED = 0

Axes = tuple[FloatArray, FloatArray]
"""Orthonormal directions A (m × r) and the scores X·A (n × r)."""


def exact(engine: Engine) -> bool:
    """Whether the leading directions are computed without random numbers."""
    return engine.n_features <= EXACT_SIZE


def leading_axes(
    engine: Engine, rank: int, weights: FloatArray, rng: np.random.RandomState | None = None,
    *, more: bool = False,
) -> Axes:  # fmt: skip
    """Leading directions of the rows scaled by √``weights``, and their scores.

    At most ``rank`` directions if they are exact; with ``more`` up to `OVERSAMPLING` additional,
    less accurate ones. Random directions use a fixed seed unless ``rng`` is given.
    """
    n, m = engine.n_samples, engine.n_features
    width = min(rank + OVERSAMPLING, n, m)
    if exact(engine):
        moment = engine.weighted_moment(weights)
        axes = eigenvectors(moment, width if more else min(rank, width))
        return axes, engine.times(axes.astype(engine.dtype, copy=False))
    if few_samples(engine):
        # From X·Xᵀ, which is smaller: accurate to half the digits, enough for a start.
        roots = np.sqrt(weights.astype(np.float64))[:, None]
        vectors = eigenvectors(roots * engine.gram * roots.T, width if more else min(rank, width))
        axes = engine.adjoint_times((roots * vectors).astype(engine.dtype))
        lengths = np.linalg.norm(axes, axis=0)
        kept = lengths**2 > n * np.finfo(engine.dtype).eps * lengths.max() ** 2
        axes = axes[:, kept] / lengths[kept]
        return axes, engine.times(axes)
    rng = np.random.RandomState(SEED) if rng is None else rng
    directions = rng.standard_normal((m, width)).astype(engine.dtype)
    for _ in range(POWER_PASSES):
        directions = np.linalg.qr(engine.square_times(weights, directions))[0]
    scores = engine.times(directions)
    square = engine.summed(lambda own, weights: own.T @ (weights[:, None] * own), scores, weights)
    turn = eigenvectors(square, width)
    return directions @ turn, engine.each(np.matmul, scores, turn)


def eigenvectors(symmetric: FloatArray, count: int) -> FloatArray:
    """Eigenvectors of the ``count`` largest eigenvalues, as columns, largest first."""
    size = len(symmetric)
    # scipy.linalg.eigh spends as long on checks around this call for a few dozen features.
    _, found, _, _, failure = _EIGENVECTORS[symmetric.itemsize](
        np.asarray_chkfinite(symmetric), range="I", il=size - count + 1, iu=size, lower=1
    )
    if failure != 0:
        raise np.linalg.LinAlgError(f"no eigenvectors of {size} × {size} sums were found")
    return np.array(found[:, ::-1], order="C")


def few_samples(engine: Engine) -> bool:
    """Whether X·Xᵀ is the cheaper way to the directions than Xᵀ·X."""
    few = engine.n_samples <= EXACT_SIZE and engine.n_samples < engine.n_features
    return few and engine.whole
