"""One index for neighbours, of the training samples among themselves and of new samples.

An index consists of samples and a recipe, and builds its search when first asked: a model is saved
with the recipe, and finds the same neighbours when it is loaded. How samples become features
(`data.features`) and how features are searched (`exact.Exact`, `approximate.Approximate`) are
separate: features from elsewhere are indexed by `index_of_features`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._types import FloatArray, IntArray
from ..compiled.threads.scikit_learn import during
from ..data.features import features_of, leading_directions
from ..data.samples import KnownRows
from .approximate import Approximate, worth_it
from .exact import Exact, Search
from .neighbours import checked_links, links_of, transformer_links

# Neighbours are searched in this many leading directions per component (docs/panel.md).
DIRECTIONS = 2
# Up to this many samples exact search takes at most as long as the rest of a fit
# (benchmarks/neighbours.py).
EXACT_SAMPLES = 10_000


def index_of_features(features: Any, n_neighbors: int, *, approximate: bool) -> Search:
    """A search among samples by their features, n × d (exact search takes CSR as well)."""
    kind: Any = Approximate if approximate else Exact
    return kind(features, n_neighbors)


@dataclass(frozen=True)
class Recipe:
    """How neighbours are searched; by default exactly and in all features."""

    approximate: bool = False
    directions: FloatArray | None = None
    """m × d, orthonormal: samples are compared by coordinates along these; None: all features."""


def automatic_recipe(X: Any, n_components: int, n_neighbors: int) -> Recipe:
    """Search in the leading directions, exact for few samples and approximate for many."""
    directions = leading_directions(X, DIRECTIONS * n_components)
    return Recipe(many_samples(X.shape[0], n_neighbors), directions)


def many_samples(n_samples: int, n_neighbors: int) -> bool:
    """Whether there are enough samples for approximate search to pay."""
    return n_samples > EXACT_SAMPLES and worth_it(n_samples, n_neighbors)


class NeighbourIndex:
    """Samples, and a search for those nearest to each of them or to a new sample.

    Parameters
    ----------
    samples : array or CSR array of shape (n_samples, n_features)
    n_neighbors : int
        Neighbours of a sample, if there are as many others.
    recipe : Recipe, or a function that returns one and is called when it is first needed
    transformer : object
        A scikit-learn neighbours transformer fitted to the samples, to be asked instead of the
        recipe; `NeighbourIndex.by_transformer` fits one.
    whole : bool
        Whether these are all samples of a fit, and not a selection from them.
    """

    def __init__(
        self, samples: Any, n_neighbors: int, recipe: Recipe | Callable[[], Recipe] = Recipe,
        transformer: Any = None, whole: bool = True,
    ) -> None:  # fmt: skip
        self.samples, self.n_neighbors, self.whole = samples, n_neighbors, whole
        self._recipe, self.transformer = recipe, transformer
        if isinstance(recipe, Recipe) and recipe.directions is not None:
            shape, m = np.shape(recipe.directions), samples.shape[1]
            if len(shape) != 2 or shape[0] != m:  # in a file that was changed
                raise ValueError(f"directions of shape {shape} do not fit {m} features")
        self._search: Search | None = None
        self._features: Any = None
        self._known: KnownRows | None = None

    @classmethod
    def by_transformer(cls, transformer: Any, samples: Any) -> tuple[NeighbourIndex, sp.csr_array]:
        """The index of a transformer, and the neighbours it finds for the samples."""
        # Some transformers return one more neighbour for new samples than the graph has, because
        # in the fit every sample finds itself.
        links, fitted, most = transformer_links(transformer, samples)
        return cls(samples, most, transformer=fitted), links

    def __getstate__(self) -> dict[str, Any]:
        """A copy gets the recipe, and not what was built by it."""
        built = {"_search": None, "_features": None, "_known": None}
        return {**self.__dict__, "_recipe": self.recipe, **built}

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    @property
    def recipe(self) -> Recipe:
        if not isinstance(self._recipe, Recipe):
            self._recipe = self._recipe()
        return self._recipe

    @property
    def search(self) -> Search:
        """The search by the recipe, built when first asked."""
        if self._search is None:
            recipe, features = self.recipe, self.samples
            if recipe.approximate or recipe.directions is not None:
                features = features_of(self.samples, recipe.directions)
                # An exact search keeps them itself.
                self._features = None if recipe.approximate else features
            # Copies of a sample are one vertex, so there may be fewer others than neighbours.
            count = min(self.n_neighbors, len(self) - 1)
            self._search = index_of_features(features, count, approximate=recipe.approximate)
        return self._search

    @property
    def features(self) -> FloatArray:
        """The features in which the samples are compared."""
        if self._features is not None:
            return self._features
        return features_of(self.samples, self.recipe.directions)

    def links(self) -> sp.csr_array:
        """A matrix with a 1 for each of the nearest other samples of a sample (row)."""
        return links_of(self.search.neighbours(), len(self))

    def query(self, X: Any) -> sp.csr_array:
        """A matrix with a 1 for each of the samples nearest to a new sample (row)."""
        if self.transformer is not None:
            with during(self.transformer):
                found = self.transformer.transform(X)
            found = checked_links(self.transformer, found, X.shape[0], len(self))
            indptr, indices = _nearest_entries(found, self.n_neighbors)
            shape = X.shape[0], len(self)
            return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
        return links_of(self.nearest(X), len(self))

    def nearest(self, X: Any, count: int | None = None) -> IntArray:
        """Numbers of the samples nearest to new ones by the recipe, nearest first.

        ``count`` of them, by default ``n_neighbors``, if there are as many.
        """
        if self.recipe.approximate or self.recipe.directions is not None:
            X = features_of(X, self.recipe.directions)
        indices, _ = self.search.query(X, min(count or self.n_neighbors, len(self)))
        return indices

    def known(self, X: Any) -> IntArray:
        """For each row of X the number of the first equal sample, or −1."""
        if self._known is None:
            self._known = KnownRows(self.samples)
        return self._known.match(X)

    def described(self) -> dict[str, Any]:
        """All that the index consists of, for a model file."""
        return {
            "training": self.samples, "n_neighbors": self.n_neighbors,
            "transformer": self.transformer, "recipe": vars(self.recipe), "whole": self.whole,
        }  # fmt: skip

    @classmethod
    def taken_from(cls, described: dict[str, Any]) -> NeighbourIndex | None:
        """The inverse of `described`, which removes its entries; None if there is no index."""
        samples = described.pop("training", None)
        count, transformer = described.pop("n_neighbors", 0), described.pop("transformer", None)
        # Files from before there were recipes: search was exact.
        recipe, whole = Recipe(**described.pop("recipe", {})), described.pop("whole", True)
        return None if samples is None else cls(samples, count, recipe, transformer, whole)

    def restricted(self, chosen: IntArray) -> NeighbourIndex:
        """An index of some of the samples, which must be few enough for exact search."""
        samples, transformer, count = self.samples[chosen], None, len(chosen)
        if self.transformer is not None and count > 1:
            transformer = clone(self.transformer)
            if getattr(transformer, "n_neighbors", None) is not None:
                transformer.set_params(n_neighbors=min(transformer.n_neighbors, count - 1))
            transformer.fit(samples)
        recipe = Recipe(directions=self.recipe.directions)
        whole = self.whole and count == len(self)
        return NeighbourIndex(samples, min(self.n_neighbors, count), recipe, transformer, whole)


def _nearest_entries(distances: sp.csr_array, most: int) -> tuple[IntArray, IntArray]:
    """(indptr, indices) of the ``most`` smallest entries of each row, smallest first."""
    kept, counts = [], []
    for first, last in pairwise(distances.indptr):
        order = np.argsort(distances.data[first:last], kind="stable")[:most]
        kept.append(distances.indices[first:last][order])
        counts.append(len(order))
    return np.append(0, np.cumsum(counts)), np.concatenate(kept)
