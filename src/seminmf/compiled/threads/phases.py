"""How threads share the items of a phase inside compiled code.

Every thread runs the same function. A phase is a number of items; whoever is free takes the next
one, and nobody goes on to the next phase before all items are done. Threads that come late find
fewer items, or none: the others do not wait for them. What is written by an item depends on the
item alone, so that the result does not depend on who did it.

A ledger is an array of integers with two counters for each phase: items taken, and items done.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from ..jit import compiled

_ORDER = "seq_cst"

# How often a helper looks for the next call before it goes to sleep: some 0.2 ms.
LOOKS = 100_000


def _element(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


@intrinsic
def add(typing, counters, index, change):
    """``counters[index] += change`` at once for all threads; returns what was there before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counters, index, change = arguments
        place = _element(context, builder, signature.args[0], counters, index)
        return builder.atomic_rmw("add", place, change, _ORDER)

    return types.int64(counters, types.int64, types.int64), generate


@intrinsic
def read(typing, counters, index):
    """``counters[index]`` as the other threads left it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counters, index = arguments
        place = _element(context, builder, signature.args[0], counters, index)
        return builder.load_atomic(place, _ORDER, 8)

    return types.int64(counters, types.int64), generate


@compiled
def take(ledger, phase):
    """The next item of a phase; one too high if there is none left."""
    return add(ledger, 2 * phase, 1)


@compiled
def done(ledger, phase):
    """Say that an item is done."""
    add(ledger, 2 * phase + 1, 1)


@compiled
def wait(ledger, phase, items):
    """Until all items of a phase are done; returns how often it had to look."""
    looks = 0
    while read(ledger, 2 * phase + 1) < items:
        looks += 1
    return looks


@compiled
def linger(bell, number, looks):
    """Until the bell stands at another number, but no longer than so many looks."""
    count = 0
    while count < looks and read(bell, 0) == number:
        count += 1
    return count < looks
