"""Odd and hostile tables through ``seminmf fit``: a model of what is meant, or one line of help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("pandas")
pytest.importorskip("openpyxl")

from odd_tables import CASES, VALUES
from seminmf import cli
from seminmf.cli import fitting
from seminmf.io import open_table, read_table

runner = CliRunner()
WIDE = {"COLUMNS": "2000"}


@pytest.fixture(autouse=True)
def _without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of each fit is another matter, and takes most of the time."""
    monkeypatch.setattr(fitting, "write_report", lambda *_: None)


@pytest.mark.parametrize("name", CASES)
def test_fit(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path, out = tmp_path / case.file, tmp_path / "out"
    case.write(path)
    model = () if "--model" in case.options else ("--model", "semi")
    words = ["fit", path, "-k", 1 if case.shape and case.shape[1] == 1 else 2, "--out", out]
    result = runner.invoke(cli.app, [str(w) for w in (*words, *model, *case.options)], env=WIDE)
    if case.shape is None:
        assert result.exit_code == 2, result.output
        (line,) = result.stderr.strip().splitlines()
        assert line.startswith("Error: ")
        assert case.error in line
        assert not out.exists()
        return
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    data = json.loads((out / "run.json").read_text())["data"]
    assert (data["rows"], data["columns"]) == case.shape
    for said in case.says:
        assert said in result.output
    again: Any = eval(json_call(data), {"read_table": read_table, "open_table": open_table})
    assert again.X.shape == case.shape


def json_call(data: dict[str, Any]) -> str:
    from seminmf.io import Record

    return Record(**data).call()


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 80


@pytest.mark.parametrize(
    "name",
    ["1.234,50", '"1,234.50"', "decimal commas", "Excel", "Excel, with its index", "Feather",
     "JSON lines", "10x", "genes in rows", "NPY, genes in rows", "header label, 0, 1, …"],
)  # fmt: skip
def test_the_numbers_are_those_of_the_file(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    case.write(tmp_path / case.file)
    table = read_table(tmp_path / case.file, transpose="--transpose" in case.options)
    X = table.X.toarray() if hasattr(table.X, "toarray") else table.X
    assert np.allclose(X[:, -5:], 1000 * VALUES if "234" in name else VALUES, atol=1e-12)
    if name in ("10x", "genes in rows"):
        assert table.ids is not None
        assert table.ids[:2].tolist() == ["s0", "s1"]
        assert table.feature_names[1] == ("gene1" if name == "10x" else "g1")
