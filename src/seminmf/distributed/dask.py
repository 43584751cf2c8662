"""Dask arrays: rows on the workers of a cluster, or all in this process without a cluster.

With a `distributed.Client` each worker gets a site, which stays there for the fit; without one
Dask's local scheduler computes the chunks for one site in this process.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._sparse import check_indices, dense
from .._types import FloatArray, IntArray, number_type
from .._words import counted
from .cells import Cells
from .sites import (
    HERE,
    DaskSites,
    Held,
    OwnSites,
    Reference,
    Site,
    Sites,
    WorkerLostError,
    stacked,
    workers_of,
)

# Seconds to wait for a worker when all are lost: a new one may be starting.
_WAIT = 30
# Seconds that the scheduler gets to notice the loss of a worker.
_SETTLE = 2


def check_array(X: Any) -> None:
    """Refuse chunks that cannot be used, with the line of code that mends them."""
    if X.ndim != 2:
        raise ValueError(
            f"X must be a Dask array of samples × features, got {counted(X.ndim, 'dimension')}."
        )
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError(
            "X has chunks of unknown size. Call X.compute_chunk_sizes() first, or "
            "ddf.to_dask_array(lengths=True) where it comes from a data frame."
        )
    if len(X.chunks[1]) > 1:
        raise ValueError(
            f"X is cut into {len(X.chunks[1])} chunks of columns, but a sample must lie in one "
            'chunk. Use X = X.rechunk({0: "auto", 1: -1}).'
        )
    if X.dtype.kind not in "fiub":
        remedy = "X.real, for example" if X.dtype.kind == "c" else "X.astype(float)"
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}. Use {remedy}.")


def checked_rows(block: Any, first: int, dtype: Any) -> Any:
    """Rows of a chunk in the form that engines take; ``first`` is the row number for messages."""
    rows: Any
    if sp.issparse(block):
        check_indices("X", block)
        rows = sp.csr_array(block, dtype=dtype)
        rows.sort_indices()
        finite = np.isfinite(rows.data).all()
    else:
        if isinstance(block, np.ma.MaskedArray):  # what is behind a mask is not meant
            block = np.ma.filled(block.astype(dtype), np.nan)
        rows = np.ascontiguousarray(block, dtype)
        finite = np.isfinite(rows).all()
    if not finite:
        bad = ~np.isfinite(dense(rows))
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"Input X contains NaN or infinity, first in row {first + row}, column {column}. Drop "
            "such rows or fill them, for example with sklearn.impute.SimpleImputer."
        )
    return rows


def _load(
    blocks: list[Any], first: int, share: FloatArray | None, n_components: int, dtype: Any
) -> Site:
    """A site with the rows of consecutive chunks."""
    parts, place = [], first
    for block in blocks:
        parts.append(checked_rows(block, place, dtype))
        place += block.shape[0]
    return Site(stacked(parts), np.arange(first, place), share, n_components, _threads())


def _threads() -> int | None:
    """Threads of the Dask worker that runs this; None outside of workers."""
    try:
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):
        return None


def _give(site: Site, features: FloatArray, places: IntArray, cell: int) -> tuple[Any, ...]:
    """Rows, numbers, weights and features of a site's samples in a cell."""
    chosen = np.flatnonzero(places == cell)
    share = None if site.share is None else site.share[chosen]
    return site.engine.chosen_rows(chosen), site.numbers[chosen], share, features[chosen]


def _gather_on_worker(givers: list[Any], what: list[Any], cell: int, n_components: int) -> Site:
    """A site of all samples in a cell, fetched from the sites that have them."""
    parts = [call.result() for call in [giver.run(_give, [*what, cell]) for giver in givers]]
    rows, numbers, shares, features = zip(*parts, strict=True)
    share = None if shares[0] is None else np.concatenate(shares)
    return Site(
        stacked(rows), np.concatenate(numbers), share, n_components, _threads(),
        np.concatenate(features),
    )  # fmt: skip


def _result(site: Site, values: FloatArray, first: int, last: int) -> tuple[IntArray, FloatArray]:
    """(places from ``first`` on, results) of a site's samples between ``first`` and ``last``."""
    chosen = np.flatnonzero((site.numbers >= first) & (site.numbers < last))
    return site.numbers[chosen] - first, values[chosen]


def current_client() -> Any:
    """The client that Dask would use, or None; an error if it has no workers."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        client = default_client()
    except ValueError:
        return None
    if not workers_of(client):
        raise ValueError(
            f"The Dask client {client.scheduler.address} has no workers, so that the fit would "
            "wait for ever. Start some, for example with cluster.scale(2) and "
            "client.wait_for_workers(2)."
        )
    return client


class DaskTable:
    """The rows of a Dask array, which can be loaded again if they are lost, and sample weights."""

    def __init__(self, X: Any, share: FloatArray | None, n_components: int) -> None:
        self._X, self.share, self._n_components = X, share, n_components
        self._client = current_client()
        self._loaded = False
        self.shape: tuple[int, int] = X.shape
        self.dtype = number_type(X.dtype)

    @property
    def _bounds(self) -> list[int]:
        """Bounds of the chunks, in rows."""
        return [0, *np.cumsum(self._X.chunks[0]).tolist()]

    def load(self) -> Sites:
        """Sites that hold the rows in their order."""
        import dask
        from dask.graph_manipulation import clone

        if self._client is None:
            rows = list(dask.compute(*self._X.to_delayed()[:, 0]))
            return OwnSites(_load(rows, 0, self.share, self._n_components, self.dtype))
        if self._loaded:
            # A clone has new keys: Dask has to forget the tasks of the workers that were lost.
            self._X = clone(self._X)
            time.sleep(_SETTLE)
        self._loaded = True
        try:
            self._client.wait_for_workers(1, timeout=_WAIT)
        except TimeoutError:
            raise WorkerLostError("The cluster has no workers left.") from None
        # Workers on the list may just have died: only those that answer get rows.
        workers, calls = sorted(self._client.run(int, on_error="ignore")), []
        blocks, dealt = list(self._X.to_delayed()[:, 0]), self._deal(len(workers))
        workers = workers[: len(dealt)]
        for worker, (first, last) in zip(workers, dealt, strict=True):
            futures = self._client.compute(
                blocks[first:last], workers=[worker], allow_other_workers=True
            )
            start, stop = self._bounds[first], self._bounds[last]
            share = None if self.share is None else self.share[start:stop]
            calls.append(
                self._submit(_load, worker, futures, start, share, self._n_components, self.dtype)
            )
        return DaskSites(self._client, workers, calls)

    def _deal(self, count: int) -> list[tuple[int, int]]:
        """(first, one after the last) chunk of each of ``count`` workers, as evenly as possible.

        With fewer chunks than workers some workers get none.
        """
        bounds = np.array(self._bounds)
        cuts = np.searchsorted(bounds, np.linspace(0, self.shape[0], count + 1))
        return [(int(a), int(b)) for a, b in pairwise(cuts) if a < b]

    def _submit(self, make: Any, worker: str, *arguments: Any) -> Any:
        return self._client.submit(
            make, *arguments, workers=[worker], allow_other_workers=False, actor=True, pure=False
        )

    def place(self, sites: Any, features: Held, cells: Cells) -> Sites:
        """New sites with the rows and features of one cell each, in place of the old ones."""
        places = sites.each(cells.places, features)
        what = [HERE, Reference(features.name), Reference(places.name)]
        calls = [
            self._submit(_gather_on_worker, worker, sites.actors, what, cell, self._n_components)
            for cell, worker in enumerate(sites.workers)
        ]
        placed = DaskSites(self._client, sites.workers, calls)
        sites.close()
        return placed

    def collect(self, rows: Held) -> Any:
        """Results of all samples as a Dask array with the chunks of X, on the workers."""
        import dask
        import dask.array as da

        if self._client is None:
            (values,) = rows.sites.gather(np.asarray, rows)
            return da.from_array(values, chunks=(self._X.chunks[0], *values.shape[1:]))
        sites: Any = rows.sites
        chunks = []
        for number, (first, last) in enumerate(pairwise(self._bounds)):
            parts = sites.gather(_result, HERE, rows, first, last)
            chunk = np.empty((last - first, *parts[0][1].shape[1:]), self.dtype)
            for places, found in parts:
                chunk[places] = found
            # Scattered, since Dask would repeat a task after the sites have gone.
            worker = sites.workers[number % len(sites)]
            future = self._client.scatter(chunk, workers=[worker], hash=False)
            chunks.append(da.from_delayed(dask.delayed(future), chunk.shape, self.dtype))
        return da.concatenate(chunks)
