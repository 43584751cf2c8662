"""The in-memory engine: X held once, visited by row blocks.

Two verbs touch X, X·U and Xᵀ·Z, and `Engine.sweep` does both for one block after the other while
the block is in the cache: a whole iteration is one pass over X (fact 6 of the theory page).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from .cutting import cut_chunks, cut_rows
from ..compiled.iteration import padded_width
from ..compiled.kernels import SKINNY
from ..compiled.start_kernels import square_times
from .blocks import Block, ScatteredBlock, cut, row_squares
from ..compiled.threads.team import WORTH_SHARING, Team

_Result = TypeVar("_Result")

# A block of X should stay in the cache between the two products (2 MB in float64), ...
_BLOCK_ENTRIES = 2**18
# ... BLAS wants this many rows at least, ...
_FEWEST_ROWS = 256
# ... and threads want something to share as soon as sharing pays.
_FEWEST_FOR_THREADS = 8
# Blocks are summed up shard by shard: fixed by the shape of X alone, so that the order of the
# additions, and with it every digit of the result, is the same for any number of threads.
_MOST_SHARDS = 32
# Strips in which X·Xᵀ is calculated: as many for any number of threads, for the same reason, and
# none so narrow that BLAS becomes slow.
_MOST_STRIPS, _STRIP_ROWS = 4, 128

Visitor = Callable[[slice, Block, FloatArray | None], tuple[FloatArray | None, _Result]]


class Engine:
    """Holds X (dense, CSR or memory-mapped; copied only if small) and lets others visit it.

    Parameters
    ----------
    X : array or CSR array of shape (n_samples, n_features)
    n_components : int
        Number of columns in the products to come; only used to judge the work.
    block_rows : int or None
        Rows in a block; None chooses by the size of the cache, and lets compiled code have X
        whole where it can.
    squares : array of shape (n_samples,) or None
        ‖x_i‖² where they are known already.
    lower : bool
        Whether X has only zeros right of its diagonal.
    team : Team or None
        Of an engine for the same samples, to work with; None makes one.
    """

    def __init__(
        self,
        X: Any,
        n_components: int,
        block_rows: int | None = None,
        squares: FloatArray | None = None,
        lower: bool = False,
        team: Team | None = None,
    ) -> None:
        self.X, self.lower = X, lower
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        entries = X.nnz if sp.issparse(X) else X.size
        operations = 4.0 * n_components * (entries + 2 * n_components * self.n_samples)
        self._stepwise = block_rows is not None
        if block_rows is None:
            fewest = _FEWEST_FOR_THREADS if operations >= WORTH_SHARING else 1
            wanted = max(entries // _BLOCK_ENTRIES, fewest)
            block_rows = max(_FEWEST_ROWS, -(-self.n_samples // wanted))
        self._starts = [*range(0, self.n_samples, block_rows), self.n_samples]
        self._blocks = cut(X, self._starts)
        count = len(self._blocks)
        shards = min(count, _MOST_SHARDS)
        cuts = [count * shard // shards for shard in range(shards + 1)]
        self._shards = [range(*ends) for ends in pairwise(cuts)]
        self.operations = operations
        shape = self.n_samples, self.n_features, n_components
        self.row_blocks, self.row_shards = cut_rows(*shape)
        self.chunks = cut_chunks(*shape)
        self.numbering: IntArray | None = None
        if team is None:
            self.team = Team(operations, len(self._shards), len(self.row_shards) - 1)
        else:
            self.team = team
            team.adapt(operations)
        if squares is None:
            squares = row_squares(X)
        self.squares: FloatArray = squares

    def __enter__(self) -> Engine:
        self.team.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.team.__exit__(*error)

    @cached_property
    def array(self) -> FloatArray | None:
        """X as compiled code takes it, if it is dense and no blocks were asked for.

        Compiled code wants rows of consecutive numbers that could be written to. Where X is not
        like that (a DataFrame by columns, a file mapped for reading) and small, it is copied.
        """
        X = self.X
        if sp.issparse(X) or self._stepwise:
            return None
        if X.flags.c_contiguous and X.flags.writeable:
            return np.asarray(X)
        return np.array(X, order="C") if X.size <= _BLOCK_ENTRIES else None

    def renumbered(self, numbering: IntArray) -> Engine:
        """The same samples, the i-th being row ``numbering[i]`` of X, for the same team."""
        other = copy(self)
        other.numbering = numbering
        other.squares = self.squares[numbering]
        other._blocks = [
            ScatteredBlock(self.X, numbering[low:high]) for low, high in pairwise(self._starts)
        ]
        return other

    def sweep(
        self, basis: FloatArray | None, visit: Visitor[_Result]
    ) -> tuple[FloatArray | None, list[_Result]]:
        """One pass over X.

        For every block, ``visit(rows, block, X_b·U)`` (None without a basis) returns Z_b, or
        None, and something of its own. Returned are Σ_b X_bᵀ·Z_b (None if no visit gave a Z_b)
        and the list of what the visits returned, in the order of the rows.
        """

        def visit_shard(shard: range) -> tuple[FloatArray | None, list[_Result]]:
            moment: FloatArray | None = None
            results = []
            phi: FloatArray | None = None
            for index in shard:
                block = self._blocks[index]
                rows = slice(self._starts[index], self._starts[index + 1])
                if basis is not None:
                    phi = np.empty((rows.stop - rows.start, basis.shape[1]), self.dtype)
                    block.times(basis, phi)
                weighted, result = visit(rows, block, phi)
                results.append(result)
                if weighted is not None:
                    part = block.adjoint_times(weighted)
                    if moment is None:
                        moment = part
                    else:
                        moment += part
            return moment, results

        shards = self.team.map(visit_shard, self._shards)
        moment: FloatArray | None = None
        for part, _ in shards:
            if part is not None:
                moment = part if moment is None else moment + part
        return moment, [result for _, results in shards for result in results]

    @cached_property
    def gram(self) -> FloatArray:
        """X·Xᵀ, for few samples; half of it is calculated, strip by strip."""
        X, n = self.X, self.n_samples
        if sp.issparse(X):
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

    def weighted_moment(self, weights: FloatArray) -> FloatArray:
        """Xᵀ·(w∘X), for few features; ``weights`` has one column, without negative numbers."""
        roots = np.sqrt(weights)

        def visit(rows: slice, block: Block, _: FloatArray | None) -> tuple[None, FloatArray]:
            scaled = roots[rows] * block.dense()
            # A product with its own transpose is symmetric, and NumPy calculates half of it.
            return None, scaled.T @ scaled

        _, parts = self.sweep(None, visit)
        return reduce(np.add, parts)

    def square_times(
        self, weights: FloatArray, directions: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Xᵀ·(w∘(X·D)) and X·D in one pass."""
        X, (n, m), count = self.array, self.X.shape, directions.shape[1]
        width = padded_width(count, self.dtype)
        if X is not None and m * width <= SKINNY:
            padded = np.zeros((m, width), self.dtype)
            padded[:, :count] = directions
            products = np.empty((n, width), self.dtype)
            moments = np.empty((len(self.row_shards) - 1, width, m), self.dtype)
            arguments = (
                np.zeros(2, np.int64), self.row_blocks, self.row_shards, X, self.lower, weights,
                padded, products, moments,
            )  # fmt: skip
            self.team.crew.call(square_times, arguments)
            return moments[0, :count].T, products[:, :count]
        products = np.empty((n, count), self.dtype)

        def visit(rows: slice, block: Block, phi: FloatArray | None) -> tuple[FloatArray, None]:
            assert phi is not None
            products[rows] = phi
            return weights[rows, None] * phi, None

        moment, _ = self.sweep(directions, visit)
        assert moment is not None
        return moment, products

    def times(self, basis: FloatArray) -> FloatArray:
        """X·U."""
        product = np.empty((self.n_samples, basis.shape[1]), self.dtype)

        def visit(rows: slice, block: Block, _: FloatArray | None) -> tuple[None, None]:
            block.times(basis, product[rows])
            return None, None

        self.sweep(None, visit)
        return product

    def adjoint_times(self, weighted: FloatArray) -> FloatArray:
        """Xᵀ·Z."""
        moment, _ = self.sweep(None, lambda rows, block, phi: (weighted[rows], None))
        assert moment is not None
        return moment

    def residuals(self, basis: FloatArray, codes: FloatArray) -> FloatArray:
        """‖x_i − U v_i‖ for every sample, computed directly."""
        residuals = np.empty(self.n_samples, self.dtype)

        def visit(rows: slice, block: Block, _: FloatArray | None) -> tuple[None, None]:
            everything = np.arange(rows.stop - rows.start)
            residuals[rows] = block.exact_residuals(everything, codes[rows], basis)
            return None, None

        self.sweep(None, visit)
        return residuals
