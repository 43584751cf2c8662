"""What `data.rows` needs to know of a graph of the samples."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._types import FloatArray, IntArray
from ..compiled import state
from ..compiled.rooms import no_graph


class Graph(Protocol):
    """A graph of the samples as `Rows` uses it; see `graph.prepared.NeighbourGraph`."""

    @property
    def base(self) -> FloatArray: ...
    @property
    def pairs(self) -> IntArray: ...
    @property
    def colour_starts(self) -> IntArray: ...
    @property
    def chunks(self) -> IntArray: ...
    @property
    def structure(self) -> state.Graph: ...
    @property
    def numbering(self) -> IntArray | None: ...
    @property
    def renumbered(self) -> Graph:
        """The same graph with its samples in the order of ``numbering``."""


class NoGraph:
    """A graph without edges."""

    def __init__(self, n_samples: int, dtype: Any) -> None:
        self.structure = graph = no_graph(dtype)
        self.base, self.pairs, self.colour_starts = graph.base, graph.pairs, graph.bounds
        self.chunks = np.array([0, n_samples])
        self.numbering, self.renumbered = None, self
