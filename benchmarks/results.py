"""A measured comparison, the requirement it is held against, and the file of all of them."""

from __future__ import annotations

import csv
import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

_Row = TypeVar("_Row")


@dataclass(frozen=True)
class Goal:
    """What a ratio should be: at least (or at most) ``value``."""

    value: float
    at_least: bool = True

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.value:.3g}"


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    row: str
    what: str
    case: str
    against: str = ""
    unit: str = "s"
    ours: float = math.nan
    reference: float = math.nan
    ratio: float = math.nan
    goal: float = math.nan
    at_least: bool = True
    note: str = ""
    status: str = "ok"
    """``ok``, ``skipped`` or ``failed``; the note says why."""
    threads: int = 0
    date: str = ""
    load: float = math.nan
    commit: str = ""
    machine: str = ""
    cores: int = 0
    python: str = ""
    versions: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.row, self.case, self.against, self.threads

    @property
    def score(self) -> float:
        """How far beyond the goal: above 1 it is reached."""
        if self.status != "ok" or math.isnan(self.goal):
            return math.nan
        if self.at_least:
            return self.ratio / self.goal
        return self.goal / self.ratio if self.ratio > 0 else math.inf

    @property
    def met(self) -> bool:
        return self.score >= 1


def speedup(row: str, what: str, case: str, against: str, **fields: Any) -> Result:
    """How many times sooner: reference / ours. A reference that never arrives is infinite."""
    goal: Goal = fields.pop("goal")
    ours, reference = fields["ours"], fields["reference"]
    ratio = 0.0 if math.isinf(ours) else reference / ours
    return Result(
        row, what, case, against, ratio=ratio, goal=goal.value, at_least=goal.at_least, **fields
    )


def cost(row: str, what: str, case: str, against: str, **fields: Any) -> Result:
    """How many times as much: ours / reference."""
    goal: Goal = fields.pop("goal")
    ratio = fields["ours"] / fields["reference"]
    return Result(
        row, what, case, against, ratio=ratio, goal=goal.value, at_least=goal.at_least, **fields
    )


def read_rows(path: Path, kind: type[_Row]) -> list[_Row]:
    """The rows of a file, objects of a dataclass; none if it does not exist."""
    if not path.exists():
        return []
    kinds = {field.name: field.type for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    convert: dict[str, Callable[[str], Any]] = {
        "str": str,
        "int": int,
        "float": float,
        "bool": lambda text: text == "True",
    }
    with path.open(newline="", encoding="utf-8") as lines:
        return [
            kind(**{name: convert[str(kinds[name])](text) for name, text in line.items()})
            for line in csv.DictReader(lines)
        ]


def write_rows(path: Path, rows: list[Any], kind: Any) -> None:
    """All rows, in the place of what was in the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [field.name for field in dataclasses.fields(kind)]
    unfinished = path.with_suffix(".part")
    with unfinished.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(dataclasses.asdict(row) for row in rows)
    unfinished.replace(path)


def read(path: Path) -> list[Result]:
    """The results of a file; none if it does not exist."""
    return read_rows(path, Result)


def save(path: Path, new: Iterable[Result], order: list[str]) -> list[Result]:
    """Put new results in the place of old ones of the same rows; ``order`` is that of the rows."""
    new = list(new)
    replaced = {(result.row, result.threads) for result in new}
    kept = [result for result in read(path) if (result.row, result.threads) not in replaced]
    results = sorted(
        (result for result in kept + new if result.row in order),
        key=lambda result: (order.index(result.row), result.threads),
    )
    write_rows(path, results, Result)
    return results
