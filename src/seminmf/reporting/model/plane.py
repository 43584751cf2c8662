"""The map of the samples: their codes in two dimensions, and which of them are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._types import FloatArray, IntArray
from ...embedding import Dots
from ..unwrapping import sample_map

# More points than these only make the page large and the map black.
MOST_POINTS, MOST_OUTLIERS = 5000, 1500
# A small cluster is drawn with at least so many of its samples.
_LEAST_PER_CLUSTER = 20


@dataclass(frozen=True, eq=False)
class Plane:
    """Drawn samples and their places, by codes and by neighbours."""

    drawn: IntArray
    """Numbers of the samples, in the order of drawing: outliers last, on top."""
    codes: Dots
    neighbours: Dots
    axes: tuple[str, str]
    """What the coordinates by codes are."""
    total: int
    outliers_left_out: int

    @property
    def complete(self) -> bool:
        return len(self.drawn) == self.total


def lay_out(
    fitted: Any,
    scores: FloatArray,
    flagged: NDArray[np.bool_],
    cluster_of: IntArray,
    listed: IntArray,
) -> Plane:
    """The maps of a fitted factorization, and which of its samples are on them."""
    drawn = _selection(scores, flagged, cluster_of, listed)
    by_codes = sample_map(fitted, "codes", drawn)
    by_neighbours = sample_map(fitted, "neighbours", drawn)
    left_out = int(flagged.sum() - flagged[drawn].sum())
    return Plane(drawn, by_codes.dots(), by_neighbours.dots(), by_codes.axes, len(scores), left_out)


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
    return drawn[np.argsort(flagged[drawn], kind="stable")]
