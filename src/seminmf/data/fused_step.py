"""The compiled iteration with the arrays that it works on.

What does not change from one iteration to the next is put together once: on a few hundred samples
collecting arguments takes as long as the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiled import iteration as fused
from .._types import FloatArray, IntArray
from .cutting import cut_each_chunk
from . import Engine
from ..graph.neighbours import NeighbourGraph
from ..problem.objective import Objective


@dataclass
class Point:
    """A pair (U, V) with what follows from it."""

    basis: FloatArray
    codes: FloatArray
    lengths: FloatArray
    residuals: FloatArray
    weights: FloatArray
    edges: FloatArray
    loss: float = np.nan
    graph_penalty: float = 0.0
    basis_penalty: float = np.nan

    @classmethod
    def at(cls, basis: FloatArray, codes: FloatArray, edges: FloatArray) -> Point:
        """Nothing is known yet but the lengths of the basis vectors."""
        n, dtype = len(codes), codes.dtype
        lengths = np.linalg.norm(basis, axis=0)
        point = cls(basis, codes, lengths, np.empty(n, dtype), np.empty(n, dtype), edges)
        point.basis_penalty = float(lengths.sum())
        return point

    def empty_copy(self) -> Point:
        """Room for another point of the same shape."""
        return Point(
            np.empty_like(self.basis), np.empty_like(self.codes), np.empty_like(self.lengths),
            np.empty_like(self.residuals), np.empty_like(self.weights), self.edges.copy(),
        )  # fmt: skip


@dataclass
class Moments:
    """Xᵀ(d∘Y) and Yᵀ(d∘Y) at the point from which the next iteration starts."""

    moment: FloatArray
    gram: FloatArray


class FusedStep:
    """One iteration in one call of `fused.iteration`.

    Parameters
    ----------
    engine : Engine
        With X as an array.
    objective : Objective
        α and β may change later.
    sweeps : int
        Of coordinate descent; 0 for the multiplicative rule.
    graph : NeighbourGraph or None
    share : array of shape (n_samples,) or None
        Sample weights.
    fit : array of shape (n_samples,)
        Receives ‖x − Uv‖² − ‖x‖².
    n_components : int
    cancellation : float
        Residuals whose squares are below this share of ‖x‖² are computed directly.
    """

    def __init__(
        self,
        engine: Engine,
        objective: Objective,
        sweeps: int,
        graph: NeighbourGraph | None,
        share: FloatArray | None,
        fit: FloatArray,
        n_components: int,
        cancellation: float,
    ) -> None:
        X = engine.array
        assert X is not None
        (n, m), k, dtype = X.shape, n_components, X.dtype
        blocks, shards = engine.row_blocks, engine.row_shards
        chunks: IntArray = np.array([0, len(shards) - 1])
        rows: IntArray = np.arange(n)
        bounds: IntArray = np.array([0, n])
        groups: IntArray = np.array([0, 1])
        nobody, nothing = np.zeros(0, np.int32), np.zeros(0, dtype)
        pattern: tuple[Any, ...] = np.zeros(1, np.int32), nobody, nothing, nobody.reshape(0, 4)
        items = gathered = 0
        if graph is not None:
            pattern = graph.indptr, graph.indices, graph.base, graph.pairs
            items = fused.edge_items(len(graph.pairs))
        if graph is not None and sweeps > 0:
            rows, bounds, groups = graph.order, graph.colour_starts, graph.groups
            if len(graph.chunks) > 2:
                blocks, shards, chunks = cut_each_chunk(graph.chunks)
            if engine.numbering is not None:
                gathered = int(np.diff(graph.chunks).max())
        width, most = fused.padded_width(k, dtype), int(chunks[1])
        numbering: IntArray = np.zeros(0, np.int64)
        self._engine = engine
        self._coupled = graph is not None
        self._type, self._sweeps = dtype.type, sweeps
        self._bounds, self._chunks = bounds, chunks
        self._totals = np.zeros(3)
        self._spare = Moments(np.empty((m, k), dtype), np.empty((k, k), dtype))
        floors = objective.floors
        self._constant = (
            blocks, shards, chunks, np.zeros(most), np.zeros(items),
            np.empty((most, k, m), dtype), np.empty((most, k, k), dtype),
            np.zeros(1, np.bool_), self._totals,
            X, engine.lower, numbering if engine.numbering is None else engine.numbering,
            np.empty((gathered, m), dtype), engine.squares, nothing if share is None else share,
            rows, bounds, groups, *pattern,
            np.zeros((m, width), dtype), np.empty((k, k), dtype),
            np.empty((n if self._coupled else 0, width), dtype), fit,
            objective.loss.power, objective.graph.power,
            dtype.type(floors.residual), floors.edge, floors.basis,
            dtype.type(cancellation),
        )  # fmt: skip

    def __call__(
        self,
        old: Point,
        moments: Moments,
        alpha: float,
        beta: float,
        etas: tuple[float, float],
        new: Point,
        next_start: FloatArray,
        *,
        step: bool = True,
    ) -> Moments | None:
        """From ``old`` to ``new``, with the ``etas`` before and after.

        ``next_start`` receives the codes that the moments belong to, if it is not empty. Returns
        None, with nothing written, where the system for the basis is singular. Without a ``step``
        the two points are one, which is measured.
        """
        following, number = self._spare, self._type
        arguments = (
            fused.new_ledger(self._bounds, self._chunks), *self._constant,
            self._sweeps if step else -1,
            number(alpha if self._coupled else 0), beta, number(etas[0]), number(etas[1]),
            moments.moment, moments.gram, old.lengths, old.codes, old.weights, old.edges,
            new.basis, new.lengths, new.codes, new.residuals, new.weights, new.edges,
            next_start, following.moment, following.gram,
        )  # fmt: skip
        if not self._engine.team.crew.call(fused.iteration, arguments):
            return None
        self._spare = moments
        new.loss, new.graph_penalty, new.basis_penalty = self._totals.tolist()
        return following

    def measure(self, point: Point, alpha: float) -> Moments:
        """Everything that follows from basis and codes, and the moments at the codes."""
        # What is not looked at, but has to be there.
        moments = Moments(np.zeros_like(self._spare.moment), np.zeros_like(self._spare.gram))
        found = self(point, moments, alpha, 0.0, (0.0, 0.0), point, point.codes[:0], step=False)
        assert found is not None
        return found
