"""Samples as k-means sees them: what their parts describe, and what they share with neighbours.

Nothing here depends on how V and U share their scale or angles. With V → VA and U → UA⁻ᵀ codes
change, but V(UᵀU)^½ only turns: its distances are those of the reconstructions V Uᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._quiet import quietly
from .._types import FloatArray, IntArray
from .._words import counted
from .samples import given

__all__ = ["CODES", "METRICS", "RECONSTRUCTION", "Middle", "Reading", "Seen", "metric_root"]

RECONSTRUCTION, CODES = METRICS = ("reconstruction", "codes")
# How often samples are averaged: over the neighbours, and the neighbours of the neighbours.
_ROUNDS = 2
# Neighbours are at most one in so many of the samples that a cluster has, or averages reach into
# others: of few samples two and three are level, one and four worse (benchmarks.panel.few).
_OF_A_CLUSTER = 2
# Who is c times as far out as is usual is drawn in to this power of c: an outlier five times as far
# away counts 1.4 times as far, and clusters behind each other stay apart.
_POWER = 1 / 5
# Samples nearer than this share of the largest distance are copies.
_SAME = 1e-10
# A usual distance is at least so long.
_SHORTEST = float(np.finfo(np.float64).tiny)


def checked_codes(factorizer: Any, codes: Any, n_samples: int) -> FloatArray:
    """What a factorization, which may be of others, has returned for so many samples."""
    found = np.asarray(codes)  # of a sparse matrix that is no array
    fits = found.ndim == 2 and len(found) == n_samples and found.shape[1] > 0
    if not fits or found.dtype.kind not in "biuf" or not np.isfinite(found).all():
        raise ValueError(
            f"factorizer: codes by {type(factorizer).__name__} have to be finite numbers in an "
            f"array with {counted(n_samples, 'row')}, got {type(codes).__name__} of {found.dtype}, "
            f"shape {getattr(codes, 'shape', None)}."
        )
    return found


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


def _usual(distances: FloatArray) -> float:
    """The median of those that are not of copies."""
    ordered = np.sort(distances)
    apart = ordered[ordered.searchsorted(_SAME * ordered[-1], side="right") :]
    count = len(apart)
    return float(apart[(count - 1) // 2] + apart[count // 2]) / 2 if count else 0.0


def _beyond(distances: FloatArray, usual: float) -> FloatArray:
    """How many times as large as usual distances are.

    Where all samples of a fit are the same, what rounding leaves of others is infinitely far.
    """
    return quietly(np.divide, distances, max(usual, _SHORTEST))


def _kept(beyond: FloatArray, power: float = _POWER) -> FloatArray:
    """How much of their way from the middle samples keep that are so many times as far out."""
    return np.asarray(np.maximum(beyond, 1) ** (power - 1))[:, None]


@dataclass(frozen=True)
class Middle:
    """Where samples are drawn in to that are far from it and from their neighbours."""

    place: FloatArray
    """As k-means sees it, ..."""
    home: FloatArray
    """... and among the features, where distances from it are measured."""
    radius: float
    """A usual distance from it, ..."""
    gap: float | None = None
    """... and from the mean with one's neighbours; None without neighbours."""
    power: float = _POWER
    """By which those farther away count; another one in older files."""

    def shares(self, features: FloatArray, others: FloatArray | None, residuals: Any) -> FloatArray:
        """How much of their way from the middle samples keep.

        ``others`` are means with neighbours. Who has neighbours beside it is not far out, and who
        is near the middle neither.
        """
        from .averages import lengths

        beyond = _beyond(np.hypot(lengths(features - self.home), residuals), self.radius)
        if others is not None and self.gap is not None:
            beyond = np.minimum(beyond, _beyond(lengths(features - others), self.gap))
        return _kept(beyond, self.power)

    def drawn_in(self, places: FloatArray, shares: FloatArray) -> FloatArray:
        """Samples, moved towards the middle."""
        return np.asarray(places - (1 - shares) * (places - self.place), dtype=places.dtype)


class Seen(NamedTuple):
    """Samples of a fit."""

    places: FloatArray
    """Coordinates in which k-means measures distances."""
    shares: FloatArray
    """How much of their way from the middle samples have kept."""


@dataclass(frozen=True)
class Reading:
    """How the codes of a fitted factorization are read, for samples of the fit and new ones."""

    metric: str
    root: FloatArray
    """Codes times it are places: those of the reconstructions, unless the metric says otherwise."""
    middle: Middle | None = None
    rest: float = 0.0
    """How much counts of what the parts leave out."""
    directions: FloatArray | None = None
    """Those along which samples with neighbours are seen; None: all features."""
    features: FloatArray | None = None
    """Coordinates of the training samples along them; None without neighbours."""
    rounds: FloatArray | None = None
    """Training samples before and after each average over neighbours; None without those."""
    origin: FloatArray | None = None
    """From which places are counted: their squares, which k-means takes, would leave no digit of
    small differences beside a large constant.
    """
    most: int | None = None
    """Of so many neighbours at most, the nearest, averages are made; None in older files: of all.
    """

    def __post_init__(self) -> None:
        """What does not fit comes from a file that was changed."""
        width = self.root.shape[-1]
        if self.middle is not None and self.middle.place.shape != (width,):
            raise ValueError(f"a middle {self.middle.place.shape} does not fit places of {width}")
        if self.origin is not None and self.origin.shape != (width,):
            raise ValueError(f"an origin {self.origin.shape} does not fit places of {width}")
        if self.rounds is None:
            return
        if self.rounds.ndim != 3 or len(self.rounds) < 1 or self.rounds.shape[2] != width:
            raise ValueError(f"averages {self.rounds.shape} do not fit places of {width}")
        if self.features is None:
            return
        shape = self.features.shape
        along = () if self.directions is None else self.directions.shape
        home = () if self.middle is None else self.middle.home.shape
        if len(shape) != 2 or shape[0] != self.rounds.shape[1] or home != shape[1:]:
            raise ValueError(f"features {shape} do not fit {self.rounds.shape} and {home}")
        if along[1:] not in ((), shape[1:]):
            raise ValueError(f"features {shape} do not fit directions {along}")
        if self.metric == RECONSTRUCTION and shape[1] != width:
            raise ValueError(f"features {shape} do not fit places of {width}")

    @classmethod
    def of(
        cls, factorizer: Any, codes: FloatArray, n_clusters: int, metric: str, refine: bool
    ) -> tuple[Reading, Seen]:
        """The reading, and the samples of the fit."""
        links = getattr(factorizer, "_links", None) if refine else None
        if links is not None and (most := links.shape[0] // (_OF_A_CLUSTER * n_clusters)):
            return cls._with_neighbours(factorizer, codes, links, most, metric)
        from .averages import geometric_median, lengths

        k = codes.shape[1]
        root = np.eye(k) if metric == CODES else metric_root(factorizer, k)
        places: FloatArray = codes @ root
        if not refine:
            return cls._around(places, np.ones((len(codes), 1)), metric=metric, root=root)
        home = geometric_median(places) @ places
        residuals = getattr(factorizer, "residuals_", np.zeros(len(codes)))
        away = np.hypot(lengths(places - home), residuals)
        middle = Middle(home, home, _usual(away))
        shares = _kept(_beyond(away, middle.radius))
        places = middle.drawn_in(places, shares)
        return cls._around(places, shares, metric=metric, root=root, middle=middle)

    @classmethod
    def _with_neighbours(
        cls, factorizer: Any, codes: FloatArray, links: sp.csr_array, most: int, metric: str
    ) -> tuple[Reading, Seen]:
        """Along the directions in which neighbours were looked for, by so many of them at most."""
        from .averages import Averages, coordinates, geometric_median, lengths, nearest_links

        projector, n, k = factorizer._projector, links.shape[0], codes.shape[1]
        # Copies of a sample are one vertex of the graph.
        member, copies, own = slice(None), np.ones(n), codes
        if factorizer._member is not None:
            member = factorizer._member
            copies = np.bincount(np.arange(n)[member], minlength=n).astype(np.float64)
            own = np.empty((n, k), codes.dtype)
            own[member] = codes
        features, directions = coordinates(projector.index, k, projector.unit)
        links = nearest_links(links, features, features, most)
        averages, weights = Averages.over(links, copies), geometric_median(features)
        home = weights @ features
        away, gaps = lengths(features - home), lengths(features - averages(features, features))
        radius, gap = _usual(away[member]), _usual(gaps[member])
        shares = _kept(np.minimum(_beyond(away, radius), _beyond(gaps, gap)))
        if metric == CODES:
            places, root, rest = own, np.eye(k), 0.0
        else:
            root = np.asarray(factorizer.components_, dtype=np.float64)
            root = root if directions is None else root @ directions
            places = own @ root
            left = features - places
            rest = averages.in_common(shares * left)
            places += rest * left
        middle = Middle(weights @ places, home, radius, gap)
        rounds = np.empty((1 + _ROUNDS, *places.shape), codes.dtype)
        rounds[0] = middle.drawn_in(places, shares)
        for before, after in pairwise(rounds):
            after[:] = averages(before, before)
        return cls._around(
            rounds[-1][member].astype(np.float64), shares[member], metric=metric, root=root,
            middle=middle, rest=rest, directions=directions, features=features, rounds=rounds,
            most=most,
        )  # fmt: skip

    @classmethod
    def _around(cls, places: FloatArray, shares: FloatArray, **known: Any) -> tuple[Reading, Seen]:
        """With places that are counted from the mean of these."""
        # `mean` along the columns takes several times as long.
        origin = np.full(len(places), 1 / len(places)) @ places
        return cls(**known, origin=origin), Seen(places - origin, shares)

    def seen(self, factorizer: Any, X: Any) -> tuple[FloatArray, FloatArray]:
        """What the factorization's ``transform`` returns, and places of samples as in the fit."""
        from ..data import in_parts

        if self.rounds is None:
            codes, places = self._alone(factorizer, X)
        else:
            found = [self._among_neighbours(factorizer, rows) for rows in in_parts(X)]
            codes, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return codes, places if self.origin is None else places - self.origin

    def _alone(self, factorizer: Any, X: Any) -> tuple[FloatArray, FloatArray]:
        codes = checked_codes(factorizer, factorizer.transform(given(X)), X.shape[0])
        places = codes @ self.root
        if self.middle is None:
            return codes, places
        projector = getattr(factorizer, "_projector", None)
        residuals = 0.0 if projector is None else projector.residuals(X, codes)
        return codes, self.middle.drawn_in(places, self.middle.shares(places, None, residuals))

    def _among_neighbours(self, factorizer: Any, X: Any) -> tuple[FloatArray, FloatArray]:
        from .averages import Averages, nearest_links

        assert self.rounds is not None
        # Neighbours are those that the codes are tied to; training samples have their averages.
        placed = factorizer._projector.place(X)
        codes, new = placed.codes, placed.known < 0
        found = np.empty((len(codes), self.root.shape[1]), self.rounds.dtype)
        found[~new] = self.rounds[-1][placed.known[~new]]
        if not new.any():
            return codes, found
        links, values = placed.links, codes[new]
        if self.features is not None:
            from ..data.features import features_of

            features = features_of(X[new], self.directions)
            links = nearest_links(links, features, self.features, self.most)
        averages = Averages.over(links, np.ones(new.sum()))
        if self.features is not None and self.middle is not None:
            shares = self.middle.shares(features, averages(features, self.features), 0.0)
            values = _places(values, features, self.root, self.rest)
            values = self.middle.drawn_in(values, shares)
        for others in self.rounds[:-1]:
            values = averages(values, others)
        found[new] = values
        return codes, found

    def restricted(self, chosen: IntArray) -> Reading:
        """With some of the training samples only."""
        if self.rounds is None:
            return self
        features = None if self.features is None else self.features[chosen]
        return replace(self, features=features, rounds=self.rounds[:, chosen])


def _places(codes: FloatArray, features: FloatArray, root: FloatArray, rest: float) -> FloatArray:
    """What the parts describe, and as much as counts of what they leave out."""
    described = codes @ root
    return described + rest * (features - described) if rest > 0 else described
