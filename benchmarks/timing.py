"""Clocks, and the round-robin in which contestants take turns.

All times are wall-clock seconds, but for those of `working_seconds`. Contestants of one comparison
run in one process, one after the other and again and again, so that a busy moment of the machine
hits all of them; the best of each counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any


@dataclass
class Stopwatch:
    """Seconds since it was made, without those spent in `paused`."""

    _start: float = field(default_factory=perf_counter)
    _paused: float = 0.0

    def seconds(self) -> float:
        return perf_counter() - self._start - self._paused

    @contextmanager
    def paused(self) -> Iterator[None]:
        """For what the benchmark does and the contestant would not."""
        since = perf_counter()
        try:
            yield
        finally:
            self._paused += perf_counter() - since


def seconds(action: Callable[[], Any]) -> float:
    """How long one call takes."""
    watch = Stopwatch()
    action()
    return watch.seconds()


def working_seconds(action: Callable[[], Any], threads: int) -> float:
    """The same where others may want the cores: on one thread the seconds of the processor."""
    if threads > 1:
        return seconds(action)
    begin = process_time()
    action()
    return process_time() - begin


def interleave(
    contestants: Mapping[str, Callable[[], float]],
    rounds: int,
    budget: float = 60.0,
    fewest: int = 1,
) -> dict[str, float]:
    """The best of each contestant over several rounds, in which all of them take turns.

    A contestant measures itself and returns seconds. No round begins that would end beyond
    ``budget`` seconds, judging by the longest so far; but there are always so many as ``fewest``.
    """
    best = dict.fromkeys(contestants, float("inf"))
    names = itertools.cycle(contestants)
    watch, longest = Stopwatch(), 0.0
    for number in range(rounds):
        begun = watch.seconds()
        if number >= fewest and begun + longest > budget:
            break
        for name in itertools.islice(names, len(contestants)):
            best[name] = min(best[name], contestants[name]())
        longest = max(longest, watch.seconds() - begun)
        next(names)  # so that each round begins with another one
    return best


def per_iteration(estimator: Any, X: Any, iterations: int, skip: int = 2) -> float:
    """Seconds per iteration of a fit, between the callbacks of iterations ``skip`` and the last.

    Neither what happens before the first iteration nor what happens after the last is in it;
    steps that were taken back are.
    """
    stamps: list[float] = []

    def stamp(progress: Any) -> None:
        stamps.append(perf_counter())

    estimator.set_params(max_iter=iterations, tol=0, callback=stamp).fit(X)
    return (stamps[-1] - stamps[skip - 1]) / (len(stamps) - skip)


@dataclass(frozen=True)
class Arrival:
    """When a run first saw the goal (infinite if never), and how it stood when it ended."""

    seconds: float
    iterations: int
    value: float
    first: float
    """Seconds until the first iteration was done."""
    whole: float
    """Seconds until ``fit`` returned."""


def time_to(
    estimator: Any, X: Any, goal: float, measure: Callable[[Any], float] | None = None
) -> Arrival:
    """From the call of ``fit`` to the first callback that sees a value of at most ``goal``.

    ``measure(progress)`` is the value, by default the objective; the clock stands still in it.
    """
    arrived, iterations, value, first = float("inf"), 0, float("inf"), float("inf")
    watch = Stopwatch()

    def check(progress: Any) -> bool:
        nonlocal arrived, iterations, value, first
        now = watch.seconds()
        first = min(first, now)
        with watch.paused():
            value = progress.objective if measure is None else measure(progress)
            iterations = progress.iteration
        if value <= goal:
            arrived = now
        return value <= goal

    estimator.set_params(callback=check)
    watch = Stopwatch()
    estimator.fit(X)
    return Arrival(arrived, iterations, value, first, watch.seconds())
