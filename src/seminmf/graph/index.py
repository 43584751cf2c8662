"""One index for neighbours: those of the training samples among themselves, and of new samples.

An index is made of samples and of a recipe, and is built when it is first asked: a model is saved
with the recipe, and finds the same neighbours when it is loaded. How samples become features
(`data.features`) and how features are searched (`exact.Exact`, `approximate.Approximate`) are
apart: who has features from elsewhere builds an index with `index_of_features`.
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
from .neighbours import links_of, transformer_links

# Neighbours are looked for in so many leading directions for each component (docs/panel.md).
DIRECTIONS = 2
# Up to this many samples exact search is at most as slow as the rest of a fit
# (benchmarks/neighbours.py).
EXACT_SAMPLES = 10_000


def index_of_features(features: Any, n_neighbors: int, *, approximate: bool) -> Search:
    """An index of samples by their features, an n × d array (exact search takes CSR as well)."""
    kind: Any = Approximate if approximate else Exact
    search: Search = kind(features, n_neighbors)
    return search


@dataclass(frozen=True)
class Recipe:
    """How neighbours are looked for; exactly and in all features unless it says otherwise."""

    approximate: bool = False
    directions: FloatArray | None = None
    """m × d, orthonormal: samples are compared by their coordinates along these; None: by all."""


def automatic_recipe(X: Any, n_components: int, n_neighbors: int) -> Recipe:
    """In the leading directions; exact for few samples, else approximate."""
    directions = leading_directions(X, DIRECTIONS * n_components)
    return Recipe(many_samples(X.shape[0], n_neighbors), directions)


def many_samples(n_samples: int, n_neighbors: int) -> bool:
    """Whether approximate search is worth it."""
    return n_samples > EXACT_SAMPLES and worth_it(n_samples, n_neighbors)


class NeighbourIndex:
    """Samples, and who of them is next to whom, or to a new sample.

    Parameters
    ----------
    samples : array or CSR array of shape (n_samples, n_features)
    n_neighbors : int
        How many others a sample is next to, if there are as many.
    recipe : Recipe, or a function that returns one, which is called when it is first needed
    transformer : object
        A scikit-learn neighbours transformer that was fitted to the samples, to be asked in the
        place of the recipe; `NeighbourIndex.by_transformer` fits one.
    whole : bool
        Whether these are all samples of a fit, and not some that stand for them.
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
        """The index of a transformer, and the neighbours that it finds for the samples."""
        # Some transformers return one more neighbour for new samples than the graph has, because
        # in the fit every sample finds itself.
        links, fitted, most = transformer_links(transformer, samples)
        return cls(samples, most, transformer=fitted), links

    def __getstate__(self) -> dict[str, Any]:
        """What was built is not part of a copy: the recipe is."""
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
        """What is behind; built if it is not yet."""
        if self._search is None:
            recipe, features = self.recipe, self.samples
            if recipe.approximate or recipe.directions is not None:
                features = features_of(self.samples, recipe.directions)
                # An exact search has them itself.
                self._features = None if recipe.approximate else features
            # Copies of samples are one vertex, so that there may be fewer than neighbours.
            count = min(self.n_neighbors, len(self) - 1)
            self._search = index_of_features(features, count, approximate=recipe.approximate)
        return self._search

    @property
    def features(self) -> FloatArray:
        """Coordinates of the samples in which they are compared."""
        if self._features is not None:
            return self._features
        return features_of(self.samples, self.recipe.directions)

    def links(self) -> sp.csr_array:
        """Ones in each row for the nearest others of a sample."""
        return links_of(self.search.neighbours(), len(self))

    def query(self, X: Any) -> sp.csr_array:
        """Ones in each row for the samples nearest to a new one."""
        if self.transformer is not None:
            with during(self.transformer):
                found = sp.csr_array(self.transformer.transform(X))
            indptr, indices = _nearest_entries(found, self.n_neighbors)
            shape = X.shape[0], len(self)
            return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
        return links_of(self.nearest(X), len(self))

    def nearest(self, X: Any, count: int | None = None) -> IntArray:
        """Numbers of the samples nearest to new ones by the recipe, the nearest first.

        ``count`` of them, or ``n_neighbors``, if there are as many.
        """
        if self.recipe.approximate or self.recipe.directions is not None:
            X = features_of(X, self.recipe.directions)
        indices, _ = self.search.query(X, min(count or self.n_neighbors, len(self)))
        return indices

    def known(self, X: Any) -> IntArray:
        """For each row of X the first sample that equals it, or −1."""
        if self._known is None:
            self._known = KnownRows(self.samples)
        return self._known.match(X)

    def described(self) -> dict[str, Any]:
        """All that the index is made of, for a model file."""
        return {
            "training": self.samples, "n_neighbors": self.n_neighbors,
            "transformer": self.transformer, "recipe": vars(self.recipe), "whole": self.whole,
        }  # fmt: skip

    @classmethod
    def taken_from(cls, described: dict[str, Any]) -> NeighbourIndex | None:
        """The inverse of `described`, which takes its own away; None if there is no index."""
        samples = described.pop("training", None)
        count, transformer = described.pop("n_neighbors", 0), described.pop("transformer", None)
        # Files from before there were recipes have none: search was exact.
        recipe, whole = Recipe(**described.pop("recipe", {})), described.pop("whole", True)
        return None if samples is None else cls(samples, count, recipe, transformer, whole)

    def restricted(self, chosen: IntArray) -> NeighbourIndex:
        """An index of some of the samples, few enough to be searched exactly."""
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
    """(indptr, indices) with the ``most`` smallest entries of each row, the nearest first."""
    kept, counts = [], []
    for first, last in pairwise(distances.indptr):
        order = np.argsort(distances.data[first:last], kind="stable")[:most]
        kept.append(distances.indices[first:last][order])
        counts.append(len(order))
    return np.append(0, np.cumsum(counts)), np.concatenate(kept)
