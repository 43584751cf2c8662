"""A map of the samples: their codes in the plane that shows most of the ordinary ones.

Far outliers would take the first axes of a principal component analysis for themselves and squeeze
everybody else into a point. So the plane is fitted to the samples inside the far fence, by residual
and by distance of their codes, and the others are only placed in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._types import FloatArray

# Values this many deviations above the median are far out.
FAR = 6.0
# Makes the median absolute deviation the standard deviation where values are normal.
_NORMAL = 1.4826
# A deviation below this share of the largest value is that of exact fits, and no yardstick.
_EXACT = 1e-10


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
    """A plane in the space of the codes, and which samples it was fitted to."""

    centre: FloatArray
    axes: FloatArray
    """Two orthonormal rows; zero where the codes do not vary any further."""
    shares: tuple[float, float]
    """How much of the variance of the samples inside each of the two shows."""
    inside: NDArray[np.bool_]

    def places(self, codes: FloatArray) -> FloatArray:
        """Coordinates of codes in the plane, shape (n, 2)."""
        return np.asarray((codes - self.centre) @ self.axes.T, dtype=np.float64)


def plane_through(codes: FloatArray, inside: NDArray[np.bool_]) -> Plane:
    """The plane of largest variance of the codes that are ``inside``."""
    codes = np.asarray(codes, dtype=np.float64)
    centre = codes[inside].mean(axis=0)
    spread = codes[inside] - centre
    # Eigenvectors of the k × k matrix: the number of samples does not matter.
    variances, directions = np.linalg.eigh(spread.T @ spread)
    axes: Any = np.zeros((2, codes.shape[1]))
    shares = [0.0, 0.0]
    for row, column in enumerate(range(codes.shape[1] - 1, max(codes.shape[1] - 3, -1), -1)):
        if variances[column] > 0:
            axis = directions[:, column]
            # An eigenvector has no sign of its own: its largest entry is positive.
            axes[row] = axis * np.sign(axis[np.abs(axis).argmax()])
            shares[row] = float(variances[column] / variances.sum())
    return Plane(centre, axes, (shares[0], shares[1]), inside)


def fit_plane(codes: FloatArray, residuals: FloatArray | None = None) -> Plane:
    """The plane of the codes that are not far out.

    A fence never shuts out half of the samples, but two of them together may; then one has to do.
    """
    inside = np.ones(len(codes), dtype=np.bool_)
    if residuals is not None:
        inside &= residuals <= far_fence(residuals)
    distance = np.linalg.norm(codes - np.median(codes, axis=0), axis=1)
    near = inside & (distance <= far_fence(distance))
    return plane_through(codes, near if 2 * near.sum() >= len(near) else inside)


def plane(codes: FloatArray, residuals: FloatArray | None = None) -> FloatArray:
    """Coordinates of the samples on a map of two dimensions, shape (n_samples, 2)."""
    return fit_plane(codes, residuals).places(np.asarray(codes, dtype=np.float64))


def frame(places: FloatArray, inside: NDArray[np.bool_]) -> FloatArray:
    """Rows (low, high) of a window with all samples that are inside, and a little room."""
    low, high = places[inside].min(axis=0), places[inside].max(axis=0)
    room = np.where(high > low, 0.06 * (high - low), 1.0)
    return np.stack([low - room, high + room])
