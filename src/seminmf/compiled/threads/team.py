"""A team of threads for one fit, and the rule for how many there are.

Compiled calls are shared with a `Crew`; other work on row blocks runs on Python threads, since the
kernels and BLAS release the GIL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

from .cores import AtWork, cores, one_thread_here
from .crew import Crew, Shared

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# Waking a Python thread takes a tenth of a millisecond and more: below this many floating-point
# operations per pass (a few milliseconds) that costs more than a second thread brings.
WORTH_SHARING = 1e8
# The same for helpers in compiled code, who are awake and only have to fetch their arguments.
_WORTH_HELPING = 4e6


class Team(AtWork):
    """Context manager for the threads of a fit; `map` and `call` share work among them.

    ``most`` is the largest number of items there will be to share.
    """

    def __init__(self, operations: float, most: int) -> None:
        super().__init__()
        self._threads = cores.threads() if operations >= _WORTH_HELPING and most > 1 else 1
        self.size = min(most, self._threads) if operations >= WORTH_SHARING else 1
        self.crew = Crew(min(most, self._threads) - 1)
        self._entered = False
        self._forks = cores.forks

    def __enter__(self) -> Team:
        super().__enter__()
        self._entered = True
        if self.crew.closed:
            self._renew()
        self._to_undo.append(self.crew.dismiss)
        return self

    def __exit__(self, *error: object) -> None:
        self._entered = False
        super().__exit__(*error)
        self.crew.close()

    def call(
        self, function: Shared, rooms: list[Any], arguments: tuple[Any, ...], phases: int
    ) -> None:
        """Run a compiled function on this team's share of the threads of the process."""
        if self._forks != cores.forks:
            self._renew()
        self.crew.call(function, rooms, arguments, phases, self._share() - 1)

    def map(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        work = list(items)
        count = min(self.size, self._share(), len(work)) - 1
        if count < 1:
            return [function(item) for item in work]
        results: dict[int, _Result] = {}
        errors: list[BaseException] = []
        # next() on a range iterator is atomic, so that no two threads take the same turn.
        turns = iter(range(len(work)))

        def take_turns() -> None:
            for turn in turns:
                results[turn] = function(work[turn])

        def help_out() -> None:
            try:
                one_thread_here()
                take_turns()
            except BaseException as error:
                errors.append(error)

        helpers = [Thread(target=help_out, name="seminmf rows", daemon=True) for _ in range(count)]
        try:
            # If no more can be started, as at a limit of processes, those there are do the work.
            with suppress(RuntimeError):
                for helper in helpers:
                    helper.start()
            take_turns()
        finally:
            for _ in turns:  # after an error no thread begins another item
                pass
            for helper in helpers:
                if helper.ident is not None:
                    helper.join()
        if errors:
            raise errors[0]
        return [results[turn] for turn in range(len(work))]

    def _share(self) -> int:
        """How many threads of the process this team may use now, at least one."""
        return (self._threads // cores.fits or 1) if self._entered else 1

    def _renew(self) -> None:
        """Make a new crew; the old one has ended or, after a fork, does not exist here."""
        self._forks = cores.forks
        self.crew = Crew(self.crew.helpers)
        self._to_undo.append(self.crew.dismiss)
