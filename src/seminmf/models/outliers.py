"""Outlier scores of a fitted model: which samples it knows, and which are new to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._sparse import stored_like
from .._types import FloatArray
from ..data import divided, row_squares
from ..data.samples import distinct_rows

if TYPE_CHECKING:
    from ..solve.held_out import Fitted
    from ..solve.outliers import Reference

# Residuals that are the same but for round-off, as a share of a sample's length.
_SAME = {8: 1e-7, 4: 1e-3}


def outlier_scores(model: Any, X: Any) -> FloatArray:
    """Scores of samples, checked, in a fitted factorization."""
    unit = model._projector.unit
    return _scores(model, divided(X, unit)) * unit


def _scores(model: Any, X: Any) -> FloatArray:
    """All in the unit of the model's projector, as what follows."""
    from ..solve.held_out import by_parts
    from ..solve.outliers import scores_by_parts

    projector = model._projector
    if _holds_training(model):
        X = stored_like(X, projector.index.samples)
        reference = _reference(model)
        known = projector.index.known(X)
        scores = reference.scores[known]
        new = np.flatnonzero(known < 0)
        if len(new):
            scores[new] = reference.way.score(X[new])
        return scores
    if _is_training_set(model, X):
        representatives, member = distinct_rows(X)
        alone = len(representatives) == X.shape[0]
        rows = X if alone else X[representatives]
        chosen = slice(None) if alone else representatives
        residuals = model.residuals_[chosen] / projector.unit
        fitted = _fitted(model, model.codes_[chosen], residuals)
        scores = scores_by_parts(rows, fitted)
        return scores if alone else scores[member]
    return by_parts(X, projector.basis).lengths


def _holds_training(model: Any) -> bool:
    """Whether a model has all its samples, and not only some that stand for them."""
    index = model._projector.index
    return index is not None and bool(index.whole)


def _fitted(model: Any, codes: FloatArray, residuals: FloatArray) -> Fitted:
    from ..solve.held_out import Fitted

    projector = model._projector
    nonnegative = model._parts["nonnegative"]
    return Fitted(projector.basis, codes, residuals, projector.loss, nonnegative)


def _reference(model: Any) -> Reference:
    """That of a model with a graph, which holds its samples; made when it is first asked for."""
    from ..solve.outliers import refer

    if getattr(model, "_outlier_reference", None) is None:
        projector = model._projector.inside
        index, codes = projector.index, projector.training_codes
        X = index.samples
        if not sp.issparse(X):
            X = np.ascontiguousarray(X)  # rows are taken many times, which is slow from columns
        fitted = _fitted(model, codes, projector.residuals(X, codes))
        model._outlier_reference = refer(X, fitted, index, getattr(model, "_links", None))
    return model._outlier_reference


def _is_training_set(model: Any, X: Any) -> bool:
    """Whether these are all samples of the fit, in their order: their residuals come back."""
    if X.shape[0] != len(model.codes_):
        return False
    codes = model.codes_.astype(X.dtype, copy=False)
    projector = model._projector
    found = projector.inside.residuals(X, codes)
    lengths = np.sqrt(row_squares(X).astype(np.float64)) + found
    share = _SAME[min(X.dtype.itemsize, model.codes_.dtype.itemsize)]
    return bool((np.abs(found - model.residuals_ / projector.unit) <= share * lengths).all())
