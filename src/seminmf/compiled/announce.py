"""A log message for users who wait for the compiler."""

from __future__ import annotations

import logging
from time import perf_counter
from typing import Any

from numba.core import event

_log = logging.getLogger("seminmf")
# Seconds of compiling after which the message comes.
_PATIENCE = 2.0


class _Announcer(event.Listener):
    """Logs once that code is being compiled, if that takes long enough to make people wonder."""

    def __init__(self) -> None:
        self._begun: list[float] = []
        self._seconds = 0.0

    def _is_ours(self, happening: Any) -> bool:
        module = getattr(happening.data["dispatcher"].py_func, "__module__", None)
        return str(module).split(".")[0] == __name__.split(".")[0]

    def on_start(self, happening: Any) -> None:
        if self._is_ours(happening):
            self._begun.append(perf_counter())

    def on_end(self, happening: Any) -> None:
        if not self._is_ours(happening) or not self._begun:
            return
        begun, silent = self._begun.pop(), self._seconds < _PATIENCE
        if not self._begun:
            self._seconds += perf_counter() - begun
        elapsed = self._seconds + (perf_counter() - self._begun[0] if self._begun else 0.0)
        if silent and elapsed >= _PATIENCE:
            self._seconds = max(self._seconds, _PATIENCE)
            _log.warning(
                "seminmf compiles its numerical core, which takes some seconds; the machine code "
                "is kept on disk, so that later fits begin at once."
            )


def announce_compiling() -> None:
    """Register the announcer with Numba."""
    event.register("numba:compile", _Announcer())
