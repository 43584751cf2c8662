"""Choices that are killed in the middle, each in a process of its own, for `test_selection_killed`.

Run as a script it begins every case in the folder given, and each kills itself.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faults import ended, forked
from seminmf import L21SemiNMF
from seminmf.selection import SemiNMFSelector, choose_components, components, stability
from seminmf.solve import checkpoint

Watch = Callable[[Any], object]


def samples() -> tuple[Any, Any]:
    """Three clusters, and their numbers."""
    rng = np.random.RandomState(0)
    kind = rng.randint(3, size=60)
    return rng.standard_normal((3, 12))[kind] + 0.2 * rng.standard_normal((60, 12)), kind


def chosen(folder: Path | None, watch: Watch | None) -> dict[str, Any]:
    X, _ = samples()
    found = choose_components(X, [2, 3, 4], random_state=0, checkpoint=folder, callback=watch)
    return found.table


def chosen_further(folder: Path | None, watch: Watch | None) -> dict[str, Any]:
    """With few numbers of parts at first, which are not enough."""
    X, _ = samples()
    usual, components._USUAL_MOST = components._USUAL_MOST, 2
    try:
        return choose_components(X, random_state=0, checkpoint=folder, callback=watch).table
    finally:
        components._USUAL_MOST = usual


def steady(folder: Path | None, watch: Watch | None) -> dict[str, Any]:
    X, _ = samples()
    model = L21SemiNMF(3, random_state=0)
    found = stability(X, model, n_runs=6, random_state=0, checkpoint=folder, callback=watch)
    return {
        "labels": found.labels, "agreement": found.agreement, "parts": found.part_stability,
        "clusters": found.model.labels_,
    }  # fmt: skip


def _selected(folder: Path | None, watch: Watch | None, y: Any) -> dict[str, Any]:
    X, _ = samples()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = SemiNMFSelector(
            candidates=[2, 3, 4], strengths=[1e-4, 3e-4, 1e-3], n_runs=3, random_state=0,
            checkpoint=folder, callback=watch,
        ).fit(X, y)  # fmt: skip
    tables = {
        f"{name} {column}": values
        for name, table in found.results_.items()
        for column, values in table.items()
        if column != "seconds"
    }
    return {**tables, "codes": found.best_estimator_.codes_, "labels": found.stability_.labels}


def selected(folder: Path | None, watch: Watch | None) -> dict[str, Any]:
    return _selected(folder, watch, None)


def selected_by_labels(folder: Path | None, watch: Watch | None) -> dict[str, Any]:
    return _selected(folder, watch, samples()[1])


def tuned(folder: Path | None, watch: Watch | None) -> dict[str, Any]:
    """``seminmf tune``, whose callback is put in the place of its progress bar."""
    from tempfile import TemporaryDirectory

    if folder is None:
        with TemporaryDirectory() as made:
            return tuned(Path(made), watch)
    from typer.testing import CliRunner

    from seminmf import cli
    from seminmf.cli import tuning

    @contextmanager
    def watched(talk: Any) -> Iterator[Any]:
        yield watch

    folder.mkdir(exist_ok=True)
    np.save(folder / "X.npy", samples()[0])
    words = ["tune", str(folder / "X.npy"), "--k", "2:4", "--jobs", "1", "--runs", "3"]
    before, tuning.watched = tuning.watched, watched
    try:
        result = CliRunner().invoke(cli.app, [*words, "--out", str(folder / "out")])
    finally:
        tuning.watched = before
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in folder.iterdir()) == ["X.npy", "out"]
    columns = (folder / "out" / "tune-components.csv").read_text("utf-8")
    return {"table": np.array(columns.split())}


@dataclass
class Case:
    """Some work, and the piece of it after which it is killed."""

    work: Callable[[Path | None, Watch | None], dict[str, Any]]
    what: str
    done: int

    @property
    def name(self) -> str:
        return f"{self.work.__name__} at {self.what} {self.done}"


CASES = [
    Case(chosen, "samples that nothing predicts", 3),
    Case(chosen, "numbers of parts", 12),
    Case(chosen_further, "numbers of parts up to 3", 7),
    Case(chosen_further, "numbers of parts up to 4", 7),
    Case(steady, "fits to subsamples", 4),
    Case(selected, "numbers of parts", 19),
    Case(selected, "strengths", 2),
    Case(selected, "fits to subsamples", 2),
    Case(selected_by_labels, "coarse grid", 2),
    Case(selected_by_labels, "finer grid", 1),
    Case(tuned, "numbers of parts", 5),
    Case(tuned, "fits to subsamples", 1),
]


def work_until_killed(case: Case, folder: Path) -> None:
    def kill(step: Any) -> None:
        if (step.what, step.done) == (case.what, case.done):
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint._TIMES_AS_LONG = 0.0  # every state is written
    case.work(folder, kill)


def main(folder: Path) -> None:
    """Prints the names of the cases that were killed."""
    for number, case in enumerate(CASES):
        child = forked(lambda n=number, c=case: work_until_killed(c, folder / str(n)))
        if ended(child) == -signal.SIGKILL:
            print(case.name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
