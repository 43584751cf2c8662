"""Spoil data on purpose, to see what a method makes of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from ._generators import RandomState

_Rows = NDArray[np.floating[Any]]


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
    return X + (sigma * noise).astype(X.dtype, copy=False)


def add_outliers(
    X: ArrayLike,
    fraction: float,
    scale: float = 5.0,
    random_state: RandomState = None,
    *,
    kind: str = "gross",
) -> tuple[NDArray[np.floating[Any]], NDArray[np.bool_]]:
    """Turn a fraction of the samples into outliers.

    With the median row norm s of `X`, each chosen sample is changed by its `kind`:

    - "gross": it moves by `scale` s in a direction of its own, drawn uniformly from all directions
      of feature space;
    - "scaled": it is multiplied by `scale`;
    - "noise": normal noise of the expected length s is added to it, whatever `scale` is;
    - "swapped": its values change places among the features, at random; `scale` has no part in it;
    - "grouped": it moves to one and the same place, `scale` s from the origin, with a tenth of what
      it was before to tell it from the others there.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data; not modified.
    fraction : float
        Share of the samples to change, in [0, 1]; rounded to a whole number of samples.
    scale : float, default=5.0
        How far they move, as a multiple of the median Euclidean norm of the rows.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same outliers in every call. With the same int, the samples changed at a
        smaller `fraction` are among those changed at a larger one.
    kind : {"gross", "scaled", "noise", "swapped", "grouped"}, default="gross"
        What becomes of a sample, see above.

    Returns
    -------
    X_corrupted : ndarray of shape (n_samples, n_features)
        float32 if `X` is, else float64.
    mask : ndarray of shape (n_samples,), bool
        True where a sample was changed.

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
    if kind not in _KINDS:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, _KINDS))}.")
    typical = float(np.median(np.linalg.norm(X, axis=1)))
    if typical == 0.0 and fraction > 0.0:
        raise ValueError(
            "the median row norm of X is 0, so there is no typical size to move samples by; "
            "drop the rows that are zero throughout."
        )
    rng = check_random_state(random_state)
    chosen = rng.permutation(len(X))[: round(fraction * len(X))]
    mask = np.zeros(len(X), dtype=np.bool_)
    mask[chosen] = True
    X[chosen] = _KINDS[kind](X[chosen], scale, typical, rng).astype(X.dtype, copy=False)
    return X, mask


def _gross(rows: _Rows, scale: float, typical: float, rng: np.random.RandomState) -> _Rows:
    directions = rng.standard_normal(rows.shape)
    directions *= scale * typical / np.linalg.norm(directions, axis=1, keepdims=True)
    return rows + directions.astype(rows.dtype, copy=False)


def _scaled(rows: _Rows, scale: float, typical: float, rng: np.random.RandomState) -> _Rows:
    return scale * rows


def _noise(rows: _Rows, scale: float, typical: float, rng: np.random.RandomState) -> _Rows:
    return rows + typical / math.sqrt(rows.shape[1]) * rng.standard_normal(rows.shape)


def _swapped(rows: _Rows, scale: float, typical: float, rng: np.random.RandomState) -> _Rows:
    return np.take_along_axis(rows, rng.uniform(size=rows.shape).argsort(axis=1), axis=1)


def _grouped(rows: _Rows, scale: float, typical: float, rng: np.random.RandomState) -> _Rows:
    direction = rng.standard_normal(rows.shape[1])
    return scale * typical * direction / np.linalg.norm(direction) + 0.1 * rows


_KINDS = {
    "gross": _gross, "scaled": _scaled, "noise": _noise, "swapped": _swapped, "grouped": _grouped,
}  # fmt: skip


def _as_floats(X: ArrayLike) -> NDArray[np.floating[Any]]:
    """Return a finite two-dimensional floating point copy of `X`, or say what is wrong with it."""
    return check_array(X, dtype=(np.float64, np.float32), order="C", copy=True, input_name="X")


def _check_number(value: float, name: str, meaning: str, low: float, high: float) -> None:
    """Raise a ValueError unless `value` is a finite number from `low` to `high`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and low <= number <= high):
        span = f"of at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise ValueError(f"{name}={value!r} must be {meaning}: a finite number {span}.")
