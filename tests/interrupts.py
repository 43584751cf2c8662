"""Fits that are broken off at random, and what they leave behind in the process.

``python tests/interrupts.py 3000`` breaks off so many fits by a signal, as by Ctrl-C, and as many
by an error before a random line of the package (a lack of memory, or one that nobody expects).
After each, the thread counts of BLAS and OpenMP, the filters of warnings, NumPy's error state and
the random state are what they were, nobody is counted as at work, and a fit has the same digits as
before. With ``--rows`` the outcome is added to a file, from which the page of promises is made.
"""

from __future__ import annotations

import argparse
import csv
import gc
import linecache
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

import seminmf
from helpers import data
from seminmf import FactorKMeans, L21SemiNMF, SemiNMF
from seminmf.compiled.threads.cores import cores

X = data(4_000, 30)
PACKAGE = str(Path(seminmf.__file__).parent)
_OTHER = "another fit"
_LIBRARIES = ThreadpoolController().lib_controllers


class Stop(BaseException):
    """An interrupt that nobody in between takes for an error."""


def process_state() -> tuple[Any, ...]:
    """What belongs to the whole process."""
    kind, keys, place, *_ = np.random.get_state()  # noqa: NPY002
    counts = tuple(library.get_num_threads() for library in _LIBRARIES)
    # scikit-learn, which searches neighbours, changes filters of warnings and what NumPy says of
    # overflow while it checks an array, and leaves that behind where an interrupt comes just then.
    filters = tuple(
        found for found in warnings.filters if found[2] is not np.exceptions.ComplexWarning
    )
    errors = {name: how for name, how in np.geterr().items() if name != "over"}
    return counts, filters, keys.tobytes(), place, errors, kind


@contextmanager
def unchanged() -> Iterator[None]:
    """The process is as it was; what was given up in the middle counts when it is collected."""
    with threadpool_limits(2, user_api="blas"):
        before, errors = process_state(), np.geterr()
        yield
        if np.geterr()["invalid"] == "call":
            # Set by numpy.linalg while it works, and left where an interrupt comes just then.
            np.seterr(**errors)
        gc.collect()
        for thread in threading.enumerate():
            # One whose start was interrupted before it began stays in Python's list for ever.
            if thread.name.startswith(("seminmf", _OTHER)) and thread.ident is not None:
                thread.join(30)
                assert not thread.is_alive()
        # A join that is interrupted has Python call the thread dead while it works on (bpo-45274).
        end = time.monotonic() + 30
        while any(place != threading.get_ident() for place in cores._at_work.values()):
            assert time.monotonic() < end
            time.sleep(0.01)
        for now, then in zip(process_state(), before, strict=True):
            assert now == then, f"{now!r} was {then!r}"
        assert not cores._at_work


def _two_at_once() -> None:
    other = threading.Thread(target=SemiNMF(4, random_state=0).fit, args=(X[:2000],), name=_OTHER)
    other.start()
    try:
        SemiNMF(4, random_state=0).fit(X[2000:])
    finally:
        other.join()


def _clusters() -> Any:
    model = L21SemiNMF(4, tol=0, max_iter=3, random_state=0)
    return FactorKMeans(model, random_state=0).fit(X[:400]).predict(X[400:500])


FITS: dict[str, Callable[[], Any]] = {
    "SemiNMF": lambda: SemiNMF(8, tol=0, max_iter=6, random_state=0).fit(X),
    "L21SemiNMF": lambda: L21SemiNMF(6, tol=0, max_iter=4, random_state=0).fit(X[:1500]),
    "FactorKMeans": _clusters,
    "partial_fit": lambda: SemiNMF(8, random_state=0, max_iter=3).partial_fit(X[:500]),
    "two at once": _two_at_once,
}


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """The signal of a timer, as Ctrl-C would come."""

    def stop(*_: Any) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def by_signals(name: str, count: int, seed: int) -> None:
    """Until so many fits were broken off at a moment that is drawn."""
    fit, rng, stopped = FITS[name], np.random.default_rng(seed), 0
    begin = time.perf_counter()
    fit()
    usual = time.perf_counter() - begin
    while stopped < count:
        with unchanged():
            try:
                with interrupted_after(float(rng.uniform(1e-5, usual))):
                    fit()
            except Stop:
                stopped += 1


class Fault:
    """A tracer that raises an error before the line with this number in files of the package.

    Not before a line that begins with ``with``: the tracer comes there a second time, when the
    block is left and before its end is told, where neither a signal nor an error can come.
    """

    def __init__(self, error: type[BaseException], wanted: int, folder: str = PACKAGE) -> None:
        self.error, self.left, self.folder = error, wanted, folder

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(self.folder):
            return self if name.startswith(PACKAGE) else None
        if event == "line" and not linecache.getline(name, frame.f_lineno).lstrip().startswith(
            "with "
        ):
            self.left -= 1
            if self.left == 0:
                raise self.error
        return self


def faulty(fit: Callable[[], Any], fault: Fault) -> bool:
    """Whether the fit was broken off."""
    try:
        sys.settrace(fault)
        fit()
    except fault.error:
        return True
    finally:
        sys.settrace(None)
    return False


def by_errors(name: str, count: int, seed: int) -> None:
    """So many fits broken off before a line that is drawn, all lines alike."""
    fit, chance, stopped = FITS[name], random.Random(seed), 0
    all_lines = Fault(Stop, -1)
    faulty(fit, all_lines)
    while stopped < count:
        fault = Fault(chance.choice([MemoryError, Stop]), chance.randrange(1, -all_lines.left))
        with unchanged():
            stopped += faulty(fit, fault)


def between_lines_of_threads(every: int = 3) -> int:
    """Before each of the lines that hold BLAS and let it go, one in so many; how many there are."""
    stopped, folder = 0, f"{PACKAGE}/compiled/threads"
    with unchanged():
        for wanted in range(1, 100_000, every):
            if not faulty(FITS["SemiNMF"], Fault(Stop, wanted, folder)):
                break
            stopped += 1
    return stopped


WAYS = {"by a signal": by_signals, "by an error at any line": by_errors}


def run(way: str, name: str, count: int, seed: int = 0) -> None:
    digits = SemiNMF(8, tol=0, max_iter=6, random_state=0).fit(X).codes_.tobytes()
    FITS[name]()  # compiled code is there, and does not count
    WAYS[way](name, count, seed)
    with unchanged():
        again = SemiNMF(8, tol=0, max_iter=6, random_state=0).fit(X)
    assert again.codes_.tobytes() == digits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--fit", choices=[*FITS, "all"], default="all")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names = list(FITS) if given.fit == "all" else [given.fit]
    for way in WAYS:
        for number, name in enumerate(names):
            run(way, name, given.count // len(names), given.seed + number)
            print(f"{given.count // len(names)} of {name} {way}", flush=True)
        if given.rows:
            done = len(names) * (given.count // len(names))
            row = f"fits broken off {way}", done, "that left something changed", 0
            with given.rows.open("a", newline="", encoding="utf-8") as stream:
                csv.writer(stream, lineterminator="\n").writerow(row)
    if given.fit == "all":
        assert between_lines_of_threads() > 10


if __name__ == "__main__":
    main()
