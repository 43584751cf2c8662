"""Where the rows lie: at one site in this process, or at one on each worker of a Dask cluster.

A `Site` holds rows and whatever functions have left there. Functions go to all sites at once:
`Sites.each` leaves what they make where it is made, under a name (`Held`), and `Sites.gather`
brings it here, in the order of the sites. Of what lies at the sites, each function gets what
its own site has.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from itertools import count
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from .._types import FloatArray, IntArray
from ..data import Engine

# Seconds between two looks whether the workers are still there, while something takes long.
_LOOK_EVERY = 1.0


class WorkerLostError(RuntimeError):
    """A worker went away, and with it the rows that it held."""


class Reference(NamedTuple):
    """What a site holds under this name."""

    name: str


HERE = Reference("site")
"""The site itself."""


class Site:
    """Rows of X on one worker, and what functions leave beside them.

    Parameters
    ----------
    rows : array or CSR array
    numbers : array
        Which of all the samples these are.
    share : array or None
        Their weights.
    n_components : int
    threads : int or None
        How many to work with; None leaves it to the settings of the process.
    features : array or None
        By which neighbours are looked for.
    """

    def __init__(
        self, rows: Any, numbers: IntArray, share: FloatArray | None, n_components: int,
        threads: int | None = None, features: FloatArray | None = None,
    ) -> None:  # fmt: skip
        self.numbers, self.share, self.features = numbers, share, features
        with nullcontext() if threads is None else threadpool_limits(threads, user_api="blas"):
            self.engine = Engine(rows, n_components)
        self._held: dict[str, Any] = {HERE.name: self}
        self.engine.__enter__()

    def run(
        self, function: Callable[..., Any], arguments: Sequence[Any], keep: str | None = None,
        gone: Sequence[str] = (),
    ) -> Any:  # fmt: skip
        """What a function finds here; kept under a name, or returned.

        What is held under the names that are ``gone`` is not wanted any more.
        """
        for name in gone:
            del self._held[name]
        found = function(
            *(self._held[own.name] if isinstance(own, Reference) else own for own in arguments)
        )
        if keep is None:
            return found
        self._held[keep] = found
        return None

    def close(self) -> None:
        self.engine.__exit__(None, None, None)


def stacked(parts: Sequence[Any]) -> Any:
    """Rows one below the other; itself if it is one."""
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts)) if sp.issparse(parts[0]) else np.concatenate(parts)


class Held:
    """Something that lies at the sites under a name, as long as somebody here has this."""

    def __init__(self, sites: Sites, name: str) -> None:
        self.sites, self.name = sites, name
        weakref.finalize(self, sites.gone.append, name).atexit = False

    def __mul__(self, factor: Any) -> Held:
        return self.sites.each(np.multiply, self, factor)

    def copy(self) -> Held:
        return self.sites.each(np.copy, self)


class Own(NamedTuple):
    """An argument that is another one for each site."""

    parts: Sequence[Any]


_Kind = TypeVar("_Kind", bound=Held)


class Sites:
    """All sites of a fit."""

    def __init__(self, size: int) -> None:
        self._size, self._names = size, count()
        self.gone: deque[str] = deque()

    def __len__(self) -> int:
        return self._size

    def each(self, function: Callable[..., Any], *arguments: Any) -> Held:
        """Have each site keep what a function makes of its arguments."""
        return self.each_as(Held, function, *arguments)

    def each_as(self, kind: type[_Kind], function: Callable[..., Any], *arguments: Any) -> _Kind:
        """The same, with another class for what lies there."""
        name = str(next(self._names))
        self._send(function, arguments, name)
        return kind(self, name)

    def gather(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What a function finds at each site."""
        return self._send(function, arguments, None)

    def _send(
        self, function: Callable[..., Any], arguments: Sequence[Any], keep: str | None
    ) -> list[Any]:
        gone = [self.gone.popleft() for _ in range(len(self.gone))]
        own = [[_sent(argument, number) for argument in arguments] for number in range(len(self))]
        return self.run([(function, part, keep, gone) for part in own])

    def run(self, orders: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What `Site.run` returns for the order of each site."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the rows."""
        raise NotImplementedError


def _sent(argument: Any, number: int) -> Any:
    """What goes to a site in the place of an argument."""
    if isinstance(argument, Own):
        return argument.parts[number]
    return Reference(argument.name) if isinstance(argument, Held) else argument


class OwnSites(Sites):
    """One site, in this process."""

    def __init__(self, site: Site) -> None:
        super().__init__(1)
        self._site = site

    def run(self, orders: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [self._site.run(*orders[0])]

    def close(self) -> None:
        self._site.close()


class DaskSites(Sites):
    """Sites as actors, one on each of some workers: they stay there from call to call."""

    def __init__(self, client: Any, workers: list[str], calls: list[Any]) -> None:
        """``calls`` are the futures that make the sites; while they live, the actors do."""
        super().__init__(len(calls))
        self.workers, self._calls = workers, calls
        wait_for(client, workers, calls)
        self.actors = [call.result() for call in calls]

    def run(self, orders: Sequence[tuple[Any, ...]]) -> list[Any]:
        try:
            calls = [actor.run(*own) for actor, own in zip(self.actors, orders, strict=True)]
        except RuntimeError as error:
            raise meaning_of(error) from error
        results: list[Any] = []
        problems: list[Exception] = []
        for call in calls:
            # All are waited for: none may still be at work when the next one begins.
            try:
                results.append(call.result())
            except Exception as error:
                problems.append(error)
        if problems:
            raise meaning_of(problems[0]) from problems[0]
        return results

    def close(self) -> None:
        for actor in self.actors:
            with suppress(OSError, RuntimeError):  # some may have gone away by themselves
                actor.close().result()


def workers_of(client: Any) -> list[str]:
    """Addresses of the workers that are there now."""
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def wait_for(client: Any, workers: list[str], calls: list[Any]) -> None:
    """Until all calls are done; what is meant for a worker that is gone would never be."""
    from distributed import wait

    while True:
        try:
            wait(calls, timeout=_LOOK_EVERY)
        except TimeoutError:
            if set(workers) <= set(workers_of(client)):
                continue
            client.cancel(calls)
            raise WorkerLostError("A worker of the cluster was lost.") from None
        failed = [call.exception() for call in calls if call.status != "finished"]
        if failed:
            raise meaning_of(failed[0]) from failed[0]
        return


def meaning_of(error: Exception) -> Exception:
    """The error of a function, or that a worker was lost, which Dask tells in several ways."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    lost = isinstance(error, (CancelledError, KilledWorker, CommClosedError))
    if lost or "Actor" in str(error):
        return WorkerLostError("A worker of the cluster was lost.")
    return error
