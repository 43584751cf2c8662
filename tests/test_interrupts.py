"""Ctrl-C, errors in callbacks and a lack of memory leave the process as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interrupts import X, unchanged
from seminmf import L21SemiNMF, SemiNMF


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that interrupt here")
def test_interrupts() -> None:
    """By signals and by errors at any line, in a process of its own: what measures coverage
    survives neither interrupts nor another tracer.
    """
    command = [sys.executable, str(Path(__file__).parent / "interrupts.py"), "100"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr


def test_an_interrupt_while_numpy_is_hushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stayed hushed: one of some thousand interrupts came between its last word and ours."""
    hush = np.seterr

    def interrupted(**how: Any) -> None:
        hush(**how)
        raise KeyboardInterrupt

    before = np.geterr()
    monkeypatch.setattr(np, "seterr", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SemiNMF(4).fit(X[:50].tolist())
    assert np.geterr() == before


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
