"""From scores to outliers: how much of a score is usual, and from where on it is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._types import FloatArray

__all__ = ["outlier_threshold", "shortest_half"]

# Half the length of the shortest half of normal values, in standard deviations.
_QUARTILE = 0.6745
# Scores so many deviations above the usual are those of outliers. Chosen so that one sample in a
# hundred of data without outliers is called one (docs/outliers.md): scores have long tails.
_BEYOND = 10.0
# A deviation below this share of the largest value is that of exact fits, and no yardstick.
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

    It lies ten deviations above the usual score: the middle of the shortest interval with half of
    the scores, whose half length is 0.67 deviations. This is done again without the samples beyond
    it until no more are found, so that many outliers do not hide each other. Of data
    without outliers about one sample in a hundred lies beyond it; see the page on outliers for what
    was measured. Where half of the scores are the same, nothing is known about the others,
    and the threshold is the largest score.

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
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(
            "scores must be finite numbers, one per sample, as outlier_scores returns them; got an "
            f"array of shape {values.shape}."
        )
    rest, threshold = values, float(values.max())
    while True:
        middle, deviation = shortest_half(rest)
        if deviation <= _EXACT * float(np.abs(rest).max()):
            return threshold
        threshold = middle + _BEYOND * deviation
        inside = rest[rest <= threshold]
        if len(inside) == len(rest):
            return threshold
        rest = inside
