"""Threads that are made to wait at random wherever they hand over, against one thread.

``python tests/pauses.py 5000`` fits so often, one to three fits at once, on two to four threads
each, and compares every digit with that of one thread. In compiled code (`phases`) each atomic step
may be followed by a sleep, in Python each line of the modules that wake threads, put them to sleep
and send them home. The package is compiled anew for that, into a folder of its own (``--folder``).
With ``--rows`` the outcome is added to a file, from which the page of promises is made.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import random
import resource
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

_LONGEST = 200  # microseconds
_EVERY = 16
_PAUSED = ("crew.py", "team.py", "cores.py")


def pause_between_lines(frame: FrameType, event: str, argument: Any) -> Any:
    """A tracer: sleeps before some of the lines that threads hand over by."""
    folder, name = os.path.split(frame.f_code.co_filename)
    if name not in _PAUSED or not folder.endswith("threads"):
        return None
    if event == "line" and random.randrange(_EVERY) == 0:
        time.sleep(random.random() * _LONGEST * 1e-6)
    return pause_between_lines


def kinds() -> list[Callable[[], tuple[bytes, ...]]]:
    """Fits of every kind whose calls differ in their phases; each returns its digits."""
    import numpy as np
    import scipy.sparse as sp

    import seminmf
    from helpers import data, start

    n, m, k = 300, 12, 4
    X = data(n, m)
    ties = sp.csr_array(sp.eye_array(n, k=1) + sp.eye_array(n, k=5))
    ring, sparse = ties + ties.T, sp.csr_array(np.where(np.abs(X) < 0.7, 0, X))
    U0, V0 = start(n, m, k)
    V0[:, 1] = V0[:, 0]  # a basis system that is singular ends its call early
    usual: dict[str, Any] = {"tol": 0, "max_iter": 4, "random_state": 0}

    def digits(model: Any, X: Any) -> tuple[bytes, ...]:
        model.fit(X)
        found = model.codes_, model.components_, model.objective_history_, model.residuals_
        return tuple(array.tobytes() for array in found)

    made: list[tuple[Callable[[], Any], Any]] = [
        (lambda: seminmf.SemiNMF(k, **usual), X),
        (lambda: seminmf.SemiNMF(k, init=(U0, V0), tol=0, max_iter=4), X),
        (lambda: seminmf.SemiNMF(k, solver="mu", **usual), X),
        (lambda: seminmf.NMF(k, **usual), np.abs(X)),
        (lambda: seminmf.L21SemiNMF(k, graph=ring, **usual), X),
        (lambda: seminmf.L21SemiNMF(k, graph=ring, solver="mu", **usual), X),
        (lambda: seminmf.L21SemiNMF(k, graph=ring, **usual), sparse),
        (lambda: seminmf.GraphSemiNMF(k, n_neighbors=5, **usual), X),
    ]
    return [lambda make=make, X=X: digits(make(), X) for make, X in made]


def compare(fits: int, seed: int) -> int:
    """How many of so many fits differ from one thread's; raises if no thread ever waited."""
    from threadpoolctl import threadpool_limits

    import seminmf.data.cutting as cutting
    from seminmf.compiled.threads import phases, team, turns

    warnings.simplefilter("ignore")
    assert phases._PAUSE == _LONGEST
    team._WORTH_HELPING = team.WORTH_SHARING = 0.0  # small fits are shared as well
    cutting._SMALL = 0
    turns._SMALL = 0.0  # and do not wait for each other
    work = kinds()
    with threadpool_limits(1, user_api="blas"):
        expected = [fit() for fit in work]
    sys.setswitchinterval(1e-4)
    threading.settrace(pause_between_lines)
    sys.settrace(pause_between_lines)
    choices, different, done = random.Random(seed), [0], 0

    def check(number: int) -> None:
        different[0] += work[number]() != expected[number]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    for turn in itertools.count():
        if done >= fits:
            break
        at_once = [choices.randrange(len(work)) for _ in range(1 + turn % 3)]
        with threadpool_limits(choices.choice([2, 3, 4]) * len(at_once), user_api="blas"):
            others = [threading.Thread(target=check, args=(number,)) for number in at_once[1:]]
            for other in others:
                other.start()
            check(at_once[0])
            for other in others:
                other.join()
        done += len(at_once)
    sys.settrace(None)
    slept = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
    print(f"{done} fits, {different[0]} with other digits; threads slept {slept} times", flush=True)
    assert slept > 20 * done
    return different[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fits", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("build") / "pauses")
    parser.add_argument("--rows", type=Path)
    given = parser.parse_args()
    if "SEMINMF_PAUSE" not in os.environ:
        folder = str(given.folder.resolve())
        more = {"SEMINMF_PAUSE": str(_LONGEST), "NUMBA_CACHE_DIR": folder}
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **more})
    different = compare(given.fits, given.seed)
    if given.rows:
        with given.rows.open("a", newline="", encoding="utf-8") as stream:
            row = "fits with pauses at every hand-over", given.fits, "with other digits", different
            csv.writer(stream, lineterminator="\n").writerow(row)
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
