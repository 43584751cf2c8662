"""Choices that were ended by SIGKILL go on where they were, and come to the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
from killed_selection import CASES, Case

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

# What is not kept piece by piece: a path takes the time of a few fits, and is followed anew.
_ANEW = ("strengths",)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder for each case, left behind by a process that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    script = Path(__file__).with_name("killed_selection.py")
    run = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
    assert run.stdout.splitlines() == [case.name for case in CASES], run.stderr
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_killed_work_goes_on(case: Case, killed: Path) -> None:
    seen: list[Any] = []
    folder = killed / str(CASES.index(case))
    found = case.work(folder, seen.append)
    again = [step for step in seen if step.what == case.what]
    first = 1 if case.what in _ANEW else case.done + 1
    assert [step.done for step in again] == list(range(first, again[0].total + 1)), again
    assert again[-1].seconds_left == 0
    before = {step.what for step in seen[: seen.index(again[0])]}
    assert before <= {*_ANEW}, before  # what had been done is not done again
    whole = case.work(None, None)
    assert found.keys() == whole.keys()
    for name in whole:
        np.testing.assert_array_equal(found[name], whole[name], err_msg=name)
    assert not list(folder.glob("**/state.npz"))
