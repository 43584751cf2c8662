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
from functools import lru_cache
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

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


@lru_cache(maxsize=1)
def _blas() -> tuple[Any, ...]:
    """The BLAS libraries of this process (NumPy and SciPy bring their own)."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Process:
    """What the teams of one process have in common: their number, and BLAS held to one thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.teams = 0
        self._holders = 0
        self._allowed: list[tuple[Any, int]] = []

    def threads(self) -> int:
        """How many threads BLAS may use, or might before it was held."""
        with self._lock:
            if self._holders:
                return max((count for _, count in self._allowed), default=1)
        return max((library.get_num_threads() for library in _blas()), default=1)

    def enter(self, change: int) -> None:
        with self._lock:
            self.teams += change

    def hold(self) -> None:
        # As threadpoolctl's own limit, without its account of each library.
        with self._lock:
            if self._holders == 0:
                self._allowed = [(library, library.get_num_threads()) for library in _blas()]
                for library, count in self._allowed:
                    if count != 1:
                        library.set_num_threads(1)
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                for library, count in self._allowed:
                    if count != 1:
                        library.set_num_threads(count)


_process = _Process()


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

    def __enter__(self) -> Team:
        self._entered = True
        _process.enter(1)
        self.adapt(self._operations)
        return self

    def adapt(self, operations: float) -> None:
        """Hold BLAS to one thread if the team works itself, or if there is little to do."""
        shared = self.size > 1 or self.crew.helpers > 0
        if self._entered and not self._holds and (shared or operations < WORTH_SHARING):
            self._holds = True
            _process.hold()

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
            _process.enter(-1)
            self._entered = False
            if self._holds:
                self._holds = False
                _process.release()

    def call(
        self, function: Shared, rooms: list[Any], arguments: tuple[Any, ...], phases: int
    ) -> None:
        """Run a compiled function with this team's part of the threads of the process."""
        share = self._threads // max(_process.teams, 1) if self._entered else 1
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
