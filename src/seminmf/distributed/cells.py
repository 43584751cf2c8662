"""Cells of space, one for each worker, so that few neighbours are on different workers.

Space is halved again and again by planes, with samples on both sides in proportion to the workers
there, within a tenth, where the fewest samples are near the plane. A plane is normal to one of the
directions in which the samples are spread most, or to one that separates small clusters of samples
by their places in such a direction, and so leaves each cluster whole if a plane can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray, IntArray
from ..compiled.kmeans import kmeans
from ..compiled.threads.cores import AtWork

# Directions tried, heights tried for each, and how far from the proportion heights may be.
_DIRECTIONS, _HEIGHTS, _LEEWAY = 4, 21, 0.1
# The number of small clusters, and the most samples they are found from.
_CLUSTERS, _CLUSTERED = 40, 4000
# A sample is near a plane within this share of the spread of the samples.
_NEAR = 0.05


@dataclass(frozen=True)
class _Cut:
    """A plane: the cells from ``first`` to ``middle`` lie below it, those to ``last`` above."""

    normal: FloatArray
    height: float
    first: int
    middle: int
    last: int


def _plane(points: FloatArray, share: float) -> tuple[FloatArray, float]:
    """Normal and height of a plane with about that share of the points below it."""
    if len(points) < 2:
        return np.eye(points.shape[1], dtype=points.dtype)[0], 0.0
    centred = points - points.mean(axis=0)
    widest = np.linalg.eigh(centred.T @ centred)[1][:, : -_DIRECTIONS - 1 : -1]
    normals = np.hstack([widest, _parting(centred, widest, share)])
    wanted = np.linspace(max(share - _LEEWAY, 0), min(share + _LEEWAY, 1), _HEIGHTS)
    tried = []
    for normal in normals.T:
        along = np.sort(points @ normal)
        heights = np.quantile(along, wanted)
        reach = _NEAR * along.std()
        near = np.searchsorted(along, heights + reach) - np.searchsorted(along, heights - reach)
        best = int(near.argmin())
        tried.append((int(near[best]), float(heights[best]), normal))
    _, height, normal = min(tried, key=lambda plane: plane[0])
    return np.ascontiguousarray(normal), height


def _parting(centred: FloatArray, directions: FloatArray, share: float) -> FloatArray:
    """For each direction one that separates the clusters low in it from those high in it."""
    some = centred[:: -(-len(centred) // _CLUSTERED)]
    if len(some) < 2 * _CLUSTERS:
        return directions[:, :0]
    with AtWork():
        clusters = kmeans(some, _CLUSTERS, 0)
        along = clusters.centres @ directions
        heights = np.quantile(along[clusters.labels], share, axis=0)
        sides = np.where(along > heights, 1.0, -1.0)[clusters.labels]
        parting = np.linalg.lstsq(some, sides - sides.mean(axis=0), rcond=1e-6)[0]
    lengths = np.linalg.norm(parting, axis=0)
    return np.asarray((parting / np.where(lengths > 0, lengths, 1)).astype(centred.dtype))


@dataclass(frozen=True)
class Cells:
    """Cells of space that hold about as many samples each."""

    count: int
    cuts: tuple[_Cut, ...]

    @classmethod
    def of(cls, points: FloatArray, count: int) -> Cells:
        """``count`` cells, by ``points`` that represent all samples."""
        cuts: list[_Cut] = []

        def cut(points: FloatArray, first: int, last: int) -> None:
            if last - first < 2:
                return
            middle = (first + last) // 2
            normal, height = _plane(points, (middle - first) / (last - first))
            cuts.append(_Cut(normal, height, first, middle, last))
            along = points @ normal
            cut(points[along <= height], first, middle)
            cut(points[along > height], middle, last)

        cut(points, 0, count)
        return cls(count, tuple(cuts))

    def distances(self, points: FloatArray) -> FloatArray:
        """A lower bound on the distance of each point to each cell; zero inside."""
        bounds = np.zeros((len(points), self.count), points.dtype)
        for cut in self.cuts:
            above = (points @ cut.normal - cut.height)[:, None]
            below = slice(cut.first, cut.middle)
            beyond = slice(cut.middle, cut.last)
            np.maximum(bounds[:, below], above, out=bounds[:, below])
            np.maximum(bounds[:, beyond], -above, out=bounds[:, beyond])
        return bounds

    def places(self, points: FloatArray) -> IntArray:
        """The cell of each point."""
        return np.asarray(self.distances(points).argmin(axis=1))
