"""A fit as it goes on: a bar with the objective and the time left, and Ctrl-C that ends it well."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from ._talk import Talk

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..solve.loop import Progress as Step

# Iterations that the forecast looks at.
_WINDOW = 8


def duration(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def iterations_left(history: list[float], tol: float, max_iter: int) -> int:
    """How many more there will be, if the decrease of the objective goes on shrinking as it did."""
    most = max(0, max_iter - len(history))
    recent = history[-_WINDOW - 1 :]
    falls = [(a - b) / abs(a) for a, b in pairwise(recent) if a != 0]
    falls = [fall for fall in falls if fall > 0]
    if tol <= 0 or len(falls) < 3:
        return most
    rate = (math.log(falls[-1]) - math.log(falls[0])) / (len(falls) - 1)
    if falls[-1] <= tol:
        return 0
    if rate >= 0:
        return most
    return min(most, math.ceil((math.log(tol) - math.log(falls[-1])) / rate))


class Steps:
    """Long work as it goes on: a bar on a terminal, a plain line now and then elsewhere."""

    every = 15.0  # seconds between two plain lines

    def __init__(self, talk: Talk) -> None:
        self.talk, self.told = talk, time.monotonic()
        self.bar: Progress | None = None
        if talk.errors.is_terminal and not talk.quiet and not talk.as_json:
            from rich.progress import BarColumn, Progress, TextColumn

            words, note, left = (
                TextColumn(f"{{task.{field}}}")
                for field in ("description", "fields[note]", "fields[left]")
            )
            self.bar = Progress(words, BarColumn(), note, left, console=talk.errors, transient=True)

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task("Preparing", total=None, note="", left="")
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, words: str, done: float, total: float, note: str, left: float | None) -> None:
        """What is being done, how much of it is, and the seconds left, if they are known."""
        remaining = "" if left is None else f"{duration(left)} left"
        if self.bar is not None:
            self.bar.update(
                self.task, description=words.capitalize(), completed=done, total=total, note=note,
                left=remaining,
            )  # fmt: skip
        elif time.monotonic() - self.told >= self.every:
            self.told = time.monotonic()
            self.talk.say(", ".join(filter(None, (words, note, remaining))))


class Watch(Steps):
    """Shows the steps of a fit."""

    def __init__(self, talk: Talk, tol: float, max_iter: int, n_init: int) -> None:
        super().__init__(talk)
        self.tol, self.max_iter, self.n_init = tol, max_iter, n_init
        self.stopping = False
        self.iterations = 0
        self.histories: dict[int, list[float]] = {}
        self.first = self.told

    def callback(self) -> Callable[[Step], bool]:
        """A plain function: estimators copy what they are given when they are cloned."""

        def step(progress: Step) -> bool:
            return self.step(progress)

        return step

    def step(self, progress: Step) -> bool:
        """Tell about an iteration; True ends the fit."""
        self.iterations += 1
        history = self.histories.setdefault(progress.start, [])
        history.append(progress.objective)
        left = iterations_left(history, self.tol, self.max_iter)
        now = time.monotonic()
        if self.iterations == 1:
            self.first = now  # what came before was the compiler and the search for neighbours
        per_start = len(history) + left
        to_come = left + per_start * (self.n_init - progress.start - 1)
        done = self.iterations - 1
        remaining = (now - self.first) / done * to_come if done else None
        fall = 1 - history[-1] / history[0] if history[0] else 0.0
        start = f"start {progress.start + 1}/{self.n_init}, " if self.n_init > 1 else ""
        self.show(
            f"{start}iteration {progress.iteration}", self.iterations, self.iterations + to_come,
            f"objective {progress.objective:.6g} (−{fall:.1%})", remaining,
        )  # fmt: skip
        return self.stopping


@contextmanager
def stoppable(watch: Watch) -> Iterator[None]:
    """The first Ctrl-C ends the fit after the iteration at hand, the second at once."""

    def first(*_: Any) -> None:
        watch.stopping = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        watch.talk.errors.print(
            "Stopping after this iteration to save what there is; Ctrl-C again to give up.",
            markup=False,
        )

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
