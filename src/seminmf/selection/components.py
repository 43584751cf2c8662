"""How many parts the data support, by bi-cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._files import PathLike
from ..models.validation import check_integer
from ..outliers import outlier_threshold
from .blocks import (
    Blocks,
    comfortable_parts,
    condensed,
    evened,
    foretold,
    foretold_robustly,
    most_parts,
    taking_part,
    usual_folds,
)
from .checks import check_array, check_candidates, check_folds, drawn_seed, told_of
from .evidence import ComponentsChoice, chosen_by, lengths_of
from .work import Step, Work, working

# If nobody says how many parts there may be: so many first, and then more as long as that is not
# enough, up to the second number.
_USUAL_MOST, _LIMIT = 20, 60
_SCREENING, _FORETELLING = "samples that nothing predicts", "numbers of parts"


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
    foretold by nothing are outliers and are left out of everything; features that are foretold far
    worse than others are scaled down, those far better scaled up. The number is that of *parts*
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
    return range(1, min(_USUAL_MOST, comfortable_parts(shape)) + 1)


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
        limit = min(_LIMIT, comfortable_parts(shape)) if usual else numbers[-1]
        shape = taking_part(shape)
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
        worst = lengths_of(screen, screened)[:, 0]
        X = evened(X[worst <= outlier_threshold(worst)], screen, screened)
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
            choice = chosen_by(per_deal, deals, numbers, X.shape, n - len(X))
            further = _further(numbers[-1], limit)
            if choice.interval[1] < numbers[-1] or not further:
                return choice
            what = f"{_FORETELLING} up to {further[-1]}"


def _further(last: int, limit: int) -> list[int]:
    """Up to half as many again, in steps of a tenth; none at the limit."""
    end, step = min(last + max(last // 2, 1), limit), max(last // 10, 1)
    return sorted({*range(last + step, end + 1, step), end} - {last})


def _joined(before: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """What is known of some numbers of parts, and of further ones."""
    errors = [known["errors"] for known in (before, more) if known]
    return {**more, "errors": np.hstack(errors)}
