"""Do the runs that are not on disk yet."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from .environment import environment_id
from .runs import Run
from .store import Row, Store
from .tasks import TASKS

# A run that fails in one of these ways is a result: the row says so instead of scores.
_FAILURES = (FloatingPointError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Outcome:
    """What the progress display learns after each run."""

    run: Run
    done: int
    total: int


def perform(run: Run) -> list[Row]:
    """Do one run with one thread and return its tidy rows."""
    began = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        # Whether a fit had converged is a column of its row.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            results = TASKS[run.task](run.parameters, run.number)
        except _FAILURES as error:
            results = [{"failure": f"{type(error).__name__}: {error}"}]
    seconds = time.perf_counter() - began
    fixed = {"experiment": run.experiment, **run.parameters, "run": run.number}
    made_by = {"environment": environment_id()}
    rows = ({**fixed, "seconds": seconds, **result, **made_by} for result in results)
    return [_plain_row(row) for row in rows]


def _plain_row(row: Row) -> Row:
    """Without values that are not finite: an absent cell is what every format can say."""
    values = ((name, _plain(value)) for name, value in row.items())
    return {name: value for name, value in values if value is not None}


def _plain(value: Any) -> Any:
    """Numbers as plain Python numbers of eight digits, which CSV and JSON give back exactly."""
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.8g}") if np.isfinite(value) else None
    return value


def _perform_and_name(run: Run) -> tuple[Run, list[Row]]:
    return run, perform(run)


def execute(
    runs: Sequence[Run],
    store: Store,
    jobs: int = -1,
    progress: Callable[[Outcome], None] | None = None,
) -> int:
    """Do all runs whose key the store does not have; return how many there were.

    The runs go to ``jobs`` processes (−1: one per core) with one thread each, in their order; this
    process alone writes. Stopping it in any way loses the runs under way and nothing else.
    """
    todo = missing(runs, store)
    if not todo:
        return 0
    store.add_environment()
    for done, (run, rows) in enumerate(_results(todo, jobs), start=1):
        store.add(run.experiment, run.key, rows)
        if progress is not None:
            progress(Outcome(run, done, len(todo)))
    return len(todo)


def missing(runs: Sequence[Run], store: Store) -> list[Run]:
    """The runs whose rows are not there yet, each once, in their order."""
    known: dict[str, set[str]] = {}
    for experiment in {run.experiment for run in runs}:
        known[experiment] = set(store.finished(experiment))
    todo = []
    for run in runs:
        if run.key not in known[run.experiment]:
            known[run.experiment].add(run.key)
            todo.append(run)
    return todo


def _results(todo: list[Run], jobs: int) -> Iterable[tuple[Run, list[Row]]]:
    if jobs == 1:
        return map(_perform_and_name, todo)
    with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        results: Iterable[tuple[Run, list[Row]]] = parallel(
            delayed(_perform_and_name)(run) for run in todo
        )
    return results
