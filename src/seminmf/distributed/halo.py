"""Rows with neighbours on other sites, whose codes are known as of the last message.

For coordinate descent the edges between sites are majorised. Both ends of such an edge move at the
same time; with o for where they come from and any θ > 0

    ‖v_i − v_j‖² ≤ ‖v_i − o_j‖² + ‖v_j − o_i‖² − ‖o_i − o_j‖² + θ ‖v_i − o_i‖² + ‖v_j − o_j‖² / θ

with equality at v = o: each end sees the other where it was, and is held back by its own place. In
the compiled update that is an edge from the sample to itself, whose code is read before it changes.
In turn one end is held back little and the other much: with θ = 1, ends that have come together
pull at each other no more than they hold themselves back, and stay behind when their neighbours
move. The multiplicative rule reads all codes as they were, and needs no such edge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._once import once
from .._types import FloatArray, IntArray
from ..compiled.edges import weigh_all_edges
from ..compiled.state import Graph
from ..data import Engine, Rows, Rule
from ..graph.prepared import NeighbourGraph, inverse

# θ: how much the end that may move is held back; the other is held back by 1/θ.
_HELD_BACK = 0.05


@dataclass(frozen=True)
class Crossing:
    """Edges between samples of this site and samples of others.

    Edge e is between sample ``own[e]`` here and number ``other[e]`` among the neighbours elsewhere,
    and has weight ``weights[e]``; ``first[e]`` is true at one of its two ends. ``shown`` are the
    samples here whose codes other sites need.
    """

    own: IntArray
    other: IntArray
    weights: FloatArray
    first: NDArray[np.bool_]
    shown: IntArray


@dataclass(frozen=True)
class HaloGraph(NeighbourGraph):
    """The graph of a site's samples, with the neighbours on other sites numbered after them.

    ``pairs`` are the edges inside the site. A row of the CSR pattern has the edges inside first,
    then those to other sites, each followed by the edge from the sample to itself if samples are
    ``held_back``.
    """

    inner: NeighbourGraph
    crossing: Crossing
    crossing_pairs: IntArray
    """As ``pairs``, for edges to other sites; the last column is the edge to itself."""
    held_back: bool

    @classmethod
    def of(cls, inner: NeighbourGraph, crossing: Crossing, held_back: bool = False) -> HaloGraph:
        n, kind, each = len(inner.order), inner.indices.dtype, 2 if held_back else 1
        order = np.argsort(crossing.own, kind="stable")
        own, other = crossing.own[order], crossing.other[order] + n
        before = np.append(0, np.cumsum(each * np.bincount(own, minlength=n)))
        size = len(inner.indices) + each * len(own)
        indices, base = np.empty(size, kind), np.empty(size, inner.base.dtype)
        rows = np.repeat(np.arange(n), np.diff(inner.indptr))
        places = np.arange(len(inner.indices)) + before[rows]
        indices[places], base[places] = inner.indices, inner.base
        first = inner.indptr[1:][own] + each * np.arange(len(own))
        indices[first], base[first] = other, crossing.weights[order]
        last = first + each - 1
        if held_back:
            indices[last], base[last] = own, crossing.weights[order]
        pairs = inner.pairs.copy()
        pairs[:, 2] += before[pairs[:, 0]].astype(kind)
        pairs[:, 3] += before[pairs[:, 1]].astype(kind)
        return cls(
            (inner.indptr + before).astype(kind), indices, base, pairs, inner.order,
            inner.colour_starts, inner.chunks, inner.groups, inner.numbering, inner, crossing,
            np.stack([own, other, first, last], axis=1).astype(kind), held_back,
        )  # fmt: skip

    @once
    def renumbered(self) -> HaloGraph:
        """The graph in the order of ``numbering``, for samples that move one after the other."""
        crossing, numbering = self.crossing, self.numbering
        if numbering is not None:
            place = inverse(numbering)
            crossing = replace(crossing, own=place[crossing.own], shown=place[crossing.shown])
        return HaloGraph.of(self.inner.renumbered, crossing, held_back=True)

    @once
    def _structure_of_crossing(self) -> Graph:
        return replace(self, pairs=self.crossing_pairs).structure

    def weigh_crossing(self, codes: FloatArray, objective: Any, edges: FloatArray) -> None:
        """Write the weights of the edges to other sites at these codes into ``edges``."""
        weigh_all_edges(self._structure_of_crossing, objective, codes, edges)

    def hold_back(self, edges: FloatArray, turn: int) -> None:
        """Multiply the weights of edges to themselves by θ or 1/θ, in turn."""
        own = self.crossing.first[np.argsort(self.crossing.own, kind="stable")]
        moving = own == (turn % 2 == 0)
        edges[self.crossing_pairs[:, 3]] *= np.where(moving, _HELD_BACK, 1 / _HELD_BACK)

    def measure(self, codes: FloatArray, objective: Any) -> tuple[float, FloatArray]:
        """The penalty of the edges inside, and W_ij of all edges; ``codes`` has those of the
        neighbours on other sites after the own.
        """
        penalty, edges = super().measure(codes, objective)
        self.weigh_crossing(codes, objective, edges)
        return penalty, edges


class HaloRows(Rows):
    """Rows of a run that receive the codes of their neighbours on other sites.

    ``codes`` are the own, followed by those of the neighbours.
    """

    def __init__(
        self, engine: Engine, terms: Any, rule: Rule, graph: HaloGraph, share: FloatArray | None,
        codes: FloatArray,
    ) -> None:  # fmt: skip
        super().__init__(engine, terms, rule, graph, share, codes)
        self._halo = graph.renumbered if rule.sequential else graph
        self._elsewhere = codes[engine.n_samples :].copy()
        self._times_weighed = 0
        self._weigh()

    def _weigh(self) -> None:
        point = self._current
        self._halo.weigh_crossing(point.codes, self._terms.objective, point.edges)
        if self._halo.held_back:
            self._halo.hold_back(point.edges, self._times_weighed)
            self._times_weighed += 1

    def meet(self, codes: FloatArray) -> None:
        """Take over the neighbours' codes at the point that has just become the current one."""
        beyond = slice(self._own.stop, None)
        ahead = codes + self._start_eta * (codes - self._elsewhere)
        self._current.codes[beyond] = codes
        self._trial.codes[beyond] = np.maximum(ahead, 0)
        self._elsewhere = codes
        self._weigh()

    def shown(self, *, trial: bool) -> FloatArray:
        """Codes that other sites need, of the current point or of the trial."""
        point = self._trial if trial else self._current
        return point.codes[self._halo.crossing.shown]
