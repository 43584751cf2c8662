"""Graph models go down in a few leading directions of X before they go on in all features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import reference
from helpers import GRAPH_MODELS, cone, converging_or_not, data, difference, make, problem, value
from seminmf import L21SemiNMF
from seminmf.data import Engine, Space, Subspace, cutting, leading_subspace
from seminmf.data import subspace as module
from seminmf.selection import regularization_path
from seminmf.solve import descent

N, M, K = 150, 60, 3


@pytest.fixture
def small_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subspaces whatever they save."""
    monkeypatch.setattr(module, "_WORTH_MAKING", 0)


@pytest.fixture
def spaces(monkeypatch: pytest.MonkeyPatch) -> list[Space]:
    """All that a run enters; what comes after its end is not looked at."""
    entered: list[Space] = []
    take_up = descent.Descent._take_up

    def watched(self: Any, space: Space) -> None:
        entered.append(space)
        take_up(self, space)

    monkeypatch.setattr(descent.Descent, "_take_up", watched)
    monkeypatch.setattr("seminmf.solve.finishing.Finish.drop_parts", lambda self, solution: None)
    return entered


def stationarity(p: reference.Problem, model: Any) -> float:
    """As in `seminmf.problem.stationarity`, in all features, by whole matrices."""
    return reference.stationarity(p, model.components_.T, model.codes_)


def directions(entered: list[Space]) -> list[bool]:
    return [isinstance(space, Subspace) for space in entered]


def test_directions_are_orthonormal_and_lead() -> None:
    X = data(4_000, 200, rank=8) + 0.01 * data(4_000, 200)
    weights = 1 / np.linalg.norm(X, axis=1)
    found = leading_subspace(Space(Engine(X, 4)), 4, weights)
    assert found is not None
    Q = found.directions
    np.testing.assert_allclose(Q.T @ Q, np.eye(2 * (4 + module.OVERSAMPLING)), atol=1e-12)
    np.testing.assert_allclose(found.engine.storage.X, X @ Q, atol=1e-10 * np.abs(X).max())
    weighted = np.sqrt(weights)[:, None] * X
    best = np.linalg.svd(weighted, compute_uv=False)[:4]
    np.testing.assert_allclose(np.linalg.svd(weighted @ Q, compute_uv=False)[:4], best, rtol=1e-6)


@pytest.mark.parametrize("rank", [1, 5])
def test_directions_of_data_without_so_many(rank: int) -> None:
    X = data(4_000, 200, rank=rank)
    found = leading_subspace(Space(Engine(X, 4)), 4, np.ones(4_000))
    assert found is not None
    np.testing.assert_allclose(
        found.directions.T @ found.directions, np.eye(2 * (4 + module.OVERSAMPLING)), atol=1e-12
    )
    np.testing.assert_allclose(found.engine.storage.X @ found.directions.T, X, atol=1e-10)


def test_directions_with_a_basis_in_them() -> None:
    X, basis = data(4_000, 200), data(200, 4)
    found = leading_subspace(Space(Engine(X, 4)), 4, np.ones(len(X)))
    assert found is not None
    more = found.holding(basis)
    Q, width = more.directions, 2 * (4 + module.OVERSAMPLING) + 4
    np.testing.assert_allclose(Q.T @ Q, np.eye(width), atol=1e-12)
    np.testing.assert_allclose(more.lift(more.lower(basis)), basis, atol=1e-12)
    np.testing.assert_allclose(more.engine.storage.X, X @ Q, atol=1e-10 * np.abs(X).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["within", "zero", "repeated", "axes"])
def test_directions_with_a_basis_that_adds_none(kind: str, dtype: Any) -> None:
    """There are as many as ever, orthonormal, where nothing of the basis lies beyond the others."""
    X = data(4_000, 200).astype(dtype)
    if kind == "axes":
        X[:, 2 * (4 + module.OVERSAMPLING) :] = 0
    found = leading_subspace(Space(Engine(X, 4)), 4, np.ones(len(X), dtype))
    assert found is not None
    own = found.directions
    basis = {
        "within": own @ data(own.shape[1], 4).astype(dtype), "zero": np.zeros((200, 4), dtype),
        "repeated": np.repeat(data(200, 1), 4, axis=1).astype(dtype), "axes": own[:, :4].copy(),
    }[kind]  # fmt: skip
    more = found.holding(basis)
    Q, precision = more.directions, 1e-12 if dtype is np.float64 else 1e-5
    assert Q.dtype == more.engine.dtype == dtype
    np.testing.assert_allclose(Q.T @ Q, np.eye(own.shape[1] + 4), atol=precision)
    held = more.held
    assert held is not None
    np.testing.assert_allclose(Q @ held, basis, atol=10 * precision * np.abs(basis).max())


def test_paths_stay_in_the_leading_directions(spaces: list[Space]) -> None:
    """A fit that goes on from another one of the same path is not cheaper in all features."""
    X = data(2_000, 256, rank=8) + 0.1 * data(2_000, 256)
    regularization_path(X, 8, np.geomspace(1e-4, 1e-3, 3))
    confined = [space.engine.n_features for space in spaces if isinstance(space, Subspace)]
    width = 2 * (8 + module.OVERSAMPLING)
    assert confined == [width, width + 8, width + 8]


def test_no_iteration_in_all_features_that_promises_nothing() -> None:
    """The second fit is at rest in the features it begins in; the basis of the first is in them."""
    X = data(2_000, 256, rank=8) + 0.1 * data(2_000, 256)
    first, second = regularization_path(X, 8, [1e-4, 1.0001e-4]).models
    assert (first.n_iter_ > 2, second.n_iter_) == (True, 1)
    p = problem(second, X)
    assert value(second, X) == pytest.approx(second.objective_, rel=1e-9)
    assert second.kkt_residual_ == pytest.approx(stationarity(p, second), rel=1e-6)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_what_all_features_promise(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first iteration in all features lowers J by more than half of what they promised."""
    promises: list[tuple[float, float]] = []
    promised = descent.Descent.promised

    def noted(self: Any) -> float:
        promises.append((self.value, promised(self)))
        return promises[-1][1]

    monkeypatch.setattr(descent.Descent, "promised", noted)
    X = cone(N, M, 2 * K, noise=0.5)
    found = make(model, K, tol=1e-7, max_iter=2_000).fit(X)
    ((before, fall),) = promises
    history = found.objective_history_.tolist()
    after = history[history.index(before) + 1]
    assert 0 < fall / 2 <= before - after <= 5 * fall


@pytest.mark.usefixtures("small_problems")
def test_what_all_features_do_not_know_of_a_run_that_was_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Products with the basis are not kept: from where the run goes on there are none yet."""
    widen = descent.Descent.widen

    def again(self: Any) -> float:
        state = self.state()
        self.restore({**state, "terms": np.array(state["terms"])})
        return widen(self)

    monkeypatch.setattr(descent.Descent, "widen", again)
    X = cone(N, M, 2 * K, noise=0.5)
    with converging_or_not():
        found = make("L21SemiNMF", K, max_iter=3).fit(X)
    assert found.kkt_residual_ == pytest.approx(stationarity(problem(found, X), found), rel=1e-6)


@pytest.mark.parametrize("kind", ["dense", "single", "sparse", "columns"])
@pytest.mark.parametrize(("n", "m", "width"), [(700, 90, 5), (90, 90, 22), (300, 1_500, 14)])
def test_products_with_the_square(kind: str, n: int, m: int, width: int) -> None:
    X: Any = data(n, m)
    if kind == "single":
        X = X.astype(np.float32)
    elif kind == "columns":
        X = np.asfortranarray(X)
    weights = np.random.default_rng(1).uniform(0.5, 2, n).astype(X.dtype)
    D = np.random.default_rng(2).normal(size=(m, width)).astype(X.dtype)
    expected = X.T @ (weights[:, None] * (X @ D)), X @ D
    engine = Engine(sp.csr_array(X) if kind == "sparse" else X, width)
    products = np.empty((n, width), X.dtype)
    with engine:
        found = engine.square_times(weights, D, products)
    for matrix, other in zip((found, products), expected, strict=True):
        assert difference(matrix, other) < (1e-5 if kind == "single" else 1e-12)


@pytest.mark.parametrize(
    ("shape", "k", "pays"),
    [
        ((2_007, 256), 16, True),
        ((50_000, 784), 20, True),
        ((351, 34), 5, False),
        ((5_000, 21), 10, False),
        ((1_797, 64), 10, False),
        ((50_000, 784), 200, False),
    ],
)
def test_where_it_pays(shape: tuple[int, int], k: int, pays: bool) -> None:
    engine = Engine(np.broadcast_to(1.0, shape), k, squares=np.ones(shape[0]))
    assert module.subspace_pays(engine, k) == pays


def test_products_with_a_sparse_matrix_are_slow() -> None:
    X = sp.random_array((2_000, 1_000), density=0.02, format="csr", rng=np.random.default_rng(0))
    assert module.subspace_pays(Engine(X, 10), 10)
    assert not module.subspace_pays(Engine(X[:, :60], 10), 10)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_a_run_goes_down_in_the_subspace_first(model: str, spaces: list[Space]) -> None:
    X = cone(N, M, K, noise=0.5)
    found = make(model, K).fit(X)
    assert directions(spaces) == [True, False]
    assert value(found, X) == pytest.approx(found.objective_, rel=1e-10)
    history = found.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    p = problem(found, X)
    assert found.kkt_residual_ == pytest.approx(stationarity(p, found), rel=1e-6)
    np.testing.assert_allclose(
        found.residuals_, np.linalg.norm(X - found.codes_ @ found.components_, axis=1)
    )


def check_the_way(model: Any, X: Any, precision: float) -> None:
    """J of the factors that a callback sees is the J that it sees."""
    seen: list[tuple[float, Any]] = []
    with converging_or_not():
        model.set_params(callback=lambda p: seen.append((p.objective, p.factors()))).fit(X)
    p = problem(model, X)
    for objective, factors in seen:
        assert reference.objective(p, *factors) == pytest.approx(objective, rel=precision)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize(("noise", "precision"), [(0.5, 1e-10), (0.003, 1e-8)])
def test_the_objective_on_the_way_is_that_of_all_features(
    model: str, noise: float, precision: float
) -> None:
    """Also where residuals are so small that in all features they would be computed directly."""
    check_the_way(make(model, K, strength=1e-7), cone(N, M, K, noise=noise), precision)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("stop", ["max_iter", "callback"])
def test_a_run_that_ends_in_the_subspace(model: str, stop: str, spaces: list[Space]) -> None:
    X = cone(N, M, K, noise=0.5)
    limit = {"max_iter": 2} if stop == "max_iter" else {"callback": lambda p: p.iteration == 2}
    with converging_or_not():
        found = make(model, K, **limit).fit(X)
    assert directions(spaces) == [True, False]
    assert found.n_iter_ == 2
    assert found.components_.shape == (K, M)
    assert value(found, X) == pytest.approx(found.objective_, rel=1e-10)
    p = problem(found, X)
    assert found.kkt_residual_ == pytest.approx(stationarity(p, found), rel=1e-6)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_it_ends_as_low_as_without(model: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = cone(N, M, K, seed=seed, noise=0.3)
    X[:5] *= 20
    first = make(model, K, tol=1e-7, max_iter=2_000).fit(X)
    monkeypatch.setattr(module, "_WORTH_MAKING", np.inf)
    other = make(model, K, tol=1e-7, max_iter=2_000).fit(X)
    assert first.objective_ <= 1.002 * other.objective_


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("kind", ["sparse", "mapped", "columns", "single", "threads"])
def test_storage(model: str, kind: str, spaces: list[Space], tmp_path: Any) -> None:
    X = cone(N, M, K, noise=0.5)
    X[np.abs(X) < 0.3] = 0
    expected = make(model, K).fit(X)
    spaces.clear()
    Y: Any = X
    if kind == "sparse":
        Y = sp.csr_array(X)
    elif kind == "mapped":
        np.save(tmp_path / "X.npy", X)
        Y = np.load(tmp_path / "X.npy", mmap_mode="r")
    elif kind == "columns":
        Y = np.asfortranarray(X)
    elif kind == "single":
        Y = X.astype(np.float32)
    with threadpool_limits(1 if kind == "threads" else 2):
        found = make(model, K).fit(Y)
    assert directions(spaces) == [True, False]
    assert found.codes_.dtype == Y.dtype
    precision = 1e-3 if kind == "single" else 1e-8
    assert found.objective_ == pytest.approx(expected.objective_, rel=precision)


@pytest.mark.usefixtures("small_problems")
def test_directions_of_compressed_samples(spaces: list[Space]) -> None:
    X = cone(60, 400, 2, noise=0.5)
    found = L21SemiNMF(2).fit(X)
    assert directions(spaces) == [True, False]
    assert spaces[-1].compression is not None
    assert value(found, X) == pytest.approx(found.objective_, rel=1e-10)
    check_the_way(L21SemiNMF(2), X, 1e-10)


@pytest.mark.usefixtures("small_problems")
def test_a_compression_that_waits_is_made_after_the_subspace(
    spaces: list[Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seminmf.solve.factorize.few_samples", lambda engine: False)
    X = cone(60, 400, 2, noise=0.5)
    with converging_or_not():
        found = L21SemiNMF(2, tol=0, max_iter=300).fit(X)
    assert directions(spaces) == [True, False, False]
    assert [space.compression is None for space in spaces] == [True, True, False]
    assert value(found, X) == pytest.approx(found.objective_, rel=1e-10)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("centred", [False, True])
def test_a_path_does_not_wait_for_a_compression(
    centred: bool, spaces: list[Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fits go on in the span of the samples, also where these depend on each other."""
    monkeypatch.setattr("seminmf.solve.factorize.few_samples", lambda engine: False)
    X = cone(60, 400, 2, noise=0.5)
    X = X - X.mean(axis=0) if centred else X
    path = regularization_path(X, 2, np.geomspace(1e-4, 1.2e-4, 3))
    assert all(space.engine.n_features <= 60 for space in spaces)
    for model in path.models:
        assert value(model, X) == pytest.approx(model.objective_, rel=1e-10)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_samples_in_chunks_and_in_another_order(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "_OWN_BLOCK", (1, 2))
    X = cone(N, M, K, noise=0.5)
    ties = sp.eye_array(N, k=1, format="csr") + sp.eye_array(N, k=2, format="csr")
    mixed = np.random.default_rng(0).permutation(N)
    W = sp.csr_array(ties + ties.T)[mixed][:, mixed]
    weights = np.random.default_rng(1).uniform(0.5, 2, N)
    found = make(model, K, graph=W).fit(X)
    assert value(found, X, W) == pytest.approx(found.objective_, rel=1e-10)
    sparse = make(model, K, graph=W).fit(sp.csr_array(X))
    assert sparse.objective_ == pytest.approx(found.objective_, rel=1e-8)
    weighted = make(model, K, graph=W).fit(X, sample_weight=weights)
    blocked = make(model, K, graph=W).fit(sp.csr_array(X), sample_weight=weights)
    assert blocked.objective_ == pytest.approx(weighted.objective_, rel=1e-8)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_order_of_samples(model: str) -> None:
    X = cone(N, M, K, noise=0.5)
    mixed = np.random.default_rng(3).permutation(N)
    found, other = make(model, K).fit(X), make(model, K).fit(X[mixed])
    assert difference(other.codes_, found.codes_[mixed]) < 1e-6


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_an_integer_weight_is_a_repetition(model: str) -> None:
    X = cone(N, M, K, noise=0.5)
    counts = np.random.default_rng(2).integers(1, 4, N)
    weighted = make(model, K).fit(X, sample_weight=counts)
    repeated = make(model, K).fit(np.repeat(X, counts, axis=0))
    assert repeated.objective_ == pytest.approx(weighted.objective_, rel=1e-8)


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize("last", [1, 500])
def test_data_that_are_fitted_almost_exactly(last: int) -> None:
    """In the subspace small residuals are lost to cancellation; not so at the end."""
    X = data(N, M, rank=K) + 1e-9 * data(N, M)
    found = L21SemiNMF(
        K + 1, alpha=1e-12, beta=1e-12, tol=1e-6, max_iter=500,
        callback=lambda p: p.iteration == last,
    ).fit(X)  # fmt: skip
    assert value(found, X) == pytest.approx(found.objective_, rel=1e-6)
    assert np.isfinite(found.objective_history_).all()


@pytest.mark.usefixtures("small_problems")
@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "mu"},
        {"init": "random"},
        {"init": "kmeans"},
        {"init": (np.ones((M, K)), np.ones((N, K)))},
        {"alpha": 0, "beta": 0},
    ],
    ids=["mu", "random", "kmeans", "given", "alone"],
)
def test_other_runs_stay_in_the_space_of_the_features(
    parameters: dict[str, Any], spaces: list[Space]
) -> None:
    X = cone(N, M, K, noise=0.5)
    with converging_or_not():
        L21SemiNMF(K, max_iter=5, random_state=0, **parameters).fit(X)
    assert directions(spaces) == [False]
