"""Work that is killed, in processes of its own, for `test_faults`.

`killed_at_each_step` and `killed_at_random` are for whoever has other work that must survive that.
Run as a script it is one of the functions below, by name, with a folder.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

# The status of a process that was stopped by an error, not killed.
_BROKEN = 3
# What a process does to the names of files.
_STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


def forked(work: Callable[[], object]) -> int:
    """Number of a child that works and ends. Whoever calls it has no threads."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def ended(child: int) -> int:
    """Its exit status, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at_each_step(
    work: Callable[[], object],
    folder: Path,
    check: Callable[[bool], object],
    every: int = 1,
    stop: Callable[[], object] = kill,
) -> int:
    """Kill ``work`` before its first, second, … change of files in the folder, until it ends.

    After each, ``check`` is called with whether it has come to its end. Returns how often it was
    killed. Another ``stop`` raises an error, once.
    """

    def killed_at(step: int) -> None:
        seen = 0

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if event in _STEPS and str(arguments[0]).startswith(str(folder)):
                seen += 1
                if seen == step + 1:
                    stop()

        sys.addaudithook(watch)
        work()
        if seen > step:
            os._exit(_BROKEN)  # it has met the error and made the best of it

    for number in count():
        end = ended(forked(lambda step=number * every: killed_at(step)))
        expected = (0, -signal.SIGKILL) if stop is kill else (0, _BROKEN)
        assert end in expected, f"killed at step {number * every} it ended with {end}"
        check(end == 0)
        if end == 0:
            return number
    raise AssertionError


def killed_at_random(work: Callable[[], object], longest: float, times: int) -> None:
    """Kill ``work``, which does not end by itself, after random times."""
    rng = random.Random(0)
    for _ in range(times):
        child = forked(work)
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        assert ended(child) == -signal.SIGKILL


def visible(folder: Path) -> set[str]:
    """Names that somebody sees; what was being written is hidden."""
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def saving(folder: Path) -> None:
    """A model is saved where nothing is, and where another is."""
    import seminmf

    small, large = seminmf.load(folder / "small"), seminmf.load(folder / "large")
    place = folder / "place"
    for before, after in ((None, small), (small, large)):

        def check(done: bool, before: Any = before, after: Any = after) -> None:
            assert visible(place) <= {"target"}
            expected = after if done else before
            if expected is None:
                assert not visible(place)
            else:
                assert len(seminmf.load(place / "target").codes_) == len(expected.codes_)
            shutil.rmtree(place)
            place.mkdir()
            if before is not None:
                before.save(place / "target")

        place.mkdir(exist_ok=True)
        if before is not None:
            before.save(place / "target")
        times = killed_at_each_step(lambda model=after: model.save(place / "target"), place, check)
        assert times >= 3, times


def adding(folder: Path) -> None:
    """Two processes add rows at once, and are killed: what they told as done is there."""
    from seminmf.experiments.store import Store

    store, told = Store(folder), folder / "told"

    def work() -> None:
        with told.open("ab", buffering=0) as stream:
            for number in count():
                key = f"{os.getpid()}-{number}"
                store.add("e", key, [{"value": number, "text": "x" * 5000}])
                stream.write(f"{key}\n".encode())

    other = forked(work)
    killed_at_random(work, 0.1, 20)
    os.kill(other, signal.SIGKILL)
    ended(other)
    keys = told.read_text().split()
    assert len(keys) > 20
    assert set(keys) <= set(store.finished("e"))


def fitting(folder: Path) -> None:
    """``seminmf fit --out``: a folder is whole, or not there."""
    import json

    import seminmf
    from seminmf.cli import main

    place = folder / "place"
    place.mkdir()

    def work() -> None:
        sys.argv = ["seminmf", "fit", str(folder / "table.csv"), "-k", "2", "--quiet",
                    "--max-iter", "20", "--out", str(place / "out")]  # fmt: skip
        with suppress(SystemExit):  # which it ends with in any case; `check` looks at the folder
            main()

    def check(done: bool) -> None:
        assert visible(place) <= {"out"}
        assert not done or visible(place)
        if visible(place):
            run = json.loads((place / "out" / "run.json").read_bytes())
            assert set(run["files"].values()) | {"run.json"} == visible(place / "out")
            seminmf.load(place / "out" / "model.seminmf")
        shutil.rmtree(place)
        place.mkdir()

    assert killed_at_each_step(work, place, check, every=8) >= 2


def _full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _interrupted() -> None:
    raise KeyboardInterrupt


def broken(folder: Path) -> None:
    """``seminmf fit --out`` and saving meet a full disk or Ctrl-C at any step: nothing is left."""
    import seminmf
    from seminmf.cli import main

    place = folder / "place"
    place.mkdir()
    model, before = seminmf.load(folder / "large"), seminmf.load(folder / "small")

    def fit() -> None:
        sys.argv = ["seminmf", "fit", str(folder / "table.csv"), "-k", "2", "--quiet",
                    "--max-iter", "20", "--out", str(place / "out")]  # fmt: skip
        with suppress(SystemExit):
            main()

    def save() -> None:
        with suppress(OSError, KeyboardInterrupt):
            model.save(place / "target")

    def check(done: bool) -> None:
        # Not even hidden files: whoever is told of an error tidies up first.
        names = {path.name for path in place.iterdir()}
        assert names <= {"out", "target"}, names
        if "out" in names:
            seminmf.load(place / "out" / "model.seminmf")
            assert (place / "out" / "run.json").exists()
        expected = model if done else before
        assert len(seminmf.load(place / "target").codes_) == len(expected.codes_) or "out" in names
        shutil.rmtree(place)
        place.mkdir()
        before.save(place / "target")

    before.save(place / "target")
    for stop in (_full, _interrupted):
        assert killed_at_each_step(save, place, check, stop=stop) >= 2
        shutil.rmtree(place)
        place.mkdir()
        before.save(place / "target")
        assert killed_at_each_step(fit, place, lambda _: check(False), every=9, stop=stop) >= 2


def together(folder: Path) -> None:
    """Two processes save to one file again and again, and a third one reads: it is always whole."""
    import seminmf

    models = [seminmf.load(folder / name) for name in ("small", "large")]
    target = folder / "target"
    models[0].save(target)

    def work(model: Any) -> None:
        while True:
            model.save(target)

    writers = [forked(lambda model=model: work(model)) for model in models]
    try:
        lengths = {len(seminmf.load(target).codes_) for _ in range(300)}
    finally:
        for writer in writers:
            os.kill(writer, signal.SIGKILL)
            ended(writer)
    assert lengths == {len(model.codes_) for model in models}


def checkpointed(folder: Path) -> None:
    """A fit is killed while its state is written, and goes on to the same digits."""
    import numpy as np

    from seminmf import L21SemiNMF
    from seminmf.solve import checkpoint

    checkpoint._TIMES_AS_LONG = 0.0  # every state is written
    X = np.random.default_rng(0).normal(size=(60, 6))
    place = folder / "place"

    def fit(where: Path | None) -> Any:
        return L21SemiNMF(2, max_iter=5, tol=0, random_state=0, checkpoint=where).fit(X)

    ended(forked(lambda: np.save(folder / "expected.npy", fit(None).codes_)))
    expected = np.load(folder / "expected.npy")

    def check(done: bool) -> None:
        assert visible(place) <= {"state.npz", "lock"} if place.exists() else not done

        def go_on() -> None:
            np.testing.assert_array_equal(fit(place).codes_, expected)
            assert visible(place) == set()

        assert done or ended(forked(go_on)) == 0
        shutil.rmtree(place, ignore_errors=True)

    assert killed_at_each_step(lambda: fit(place), place, check, every=7) >= 2


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
