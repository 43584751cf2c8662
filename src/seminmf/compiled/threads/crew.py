"""Threads that take part in compiled calls, and watch for the next call for a while.

Waking a thread from Python takes a tenth of a millisecond and more, and needs the GIL just when the
caller has it. So the bell is rung inside the compiled function, where the caller has released the
GIL; the helpers, who watch the bell in compiled code, then fetch their arguments and take part. A
helper that hears nothing for a while goes to sleep.

The caller never waits for a helper that has not come: alone it comes to the same result. So it does
not matter if one is late, sleeps too long or could not be started.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from math import inf
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Any

import numpy as np

from ..jit import borrowing
from ..state import Call
from .cores import one_thread_here
from .phases import counters_for, watch

# How often a helper offers its core to others before it goes to sleep: some 0.2 ms.
_OFFERS = 500
# If the caller waits for helpers longer than this many seconds, and longer than this share of the
# call, they do not get a core, because others need it. If a call takes this many times as long as
# the fastest, and this many seconds more, the caller itself had to give up its core, as happens
# while threads of an earlier BLAS product spin.
_LONG_WAIT, _SHARE = 2e-3, 0.3
_TIMES, _SECONDS = 5, 1e-3
# It then continues alone for this many seconds, doubled if the same happens again soon.
_SHORTEST, _LONGEST = 5e-3, 0.16
# Seconds after which a sleeping helper looks up: Ctrl-C may have come where it was to be woken.
_NAP = 1.0

Shared = Callable[..., int]


@borrowing
def _watch(bell, number, offers):
    """Watch the bell until it rings for another call, or for so many offers of the core."""
    watch(bell, 0, number, offers)


@lru_cache(maxsize=1)
def _seconds_per_offer() -> float:
    bell = np.zeros(1, np.int64)
    _watch(bell, 0, 1)
    begin = perf_counter()
    _watch(bell, 0, _OFFERS)
    return (perf_counter() - begin) / _OFFERS


class _Crowding:
    """Judges from past calls whether there are cores for the helpers."""

    def __init__(self) -> None:
        self._fastest = inf
        self._pause = _SHORTEST
        self._alone_until = -inf

    def is_felt(self, now: float) -> bool:
        return now < self._alone_until

    def judge(self, begin: float, end: float, offers: int) -> None:
        """Begin a pause if a call with helpers had no core for all of them."""
        took, waited = end - begin, offers * _seconds_per_offer() if offers else 0.0
        self._fastest = min(self._fastest, took)
        crowded = took > _TIMES * self._fastest + _SECONDS
        if crowded or waited > max(_LONG_WAIT, _SHARE * took):
            soon = begin - self._alone_until < _LONGEST
            self._pause = min(2 * self._pause, _LONGEST) if soon else _SHORTEST
            self._alone_until = end + self._pause


class Crew:
    """Runs ``function(call, number, room, *arguments)`` on the caller and on ``helpers`` threads.

    The function shares its work as in `phases`, comes to the same result whoever takes part, and
    returns how often it offered its core to others while it waited. Each thread has its own room;
    that of the caller says that it leads.
    """

    def __init__(self, helpers: int) -> None:
        self.helpers = helpers
        self.closed = False
        self._threads: list[Thread] = []
        self._crowding = _Crowding()
        self._bell = np.zeros(1, np.int64)
        self._counters = self._bell[:0]
        self._number = 0
        # What helpers look at: the present call, or the last one; None ends them.
        self._call: tuple[int, int, Shared, Any] | None = None
        # Sleeping helpers, and what wakes them: each changes in one step, wherever Ctrl-C comes.
        self._asleep: set[int] = set()
        self._wake: SimpleQueue[None] = SimpleQueue()

    def call(
        self, function: Shared, rooms: list[Any], arguments: tuple[Any, ...], phases: int, most: int
    ) -> None:
        """Run a function with so many phases, helped by ``most`` helpers at most.

        ``rooms[0]`` is for the caller, the others for the helpers.
        """
        self._number += 1
        if counters_for(phases) > len(self._counters):
            self._make_call(phases)
        helpers = min(most, self.helpers)
        begin = perf_counter() if helpers else 0.0
        if helpers == 0 or self._crowding.is_felt(begin):
            # Helpers not invited stay asleep: they find no new call when the bell rings.
            function(self._open, self._number, rooms[0], *arguments)
            return
        self._call = self._number, helpers, function, (self._open, rooms, arguments)
        self._invite()
        offers = function(self._open, self._number, rooms[0], *arguments)
        # A latecomer finds nothing to do, and the arguments, which may be large, are released.
        self._call = self._number, 0, function, None
        self._crowding.judge(begin, perf_counter(), offers)

    def dismiss(self) -> None:
        """Tell the helpers to end, whether they watch, work or sleep."""
        self.closed, self._call = True, None
        self._bell[0] = -1  # for helpers that watch it
        for _ in self._threads:
            self._wake.put(None)

    def close(self) -> None:
        """Tell the helpers to end, and wait until they have."""
        self.dismiss()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _make_call(self, phases: int) -> None:
        self._counters = np.zeros(counters_for(phases), np.int64)
        self._open = Call(bell=self._bell, counters=self._counters)

    def _invite(self) -> None:
        if not self._threads:
            with suppress(RuntimeError):  # those that could be started suffice
                for place in range(self.helpers):
                    thread = Thread(target=self._serve, args=(place,), name="seminmf", daemon=True)
                    self._threads.append(thread)
                    thread.start()
        for place in tuple(self._asleep):
            self._asleep.discard(place)
            self._wake.put(None)

    def _serve(self, place: int) -> None:
        one_thread_here()
        last = 0
        while (number := self._take_part(place, last)) is not None:
            if number == last:
                self._sleep(place, last)
            last = number

    def _take_part(self, place: int, last: int) -> int | None:
        """Take part in a call newer than the ``last``; returns its number, or None to end."""
        present = self._call
        if present is None:
            return None
        number, helpers, function, parts = present
        if number != last and place < helpers:
            call, rooms, arguments = parts
            before = int(self._bell[0])
            if before < number:  # a helper that enters before the leader would be turned away
                _watch(self._bell, before, _OFFERS)
            function(call, number, rooms[1 + place], *arguments)
            # A helper that only watches must not keep them alive.
            del present, parts, call, rooms, arguments
            _watch(self._bell, number, _OFFERS)
        return number

    def _sleep(self, place: int, last: int) -> None:
        self._asleep.add(place)
        # From here on, either the caller sees it asleep, or it sees the caller's new call.
        present = self._call
        if present is not None and present[0] == last:
            with suppress(Empty):
                self._wake.get(timeout=_NAP)
        self._asleep.discard(place)
