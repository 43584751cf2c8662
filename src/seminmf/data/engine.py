"""The engine of one machine: X held once, and visited by blocks of rows.

Nothing else reads entries of X. Callers ask for products with X or for a pass of a function over
its rows, or begin a run (`Engine.begin`), whose rows and their state then belong to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._once import once
from .._sparse import dense
from .._types import FloatArray, IntArray
from ..compiled.threads.team import Team
from .cutting import chunk_bounds, cut_rows, cut_visits
from .graphs import Graph
from .rows import Rows, Rule
from .storage import Storage, Visited, Window, row_squares, storage_of
from .stream import Stream, StreamStorage

_Result = TypeVar("_Result")

# X·Xᵀ is computed in this many strips, for any number of threads, so that every digit is the same;
# none is so narrow that BLAS becomes slow.
_MOST_STRIPS, _STRIP_ROWS = 4, 128
# A sparse row counts as at least this many entries: its products have other costs as well.
_FEWEST_ENTRIES = 16
# Sums over all rows have this many partial sums, for any number of threads and windows.
_PARTS = 16


def squares_of(X: Any) -> FloatArray:
    """‖x_i‖² for each row of an array, CSR array or Stream."""
    return X.survey.squares if isinstance(X, Stream) else row_squares(X)


def entry_range(X: Any) -> tuple[float, float]:
    """The smallest and the largest entry of an array, CSR array or Stream."""
    if isinstance(X, Stream):
        return X.survey.low, X.survey.high
    return Visited(X).range()


def in_parts(X: Any) -> Iterable[Any]:
    """The rows of a Stream chunk by chunk; those of an array all at once."""
    return X.chunks() if isinstance(X, Stream) else (X,)


class Engine:
    """X, dense, CSR or mapped from a file and not copied, or read window by window from a Stream.

    Parameters
    ----------
    X : array or CSR array of shape (n_samples, n_features), or Stream
    n_components : int
        Columns of the products to come; only used to estimate the work.
    block_rows : int or None
        Rows in a block; None chooses by the size of the cache.
    squares : array of shape (n_samples,) or None
        ‖x_i‖², if known already.
    team : Team or None
        Threads of another engine for the same samples, to be shared; None makes a team.
    """

    def __init__(
        self,
        X: Any,
        n_components: int,
        block_rows: int | None = None,
        squares: FloatArray | None = None,
        team: Team | None = None,
    ) -> None:
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        self.storage: Storage
        if isinstance(X, Stream):
            self.cuts = X.cut(n_components)
            self.chunk_bounds = self.cuts.bounds
            self.storage = StreamStorage(X, self.cuts, n_components)
        else:
            shape = self.n_samples, self.n_features, n_components
            self.cuts = cut_rows(*shape, block_rows)
            self.chunk_bounds = chunk_bounds(*shape)
            self.storage = storage_of(X)
        self.sparse, self.whole = self.storage.sparse, self.storage.whole
        self.stored = self.storage.stored
        """Numbers that a product with X multiplies."""
        operations = 4.0 * n_components * (self.stored + 2 * n_components * self.n_samples)
        self.team = Team(operations, self.cuts.most_shards) if team is None else team
        self.squares: FloatArray = squares_of(X) if squares is None else squares
        self._cut: dict[tuple[int, int], list[slice]] = {}

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest entry of X."""
        return entry_range(self.storage.X)

    def __enter__(self) -> Engine:
        self.team.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self.storage.close()
        finally:
            self.team.__exit__(*error)

    def begin(
        self, terms: Any, rule: Rule, graph: Graph | None, share: FloatArray | None, codes: Any
    ) -> Rows:
        """The rows of a run that starts at ``codes``, which it may overwrite; see `Rows`."""
        return Rows(self, terms, rule, graph, share, codes)

    # Arrays with a row for each sample lie where the rows of X lie: here, in this process.

    def each(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a function to such arrays where they lie; the result is another such array."""
        return function(*arguments)

    def gather(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Apply a function to such arrays in each place; the list of its results."""
        return [function(*arguments)]

    def summed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The sum over all places of what the function returns there."""
        return reduce(np.add, self.gather(function, *arguments))

    def brought(self, rows: FloatArray) -> FloatArray:
        """Such an array, brought into this process."""
        return rows

    def placed(self, rows: FloatArray) -> FloatArray:
        """A copy of an array of this process, placed where the rows of X lie."""
        return rows.copy()

    def drawn(self, rng: np.random.RandomState, columns: int, most: float = 1.0) -> FloatArray:
        """Uniform random numbers from 0 to ``most``, of shape (n_samples, ``columns``)."""
        return rng.uniform(0, most, (self.n_samples, columns)).astype(self.dtype)

    def beside(
        self, features: FloatArray, n_components: int, squares: FloatArray | None = None
    ) -> Engine:
        """An engine for other features of the same samples, which shares the team."""
        return Engine(features, n_components, squares=squares, team=self.team)

    # Visits from Python

    def map_rows(
        self, basis: FloatArray | None, visit: Callable[[slice, Visited, Any], _Result]
    ) -> list[_Result]:
        """What ``visit(rows, X_b, X_b·U)`` returns for consecutive rows of X, in their order.

        Without a basis the third argument is None.
        """

        results: list[_Result] = []
        for window in self.storage.windows():

            def visit_rows(rows: slice, window: Window = window) -> _Result:
                visited = window.visit(rows)
                return visit(rows, visited, None if basis is None else visited.times(basis))

            results += self.team.map(visit_rows, self._visits(window))
        return results

    def _visits(self, window: Window) -> list[slice]:
        """The slices of a window's samples that Python visits one at a time."""
        if window.chunks not in self._cut:
            bounds, entries = self.cuts.bounds.tolist(), self.n_features
            if self.sparse:
                entries = max(_FEWEST_ENTRIES, self.stored // self.n_samples)
            self._cut[window.chunks] = [
                rows
                for chunk in range(*window.chunks)
                for rows in cut_visits(bounds[chunk], bounds[chunk + 1], entries)
            ]
        return self._cut[window.chunks]

    def sum_over_rows(self, visit: Callable[[slice, Visited], FloatArray]) -> FloatArray:
        """The sum of what ``visit(rows, X_b)`` returns, which it may overwrite."""
        sums: dict[int, FloatArray] = {}
        first = 0
        for window in self.storage.windows():
            visits = self._visits(window)
            if len(visits) == self.cuts.count == 1:  # nothing to share, nor to add up
                return visit(visits[0], window.visit(visits[0]))

            def add(part: int, turns: list[slice], window: Window) -> None:
                for rows in turns:
                    found = visit(rows, window.visit(rows))
                    sums[part] = (
                        np.add(sums[part], found, out=sums[part]) if part in sums else found
                    )

            parts = range(min(_PARTS, len(visits)))
            work = [((first + turn) % _PARTS, visits[turn::_PARTS], window) for turn in parts]
            self.team.map(lambda item: add(*item), work)
            first += len(visits)
        return reduce(np.add, (sums[part] for part in sorted(sums)))

    def residuals(
        self, basis: FloatArray, codes: FloatArray, among: NDArray[np.bool_] | None = None
    ) -> FloatArray:
        """‖x_i − U v_i‖ for every sample, or for those ``among`` them, computed directly."""

        def visit(rows: slice, visited: Visited, _: Any) -> FloatArray:
            if among is None or among[rows].all():
                return visited.residuals(codes[rows], basis)
            some = np.flatnonzero(among[rows])
            return visited.chosen(some).residuals(codes[rows][some], basis)

        return np.concatenate(self.map_rows(None, visit))

    def weighted_moment(self, weights: FloatArray) -> FloatArray:
        """Xᵀ·(w∘X) for non-negative weights; m × m, so only for few features."""
        roots = np.sqrt(weights)

        def visit(rows: slice, visited: Visited) -> FloatArray:
            scaled = roots[rows, None] * visited.dense()
            # A product with its own transpose is symmetric, and NumPy calculates half of it.
            return scaled.T @ scaled

        return self.sum_over_rows(visit)

    @once
    def gram(self) -> FloatArray:
        """X·Xᵀ, n × n, so only for few samples; half of it is computed, strip by strip."""
        X, n = self.storage.X, self.n_samples
        if self.sparse:
            return np.asarray((X @ X.T).toarray())
        gram = np.empty((n, n), self.dtype)
        count = max(min(n // _STRIP_ROWS, _MOST_STRIPS), 1)
        strips = [slice(*ends) for ends in pairwise(np.linspace(0, n, count + 1, dtype=int))]

        def fill(rows: slice) -> None:
            before = slice(0, rows.start)
            # A product with its own transpose is symmetric, and NumPy calculates half of it.
            gram[rows, rows] = X[rows] @ X[rows].T
            gram[rows, before] = X[rows] @ X[before].T
            gram[before, rows] = gram[rows, before].T

        # The longest come first, so that threads end together.
        self.team.map(fill, reversed(strips))
        return gram

    def chosen(self, numbers: list[int]) -> FloatArray:
        """Some samples as an array."""
        return self.storage.chosen(numbers)

    def all_rows(self) -> FloatArray:
        """All samples as an array."""
        return np.asarray(dense(self.storage.X))

    def chosen_rows(self, numbers: list[int] | IntArray) -> Any:
        """Some samples as they are stored."""
        return self.storage.X[numbers]

    def times(self, basis: FloatArray) -> FloatArray:
        """X·U."""
        product = np.empty((self.n_samples, basis.shape[1]), self.dtype)

        def visit(rows: slice, visited: Visited, phi: Any) -> None:
            product[rows] = phi

        self.map_rows(basis, visit)
        return product

    def adjoint_times(self, rows: FloatArray) -> FloatArray:
        """Xᵀ·Z."""
        return self.sum_over_rows(lambda place, visited: visited.adjoint_times(rows[place]))

    def square_times(
        self, weights: FloatArray, directions: FloatArray, products: FloatArray | None = None
    ) -> FloatArray:
        """Xᵀ·(w∘(X·D)) in one pass; ``products`` receives X·D in its first columns."""

        def visit(rows: slice, visited: Visited) -> FloatArray:
            found = visited.times(directions)
            if products is not None:
                products[rows, : found.shape[1]] = found
            return visited.adjoint_times(weights[rows, None] * found)

        return self.sum_over_rows(visit)
