"""Sites, which hold rows: one in this process, or one on each worker of a Dask cluster.

A `Site` holds rows and the results of functions. Functions are sent to all sites at once:
`Sites.each` leaves their results where they are made, under a name (`Held`), and `Sites.gather`
returns them here, in the order of the sites. A `Held` argument becomes, at each site, what that
site holds under its name.
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

# Seconds between checks, during long calls, that the workers are still there.
_LOOK_EVERY = 1.0


class WorkerLostError(RuntimeError):
    """A worker was lost, and with it the rows that it held."""


class Reference(NamedTuple):
    """Stands for what a site holds under this name."""

    name: str


HERE = Reference("site")
"""Stands for the site itself."""


class Site:
    """Rows of X on one worker, with the results of functions that are kept there.

    Parameters
    ----------
    rows : array or CSR array
    numbers : array
        The numbers of these rows among all samples.
    share : array or None
        Their weights.
    n_components : int
    threads : int or None
        How many to use; None leaves that to the settings of the process.
    features : array or None
        Features in which neighbours are searched.
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
        """Call a function here; its result is kept under the name ``keep``, or returned.

        What is held under the names ``gone`` is dropped first.
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
    """Arrays or CSR arrays one below the other; a single one is not copied."""
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts)) if sp.issparse(parts[0]) else np.concatenate(parts)


class Held:
    """A handle for what the sites hold under a name, dropped there when the handle is."""

    def __init__(self, sites: Sites, name: str) -> None:
        self.sites, self.name = sites, name
        weakref.finalize(self, sites.gone.append, name).atexit = False

    def __mul__(self, factor: Any) -> Held:
        return self.sites.each(np.multiply, self, factor)

    def copy(self) -> Held:
        return self.sites.each(np.copy, self)


class Own(NamedTuple):
    """An argument with a value of its own for each site."""

    parts: Sequence[Any]


_Kind = TypeVar("_Kind", bound=Held)


class Sites:
    """All sites of a fit, to which functions are sent."""

    def __init__(self, size: int) -> None:
        self._size, self._names = size, count()
        self.gone: deque[str] = deque()

    def __len__(self) -> int:
        return self._size

    def each(self, function: Callable[..., Any], *arguments: Any) -> Held:
        """Call a function at each site and keep the results there."""
        return self.each_as(Held, function, *arguments)

    def each_as(self, kind: type[_Kind], function: Callable[..., Any], *arguments: Any) -> _Kind:
        """`each`, with a handle of another class."""
        name = str(next(self._names))
        self._send(function, arguments, name)
        return kind(self, name)

    def gather(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function at each site; the list of its results."""
        return self._send(function, arguments, None)

    def _send(
        self, function: Callable[..., Any], arguments: Sequence[Any], keep: str | None
    ) -> list[Any]:
        gone = [self.gone.popleft() for _ in range(len(self.gone))]
        own = [[_sent(argument, number) for argument in arguments] for number in range(len(self))]
        return self.run([(function, part, keep, gone) for part in own])

    def run(self, orders: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call `Site.run` with the arguments for each site; the list of its results."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the rows."""
        raise NotImplementedError


def _sent(argument: Any, number: int) -> Any:
    """An argument as one site gets it."""
    if isinstance(argument, Own):
        return argument.parts[number]
    return Reference(argument.name) if isinstance(argument, Held) else argument


class OwnSites(Sites):
    """A single site in this process."""

    def __init__(self, site: Site) -> None:
        super().__init__(1)
        self._site = site

    def run(self, orders: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [self._site.run(*orders[0])]

    def close(self) -> None:
        self._site.close()


class DaskSites(Sites):
    """Sites as Dask actors, one on each of some workers, which stay there between calls."""

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
            # Wait for all: none may still be running when the next call begins.
            try:
                results.append(call.result())
            except Exception as error:
                problems.append(error)
        if problems:
            raise meaning_of(problems[0]) from problems[0]
        return results

    def close(self) -> None:
        for actor in self.actors:
            with suppress(OSError, RuntimeError):  # an actor whose worker is gone
                actor.close().result()


def workers_of(client: Any) -> list[str]:
    """Addresses of the workers that are connected."""
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def wait_for(client: Any, workers: list[str], calls: list[Any]) -> None:
    """Wait until all calls are done; those meant for a lost worker never would be: an error."""
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
    """`WorkerLostError` if Dask tells, in one of several ways, of a lost worker; else the error."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    lost = isinstance(error, (CancelledError, KilledWorker, CommClosedError))
    if lost or "Actor" in str(error):
        return WorkerLostError("A worker of the cluster was lost.")
    return error
