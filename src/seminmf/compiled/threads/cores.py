"""Who is at work in this process, and how many threads the libraries have meanwhile.

While anybody is at work, BLAS is held to one thread. It adds in another order for another number of
them, and that number belongs to the whole process: with more than one, digits would depend on who
else is at work. Nor do its threads, which wait for each other awake, bring anything beside our own.
How many threads there are in all is what BLAS was allowed before, so that OMP_NUM_THREADS,
threadpoolctl and joblib's settings for its workers are respected without a parameter of our own.
Fits at the same time in several Python threads divide that number.

BLAS is held by the first who comes, and given back by the last. OpenMP belongs to each thread;
whoever changes its number there gives it back there.
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
    """The number of threads of a library: to read, and to set from any thread."""

    read: Callable[[], int]
    set: Callable[[int], Any]


class _Libraries(NamedTuple):
    common: list[Library]
    """BLAS, where its threads belong to the process."""
    own: list[Library]
    """BLAS, where each thread has its own."""
    openmp: list[Library]


Counts = list[tuple[Library, int]]


def _for_all_threads(found: Any) -> Library:
    """What sets the number of threads of a library, whichever thread it is called from.

    threadpoolctl 3.8 ignores, without a word, all threads but the first that has ever set that of
    OpenBLAS. Fits in other threads then ran with a BLAS of as many threads as there are cores,
    which wait for each other awake.
    """
    if found.internal_api == "openblas":
        for name in found.check_symbols:
            if hasattr(found.dynlib, name):
                setter = name.replace("_get_", "_set_")
                return Library(getattr(found.dynlib, name), getattr(found.dynlib, setter))
    return Library(found.get_num_threads, found.set_num_threads)


@lru_cache(maxsize=1)
def libraries() -> _Libraries:
    """What is loaded; scikit-learn has brought its OpenMP by the time of the first fit."""
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
    """For a thread of ours: it uses no others."""
    loaded = libraries()
    for library in loaded.own + loaded.openmp:
        library.set(1)


class _Cores:
    """Who is at work, and what BLAS was allowed before.

    Ctrl-C may come between any two steps, and one who never left is forgotten when nobody has it
    any more, perhaps in the middle of another step. So each step may be made again or left out.
    The lock is given back at any interrupt: those come only after the call that does it.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._at_work: dict[int, int] = {}  # by their numbers, and in which thread
        self._before: Counts = []
        self.fits = 1
        """How many threads of Python are at work, at least one."""
        self.forks = 0
        """How often a process was forked, of which this one came: its threads are not here."""

    def threads(self) -> int:
        """How many threads BLAS may use, or might before it was held."""
        with self._lock:
            if self._before:
                return max(count for _, count in self._before)
        loaded = libraries()
        return max((library.read() for library in loaded.common + loaded.own), default=1)

    def enter(self, who: int) -> None:
        """Hold BLAS, too, until all who are at work have left."""
        with self._lock:
            self._at_work[who] = get_ident()
            self._settle()
            if not self._before:
                self._before = [(library, library.read()) for library in libraries().common]
            for library, count in self._before:
                if count != 1:
                    library.set(1)

    def leave(self, who: int) -> None:
        """Also for one who has left before, or has never come."""
        with self._lock:
            self._at_work.pop(who, None)
            self._settle()

    def before_fork(self) -> None:
        """Wait until nobody compiles or sets the threads of BLAS, and keep all from it.

        OpenBLAS ends its threads before a fork, and makes them again when their number is next set,
        under a lock of its own, and Numba has one for its compiler. A child that was made meanwhile
        would find that lock closed for ever, by a thread that it does not have.
        """
        global_compiler_lock.acquire()
        self._lock.acquire()

    def after_fork(self) -> None:
        """All goes on."""
        for lock in (self._lock, global_compiler_lock):
            with suppress(RuntimeError):  # Ctrl-C may have kept it from the lock
                lock.release()

    def only_this_thread(self) -> None:
        """In the child: other threads are not there, whatever they were about to do."""
        self.after_fork()
        self._lock = RLock()
        self.forks += 1
        here = get_ident()
        self._at_work = {who: place for who, place in self._at_work.items() if place == here}
        self._settle()

    def _settle(self) -> None:
        """Count who is at work, and give BLAS back where nobody is."""
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
    """The last first."""
    for step in reversed(steps):
        step()


class AtWork:
    """Context manager: work that is counted, and whose products BLAS makes with one thread.

    Ctrl-C may come inside `__exit__`, too: what was not undone there is undone when nobody has this
    any more. So each step may be undone twice.
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
        """The number of threads that a library has in this thread, until this is left."""
        self._to_undo.append(partial(library.set, library.read()))
        library.set(count)
