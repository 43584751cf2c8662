"""A short run of `hostile`: files from strangers are refused in one line, or loaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hostile.__main__ import cases, make_good
from hostile.opening import GOOD
from hostile.special import special

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited"),
]
CASES = 300
# Damaged lines of a file of rows count as not there.
LOADED = {"deep.jsonl", "other.jsonl"}
# Tables, if one takes them so.
EITHER = {"wide.csv", "digits.csv", "crash.csv"}


@pytest.fixture(autouse=True)
def found_by_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))


def test_mutations(tmp_path: Path) -> None:
    make_good(tmp_path)
    found = list(cases(tmp_path, 0, 0, CASES))
    assert [case for case in found if case[3] not in GOOD] == []
    assert [case[0] for case in found] == list(range(CASES))
    assert {case[3] for case in found} == set(GOOD)


def test_files_made_by_hand(tmp_path: Path) -> None:
    folder, mark = tmp_path / "files", tmp_path / "mark"
    folder.mkdir()
    made = special(tmp_path, mark)
    for name, content in made.items():
        (folder / name).write_bytes(content())
    outcomes = {case[1]: case[3] for case in cases(folder, -1, 0, len(made))}
    assert {outcomes.pop(name) for name in EITHER} <= set(GOOD)
    expected = {name: "loaded" if name in LOADED else "refused" for name in outcomes}
    assert outcomes == expected
    assert len(outcomes) == len(made) - len(EITHER)
    assert not mark.exists(), "a file has run code"
