"""What a first assault with generated fits found, each in its smallest form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from helpers import converging_or_not, data, difference, make, problem, start
from seminmf import NMF, GraphSemiNMF, L21SemiNMF, RobustSemiNMF, SemiNMF
from seminmf.losses import Huber

MODELS = ("NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF")
# Powers of two near to powers of ten, so that data of another scale have the same digits.
SCALES = {power: 2.0 ** round(power * np.log2(10)) for power in (-149, -100, -20, 20, 100, 149)}


@pytest.mark.parametrize("power", SCALES)
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("model", MODELS)
def test_data_of_any_scale(model: str, solver: str, power: int) -> None:
    X, scale = data(60, 12, nonnegative=model == "NMF"), SCALES[power]
    seen: list[float] = []
    with converging_or_not():
        plain = make(model, 4, solver=solver, random_state=0).fit(X)
        fitted = make(
            model, 4, solver=solver, random_state=0, callback=lambda p: seen.append(p.objective)
        ).fit(X * scale)
    assert difference(fitted.codes_, plain.codes_) < 1e-10
    assert difference(fitted.components_ / scale, plain.components_) < 1e-10
    assert difference(fitted.residuals_ / scale, plain.residuals_) < 1e-10
    size = scale**plain.loss_.power
    assert fitted.objective_ / size == pytest.approx(plain.objective_, rel=1e-12)
    assert seen[0] == pytest.approx(fitted.objective_history_[0], rel=1e-12)
    new = data(9, 12, seed=7, nonnegative=model == "NMF")
    assert difference(fitted.transform(new * scale), plain.transform(new)) < 1e-6
    assert difference(fitted.outlier_scores(X * scale) / scale, plain.outlier_scores(X)) < 1e-8


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**-50, 2.0**50, 2.0**100])
@pytest.mark.parametrize("model", MODELS)
def test_single_precision_of_any_scale(model: str, scale: float) -> None:
    X = data(60, 12, nonnegative=model == "NMF").astype(np.float32)
    plain = make(model, 4, random_state=0).fit(X)
    fitted = make(model, 4, random_state=0).fit(X * np.float32(scale))
    assert difference(fitted.codes_, plain.codes_) < 1e-3
    assert difference(fitted.components_ / np.float32(scale), plain.components_) < 1e-3


@pytest.mark.parametrize("scale", [2.0**-332, 2.0**332])
def test_batches_and_given_numbers_of_any_scale(scale: float) -> None:
    """Penalties, a scale of the loss and a start are in the units of X."""
    X = data(80, 6)
    first, last = X[:50], X[50:]
    plain = SemiNMF(3, random_state=0).partial_fit(first).partial_fit(last)
    fitted = SemiNMF(3, random_state=0).partial_fit(first * scale).partial_fit(last * scale)
    assert difference(fitted.components_ / scale, plain.components_) < 1e-6
    U0, V0 = start(80, 6, 3)
    given: dict[str, Any] = {"tol": 0, "max_iter": 20, "l1": 1e-3}
    plain = RobustSemiNMF(3, loss=Huber(0.5), alpha=0.2, beta=3.0, init=(U0, V0), **given).fit(X)
    fitted = RobustSemiNMF(
        3, loss=Huber(0.5 * scale), alpha=0.2 * scale, beta=3.0, init=(U0 * scale, V0), **given
    ).fit(X * scale)
    assert difference(fitted.codes_, plain.codes_) < 1e-8
    assert fitted.objective_ / scale == pytest.approx(plain.objective_, rel=1e-9)
    assert (fitted.alpha_, fitted.beta_) == pytest.approx((0.2 * scale, 3.0))
    assert fitted.l1_ / scale == pytest.approx(plain.l1_)
    assert fitted.loss_.scale == pytest.approx(0.5 * scale)


def test_a_penalty_out_of_proportion_is_refused() -> None:
    X = data(20, 16) * 1e-60
    with pytest.raises(ValueError, match=r"beta=9\.8e\+60 is out of all proportion to X"):
        GraphSemiNMF(1, beta=9.8e60).fit(X)


def test_the_objective_is_that_of_the_factors() -> None:
    """Where parts cancel each other, residuals are not known from products."""
    rng = np.random.default_rng(0)
    X = sp.random_array((31, 60), density=0.3, rng=rng, format="csr")
    init = start(31, 60, 31)
    with converging_or_not():
        models = [
            GraphSemiNMF(31, alpha=0, beta=0, max_iter=2, init=init).fit(X),
            L21SemiNMF(18, solver="mu", random_state=0, max_iter=40).fit(data(100, 1)),
        ]
    for model, samples in zip(models, (X, data(100, 1)), strict=True):
        p = problem(model, samples, None if model.alpha_ == 0 else _links(model))
        J = reference.objective(p, model.components_.T, model.codes_)
        nothing = reference.objective(p, 0 * model.components_.T, 0 * model.codes_)
        assert abs(model.objective_ - J) <= 1e-9 * J + 1e-13 * nothing
        r = reference.residuals(p.X, model.components_.T, model.codes_)
        np.testing.assert_allclose(model.residuals_, r, rtol=1e-9, atol=1e-12 * np.abs(p.X).max())


def _links(model: Any) -> Any:
    return model._links.maximum(model._links.T)


@pytest.mark.parametrize("shape", [(31, 17), (33, 60)])
def test_codes_are_those_of_transform(shape: tuple[int, int]) -> None:
    """Also after few iterations, and where scales of parts have drifted apart."""
    n, m = shape
    X = np.abs(data(n, m))
    X[::3] = 1.0
    X[X < 1.5] *= np.arange(1, n + 1)[:, None].repeat(m, 1)[X < 1.5] % 2
    with converging_or_not():
        for model in (SemiNMF(17, max_iter=2), NMF(min(n, m), max_iter=2, random_state=0)):
            model.fit(X)
            lengths = np.linalg.norm(X, axis=1)
            here, there = (
                np.linalg.norm(X - codes @ model.components_, axis=1)
                for codes in (model.codes_, model.transform(X))
            )
            assert np.abs(here - there).max() <= 1e-6 * lengths.max()


def test_a_penalty_frees_codes_that_fit_exactly() -> None:
    """Least squares as the start would hold them where the residual is zero."""
    rng = np.random.default_rng(0)
    X = data(17, 2) * 10.0 ** rng.uniform(-4, 4, 2)
    with converging_or_not():
        model = L21SemiNMF(16, alpha=0, l1=0.1, max_iter=10, tol=0, random_state=0).fit(X)
    codes = model.transform(X)

    def values(V: Any) -> Any:
        return np.linalg.norm(X - V @ model.components_, axis=1) + model.l1_ * V.sum(axis=1)

    assert (values(codes) <= values(model.codes_) * (1 + 1e-6)).all()
    assert (values(codes) <= np.linalg.norm(X, axis=1) * (1 + 1e-9)).all()


def test_few_iterations_of_single_precision_are_finite() -> None:
    X = np.abs(data(5, 7)).astype(np.float32)
    with converging_or_not():
        assert np.isfinite(NMF(5, max_iter=1).fit(X).kkt_residual_)


@pytest.mark.parametrize("init", ["kmeans", "auto", "exemplar"])
@pytest.mark.parametrize("model", MODELS)
def test_wide_indices(model: str, init: str) -> None:
    X = np.abs(data(40, 8)) * (np.random.default_rng(0).random((40, 8)) < 0.5)
    narrow = sp.csr_array(X)
    wide = narrow.copy()
    wide.indices, wide.indptr = narrow.indices.astype(np.int64), narrow.indptr.astype(np.int64)
    found = [make(model, 3, init=init, random_state=0).fit(x) for x in (narrow, wide)]
    np.testing.assert_array_equal(found[0].codes_, found[1].codes_)
    np.testing.assert_array_equal(found[0].transform(narrow), found[1].transform(wide))
    assert wide.indices.dtype == np.int64
