"""The map of the samples: their codes in two dimensions, and which of them are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._types import FloatArray, IntArray
from ...embedding import plane_through

__all__ = ["Plane", "lay_out"]

# More points than these only make the page large and the map black.
MOST_POINTS, MOST_OUTLIERS = 5000, 1500
# A small cluster is drawn with at least so many of its samples.
_LEAST_PER_CLUSTER = 20
# Points beyond these quantiles may lie on the border, if the range is much smaller without them.
_CORE, _STRETCH = 0.005, 1.6
_MARGIN = 0.06


@dataclass(frozen=True, eq=False)
class Plane:
    """Drawn samples and their places in the unit square, y upwards."""

    drawn: IntArray
    """Numbers of the samples, in the order of drawing: outliers last, on top."""
    places: FloatArray
    """One row (x, y) per drawn sample, in [0, 1]."""
    beyond: NDArray[np.bool_]
    """Drawn samples that lie outside the frame and are moved to its border."""
    axes: tuple[str, str]
    total: int
    outliers_left_out: int

    @property
    def complete(self) -> bool:
        return len(self.drawn) == self.total


def lay_out(
    codes: FloatArray,
    scores: FloatArray,
    flagged: NDArray[np.bool_],
    cluster_of: IntArray,
    listed: IntArray,
) -> Plane:
    """Places of the samples; the directions and the frame are those of the samples that fit.

    A few far outliers would otherwise choose the directions and press all others into a corner.
    """
    drawn = _selection(scores, flagged, cluster_of, listed)
    core = ~flagged if (~flagged).sum() > 2 else np.ones(len(codes), dtype=bool)
    coordinates, axes = _coordinates(codes, scores, core)
    low, high = _frame(coordinates[core])
    places = (coordinates[drawn] - low) / (high - low)
    beyond: NDArray[np.bool_] = np.any((places < 0) | (places > 1), axis=1)
    left_out = int(flagged.sum() - flagged[drawn].sum())
    return Plane(drawn, np.clip(places, 0, 1), beyond, axes, len(codes), left_out)


def _coordinates(
    codes: FloatArray, scores: FloatArray, core: NDArray[np.bool_]
) -> tuple[FloatArray, tuple[str, str]]:
    """Two numbers per sample, and what they are."""
    k = codes.shape[1]
    if k == 1:
        return np.column_stack([codes[:, 0], scores]), ("code of part 0", "outlier score")
    if k == 2:
        return codes.astype(np.float64), ("code of part 0", "code of part 1")
    fitted = plane_through(codes, core)
    names = ("first", "second")
    axes = tuple(f"{names[i]} direction of the codes ({fitted.shares[i]:.0%})" for i in range(2))
    return fitted.places(codes), (axes[0], axes[1])


def _frame(coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners: the whole range, or the range without the extremes where that is much smaller."""
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    inner = np.quantile(coordinates, [_CORE, 1 - _CORE], axis=0)
    span = inner[1] - inner[0]
    low = np.where(inner[0] - low > (_STRETCH - 1) * span, inner[0] - span / 10, low)
    high = np.where(high - inner[1] > (_STRETCH - 1) * span, inner[1] + span / 10, high)
    span = np.where(high > low, high - low, 1.0)
    return low - _MARGIN * span, high + _MARGIN * span


def _selection(
    scores: FloatArray, flagged: NDArray[np.bool_], cluster_of: IntArray, listed: IntArray
) -> IntArray:
    """Samples to draw: all, or those that are listed, the outliers, and some of each cluster."""
    n = len(scores)
    rng = np.random.default_rng(0)
    if n <= MOST_POINTS:
        chosen = np.ones(n, dtype=bool)
    else:
        chosen = np.zeros(n, dtype=bool)
        worst = np.flatnonzero(flagged)
        chosen[worst[np.argsort(-scores[worst], kind="stable")][:MOST_OUTLIERS]] = True
        chosen[listed] = True
        open_places = MOST_POINTS - int(chosen.sum())
        rest = np.flatnonzero(~chosen & ~flagged)
        share = open_places / max(len(rest), 1)
        for number in np.unique(cluster_of[rest]):
            members = rest[cluster_of[rest] == number]
            wanted = max(_LEAST_PER_CLUSTER, int(share * len(members)))
            chosen[rng.permutation(members)[:wanted]] = True
    drawn = rng.permutation(np.flatnonzero(chosen))
    order: IntArray = drawn[np.argsort(flagged[drawn], kind="stable")]
    return order
