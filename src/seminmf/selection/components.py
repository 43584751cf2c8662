"""How many parts the data support, by bi-cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._files import PathLike
from .._types import FloatArray
from ..models.validation import check_integer
from ..outliers import outlier_threshold
from .blocks import (
    MOST_FEATURES,
    MOST_SAMPLES,
    Blocks,
    comfortable_parts,
    condensed,
    foretold,
    foretold_robustly,
    most_parts,
    usual_folds,
)
from .checks import check_array, check_candidates, check_folds, drawn_seed, told_of
from .work import Step, Work, working

__all__ = ["ComponentsChoice", "ForetellingPlan", "choose_components", "usual_candidates"]

# So many standard errors from the best number of parts is the interval.
_INTERVAL = 2.0
# If nobody says how many parts there may be: so many first, and then more as long as that is not
# enough, up to the second number.
_USUAL_MOST, _LIMIT = 20, 60
_SCREENING, _FORETELLING = "samples that nothing foretells", "numbers of parts"


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
        foretold to be, in the units of X), "excess" (its difference to the best one) and
        "standard_error" (of that difference).
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


def choose_components(
    X: Any,
    candidates: Any = None,
    *,
    folds: Any = "auto",
    repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[Step], object] | None = None,
    checkpoint: PathLike | None = None,
) -> ComponentsChoice:
    """How many parts X has, with an interval.

    Samples and features are dealt into blocks. Each block is left out in turn and foretold from the
    rest by semi-non-negative factorizations with the numbers of parts in question. Samples that are
    foretold by nothing are outliers and are left out of everything. The number is that of *parts*
    that are needed to foretell one half of a sample from the other; it is not that of classes.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
    candidates : iterable of int or None, default=None
        Numbers of parts to choose from, such as ``range(2, 13)``. None is from 1 to 20, and on to
        60 as long as more parts foretell as well or better, or to as many as can be told apart.
    folds : "auto" or (int, int), default="auto"
        Blocks of samples and of features.
    repeats : int, default=1
        How often blocks are dealt anew.
    random_state : int, RandomState or None, default=None
        For the blocks.
    n_jobs : int or None, default=None
        Processes; None is one, −1 is one for each core.
    callback : callable, default=None
        Called with a `Step` after each block.
    checkpoint : path or None, default=None
        Folder in which results are kept as they come: the same call with the same folder goes on
        where one was ended by force.

    Returns
    -------
    choice : ComponentsChoice

    Examples
    --------
    >>> from seminmf.datasets import make_waveform
    >>> from seminmf.selection import choose_components
    >>> X, _ = make_waveform(300, random_state=0)
    >>> choice = choose_components(X, range(2, 7), random_state=0)
    >>> choice.n_components, choice.interval
    (3, (3, 3))
    """
    X = check_array(X, "choose_components")
    plan = ForetellingPlan.checked(X.shape, candidates, folds, repeats)

    def described() -> Any:
        return told_of(
            X, candidates=plan.described, folds=str(plan.folds), repeats=plan.repeats,
            random_state=random_state,
        )  # fmt: skip

    with working(n_jobs, callback, checkpoint, described) as work:
        return plan.carried_out(X, work, random_state)


def usual_candidates(shape: tuple[int, int]) -> range:
    """From one part to twenty, or to as many as there are samples and features for."""
    return range(1, min(_USUAL_MOST, _most_of(shape)) + 1)


def _most_of(shape: tuple[int, int]) -> int:
    """So many parts can be told apart in what takes part of a table, at least two."""
    return max(2, comfortable_parts(_taking_part(shape)))


def _taking_part(shape: tuple[int, int]) -> tuple[int, int]:
    return min(shape[0], MOST_SAMPLES), min(shape[1], MOST_FEATURES)


@dataclass(frozen=True)
class ForetellingPlan:
    """Which numbers of parts are tried on which blocks."""

    candidates: list[int]
    folds: tuple[int, int]
    repeats: int
    limit: int
    """Up to which candidates may be added; the last of them if they were given."""

    @classmethod
    def checked(
        cls, shape: tuple[int, int], candidates: Any, folds: Any = "auto", repeats: Any = 1
    ) -> ForetellingPlan:
        usual = candidates is None
        numbers = check_candidates("candidates", usual_candidates(shape) if usual else candidates)
        check_integer("repeats", repeats, 1)
        limit = min(_LIMIT, _most_of(shape)) if usual else numbers[-1]
        shape = _taking_part(shape)
        if min(shape) < 3:
            raise ValueError(
                f"X has {shape[0]} samples and {shape[1]} features; at least three of each are "
                "needed to leave some out."
            )
        automatic = isinstance(folds, str) and folds == "auto"
        chosen = usual_folds(shape, numbers[-1]) if automatic else check_folds(folds, shape)
        limit = max(numbers[-1], min(limit, most_parts(shape, chosen)))
        plan = cls(numbers, chosen, int(repeats), limit)
        plan._check_size(shape)
        return plan

    @property
    def described(self) -> str:
        """The candidates in words."""
        more = f" up to {self.limit}" if self.limit > self.candidates[-1] else ""
        return f"{self.candidates}{more}"

    def _check_size(self, shape: tuple[int, int], which: str = "") -> None:
        most, wanted = most_parts(shape, self.folds), self.candidates[-1]
        if wanted > most:
            raise ValueError(
                f"candidates go up to {wanted}, but with {shape[0]} samples{which} and {shape[1]} "
                f"features in folds {self.folds} only {most} parts can be told apart. Choose "
                f"candidates up to {most}."
            )

    def carried_out(self, X: Any, work: Work, random_state: Any) -> ComponentsChoice:
        seed = work.once("seed", lambda: drawn_seed(random_state))
        rng = np.random.RandomState(seed)
        X, _ = condensed(X, rng)
        n = len(X)
        screen = Blocks.dealt(X.shape, self.folds, rng)
        screened = work.run(
            _SCREENING, foretold_robustly,
            [(X, screen, cell, self.candidates[-1]) for cell in screen.cells],
        )  # fmt: skip
        worst = _lengths(screen, screened)[:, 0]
        X = np.ascontiguousarray(X[worst <= outlier_threshold(worst)])
        self._check_size(X.shape, " that are no outliers")
        deals = [Blocks.dealt(X.shape, self.folds, rng) for _ in range(self.repeats)]
        limit = min(self.limit, most_parts(X.shape, self.folds))
        places = [(blocks, cell) for blocks in deals for cell in blocks.cells]
        numbers: list[int] = []
        further, what = self.candidates, _FORETELLING
        found: list[dict[str, Any]] = [{}] * len(places)
        while True:
            jobs = [
                (X, *place, further, before.get("factors"), further[-1] < limit)
                for place, before in zip(places, found, strict=True)
            ]
            more = work.run(what, foretold, jobs)
            found = [_joined(*pair) for pair in zip(found, more, strict=True)]
            numbers = [*numbers, *further]
            results = iter(found)
            per_deal = [[next(results) for _ in blocks.cells] for blocks in deals]
            choice = self._choice(X, numbers, deals, per_deal, n - len(X))
            further = _further(numbers[-1], limit)
            if choice.interval[1] < numbers[-1] or not further:
                return choice
            what = f"{_FORETELLING} up to {further[-1]}"

    def _choice(
        self, X: FloatArray, candidates: list[int], deals: list[Blocks], found: list[list[Any]],
        n_outliers: int,
    ) -> ComponentsChoice:  # fmt: skip
        lengths = np.mean([_lengths(*pair) for pair in zip(deals, found, strict=True)], axis=0)
        least = lengths.min(axis=1)
        inside = least <= outlier_threshold(least)
        means = np.array([_cell_means(*pair, inside) for pair in zip(deals, found, strict=True)])
        error = means.mean(axis=(0, 1, 2))
        best = int(error.argmin())
        beyond = means - means[..., [best]]
        excess, se = beyond.mean(axis=(0, 1, 2)), _crossed_error(beyond)
        near = np.flatnonzero(excess <= se)
        span = np.flatnonzero(excess <= _INTERVAL * se)
        numbers = np.array(candidates)
        chosen, low, high = (int(numbers[i]) for i in (near[0], span[0], span[-1]))
        table = {
            "n_components": numbers, "error": error, "excess": excess, "standard_error": se,
        }  # fmt: skip
        outliers = n_outliers + int((~inside).sum())
        return ComponentsChoice(
            chosen, (low, high), int(numbers[best]), table, outliers, X.shape[0], X.shape[1],
            _reason(chosen, int(numbers[best]), candidates[-1], outliers),
            _warning(candidates, low, high),
        )  # fmt: skip


def _further(last: int, limit: int) -> list[int]:
    """Up to half as many again, in steps of a tenth; none at the limit."""
    end, step = min(last + max(last // 2, 1), limit), max(last // 10, 1)
    return sorted({*range(last + step, end + 1, step), end} - {last})


def _joined(before: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """What is known of some numbers of parts, and of further ones."""
    errors = [known["errors"] for known in (before, more) if known]
    return {**more, "errors": np.hstack(errors)}


def _lengths(blocks: Blocks, found: list[Any]) -> FloatArray:
    """Of what is left of each sample, over all its features."""
    squares = np.zeros((len(blocks.row_fold), found[0]["errors"].shape[1]))
    for (row, _), result in zip(blocks.cells, found, strict=True):
        squares[blocks.row_fold == row] += result["errors"] ** 2
    return np.sqrt(squares)


def _cell_means(blocks: Blocks, found: list[Any], inside: Any) -> FloatArray:
    """Mean error of the samples that have a say: (blocks of samples, of features, candidates)."""
    rows, columns = blocks.cells[-1][0] + 1, blocks.cells[-1][1] + 1
    means = [
        result["errors"][inside[blocks.row_fold == row]].mean(axis=0)
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


def _reason(chosen: int, best: int, last: int, outliers: int) -> str:
    parts = f"{chosen} part{'s' * (chosen != 1)}"
    foretell = "foretells" if chosen == 1 else "foretell"
    compared = (
        f"{foretell} left out blocks best"
        if chosen == best
        else f"{foretell} left out blocks as well as {best}, within a standard error"
    )
    far = (
        f"; {outliers:,} sample{'s' * (outliers != 1)} that nothing foretells had no say"
        if outliers
        else ""
    )
    more = f" {last} is the most that was tried, and the data support more." * (chosen == last)
    return f"{parts} {compared}{far}.{more}"


def _warning(numbers: list[int], low: int, high: int) -> str:
    if high == numbers[-1]:
        return (
            f"The interval reaches {high}, the largest number tried: there may be more parts. Try "
            "larger numbers."
        )
    if low == numbers[0] and low > 1:
        return (
            f"The interval reaches {low}, the smallest candidate: there may be fewer parts, or "
            "none. Try smaller numbers."
        )
    if high > 2 * low:
        return f"The evidence is weak: anything from {low} to {high} parts foretells as well."
    return ""
