"""Which worker a sample goes to, so that few neighbours are parted: a part of space for each.

Space is halved again and again by planes, in proportion to the number of workers on both sides but
for a tenth, where the fewest samples are near the plane. It lies across one of the directions in
which the samples there are spread most, or across one that parts small clusters of them by where
they lie in such a direction, and leaves each of them whole if a plane can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray, IntArray
from ..compiled.kmeans import kmeans
from ..compiled.threads.cores import AtWork

# Directions that are tried, heights for each, and how far from the proportion they may be.
_DIRECTIONS, _HEIGHTS, _LEEWAY = 4, 21, 0.1
# Small clusters, of so many samples.
_CLUSTERS, _CLUSTERED = 40, 4000
# Samples are near a plane if they are nearer than this share of their spread.
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
    """For each direction one that tells the clusters that lie low in it from those that do not."""
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
    """Parts of space that hold about as many samples each."""

    count: int
    cuts: tuple[_Cut, ...]

    @classmethod
    def of(cls, points: FloatArray, count: int) -> Cells:
        """So many cells for samples of which ``points`` are some."""
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
        """For each point and cell: it is not nearer to the cell than this, and zero inside."""
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
