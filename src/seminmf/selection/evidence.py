"""From errors on left out blocks to a number of parts, with an interval and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._types import FloatArray
from ..outliers import outlier_threshold
from .blocks import Blocks

# So many standard errors from the best number of parts is the interval.
_INTERVAL = 2.0
_NOTHING = (
    "Parts predict left-out blocks no better than by zeros: there may be no parts at all, "
    "only noise."
)
# Of what the most parts foretell better than the fewest.
_MOST_OF_IT = 0.9
# With fewer features than this for each part, more parts are hardly told apart.
_FEATURES_PER_PART = 2.0


@dataclass(frozen=True)
class ComponentsChoice:
    """How many parts there are, how sure that is, and why.

    Attributes
    ----------
    n_components : int
        The smallest number of parts that foretells left out blocks as well as the best one, within
        a standard error.
    interval : (int, int)
        Numbers of parts from … to … are within two standard errors of the best.
    best : int
        The number of parts with the smallest error.
    table : dict of str to ndarray
        The curve: "n_components", "error" (mean distance of a left out sample from what it was
        foretold to be, in the units of X as it was scaled), "excess" (its difference to the best
        one) and "standard_error" (of that difference).
    n_outliers : int
        Samples that no number of parts foretells. They have no say.
    n_samples_used, n_features_used : int
        Of a large table not all samples take part, and features are added up in groups.
    reason : str
        The choice in words.
    warning : str
        What speaks against trusting it; empty if nothing does.
    """

    n_components: int
    interval: tuple[int, int]
    best: int
    table: dict[str, FloatArray] = field(repr=False)
    n_outliers: int
    n_samples_used: int
    n_features_used: int
    reason: str
    warning: str


def chosen_by(
    found: list[list[Any]], deals: list[Blocks], candidates: list[int], shape: tuple[int, int],
    n_outliers: int,
) -> ComponentsChoice:  # fmt: skip
    """The choice by the errors that were found in the cells of each deal."""
    lengths = np.mean([lengths_of(*pair) for pair in zip(deals, found, strict=True)], axis=0)
    least = lengths.min(axis=1)
    inside = least <= outlier_threshold(least)
    means, nothing = (
        np.array([_cell_means(*pair, inside, of) for pair in zip(deals, found, strict=True)])
        for of in ("errors", "nothing")
    )
    error = means.mean(axis=(0, 1, 2))
    best = int(error.argmin())
    beyond = means - means[..., [best]]
    excess, se = beyond.mean(axis=(0, 1, 2)), _crossed_error(beyond)
    gained = nothing - means[..., [best]]
    some = gained.mean() > _INTERVAL * _crossed_error(gained)[0]
    near = np.flatnonzero(excess <= se)
    span = np.flatnonzero(excess <= _INTERVAL * se)
    numbers = np.array(candidates)
    chosen, low, high = (int(numbers[i]) for i in (near[0], span[0], span[-1]))
    table = {
        "n_components": numbers, "error": error, "excess": excess, "standard_error": se,
    }  # fmt: skip
    outliers = n_outliers + int((~inside).sum())
    return ComponentsChoice(
        chosen, (low, high), int(numbers[best]), table, outliers, *shape,
        _reason(chosen, int(numbers[best]), numbers, error, outliers),
        _warning(candidates, low, high, shape[1]) if some else _NOTHING,
    )  # fmt: skip


def lengths_of(blocks: Blocks, found: list[Any]) -> FloatArray:
    """Of what is left of each sample, over all its features."""
    squares = np.zeros((len(blocks.row_fold), found[0]["errors"].shape[1]))
    for (row, _), result in zip(blocks.cells, found, strict=True):
        squares[blocks.row_fold == row] += result["errors"] ** 2
    return np.sqrt(squares)


def _cell_means(blocks: Blocks, found: list[Any], inside: Any, of: str) -> FloatArray:
    """Mean error of the samples that have a say: (blocks of samples, of features, candidates)."""
    rows, columns = blocks.cells[-1][0] + 1, blocks.cells[-1][1] + 1
    means = [
        result[of][inside[blocks.row_fold == row]].mean(axis=0)
        for (row, _), result in zip(blocks.cells, found, strict=True)
    ]
    return np.array(means).reshape(rows, columns, -1)


def _crossed_error(beyond: FloatArray) -> FloatArray:
    """Standard errors of means over repeats, blocks of samples and blocks of features.

    Samples and features are both drawn from others that might have been there. Cells that share
    a block are not independent, so that the variances of the means of blocks of samples, and of
    those of features, add up.
    """
    by_rows, by_columns = beyond.mean(axis=(0, 2)), beyond.mean(axis=(0, 1))
    variance = sum(means.var(axis=0, ddof=1) / len(means) for means in (by_rows, by_columns))
    return np.sqrt(np.asarray(variance))


def _reason(chosen: int, best: int, numbers: Any, error: FloatArray, outliers: int) -> str:
    parts = f"{chosen} part{'s' * (chosen != 1)}"
    predict = "predicts" if chosen == 1 else "predict"
    compared = (
        f"{predict} left-out blocks best"
        if chosen == best
        else f"{predict} left-out blocks as well as {best}, within one standard error"
    )
    were = "was" if outliers == 1 else "were"
    far = (
        f"; {outliers:,} sample{'s' * (outliers != 1)} that nothing predicts {were} ignored"
        if outliers
        else ""
    )
    more = ""
    if chosen == numbers[-1]:
        few = numbers[np.flatnonzero(error[0] - error >= _MOST_OF_IT * (error[0] - error.min()))[0]]
        more = f" {chosen} is the largest number tried: the data may support more."
        if few < chosen:
            more += f" {few} achieve nine tenths of what {chosen} gain over {numbers[0]}."
    return f"{parts} {compared}{far}.{more}"


def _warning(numbers: list[int], low: int, high: int, n_features: int) -> str:
    if (low, high) == (numbers[0], numbers[-1]):
        return (
            f"All numbers tried, from {low} to {high} parts, predict about equally well: the data "
            "do not tell how many there are."
        )
    if high == numbers[-1] and _FEATURES_PER_PART * high >= n_features:
        return (
            f"The interval reaches {high}, the largest number tried, and {n_features} features "
            "can hardly tell more parts apart: take the number as a lower bound."
        )
    if high == numbers[-1]:
        return (
            f"The interval reaches {high}, the largest number tried: there may be more parts. Try "
            "larger numbers. Where the error keeps falling, as for images, there is no number to "
            "find: take as many parts as you want to look at."
        )
    if low == numbers[0] and low > 1:
        return (
            f"The interval reaches {low}, the smallest number tried: there may be fewer parts, or "
            "none. Try smaller numbers."
        )
    if high > 2 * low:
        return f"Anything from {low} to {high} parts predicts about as well."
    return ""
