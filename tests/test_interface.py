"""The estimators among scikit-learn's tools: tables, pipelines, searches, routing, pickles."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import seminmf
from helpers import CLASSES, converging_or_not, data, make
from seminmf import FactorKMeans, L21SemiNMF, SemiNMF, Standardized
from seminmf.models.validation import check_seed
from seminmf.selection import SemiNMFSelector

models = pytest.mark.parametrize("model", CLASSES)


@models
def test_names_of_features(model: str) -> None:
    X = data(30, 4, nonnegative=True)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    estimator = make(model, 2, tol=0, max_iter=5).fit(table)
    assert estimator.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert estimator.n_features_in_ == 4
    expected = [f"{model.lower()}{i}" for i in range(2)]
    assert estimator.get_feature_names_out().tolist() == expected
    plain = make(model, 2, tol=0, max_iter=5).fit(X)
    np.testing.assert_allclose(estimator.codes_, plain.codes_, atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(table[["b", "a", "c", "d"]])
    assert not hasattr(estimator.fit(X), "feature_names_in_")


@models
@pytest.mark.parametrize(
    ("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_set_output(model: str, container: str, kind: Any) -> None:
    X = data(30, 4, nonnegative=True)
    estimator = make(model, 2, tol=0, max_iter=5).set_output(transform=container)
    table = estimator.fit_transform(X)
    assert isinstance(table, kind)
    assert list(table.columns) == estimator.get_feature_names_out().tolist()
    np.testing.assert_array_equal(np.asarray(table), estimator.codes_)
    assert isinstance(estimator.codes_, np.ndarray)
    assert isinstance(estimator.transform(X[:5]), kind)
    # Codes as a table go back as well.
    np.testing.assert_allclose(
        estimator.inverse_transform(table), estimator.codes_ @ estimator.components_
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_tables_in(kind: Any) -> None:
    X = data(30, 4)
    table = kind({name: X[:, i] for i, name in enumerate("abcd")})
    fitted = L21SemiNMF(2, tol=0, max_iter=5).fit(table)
    plain = L21SemiNMF(2, tol=0, max_iter=5).fit(X)
    np.testing.assert_allclose(fitted.codes_, plain.codes_, atol=1e-12)
    np.testing.assert_allclose(fitted.transform(table), plain.transform(X), atol=1e-12)


def test_pandas_index_is_kept() -> None:
    table = pd.DataFrame(data(10, 4), index=[f"s{i}" for i in range(10)])
    table.columns = [f"f{i}" for i in range(4)]
    codes = SemiNMF(2, tol=0, max_iter=5).set_output(transform="pandas").fit_transform(table)
    assert codes.index.tolist() == table.index.tolist()


@models
@pytest.mark.parametrize("fitted", [False, True])
def test_clone_and_pickle(model: str, fitted: bool) -> None:
    X = data(30, 4, nonnegative=True)
    estimator = make(model, 2, tol=0, max_iter=5, random_state=3)
    if fitted:
        estimator.fit(X)
    copy = pickle.loads(pickle.dumps(estimator))
    assert clone(estimator).get_params() == copy.get_params() == estimator.get_params()
    assert not hasattr(clone(estimator), "codes_")
    if fitted:
        new = data(5, 4, 9, nonnegative=True)
        np.testing.assert_array_equal(copy.transform(new), estimator.transform(new))


@pytest.mark.parametrize("drawn", [0, 3])
@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_seed_is_copied_like_a_random_state(duplicate: Callable[[Any], Any], drawn: int) -> None:
    numbers = []
    for state in (np.random.RandomState(7), check_seed(7)):
        state.normal(size=drawn)
        twin = duplicate(state)
        numbers.append([twin.normal(size=4), state.normal(size=4), twin.normal(), state.normal()])
    for expected, found in zip(*numbers, strict=True):
        np.testing.assert_array_equal(expected, found)


def test_a_seed_that_is_only_half_made_says_so() -> None:
    bare = object.__new__(type(check_seed(7)))
    assert not hasattr(bare, "normal")


def test_public_names_are_there_from_the_start() -> None:
    assert set(seminmf.__all__) | {"__version__"} <= set(dir(seminmf))
    for name in seminmf.__all__:
        assert getattr(seminmf, name) is getattr(seminmf, name)
    with pytest.raises(AttributeError, match="'seminmf' has no attribute 'nothing'"):
        _ = seminmf.nothing
    code = (
        "import sys, seminmf\n"
        "assert not {'numpy', 'sklearn'} & set(sys.modules)\n"
        "from seminmf import *\n"
        "assert all(name in globals() for name in seminmf.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_pickle_can_be_the_first_thing_that_is_opened() -> None:
    written = pickle.dumps(SemiNMF(3)).hex()
    code = f"import pickle; assert pickle.loads(bytes.fromhex({written!r})).n_components == 3"
    subprocess.run([sys.executable, "-c", code], check=True)


@models
def test_parameters_are_not_touched_by_fit(model: str) -> None:
    estimator = make(model, 2, tol=0, max_iter=5)
    before = dict(estimator.get_params())
    estimator.fit(data(30, 4, nonnegative=True))
    assert estimator.get_params() == before


@models
def test_pipeline(model: str) -> None:
    X = data(40, 6)
    y = (X[:, 0] > 0).astype(int)
    pipeline = make_pipeline(
        MinMaxScaler(), make(model, 3, tol=0, max_iter=20), LogisticRegression()
    )
    pipeline.fit(X[:30], y[:30])
    assert pipeline.predict(X[30:]).shape == (10,)
    names = pipeline[:-1].get_feature_names_out()
    assert names.tolist() == [f"{model.lower()}{i}" for i in range(3)]


def test_grid_search_with_a_scorer() -> None:
    X = data(60, 6)

    def score(estimator: Any, X: Any, y: Any = None) -> float:
        codes = estimator.transform(X)
        return -float(np.linalg.norm(X - estimator.inverse_transform(codes)))

    search = GridSearchCV(
        L21SemiNMF(2, max_iter=50),
        {"n_components": [1, 4], "strength": [1e-4, 1e-2]},
        scoring=score,
        cv=3,
    )
    with converging_or_not():
        search.fit(X)
    assert search.best_params_ == {"n_components": 4, "strength": 1e-4}
    assert search.best_estimator_.codes_.shape == (60, 4)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_grid_search_on_several_threads() -> None:
    X = data(60, 6)
    pipeline = make_pipeline(SemiNMF(2, tol=0, max_iter=5), KMeans(2, n_init=1, random_state=0))
    search = GridSearchCV(pipeline, {"seminmf__n_components": [2, 3]}, cv=2, n_jobs=2)
    with parallel_config("threading"):
        search.fit(X)
    plain = clone(search).set_params(n_jobs=1).fit(X)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


@models
def test_weights_are_routed(model: str) -> None:
    X = data(40, 6, nonnegative=True)
    weights = np.random.default_rng(0).integers(1, 4, 40).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = make(model, 2, tol=0, max_iter=20).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(estimator, KMeans(2, random_state=0).set_fit_request(
            sample_weight=False
        ))  # fmt: skip
        pipeline.fit(X, sample_weight=weights)
    direct = make(model, 2, tol=0, max_iter=20).fit(X, sample_weight=weights)
    unweighted = make(model, 2, tol=0, max_iter=20).fit(X)
    np.testing.assert_allclose(pipeline[0].codes_, direct.codes_)
    assert direct.objective_ != pytest.approx(unweighted.objective_)


@models
def test_documentation_has_every_parameter(model: str) -> None:
    cls = CLASSES[model]
    text = cls.__doc__ or ""
    assert text.strip().splitlines()[2].startswith("Minimises")
    for name in cls().get_params():
        assert f"\n{name} : " in text
    for name in ("components_", "codes_", "kkt_residual_", "residuals_"):
        assert name in text


def test_defaults_are_those_that_users_rely_on() -> None:
    assert L21SemiNMF().get_params() == {
        "n_components": 2, "alpha": "auto", "beta": "auto", "strength": "auto", "graph": "auto",
        "n_neighbors": 5, "l1": 0.0, "solver": "cd", "init": "auto", "n_init": 1, "max_iter": 200,
        "tol": 1e-4, "callback": None, "checkpoint": None, "warm_start": False, "forgetting": 1.0,
        "verbose": 0, "progress": False, "random_state": None, "max_memory": None,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["components_", "n_components_", "reconstruction_err_"])
def test_nothing_is_known_before_a_fit(name: str) -> None:
    assert not hasattr(SemiNMF(2), name)


def test_names_that_users_of_scikit_learn_look_for() -> None:
    X = np.random.default_rng(0).normal(size=(40, 6))
    model = L21SemiNMF(3, random_state=0).fit(X)
    assert model.n_components_ == 3
    rest = X - model.codes_ @ model.components_
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(rest))
    clusters = FactorKMeans(SemiNMF(3), 4, random_state=0).fit(X)
    distances = clusters.transform(X)
    assert distances.shape == (40, 4)
    assert np.array_equal(distances.argmin(axis=1), clusters.labels_)


def _models() -> dict[str, Any]:
    robust = L21SemiNMF(3, random_state=0, max_iter=3, tol=0)
    return {
        "factorization": robust,
        "clusters": FactorKMeans(robust, random_state=0),
        "standardized": Standardized(robust),
        "batches": SemiNMF(3, random_state=0),
        "selector": SemiNMFSelector(robust, candidates=[2, 3], n_runs=0, random_state=0),
    }


@pytest.mark.filterwarnings("ignore:The evidence is weak")
@pytest.mark.parametrize("name", _models())
def test_a_fit_that_comes_to_nothing_leaves_the_model_as_it_was(name: str) -> None:
    """It took the names of features of a table that it refused, and then samples in their order."""
    table = pd.DataFrame(data(60, 8), columns=list("abcdefgh"))
    other = table[list("hgfedcba")]
    model: Any = _models()[name]
    fit = model.partial_fit if name == "batches" else model.fit
    with pytest.raises(ValueError, match="NaN or infinity"):
        fit(table * np.nan)
    for method in ("transform", "predict", "outlier_scores"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                getattr(model, method)(table)
    codes, before = np.asarray(fit(table).transform(table)), dict(vars(model))
    for refused in (other * np.nan, other[["a", "b"]] * np.nan, other.iloc[:2]):
        with pytest.raises(ValueError, match=r"NaN|samples"):
            model.fit(refused)
        assert vars(model) == before
    if name != "selector":
        np.testing.assert_array_equal(model.transform(table), codes)
    with pytest.raises(ValueError, match="same order"):
        model.transform(other)


def test_an_interrupted_fit_leaves_the_model_as_it_was() -> None:
    model = SemiNMF(3, random_state=0).fit(data(40, 6))
    before = dict(vars(model))

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=stop).fit(data(50, 5))
    assert vars(model) == {**before, "callback": stop}
