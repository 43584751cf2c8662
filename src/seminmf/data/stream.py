"""A source as an engine reads it: converted, checked and within a memory limit, window by window.

A window is some chunks of samples whose rows are in memory together. There are two, the present one
and the next, which a thread reads meanwhile; or one with all rows, if they fit. Where the chunks
are cut does not depend on the windows, so neither does any digit of a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._once import once
from .._quiet import quietly
from .._sparse import check_indices
from .._types import FloatArray, IntArray, number_type
from ..compiled.products import padded_width
from ..sources.adapters import SelectedRows, Source
from .cutting import Cuts, cut_stream, cut_visits, longest_range
from .storage import Visited, consecutive_rows, samples_of
from .units import divided

# What a fit keeps for each sample: this many arrays of codes, and this many single numbers.
_CODES, _SINGLE = 3, 8
# Bytes of both windows together if no memory limit is given.
_BUFFERS = 2**28
# Bytes of a row number, and of the column number of a stored entry.
_INDEX, _COLUMN = 8, 4


def in_words(size: float) -> str:
    """A number of bytes, rounded up, in the form that ``max_memory`` takes."""
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000 or unit == "GB":
            break
    return f"{np.ceil(size * 10) / 10:g}{unit}"


@dataclass(frozen=True)
class Survey:
    """What one pass over the rows finds: ‖x_i‖², the smallest and the largest entry."""

    squares: FloatArray
    low: float
    high: float


class Stream:
    """A source, and the memory that a fit to it may take in all.

    Parameters
    ----------
    source : Source
    max_memory : int or None
        Bytes; with None, windows take 256 MB and the rest is not limited.
    graph : int
        Bytes of it that a graph takes.
    unit : float
        Numbers are divided by it when they are read.
    """

    def __init__(
        self, source: Source, max_memory: int | None, graph: int = 0, unit: float = 1.0
    ) -> None:
        self.source, self.max_memory, self.graph, self.unit = source, max_memory, graph, unit
        self.shape: tuple[int, int] = source.shape
        self.dtype = number_type(source.dtype)
        self.indptr: IntArray | None = getattr(source, "indptr", None)
        self.bounds: IntArray | None = getattr(source, "bounds", None)
        self.stored = self.shape[0] * self.shape[1]
        if self.indptr is not None:
            self.stored = int(self.indptr[-1] - self.indptr[0])

    def __getitem__(self, numbers: IntArray) -> Stream:
        """A stream of some of the samples."""
        return Stream(SelectedRows(self.source, numbers), self.max_memory, unit=self.unit)

    def __truediv__(self, unit: Any) -> Stream:
        """The same samples, divided by ``unit``."""
        return Stream(self.source, self.max_memory, self.graph, self.unit * float(unit))

    def with_graph(self, size: int) -> Stream:
        """The same stream with a graph of ``size`` bytes."""
        stream = copy(self)  # keeps the survey
        stream.graph = size
        return stream

    def check_memory(self, n_components: int) -> None:
        """Raise an error if a fit of so many components needs more memory than allowed."""
        StreamStorage(self, self.cut(n_components), n_components)

    def cut(self, n_components: int) -> Cuts:
        n, m = self.shape
        return cut_stream(n, max(1, self.stored // max(n, 1)), m, n_components)

    @once
    def survey(self) -> Survey:
        """The result of a first pass, which raises an error if a number is missing or infinite."""
        n, m = self.shape
        storage = StreamStorage(self, self.cut(1), 1)
        squares, low, high = np.empty(n, self.dtype), np.inf, -np.inf
        try:
            for window in storage.windows():
                for rows in cut_visits(window.start, window.stop, m):
                    visited = window.visit(rows)
                    squares[rows] = quietly(visited.squares)
                    if not np.isfinite(squares[rows]).all():
                        self._complain(visited.dense(), rows.start)
                    least, most = visited.range()
                    low, high = min(low, least), max(high, most)
        finally:
            storage.close()
        return Survey(squares, low, high)

    def chunks(self) -> Iterator[Any]:
        """All rows in order, chunk by chunk: with other numbers of rows BLAS has other digits."""
        assert self.survey
        cuts = self.cut(1)
        with closing(StreamStorage(self, cuts, 1)) as storage:
            for window in storage.windows():
                bounds = cuts.bounds[slice(window.chunks[0], window.chunks[1] + 1)] - window.start
                yield from (window.rows[start:stop] for start, stop in pairwise(bounds.tolist()))

    def _complain(self, block: FloatArray, start: int) -> None:
        """Raise an error for the first number missing or infinite; squares may overflow."""
        rows, columns = np.nonzero(~np.isfinite(block))
        if len(rows):
            names = getattr(self.source, "names", None)
            column = int(columns[0])
            named = "" if names is None else f" ({names[column]!r})"
            raise ValueError(
                f"Input X contains {block[rows[0], column]} in row {start + int(rows[0])}, column "
                f"{column}{named}, counted from 0; the first of {len(rows)} such entries in the "
                f"rows from {start} to {start + len(block) - 1}. Leave these rows out, or fill in "
                "numbers, before the fit."
            )


class Window:
    """The rows of some chunks in memory; see `storage.Window`."""

    def __init__(self, chunks: tuple[int, int], start: int, stop: int) -> None:
        self.chunks, self.start, self.stop = chunks, start, stop
        self.rows: Any = None

    def visit(self, rows: slice) -> Visited:
        start, stop = rows.start - self.start, rows.stop - self.start
        if sp.issparse(self.rows):
            return Visited(consecutive_rows(self.rows, start, stop))
        return Visited(self.rows[start:stop])

    def show(self, samples: Any, cuts: Any) -> None:
        """Point compiled structures at these rows, and have it go through their chunks only."""
        rows = self.rows
        if sp.issparse(rows):
            samples.set_vector("entries", rows.data)
            samples.set_vector("indices", rows.indices)
            samples.set_vector("indptr", rows.indptr, self.start)
        else:
            samples.set_vector("entries", rows.reshape(-1), self.start * rows.shape[1])
        cuts.set_integers(begin=self.chunks[0], end=self.chunks[1])


class StreamStorage:
    """Storage that reads its rows from a `Stream`; see `storage.Storage`."""

    whole = False
    gathers = False
    X: Any = None

    def __init__(self, stream: Stream, cuts: Cuts, n_components: int) -> None:
        self._stream, self._cuts = stream, cuts
        self.shape, self.dtype, self.stored = stream.shape, stream.dtype, stream.stored
        self.sparse = stream.indptr is not None
        self._reader: ThreadPoolExecutor | None = None
        self._pending: tuple[int, Future[Window]] | None = None
        self._buffers: list[FloatArray] = []
        self._kept: tuple[int, Any] | None = None
        self._places = self._plan(n_components)

    # How much is in memory at a time

    def _chunk_sizes(self) -> IntArray:
        """Bytes that the rows of each chunk take."""
        indptr, bounds = self._stream.indptr, self._cuts.bounds
        if indptr is None:
            return np.diff(bounds) * (self.shape[1] * self.dtype.itemsize)
        return np.diff(indptr[bounds]) * (self.dtype.itemsize + _COLUMN) + np.diff(bounds) * _COLUMN

    def _needs(self, k: int, largest: int) -> dict[str, int]:
        """Bytes needed beside the windows, by purpose."""
        (n, m), size, source = self.shape, self.dtype.itemsize, self._stream.source
        shards = self._cuts.most_shards
        reading = 0
        if self.sparse:
            # Entries as the source returns them, before conversion.
            reading = largest
        elif not self._direct:
            rows = longest_range(self._cuts.bounds)
            if self._stream.bounds is not None:
                rows += 2 * longest_range(self._stream.bounds)
            reading = rows * m * np.dtype(source.dtype).itemsize
        per_row = size * (_CODES * k + _SINGLE) + (_INDEX * 2 if self.sparse else 0)
        return {
            "codes and what else is kept for each sample": n * per_row,
            "the graph": self._stream.graph,
            "sums": 2 * shards * m * padded_width(k, self.dtype) * size,
            "reading": reading,
        }

    @property
    def _direct(self) -> bool:
        """Whether the source can write rows straight into a window."""
        source = self._stream.source
        return (
            hasattr(source, "read_into")
            and getattr(source, "order", "C") == "C"
            and source.dtype == self.dtype
        )

    def _plan(self, k: int) -> list[tuple[int, int]]:
        """The chunks of each window, as (first, one after the last)."""
        sizes = self._chunk_sizes()
        largest, most = int(sizes.max()), self._stream.max_memory
        needs = self._needs(k, largest)
        if most is None:
            free = max(_BUFFERS, 2 * largest)
        else:
            free = most - sum(needs.values())
            least = min(2 * largest, int(sizes.sum()))
            if free < least:
                self._too_little(most, needs, least)
        if sizes.sum() <= free:
            return [(0, len(sizes))]
        places, begin, held = [], 0, 0
        for chunk, size in enumerate(sizes.tolist()):
            if held + size > free // 2:
                places.append((begin, chunk))
                begin, held = chunk, 0
            held += size
        return [*places, (begin, len(sizes))]

    def _too_little(self, most: int, needs: dict[str, int], windows: int) -> None:
        n, m = self.shape
        parts = [*needs.items(), ("the rows of X that are in memory at a time", windows)]
        listed = ", ".join(f"{in_words(size)} for {what}" for what, size in parts if size)
        raise ValueError(
            f"max_memory={in_words(most)} is too little for {n:,} × {m:,} numbers: {listed}. Give "
            f'at least max_memory="{in_words(sum(size for _, size in parts))}", or take fewer '
            "components."
        )

    # Reading

    def windows(self) -> Iterator[Window]:
        """The windows in order; while one is in use the next is read."""
        if self._stream.source.shape != self.shape:
            raise ValueError(
                f"X has changed while it was in use: its shape was {self.shape} and is now "
                f"{self._stream.source.shape}. Fit to a copy that nobody writes to."
            )
        count = len(self._places)
        for number in range(count):
            window = self._await(number)
            if count > 1:
                self._order((number + 1) % count)
            yield window

    def _await(self, number: int) -> Window:
        if self._pending is None or self._pending[0] != number:
            self._settle()
            self._order(number)
        assert self._pending is not None
        window = self._pending[1].result()
        if len(self._places) > 1:
            self._pending = None
        return window

    def _order(self, number: int) -> None:
        if self._reader is None:
            self._reader = ThreadPoolExecutor(1, thread_name_prefix="seminmf-reader")
        self._pending = number, self._reader.submit(self._read, number)

    def _settle(self) -> None:
        """Wait for a pending read and drop its result."""
        if self._pending is not None:
            self._pending[1].exception()
            self._pending = None

    def close(self) -> None:
        """Stop the reader and free the windows; the next pass starts a new one."""
        self._settle()
        if self._reader is not None:
            self._reader.shutdown()
            self._reader = None
        self._buffers, self._kept = [], None

    def _read(self, number: int) -> Window:
        chunks = self._places[number]
        start, stop = (int(self._cuts.bounds[chunk]) for chunk in chunks)
        window = Window(chunks, start, stop)
        window.rows = self._sparse(start, stop) if self.sparse else self._dense(start, stop)
        if self._stream.unit != 1:
            window.rows = divided(window.rows, self._stream.unit)
        return window

    def _sparse(self, start: int, stop: int) -> Any:
        rows = self._checked(self._stream.source.read(start, stop), start, stop)
        check_indices("X", rows)
        data = rows.data.astype(self.dtype, copy=False)
        places = [part.astype(np.int32, copy=False) for part in (rows.indices, rows.indptr)]
        return sp.csr_array((data, *places), shape=rows.shape)

    def _dense(self, start: int, stop: int) -> FloatArray:
        rows = self._buffer(stop - start)
        source = self._stream.source
        if self._direct:
            source.read_into(start, rows)  # type: ignore[attr-defined]
            return rows
        step, done = longest_range(self._cuts.bounds), start
        while done < stop:
            first, block = self._block(done, min(done + step, stop))
            last = min(first + len(block), stop)
            rows[done - start : last - start] = block[done - first : last - first]
            done = last
        return rows

    def _block(self, start: int, stop: int) -> tuple[int, Any]:
        """(number of the first row, rows) that hold row ``start`` and go on to ``stop`` or beyond.

        A block of the source is read whole, and kept until the next one is wanted.
        """
        if self._kept is not None:
            first, block = self._kept
            if first <= start < first + len(block):
                return first, block
        bounds = self._stream.bounds
        if bounds is not None:
            stop = int(bounds[np.searchsorted(bounds, stop)])
        block = self._checked(self._stream.source.read(start, stop), start, stop)
        self._kept = None if bounds is None else (start, block)
        return start, block

    def _buffer(self, count: int) -> FloatArray:
        """Room for ``count`` rows of a window, in one of two buffers that take turns."""
        most = len(self._places) if len(self._places) < 2 else 2
        longest = int(np.diff(self._cuts.bounds[np.array(self._places)]).max())
        if len(self._buffers) < most:
            self._buffers.append(np.empty((longest, self.shape[1]), self.dtype))
        else:
            self._buffers.append(self._buffers.pop(0))
        return self._buffers[-1][:count]

    def _checked(self, rows: Any, start: int, stop: int) -> Any:
        """``rows`` as the source returned them, or an error if their form or shape is wrong."""
        wanted = (stop - start, self.shape[1])
        form = "csr" if self.sparse else None
        odd = getattr(rows, "format", None) != form or np.iscomplexobj(rows)
        if odd or getattr(rows, "shape", None) != wanted:
            kind = f"{type(rows).__name__} of {getattr(rows, 'dtype', 'no type')}"
            raise ValueError(
                f"X has changed while it was in use, or is no proper source: its rows from {start} "
                f"to {stop} should be {'CSR' if self.sparse else 'an array'} of real numbers, of "
                f"shape {wanted}, and are {kind}, of shape {getattr(rows, 'shape', None)}."
            )
        return rows

    # What an engine asks for

    def samples(
        self, squares: FloatArray, share: FloatArray | None, numbering: IntArray | None,
        longest: int,
    ) -> Any:  # fmt: skip
        assert numbering is None, "rows of a source are read in their order"
        m, nothing = self.shape[1], np.zeros(0, self.dtype)
        laid_out: dict[str, Any] = {"row_step": m, "column_step": 1, "plain": True}
        numbers = None
        if self.sparse:
            laid_out = {"sparse": True, "ones": np.ones(longest, self.dtype)}
            numbers = np.arange(self.shape[0])
        return samples_of(nothing, m, squares, share, numbers, **laid_out)

    def chosen(self, numbers: list[int]) -> FloatArray:
        """Some samples, each read by itself."""
        self._settle()  # a source need not support two reads at a time
        found = [
            Visited(self._checked(self._stream.source.read(i, i + 1), i, i + 1)).dense()
            for i in numbers
        ]
        rows = np.concatenate(found).astype(self.dtype, copy=False)
        return divided(rows, self._stream.unit)
