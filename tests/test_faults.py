"""Processes that are killed at any step, and full disks: what was told as done is there."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seminmf
from helpers import converging_or_not, data
from seminmf import L21SemiNMF
from seminmf.experiments.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a table and two models."""
    X = data(40, 5)
    np.savetxt(tmp_path / "table.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    with converging_or_not():
        for name, n in (("small", 20), ("large", 40)):
            L21SemiNMF(2, max_iter=5, random_state=0).fit(X[:n]).save(tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(
    "what", ["saving", "adding", "fitting", "broken", "together", "checkpointed"]
)
def test_killed(what: str, place: Path) -> None:
    command = [sys.executable, str(Path(__file__).with_name("faults.py")), what, str(place)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr


# A full disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB, as root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("only root can make a disk that is small")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def big() -> Any:
    with converging_or_not():
        return L21SemiNMF(2, max_iter=2, random_state=0).fit(data(3000, 20))


def test_a_model_without_room(small_disk: Path) -> None:
    with converging_or_not():
        before = L21SemiNMF(2, max_iter=2, random_state=0).fit(data(20, 5))
    before.save(small_disk / "m")
    with pytest.raises(OSError, match=r"not saved.*as it was.*make room.*landmarks") as caught:
        big().save(small_disk / "m")
    assert caught.value.errno == errno.ENOSPC
    assert [file.name for file in small_disk.iterdir()] == ["m"]
    np.testing.assert_array_equal(seminmf.load(small_disk / "m").codes_, before.codes_)


def test_rows_without_room(small_disk: Path) -> None:
    """A line that was cut off costs neither the lines before nor the one after."""
    store = Store(small_disk)
    store.add("e", "first", [{"value": 1}])
    with pytest.raises(OSError, match=r"(make room and start again|No space left)"):
        store.add("e", "second", [{"text": "x" * 100_000}])
    assert list(store.finished("e")) == ["first"]
    store.path("f").touch()
    with store.path("e").open("r+b") as file:
        file.truncate(100)  # room again, with half a line
    store.add("e", "third", [{"value": 3}])
    assert list(store.finished("e")) == ["first", "third"]


def test_rows_beside_a_process_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a line of another process, however late it comes, does not take the next with it."""
    store = Store(tmp_path)
    store.add("e", "first", [{"value": 1}])

    class Late(io.FileIO):
        def write(self, data: Any) -> int:
            os.write(self.fileno(), b'{"key": "of the other", "rows": [{"va')
            return super().write(data)

    monkeypatch.setattr(
        Path, "open", lambda path, mode, buffering: Late(path, mode.replace("b", ""))
    )
    store.add("e", "second", [{"value": 2}])
    monkeypatch.undo()
    assert store.finished("e") == {"first": [{"value": 1}], "second": [{"value": 2}]}


def test_a_state_without_room(small_disk: Path) -> None:
    with pytest.raises(OSError, match=r"The checkpoint cannot be written.*It takes.*Make room"):
        L21SemiNMF(2, max_iter=5, checkpoint=small_disk / "c").fit(data(3000, 20))
    assert list((small_disk / "c").iterdir()) == []
