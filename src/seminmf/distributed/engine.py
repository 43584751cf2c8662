"""What a descent sees of rows that lie with shards: an engine that begins runs, and their rows.

`RemoteRows` stands where `data.Rows` stands on one machine. An accepted step is told to the shards
with the next call, together with the codes of their neighbours elsewhere: an iteration is one round
trip.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..data import Rows, Rule, Statistics
from .halo import HaloRows
from .shards import Shard, Shards


@dataclass(frozen=True)
class Held:
    """Numbers of all samples that lie with the shards, and a factor for them."""

    what: str
    scale: float = 1.0

    def __mul__(self, factor: float) -> Held:
        return replace(self, scale=self.scale * factor)

    def copy(self) -> Held:
        return self


@dataclass(frozen=True)
class Halo:
    """Who sees codes of whom.

    Codes that are seen elsewhere are a table, those of one shard below those of the other.
    ``sights[s]`` are the rows of the table that shard s wants to see; edge e goes from row
    ``ends[e, 0]`` to row ``ends[e, 1]`` and has weight ``weights[e]``.
    """

    sights: list[IntArray]
    ends: IntArray
    weights: FloatArray

    def penalty(self, table: FloatArray, terms: Any) -> float:
        """Graph penalty of the edges between shards."""
        steps = table[self.ends[:, 0]] - table[self.ends[:, 1]]
        lengths = np.sqrt(np.einsum("ij,ij->i", steps, steps))
        weights = self.weights.astype(lengths.dtype)
        return float(terms.objective.graph.total(lengths, weights)) if len(lengths) else 0.0


class RemoteEngine:
    """The part of an engine that a `Descent` wants, for the rows of all shards."""

    def __init__(
        self, shards: Shards, space: str, shape: tuple[int, int], dtype: Any, halo: Halo | None
    ) -> None:
        self.shards, self.space, self.halo = shards, space, halo
        self.n_samples, self.n_features = shape
        self.dtype = dtype

    def begin(self, terms: Any, rule: Rule, graph: Any, share: Any, codes: Any) -> RemoteRows:
        """The rows of a run that starts at the codes which the shards hold, times their factor."""
        return RemoteRows(self, terms, rule, codes.scale)


@dataclass
class _Order:
    """What a shard is to do in one call."""

    kind: str
    basis: FloatArray | None = None
    omega: FloatArray | None = None
    alpha: float = 0.0
    penalty: float = 0.0
    eta: float = 0.0
    accepted: float | None = None
    """Extrapolation beyond the trial point of the call before, if that is the current one now."""


def _begin(shard: Shard, space: str, terms: Any, rule: Rule, scale: float) -> FloatArray | None:
    """Take up a space with the codes that are there; returns those that others want to see."""
    if shard.rows is not None:
        shard.codes = shard.rows.codes.copy()
        shard.rows = None
    if scale != 1:
        shard.codes = shard.codes * shard.codes.dtype.type(scale)
    if shard.graph is None:
        engine = shard.spaces[space]
        shard.rows = Rows(engine, terms, rule, None, shard.share, shard.codes)
        return None
    return shard.codes[shard.graph.crossing.shown]


def _meet_first(shard: Shard, space: str, terms: Any, rule: Rule, elsewhere: FloatArray) -> None:
    """The same with a graph, where the codes of the neighbours elsewhere come first."""
    codes = np.concatenate([shard.codes, elsewhere])
    engine = shard.spaces[space]
    shard.rows = HaloRows(engine, terms, rule, shard.graph, shard.share, codes)


def _obey(
    shard: Shard, order: _Order, elsewhere: FloatArray | None
) -> tuple[Statistics, FloatArray | None]:
    """Do what is asked for; returns its sums, and the codes that others want to see."""
    rows = shard.rows
    if order.accepted is not None:
        rows.accept(order.accepted)
    if elsewhere is not None:
        rows.meet(elsewhere)
    if order.kind == "settle":
        return Statistics(0.0, 0.0, 0.0, np.zeros(0), np.zeros(0)), None
    if order.kind == "restart":
        moment, gram = rows.restart()
        return Statistics(0.0, 0.0, 0.0, moment, gram), None
    if order.kind == "measure":
        found = rows.measure(order.basis, order.omega, order.alpha, order.penalty)
    else:
        found = rows.advance(order.basis, order.omega, order.alpha, order.penalty, order.eta)
    seen = shard.graph is not None
    return found, rows.shown(trial=order.kind == "advance") if seen else None


class RemoteRows:
    """The rows of all shards in a run; see `data.Rows`."""

    def __init__(self, engine: RemoteEngine, terms: Any, rule: Rule, scale: float) -> None:
        self._shards, self._halo, self._terms = engine.shards, engine.halo, terms
        self._accepted: float | None = None
        # Codes seen elsewhere, of the current point as far as it is told, and of the trial point.
        self._told: FloatArray | None = None
        self._trial: FloatArray | None = None
        arguments = engine.space, terms, rule
        shown = self._shards.map(_begin, *arguments, scale)
        if self._halo is not None:
            self._told = np.concatenate(shown)
            self._shards.map_each(
                _meet_first, [(*arguments, self._told[seen]) for seen in self._halo.sights]
            )

    def measure(
        self, basis: FloatArray, omega: FloatArray, alpha: float, penalty: float
    ) -> Statistics:
        return self._ask(_Order("measure", basis, omega, alpha, penalty))

    def advance(
        self, basis: FloatArray, omega: FloatArray, alpha: float, penalty: float, eta: float
    ) -> Statistics:
        return self._ask(_Order("advance", basis, omega, alpha, penalty, eta))

    def solve(self, *numbers: float) -> None:
        """The moments are with who asks, and so is the basis that solves their system."""

    def accept(self, eta: float) -> None:
        self._tell()
        self._accepted = eta

    def restart(self) -> tuple[FloatArray, FloatArray]:
        found = self._ask(_Order("restart"))
        return found.moment, found.gram

    @property
    def codes(self) -> Held:
        self._tell()
        return Held("codes")

    @property
    def residuals(self) -> Held:
        self._tell()
        return Held("residuals")

    def _tell(self) -> None:
        """Have the shards know what was accepted."""
        if self._accepted is not None:
            self._ask(_Order("settle"))

    def _ask(self, order: _Order) -> Statistics:
        news: list[FloatArray | None] = [None] * len(self._shards)
        if self._accepted is not None:
            order.accepted, self._accepted = self._accepted, None
            if self._halo is not None and self._trial is not None:
                self._told = self._trial
                news = [self._told[seen] for seen in self._halo.sights]
        answers = self._shards.map_each(_obey, [(order, own) for own in news])
        parts = [found for found, _ in answers]
        total = Statistics(
            sum(part.loss for part in parts),
            sum(part.graph_penalty for part in parts),
            sum(part.codes_penalty for part in parts),
            np.sum([part.moment for part in parts], axis=0),
            np.sum([part.gram for part in parts], axis=0),
        )
        if self._halo is not None and order.kind in ("measure", "advance"):
            table = np.concatenate([shown for _, shown in answers])
            total.graph_penalty += self._halo.penalty(table, self._terms)
            if order.kind == "advance":
                self._trial = table
        return total
