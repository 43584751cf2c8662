"""Features in which samples are compared: all, or coordinates along leading directions of X."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from .axes import leading_axes
from .engine import Engine
from .samples import typical_length
from .stream import Stream

# Samples shorter than this share of the typical length are weighted as if they were that long.
_SHORTEST = 1e-6


def leading_directions(X: Any, count: int) -> FloatArray | None:
    """Orthonormal leading directions of the samples, of shape (n_features, ``count``).

    Every sample is scaled to the same length, so that outliers do not get directions of their own.
    None if X has no more features than ``count``: samples are then compared by all.
    """
    if X.shape[1] <= count:
        return None
    with Engine(X, count) as engine:
        return directions_of(engine, count)


def directions_of(engine: Engine, count: int) -> FloatArray:
    """`leading_directions` of an engine with more than ``count`` features."""
    length = typical_length(engine.brought(engine.squares), None)
    axes, _ = leading_axes(engine, count, engine.each(_equal_weights, engine.squares, length))
    return np.ascontiguousarray(axes[:, :count], engine.dtype)


def _equal_weights(squares: FloatArray, length: float) -> FloatArray:
    """Weights that bring all samples to the typical length, except those of almost no length."""
    lengths = np.maximum(np.sqrt(squares), _SHORTEST * length)
    weights = (length / lengths) ** 2 if length > 0 else np.ones_like(lengths)
    return np.asarray(weights, squares.dtype)


def features_of(X: Any, directions: FloatArray | None) -> FloatArray:
    """The samples in the features to compare: X·``directions``, or all of X, as a dense array."""
    if directions is None and isinstance(X, Stream):
        directions = np.eye(X.shape[1], dtype=X.dtype)
    if directions is None:
        return np.asarray(X.toarray() if sp.issparse(X) else X)
    with Engine(X, directions.shape[1]) as engine:
        return engine.times(directions.astype(X.dtype, copy=False))
