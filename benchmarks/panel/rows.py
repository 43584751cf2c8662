"""Rows on disk: what has a row is not measured again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ..results import read_rows, write_rows

# Results are written after so many jobs: an interruption loses no more.
_AT_ONCE = 20


@dataclass(frozen=True)
class Row:
    """A method on a subset of a data set; scores in percent, of the intact samples."""

    data: str
    kind: str
    """``clean``, or what its outliers are."""
    run: int
    method: str
    ACC: float
    """Of the labels that clusters get by majority vote."""
    matched: float
    """The same with one cluster for each class."""
    NMI: float
    ARI: float
    seconds: float
    """Of one core."""


def _key(row: Any) -> tuple[str, str, int, str]:
    return row.data, row.kind, row.run, row.method


@dataclass(frozen=True)
class Job:
    """The methods that a subset still lacks."""

    data: str
    kind: str
    run: int
    methods: tuple[str, ...]


def _quietly(work: Callable[[Job], list[Any]], job: Job) -> list[Any]:
    with threadpool_limits(1):
        return work(job)


def complete(
    path: Path,
    kind: type,
    wanted: Iterable[Job],
    work: Callable[[Job], list[Any]],
    forget: set[str],
) -> list[Any]:
    """All rows of ``wanted``: from the file where it has them, else measured and written to it.

    Rows of the methods in ``forget`` are measured again.
    """
    wanted = list(wanted)
    order = [(j.data, j.kind, j.run, method) for j in wanted for method in j.methods]
    again = {key for key in order if key[-1] in forget}
    rows = {_key(row): row for row in read_rows(path, kind) if _key(row) not in again}
    missing = [
        dataclasses.replace(job, methods=absent)
        for job in wanted
        if (absent := tuple(m for m in job.methods if (job.data, job.kind, job.run, m) not in rows))
    ]

    def save() -> None:
        others = [key for key in rows if key not in set(order)]
        known = [key for key in order if key in rows]
        write_rows(path, [rows[key] for key in (*known, *others)], kind)

    found = Parallel(n_jobs=2, return_as="generator_unordered")(
        delayed(_quietly)(work, job) for job in missing
    )
    for number, new in enumerate(found, 1):
        rows.update({_key(row): row for row in new})
        if number % _AT_ONCE == 0 or number == len(missing):
            save()
            print(f"{number} of {len(missing)}", flush=True)
    return [rows[key] for key in order]
