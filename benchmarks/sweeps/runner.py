"""Fits with each value of a constant, in turn: seconds, objective and iterations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from .. import environment
from ..fits import FITS
from ..remote import Answer, Remote, run
from ..timing import interleave
from .outcome import AGAIN, OTHER, PRESENT, Outcome, shown
from .table import Constant

# Where code that was compiled with other values is kept, so that only the first sweep compiles it.
_KEPT = environment.ROOT / "build" / "constants"


@dataclass(frozen=True)
class Pace:
    """How much is measured: rounds and seconds of half a measurement; the most fits and values.

    There are at least ``fewest`` rounds, however long they take.
    """

    rounds: int
    seconds: float
    fewest: int = 2
    fits: int = 100
    values: int = 100

    def values_of(self, constant: Constant) -> list[Any]:
        """Values to try, the outermost of them if these are too many."""
        others = constant.others()
        return [others[0], others[-1]] if len(others) > self.values else list(others)


FULL, QUICK = Pace(15, 1.5), Pace(5, 0.5, fits=2, values=2)

Contestant = Callable[[str], Answer]
"""Makes the fit of a name with a certain value."""


Who = tuple[str, str]
"""Role and value."""


def _race(name: str, contestants: dict[Who, Contestant], pace: Pace) -> dict[Who, list[Answer]]:
    """All answers, of which each has as many as rounds could be made."""
    answers: dict[Who, list[Answer]] = {who: [] for who in contestants}

    def turn(who: Who) -> float:
        answers[who].append(contestants[who](name))
        return answers[who][-1].seconds

    keys = {" ".join(who): who for who in contestants}
    interleave(
        {key: partial(turn, who) for key, who in keys.items()},
        pace.rounds,
        pace.seconds,
        pace.fewest,
    )
    return answers


def _fastest(answers: list[Answer]) -> Answer:
    return min(answers, key=lambda answer: answer.seconds)


def _outcomes(
    constant: Constant, name: str, threads: int, contestants: dict[Who, Contestant], pace: Pace,
    used: Callable[[], float],
) -> Iterator[Outcome]:  # fmt: skip
    """One data set, on one number of threads."""
    others, before = environment.Others(), used()
    halves = [_race(name, contestants, pace) for _ in range(2)]
    about = environment.describe() | {"load": others.load(used() - before)}
    present = shown(constant.place.value)
    references = [_fastest(half[PRESENT, present]) for half in halves]
    reference = _fastest(references)
    if reference.error:
        print(f"{constant.place} on {name}: {reference.error}", file=sys.stderr)
        return
    for role, value in contestants:
        answers = [_fastest(half[role, value]) for half in halves]
        answer = _fastest(answers)
        if answer.error:
            print(f"{constant.place}={value} on {name}: {answer.error}", file=sys.stderr)
            continue
        first, second = (
            one.seconds / other.seconds for one, other in zip(answers, references, strict=True)
        )
        yield Outcome(
            constant.place.name, constant.place.module, value, present, role, FITS[name].title,
            threads, constant.measure, answer.seconds, answer.seconds / reference.seconds, first,
            second, answer.objective, answer.objective / reference.objective, answer.iterations,
            sum(len(half[role, value]) for half in halves), constant.compiled, **about,
        )  # fmt: skip


def sweep(constant: Constant, pace: Pace) -> Iterator[Outcome]:
    """A constant that Python reads when it is needed: all values in this process."""
    place = constant.place
    present = place.value

    def fit_with(value: Any, threads: int, name: str) -> Answer:
        with place.set_to(value):
            return run(name, threads)

    for threads in constant.threads:
        contestants: dict[Who, Contestant] = {
            (role, shown(present)): partial(fit_with, present, threads) for role in (PRESENT, AGAIN)
        }
        for value in pace.values_of(constant):
            contestants[OTHER, shown(value)] = partial(fit_with, value, threads)
        with threadpool_limits(threads):
            for name in constant.fits[: pace.fits]:
                run(name, threads)  # compiles what it needs
                yield from _outcomes(constant, name, threads, contestants, pace, lambda: 0.0)


def sweep_apart(constant: Constant, pace: Pace) -> Iterator[Outcome]:
    """A constant that compiled code is made with: a process for each value."""
    place, present = constant.place, shown(constant.place.value)
    values = pace.values_of(constant)
    for threads in constant.threads:
        with ExitStack() as stack:
            remotes = {
                (role, present): stack.enter_context(Remote(threads)) for role in (PRESENT, AGAIN)
            }
            for value in values:
                folder = _KEPT / f"{place.module}.{place.name}={value}"
                remote = Remote(threads, (f"{place}={value!r}",), {"NUMBA_CACHE_DIR": str(folder)})
                remotes[OTHER, shown(value)] = stack.enter_context(remote)

            def used(remotes: dict[Who, Remote] = remotes) -> float:
                return sum(remote.used for remote in remotes.values())

            for name in constant.fits[: pace.fits]:
                _compile(list(remotes.values()), name)
                contestants: dict[Who, Contestant] = {
                    who: remote.fit for who, remote in remotes.items()
                }
                yield from _outcomes(constant, name, threads, contestants, pace, used)


def _compile(remotes: list[Remote], name: str) -> None:
    """A first fit by all, two at a time."""
    for first in range(0, len(remotes), 2):
        pair = remotes[first : first + 2]
        for remote in pair:
            remote.send(name)
        for remote in pair:
            remote.answer()
