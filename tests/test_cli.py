"""The command line, as a user meets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from seminmf import cli
from seminmf.cli import paper
from seminmf.cli._talk import Talk
from seminmf.cli._watch import duration
from seminmf.experiments import Outcome, Run, Store, read_rows
from seminmf.experiments import names as experiment_names

runner = CliRunner()


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "seminmf", "--help"], capture_output=True, text=True, check=True
    )
    assert "reproduce" in done.stdout
    assert "datasets" in done.stdout


def test_help_does_not_load_the_numerics() -> None:
    code = (
        "import sys, seminmf.cli as c\n"
        "from typer.testing import CliRunner\n"
        "assert CliRunner().invoke(c.app, ['--help']).exit_code == 0\n"
        "assert 'numba' not in sys.modules and 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"]], ids=" ".join)
def test_help_loads_no_heavy_libraries(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from seminmf.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "heavy = {'sklearn', 'scipy', 'numba', 'pandas', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    command = [sys.executable, "-c", code, *arguments]
    assert "seminmf" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "command", [[], ["reproduce"], ["datasets"], ["datasets", "list"], ["datasets", "fetch"]]
)
def test_help(command: list[str]) -> None:
    result = runner.invoke(cli.app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_list_names_every_experiment() -> None:
    result = runner.invoke(cli.app, ["reproduce", "--list"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    for name in experiment_names():
        assert name in result.output


def test_reproduce_writes_rows_and_page_once(tmp_path: Path) -> None:
    command = ["reproduce", "random-matrices", "--quick", "--runs", "1", "--jobs", "1"]
    command += ["--out", str(tmp_path)]
    first = runner.invoke(cli.app, command)
    assert first.exit_code == 0, first.output
    assert "8 runs done, 0 were there already" in first.output
    assert "8/8 runs" in first.output
    assert (tmp_path / "quick" / "results.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "quick" / "csv" / "random-matrices.csv").is_file()
    rows = read_rows(tmp_path / "quick")
    second = runner.invoke(cli.app, [*command, "--no-page"])
    assert "0 runs done, 8 were there already" in second.output
    assert read_rows(tmp_path / "quick") == rows


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["reproduce"], "Name one or more experiments"),
        (["reproduce", "nothing"], "no experiment is called nothing"),
        (["datasets", "fetch", "nothing"], "is not a known data set"),
    ],
)
def test_mistakes_are_explained(command: list[str], message: str) -> None:
    result = runner.invoke(cli.app, command)
    assert result.exit_code == 2
    assert message in result.stderr


def test_missing_data_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from seminmf.experiments import data

    asked = []

    def refuse(name: str) -> None:
        asked.append(name)
        raise FileNotFoundError(f"The data set {name!r} is not on this computer")

    monkeypatch.setattr(data, "fetch", refuse)
    command = ["reproduce", "cifar10", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    result = runner.invoke(cli.app, command)
    assert result.exit_code == 2
    assert "'cifar10_test' is not on this computer" in result.stderr
    assert asked == ["cifar10_test"]


def test_data_sets_are_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEMINMF_DATA", str(tmp_path))
    (tmp_path / "waveform.data").write_text("")
    result = runner.invoke(cli.app, ["datasets", "list"], env={"COLUMNS": "300"})
    assert result.exit_code == 0
    assert "cifar10_test" in result.output
    assert str(tmp_path / "waveform.data") in result.output
    fetched = runner.invoke(cli.app, ["datasets", "fetch", "waveform"], env={"COLUMNS": "300"})
    assert fetched.output.strip() == f"waveform {tmp_path / 'waveform.data'}"


def test_progress_on_a_terminal_and_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run("some-table", "cluster", {}, cost=2.0)
    monkeypatch.setattr(paper._Reporter, "every", 0.0)
    for terminal in (False, True):
        talk = Talk()
        talk.errors = Console(force_terminal=terminal, width=120)
        with paper._Reporter(talk, 4.0) as reporter:
            reporter(Outcome(run, 1, 2))
            reporter(Outcome(run, 2, 2))
        output = capsys.readouterr().out
        assert "some-table" in output
        assert "2/2 runs" in output
        assert "0 s left" in output


def test_the_page_from_saved_rows(tmp_path: Path) -> None:
    row = {"dataset": "ionosphere", "n_iter": 8, "basis_rises": 0, "codes_rises": 1, "rises": 0}
    Store(tmp_path).add("half-steps", "key", [{**row, "largest_codes_rise": 1e-3}])
    page, text = tmp_path / "page.html", tmp_path / "docs" / "results.md"
    result = runner.invoke(
        cli.app, ["results", str(tmp_path), "--html", str(page), "--markdown", str(text)]
    )
    assert result.exit_code == 0, result.output
    assert "Ionosphere" in page.read_text("utf-8")
    assert "Ionosphere" in text.read_text("utf-8")
    for command, message in (
        ([str(tmp_path / "docs")], "has no rows"),
        ([str(tmp_path)], "Say what to write"),
    ):
        refused = runner.invoke(cli.app, ["results", *command])
        assert refused.exit_code == 2
        assert message in refused.stderr


def test_durations() -> None:
    assert [duration(s) for s in (-1, 0.4, 59, 61, 3600)] == [
        "0 s", "0 s", "59 s", "1 min 01 s", "60 min 00 s",
    ]  # fmt: skip
