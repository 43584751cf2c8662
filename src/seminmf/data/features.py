"""Features in which samples are compared: all, or their coordinates along a few directions of X."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from .axes import leading_axes
from .engine import Engine
from .samples import typical_length
from .stream import Stream

# Samples shorter than this share of a typical length weigh as if they were so long.
_SHORTEST = 1e-6


def leading_directions(X: Any, count: int) -> FloatArray | None:
    """Orthonormal directions along which the samples are long, the leading first; m × ``count``.

    A sample counts by its direction alone, so that outliers do not choose directions for
    themselves. None where there are no more features than that: samples are compared by all.
    """
    if X.shape[1] <= count:
        return None
    with Engine(X, count) as engine:
        return directions_of(engine, count)


def directions_of(engine: Engine, count: int) -> FloatArray:
    """The same of an engine with more features."""
    length = typical_length(engine.brought(engine.squares), None)
    axes, _ = leading_axes(engine, count, engine.each(_equal_weights, engine.squares, length))
    return np.ascontiguousarray(axes[:, :count], engine.dtype)


def _equal_weights(squares: FloatArray, length: float) -> FloatArray:
    """Weights that make all samples as long as a typical one, but for those of nearly no length."""
    lengths = np.maximum(np.sqrt(squares), _SHORTEST * length)
    weights = (length / lengths) ** 2 if length > 0 else np.ones_like(lengths)
    return np.asarray(weights, squares.dtype)


def features_of(X: Any, directions: FloatArray | None) -> FloatArray:
    """The features of samples as an array: along ``directions``, or all if there are none."""
    if directions is None and isinstance(X, Stream):
        directions = np.eye(X.shape[1], dtype=X.dtype)
    if directions is None:
        return np.asarray(X.toarray() if sp.issparse(X) else X)
    with Engine(X, directions.shape[1]) as engine:
        return engine.times(directions.astype(X.dtype, copy=False))
