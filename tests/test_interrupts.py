"""Ctrl-C, errors in callbacks and a lack of memory leave the process as it was."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from helpers import data
from seminmf import L21SemiNMF, SemiNMF
from seminmf.compiled.threads.cores import cores

X = data(4_000, 30)
_BLAS = ThreadpoolController().select(user_api="blas")


def process_state() -> tuple[Any, ...]:
    """What belongs to the whole process."""
    kind, keys, place, *_ = np.random.get_state()  # noqa: NPY002
    counts = tuple(library.get_num_threads() for library in _BLAS.lib_controllers)
    # scikit-learn, which searches neighbours, changes filters of warnings and what NumPy says of
    # overflow while it checks an array, and leaves that behind where an interrupt comes just then.
    filters = tuple(
        found for found in warnings.filters if found[2] is not np.exceptions.ComplexWarning
    )
    errors = {name: how for name, how in np.geterr().items() if name != "over"}
    return counts, filters, keys.tobytes(), place, errors, kind


@contextmanager
def unchanged() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        before = process_state()
        yield
        gc.collect()
        for now, then in zip(process_state(), before, strict=True):
            assert now == then, f"{now!r} was {then!r}"
        assert not cores._at_work
        assert not cores._holders
        for thread in threading.enumerate():
            if thread.name == "seminmf":
                thread.join(5)
                assert not thread.is_alive()


class Stop(BaseException):
    """An interrupt that nobody in between takes for an error."""


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


FITS: dict[str, Callable[[], Any]] = {
    "SemiNMF": lambda: SemiNMF(8, tol=0, max_iter=6, random_state=0).fit(X),
    "L21SemiNMF": lambda: L21SemiNMF(6, tol=0, max_iter=4, random_state=0).fit(X[:600]),
    "partial_fit": lambda: SemiNMF(8, random_state=0, max_iter=3).partial_fit(X[:500]),
}
BETWEEN_LINES = "between lines"


def interrupt_at_random_moments(name: str) -> None:
    fit = FITS[name]
    fit()  # compiled code is there, and does not count
    begin = time.perf_counter()
    fit()
    usual, rng, count = time.perf_counter() - begin, np.random.default_rng(0), 0
    end = time.monotonic() + 2
    with unchanged():
        while time.monotonic() < end:
            try:
                with interrupted_after(float(rng.uniform(1e-5, usual))):
                    fit()
            except Stop:
                count += 1
    assert count > 5
    with unchanged():
        fit()


def interrupt_between_lines() -> None:
    """Of what holds BLAS, and of what lets it go."""

    class Interruption:
        def __init__(self, wanted: int) -> None:
            self.left = wanted

        def __call__(self, frame: Any, event: str, _: Any) -> Any:
            if not frame.f_code.co_filename.endswith("team.py"):
                return (
                    None if event == "call" and "seminmf" not in frame.f_code.co_filename else self
                )
            if event == "line":
                self.left -= 1
                if self.left == 0:
                    raise Stop
            return self

    fit = FITS["SemiNMF"]
    lines = 0
    with unchanged():
        for wanted in range(1, 10_000, 3):
            sys.settrace(Interruption(wanted))
            try:
                fit()
            except Stop:
                lines += 1
            else:
                break
            finally:
                sys.settrace(None)
    assert lines > 10
    with unchanged():
        fit()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that interrupt here")
@pytest.mark.parametrize("name", [*FITS, BETWEEN_LINES])
def test_interrupts(name: str) -> None:
    """In a process of its own: what measures coverage survives neither interrupts nor
    another tracer.
    """
    command = [sys.executable, __file__, name]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_errors_in_callbacks(error: type[BaseException]) -> None:
    def fail(progress: Any) -> None:
        if progress.iteration == 2:
            raise error

    for model in (SemiNMF, L21SemiNMF):
        with unchanged(), pytest.raises(error):
            model(4, callback=fail, random_state=0).fit(X[:1000])


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """At any of the arrays that are made."""
    made, empty = [0], np.empty

    def fit() -> None:
        SemiNMF(5, tol=0, max_iter=3, random_state=0).fit(X)

    fit()
    for wanted in range(1, 60, 6):
        made[0] = 0

        def scarce(*arguments: Any, wanted: int = wanted, **more: Any) -> Any:
            made[0] += 1
            if made[0] == wanted:
                raise MemoryError
            return empty(*arguments, **more)

        with unchanged(), monkeypatch.context() as patched:
            patched.setattr(np, "empty", scarce)
            if wanted == 1:
                with pytest.raises(MemoryError):
                    fit()
            else:
                with suppress(MemoryError):
                    fit()


if __name__ == "__main__":
    if sys.argv[1] == BETWEEN_LINES:
        interrupt_between_lines()
    else:
        interrupt_at_random_moments(sys.argv[1])
