"""Maps of the samples, by their codes or by their neighbours, for pages and plots alike.

By codes: the plane that shows most of the ordinary samples. Far outliers would take the first axes
of a principal component analysis for themselves and squeeze all others into a point. So the plane
is fitted to the samples inside the far fence, by residual and by distance of their codes, and the
others are only placed in it.

By neighbours: points, first placed by codes, that attract each other where samples are neighbours
and push all others away. The forces are those of UMAP (McInnes, Healy and Melville 2018) with the
curve 1 / (1 + d²).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ._types import FloatArray, IntArray

__all__ = [
    "FRAME", "Dots", "Map", "code_map", "far_fence", "fit_plane", "neighbour_map", "plane",
    "spread",
]  # fmt: skip

# Values this many deviations above the median are far out.
FAR = 6.0
# Makes the median absolute deviation equal to the standard deviation for normal values.
_NORMAL = 1.4826
# A deviation below this share of the largest value is that of exact fits, and no yardstick.
_EXACT = 1e-10
# Codes are far out beyond this multiple of the distance within which this share of them lies: a
# cluster apart from the others is not.
_FAR_CODES, _ORDINARY = 3.0, 0.9
# Room around the samples, as a share of the window.
_ROOM = 0.08
# Rounds of moving the points of a map by neighbours, and how many others push each point.
_EPOCHS, _OTHERS = 150, 5
# Width and height of the frame that maps are made for. Dots cover this share of it, as far as their
# radii allow.
FRAME: FloatArray = np.array([720.0, 500.0])
_COVERED, _RADII = 0.12, (1.6, 3.6)
# The most rounds of moving points apart, done twice; more make no visible difference.
_ROUNDS = 40


def far_fence(values: FloatArray) -> float:
    """The value beyond which a sample is far out: six deviations above the median.

    A deviation is 1.4826 median absolute deviations. Medians stay where they are until nearly half
    of the samples are outliers. Where more than half of the values are the same, as residuals of
    exact fits are, nothing is known about the others, and the fence is the largest value.
    """
    middle, largest = float(np.median(values)), float(np.max(values))
    deviation = float(np.median(np.abs(values - middle)))
    return largest if deviation <= _EXACT * largest else middle + FAR * _NORMAL * deviation


@dataclass(frozen=True)
class Plane:
    """A plane in the space of the codes, and the samples it was fitted to."""

    centre: FloatArray
    axes: FloatArray
    """Two orthonormal rows; zero if the codes do not vary any further."""
    shares: tuple[float, float]
    """The share of the variance of the samples inside that each axis shows."""
    inside: NDArray[np.bool_]

    def places(self, codes: FloatArray) -> FloatArray:
        """Coordinates of codes in the plane, shape (n, 2)."""
        return np.asarray((codes - self.centre) @ self.axes.T, dtype=np.float64)


def plane_through(codes: FloatArray, inside: NDArray[np.bool_]) -> Plane:
    """The plane of largest variance of the codes that are ``inside``."""
    codes = np.asarray(codes, dtype=np.float64)
    centre = codes[inside].mean(axis=0)
    spread = codes[inside] - centre
    # Eigenvectors of a k × k matrix, whatever the number of samples.
    variances, directions = np.linalg.eigh(spread.T @ spread)
    axes: Any = np.zeros((2, codes.shape[1]))
    shares = [0.0, 0.0]
    for row, column in enumerate(range(codes.shape[1] - 1, max(codes.shape[1] - 3, -1), -1)):
        if variances[column] > 0:
            axis = directions[:, column]
            # The sign of an eigenvector is arbitrary: make its largest entry positive.
            axes[row] = axis * np.sign(axis[np.abs(axis).argmax()])
            shares[row] = float(variances[column] / variances.sum())
    return Plane(centre, axes, (shares[0], shares[1]), inside)


def fit_plane(codes: FloatArray, residuals: FloatArray | None = None) -> Plane:
    """The plane of the codes that are not far out, by residual or by their distance."""
    inside = np.ones(len(codes), dtype=np.bool_)
    if residuals is not None:
        inside &= residuals <= far_fence(residuals)
    distance = np.linalg.norm(codes - np.median(codes, axis=0), axis=1)
    inside &= distance <= _FAR_CODES * np.quantile(distance, _ORDINARY)
    return plane_through(codes, inside)


def plane(codes: FloatArray, residuals: FloatArray | None = None) -> FloatArray:
    """Coordinates of the samples on a map of two dimensions, shape (n_samples, 2)."""
    return fit_plane(codes, residuals).places(np.asarray(codes, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Dots:
    """Places in a frame of size `FRAME`, y upwards; those ``beyond`` were moved to its border."""

    places: FloatArray
    beyond: NDArray[np.bool_]
    radius: float


@dataclass(frozen=True, eq=False)
class Map:
    """Places of the samples, and the window that shows the ordinary ones."""

    places: FloatArray
    window: FloatArray
    """Its rows are the lowest and the highest coordinates."""
    axes: tuple[str, str]
    """Names of the two coordinates; empty if they have no meaning."""

    def dots(self) -> Dots:
        """The samples as dots that do not cover each other."""
        shares, beyond = self.unit()
        radius = float(np.clip(np.sqrt(_COVERED * FRAME.prod() / (np.pi * len(shares))), *_RADII))
        places = shares * FRAME
        places[~beyond] = spread(places[~beyond], radius, FRAME)
        return Dots(np.clip(places, radius, FRAME - radius), beyond, radius)

    def unit(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Places in the unit square, y upwards, and which of them were beyond the window."""
        low, high = self.window
        shares = (self.places - low) / (high - low)
        return np.clip(shares, 0, 1), np.any((shares < 0) | (shares > 1), axis=1)


def _window(places: FloatArray) -> FloatArray:
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.where(high > low, _ROOM * (high - low), 1.0)
    return np.stack([low - room, high + room])


def code_map(codes: FloatArray, residuals: FloatArray) -> Map:
    """The samples by their codes; with a single part, codes against residuals."""
    codes = np.asarray(codes, dtype=np.float64)
    fitted = fit_plane(codes, residuals)
    if codes.shape[1] == 1:
        places, axes = np.column_stack([codes[:, 0], residuals]), ("code of part 0", "residual")
    elif codes.shape[1] == 2:
        places, axes = codes, ("code of part 0", "code of part 1")
    else:
        places = fitted.places(codes)
        first, second = (f"direction of the codes ({share:.0%})" for share in fitted.shares)
        axes = f"first {first}", f"second {second}"
    return Map(places, _window(places[fitted.inside]), axes)


def neighbour_map(links: sp.csr_array, start: FloatArray) -> Map:
    """The samples by their neighbours, from places in the unit square on; always the same."""
    edges = sp.csr_array(links + links.T)
    edges.setdiag(0)
    edges.eliminate_zeros()
    n, degree = edges.shape[0], np.maximum(np.diff(edges.indptr), 1)[:, None]
    rows = np.repeat(np.arange(n), np.diff(edges.indptr))
    rng = np.random.default_rng(0)
    y = 20 * (start - 0.5) + rng.normal(scale=1e-2, size=(n, 2))
    for epoch in range(_EPOCHS):
        gap = y[rows] - y[edges.indices]
        edges.data = 2 / (1 + np.einsum("ij,ij->i", gap, gap))
        pull = edges @ y - np.asarray(edges.sum(axis=1))[:, None] * y
        step = np.clip(pull / degree, -4, 4)
        for others in rng.integers(0, n, size=(_OTHERS, n)):
            gap = y - y[others]
            squares = np.einsum("ij,ij->i", gap, gap)
            push = 2 / ((1e-3 + squares) * (1 + squares))
            step += np.clip(push[:, None] * gap, -4, 4)
        y += (1 - epoch / _EPOCHS) * step
    inside = fit_plane(y).inside
    return Map(y, _window(y[inside]), ("", ""))


def spread(places: FloatArray, radius: float, size: FloatArray) -> FloatArray:
    """Places of discs of one radius, moved apart inside a box so that they do not overlap.

    Samples with nearly the same codes would otherwise be a single disc; this way they are a heap
    of discs, the larger the more they are.
    """
    # Sorted first: the dots do not depend on the order of the samples.
    # Whatever the order in which samples come, the dots are the same.
    given = np.lexsort(np.asarray(places, dtype=np.float64).T)
    places = np.asarray(places, dtype=np.float64)[given]
    # Equal places first form a sunflower, since nothing tells in which direction each should go.
    _, place_of, sizes = np.unique(
        np.round(places / radius), axis=0, return_inverse=True, return_counts=True
    )
    order = np.argsort(place_of.ravel(), kind="stable")
    rank: IntArray = np.empty(len(places), dtype=np.int64)
    rank[order] = np.arange(len(places)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turn = rank * np.pi * (3 - np.sqrt(5))
    places += radius * np.sqrt(rank)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    places = _moved_apart(places, radius)
    # Heaps at the border need room: move all dots inwards, and apart again where that was too much.
    low, high = places.min(axis=0, initial=np.inf), places.max(axis=0, initial=-np.inf)
    least, most = np.minimum(low, radius), np.maximum(high, size - radius)
    places = radius + (places - least) * (size - 2 * radius) / (most - least)
    found = np.empty_like(places)
    found[given] = np.clip(_moved_apart(places, radius), radius, size - radius)
    return found


def _moved_apart(places: FloatArray, radius: float) -> FloatArray:
    for _ in range(_ROUNDS):
        pairs = cKDTree(places).query_pairs(2 * radius, output_type="ndarray")
        if not len(pairs):
            break
        first, second = pairs.T
        between = places[first] - places[second]
        distance = np.maximum(np.linalg.norm(between, axis=1), 1e-9)
        shift = between * ((radius - distance / 2) / distance)[:, None]
        for axis in range(2):
            moved = np.bincount(first, shift[:, axis], len(places))
            moved -= np.bincount(second, shift[:, axis], len(places))
            places[:, axis] += 0.6 * moved
    return places
