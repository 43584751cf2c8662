"""How threads share the items of a phase inside compiled code.

Every thread runs the same function. A phase is a number of items; whoever is free takes the next
one, and at the barrier behind it nobody goes on before all items are done. Threads that come late
find fewer items, or none: the others do not wait for them. What is written by an item depends on
the item alone, so that the result does not depend on who did it.

A call is over when its leader has closed it and all who came in have left. Each call has a number;
who comes with the number of a call that is over is turned away at the door, and touches nothing.

The counters of a call are integers: its number while it is open, how many helpers are inside, and
for each phase the items taken and the items done.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..jit import inner
from ..simd.lanes import place_of

_ORDER = "seq_cst"
_OPEN, _INSIDE, _FIRST = 0, 1, 2

# Who waits longer than so many looks (some microseconds) offers its core to others that want it.
_PATIENT = 2_000


def counters_for(phases: int) -> int:
    """The number of counters of a call."""
    return _FIRST + 2 * phases


# For tests: for up to so many microseconds a thread sleeps before and after some of the steps below
# (one in so many) by which threads hand over to each other. Code that is compiled so must not be
# kept in one folder with other code.
_PAUSE, _EVERY = int(os.environ.get("SEMINMF_PAUSE", "0")), 16


def _pause(builder: Any) -> None:
    """By chance, as the scheduler may do it."""
    if _PAUSE == 0:
        return
    word, module = ir.IntType(64), builder.module
    clock = builder.call(
        module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(word, [])), []
    )
    chance = builder.lshr(builder.mul(clock, word(0x9E3779B97F4A7C15)), word(40))
    with builder.if_then(builder.icmp_unsigned("==", builder.urem(chance, word(_EVERY)), word(0))):
        length = builder.urem(builder.udiv(chance, word(_EVERY)), word(_PAUSE))
        _call_c(builder, "usleep", builder.trunc(length, ir.IntType(32)))


def _call_c(builder: Any, name: str, *arguments: Any) -> None:
    """Call a function of the C library that returns a number."""
    kind = ir.FunctionType(ir.IntType(32), [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    builder.call(function, arguments)


@intrinsic
def add(typing, counters, index, change):
    """``counters[index] += change`` at once for all threads; returns what was there before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counters, index, change = arguments
        place = place_of(context, builder, signature.args[0], counters, index)
        _pause(builder)
        before = builder.atomic_rmw("add", place, change, _ORDER)
        _pause(builder)
        return before

    return types.int64(counters, types.int64, types.int64), generate


@intrinsic
def read(typing, counters, index):
    """``counters[index]`` as the other threads left it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counters, index = arguments
        place = place_of(context, builder, signature.args[0], counters, index)
        _pause(builder)
        found = builder.load_atomic(place, _ORDER, 8)
        _pause(builder)
        return found

    return types.int64(counters, types.int64), generate


@intrinsic
def give_way(typing):
    """Let another thread have this core, if one wants it (where the system has a call for that)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if os.name == "posix":
            _call_c(builder, "sched_yield")
        return context.get_dummy_value()

    return types.void(), generate


@inner
def wait_for(counters, index, value):
    """Until a counter has this value; returns how often the core was offered to others."""
    looks = 0
    while read(counters, index) != value:
        looks += 1
        if looks > _PATIENT:
            give_way()
    return max(looks - _PATIENT, 0)


@inner
def watch(counters, index, value, offers):
    """As long as a counter has this value, but no longer than for so many offers of the core."""
    looks = 0
    while read(counters, index) == value and looks < _PATIENT + offers:
        looks += 1
        if looks > _PATIENT:
            give_way()


@inner
def enter(call, number, room):
    """Whether this thread takes part; the one who leads opens the call and rings the bell."""
    if room.leads:
        add(call.counters, _OPEN, number)
        add(call.bell, 0, number - read(call.bell, 0))
        return True
    add(call.counters, _INSIDE, 1)
    # Either the leader sees that somebody is inside, or this sees that the call is over.
    if read(call.counters, _OPEN) == number:
        return True
    add(call.counters, _INSIDE, -1)
    return False


@inner
def leave(call, number, room):
    """The end of a thread's part; that of the leader closes the call. Returns its offers."""
    if not room.leads:
        add(call.counters, _INSIDE, -1)
        return 0
    add(call.counters, _OPEN, -number)
    offers = wait_for(call.counters, _INSIDE, 0)
    # Nobody is inside: all items of the next call are there to be taken.
    for i in range(_FIRST, call.counters.shape[0]):
        call.counters[i] = 0
    return offers


@inner
def take(call, phase):
    """The next item of a phase; one too high if there is none left."""
    return add(call.counters, _FIRST + 2 * phase, 1)


@inner
def done(call, phase):
    """Say that an item is done."""
    add(call.counters, _FIRST + 2 * phase + 1, 1)


@inner
def barrier(call, phase, items):
    """Until all items of a phase are done; returns offers as `wait_for`."""
    return wait_for(call.counters, _FIRST + 2 * phase + 1, items)
