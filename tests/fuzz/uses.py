"""What else is done with a model: new samples, fits that go on, batches, clusters, outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.base import clone

from fuzz.cases import Array, Case
from fuzz.checks import FailureError, Fitted
from seminmf import FactorKMeans

# Of samples with fewer scores are looked at, which take several fits.
_FEW = 40


def _finite(name: str, values: Any) -> None:
    if not (np.isfinite(values).all() and np.min(values) >= 0):
        raise FailureError(f"{name} not finite, or negative")


def _stored_like(case: Case, rows: Array) -> Any:
    """Some samples as those of the fit."""
    if hasattr(case.X, "iloc"):
        return type(case.X)(rows, columns=case.X.columns)
    if sp.issparse(case.X):
        return sp.csr_array(rows.astype(case.X.dtype))
    return rows.astype(np.float32 if case.single else np.float64)


def _least_squares(U: Array, x: Array) -> Array:
    try:
        return np.asarray(nnls(U, x)[0])
    except RuntimeError:  # which SciPy raises where it does not come to an end
        return np.zeros(U.shape[1])


def new_samples(fitted: Fitted) -> None:
    """Sums of samples, none at all, and one feature: codes are the minimum of their own problem."""
    model, case = fitted.model, fitted.case
    rng = np.random.default_rng(case.number)
    picked = fitted.X[rng.integers(0, len(fitted.X), (3, 2))]
    rows = np.vstack([picked[:, 0] / 2 + picked[:, 1] / 3, np.zeros((2, fitted.X.shape[1]))])
    rows[-1, rng.integers(rows.shape[1])] = 0.7
    new = _stored_like(case, rows * fitted.unit)
    exact = (new.toarray() if sp.issparse(new) else np.asarray(new)).astype(np.float64)
    codes = model.transform(new)
    _finite("codes of new samples", codes)
    if getattr(model, "alpha_", 0) > 0:
        return
    here = Fitted(case, model, exact)
    value, doubt = here.of_sample(codes.astype(np.float64))
    units = np.where(here.sizes > 0, here.sizes, 1)
    solved = np.array([_least_squares(here.U / units, x) for x in here.X])
    for other in (np.zeros(codes.shape), solved / units):
        there, error = here.of_sample(other)
        if not (value - there <= doubt + error).all():
            raise FailureError("codes of new samples", f"{value} found, {there} possible")


def gone_on(fitted: Fitted) -> None:
    """A fit that goes on from the last one does not rise."""
    model, case = fitted.model, fitted.case
    before, doubt = fitted.terms()
    model = clone(case.estimator).set_params(warm_start=True)
    for _ in range(2):
        model.fit(case.X, sample_weight=case.weights)
    after, more = Fitted(case, model).terms()
    slack = doubt + more + fitted.round_off
    if model.solver == "mu":
        slack += fitted.rises_of_mu
    if not after <= before + slack:
        raise FailureError("rise of a warm start", f"{before:.10g} to {after:.10g}")


def batches(fitted: Fitted) -> None:
    case, n = fitted.case, len(fitted.X)
    k = case.estimator.n_components
    first = max(k, 2, n // 2)
    model = clone(case.estimator)
    if isinstance(model.init, tuple):
        model.set_params(init=(model.init[0], model.init[1][:first]))
    for start, stop in ((0, first), (first, (first + n) // 2), ((first + n) // 2, n)):
        if stop > start:
            rows = _stored_like(case, case.dense[start:stop])
            model.partial_fit(rows)
            _finite("codes of a batch", model.codes_)
            _finite("residuals of a batch", model.residuals_)
            _finite("objective of a batch", model.objective_)
            if not np.isfinite(model.components_).all():
                raise FailureError("basis of batches not finite")


def clusters(fitted: Fitted) -> None:
    case, count = fitted.case, min(3, len(fitted.X))
    model = FactorKMeans(clone(case.estimator), n_clusters=count, random_state=0).fit(case.X)
    for labels in (model.labels_, model.predict(case.X)):
        if not (len(labels) == len(fitted.X) and labels.min() >= 0 and labels.max() < count):
            raise FailureError("clusters", f"{labels}")


def outliers(fitted: Fitted) -> None:
    if len(fitted.X) < _FEW:
        scores = fitted.model.outlier_scores(fitted.case.X)
        _finite("outlier scores", scores)


USES = {
    "nothing": lambda fitted: None, "goes on": gone_on, "batches": batches, "clusters": clusters,
    "outliers": outliers,
}  # fmt: skip
