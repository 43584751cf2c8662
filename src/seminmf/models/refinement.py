"""Codes as k-means should see them, by what the fit knows about neighbours and noise.

k-means takes each sample by itself and all directions of the codes alike. Two things can be better:

- Where neighbourhoods are sound, neighbours belong together, and the mean code of a sample and its
  neighbours says more about its cluster than its own code does.
- Where they are not, because noise decides who is next to whom, codes that are tied to neighbours
  have been pulled astray. If some directions of the codes are nothing but noise, there is a better
  reading: the coordinates of the samples themselves along the other directions.

Neighbourhoods of noise have hubs, which are next to everybody, and samples that nobody is next to
(Radovanović et al., Hubs in space, JMLR 11, 2010): their share is the measure of soundness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._types import FloatArray, IntArray

__all__ = ["Averaged", "Measured", "antihub_share", "refine"]

# An antihub is among the p nearest of fewer than p/5 others; with p = 5, of nobody.
_FEW = 0.2
# Neighbourhoods are sound while no more than this share of the samples are antihubs. There are few
# in tables and images with classes, and many where noise has the larger part in the distances.
_SOUND = 0.1
# How often codes are averaged: over the neighbours, and the neighbours of the neighbours.
_ROUNDS = 2
# A direction of the codes that moves the reconstruction by less than this share of what others do
# (in squares) is hidden: non-negativity sets it and not the sample.
_HIDDEN = 0.1
# Residuals below this share of the spread of the samples are those of an exact fit.
_EXACT = 1e-6


@dataclass(frozen=True)
class Averaged:
    """Codes averaged with those of the nearest training samples, `_ROUNDS` times.

    In each round a sample gets the mean of its own value and those of its neighbours, for the
    training samples among themselves and for new ones in the same way.
    """

    rounds: FloatArray
    """Training samples after each round, the last of which k-means sees; rounds × n × k."""
    counts: NDArray[np.bool_]
    """Training samples that are averaged over: those that are not far outliers."""

    def __post_init__(self) -> None:
        if (
            self.rounds.ndim != 3
            or not len(self.rounds)
            or self.counts.shape != self.rounds.shape[1:2]
        ):
            raise ValueError(f"averages {self.rounds.shape} do not fit {self.counts.shape} samples")

    @classmethod
    def of(cls, links: sp.csr_array, codes: FloatArray, counts: NDArray[np.bool_]) -> Averaged:
        """Averages over the neighbours that ``links`` has for each sample."""
        rounds = np.empty((_ROUNDS, *codes.shape), codes.dtype)
        values = codes
        for after in rounds:
            after[:] = values = _mean_with(links, values, values, counts)
        return cls(rounds, counts)

    def restricted(self, chosen: IntArray) -> Averaged:
        """With some of the training samples only."""
        return Averaged(self.rounds[:, chosen], self.counts[chosen])

    def codes(self, placed: Any, trained: FloatArray) -> FloatArray:
        """The same for new samples, next to training samples of codes ``trained``.

        A sample of the training set gets its own averages.
        """
        new = placed.known < 0
        values = placed.codes[new]
        for others in (trained, *self.rounds[:-1]):
            values = _mean_with(placed.links, values, others, self.counts)
        found: FloatArray = np.empty((len(new), values.shape[1]), values.dtype)
        found[new], found[~new] = values, self.rounds[-1][placed.known[~new]]
        return found


def _mean_with(
    links: sp.csr_array, own: FloatArray, others: FloatArray, counts: NDArray[np.bool_]
) -> FloatArray:
    ones = sp.csr_array((counts[links.indices].astype(np.float64), links.indices, links.indptr),
                        shape=links.shape)  # fmt: skip
    total = 1 + np.asarray(ones.sum(axis=1)).reshape(-1, 1)
    return np.asarray((own + ones @ others) / total, dtype=own.dtype)


@dataclass(frozen=True)
class Measured:
    """Coordinates of the samples along the directions that are not noise, as codes.

    z = shift + x·slopes: least squares in place of the codes, and the mean of the codes in the
    directions left out.
    """

    slopes: FloatArray
    """Features × components."""
    shift: FloatArray

    def __post_init__(self) -> None:
        if self.slopes.ndim != 2 or self.shift.shape != self.slopes.shape[1:]:
            raise ValueError(f"slopes {self.slopes.shape} do not fit a shift {self.shift.shape}")

    def codes(self, X: Any) -> FloatArray:
        return np.asarray(X @ self.slopes.astype(X.dtype, copy=False) + self.shift, dtype=X.dtype)


def antihub_share(links: sp.csr_array, inside: NDArray[np.bool_]) -> float:
    """Share of the samples that hardly anybody is next to, of those that are ``inside``.

    Far outliers neither count nor are counted: nobody is next to them, and they are next to
    samples at the edge that would be antihubs without them.
    """
    chosen = links[np.flatnonzero(inside)]
    times = np.bincount(chosen.indices, minlength=links.shape[0])
    return float(np.mean(times[inside] < _FEW * chosen.nnz / chosen.shape[0]))


def _noise(residuals: FloatArray, n_features: int, n_components: int) -> float:
    """Variance of the noise in each feature.

    The median of the squared residuals over that of χ² with as many degrees of freedom as the
    parts leave (Wilson and Hilferty's approximation).
    """
    free = n_features - n_components
    return float(np.median(residuals**2)) / (free * (1 - 2 / (9 * free)) ** 3)


def _principal_directions(
    codes: FloatArray, basis: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]] | None:
    """Principal directions of the codes in the metric of the reconstructions, ‖Uv‖.

    As columns e of a k × k matrix, such that the Ue are orthonormal, and which of them are seen:
    along the others the reconstructions hardly move, so that samples do not tell them.
    """
    lengths, axes = np.linalg.eigh(basis.T @ basis)
    if lengths[-1] <= 0:
        return None
    # Parts that are sums of others leave directions of no length, which is known to round-off only.
    least = np.finfo(np.float64).eps * len(basis) * lengths[-1]
    typical = float(np.median(lengths[lengths > least]))
    lengths = np.sqrt(np.maximum(lengths, least))
    spread = (codes - codes.mean(axis=0)) @ (axes * lengths)
    _, turned = np.linalg.eigh(spread.T @ spread)
    directions = (axes / lengths) @ turned
    return directions, _HIDDEN * typical * (directions**2).sum(axis=0) < 1


def _measured(factorization: Any, X: Any, inside: NDArray[np.bool_]) -> Measured | None:
    """What to read from the samples where some directions are noise; None where none is.

    A direction is noise if the samples vary along it no more than pure noise does: the largest
    eigenvalue of the covariance of n samples of noise in m features is σ²(1 + √(m/n))²
    (Marchenko and Pastur).
    """
    codes = factorization.codes_[inside].astype(np.float64)
    basis = factorization.components_.T.astype(np.float64)
    m, k = basis.shape
    found = _principal_directions(codes, basis) if k < m else None
    if found is None:
        return None
    directions, seen = found
    coordinates = np.asarray(X @ (basis @ directions).astype(X.dtype, copy=False))
    variances = coordinates[inside].var(axis=0, dtype=np.float64)
    noise = _noise(factorization.residuals_[inside].astype(np.float64), m, k)
    if noise <= _EXACT**2 * variances.max():
        return None
    loud = variances > noise * (1 + np.sqrt(m / len(codes))) ** 2
    if not (seen & ~loud).any() or not (seen & loud).any():
        return None
    kept = directions[:, seen & loud]
    slopes, centre = basis @ kept @ kept.T, codes.mean(axis=0)
    return Measured(slopes, centre - (centre @ basis.T) @ slopes)


def refine(
    factorization: Any, X: Any, inside: NDArray[np.bool_], n_clusters: int
) -> Averaged | Measured | None:
    """How codes of a fitted factorization are to be refined, or None: as they are.

    ``inside`` says which samples are no far outliers. Nothing is known about neighbourhoods that a
    model has not found itself.
    """
    links, member = getattr(factorization, "_links", None), getattr(factorization, "_member", None)
    if links is None or links.nnz == 0:
        return None
    vertices = inside
    if member is not None:
        vertices = np.zeros(links.shape[0], dtype=np.bool_)
        vertices[member] = inside
    sound = antihub_share(links, vertices) <= _SOUND
    noisy = _measured(factorization, X, inside)
    if noisy is not None:
        return None if sound else noisy
    # Neighbourhoods as large as clusters would make all samples one.
    size = 1 + links.nnz / links.shape[0]
    if not sound or size * n_clusters > vertices.sum():
        return None
    return Averaged.of(links, factorization._projector.training_codes, vertices)
