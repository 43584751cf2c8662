"""From a fit with some parts to one with more of them: the start that is nearest at hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..models.estimators import SemiNMF
from ..models.samples import check_samples

__all__ = ["fit_from", "grown", "grown_parts", "with_more_parts"]


def fit_from(model: Any, X: Any, basis: FloatArray, codes: FloatArray, graph: Any = None) -> Any:
    """Fit an estimator to samples, from these factors, and with the graph of another fit if given.

    As ``warm_start`` does, but without an earlier fit of its own.
    """
    from ..models.training import train

    X = check_samples(model, X)
    settings = replace(model._settings(), before=(basis, codes), known=graph)
    model._keep(train(X, settings, None), None)
    return model


def with_more_parts(X: FloatArray, model: Any, count: int) -> tuple[FloatArray, FloatArray]:
    """Basis and codes of a fitted model, and ``count`` parts more.

    The new ones are the leading directions of what the model leaves unexplained. A part can only be
    added, never taken away, so that of a direction and its opposite the one counts in which more is
    left.
    """
    basis, codes = model.components_.T, model.codes_
    left = X - codes @ model.components_
    directions = np.linalg.eigh(left.T @ left)[1][:, : -count - 1 : -1]
    steps = left @ directions
    ahead, behind = (np.square(np.maximum(s, 0)).sum(axis=0) for s in (steps, -steps))
    signs = np.where(ahead >= behind, 1.0, -1.0)
    return (
        np.hstack([basis, directions * signs]),
        np.hstack([codes, np.maximum(steps * signs, 0)]),
    )


def grown_parts(X: Any, candidates: list[int]) -> dict[int, FloatArray]:
    """Parts of fits with more and more of them, each from the one before.

    A part keeps its place as long as it is one of them, so that one can follow it.
    """
    found: dict[int, FloatArray] = {}
    dense, model = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64), None
    for k in candidates:
        model = grown(dense, k, model)
        found[k] = model.components_
    return found


def grown(X: FloatArray, n_components: int, before: Any = None) -> Any:
    """A fitted `SemiNMF`, from a fit with fewer parts or from its own start."""
    more = 0 if before is None else n_components - len(before.components_)
    if not 0 < more <= X.shape[1]:
        return SemiNMF(n_components, random_state=0).fit(X)
    start = with_more_parts(X, before, more)
    return SemiNMF(n_components, init=start).fit(X)
