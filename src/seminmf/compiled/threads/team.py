"""A team of threads for row blocks, and the rule for how many there are.

Blocks run on Python threads: the kernels and BLAS release the GIL. While a team of more than one
works, BLAS is held to one thread, so that the two levels do not fight for the cores; the number of
workers is what BLAS was allowed to use, so that OMP_NUM_THREADS, threadpoolctl and joblib's
settings for its workers are respected without a parameter of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from types import TracebackType
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from .crew import Crew

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


def available_threads() -> int:
    """The number of threads that BLAS may use in this process now."""
    return max((library.get_num_threads() for library in _blas()), default=1)


class Team:
    """Context manager: runs functions over items, in order of the items, on its threads.

    ``most`` is the number of items, ``shards`` that of compiled code, for which there is a `Crew`.
    """

    def __init__(self, operations: float, most: int, shards: int = 1) -> None:
        self.size = 1
        helpers = 0
        if operations >= _WORTH_HELPING and max(most, shards) > 1:
            threads = available_threads()
            helpers = min(shards, threads) - 1
            if operations >= WORTH_SHARING:
                self.size = min(most, threads)
        self.crew = Crew(helpers)
        self._operations = operations
        self._held: list[tuple[Any, int]] | None = None
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Team:
        self.adapt(self._operations)
        if self.size > 1:
            self._pool = ThreadPoolExecutor(self.size - 1, thread_name_prefix="seminmf")
        return self

    def adapt(self, operations: float) -> None:
        """Hold BLAS to one thread if the team works itself, or if there is little to do."""
        shared = self.size > 1 or self.crew.helpers > 0
        if self._held is None and (shared or operations < WORTH_SHARING):
            # As threadpoolctl's own limit, without its account of each library.
            allowed = [(library, library.get_num_threads()) for library in _blas()]
            self._held = [(library, threads) for library, threads in allowed if threads != 1]
            for library, _ in self._held:
                library.set_num_threads(1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.crew.close()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        for library, threads in self._held or ():
            library.set_num_threads(threads)
        self._held = None

    def map(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        work = list(items)
        if self._pool is None or len(work) == 1:
            return [function(item) for item in work]
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
