"""What an experiment is made of: independent runs with a stable key, and how many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Value = str | int | float
Solver = Literal["mu", "cd"]


@dataclass(frozen=True)
class Run:
    """One independent piece of work.

    Attributes
    ----------
    experiment : str
        Name of the experiment that it belongs to.
    task : str
        Which function of `seminmf.experiments.tasks` does the work.
    parameters : mapping
        Everything the result depends on. They are columns of the run's rows.
    number : int
        Number of the repetition; subset, starts and k-means draw their random numbers from it.
    cost : float
        Rough guess of the seconds it takes, for the time left; the result does not depend on it.
    """

    experiment: str
    task: str
    parameters: Mapping[str, Value]
    number: int = 0
    cost: float = field(default=1.0, compare=False)

    @property
    def key(self) -> str:
        """Name of the run on disk: the same parameters give the same key, in any order."""
        named = " ".join(f"{name}={_text(self.parameters[name])}" for name in _order(self))
        return f"{self.experiment} {named} run={self.number:03d}".replace("  ", " ")


def _order(run: Run) -> list[str]:
    return sorted(run.parameters)


def _text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Size:
    """How much of an experiment to do.

    Attributes
    ----------
    runs : int
        Repetitions of the tables; costly experiments take fewer, never more.
    quick : bool
        Everything at a tiny size, to see that it works.
    solver : {"mu", "cd"}
        Algorithm of the experiments that repeat the paper's.
    """

    runs: int = 20
    quick: bool = False
    solver: Solver = "mu"

    def repeats(self, most: int | None = None) -> range:
        """Numbers of the repetitions, at most ``most``."""
        count = self.runs if most is None else min(self.runs, most)
        return range(min(count, 2) if self.quick else count)

    def iterations(self, count: int) -> int:
        """Number of iterations of the paper's algorithm."""
        return max(3, count // 25) if self.quick else count

    def pick(self, values: tuple[Any, ...], most: int = 2) -> tuple[Any, ...]:
        """A grid of values, or a few of them from one end to the other."""
        if not self.quick or len(values) <= most:
            return values
        step = (len(values) - 1) / (most - 1) if most > 1 else 0.0
        return tuple(values[round(i * step)] for i in range(most))

    def limits(self) -> dict[str, Value]:
        """Parameters that restrict the data sets: none at full size."""
        return {"samples": 300} if self.quick else {}


@dataclass(frozen=True)
class Spec:
    """One table or figure.

    Attributes
    ----------
    name : str
        What `seminmf reproduce` calls it.
    title : str
        One line on what is measured.
    source : str
        Where it stands in the paper, or "ours".
    plan : callable
        From a `Size` to the runs.
    """

    name: str
    title: str
    source: str
    plan: Callable[[Size], list[Run]] = field(repr=False)
