"""Data made from their definition."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

RandomState = int | np.random.RandomState | None

N_POINTS = 21
_PEAKS = np.array([[11], [15], [7]])  # of the waves h1, h2, h3, counting points from 1
_PAIRS = np.array([[1, 2], [0, 2], [0, 1]])  # waves mixed by the classes 0, 1, 2


def make_waveform(
    n_samples: int = 5000, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw from Breiman's waveform problem.

    A signal is x_i = u h_a(i) + (1 − u) h_b(i) + ε_i at the points i = 1, …, 21, with u uniform on
    [0, 1], independent standard normal ε_i, and the triangular waves ::

        h1(i) = max(6 − |i − 11|, 0),   h2(i) = h1(i − 4),   h3(i) = h1(i + 4),

    whose peaks of height 6 stand at points 11, 15 and 7. The class, drawn uniformly, is the pair
    (a, b).

    Parameters
    ----------
    n_samples : int, default=5000
        Number of samples.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same data in every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 21), float64
        Samples as rows.
    y : ndarray of shape (n_samples,), int64
        Class 0 mixes h2 and h3, class 1 h1 and h3, class 2 h1 and h2.

    See Also
    --------
    load_waveform : The 5000 samples of the UCI repository.

    Notes
    -----
    The classes are numbered as in the UCI file ``waveform.data``, whose class means differ from
    the means above by less than 2.4 standard errors at every point; any other numbering is more
    than 80 standard errors away. The file is rounded to two decimals; these data are not.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone, *Classification and Regression Trees*,
       1984, section 2.6.2.

    Examples
    --------
    >>> from seminmf.datasets import make_waveform
    >>> X, y = make_waveform(300, 0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 21), [0, 1, 2])
    """
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
        raise ValueError(f"n_samples={n_samples!r} must be a whole number of at least 1.")
    rng = check_random_state(random_state)
    y = rng.randint(len(_PAIRS), size=n_samples).astype(np.int64)
    u = rng.uniform(size=(n_samples, 1))
    first, second = base_waves()[_PAIRS[y]].swapaxes(0, 1)
    X = u * first + (1.0 - u) * second + rng.standard_normal((n_samples, N_POINTS))
    return X, y


def base_waves() -> NDArray[np.float64]:
    """Return the three triangular waves h1, h2, h3, one per row, shape (3, 21)."""
    points = np.arange(1.0, N_POINTS + 1)
    return np.maximum(6.0 - np.abs(points - _PEAKS), 0.0)
