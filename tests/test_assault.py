"""What a first assault with generated fits found, each in its smallest form."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.spatial.distance import pdist
from sklearn.neighbors import RadiusNeighborsTransformer

import reference
from helpers import converging_or_not, data, difference, make, problem, start
from seminmf import NMF, FactorKMeans, GraphSemiNMF, L21SemiNMF, RobustSemiNMF, SemiNMF
from seminmf.graph.index import NeighbourIndex, Recipe
from seminmf.losses import Cauchy, Huber
from seminmf.models.reading import metric_root
from seminmf.models.training import warn_of
from seminmf.penalties import L1
from seminmf.solve.loop import Status
from seminmf.solve.projection import Projector

MODELS = ("NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF")
# Powers of two near to powers of ten, so that data of another scale have the same digits.
SCALES = {
    power: 2.0 ** round(power * np.log2(10)) for power in (-149, -100, -20, -11, 20, 100, 149)
}


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


@pytest.mark.parametrize(
    ("single", "wrong", "message"),
    [
        (True, {"alpha": 1e25, "beta": 1.0}, r"alpha=1e\+25 is out of all proportion to X"),
        (False, {"alpha": 1.0, "beta": 1e110}, r"beta=1e\+110 is out of all proportion to X"),
        (False, {"init": 0}, "init: U0 has entries up to .* is out of all proportion to X"),
        (False, {"init": 1}, "init: V0 has entries up to .* is out of all proportion to X"),
    ],
)
def test_numbers_out_of_proportion_to_data_of_ordinary_size(
    single: bool, wrong: dict[str, Any], message: str
) -> None:
    """They came to NaN, and the error told to standardize X."""
    X = data(20, 16).astype(np.float32 if single else np.float64)
    if "init" in wrong:
        factors = list(start(20, 16, 3))
        factors[wrong["init"]] *= 1e200
        wrong = {"init": tuple(factors)}
    with pytest.raises(ValueError, match=message):
        GraphSemiNMF(3, **wrong).fit(X)


@pytest.mark.parametrize(("single", "least"), [(False, 1e-10), (True, 1e-6)])
def test_a_scale_of_the_loss_out_of_proportion(single: bool, least: float) -> None:
    """Where it tells round-off from nothing; Huber's loss does not, it becomes the norm there."""
    X = data(30, 6).astype(np.float32 if single else np.float64)
    length = float(np.median(np.linalg.norm(X, axis=1)))
    message = r"loss=Cauchy\(.* is out of all proportion to X"
    with converging_or_not():
        for scale in (least * length / 3, 1e-44 * length):
            for unit in (1.0, 2.0**-60, 2.0**60):
                with pytest.raises(ValueError, match=message):
                    RobustSemiNMF(3, loss=Cauchy(scale * unit)).fit(X * X.dtype.type(unit))
        far = 1e36 if single else 1e145
        with pytest.raises(ValueError, match=r"loss=Huber\(.* samples are as good as nothing"):
            RobustSemiNMF(3, loss=Huber(far * length)).fit(X)
        RobustSemiNMF(3, loss=Cauchy(10 * least * length), random_state=0).fit(X)
        near = RobustSemiNMF(3, loss=Huber(least * length / 3), random_state=0).fit(X)
        norm = RobustSemiNMF(3, loss="norm", random_state=0).fit(X)
    assert near.objective_ == pytest.approx(norm.objective_, rel=1e-3)


def test_factors_whose_squares_are_out_of_range() -> None:
    """A fit that went on from codes of 1e20 in single precision ended at zero."""
    X = data(40, 6).astype(np.float32)
    given: dict[str, Any] = {"strength": 1e-3, "tol": 0, "max_iter": 4, "warm_start": True}
    with converging_or_not():
        # β follows from α and the strength, and only the product of the two counts.
        plain, far = (L21SemiNMF(3, alpha=a, **given).fit(X) for a in (1.0, 2.0**-70))
        assert far.codes_.max() > 1e20
        assert far.objective_ == pytest.approx(plain.objective_, rel=1e-5)
        assert far.kkt_residual_ == pytest.approx(plain.kkt_residual_, rel=1e-2)
        new = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
        found, expected = (m.inverse_transform(m.transform(new)) for m in (far, plain))
        assert difference(found, expected) < 1e-3
        before = far.objective_
        plain.fit(X)
        far.fit(X)
    assert far.objective_ <= before * (1 + 1e-6)  # which is measured anew
    assert far.objective_ == pytest.approx(plain.objective_, rel=1e-5)


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


def test_a_score_that_is_all_but_zero() -> None:
    """Scores were divided by it, though that was not looked at."""
    X = np.array([[3.0, 0.0], [1e-310, 1.0]])
    with converging_or_not():
        assert np.isfinite(L21SemiNMF(2, graph=sp.csr_array((2, 2)), max_iter=5).fit(X).objective_)


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("model", [NMF, SemiNMF])
def test_samples_that_are_all_but_zero_are_no_parts(model: Any, solver: str) -> None:
    """Codes of the others by such a part were infinite."""
    X = data(33, 3, nonnegative=True)
    X[::2] *= 1e-310
    for seed, init in enumerate(("exemplar", "exemplar", "exemplar", "kmeans")):
        with converging_or_not():
            fitted = model(3, init=init, max_iter=3, tol=0, random_state=seed, solver=solver).fit(X)
        assert fitted.objective_ < (X**2).sum() / 2
    if model is SemiNMF:
        fitted = SemiNMF(3, init="exemplar", max_iter=1, tol=0, random_state=0).fit(X[1::2])
        assert fitted.n_active_ == 3


def test_an_error_tells_no_finite_number_as_infinite() -> None:
    """What was told was J after the codes had been made better."""
    ended = SimpleNamespace(status=Status.NONFINITE, history=[3.0], objective=3.0)
    for solver, remedy in (("cd", False), ("mu", True)):
        with pytest.raises(FloatingPointError, match=r"left the range .* in iteration 1") as told:
            warn_of(ended, SimpleNamespace(solver=solver, tol=0.0))  # type: ignore[arg-type]
        assert ('solver="cd"' in str(told.value)) == remedy


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_scale_of_a_part_makes_no_difference(dtype: Any) -> None:
    """Parts that were short beside others counted as nothing, however large their codes were."""
    X = data(20, 6, nonnegative=True).astype(dtype)
    U0, V0 = start(20, 6, 2, nonnegative=True)
    units = np.array([1.0, 2.0**-60 if dtype is np.float64 else 2.0**-30])
    plain, fitted = (
        NMF(2, init=(U0 * u, V0 / u), max_iter=3, tol=0).fit(X) for u in (np.ones(2), units)
    )
    assert difference(fitted.codes_ * units, plain.codes_) < (
        1e-10 if dtype is np.float64 else 1e-3
    )
    assert fitted.objective_ == pytest.approx(plain.objective_, rel=1e-5)


def test_a_step_that_overflows_on_its_way_to_zero_is_one_to_zero() -> None:
    """Curvature of 1e-280 with a gradient of ordinary size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=100) + 1e-9 * rng.normal(size=(64, 100))
    with converging_or_not():
        model = RobustSemiNMF(
            20, solver="mu", init="svd", loss=Cauchy(1000.0), l1=2e-5, strength=0.0, max_iter=10,
            tol=0, random_state=0,
        ).fit(X)  # fmt: skip
    assert np.isfinite(model.kkt_residual_)


def test_least_squares_with_parts_that_are_nearly_dependent() -> None:
    """Samples of the cone have residuals of round-off; they were 1e-6 of the samples."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        U = rng.normal(size=(31, 8)) * 10 ** rng.uniform(-8, 8, 31)[:, None]
        X = rng.uniform(0, 1, (12, 8)) @ U.T
        left = np.linalg.norm(X - Projector(U).codes(X) @ U.T, axis=1)
        assert (left <= 1e-12 * np.linalg.norm(X, axis=1)).all()


def test_small_residuals_of_large_parts_that_cancel() -> None:
    """Normal equations alone left 1e-10 of the parts, which was much for the samples."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        V = rng.uniform(0.2, 1, 5) + 1e-5 * rng.normal(size=(5, 5))
        X = data(5, 33, seed=seed)
        U = np.linalg.solve(V, X).T
        left = np.linalg.norm(X - Projector(U).codes(X) @ U.T, axis=1)
        assert (left <= 1e-14 * (V @ np.linalg.norm(U, axis=0))).all()


@pytest.mark.parametrize("seed", [3, 9, 14])
def test_enormous_weights_do_not_keep_codes_from_their_best(seed: int) -> None:
    """One sample that is worse by round-off, and counts for more than the others, held all."""
    rng = np.random.default_rng(seed)
    X = data(31, 8) * 10 ** rng.uniform(-8, 8, 8)
    weights = 10 ** rng.uniform(-6, 6, 31)
    with converging_or_not():
        model = L21SemiNMF(30, alpha=0, beta=0, init="svd", max_iter=3, tol=0, random_state=0)
        model.fit(X, sample_weight=weights)
    here, there = (
        np.linalg.norm(X - codes @ model.components_, axis=1)
        for codes in (model.codes_, model.transform(X))
    )
    assert (here <= there + 1e-7 * np.linalg.norm(X, axis=1)).all()


def test_parts_of_which_nothing_is_left_are_zero_after_any_number_of_iterations() -> None:
    """In single precision their products were told as zero, and were not."""
    X = data(16, 33).astype(np.float32)
    with converging_or_not():
        model = RobustSemiNMF(
            2, alpha=0.4, beta=600.0, loss=Cauchy(767.0), max_iter=10, tol=0, random_state=0
        ).fit(X)
    assert model.n_active_ == 0
    assert not model.components_.any()


@pytest.mark.parametrize(("seed", "init"), [(2, "kmeans"), (4, "exemplar")])
def test_copies_in_single_precision_with_many_parts(seed: int, init: str) -> None:
    """Parts that sums in single precision cannot tell apart grew beyond its range."""
    rng = np.random.default_rng(seed)
    X = data(3, 5, seed=seed)[rng.integers(0, 3, 33)].astype(np.float32)
    X[0, 0] *= np.float32(1.0000002)
    weights = 10 ** rng.uniform(-6, 6, 33)
    with converging_or_not():
        model = L21SemiNMF(
            33, alpha=0, beta=0, init=init, max_iter=40, tol=0, random_state=0, n_init=2
        ).fit(X, sample_weight=weights)
    assert np.isfinite(model.components_).all()
    assert model.objective_ <= 1e-5 * weights @ np.linalg.norm(X, axis=1)


def test_infinities_of_both_signs_are_told_by_our_error_alone() -> None:
    X = data(20, 4)
    X[3, 1], X[5, 2] = np.inf, -np.inf
    with pytest.raises(ValueError, match="X has 2 values that are NaN or infinity"):
        SemiNMF(2).fit(X)


def test_neighbours_of_nobody_foretell_no_outliers() -> None:
    X = data(20, 4)
    model = L21SemiNMF(2, graph=RadiusNeighborsTransformer(radius=1e-3), random_state=0).fit(X)
    assert np.isfinite(model.outlier_scores(X)).all()


def test_stationarity_in_single_precision_with_enormous_weights() -> None:
    """Curvatures were beyond its range."""
    rng = np.random.default_rng(0)
    X = (data(2, 100) * 10 ** rng.uniform(-8, 8, 100)).astype(np.float32) * np.float32(1e-3)
    with converging_or_not():
        model = L21SemiNMF(
            1, alpha=0.007, beta=4e-8, l1=0.01, graph=sp.csr_array([[0.0, 1.0], [1.0, 0.0]]),
            max_iter=10, random_state=0,
        ).fit(X, sample_weight=[1e-5, 1e5])  # fmt: skip
        assert np.isfinite(model.kkt_residual_)
        # Sums of squares of codes too, where α is small and β large.
        X, weights = data(31, 3).astype(np.float32) * np.float32(250), 10 ** rng.uniform(-6, 6, 31)
        model = L21SemiNMF(3, alpha=1e-14, beta=1e16, max_iter=10, tol=0, random_state=0)
        model.fit(X, sample_weight=weights)
        assert np.isfinite(model.kkt_residual_)
        # With an outlier the scale of the codes beside the basis was zero.
        X[3] *= np.float32(1e8)
        assert np.isfinite(model.fit(X).objective_)


@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_transform_with_a_penalty_where_samples_are_fitted_exactly(solver: str) -> None:
    """The least sum of codes of all that fit: reweighting alone was held by the first that did."""
    rng = np.random.default_rng(0)
    X = data(12, 3)
    with converging_or_not():
        model = L21SemiNMF(10, alpha=0, l1=1e-4, max_iter=5, tol=0, random_state=0, solver=solver)
        model.fit(X)
    U, mu = model.components_.T, model.l1_
    new = np.vstack([X, X @ rng.normal(size=(3, 3))])
    codes = model.transform(new)
    for x, v in zip(new, codes, strict=True):
        best = linprog(np.ones(10), A_eq=U, b_eq=x)
        here = np.linalg.norm(x - U @ v) + mu * v.sum()
        if best.status == 0:
            assert here <= mu * best.fun * (1 + 1e-6) + 1e-9 * np.linalg.norm(x)


def test_numbers_beyond_the_range_in_the_units_of_x_are_told() -> None:
    """J was inf, and α zero, of fits in which neither was."""
    X = data(20, 4) * 1e148
    assert np.isfinite(SemiNMF(2, random_state=0).fit(X).objective_)
    with pytest.raises(ValueError, match=r"The objective is beyond .* Rescale X, for example X /"):
        SemiNMF(2, random_state=0).fit(X, sample_weight=np.full(20, 1e12))
    with pytest.raises(ValueError, match=r"alpha_ is beyond .* Rescale X, for example X /"):
        GraphSemiNMF(1, beta=1.0, random_state=0).fit(X * 1e-246)


def test_directions_of_a_search_that_do_not_fit_the_features_are_refused() -> None:
    """In a model file from a stranger they came to an IndexError of `outlier_scores`."""
    X = data(12, 4)
    for wrong in (np.zeros(4), np.zeros((3, 2)), np.zeros(())):
        with pytest.raises(ValueError, match="do not fit 4 features"):
            NeighbourIndex(X, 3, Recipe(directions=wrong))


@pytest.mark.parametrize("sparse", [False, True])
def test_parts_of_ordinary_samples_stay_beside_an_outlier(sparse: bool) -> None:
    """They were taken for round-off of its length, and their samples for fitted all the same."""
    X = data(16, 100).astype(np.float32)
    X[4] *= np.float32(1e7)
    stored = sp.csr_array(X) if sparse else X
    model = RobustSemiNMF(16, loss="cauchy", init="exemplar", alpha=0, beta=0, max_iter=1)
    with converging_or_not():
        model.fit(stored)
    lengths = np.linalg.norm(X.astype(np.float64) - model.codes_ @ model.components_, axis=1)
    np.testing.assert_allclose(model.residuals_, lengths, atol=1e-4 * np.linalg.norm(X[0]))
    assert model.n_active_ == 16


@pytest.mark.parametrize(("dtype", "length"), [(np.float64, 1e8), (np.float32, 1e4)])
def test_parts_of_ordinary_features_stay_beside_a_large_one(dtype: Any, length: float) -> None:
    """Squares of residuals are told much farther than round-off of the squares of samples."""
    X = np.abs(np.random.default_rng(0).normal(size=(150, 6)))
    ordinary = NMF(3, random_state=0).fit(X * [1, 1, 1, 1, 1, 100])
    fitted = NMF(3, random_state=0).fit((X * [1, 1, 1, 1, 1, length]).astype(dtype))
    assert fitted.n_active_ == 3
    assert np.all(np.diff(fitted.objective_history_) < 0)
    assert fitted.objective_ < 1.2 * ordinary.objective_  # 5 times with one part


def test_least_squares_after_which_something_is_left_have_all_digits() -> None:
    """Corrected normal equations stopped where 1e-11 was left, which a small scale tells."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(31, 64))[:22] * 10 ** rng.uniform(-8, 8, 64)
    V = np.eye(22) + 4.7e-4 * rng.uniform(0.9999, 1, (22, 22))
    U = np.linalg.solve(V, X).T
    left = np.linalg.norm(X - Projector(U).codes(X) @ U.T, axis=1)
    assert (left <= 1e-12 * np.linalg.norm(X, axis=1)).all()


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_a_fit_that_goes_on_has_the_same_penalties(seed: int) -> None:
    """Of data that are explained as a whole round-off decided how strong they were."""
    X = np.tile(np.random.default_rng(seed).normal(size=100).round(), (4, 1))
    model, weights = L21SemiNMF(1, alpha=1, n_neighbors=1, warm_start=True), [0.4, 2e-4, 3e-4, 150]
    first = model.fit(X, sample_weight=weights).beta_
    assert model.fit(X, sample_weight=weights).beta_ == first


@pytest.mark.parametrize("length", [1e8, 1e15, 1e160])
def test_distances_of_reconstructions_beside_a_long_part(length: float) -> None:
    """Its square took the digits of the others."""
    U, V = start(9, 8, 4)[0], data(20, 4, nonnegative=True)
    model = SemiNMF(4)
    model.components_ = (U * [1, 1, length, 1]).T
    seen = (V / [1, 1, length, 1]) @ metric_root(model, 4)
    np.testing.assert_allclose(pdist(seen), pdist(V @ U.T), rtol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-24, 2.0**10, 2.0**24, 2.0**90])
@pytest.mark.parametrize("model", [L21SemiNMF, GraphSemiNMF])
def test_random_starts_are_in_units_of_the_data(model: Any, scale: float) -> None:
    """Of entries in the thousands nothing was left, by fits that had converged."""
    X = data(80, 10) + 3 * data(3, 10, seed=1).repeat(27, axis=0)[:80]
    expected, found = (
        model(3, init="random", random_state=0).fit(table) for table in (X, X * scale)
    )
    assert found.n_active_ == expected.n_active_ == 3
    unit = scale**expected.loss_.power
    assert found.objective_ / unit == pytest.approx(expected.objective_, rel=1e-3)
    steady = [fitted.certify(X * by, 2, random_state=0).stability_
              for fitted, by in ((expected, 1.0), (found, scale))]  # fmt: skip
    np.testing.assert_allclose(steady[1], steady[0], atol=0.1)


@pytest.mark.parametrize("metric", ["reconstruction", "codes"])
def test_clusters_of_small_differences_beside_a_large_constant(metric: str) -> None:
    """Their squares had no digits of them, and training samples were in other clusters."""
    X = np.outer(np.ones(40), data(1, 6)) + 1e-9 * data(40, 6)
    model = FactorKMeans(SemiNMF(2, random_state=0), n_clusters=3, random_state=0, metric=metric)
    with converging_or_not():
        model.fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)


@pytest.mark.parametrize(("single", "strength"), [(True, 1e50), (False, 1e308)])
def test_a_penalty_on_the_codes_out_of_proportion_is_refused(single: bool, strength: float) -> None:
    X = data(20, 16).astype(np.float32 if single else np.float64)
    with pytest.raises(ValueError, match=r"l1=1e\+\d+ is out of all proportion"):
        L21SemiNMF(2, l1=strength).fit(X)
    with pytest.raises(ValueError, match=r"codes_penalty\.strength=1e\+\d+ is out of all"):
        RobustSemiNMF(2, codes_penalty=L1(strength)).fit(X)


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize(
    ("model", "single", "scale", "given"),
    [
        (RobustSemiNMF, True, 1e15, {"alpha": 1e-10, "l1": 1e-320}),
        (GraphSemiNMF, False, 1, {"alpha": 0, "l1": 1e29}),
    ],
)
def test_penalties_far_from_each_other(
    solver: str, model: Any, single: bool, scale: float, given: dict[str, float]
) -> None:
    """The best scale of the codes beside the basis was zero, or out of range."""
    X = (data(60, 7) * scale).astype(np.float32 if single else np.float64)
    with converging_or_not():
        found = model(2, solver=solver, max_iter=5, tol=0, random_state=0, **given).fit(X)
    assert np.isfinite(found.objective_history_).all()
    assert np.isfinite(found.components_).all()
    assert np.isfinite(found.codes_).all()


def test_parts_that_are_beyond_the_range_in_the_units_of_x() -> None:
    X = (data(60, 7) * 1e15).astype(np.float32)
    model = GraphSemiNMF(2, beta=1e-10, l1=1e-5, max_iter=5, tol=0, random_state=0)
    with converging_or_not(), pytest.raises(ValueError, match="components_ are beyond the range"):
        model.fit(X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.inf, "sample_weight"),
        (np.nan, "sample_weight"),
        (2 + 1j, "Complex data not supported"),
        (1e308, "sample_weight has numbers up to 1e.308, which is out of all proportion"),
        (
            np.full(20, 1e40),
            "sample_weight has numbers up to 1e.40, which is out of all proportion",
        ),
        (
            np.full(20, 1e-40),
            "sample_weight has numbers up to 1e-40, which is out of all proportion",
        ),
    ],
)
def test_weights_out_of_range(weights: Any, message: str) -> None:
    """One number for all samples was not looked at."""
    X = data(20, 6).astype(np.float32)
    with pytest.raises(ValueError, match=message):
        SemiNMF(2).fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        SemiNMF(2).fit(X).partial_fit(X, sample_weight=weights)
