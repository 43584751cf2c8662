"""Versions to test with, and the list of mutants: neither may lag behind what it is about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.mutation.__main__ import check_texts

import environments

HERE = Path(__file__).parents[1]


def test_the_lowest_versions_are_those_of_pyproject() -> None:
    assert environments.LOWEST.read_text(encoding="utf-8") == environments.lowest()
    assert "numpy==" in environments.lowest()


def test_two_lowest_versions_of_a_package_are_refused(tmp_path: Path) -> None:
    text = '[project]\nname = "p"\ndependencies = ["numpy>=1"]\n'
    text += '[project.optional-dependencies]\ntest = ["numpy>=2"]\nbad = ["numpy<3"]\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="two lowest versions"):
        environments.lowest(tmp_path / "pyproject.toml")
    with pytest.raises(ValueError, match="not of the form"):
        environments.lowest(tmp_path / "pyproject.toml", "bad")


def test_constraints_name_versions_and_nothing_else() -> None:
    for file in [HERE / "constraints.txt", *environments.FOLDER.glob("*.txt")]:
        for line in file.read_text(encoding="utf-8").splitlines():
            assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.+!]+", line), (file, line)


def test_every_mutant_has_its_place() -> None:
    assert check_texts() == []
