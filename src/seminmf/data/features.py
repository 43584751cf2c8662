"""Features in which samples are compared: all, or their coordinates along a few directions of X."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from .engine import Engine
from .stream import Stream
from .subspace import krylov_features

# Samples shorter than this share of the longest weigh as if they were so long.
_SHORTEST = 1e-6


def leading_directions(X: Any, count: int) -> FloatArray:
    """Orthonormal directions along which the samples are long, the leading first; m × ``count``.

    A sample weighs by one over its length, so that a few far outliers do not choose directions for
    themselves. No fewer than the rank of X, and no more than there can be.
    """
    with Engine(X, count) as engine:
        lengths = np.sqrt(engine.squares)
        weights = 1 / np.maximum(lengths, max(_SHORTEST * float(lengths.max()), 1e-300))
        weights = weights.astype(engine.dtype)
        width = krylov_width(count, X.shape)
        directions, features = krylov_features(engine, width, weights)
    return leading_of(directions, moment_of(features, weights), count)


def krylov_width(count: int, shape: tuple[int, int]) -> int:
    """Half as many directions as ``count`` leading ones are looked for in."""
    return min(-(-count // 2) + 3, shape[1] // 2, shape[0] // 2)


def moment_of(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Fᵀ(w∘F)."""
    moment: FloatArray = features.T.astype(np.float64) @ (weights[:, None] * features)
    return moment


def leading_of(directions: FloatArray, moment: FloatArray, count: int) -> FloatArray:
    """The leading directions in the span of some, where the samples have this moment."""
    axes = np.linalg.eigh(moment)[1][:, ::-1][:, :count]
    return np.ascontiguousarray(directions @ axes.astype(directions.dtype))


def features_of(X: Any, directions: FloatArray | None) -> FloatArray:
    """The features of samples as an array: along ``directions``, or all if there are none."""
    if directions is None and isinstance(X, Stream):
        directions = np.eye(X.shape[1], dtype=X.dtype)
    if directions is None:
        return np.asarray(X.toarray() if sp.issparse(X) else X)
    with Engine(X, directions.shape[1]) as engine:
        return engine.times(directions.astype(X.dtype, copy=False))
