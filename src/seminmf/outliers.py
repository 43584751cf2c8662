"""From scores to outliers: how much of a score is usual, and from where on it is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from ._types import FloatArray

__all__ = ["outlier_threshold", "shortest_half"]

# Half the length of the shortest half of normal values, in standard deviations.
_QUARTILE = 0.6745
# Beyond the threshold lie at least so many times as many samples as would without outliers, ...
_TIMES = 5.0
# ... if tails are not longer than those of Student's t with so many degrees of freedom.
_LONGEST_TAIL = 3.0
# Of few samples the deviation is known badly: of n it is taken to be 1 + 10/n times as large.
_FEW = 10.0
# A spread below this share of the largest value is that of exact fits, and no yardstick.
_EXACT = 1e-10


def shortest_half(values: FloatArray) -> tuple[float, float]:
    """Middle and deviation of values by the shortest interval with half of them in it.

    Unlike median and quartiles, it hardly moves while less than half of them lie elsewhere, even if
    all of these lie above. For normal values the deviation is the standard deviation.
    """
    ordered, half = np.sort(values), len(values) // 2 + 1
    lengths = ordered[half - 1 :] - ordered[: len(values) - half + 1]
    first = int(lengths.argmin())
    middle = (ordered[first] + ordered[first + half - 1]) / 2
    return float(middle), float(lengths[first]) / (2 * _QUARTILE)


def outlier_threshold(scores: ArrayLike) -> float:
    """The score beyond which a sample is an outlier.

    Beyond it lie five times as many samples as one would expect there without outliers: at most one
    in five of the samples beyond it is there by chance. Expected are cube roots of scores around
    the middle of the shortest interval with half of them, whose length is their measure, as
    Student's t spreads. Lengths over many directions are nearly alike and their tails short, those
    over few directions are not: t has as many degrees of freedom as normal numbers whose length
    spreads like the scores, and at least three. Up to nearly half of the samples may be outliers.

    Of lengths of normal, uniform or Laplace errors less than one in 100 lies beyond, of fewer than
    100 samples less than two. Of most labelled sets without outliers none lies beyond, of some many
    do, as those of a small class far from the others: see the page on outliers. Zeros, of samples
    that are foretold exactly, say nothing of how far others are off. Where half of the others are
    the same, nothing is known about the rest, and the threshold is the largest score.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        As ``outlier_scores`` returns them for a training set.

    Returns
    -------
    threshold : float

    Examples
    --------
    >>> import numpy as np
    >>> from seminmf import outlier_threshold
    >>> scores = np.append(np.random.default_rng(0).chisquare(20, 200) ** 0.5, [30.0, 40.0])
    >>> int((scores > outlier_threshold(scores)).sum())
    2
    """
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(
            "scores must be finite numbers, one per sample, as outlier_scores returns them; got an "
            f"array of shape {np.shape(scores)}."
        )
    values = np.sort(values[values > 0])
    if not len(values):
        return 0.0
    roots, n = np.cbrt(values), len(values)
    middle, deviation = shortest_half(roots)
    if deviation <= _EXACT * np.abs(roots).max():
        return float(values.max())
    # The logarithm of the length of f normal numbers has a variance of 1/2f, its cube root 1/18f.
    freedom = max(_LONGEST_TAIL, (middle / deviation) ** 2 / 18)
    expected = n * stdtr(freedom, (middle - roots) / (deviation * (1 + _FEW / n)))
    beyond = np.flatnonzero(_TIMES * expected <= n - np.arange(n))
    if not len(beyond):
        return float(values.max())
    first = int(beyond[0])
    return float(((roots[first - 1] + roots[first]) / 2) ** 3)
