"""From scores to outliers: how much of a score is usual, and from where on it is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._types import FloatArray

__all__ = ["outlier_threshold", "shortest_half"]

# Half the length of the shortest half of normal values, in standard deviations.
_QUARTILE = 0.6745
# From the median of the bulk, this share of it is inside, ...
_INSIDE = 0.9
# ... and the threshold lies so many times as far above the median. For normal values that would be
# 2.6 deviations and 5 in 1,000; what it is for scores is measured on the page on outliers.
_BEYOND = 2.0
# Of few samples both are known badly: of n it is 1 + 10/n times as far, so that of 10 to 1,000
# values that are lengths of normal errors one in 200 lies beyond.
_FEW = 10.0
# Nothing is ordinary so many deviations above the usual, both by the shortest half: outliers that
# lie everywhere between near and far would else join the bulk one by one.
_FAR = 4.0
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

    Cube roots of scores are nearly normal (as those of squares of lengths are, by Wilson and
    Hilferty), and all that follows is done with them. The bulk begins as the shortest interval with
    half of them and all below it, and grows: the threshold lies twice as far above its median as
    nine tenths of it reach (1 + 10/n times that, for a bulk of n samples), and what is not beyond
    that belongs to the bulk, until no more come, but never beyond four deviations of that interval.
    So many outliers, up to nearly half, do not hide each other. Of labelled sets without outliers
    about two samples in a hundred lie beyond it, more where scores have long tails; see the page on
    outliers. Where half of the scores are the same, nothing is known about the others, and the
    threshold is the largest score.

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
    roots = np.cbrt(np.sort(values))
    middle, deviation = shortest_half(roots)
    inside = 0
    reached = int(np.searchsorted(roots, middle + _QUARTILE * deviation, side="right"))
    while reached > inside:
        inside = max(reached, len(roots) // 2 + 1)
        usual, high = np.quantile(roots[:inside], (0.5, _INSIDE))
        if high - usual <= _EXACT * np.abs(roots).max():
            return float(values.max())
        threshold = usual + _BEYOND * (1 + _FEW / inside) * (high - usual)
        threshold = min(threshold, middle + _FAR * deviation)
        reached = int(np.searchsorted(roots, threshold, side="right"))
    return float(threshold**3)
