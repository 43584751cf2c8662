"""A team of threads for one fit, and the rule for how many there are.

Compiled calls are shared with a `Crew`; other work on row blocks runs on Python threads, because
the kernels and BLAS release the GIL. While a team works, BLAS is held to one thread, so that the
two levels do not fight for the cores; the number of threads is what BLAS was allowed to use before,
so that OMP_NUM_THREADS, threadpoolctl and joblib's settings for its workers are respected without a
parameter of our own. Teams that work at the same time in one process divide that number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from threading import RLock
from types import TracebackType
from typing import Any, TypeVar
from weakref import finalize

from threadpoolctl import ThreadpoolController

from .crew import Crew, Shared

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# Waking a Python thread takes a tenth of a millisecond and more: below this many floating-point
# operations per pass (a few milliseconds) that costs more than a second thread brings. The threads
# of BLAS itself wait awake; they would bring a little on an idle machine, but on a busy one each
# product then waits for a core.
WORTH_SHARING = 1e8
# The same for helpers in compiled code, who are awake, and only have to fetch their arguments.
_WORTH_HELPING = 4e6
# Seconds after which a lock is not waited for any more.
_LONG = 0.5


@lru_cache(maxsize=1)
def _blas() -> tuple[Any, ...]:
    """The BLAS libraries of this process (NumPy and SciPy bring their own)."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Gate:
    """One thread at a time, however the one before has left.

    Ctrl-C may come where a lock is to be given back. A step behind this gate takes microseconds:
    who has waited for long takes a new lock, and the steps are such that two at once do little
    harm.
    """

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        while not self._lock.acquire(timeout=_LONG):
            self._lock = RLock()

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # of another lock: this one was given up
            self._lock.release()


class _Process:
    """What the teams of one process have in common: which are at work, and BLAS held to one thread.

    Ctrl-C may come between any two steps here, and a team that was never left is forgotten when
    nobody has it any more, perhaps in the middle of another step. So each step may be made again or
    left out: a team is on a list or not, and thread counts are given back when none is.
    """

    def __init__(self) -> None:
        self._gate = _Gate()
        self._teams: set[int] = set()
        self._holders: set[int] = set()
        self._allowed: list[tuple[Any, int]] = []

    @property
    def teams(self) -> int:
        return len(self._teams)

    def threads(self) -> int:
        """How many threads BLAS may use, or might before it was held."""
        with self._gate:
            if self._allowed:
                return max(count for _, count in self._allowed)
        return max((library.get_num_threads() for library in _blas()), default=1)

    def enter(self, team: int) -> None:
        with self._gate:
            self._teams.add(team)

    def hold(self, team: int) -> None:
        # As threadpoolctl's own limit, without its account of each library.
        with self._gate:
            self._holders.add(team)
            if not self._allowed:
                self._allowed = [(library, library.get_num_threads()) for library in _blas()]
            for library, count in self._allowed:
                if count != 1:
                    library.set_num_threads(1)

    def leave(self, team: int) -> None:
        """The team is at work no longer; also if it never was."""
        with self._gate:
            self._teams.discard(team)
            self._holders.discard(team)
            if not self._holders:
                for library, count in self._allowed:
                    if count != 1:
                        library.set_num_threads(count)
                self._allowed = []


_process = _Process()


def fits_at_once() -> int:
    """How many teams there are, at least one."""
    return max(_process.teams, 1)


def _send_home(crew: Crew, team: int) -> None:
    """What is left to do for a team that was not left as it should be."""
    crew.abandon()
    _process.leave(team)


class Team:
    """Context manager: runs functions over items, in order of the items, on its threads.

    ``most`` is the number of items that there may be to share.
    """

    def __init__(self, operations: float, most: int) -> None:
        self._threads = _process.threads() if operations >= _WORTH_HELPING and most > 1 else 1
        self.size = min(most, self._threads) if operations >= WORTH_SHARING else 1
        self.crew = Crew(min(most, self._threads) - 1)
        self._operations = operations
        self._entered = self._holds = False
        self._pool: ThreadPoolExecutor | None = None
        self._home: finalize[[Crew, int], Team] | None = None

    def __enter__(self) -> Team:
        self._home = finalize(self, _send_home, self.crew, id(self))
        self._home.atexit = False
        self._entered = True
        _process.enter(id(self))
        self.adapt(self._operations)
        return self

    def adapt(self, operations: float) -> None:
        """Hold BLAS to one thread if the team works itself, or if there is little to do."""
        shared = self.size > 1 or self.crew.helpers > 0
        if self._entered and not self._holds and (shared or operations < WORTH_SHARING):
            self._holds = True
            _process.hold(id(self))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.crew.close()
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None
        finally:
            self._entered = self._holds = False
            _process.leave(id(self))
        # Only where all of this was done; else it is done again when nobody has the team any more.
        if self._home is not None:
            self._home.detach()

    def call(
        self, function: Shared, rooms: list[Any], arguments: tuple[Any, ...], phases: int
    ) -> None:
        """Run a compiled function with this team's part of the threads of the process."""
        share = self._threads // fits_at_once() if self._entered else 1
        self.crew.call(function, rooms, arguments, phases, max(share - 1, 0))

    def map(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        work = list(items)
        if self.size == 1 or not self._entered or len(work) == 1:
            return [function(item) for item in work]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.size - 1, thread_name_prefix="seminmf")
        results: dict[int, _Result] = {}
        turns = iter(range(len(work)))

        def take_turns() -> None:
            # next() on a range iterator is atomic, so that no two threads take the same turn.
            for turn in turns:
                results[turn] = function(work[turn])

        others = [self._pool.submit(take_turns) for _ in range(min(self.size, len(work)) - 1)]
        take_turns()
        for other in others:
            other.result()
        return [results[turn] for turn in range(len(work))]
