"""Fits with rising strength: one dimension, since only the product of the penalties matters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._types import FloatArray
from ..models.estimators import GraphSemiNMF, L21SemiNMF
from ..models.samples import check_samples
from ..models.validation import check_callback, check_number
from .checks import check_array
from .work import Step, Work

__all__ = ["FACTORS", "STRENGTHS", "RegularizationPath", "regularization_path"]

# Six values per decade: the range of automatic strengths of most data, and factors of a known one.
STRENGTHS = tuple(float(f"{10 ** (-5 + step / 6):.3g}") for step in range(20))
FACTORS = tuple(10 ** ((step - 12) / 6) for step in range(20))
_FOLLOWING = "strengths"
# A fit starts from the last one extrapolated by this share of a linear step. Between 0.5 and 0.9 it
# matters little. A full step is too far where parts are about to vanish: more iterations, and
# minima that are worse by up to 3 %.
_SHARE = 0.7


@dataclass(frozen=True)
class RegularizationPath:
    """Fits with rising strength.

    Attributes
    ----------
    strengths : ndarray of shape (n_strengths,)
    table : dict of str to ndarray
        For each strength: "objective" and its terms "loss", "graph" and "basis" (and what a penalty
        on the codes adds), "explained" (share of the squares of X), "n_active" (parts in use),
        "sparsity" (share of zeros in the codes), "kkt_residual", "n_iter", "converged", "seconds".
    models : list
        The fitted estimators.
    """

    strengths: FloatArray
    table: dict[str, FloatArray] = field(repr=False)
    models: list[Any] = field(repr=False)

    def at(self, strength: float) -> Any:
        """The model whose strength is nearest, by ratio."""
        place = np.abs(np.log(self.strengths / check_strength("strength", strength))).argmin()
        return self.models[int(place)]


def check_strength(name: str, value: Any) -> float:
    """A positive number: a path of ratios has no zero."""
    if check_number(name, value) == 0:
        raise ValueError(f"{name} must be positive: for 0 fit a SemiNMF, which has no penalties.")
    return float(value)


def check_strengths(name: str, values: Any) -> list[float]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be several positive numbers, got {values!r}.")
    found = sorted({check_strength(name, value) for value in values})
    if len(found) < 2:
        raise ValueError(
            f"{name} has {len(found)} number{'s' * (len(found) != 1)}, which makes no path. Give "
            "several, such as numpy.geomspace(1e-5, 1e-1, 20)."
        )
    return found


def check_estimator(estimator: Any) -> Any:
    """A copy of an estimator from which a path can be made, or an error."""
    if estimator is None:
        return L21SemiNMF(random_state=0)
    if not isinstance(estimator, GraphSemiNMF):
        raise ValueError(
            "estimator must be None or a model with a strength (L21SemiNMF, GraphSemiNMF, "
            f"RobustSemiNMF), got {type(estimator).__name__}."
        )
    for name in ("alpha", "beta"):
        if getattr(estimator, name) != "auto":
            raise ValueError(
                f'estimator has {name}={getattr(estimator, name)!r}; leave it at "auto", so that '
                "the strength decides."
            )
    return clone(estimator)


def regularization_path(
    X: Any,
    n_components: int,
    strengths: Any = STRENGTHS,
    *,
    estimator: Any = None,
    callback: Callable[[Step], object] | None = None,
) -> RegularizationPath:
    """Fits of one model with rising strength, each from the one before; one graph for all.

    Only the product of the penalties' weights matters to the clusters, and made dimensionless it is
    of nearly the same size for all data, so a path shows all there is. It goes from the weakest to
    the strongest, because parts that vanish stay zero. The first fit costs as much as any; the
    others start near their end.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
    n_components : int
        Number of parts.
    strengths : iterable of float, default=20 values from 1e-5 to 0.0147
    estimator : estimator or None, default=None
        A model with a ``strength``, whose other parameters are taken; None is `L21SemiNMF`.
    callback : callable, default=None
        Called with a `Step` after each fit.

    Returns
    -------
    path : RegularizationPath

    Examples
    --------
    >>> from seminmf.datasets import make_waveform
    >>> from seminmf.selection import regularization_path
    >>> X, _ = make_waveform(300, random_state=0)
    >>> path = regularization_path(X, 8, [1e-4, 1e-3, 1e-2])
    >>> path.table["n_active"].tolist()
    [8, 8, 3]
    """
    model = check_estimator(estimator).set_params(n_components=n_components)
    values = check_strengths("strengths", strengths)
    check_callback(callback)
    check_array(X, "regularization_path")
    return followed(X, model, values, Work(callback=callback))


def followed(X: Any, model: Any, strengths: list[float], work: Work) -> RegularizationPath:
    """The path of a checked model; X may be a table with feature names."""
    from ..data import squares_of
    from ..models.training import Training, warn_of

    tell = work.teller(_FOLLOWING, len(strengths))
    X = check_samples(model, X)
    squares = float(squares_of(X).sum())
    settings = model._settings().checked(X.shape, X.dtype)
    began = time.perf_counter()
    training = Training.of(X, replace(settings, strength=strengths[0]), None)
    models: list[Any] = []
    rows = []
    parts = np.ones(settings.n_components, np.bool_)
    quiet = replace(settings, tol=0.0)
    with training.ground:
        for strength in strengths:
            fitted = object.__new__(type(model))
            fitted.__dict__.update(vars(model), strength=strength)
            changed: dict[str, Any] = {"strength": strength}
            if models:
                # Parts that are zero stay so: fits without them find the same in less time.
                used = models[-1].components_.any(axis=1)
                parts = used if used.any() else parts
                changed["before"] = _ahead(strength, models, parts)
                changed["n_components"], changed["n_init"] = int(parts.sum()), 1
            trained = training.fit(replace(settings, **changed))
            warn_of(trained.solution, quiet)
            fitted._keep(trained.among(parts), None)
            rows.append(_row(fitted, squares, time.perf_counter() - began))
            models.append(fitted)
            tell()
            began = time.perf_counter()
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return RegularizationPath(np.array(strengths), table, models)


def _ahead(strength: float, models: list[Any], parts: Any) -> tuple[FloatArray, FloatArray]:
    """First factors of a fit: the last ones, extrapolated in the direction of their change."""
    (basis, codes), *before = (
        (model.components_.T, model.codes_)
        if parts.all()
        else (model.components_[parts].T, model.codes_[:, parts])
        for model in models[:-3:-1]
    )
    if not before:
        return basis, codes
    last, made = models[-1].strength, models[-1].strength / models[-2].strength
    share = codes.dtype.type(_SHARE * np.log(strength / last) / np.log(made))
    ahead = codes - before[0][1]  # changed in place below, since it is as large as the codes
    ahead *= share
    ahead += codes
    return basis + share * (basis - before[0][0]), np.maximum(ahead, 0, out=ahead)


def _row(model: Any, squares: float, seconds: float) -> dict[str, Any]:
    loss = model.loss_.total(model.residuals_, None)
    basis = model.beta_ * float(np.sqrt(np.square(model.components_).sum(axis=1)).sum())
    return {
        "objective": model.objective_,
        "loss": loss,
        "graph": model.objective_ - loss - basis,
        "basis": basis,
        "explained": 1 - float(np.vdot(model.residuals_, model.residuals_)) / squares,
        "n_active": model.n_active_,
        "sparsity": 1 - np.count_nonzero(model.codes_) / model.codes_.size,
        "kkt_residual": model.kkt_residual_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "seconds": seconds,
    }
