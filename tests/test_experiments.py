"""Experiments: plans, every task at a tiny size, rows on disk, resuming after a kill.

The data sets are replaced by small made ones, so that nothing has to be there; the numbers of the
real ones are in the committed rows, which test_results_page reads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seminmf import experiments
from seminmf.experiments import Run, Size, Store, data, execute, names, perform, plan, read_rows
from seminmf.experiments.environment import environment, environment_id
from seminmf.experiments.paper import DATASETS, noisy_uspst, paper_grid, paper_table
from seminmf.experiments.store import read_csv, write_csv
from seminmf.experiments.traces import shown_iterations

QUICK = Size(runs=1, quick=True)
EXPECTED = {
    *(f"{kind}-{d}" for kind in ("table", "noise", "grid", "convergence") for d in DATASETS),
    *("grsnf-grid", "uspst-versions", "digits-uspst", "random-matrices", "exact-matrices"),
    *("cifar10", "half-steps", "outliers", "strength", "solvers"),
}


def made_table(seed: int, features: int, classes: int) -> tuple[Any, Any]:
    """Samples around some centres, 120 of them, one of them twice."""
    rng = np.random.default_rng(seed)
    y = np.arange(120) % classes
    X = rng.uniform(-1, 1, (classes, features))[y] + 0.2 * rng.standard_normal((120, features))
    X[1] = X[0]
    return X, y


@pytest.fixture
def made_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small data sets under the names of the real ones."""
    shapes = {"ionosphere": (34, 2), "waveform": (21, 3), "uspst": (256, 10), "uspst_zip": (64, 10)}
    for number, (name, (features, classes)) in enumerate(shapes.items()):
        made = made_table(number, features, classes)
        monkeypatch.setitem(data.LOADERS, name, lambda made=made: made)
    X, y = made_table(9, 48, 10)
    monkeypatch.setitem(data.LOADERS, "cifar10", lambda: (np.abs(X), y))
    data.table.cache_clear()
    yield
    data.table.cache_clear()


# --- plans ---------------------------------------------------------------------------------------


def test_every_experiment_is_there() -> None:
    assert set(names()) == EXPECTED
    assert names()[:3] == ["table-ionosphere", "table-waveform", "table-uspst"]


@pytest.mark.parametrize("size", [Size(), Size(quick=True), Size(solver="cd")])
def test_keys_are_unique_and_stable(size: Size) -> None:
    runs = plan(["all"], size)
    assert len({run.key for run in runs}) == len(runs)
    assert [run.key for run in runs] == [run.key for run in plan(["all"], size)]


def test_more_runs_contain_the_fewer() -> None:
    few, many = ({run.key for run in plan(["all"], Size(runs=r))} for r in (3, 20))
    assert few < many


def test_a_key_depends_on_the_values_only() -> None:
    first = Run("e", "cluster", {"a": 1, "b": 0.5}, 3, cost=1.0)
    second = Run("e", "cluster", {"b": 0.5, "a": 1}, 3, cost=9.0)
    assert first.key == second.key == "e a=1 b=0.5 run=003"


def test_the_tables_are_the_papers() -> None:
    runs = plan(["table-waveform"], Size())
    paper = [run for run in runs if run.parameters["setting"] == "paper"]
    assert {run.parameters["k"] for run in paper} == {8, 10, 12, 14}
    assert {run.parameters["model"] for run in paper} == {"SNF", "GR SNF", "L21 SNF"}
    assert {run.number for run in paper} == set(range(20))
    assert {(run.parameters["max_iter"], run.parameters["tol"]) for run in paper} == {(500, 0.0)}


def test_the_grids_are_the_papers() -> None:
    for dataset in DATASETS:
        runs = plan([f"grid-{dataset}"], Size())
        pairs = {(run.parameters["alpha"], run.parameters["beta"]) for run in runs}
        assert pairs == set(paper_grid(dataset))


def test_the_numbers_of_the_paper() -> None:
    assert paper_table("uspst")[16]["ACC"]["L21 SNF"] == (81.55, 1.08)
    assert paper_table("ionosphere")[4]["NMI"]["SNF"] == (33.28, 6.31)
    assert paper_grid("waveform")[0.1, 100.0] == (81.2, 50.3)
    assert [len(paper_grid(dataset)) for dataset in DATASETS] == [48, 42, 48]
    assert noisy_uspst()["GR SNF"] == (79.1, 68.0)


def test_an_unknown_name_is_explained() -> None:
    with pytest.raises(ValueError, match=r"no experiment is called nothing.*table-uspst"):
        plan(["table-uspst", "nothing"], QUICK)


def test_shown_iterations() -> None:
    assert shown_iterations(3) == [1, 2, 3]
    shown = shown_iterations(500)
    assert shown[:10] == list(range(1, 11))
    assert shown[-1] == 500
    assert len(shown) < 60


# --- every experiment, tiny ----------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_experiment_gives_finite_rows(name: str, made_data: None, tmp_path: Path) -> None:
    runs = plan([name], QUICK)
    store = Store(tmp_path)
    assert execute(runs, store, jobs=1) == len(runs)
    rows = read_rows(tmp_path)[name]
    assert len(rows) >= len(runs)
    for row in rows:
        assert "failure" not in row
        assert row["experiment"] == name
        assert row["environment"] == environment_id()
        for column, (low, high) in {
            "ACC": (0, 100), "NMI": (0, 100), "J": (0, np.inf), "seconds": (0, 600),
            "relative_error": (0, 3), "largest_rise": (0, 1e-9), "exact_samples": (0, 120),
        }.items():  # fmt: skip
            assert low <= row.get(column, low) <= high, (column, row)
    assert execute(runs, store, jobs=1) == 0


def test_the_same_run_gives_the_same_rows(made_data: None) -> None:
    def untimed(run: Run) -> list[dict[str, Any]]:
        return [{n: v for n, v in row.items() if n != "seconds"} for row in perform(run)]

    for run in plan(["table-uspst", "outliers", "random-matrices"], QUICK)[::7]:
        assert untimed(run) == untimed(run)


def test_models_of_a_repetition_share_data_and_seed(made_data: None) -> None:
    runs = [run for run in plan(["table-ionosphere"], QUICK) if run.number == 0]
    assert len({perform(run)[0]["seed"] for run in runs[:3]}) == 1
    first, second = (data.subset("waveform", number)[0] for number in (0, 1))
    assert first.shape == (108, 21)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, data.subset("waveform", 0)[0])


def test_a_breakdown_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(parameters: Any, number: int) -> Any:
        raise FloatingPointError("the objective became nan")

    monkeypatch.setitem(experiments.execute.__globals__["TASKS"], "cluster", break_down)
    (row,) = perform(Run("e", "cluster", {"k": 2}))
    assert row["failure"] == "FloatingPointError: the objective became nan"
    assert "ACC" not in row


def test_in_processes_as_in_this_one(tmp_path: Path) -> None:
    # Without noise samples are fitted exactly, and the last bit of a product decides which.
    runs = [run for run in plan(["exact-matrices"], QUICK) if run.parameters["sigma"] != 0][:4]
    for jobs in (1, 2):
        assert execute(runs, Store(tmp_path / str(jobs)), jobs=jobs) == 4
    here, there = (untimed_rows(tmp_path / str(jobs))["exact-matrices"] for jobs in (1, 2))
    # Code that was compiled twice may differ in the order of additions, but for no more than that.
    assert len(here) == len(there)
    for one, other in zip(here, there, strict=True):
        numbers = {name for name, value in one.items() if isinstance(value, float)}
        assert {n: v for n, v in one.items() if n not in numbers} == {
            n: v for n, v in other.items() if n not in numbers
        }
        for name in numbers:
            assert other[name] == pytest.approx(one[name], rel=1e-6, abs=1e-9), name


# --- rows on disk --------------------------------------------------------------------------------


def untimed_rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [{n: v for n, v in row.items() if n != "seconds"} for row in rows]
        for name, rows in read_rows(folder).items()
    }


def test_rows_round_trip(tmp_path: Path, made_data: None) -> None:
    store = Store(tmp_path / "rows")
    execute(plan(["table-ionosphere", "digits-uspst", "solvers"], QUICK), store, jobs=1)
    written = store.export(tmp_path / "csv")
    assert {path.name for path in written} == {
        "table-ionosphere.csv", "digits-uspst.csv", "solvers.csv", "environments.csv",
    }  # fmt: skip
    assert read_rows(tmp_path / "csv") == read_rows(tmp_path / "rows")
    (known,) = read_csv(tmp_path / "csv" / "environments.csv")
    assert known["id"] == environment_id()
    assert known["numpy"] == environment()["numpy"]


def test_csv_keeps_text_that_looks_like_numbers(tmp_path: Path) -> None:
    rows = [
        {"pixels": "00", "environment": "12345678", "model": 'a, "b"\nc', "k": 3, "J": 1e-9},
        {"model": "x", "k": 4},
    ]
    assert read_csv(write_csv(tmp_path / "t.csv", rows)) == rows


def test_a_truncated_line_is_passed_over_and_done_again(tmp_path: Path) -> None:
    runs = plan(["random-matrices"], QUICK)[:3]
    store = Store(tmp_path)
    execute(runs, store, jobs=1)
    whole = untimed_rows(tmp_path)
    path = store.path("random-matrices")
    written = path.read_bytes()
    for cut in (1, 40, 5000):
        path.write_bytes(written[:-cut])
        assert execute(runs, store, jobs=1) >= 1
        assert untimed_rows(tmp_path) == whole


def test_a_damaged_line_counts_as_not_done(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add("e", "first", [{"J": 1.0}])
    with store.path("e").open("ab") as stream:
        stream.write(b'{"key": "second", "ro{"key"\n')
    store.add("e", "third", [{"J": 3.0}])
    store.add("e", "first", [{"J": 9.0}])
    assert store.finished("e") == {"first": [{"J": 1.0}], "third": [{"J": 3.0}]}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_started_again(how: signal.Signals, tmp_path: Path) -> None:
    """Killed or interrupted at some moments; the rows are those of an undisturbed run."""
    command = [
        sys.executable, "-m", "seminmf", "reproduce", "exact-matrices", "random-matrices",
        "--quick", "--jobs", "1", "--no-page", "--out",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, str(tmp_path / "whole")], check=True, env=environment)
    broken, ends = tmp_path / "broken", []
    for lines in (2, 4, 9):
        process = subprocess.Popen(
            [*command, str(broken)], env=environment, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 60
        while process.poll() is None and count_lines(broken) < lines:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
        ends.append(process.returncode)
        if ends[-1] == 130:
            assert f"Interrupted: what is done is in {broken / 'quick'}" in said
    # On a busy machine the last rows may be there before the signal is.
    expected = 130 if how == signal.SIGINT else -signal.SIGKILL
    assert expected in ends
    assert set(ends) <= {expected, 0}
    subprocess.run([*command, str(broken)], check=True, env=environment)
    assert untimed_rows(broken / "quick") == untimed_rows(tmp_path / "whole" / "quick")


def count_lines(folder: Path) -> int:
    paths = (folder / "quick").glob("*-matrices.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in paths)
