"""Which factorization is in a model, and what happens to samples before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..embedding import Map, code_map, neighbour_map
from ..models.reading import metric_root

# Up to so many samples the neighbours of the fit lay them out in some seconds.
_MOST_LAID_OUT = 30_000
# Neighbours are looked for among these where the fit had none.
_NEIGHBOURS = 10


@dataclass(frozen=True, eq=False)
class Unwrapped:
    """A fitted model taken apart."""

    factorizer: Any
    """The factorization."""
    clusters: Any
    """The `FactorKMeans` around it, or None."""
    before: tuple[Any, ...]
    """What samples go through: pipelines of transformers and `Standardized`, outermost first."""

    def seen(self, X: Any) -> Any:
        """Samples as the factorization sees them."""
        for step in self.before:
            X = step.standardize(X) if hasattr(step, "standardize") else step.transform(X)
        return X

    def names(self, given: Any) -> Any:
        """Names of the features that the factorization sees, from those of X; None for none."""
        for step in self.before:
            if hasattr(step, "standardize"):
                continue  # the same columns on another scale
            try:
                given = step.get_feature_names_out(given)
            except (AttributeError, ValueError):
                return None
        return given


def unwrap(model: Any) -> Unwrapped:
    """The parts of a fitted model, or an error that says what to pass."""
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise TypeError(
            "model must be a fitted factorization of seminmf, such as L21SemiNMF(10).fit(X), or a "
            f"fitted FactorKMeans, Standardized or Pipeline of one, got {model!r}."
        )
    inner, clusters, before = model, None, []
    while True:
        check_is_fitted(inner)
        if hasattr(inner, "steps"):
            if len(inner.steps) > 1:
                before.append(inner[:-1])
            inner = inner.steps[-1][1]
        elif hasattr(inner, "model_"):
            before.append(inner)
            inner = inner.model_
        elif hasattr(inner, "factorizer_"):
            clusters, inner = inner, inner.factorizer_
        else:
            break
    if not hasattr(inner, "codes_"):
        if hasattr(inner, "n_components") and type(inner).__module__.startswith("seminmf"):
            raise NotFittedError(f"This {type(inner).__name__} is not fitted yet; call fit(X).")
        raise TypeError(
            "model must be a factorization of seminmf (NMF, SemiNMF, GraphSemiNMF, L21SemiNMF, "
            f"RobustSemiNMF), or a FactorKMeans of one: {type(inner).__name__} has no codes_."
        )
    return Unwrapped(inner, clusters, tuple(before))


def sample_map(fitted: Any, by: str = "codes", rows: Any = None) -> Map:
    """The samples of a fit by their "codes" or by their "neighbours".

    With ``rows`` the map is of some samples only; by codes, all of them still choose the plane.
    Neighbours are those of the fit, or, if it had none or too many samples, those by what the parts
    make of the samples.
    """
    codes, residuals = np.asarray(fitted.codes_), np.asarray(fitted.residuals_)
    whole = code_map(codes, residuals)
    chosen: Any = np.arange(len(codes)) if rows is None else rows
    if by == "codes":
        return Map(whole.places[chosen], whole.window, whole.axes)
    start = whole.unit()[0]
    links, vertex = _links(fitted)
    if links is not None:
        # Copies of a sample are one vertex, and have one place.
        first = np.unique(vertex, return_index=True)[1]
        found = neighbour_map(links, start[first])
        return Map(found.places[vertex[chosen]], found.window, found.axes)
    made: FloatArray = codes[chosen] @ metric_root(fitted, codes.shape[1])
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(made, min(_NEIGHBOURS, len(made) - 1))
    return neighbour_map(near, start[chosen])


def _links(fitted: Any) -> tuple[Any, Any]:
    """Neighbours of the fit, and for each sample its vertex there; (None, None) without them."""
    links, member = getattr(fitted, "_links", None), getattr(fitted, "_member", None)
    n, index = len(fitted.codes_), getattr(fitted._projector, "index", None)
    if links is None and index is not None and index.whole and len(index) == n:
        links = index.links()  # a model that was loaded finds them again
    if links is None or n > _MOST_LAID_OUT or (member is not None and (member < 0).any()):
        return None, None
    return links, np.arange(n) if member is None else member
