"""``transform``: the solution of each sample's own convex problem, by trusted slow solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, nnls
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

import reference
from helpers import GRAPH_MODELS, KINDS, cone, converging_or_not, data, make, start

FREE = [model for model, penalised in KINDS if not penalised]
kinds = pytest.mark.parametrize(("model", "penalised"), KINDS)


def fit(model: str, X: Any, k: int = 3, **parameters: Any) -> Any:
    with converging_or_not():
        return make(model, k, max_iter=300, random_state=0, **parameters).fit(X)


def nearest_codes(fitted: Any, X: Any, x: Any, p: int = 5) -> Any:
    """Of the training samples nearest to x where the model compares samples."""
    directions = fitted._projector.index.recipe.directions
    axes = np.eye(X.shape[1]) if directions is None else directions
    search = NearestNeighbors(n_neighbors=p, algorithm="brute").fit(X @ axes)
    return fitted.codes_[search.kneighbors(x[None] @ axes, return_distance=False)[0]]


# --- without a graph: non-negative least squares --------------------------------------------------


@pytest.mark.parametrize("model", FREE)
@pytest.mark.parametrize("shape", [(40, 7), (25, 90)])
def test_equals_nnls(model: str, shape: tuple[int, int]) -> None:
    X = data(*shape, nonnegative=model == "NMF")
    new = data(30, shape[1], 5, nonnegative=model == "NMF")
    fitted = fit(model, X, penalised=False)
    codes = fitted.transform(new)
    expected = np.array([nnls(fitted.components_.T, x)[0] for x in new])
    np.testing.assert_allclose(codes, expected, atol=1e-6 * expected.max())
    assert codes.min() >= 0


@pytest.mark.parametrize("model", ["SemiNMF", "L21SemiNMF"])
@pytest.mark.parametrize(
    "basis",
    ["more components than features", "collinear", "opposite", "zero column", "nearly collinear"],
)
def test_residuals_equal_nnls_on_a_degenerate_basis(model: str, basis: str) -> None:
    """Where codes are not unique, the residual is; and the codes stay of reasonable size."""
    rng = np.random.default_rng(2)
    U = rng.normal(size=(6, 5))
    if basis == "more components than features":
        U = rng.normal(size=(6, 11))
    elif basis == "collinear":
        U[:, 3], U[:, 4] = U[:, 0], 2 * U[:, 1]
    elif basis == "opposite":
        U[:, 3], U[:, 4] = -U[:, 0], U[:, 1] + U[:, 2]
    elif basis == "zero column":
        U[:, 2] = 0
    else:
        U[:, 3] = U[:, 0] + 1e-7 * rng.normal(size=6)
    X = data(30, 6)
    k = U.shape[1]
    fitted = fit(model, X, k, penalised=False)
    # The projection with a basis of our choice: one iteration cannot be asked to keep it.
    fitted._projector = type(fitted._projector)(
        **{**vars(fitted._projector), "basis": np.ascontiguousarray(U)}
    )
    new = data(40, 6, 7)
    codes = fitted.transform(new)
    expected = np.array([nnls(U, x)[1] for x in new])
    found = np.linalg.norm(new - codes @ U.T, axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert codes.min() >= 0
    assert codes.max() < 1e6


@pytest.mark.parametrize("model", FREE)
def test_samples_of_the_cone_are_reproduced(model: str) -> None:
    X = data(40, 12, nonnegative=model == "NMF")
    fitted = fit(model, X, penalised=False)
    codes = np.random.default_rng(0).gamma(1, 1, (20, 3))
    codes[codes < 0.3] = 0
    np.testing.assert_allclose(fitted.transform(codes @ fitted.components_), codes, atol=1e-7)


def test_scale_of_new_samples_does_not_matter() -> None:
    fitted = fit("SemiNMF", data(40, 7))
    new = data(10, 7, 5)
    for scale in (1e-120, 1e-8, 1e8, 1e120):
        np.testing.assert_allclose(fitted.transform(scale * new), scale * fitted.transform(new))
    assert (fitted.transform(np.zeros((2, 7))) == 0).all()


# --- with a graph ---------------------------------------------------------------------------------


def slow_minimum(model: str, x: Any, U: Any, anchors: Any, alpha: float) -> float:
    """The least value that L-BFGS-B finds from many starts, sharpening a smoothed norm."""
    power = 1 if model == "L21SemiNMF" else 2

    def smooth(v: Any, width: float) -> tuple[float, Any]:
        error = U @ v - x
        ties = v - anchors
        if power == 2:
            gradient = 2 * U.T @ error + 2 * alpha * ties.sum(axis=0)
            return float(error @ error + alpha * (ties**2).sum()), gradient
        length = np.sqrt(error @ error + width**2)
        lengths = np.sqrt((ties**2).sum(axis=1) + width**2)
        gradient = U.T @ error / length + alpha * (ties / lengths[:, None]).sum(axis=0)
        return float(length + alpha * lengths.sum()), gradient

    best = np.inf
    for v in (nnls(U, x)[0], anchors.mean(axis=0), *anchors):
        best = min(best, reference.transform_objective(model, x, U, v, anchors, alpha))
        for width in (1e-1, 1e-3, 1e-5, 1e-7, 1e-8):
            found = minimize(
                smooth, v, (width,), "L-BFGS-B", jac=True, bounds=[(0, None)] * len(v),
                options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 3000},
            )  # fmt: skip
            v = found.x
            best = min(best, reference.transform_objective(model, x, U, v, anchors, alpha))
    return best


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("strength", [1e-6, 1e-3, 3e-2], ids=["weak", "default", "strong"])
@pytest.mark.parametrize("shape", [(40, 7), (25, 60)])
def test_with_a_graph_equals_a_slow_optimiser(
    model: str, strength: float, shape: tuple[int, int]
) -> None:
    X = data(*shape)
    fitted = fit(model, X, strength=strength)
    new = np.vstack([data(6, shape[1], 5), X[:3] + 1e-3, 20 * X[3:5]])
    # A sample inside the cone and its neighbours at the same place: both kinks at once.
    new = np.vstack([new, fitted.codes_[:2] @ fitted.components_])
    U = fitted.components_.T
    for x, v in zip(new, fitted.transform(new), strict=True):
        anchors = nearest_codes(fitted, X, x)
        found = reference.transform_objective(model, x, U, v, anchors, fitted.alpha_)
        least = slow_minimum(model, x, U, anchors, fitted.alpha_)
        # Where both kinks meet the objective is nearly zero, and round-off is that of the sample.
        assert found <= least * (1 + 1e-6) + 1e-8 * np.linalg.norm(x)
        assert v.min() >= 0


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_a_far_sample_in_the_batch_does_not_matter(model: str) -> None:
    X = data(40, 7)
    fitted = fit(model, X)
    new = data(10, 7, 5)
    alone = fitted.transform(new)
    batch = fitted.transform(np.vstack([new, 1e9 * new[:1]]))[:10]
    np.testing.assert_allclose(batch, alone, atol=1e-6 * alone.max())


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_with_a_transformer_as_graph(model: str) -> None:
    """New samples are tied to as many training samples as ``graph="knn"`` ties them to."""
    X, new = data(40, 7), data(10, 7, 5)
    given = fit(model, X, graph=KNeighborsTransformer(n_neighbors=5))
    plain = fit(model, X, graph="knn", n_neighbors=5)
    np.testing.assert_allclose(given.codes_, plain.codes_, atol=1e-9)
    np.testing.assert_allclose(given.transform(new), plain.transform(new), atol=1e-6)


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_with_a_given_matrix_new_samples_go_to_their_nearest(model: str) -> None:
    X, new = data(40, 7), data(4, 7, 5)
    W = sp.csr_array(reference.neighbour_graph(X, 3))
    fitted = fit(model, X, graph=W, n_neighbors=4)
    for x, v in zip(new, fitted.transform(new), strict=True):
        anchors = nearest_codes(fitted, X, x, 4)
        found = reference.transform_objective(
            model, x, fitted.components_.T, v, anchors, fitted.alpha_
        )
        least = slow_minimum(model, x, fitted.components_.T, anchors, fitted.alpha_)
        assert found <= least * (1 + 1e-6)


# --- training samples -----------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("form", ["plain", "duplicates", "subset", "wide", "float32"])
def test_training_samples_get_their_codes(model: str, penalised: bool, form: str) -> None:
    X = data(30, 60 if form == "wide" else 7, nonnegative=model == "NMF")
    if form == "duplicates":
        X = np.vstack([X, X[:10], X[:4], np.zeros((2, 7))])
    if form == "float32":
        X = X.astype(np.float32)
    fitted = fit(model, X, penalised=penalised)
    rows = np.array([3, 17, 4]) if form == "subset" else np.arange(len(X))
    tolerance = 2e-4 if form == "float32" else 1e-8
    codes = fitted.transform(X[rows])
    np.testing.assert_allclose(codes, fitted.codes_[rows], atol=tolerance * fitted.codes_.max())


@pytest.mark.parametrize("model", ["SemiNMF", "L21SemiNMF"])
def test_training_samples_get_their_codes_also_with_many_components(model: str) -> None:
    """k > m: non-negative least squares has many solutions, and the fit's is to be returned."""
    X = data(30, 4)
    fitted = fit(model, X, 7, penalised=False)
    np.testing.assert_allclose(fitted.transform(X), fitted.codes_, atol=1e-6 * fitted.codes_.max())
    assert fitted.codes_.max() * np.abs(fitted.components_).max() < 1e6 * np.abs(X).max()


@kinds
def test_fit_transform_returns_the_codes(model: str, penalised: bool) -> None:
    X = data(30, 7, nonnegative=model == "NMF")
    estimator = make(model, 3, penalised=penalised, tol=0, max_iter=20)
    codes = estimator.fit_transform(X)
    np.testing.assert_array_equal(codes, estimator.codes_)


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_given_start_with_equal_samples(model: str) -> None:
    """Equal samples that the fit told apart: transform gives one of their codes."""
    X = data(20, 6)
    X[5] = X[6]
    fitted = fit(model, X, init=start(20, 6, 3))
    codes = fitted.transform(X)
    others = [i for i in range(20) if i not in (5, 6)]
    np.testing.assert_allclose(codes[others], fitted.codes_[others], atol=1e-9)
    assert any(np.allclose(codes[5], fitted.codes_[i]) for i in (5, 6))


# --- forms of data --------------------------------------------------------------------------------


@kinds
def test_batches_equal_the_whole(model: str, penalised: bool) -> None:
    X = data(40, 7, nonnegative=model == "NMF")
    new = data(23, 7, 5, nonnegative=model == "NMF")
    fitted = fit(model, X, penalised=penalised)
    whole = fitted.transform(new)
    parts = np.vstack([fitted.transform(new[i : i + 4]) for i in range(0, 23, 4)])
    single = np.vstack([fitted.transform(x[None]) for x in new])
    np.testing.assert_allclose(parts, whole, atol=1e-7 * whole.max())
    np.testing.assert_allclose(single, whole, atol=1e-7 * whole.max())


@kinds
def test_single_precision(model: str, penalised: bool) -> None:
    X = cone(40, 12, 3, nonnegative=model == "NMF")
    new = cone(10, 12, 3, 5, nonnegative=model == "NMF")
    single = fit(model, X.astype(np.float32), penalised=penalised)
    codes = single.transform(new.astype(np.float32))
    assert codes.dtype == np.float32
    assert single.codes_.dtype == single.components_.dtype == np.float32
    double = fit(model, X.astype(np.float32).astype(np.float64), penalised=penalised)
    assert double.transform(new).dtype == np.float64
    # Of the same model, in the other precision.
    mixed = single.transform(new)
    np.testing.assert_allclose(codes, mixed, atol=1e-3 * mixed.max())


@kinds
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("fitted_on", ["sparse", "dense"])
@pytest.mark.parametrize("samples", ["new", "training"])
def test_sparse_equals_dense_also_when_mixed(
    model: str, penalised: bool, container: Any, fitted_on: str, samples: str
) -> None:
    X = data(40, 9, nonnegative=model == "NMF")
    new = data(10, 9, 5, nonnegative=model == "NMF")
    X[np.abs(X) < 1], new[np.abs(new) < 1] = 0, 0
    new = X[5:15] if samples == "training" else new
    dense = fit(model, X, penalised=penalised)
    fitted = fit(model, container(X), penalised=penalised) if fitted_on == "sparse" else dense
    expected = dense.transform(new)
    tolerance = 1e-6 * expected.max()
    np.testing.assert_allclose(fitted.transform(container(new)), expected, atol=tolerance)
    np.testing.assert_allclose(fitted.transform(new), expected, atol=tolerance)


@kinds
def test_inverse_transform(model: str, penalised: bool) -> None:
    X = data(30, 7, nonnegative=model == "NMF")
    fitted = fit(model, X, penalised=penalised)
    back = fitted.inverse_transform(fitted.codes_)
    np.testing.assert_allclose(back, fitted.codes_ @ fitted.components_)
    np.testing.assert_allclose(np.linalg.norm(X - back, axis=1), fitted.residuals_, rtol=1e-6)
    assert fitted.inverse_transform(fitted.codes_.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match=r"4 columns.*have 3.*transform returned"):
        fitted.inverse_transform(np.ones((2, 4)))
