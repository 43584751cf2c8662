"""What must not matter: order, unit, a feature of zeros; and the laws of α, β and the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from helpers import GRAPH_MODELS, KINDS, data, difference, make, start, value

seeds = st.integers(0, 2**20)
shapes = st.tuples(st.integers(12, 30), st.integers(3, 20))
kinds = pytest.mark.parametrize(("model", "penalised"), KINDS)
few = settings(max_examples=6)
TIGHT = 1e-8


def run(model: str, X: Any, k: int = 3, *, weights: Any = None, **parameters: Any) -> Any:
    parameters = {"tol": 0, "max_iter": 15, "random_state": 0, **parameters}
    return make(model, k, **parameters).fit(X, sample_weight=weights)


# --- order ----------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("solver", ["cd", "mu"])
@few
@given(shapes, seeds)
def test_order_of_samples(
    model: str, penalised: bool, solver: str, shape: tuple[int, int], seed: int
) -> None:
    X = data(*shape, seed, nonnegative=model == "NMF")
    U0, V0 = start(*shape, 3, seed + 1, nonnegative=model == "NMF")
    mixed = np.random.default_rng(seed).permutation(len(X))
    settings_ = {"penalised": penalised, "solver": solver}
    plain = run(model, X, init=(U0, V0), **settings_)
    other = run(model, X[mixed], init=(U0, V0[mixed]), **settings_)
    assert other.objective_ == pytest.approx(plain.objective_, rel=TIGHT)
    assert difference(other.codes_, plain.codes_[mixed]) < 1e-5
    np.testing.assert_allclose(other.residuals_, plain.residuals_[mixed], rtol=1e-4, atol=1e-6)


@kinds
@few
@given(shapes, seeds)
def test_order_of_samples_with_default_settings(
    model: str, penalised: bool, shape: tuple[int, int], seed: int
) -> None:
    X = data(*shape, seed, nonnegative=model == "NMF")
    mixed = np.random.default_rng(seed).permutation(len(X))
    plain = run(model, X, penalised=penalised)
    other = run(model, X[mixed], penalised=penalised)
    assert other.objective_ == pytest.approx(plain.objective_, rel=TIGHT)
    assert difference(other.codes_, plain.codes_[mixed]) < 1e-5


@kinds
@few
@given(shapes, seeds)
def test_order_of_features(model: str, penalised: bool, shape: tuple[int, int], seed: int) -> None:
    X = data(*shape, seed, nonnegative=model == "NMF")
    U0, V0 = start(*shape, 3, seed + 1, nonnegative=model == "NMF")
    mixed = np.random.default_rng(seed).permutation(shape[1])
    for init, turned in (((U0, V0), (U0[mixed], V0)), ("auto", "auto")):
        plain = run(model, X, penalised=penalised, init=init)
        other = run(model, X[:, mixed], penalised=penalised, init=turned)
        assert other.objective_ == pytest.approx(plain.objective_, rel=TIGHT)
        assert difference(other.components_, plain.components_[:, mixed]) < 1e-5
        assert difference(other.codes_, plain.codes_) < 1e-5


@pytest.mark.parametrize("model", ["SemiNMF", "GraphSemiNMF", "L21SemiNMF"])
@few
@given(shapes, seeds)
def test_rotation_of_features(model: str, shape: tuple[int, int], seed: int) -> None:
    X = data(*shape, seed)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(shape[1],) * 2))[0]
    plain, other = run(model, X), run(model, X @ Q)
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    assert difference(other.codes_, plain.codes_) < 1e-4
    assert difference(other.components_ @ Q.T, plain.components_) < 1e-4


# --- unit and padding -----------------------------------------------------------------------------


@pytest.mark.parametrize("model", GRAPH_MODELS)
@few
@given(shapes, seeds, st.floats(-20, 20))
def test_unit_of_measurement(
    model: str, shape: tuple[int, int], seed: int, exponent: float
) -> None:
    """With automatic α and β: the codes stay, basis and residuals have the unit of X."""
    X = data(*shape, seed)
    c = 10.0**exponent
    plain, other = run(model, X), run(model, c * X)
    power = 1 if model == "L21SemiNMF" else 2
    assert other.objective_ == pytest.approx(c**power * plain.objective_, rel=1e-7)
    assert difference(other.codes_, plain.codes_) < 1e-5
    assert difference(other.components_ / c, plain.components_) < 1e-5
    np.testing.assert_allclose(other.residuals_ / c, plain.residuals_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("c", [1e-12, 1e-6, 1e6, 1e12])
def test_unit_of_measurement_of_the_stationarity(model: str, c: float) -> None:
    """`kkt_residual_` has no unit: the floors of lengths must follow the scale of U and V."""
    X = data(20, 5)
    plain, other = run(model, X), run(model, c * X)
    assert difference(other.codes_, plain.codes_) < 1e-5
    assert other.kkt_residual_ == pytest.approx(plain.kkt_residual_, rel=1e-2)


@kinds
@few
@given(shapes, seeds, st.integers(-40, 40))
def test_unit_of_measurement_of_the_fit(
    model: str, penalised: bool, shape: tuple[int, int], seed: int, exponent: int
) -> None:
    X = data(*shape, seed, nonnegative=model == "NMF")
    c = 2.0**exponent
    plain, other = run(model, X, penalised=penalised), run(model, c * X, penalised=penalised)
    np.testing.assert_allclose(
        other.codes_ @ other.components_ / c, plain.codes_ @ plain.components_, atol=1e-6
    )


@kinds
@few
@given(shapes, seeds, st.data())
def test_a_feature_of_zeros(
    model: str, penalised: bool, shape: tuple[int, int], seed: int, draw: st.DataObject
) -> None:
    X = data(*shape, seed, nonnegative=model == "NMF")
    place = draw.draw(st.integers(0, shape[1]))
    plain = run(model, X, penalised=penalised)
    other = run(model, np.insert(X, place, 0, axis=1), penalised=penalised)
    assert other.objective_ == pytest.approx(plain.objective_, rel=TIGHT)
    assert difference(other.codes_, plain.codes_) < 1e-5
    kept = np.delete(other.components_, place, axis=1)
    assert difference(kept, plain.components_) < 1e-5
    np.testing.assert_allclose(other.components_[:, place], 0, atol=1e-10)


@pytest.mark.parametrize("model", GRAPH_MODELS)
@few
@given(shapes, seeds, st.floats(-3, 3))
def test_the_law_of_alpha_and_beta(
    model: str, shape: tuple[int, int], seed: int, exponent: float
) -> None:
    """J(U/c, cV; α, β) = J(U, V; c^p α, β/c): the same solutions up to the scale of V."""
    X = data(*shape, seed)
    c = 10.0**exponent
    power = 1 if model == "L21SemiNMF" else 2
    plain = run(model, X, alpha=0.3, beta=2.0)
    other = run(model, X, alpha=c**power * 0.3, beta=2.0 / c)
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    assert difference(c * other.codes_, plain.codes_) < 1e-5
    assert difference(other.components_ / c, plain.components_) < 1e-5
    assert other.objective_ == pytest.approx(value(other, X), rel=1e-9)


# --- weights --------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("solver", ["cd", "mu"])
@few
@given(shapes, seeds)
def test_an_integer_weight_is_a_repetition(
    model: str, penalised: bool, solver: str, shape: tuple[int, int], seed: int
) -> None:
    if penalised and solver == "mu":
        return  # There a sample and its copies are different vertices, as in the paper.
    X = data(*shape, seed, nonnegative=model == "NMF")
    times = np.random.default_rng(seed).integers(1, 4, len(X))
    weighted = run(model, X, weights=times, penalised=penalised, solver=solver)
    repeated = run(model, np.repeat(X, times, axis=0), penalised=penalised, solver=solver)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=TIGHT)
    assert difference(np.repeat(weighted.codes_, times, axis=0), repeated.codes_) < 1e-5
    assert (weighted.alpha_, weighted.beta_) == pytest.approx((repeated.alpha_, repeated.beta_))


@kinds
@pytest.mark.parametrize("solver", ["cd", "mu"])
@few
@given(shapes, seeds)
def test_a_weight_of_zero_is_an_absence(
    model: str, penalised: bool, solver: str, shape: tuple[int, int], seed: int
) -> None:
    X = data(*shape, seed, nonnegative=model == "NMF")
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(X))
    weights[:3] = 0
    weighted = run(model, X, weights=weights, penalised=penalised, solver=solver)
    fewer = run(model, X[3:], weights=weights[3:], penalised=penalised, solver=solver)
    assert weighted.objective_ == pytest.approx(fewer.objective_, rel=TIGHT)
    assert difference(weighted.codes_[3:], fewer.codes_) < 1e-5
    # The absent are projected, so that every sample has a code and a residual.
    np.testing.assert_allclose(
        weighted.codes_[:3], fewer.transform(X[:3]), atol=1e-4 * fewer.codes_.max()
    )
    errors = reference.residuals(X, weighted.components_.T, weighted.codes_)
    np.testing.assert_allclose(weighted.residuals_, errors, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_a_weight_of_zero_with_given_graph_and_start(model: str) -> None:
    X = data(20, 6)
    U0, V0 = start(20, 6, 3)
    W = sp.csr_array(reference.neighbour_graph(X, 4))
    weights = np.ones(20)
    weights[[2, 9]] = 0
    kept = weights > 0
    weighted = run(model, X, weights=weights, graph=W, init=(U0, V0))
    fewer = run(model, X[kept], graph=W[kept][:, kept], init=(U0, V0[kept]))
    assert weighted.objective_ == pytest.approx(fewer.objective_, rel=TIGHT)
    np.testing.assert_allclose(weighted.codes_[kept], fewer.codes_, atol=1e-7)


@pytest.mark.parametrize("model", ["NMF", "SemiNMF"])
def test_a_common_weight_changes_nothing_but_the_objective(model: str) -> None:
    X = data(20, 6, nonnegative=True)
    plain, weighted = run(model, X), run(model, X, weights=np.full(20, 2.5))
    assert weighted.objective_ == pytest.approx(2.5 * plain.objective_)
    assert difference(weighted.codes_, plain.codes_) < 1e-6
