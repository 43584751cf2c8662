"""How far out a sample is: its distance from what the other samples say that it should be.

A sample that took part in a fit may have got a part of its own, and then its residual says nothing
about it. So each sample is foretold by the others alone, in one of two ways:

- by parts that have not seen it (`held_out`);
- by neighbours, where the model has a graph: the mean of the nearest other samples.

A model with a graph holds its samples. There the distance is measured by how the errors of others
spread (`spread`), and the way is decided once for a training set, by a trial: copies of some
samples are spoilt (`data.distances.spoilt_copies`), and the way whose scores tell those better from
the samples is taken. Where there are as many parts as features, they foretell nothing; samples of a
wide cone lie nearer to its parts than to each other.

Samples far from the middle of the data do not vouch for each other: they are scored like all, but
have no say in the parts and are nobody's neighbours. So outliers that form a group are found while
they are fewer than half, and farther from the middle than the others spread.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..compiled.threads.cores import AtWork
from ..data.distances import Errors, distances_from_middle, spoilt_copies
from ..graph.exact import others_of
from ..graph.index import NeighbourIndex, Recipe
from ..outliers import shortest_half
from .held_out import Fitted, by_parts, held_out
from .spread import Spread

# Samples so many deviations farther from the middle than is usual do not vouch for others. In
# trials on small tables, groups of outliers went unseen with 3.5, and with 2.5 more ordinary ones
# lost their neighbours; no script of the repository measures this.
_FAR = 3.0
# Samples by whose errors others are measured, fewer if they have more numbers than these, and
# samples whose copies are spoilt to try both ways: on the panel 200 copies decided no better.
_TRIED, _TRIED_NUMBERS, _COPIES = 200, 2**16, 50
# They are the same each time.
_SEED = 0
# Errors that are such a share of the usual distance from the middle are of rounding, and taken for
# zero: as many parts as features foretell all between them.
_EXACT = {8: 1e-7, 4: 1e-3}


@dataclass(frozen=True)
class Way:
    """How samples are foretold, and how far off they are."""

    basis: FloatArray
    """Parts of the samples that have a say."""
    index: NeighbourIndex | None
    """Of the samples that have a say, if neighbours foretell a sample; None if parts do."""
    spread: Spread
    """Of the errors of some of them."""

    def score(self, X: Any) -> FloatArray:
        """Scores of samples that are not in the training set."""
        told = by_parts(X, self.basis) if self.index is None else _by_neighbours(X, self.index)
        with AtWork():
            return self.spread.lengths(told)


@dataclass(frozen=True)
class Reference:
    """A training set, and how samples are foretold from it."""

    trusted: NDArray[np.bool_]
    """Samples that have a say."""
    scores: FloatArray
    """Of the training samples, each by the others alone."""
    way: Way


def _by_neighbours(X: Any, index: NeighbourIndex) -> Errors:
    return Errors.from_means(X, index.samples, index.nearest(X))


def scores_by_parts(X: Any, fitted: Fitted) -> FloatArray:
    """Residuals of all samples of a training set, each by parts that have not seen it."""
    trusted, least = _near_the_middle(X)
    scores = held_out(X, fitted, trusted)[1].lengths
    scores = np.where(scores > least, scores, 0)
    if not scores.any():
        warnings.warn(
            "All outlier scores are rounding errors: the parts predict every sample, as they do "
            "with as many parts as features. Take fewer parts, or a model with a graph, which can "
            "predict from neighbours instead.",
            UserWarning,
            stacklevel=5,
        )
    return scores


def refer(X: Any, fitted: Fitted, index: NeighbourIndex, links: sp.csr_array | None) -> Reference:
    """Score all samples of a training set, which are different from each other.

    ``index`` is of all of them; ``links`` are the neighbours that the fit found, if it knows them.
    """
    trusted, least = _near_the_middle(X)
    basis, foretold = held_out(X, fitted, trusted)
    ways: list[tuple[Errors, NeighbourIndex | None]] = []
    if trusted.sum() > 1 and index.n_neighbors > 0:
        found, index = index, _index_of(index, trusted)
        near = _neighbours(X, trusted, index, links if index.recipe is found.recipe else None)
        ways.append((Errors.from_means(X, X, near), index))
    if not ways or np.median(foretold.lengths) > least:
        ways.append((foretold, None))
    rng = np.random.RandomState(_SEED)
    most = min(_TRIED, max(1, _TRIED_NUMBERS // X.shape[1]))
    tried = rng.permutation(np.flatnonzero(trusted))[:most]
    some = tried[:_COPIES]
    spoilt, best = spoilt_copies(X[some], rng), -1.0
    for candidate, its_index in ways:
        with AtWork():
            spread, own = Spread.of(candidate.of(tried))
        way = Way(basis, its_index, spread)
        told_apart = _told_apart(own, way.score(spoilt)) if len(ways) > 1 else 0.0
        if told_apart > best:
            best, chosen, errors, alone = told_apart, way, candidate, own
    with AtWork():
        scores = chosen.spread.lengths(errors)
    scores[tried] = alone
    return Reference(trusted, np.where(errors.lengths > least, scores, 0), chosen)


def _index_of(index: NeighbourIndex, trusted: NDArray[np.bool_]) -> NeighbourIndex:
    """The index of the samples that have a say.

    Few are searched in all features: outliers may differ where the directions of a fit do not look.
    """
    recipe, all_of_them = index.recipe, bool(trusted.all())
    if recipe.directions is not None and not recipe.approximate:
        recipe = Recipe()
    if all_of_them and recipe is index.recipe:
        return index
    count = min(index.n_neighbors, int(trusted.sum()) - 1)
    return NeighbourIndex(index.samples if all_of_them else index.samples[trusted], count, recipe)


def _told_apart(low: FloatArray, high: FloatArray) -> float:
    """How often one of ``high`` is above one of ``low``; equal ones count half."""
    ordered = np.sort(low)
    below, not_above = (np.searchsorted(ordered, high, side) for side in ("left", "right"))
    return float((below + not_above).mean()) / (2 * len(low))


def _near_the_middle(X: Any) -> tuple[NDArray[np.bool_], float]:
    """Samples not much farther from the median of all than is usual, and the least of errors."""
    distances = distances_from_middle(X)
    usual, deviation = shortest_half(distances)
    near: NDArray[np.bool_] = distances <= usual + _FAR * deviation
    # Where half of the samples are the same, nothing is known of the others.
    return (near if deviation > 0 else np.ones_like(near)), _EXACT[X.dtype.itemsize] * usual


def _neighbours(
    X: Any, trusted: NDArray[np.bool_], index: NeighbourIndex, links: sp.csr_array | None
) -> IntArray:
    """For each sample the nearest others that have a say, whose ``index`` this is.

    ``links`` are the nearest of all; they are looked for again where some of those have none.
    """
    n, count = X.shape[0], min(index.n_neighbors, len(index) - 1)
    near, rows = np.empty((n, count), np.int64), np.arange(n)
    if links is not None and (np.diff(links.indptr) == count).all():
        near[:] = links.indices.reshape(n, count)
        rows = np.flatnonzero(~trusted[near].all(axis=1))
    if len(rows):
        found = np.flatnonzero(trusted)[index.nearest(X[rows], count + 1)]
        near[rows] = others_of(rows, found)
    return near
