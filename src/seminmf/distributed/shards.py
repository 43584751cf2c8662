"""Where the rows lie: with one shard in this process, or with one on each worker of a Dask cluster.

A `Shard` holds rows and whatever steps leave there; steps are functions of a shard, which go to all
shards at once (`Shards.map`) and whose results come back in the order of the shards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from itertools import repeat
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from .._types import FloatArray, IntArray
from ..data import Engine

# Seconds between two looks whether the workers are still there, while something takes long.
_LOOK_EVERY = 1.0


class WorkerLostError(RuntimeError):
    """A worker went away, and with it the rows that it held."""


class Shard:
    """Rows of X on one worker, and what the steps of a fit keep beside them.

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
    """

    def __init__(
        self, rows: Any, numbers: IntArray, share: FloatArray | None, n_components: int,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        self.numbers, self.share, self.n_components = numbers, share, n_components
        with nullcontext() if threads is None else threadpool_limits(threads, user_api="blas"):
            self.engine = Engine(rows, n_components)
        self.spaces = {"whole": self.engine}
        self.active = self.engine
        # What steps leave for later ones.
        self.weights: Any = None
        self.scores: Any = None
        self.features: Any = None
        self.found: Any = None
        self.asking: Any = None
        self.index: Any = None
        self.recall = 1.0
        self.links: Any = None
        self.graph: Any = None
        self.codes: Any = None
        self.rows: Any = None
        self.residuals: Any = None
        self.kept: Any = None
        self.engine.__enter__()

    def run(self, step: Callable[..., Any], *arguments: Any) -> Any:
        """What a step finds here."""
        return step(self, *arguments)

    def close(self) -> None:
        self.engine.__exit__(None, None, None)


def stacked(parts: Sequence[Any]) -> Any:
    """Rows one below the other; itself if it is one."""
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts)) if sp.issparse(parts[0]) else np.concatenate(parts)


class Shards(Protocol):
    """All shards of a fit."""

    def map(self, step: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What the step finds with each shard, with the same arguments for all."""

    def map_each(self, step: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The same with arguments for each shard."""

    def close(self) -> None:
        """Let go of the rows."""

    def __len__(self) -> int: ...


class OwnShards:
    """One shard, in this process."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard

    def __len__(self) -> int:
        return 1

    def map(self, step: Callable[..., Any], *arguments: Any) -> list[Any]:
        return [self._shard.run(step, *arguments)]

    def map_each(self, step: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [self._shard.run(step, *arguments[0])]

    def close(self) -> None:
        self._shard.close()


class DaskShards:
    """Shards as actors, one on each of some workers: they stay there from step to step."""

    def __init__(self, client: Any, workers: list[str], calls: list[Any]) -> None:
        """``calls`` are the futures that make the shards; while they live, the actors do."""
        self.workers, self._calls = workers, calls
        wait_for(client, workers, calls)
        self.actors = [call.result() for call in calls]

    def __len__(self) -> int:
        return len(self.actors)

    def map(self, step: Callable[..., Any], *arguments: Any) -> list[Any]:
        return self.map_each(step, list(repeat(arguments, len(self))))

    def map_each(self, step: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        try:
            calls = [
                actor.run(step, *own) for actor, own in zip(self.actors, arguments, strict=True)
            ]
        except RuntimeError as error:
            raise meaning_of(error) from error
        results: list[Any] = []
        problems: list[Exception] = []
        for call in calls:
            # All are waited for: none may still be at work when the next step begins.
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
    """The error of a step, or that a worker was lost, which Dask tells in several ways."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    lost = isinstance(error, (CancelledError, KilledWorker, CommClosedError))
    if lost or "Actor" in str(error):
        return WorkerLostError("A worker of the cluster was lost.")
    return error
