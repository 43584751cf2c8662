"""Bad input: an error that names the argument, the value and the remedy, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import seminmf.models.training
from helpers import CLASSES, GRAPH_MODELS, data, make, start
from seminmf import NMF, FactorKMeans, GraphSemiNMF, L21SemiNMF, SemiNMF

models = pytest.mark.parametrize("model", CLASSES)


@pytest.fixture(autouse=True)
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is refused here is refused before a graph is built or an iteration made."""

    def fail(*arguments: Any, **named: Any) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(seminmf.models.training, "factorize", fail)
    for builder in ("links", "by_transformer"):
        monkeypatch.setattr(seminmf.models.training.NeighbourIndex, builder, fail)


def positive(n: int = 20, m: int = 6) -> Any:
    return data(n, m, nonnegative=True)


def refused(estimator: Any, X: Any, *parts: str, **arguments: Any) -> None:
    """A ValueError whose message has all of the ``parts``."""
    with pytest.raises(ValueError) as caught:
        estimator.fit(X, **arguments)
    message = str(caught.value)
    for part in parts:
        assert part in message, message


# --- X --------------------------------------------------------------------------------------------


@models
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_nan_and_infinity(model: str, bad: float, sparse: bool) -> None:
    X = positive()
    X[3, 2] = bad
    word = "NaN" if np.isnan(bad) else "infinity"
    refused(make(model, 2), sp.csr_array(X) if sparse else X, "X", word)


@models
@pytest.mark.parametrize(
    ("shape", "part"),
    [
        ((0, 5), "0 sample(s)"),
        ((5, 0), "0 feature(s)"),
        ((1, 5), "1 sample"),
        ((5,), "Expected 2D array"),
        ((3, 4, 5), "dim 3"),
        ((), "Expected 2D array"),
    ],
)
def test_empty_or_of_wrong_rank(model: str, shape: tuple[int, ...], part: str) -> None:
    refused(make(model, 1), np.ones(shape), part)


@models
@pytest.mark.parametrize("number", [0.0, 3.5])
@pytest.mark.parametrize("sparse", [False, True])
def test_constant(model: str, number: float, sparse: bool) -> None:
    X = np.full((20, 6), number)
    refused(
        make(model, 2), sp.csr_array(X) if sparse else X,
        "X is constant", f"{number:g}", "Check how the data were loaded",
    )  # fmt: skip


def test_negative_for_nmf() -> None:
    X = positive()
    X[4, 1] = -0.25
    parts = ("Negative values", "X", "NMF", "-0.25", "Use SemiNMF or L21SemiNMF")
    refused(NMF(2), X, *parts)
    refused(NMF(2), sp.csr_array(X), *parts)


@models
@pytest.mark.parametrize(
    ("factor", "dtype"), [(1e160, "float64"), (1e-160, "float64"), (1e37, "float32")]
)
def test_out_of_range(model: str, factor: float, dtype: str) -> None:
    X = (positive() * factor).astype(dtype)
    refused(make(model, 2), X, "X has entries up to", dtype, "Rescale X")


@models
def test_text_objects_and_complex_numbers(model: str) -> None:
    refused(make(model, 2), np.array([["a", "b"]] * 10), "convert")
    refused(make(model, 1), np.array([["x", 1]] * 5, dtype=object), "convert")
    refused(make(model, 2), positive() + 1j, "Complex")


# --- numbers --------------------------------------------------------------------------------------


@models
@pytest.mark.parametrize("k", [0, -3, 2.5, "two", None, True])
def test_n_components(model: str, k: Any) -> None:
    refused(make(model, k), positive(), "n_components", repr(k), "at least 1")


@models
def test_more_components_than_samples(model: str) -> None:
    refused(make(model, 21), positive(20, 30), "n_components=21", "n_samples = 20", "<= 20")


def test_more_components_than_features() -> None:
    refused(NMF(7), positive(20, 6), "n_components=7", "n_features = 6", "<= 6")


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("name", ["alpha", "beta"])
@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf, "big", None, True, [1.0]])
def test_penalties(model: str, name: str, bad: Any) -> None:
    refused(make(model, 2, **{name: bad}), positive(), name, repr(bad), '"auto"', "positive")


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("bad", [-1e-3, np.nan, "strong"])
def test_strength(model: str, bad: Any) -> None:
    refused(make(model, 2, strength=bad), positive(), "strength", repr(bad), "zero or positive")


@models
@pytest.mark.parametrize("name", ["max_iter", "n_init"])
@pytest.mark.parametrize("bad", [0, -1, 1.5, "many", None])
def test_counts(model: str, name: str, bad: Any) -> None:
    refused(make(model, 2, **{name: bad}), positive(), name, repr(bad), "at least 1")


@models
@pytest.mark.parametrize("bad", [-1e-4, np.nan, np.inf, "small", None])
def test_tol(model: str, bad: Any) -> None:
    refused(make(model, 2, tol=bad), positive(), "tol", repr(bad), "zero or positive")


@models
@pytest.mark.parametrize("bad", ["loud", 1.5, -1])
def test_verbose(model: str, bad: Any) -> None:
    refused(make(model, 2, verbose=bad), positive(), "verbose", repr(bad))


@models
def test_choices(model: str) -> None:
    refused(make(model, 2, solver="als"), positive(), "solver", "'als'", "'cd', 'mu'")
    refused(make(model, 2, solver=None), positive(), "solver", "None", "'cd', 'mu'")
    refused(make(model, 2, init="best"), positive(), "init", "'best'", "'svd'")
    refused(make(model, 2, callback=3), positive(), "callback", "3", "function")
    refused(make(model, 2, random_state="x"), positive(), "'x'", "seed")
    for seed in (-1, 2**32):
        refused(make(model, 2, random_state=seed), positive(), "Seed must be between 0 and")


# --- neighbours and graphs ------------------------------------------------------------------------


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("bad", [20, 25])
def test_too_many_neighbours(model: str, bad: int) -> None:
    refused(
        make(model, 2, n_neighbors=bad), positive(),
        f"n_neighbors={bad}", "n_samples = 20", "n_neighbors <= 19", "alpha=0",
    )  # fmt: skip


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("bad", [0, -1, 2.5, "five", None])
def test_neighbours_that_are_no_count(model: str, bad: Any) -> None:
    refused(make(model, 2, n_neighbors=bad), positive(), "n_neighbors", repr(bad), "at least 1")


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_graphs(model: str) -> None:
    wrong = sp.csr_array(np.ones((19, 19)))
    refused(make(model, 2, graph=wrong), positive(), "graph", "(19, 19)", "20 samples", "(20, 20)")
    refused(make(model, 2, graph=-wrong), positive(19), "graph", "-1", "zero or positive")
    refused(make(model, 2, graph=wrong * np.nan), positive(19), "graph", "NaN")
    refused(make(model, 2, graph="full"), positive(), "graph", "'full'", "'knn'")
    refused(
        make(model, 2, graph=np.ones((20, 20))), positive(), "graph", "ndarray", "sparse matrix"
    )
    refused(make(model, 2, graph=None), positive(), "graph", "NoneType", '"knn"')


# --- starts ---------------------------------------------------------------------------------------


@models
def test_given_starts(model: str) -> None:
    X = positive()
    U0, V0 = start(20, 6, 2, nonnegative=True)
    parts = ("init", "(n_features, n_components) = (6, 2)")
    refused(make(model, 2, init=(U0.T, V0)), X, *parts, "U0", "(2, 6)")
    refused(make(model, 2, init=(V0, U0)), X, *parts, "U0", "(20, 2)")
    parts = ("init", "V0", "(n_samples, n_components) = (20, 2)")
    refused(make(model, 2, init=(U0, V0[:-1])), X, *parts, "(19, 2)")
    refused(make(model, 2, init=(U0, V0[0])), X, *parts, "(2,)")
    refused(make(model, 2, init=(U0, V0 - 0.5)), X, "init", "V0", "negative", "np.maximum(V0, 0)")
    refused(make(model, 2, init=(U0 * np.nan, V0)), X, "init", "U0", "NaN", "finite")
    refused(make(model, 2, init=(U0, V0 * np.inf)), X, "init", "V0", "infinity", "finite")
    refused(make(model, 2, init=[U0, V0]), X, "init", "list", "tuple (U0, V0)")
    refused(make(model, 2, init=(U0,)), X, "init", "tuple (U0, V0)")
    refused(make(model, 2, init=None), X, "init", "NoneType", "'svd'")
    refused(make(model, 2, init=("a", V0)), X, "init", "U0")
    refused(make(model, 2, init=(U0 * 1j, V0)), X, "init: U0 must be an array of numbers")


def test_negative_basis_for_nmf() -> None:
    U0, V0 = start(20, 6, 2)
    refused(NMF(2, init=(U0, V0)), positive(), "init", "U0", "negative", "np.maximum(U0, 0)")


# --- weights --------------------------------------------------------------------------------------


@models
def test_weights(model: str) -> None:
    X = positive()
    refused(make(model, 2), X, "sample_weight", sample_weight=np.ones(19))
    refused(make(model, 2), X, "sample_weight", sample_weight=-np.ones(20))
    refused(make(model, 2), X, "weight", "NaN", sample_weight=np.full(20, np.nan))
    refused(make(model, 2), X, "weight", "zero", sample_weight=np.zeros(20))
    one = np.zeros(20)
    one[3] = 2
    # Of 20 samples one is left: the message must say why there is only one.
    refused(make(model, 2), X, "n_components=2", "sample_weight", sample_weight=one)


# --- after fit ------------------------------------------------------------------------------------


def test_transform_of_other_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    X = positive()
    for estimator in (NMF(2), SemiNMF(2), GraphSemiNMF(2), L21SemiNMF(2)):
        estimator.set_params(tol=0, max_iter=3).fit(X)
        with pytest.raises(ValueError, match=r"5 features.*expecting 6"):
            estimator.transform(X[:, :5])
        with pytest.raises(ValueError, match="NaN"):
            estimator.transform(X * np.nan)
        with pytest.raises(ValueError, match="NaN"):
            estimator.inverse_transform(np.full((3, 2), np.nan))


def test_negative_new_samples_for_nmf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes of a sample with negative entries are well defined: least squares in the cone."""
    monkeypatch.undo()
    fitted = NMF(2, tol=0, max_iter=3).fit(positive())
    assert fitted.transform(-positive()).max() == 0


def test_factor_kmeans() -> None:
    X = positive()
    refused(FactorKMeans(None), X, "factorizer", "None", "L21SemiNMF")
    refused(FactorKMeans("NMF"), X, "factorizer", "'NMF'", "L21SemiNMF")
    for bad in (0, -1, 2.5, "two"):
        refused(FactorKMeans(SemiNMF(2), n_clusters=bad), X, "n_clusters", repr(bad), "at least 1")
    refused(FactorKMeans(SemiNMF(2), n_clusters=21), X, "n_clusters=21", "n_samples = 20", "fewer")
    refused(FactorKMeans(SemiNMF(2), metric="cosine"), X, "metric", "'cosine'", "'codes'")
    refused(FactorKMeans(SemiNMF(2), refine="no"), X, "refine", "'no'", "True or False")
