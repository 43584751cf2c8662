"""Codes as k-means sees them: drawn in, averaged over neighbours, and in the metric of the data.

Nothing here depends on how V and U share their scale or angles. With V → VA and U → UA⁻ᵀ codes
change, but V(UᵀU)^½ only turns: its distances are those of the reconstructions V Uᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from .samples import given

__all__ = ["CODES", "METRICS", "RECONSTRUCTION", "Ball", "Reading", "metric_root"]

RECONSTRUCTION, CODES = METRICS = ("reconstruction", "codes")
# How often codes are averaged: over the neighbours, and the neighbours of the neighbours.
_ROUNDS = 2
# Distances from the middle, in units of the median one, count by this power beyond it: an outlier
# five times as far away counts 1.7 times as far, and clusters behind each other stay apart.
_POWER = 1 / 3
# Samples nearer to the middle than this share of the largest distance are copies of it.
_SAME = 1e-10
# Steps to the middle, of which the first few make all the difference.
_STEPS = 10


def metric_root(factorizer: Any, n_components: int, even: bool = True) -> FloatArray:
    """What makes distances of codes those of reconstructions: (UᵀU)^½, of parts made ``even``.

    The parts are those of the factorization, or of the last step of a pipeline. Where there are
    none, codes are all that is known of samples, and their own distances count. Beside a part that
    is many times as long, which its codes make up for, the others would lose their digits, so that
    all are taken in units of their own.
    """
    last = factorizer.steps[-1][1] if hasattr(factorizer, "steps") else factorizer
    parts = getattr(last, "components_", None)
    if parts is None:
        return np.eye(n_components)
    parts = np.asarray(parts, dtype=np.float64)
    # Powers of two, which change no digit.
    units = np.ldexp(1.0, np.frexp(np.abs(parts).max(axis=1) * even)[1])[:, None]
    parts = parts / units
    squares, axes = np.linalg.eigh(parts @ parts.T)
    return np.asarray(units * ((axes * np.sqrt(np.maximum(squares, 0))) @ axes.T))


def _geometric_median(places: FloatArray) -> FloatArray:
    """Weights of the samples in their geometric median (Weiszfeld's iteration).

    It is where the sum of the distances is least, which turns with the samples.
    """
    weights = np.full(len(places), 1 / len(places))
    for _ in range(_STEPS):
        distances = np.linalg.norm(places - weights @ places, axis=1)
        least = np.finfo(np.float64).eps * distances.max()
        if least == 0:
            break
        weights = 1 / np.maximum(distances, least)
        weights /= weights.sum()
    return weights


@dataclass(frozen=True)
class Ball:
    """Where the nearer half of the samples are; those outside are drawn in towards it."""

    middle: FloatArray
    """A code, the geometric median of the reconstructions."""
    radius: float

    @classmethod
    def around(cls, codes: FloatArray, residuals: FloatArray, root: FloatArray) -> Ball:
        middle = _geometric_median(codes @ root) @ codes
        distances = _distances(codes - middle, residuals, root)
        apart = distances > _SAME * distances.max()
        return cls(middle, float(np.median(distances[apart])) if apart.any() else 0.0)

    def drawn_in(self, codes: FloatArray, residuals: FloatArray, root: FloatArray) -> FloatArray:
        """Codes of samples, moved towards the middle the more, the farther out samples are."""
        steps = codes - self.middle
        distances = _distances(steps, residuals, root)
        least = max(self.radius, np.finfo(np.float64).tiny)
        share = (least / np.maximum(distances, least)) ** (1 - _POWER)
        return np.asarray(codes - (1 - share)[:, None] * steps, dtype=codes.dtype)


def _distances(steps: FloatArray, residuals: FloatArray, root: FloatArray) -> FloatArray:
    """Of samples from a point among the reconstructions, by codes and residuals alone."""
    return np.asarray(np.hypot(np.linalg.norm(steps @ root, axis=1), residuals))


@dataclass(frozen=True)
class Reading:
    """How the codes of a fitted factorization are read, for samples of the fit and new ones."""

    metric: str
    root: FloatArray
    """What makes distances of codes those of reconstructions."""
    ball: Ball | None = None
    rounds: FloatArray | None = None
    """Training samples before and after each average over neighbours; None without those."""
    origin: FloatArray | None = None
    """A code from which coordinates are counted: their squares, which k-means takes, would leave no
    digit of small differences beside a large constant.
    """

    def __post_init__(self) -> None:
        k = len(self.root)
        if self.ball is not None and self.ball.middle.shape != (k,):
            raise ValueError(f"a middle {self.ball.middle.shape} does not fit {k} parts")
        if self.origin is not None and self.origin.shape != (k,):
            raise ValueError(f"an origin {self.origin.shape} does not fit {k} parts")
        if self.rounds is not None and (self.rounds.ndim != 3 or self.rounds.shape[2] != k):
            raise ValueError(f"averages {self.rounds.shape} do not fit {k} parts")

    @classmethod
    def of(
        cls, factorizer: Any, codes: FloatArray, n_clusters: int, metric: str, refine: bool
    ) -> tuple[Reading, FloatArray]:
        """The reading, and the refined codes of the fit."""
        root = metric_root(factorizer, codes.shape[1])
        if not refine:
            return cls(metric, root), codes
        residuals = getattr(factorizer, "residuals_", np.zeros(len(codes)))
        ball = Ball.around(codes, residuals, root)
        refined = ball.drawn_in(codes, residuals, root)
        links = getattr(factorizer, "_links", None)
        # Neighbourhoods that are larger than clusters reach into others.
        if links is None or (links.shape[0] + links.nnz) * n_clusters > links.shape[0] ** 2:
            return cls(metric, root, ball), refined
        # Copies of a sample are one vertex of the graph.
        member = slice(None) if factorizer._member is None else factorizer._member
        rounds = np.empty((1 + _ROUNDS, links.shape[0], codes.shape[1]), codes.dtype)
        rounds[0][member] = refined
        for before, after in pairwise(rounds):
            after[:] = _mean_with(links, before, before)
        return cls(metric, root, ball, rounds), rounds[-1][member]

    def refined(self, factorizer: Any, X: Any) -> tuple[FloatArray, FloatArray]:
        """What the factorization's ``transform`` returns, and the codes refined as in the fit."""
        projector: Any = getattr(factorizer, "_projector", None)
        placed = None if self.rounds is None else projector.place(X)
        codes = np.asarray(factorizer.transform(given(X))) if placed is None else placed.codes
        values = codes
        if self.ball is not None:
            residuals = np.zeros(len(codes)) if projector is None else projector.residuals(X, codes)
            values = self.ball.drawn_in(codes, residuals, self.root)
        if placed is None or self.rounds is None:
            return codes, values
        # Neighbours are those that the codes are tied to; training samples have their averages.
        new = placed.known < 0
        found = np.empty_like(codes)
        found[~new] = self.rounds[-1][placed.known[~new]]
        values = values[new]
        for others in self.rounds[:-1]:
            values = _mean_with(placed.links, values, others)
        found[new] = values
        return codes, found

    def restricted(self, chosen: IntArray) -> Reading:
        """With some of the training samples only."""
        return self if self.rounds is None else replace(self, rounds=self.rounds[:, chosen])

    def seen(self, refined: FloatArray) -> FloatArray:
        """Coordinates in which k-means measures distances."""
        steps = refined if self.origin is None else refined - self.origin
        return steps if self.metric == CODES else steps @ self.root

    def around(self, refined: FloatArray) -> Reading:
        """The same with coordinates that are counted from the mean of these codes."""
        return replace(self, origin=refined.mean(axis=0, dtype=np.float64).astype(refined.dtype))


def _mean_with(links: sp.csr_array, own: FloatArray, others: FloatArray) -> FloatArray:
    """Of each sample's own value and those of its neighbours."""
    ones = sp.csr_array((np.ones(links.nnz), links.indices, links.indptr), shape=links.shape)
    total = 1 + np.diff(links.indptr)[:, None]
    return np.asarray((own + ones @ others) / total, dtype=own.dtype)
