"""Spoil data on purpose, to see what a method makes of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from ._generators import RandomState

__all__ = ["add_gaussian_noise", "add_outliers"]


def add_gaussian_noise(
    X: ArrayLike, sigma: float, random_state: RandomState = None
) -> NDArray[np.floating[Any]]:
    """Return `X` plus independent normal noise of standard deviation `sigma` in every entry.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data; not modified.
    sigma : float
        Standard deviation of the noise, in the units of `X`; 0 gives a copy.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same noise in every call. With the same int, noise of another `sigma`
        is the same noise on another scale.

    Returns
    -------
    X_noisy : ndarray of shape (n_samples, n_features)
        float32 if `X` is, else float64.

    Examples
    --------
    >>> import numpy as np
    >>> from seminmf.datasets import add_gaussian_noise
    >>> noisy = add_gaussian_noise(np.zeros((1000, 10)), 0.3, random_state=0)
    >>> round(float(noisy.std()), 2)
    0.3
    """
    X = _as_floats(X)
    _check_number(sigma, "sigma", "a standard deviation", 0.0, math.inf)
    noise = check_random_state(random_state).standard_normal(X.shape)
    noisy: NDArray[np.floating[Any]] = X + (sigma * noise).astype(X.dtype, copy=False)
    return noisy


def add_outliers(
    X: ArrayLike, fraction: float, scale: float = 5.0, random_state: RandomState = None
) -> tuple[NDArray[np.floating[Any]], NDArray[np.bool_]]:
    """Turn a fraction of the samples into outliers.

    Each chosen sample moves by `scale` times the median row norm of `X`, in a direction of its
    own, drawn uniformly from all directions of feature space.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data; not modified.
    fraction : float
        Share of the samples to move, in [0, 1]; rounded to a whole number of samples.
    scale : float, default=5.0
        How far they move, as a multiple of the median Euclidean norm of the rows.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same outliers in every call. With the same int, the samples moved at a
        smaller `fraction` are among those moved at a larger one.

    Returns
    -------
    X_corrupted : ndarray of shape (n_samples, n_features)
        float32 if `X` is, else float64.
    mask : ndarray of shape (n_samples,), bool
        True where a sample was moved.

    Examples
    --------
    >>> import numpy as np
    >>> from seminmf.datasets import add_outliers
    >>> X, mask = add_outliers(np.ones((50, 4)), 0.1, random_state=0)
    >>> int(mask.sum()), bool((X[~mask] == 1).all())
    (5, True)
    """
    X = _as_floats(X)
    _check_number(fraction, "fraction", "a share of the samples", 0.0, 1.0)
    _check_number(scale, "scale", "a multiple of the median row norm", 0.0, math.inf)
    typical = float(np.median(np.linalg.norm(X, axis=1)))
    if typical == 0.0 and fraction > 0.0:
        raise ValueError(
            "the median row norm of X is 0, so there is no typical size to move samples by; "
            "drop the rows that are zero throughout."
        )
    rng = check_random_state(random_state)
    chosen = rng.permutation(len(X))[: round(fraction * len(X))]
    directions = rng.standard_normal((len(chosen), X.shape[1]))
    directions *= scale * typical / np.linalg.norm(directions, axis=1, keepdims=True)
    mask = np.zeros(len(X), dtype=np.bool_)
    mask[chosen] = True
    X[chosen] += directions.astype(X.dtype, copy=False)
    return X, mask


def _as_floats(X: ArrayLike) -> NDArray[np.floating[Any]]:
    """Return a finite two-dimensional floating point copy of `X`, or say what is wrong with it."""
    floats: NDArray[np.floating[Any]] = check_array(
        X, dtype=(np.float64, np.float32), order="C", copy=True, input_name="X"
    )
    return floats


def _check_number(value: float, name: str, meaning: str, low: float, high: float) -> None:
    """Raise a ValueError unless `value` is a finite number from `low` to `high`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and low <= number <= high):
        span = f"of at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise ValueError(f"{name}={value!r} must be {meaning}: a finite number {span}.")
