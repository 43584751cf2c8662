"""How threads share the items of a phase inside compiled code.

Every thread runs the same function. A phase is a number of items; each free thread takes the next
one, and at the barrier after the phase all wait until every item is done. Threads that come late
find fewer items, or none: the others do not wait for them. What an item writes depends on the item
alone, so the result does not depend on which thread did it.

A call is over when its leader has closed it and all who entered have left. Each call has a number;
a thread with the number of a call that is over is turned away, and touches nothing.

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

# A thread that has waited for so many looks (some microseconds) offers its core to others.
_PATIENT = 2_000


def counters_for(phases: int) -> int:
    """The number of counters of a call."""
    return _FIRST + 2 * phases


# For tests: the most microseconds that a thread sleeps before and after one in so many of the steps
# below by which threads hand over to each other. Code compiled with it needs a cache folder of its
# own.
_PAUSE, _EVERY = int(os.environ.get("SEMINMF_PAUSE", "0")), 16


def _pause(builder: Any) -> None:
    """Sleep at random, as the scheduler may have it."""
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
    """Call a function of the C library that returns an int."""
    kind = ir.FunctionType(ir.IntType(32), [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    builder.call(function, arguments)


@intrinsic
def add(typing, counters, index, change):
    """Atomic ``counters[index] += change``; returns the value before."""

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
    """Atomic read of ``counters[index]``."""

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
    """Offer this core to another thread (where the system has a call for that)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if os.name == "posix":
            _call_c(builder, "sched_yield")
        return context.get_dummy_value()

    return types.void(), generate


@inner
def wait_for(counters, index, value):
    """Wait until a counter has this value; returns how often the core was offered to others."""
    looks = 0
    while read(counters, index) != value:
        looks += 1
        if looks > _PATIENT:
            give_way()
    return max(looks - _PATIENT, 0)


@inner
def watch(counters, index, value, offers):
    """Wait while a counter has this value, but for no more than so many offers of the core."""
    looks = 0
    while read(counters, index) == value and looks < _PATIENT + offers:
        looks += 1
        if looks > _PATIENT:
            give_way()


@inner
def enter(call, number, room):
    """Whether this thread takes part; the leader opens the call and rings the bell."""
    if room.leads:
        add(call.counters, _OPEN, number)
        add(call.bell, 0, number - read(call.bell, 0))
        return True
    add(call.counters, _INSIDE, 1)
    # Either the leader sees a helper inside, or the helper sees here that the call is over.
    if read(call.counters, _OPEN) == number:
        return True
    add(call.counters, _INSIDE, -1)
    return False


@inner
def leave(call, number, room):
    """End a thread's part; the leader closes the call. Returns offers as `wait_for`."""
    if not room.leads:
        add(call.counters, _INSIDE, -1)
        return 0
    add(call.counters, _OPEN, -number)
    offers = wait_for(call.counters, _INSIDE, 0)
    # Nobody is inside: offer all items for the next call.
    for i in range(_FIRST, call.counters.shape[0]):
        call.counters[i] = 0
    return offers


@inner
def take(call, phase):
    """The number of the next item of a phase, which is too high if none is left."""
    return add(call.counters, _FIRST + 2 * phase, 1)


@inner
def done(call, phase):
    """Report an item done."""
    add(call.counters, _FIRST + 2 * phase + 1, 1)


@inner
def barrier(call, phase, items):
    """Wait until all items of a phase are done; returns offers as `wait_for`."""
    return wait_for(call.counters, _FIRST + 2 * phase + 1, items)
