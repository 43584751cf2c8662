"""`FactorKMeans`: k-means on the codes of a factorization."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import CLASSES, GRAPH_MODELS, converging_or_not, data, make
from seminmf import FactorKMeans, L21SemiNMF, SemiNMF
from seminmf.datasets import add_outliers, make_waveform
from seminmf.embedding import far_fence
from seminmf.metrics import majority_accuracy, matched_accuracy
from seminmf.models.clustering import _reading_of_codes
from seminmf.models.reading import Middle

models = pytest.mark.parametrize("model", CLASSES)


def clusters(n: int = 90, m: int = 8, seed: int = 0) -> tuple[Any, Any]:
    """Three far clusters of non-negative samples."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centres = np.zeros((3, m))
    for c in range(3):
        centres[c, 2 * c : 2 * c + 2] = 10
    return np.abs(centres[y] + 0.3 * rng.normal(size=(n, m))), y


@models
@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_far_clusters_are_found(model: str, solver: str) -> None:
    X, y = clusters()
    factorizer = make(model, 3, solver=solver, init="kmeans", max_iter=100, random_state=0)
    with converging_or_not():
        search = FactorKMeans(factorizer, random_state=0)
        labels = search.fit_predict(X)
    assert matched_accuracy(y, labels) == 1
    np.testing.assert_array_equal(labels, search.labels_)
    assert search.cluster_centers_.shape == (3, 3)
    assert search.n_features_in_ == 8


def test_few_samples_of_many_noisy_features() -> None:
    """A strength that suits other data leaves no part of these: all were in one cluster."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(3, 200))[y] + 3 * rng.normal(size=(60, 200))
    X -= X.mean(axis=0)
    search = FactorKMeans(L21SemiNMF(3), random_state=0).fit(X)
    assert search.factorizer_.n_active_ > 0
    assert matched_accuracy(y, search.labels_) > 0.8


@pytest.mark.parametrize("given", [{"strength": 1.0}, {"alpha": 50.0, "beta": 50.0}])
def test_no_part_in_use_is_said(given: dict[str, float]) -> None:
    """Penalties that are given stay what they are."""
    X = np.random.default_rng(0).normal(size=(60, 30))
    search = FactorKMeans(L21SemiNMF(4, **given), random_state=0)
    with pytest.warns(ConvergenceWarning) as said:
        search.fit(X)
    assert search.factorizer_.n_active_ == 0
    assert "Choose a smaller strength" in str(said[0].message)
    with pytest.warns(ConvergenceWarning):
        search.set_params(refine=False).fit(X)
    assert set(search.labels_) == {0}


@models
def test_predict(model: str) -> None:
    X, _ = clusters()
    new, y_new = clusters(30, seed=5)
    with converging_or_not():
        search = FactorKMeans(make(model, 3, init="kmeans", random_state=0), random_state=0).fit(X)
    np.testing.assert_array_equal(search.predict(X), search.labels_)
    labels = search.predict(new)
    assert matched_accuracy(y_new, labels) == 1
    # One numbering for old and new samples.
    for cluster in range(3):
        own = {search.labels_[i] for i in range(90) if i % 3 == cluster}
        assert own == set(labels[y_new == cluster])


def test_number_of_clusters() -> None:
    X, _ = clusters()
    with converging_or_not():
        assert len(set(FactorKMeans(SemiNMF(4), random_state=0).fit(X).labels_)) == 4
        assert len(set(FactorKMeans(SemiNMF(4), 2, random_state=0).fit(X).labels_)) == 2


def test_the_factorizer_is_cloned() -> None:
    X, _ = clusters()
    factorizer = SemiNMF(3, init="random", tol=0, max_iter=5)
    search = FactorKMeans(factorizer, random_state=0).fit(X)
    assert not hasattr(factorizer, "codes_")
    assert factorizer.random_state is None
    assert search.factorizer_ is not factorizer
    assert search.factorizer is factorizer


def test_the_seed_decides() -> None:
    X = np.random.default_rng(0).normal(size=(60, 8))
    factorizer = SemiNMF(4, init="random", tol=0, max_iter=10)
    first, again, other = (
        FactorKMeans(factorizer, random_state=seed).fit(X).factorizer_.codes_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    own = [
        FactorKMeans(clone(factorizer).set_params(random_state=7), random_state=seed)
        .fit(X)
        .factorizer_.codes_
        for seed in (0, 1)
    ]
    np.testing.assert_array_equal(*own)


@pytest.mark.parametrize(
    "container", [sp.csr_array, sp.csr_matrix, pd.DataFrame, np.asfortranarray]
)
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_forms_of_data(container: Any, model: str) -> None:
    X, y = clusters()
    X[X < 1] = 0
    table = container(X)
    if isinstance(table, pd.DataFrame):
        table.columns = [f"f{i}" for i in range(8)]
    search = FactorKMeans(make(model, 3, init="kmeans", tol=0, max_iter=30), random_state=0)
    labels = search.fit_predict(table)
    assert matched_accuracy(y, labels) == 1
    np.testing.assert_array_equal(search.predict(table), labels)
    if isinstance(table, pd.DataFrame):
        assert search.feature_names_in_.tolist() == list(table.columns)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_a_factorizer_that_returns_tables(container: str) -> None:
    X, _ = clusters()
    factorizer = SemiNMF(3, tol=0, max_iter=30).set_output(transform=container)
    search = FactorKMeans(factorizer, random_state=0).fit(X)
    np.testing.assert_array_equal(search.predict(X), search.labels_)


def test_other_factorizers() -> None:
    X, y = clusters()
    pipeline = make_pipeline(StandardScaler(), L21SemiNMF(4, tol=0, max_iter=50))
    search = FactorKMeans(pipeline, 3, random_state=0).fit(X)
    assert set(search.labels_) == {0, 1, 2}
    np.testing.assert_array_equal(search.predict(X), search.labels_)
    other = FactorKMeans(TruncatedSVD(3, random_state=0), random_state=0)
    assert matched_accuracy(y, other.fit_predict(X)) == 1
    # A pipeline has no n_components of its own: the message must say what to pass.
    with pytest.raises(ValueError, match=r"n_clusters.*None"):
        FactorKMeans(pipeline).fit(X)


class Foreign(TransformerMixin, BaseEstimator):
    """A factorization of somebody else."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def fit(self, X: Any, y: Any = None) -> Any:
        return self

    def transform(self, X: Any) -> Any:
        return self.made(abs(X[:, :3]))


@pytest.mark.parametrize(
    ("made", "told"),
    [(lambda V: V * np.nan, "ndarray of float64, shape"), (lambda V: V[1:], r"shape \(39, 3\)"),
     (lambda V: V[:, 0], r"shape \(40,\)"), (lambda V: V[:, :0], r"shape \(40, 0\)"),
     (lambda V: None, "got NoneType"), (lambda V: V + 1j, "of complex128"),
     (sp.csr_array, "got csr_array")],
)  # fmt: skip
def test_codes_that_are_none(made: Any, told: str) -> None:
    """NaN was one cluster, and a row too few one label."""
    X = data(40, 5)
    message = f"factorizer: codes by Foreign have to be finite numbers .* 40 rows, .*{told}"
    with pytest.raises(ValueError, match=message):
        FactorKMeans(Foreign(made), 2, random_state=0).fit(X)
    model = FactorKMeans(Foreign(lambda V: V), 2, random_state=0).fit(X)
    model.factorizer_.made = made
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_nested_parameters_clone_and_pickle() -> None:
    X, _ = clusters()
    search = FactorKMeans(SemiNMF(3, tol=0, max_iter=20), random_state=0)
    search.set_params(factorizer__n_components=2)
    assert search.get_params()["factorizer__n_components"] == 2
    assert clone(search).get_params()["factorizer__n_components"] == 2
    search.fit(X)
    copy = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copy.predict(X), search.labels_)


def test_far_outliers_take_no_cluster_for_themselves() -> None:
    X, y = clusters()
    rng = np.random.default_rng(3)
    X = np.vstack([X, 40 * rng.standard_normal((4, 8))])
    factorizer = L21SemiNMF(3, tol=0, max_iter=50)
    labels = FactorKMeans(factorizer, random_state=0).fit_predict(X)
    assert labels.shape == (94,)
    assert matched_accuracy(y, labels[:90]) > 0.9


@pytest.mark.parametrize(("share", "graph"), [(0.2, "auto"), (0.2, "knn"), (0.35, "knn")])
def test_many_outliers_take_no_clusters(share: float, graph: str) -> None:
    """A third is too many for the leading directions: they are then those of the outliers too."""
    X, y = clusters(150)
    X, outlier = add_outliers(X, share, scale=20.0, random_state=0)
    search = FactorKMeans(L21SemiNMF(3, graph=graph), random_state=0)
    with converging_or_not():
        search.fit(X)
    assert majority_accuracy(y[~outlier], search.labels_[~outlier]) > 0.95


def test_outliers_with_parts_of_their_own_make_no_clusters() -> None:
    X, y = make_waveform(400, random_state=0)
    X, outlier = add_outliers(X, 0.05, random_state=0)
    search = FactorKMeans(L21SemiNMF(8), random_state=0).fit(X)
    codes = search.factorizer_.codes_
    plain = KMeans(8, n_init=10, random_state=0).fit(codes)
    assert np.bincount(plain.labels_).min() == 1
    assert np.bincount(search.labels_).min() > 5
    assert majority_accuracy(y[~outlier], search.labels_[~outlier]) > 0.7


def test_a_small_cluster_that_is_not_far_out_stays() -> None:
    X, y = clusters(60)
    small = np.r_[np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:1]]
    found = FactorKMeans(L21SemiNMF(3), random_state=0)
    with converging_or_not():
        found.fit(X[small])
    assert matched_accuracy(y[small], found.labels_) > 0.9


@pytest.mark.parametrize("rest", [0.0, 1.0])
def test_exact_fits_are_no_yardstick(rest: float) -> None:
    assert far_fence(np.r_[np.zeros(60), np.full(40, rest)]) == rest


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_before_fit(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(FactorKMeans(SemiNMF(2)), method)(np.ones((3, 4)))


def test_the_papers_procedure() -> None:
    """k-means of V, by name."""
    X, _ = make_waveform(200, random_state=0)
    found = FactorKMeans(L21SemiNMF(4), random_state=0, metric="codes", refine=False).fit(X)
    codes = found.factorizer_.codes_
    plain = KMeans(4, n_init=1, init=found.cluster_centers_).fit(codes)
    np.testing.assert_array_equal(found.labels_, plain.labels_)
    np.testing.assert_allclose(found.cluster_centers_, plain.cluster_centers_, rtol=1e-2)
    best = KMeans(4, n_init=10, random_state=0).fit(codes)
    assert found.kmeans_.inertia_ < 1.05 * best.inertia_


def test_fewer_different_samples_than_clusters() -> None:
    X = np.repeat(np.eye(4)[:2], 10, axis=0)
    search = FactorKMeans(SemiNMF(2, tol=0, max_iter=5), n_clusters=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        search.fit(X)
    assert np.isfinite(search.cluster_centers_).all()
    np.testing.assert_array_equal(search.predict(X), search.labels_)


def test_readings_of_older_files_draw_samples_in_as_they_did() -> None:
    model = FactorKMeans(SemiNMF(2, random_state=0), random_state=0).fit(data(40, 5))
    stored = {"metric": "codes", "middle": np.ones(2), "radius": 0.5, "rounds": None}
    reading = _reading_of_codes(stored, model.factorizer_, 2)
    middle = Middle(**reading["middle"])
    far = np.array([[5.0, 1.0]])  # eight times as far away as is usual
    np.testing.assert_allclose(middle.shares(far, None, 0.0), [[8 ** (-2 / 3)]])
