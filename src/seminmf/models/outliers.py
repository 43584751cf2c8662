"""Outlier scores of a fitted model: which samples it knows, and which are new to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..data import Engine, divided
from ..data.samples import distinct_rows

if TYPE_CHECKING:
    from ..solve.outliers import Fitted, Reference

# Residuals that are the same but for round-off, as a share of a sample's length.
_SAME = {8: 1e-7, 4: 1e-3}


def outlier_scores(model: Any, X: Any) -> FloatArray:
    """Scores of samples, checked, in a fitted factorization."""
    unit = model._projector.unit
    return _scores(model, divided(X, unit)) * unit


def _scores(model: Any, X: Any) -> FloatArray:
    """All in the unit of the model's projector, as what follows."""
    from ..solve.outliers import refer, residuals_of

    projector = model._projector
    if _holds_training(model):
        if sp.issparse(X) != sp.issparse(projector.index.samples):
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        reference = _reference(model)
        known = projector.index.known(X)
        scores = reference.scores[known]
        new = np.flatnonzero(known < 0)
        if len(new):
            scores[new] = reference.score(X[new])
        return scores
    if _is_training_set(model, X):
        representatives, member = distinct_rows(X)
        alone = len(representatives) == X.shape[0]
        rows = X if alone else X[representatives]
        fitted = _fitted(model, slice(None) if alone else representatives)
        scores = refer(rows, fitted).scores
        return scores if alone else scores[member]
    with Engine(X, projector.basis.shape[1]) as engine:
        return residuals_of(engine, projector.basis.astype(X.dtype, copy=False))


def _holds_training(model: Any) -> bool:
    """Whether a model has all its samples, and not only some that stand for them."""
    index = model._projector.index
    return index is not None and bool(index.whole)


def _fitted(model: Any, rows: Any) -> Fitted:
    """The fit of some of its samples, without a graph."""
    from ..solve.outliers import Fitted

    projector = model._projector
    residuals = model.residuals_[rows] / projector.unit
    return Fitted(
        projector.basis, model.codes_[rows], residuals, projector.loss,
        model._parts["nonnegative"],
    )  # fmt: skip


def _reference(model: Any) -> Reference:
    """That of a model with a graph, which holds its samples; made when it is first asked for."""
    from ..solve.outliers import Fitted, refer

    if getattr(model, "_outlier_reference", None) is None:
        projector = model._projector.inside
        index, codes = projector.index, projector.training_codes
        model._outlier_reference = refer(
            index.samples,
            Fitted(
                projector.basis, codes, projector.residuals(index.samples, codes), projector.loss,
                model._parts["nonnegative"], index, getattr(model, "_links", None),
            ),
        )  # fmt: skip
    reference: Reference = model._outlier_reference
    return reference


def _is_training_set(model: Any, X: Any) -> bool:
    """Whether these are all samples of the fit, in their order: their residuals come back."""
    if X.shape[0] != len(model.codes_):
        return False
    codes = model.codes_.astype(X.dtype, copy=False)
    projector = model._projector
    found = projector.inside.residuals(X, codes)
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    lengths = np.sqrt(np.asarray(squares, dtype=np.float64).ravel()) + found
    share = _SAME[min(X.dtype.itemsize, model.codes_.dtype.itemsize)]
    return bool((np.abs(found - model.residuals_ / projector.unit) <= share * lengths).all())
