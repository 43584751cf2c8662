"""Versions to test with, and the list of mutants: neither may lag behind what it is about."""

from __future__ import annotations

import csv
import platform
import re
from pathlib import Path

import numpy as np
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


def test_a_run_writes_its_row(tmp_path: Path) -> None:
    written = {
        "test_one.py": "import pytest\ndef test_a(): pass\ndef test_b(): assert 1 == 2\n"
        "@pytest.mark.skip(reason='why not')\ndef test_c(): pass\n",
        "test_two.py": "import os\ndef test_d(): os._exit(3)\n",
        "test_three.py": "import no_such_module\n",
    }
    for name, text in written.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = sorted(tmp_path.glob("test_*.py"))
    row = environments.run("lowest", ["-p", "no:cacheprovider"], files)
    assert (row["passed"], row["failed"], row["skipped"]) == ("1", "3", "1")
    assert "test_one::test_b" in row["what failed"]
    assert "test_two (ended with 3)" in row["what failed"]
    assert row["python"] == platform.python_version()
    assert f"numpy {np.__version__}" in row["versions"]
    assert set(row) == set(environments.COLUMNS)
    path = tmp_path / "tested.csv"
    for python, passed in (("3.11", "1"), ("3.12", "2"), ("3.11", "3")):
        environments.record({**row, "python": python, "passed": passed}, path)
    found = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert [(r["python"], r["passed"]) for r in found] == [("3.11", "3"), ("3.12", "2")]


def test_the_files_of_the_core_are_there() -> None:
    text = (HERE / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    (names,) = re.findall(r"^CORE := (.*)$", text, re.MULTILINE)
    for name in names.split():
        assert (HERE / "tests" / f"test_{name}.py").is_file(), name


def test_every_mutant_has_its_place() -> None:
    assert check_texts() == []
