"""What became of one value of a constant on one data set: a row of the table of all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

PRESENT, AGAIN, OTHER = "present", "again", "other"


@dataclass(frozen=True)
class Outcome:
    """Seconds are the best of several; ratios are to the present value in the same round-robin.

    On one thread they are those of the processor, on more those of the clock.
    """

    constant: str
    module: str
    value: str
    present: str
    role: str
    """`PRESENT`, `OTHER`, or `AGAIN`: the present value a second time, to see the noise."""
    data: str
    threads: int
    measure: str
    """What the result is: ``objective``, ``accuracy``, or ``error`` of the intact samples."""
    seconds: float = math.nan
    seconds_ratio: float = math.nan
    first_ratio: float = math.nan
    second_ratio: float = math.nan
    """The same in the first and in the second half of the rounds."""
    result: float = math.nan
    result_ratio: float = math.nan
    iterations: int = 0
    rounds: int = 0
    """Of which the best time was taken, in both halves together."""
    apart: bool = False
    """Whether each value had a process of its own, because compiled code is made with it."""
    date: str = ""
    load: float = math.nan
    commit: str = ""
    machine: str = ""
    cores: int = 0
    python: str = ""
    versions: str = ""

    @property
    def group(self) -> tuple[str, int]:
        """What is measured in one round-robin: data set and threads."""
        return self.data, self.threads


def shown(value: object) -> str:
    """A value of a constant, as the table has it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
