"""The work under way in this process, and how many threads libraries may use meanwhile.

While any work is under way, BLAS is held to one thread. It adds in another order for another number
of threads, and that number belongs to the whole process: with more than one, digits would depend on
what else runs. Nor would its threads, which spin while they wait for each other, bring anything
beside our own. We use as many threads as BLAS was allowed before, so that OMP_NUM_THREADS,
threadpoolctl and joblib's settings for its workers are respected without a parameter of our own.
Simultaneous fits in several Python threads divide that number.

The first to begin work holds BLAS, and the last to end gives it back. OpenMP has a number for each
thread, which is changed and restored in that thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from threading import RLock, get_ident
from typing import Any, NamedTuple, Self
from weakref import finalize

from numba.core.compiler_lock import global_compiler_lock
from threadpoolctl import ThreadpoolController


class Library(NamedTuple):
    """How to read and set the number of threads of a library, from any thread."""

    read: Callable[[], int]
    set: Callable[[int], Any]


class _Libraries(NamedTuple):
    common: list[Library]
    """BLAS with one number of threads for the process."""
    own: list[Library]
    """BLAS with a number of threads for each thread."""
    openmp: list[Library]


Counts = list[tuple[Library, int]]


def _for_all_threads(found: Any) -> Library:
    """A library's number of threads, to be set from any thread.

    threadpoolctl 3.8 silently ignores all threads but the first that ever set the number of
    OpenBLAS. Fits in other threads then ran with as many BLAS threads as there are cores, spinning
    while they wait for each other.
    """
    if found.internal_api == "openblas":
        for name in found.check_symbols:
            if hasattr(found.dynlib, name):
                setter = name.replace("_get_", "_set_")
                return Library(getattr(found.dynlib, name), getattr(found.dynlib, setter))
    return Library(found.get_num_threads, found.set_num_threads)


@lru_cache(maxsize=1)
def libraries() -> _Libraries:
    """The libraries loaded; scikit-learn has loaded its OpenMP by the time of the first fit."""
    loaded = _Libraries([], [], [])
    for found in ThreadpoolController().lib_controllers:
        if found.user_api == "openmp":
            loaded.openmp.append(Library(found.get_num_threads, found.set_num_threads))
        elif getattr(found, "threading_layer", None) == "openmp":
            loaded.own.append(Library(found.get_num_threads, found.set_num_threads))
        else:
            loaded.common.append(_for_all_threads(found))
    return loaded


def one_thread_here() -> None:
    """Keep libraries to one thread in the present thread, which is one of ours."""
    loaded = libraries()
    for library in loaded.own + loaded.openmp:
        library.set(1)


class _Cores:
    """Registers the work under way, and holds BLAS meanwhile.

    Ctrl-C may come between any two steps, and work that never left is removed when its object is
    collected, perhaps in the middle of another step. So each step may be repeated or left out.
    The lock is released at any interrupt: those come only after the call that does it.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._at_work: dict[int, int] = {}  # the thread of each piece of work
        self._before: Counts = []
        self.fits = 1
        """How many Python threads are at work, at least one."""
        self.forks = 0
        """How many forks led to this process; threads of before a fork are not in it."""

    def threads(self) -> int:
        """How many threads BLAS may use, or was allowed before it was held."""
        with self._lock:
            if self._before:
                return max(count for _, count in self._before)
        loaded = libraries()
        return max((library.read() for library in loaded.common + loaded.own), default=1)

    def enter(self, who: int) -> None:
        """Register work, and hold BLAS until all work has left."""
        with self._lock:
            self._at_work[who] = get_ident()
            self._settle()
            if not self._before:
                self._before = [(library, library.read()) for library in libraries().common]
            for library, count in self._before:
                if count != 1:
                    library.set(1)

    def leave(self, who: int) -> None:
        """Remove work; harmless if it is not registered."""
        with self._lock:
            self._at_work.pop(who, None)
            self._settle()

    def before_fork(self) -> None:
        """Wait until no thread compiles or sets the threads of BLAS, and keep all from it.

        OpenBLAS ends its threads before a fork, and makes them again when their number is next set,
        under a lock of its own, and Numba has one for its compiler. A child forked meanwhile would
        find that lock closed for ever, by a thread that it does not have.
        """
        global_compiler_lock.acquire()
        self._lock.acquire()

    def after_fork(self) -> None:
        """Release the locks of `before_fork`."""
        for lock in (self._lock, global_compiler_lock):
            with suppress(RuntimeError):  # after a Ctrl-C before it was acquired
                lock.release()

    def only_this_thread(self) -> None:
        """In the child: forget the work of other threads, which do not exist here."""
        self.after_fork()
        self._lock = RLock()
        self.forks += 1
        here = get_ident()
        self._at_work = {who: place for who, place in self._at_work.items() if place == here}
        self._settle()

    def _settle(self) -> None:
        """Count the threads at work, and give BLAS back if there are none."""
        self.fits = max(len(set(self._at_work.values())), 1)
        if not self._at_work:
            for library, count in self._before:
                if count != 1:
                    library.set(count)
            self._before = []


cores = _Cores()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=cores.before_fork,
        after_in_parent=cores.after_fork,
        after_in_child=cores.only_this_thread,
    )


def _undo(steps: list[Callable[[], Any]]) -> None:
    """Run the steps, last first."""
    for step in reversed(steps):
        step()


class AtWork:
    """Context manager: registers work, during which BLAS has one thread.

    Ctrl-C may come inside `__exit__`, too: what was not undone there is undone when this object is
    collected. So each step may be undone twice.
    """

    def __init__(self) -> None:
        self._to_undo: list[Callable[[], Any]] = []
        self._later: finalize[Any, Any] | None = None

    def __enter__(self) -> Self:
        self._later = finalize(self, _undo, self._to_undo)
        self._later.atexit = False
        self._to_undo.append(partial(cores.leave, id(self)))
        cores.enter(id(self))
        for library in libraries().own:
            self._change(library, 1)
        return self

    def __exit__(self, *error: object) -> None:
        _undo(self._to_undo)
        self._to_undo.clear()
        if self._later is not None:
            self._later.detach()

    def _change(self, library: Library, count: int) -> None:
        """Set the number of threads of a library in this thread until the context is left."""
        self._to_undo.append(partial(library.set, library.read()))
        library.set(count)
