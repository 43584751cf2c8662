"""``solver="mu"``: every iterate equals the printed formulas."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from helpers import CLASSES, GRAPH_MODELS, data, difference, lopsided, make, start
from reference import Problem

ITERATIONS = 50
# n > m, n < m, n ≪ m (where the engine compresses the features), and rank-deficient ones.
SHAPES = {
    "tall": (40, 7, None),
    "wide": (30, 36, None),
    "compressed": (30, 150, None),
    "deficient tall": (50, 12, 6),
    "deficient wide": (40, 60, 8),
    "rank below k": (30, 10, 2),
}
PENALTIES = {"none": (0, 0), "both": (0.3, 2.0), "graph": (0.3, 0), "sparsity": (0, 2.0)}


def cases() -> list[Any]:
    found = []
    for model in CLASSES:
        for shape in SHAPES:
            for penalty in PENALTIES if model in GRAPH_MODELS else ("none",):
                found.append(pytest.param(model, shape, penalty, id=f"{model}-{shape}-{penalty}"))
    return found


def follow(
    model: str, X: Any, k: int, parameters: dict[str, Any], count: int = ITERATIONS
) -> tuple[Any, list[tuple[Any, Any]], tuple[Any, Any]]:
    """Fit from a random start; the estimator, the iterates that its callback saw, the start."""
    begin = start(*X.shape, k, nonnegative=model == "NMF")
    seen: list[tuple[Any, Any]] = []

    def watch(progress: Any) -> None:
        seen.append(progress.factors())

    estimator = make(
        model, k, solver="mu", init=begin, max_iter=count, tol=0, callback=watch, **parameters
    )
    with lopsided():
        estimator.fit(X)
    return estimator, seen, begin


def compare(problem: Problem, estimator: Any, seen: Any, begin: Any, tolerance: float) -> None:
    expected = reference.iterates(problem, *begin, len(seen))
    for (U, V), (U_seen, V_seen) in zip(expected, seen, strict=True):
        assert difference(U_seen, U) <= tolerance
        assert difference(V_seen, V) <= tolerance
    U, V = expected[-1]
    assert difference(estimator.components_.T, U) <= tolerance
    assert difference(estimator.codes_, V) <= tolerance
    values = [reference.objective(problem, U, V) for U, V in expected]
    scale = 1e-13 * np.linalg.norm(problem.X, axis=1).sum()
    np.testing.assert_allclose(estimator.objective_history_, values, rtol=1e-10, atol=scale)
    assert estimator.objective_ == estimator.objective_history_[-1]
    assert estimator.n_iter_ == len(seen)


@pytest.mark.parametrize(("model", "shape", "penalty"), cases())
def test_every_iterate_equals_the_formulas(model: str, shape: str, penalty: str) -> None:
    n, m, rank = SHAPES[shape]
    X = data(n, m, nonnegative=model == "NMF", rank=rank)
    alpha, beta = PENALTIES[penalty]
    parameters: dict[str, Any] = {}
    if model in GRAPH_MODELS:
        parameters = {"alpha": alpha, "beta": beta, "graph": "knn", "n_neighbors": 3}
    W = reference.neighbour_graph(X, 3)
    estimator, seen, begin = follow(model, X, 4, parameters)
    compare(Problem(model, X, W, alpha, beta), estimator, seen, begin, 1e-8)


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("shape", ["tall", "compressed"])
def test_a_given_graph_with_weights(model: str, shape: str) -> None:
    n, m, _ = SHAPES[shape]
    X = data(n, m)
    rng = np.random.default_rng(3)
    W = np.triu(rng.uniform(0.1, 2, (n, n)) * (rng.random((n, n)) < 0.2), 1)
    W = W + W.T
    W[0], W[:, 0] = 0, 0  # a sample without neighbours
    parameters = {"alpha": 0.7, "beta": 1.3, "graph": sp.csr_array(W)}
    estimator, seen, begin = follow(model, X, 3, parameters)
    compare(Problem(model, X, W, 0.7, 1.3), estimator, seen, begin, 1e-8)


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_equal_samples_and_equal_codes(model: str) -> None:
    """Distances of zero between codes: the formulas' floor, and no special case."""
    X = data(20, 6)
    X[5] = X[6] = X[7]
    W = reference.neighbour_graph(X, 3)
    U0, V0 = start(20, 6, 3)
    V0[5] = V0[6] = V0[7]
    seen: list[Any] = []
    estimator = make(
        model, 3, solver="mu", init=(U0, V0), max_iter=20, tol=0, alpha=0.3, beta=2.0,
        graph=sp.csr_array(W), callback=lambda progress: seen.append(progress.factors()) and None,
    ).fit(X)  # fmt: skip
    compare(Problem(model, X, W, 0.3, 2.0), estimator, seen, (U0, V0), 1e-8)


def test_one_component_and_as_many_as_samples() -> None:
    X = data(12, 20)
    for k in (1, 12):
        estimator, seen, begin = follow("L21SemiNMF", X, k, {"alpha": 0, "beta": 0}, 4)
        compare(Problem("L21SemiNMF", X), estimator, seen, begin, 1e-8)


def test_sparse_data_have_the_same_iterates() -> None:
    X = data(30, 12)
    X[np.abs(X) < 1] = 0
    for model in CLASSES:
        Y = np.abs(X) if model == "NMF" else X
        weights = {"alpha": 0.3, "beta": 2.0, "graph": "knn"}
        parameters = weights if model in GRAPH_MODELS else {}
        estimator, seen, begin = follow(model, sp.csr_array(Y), 3, parameters, 20)
        W = reference.neighbour_graph(Y, 5)
        alpha, beta = (0.3, 2.0) if parameters else (0, 0)
        compare(Problem(model, Y, W, alpha, beta), estimator, seen, begin, 1e-8)


def test_samples_that_are_fitted_exactly() -> None:
    """k of 12 samples get residuals of 1e-8 and weights of 1e8: as equal as the formulas allow.

    There the printed formulas lose digits themselves: how many, shows the same iteration with a
    linear solve in place of the inverse.
    """
    X = data(12, 150)
    estimator, seen, begin = follow("L21SemiNMF", X, 4, {"alpha": 0, "beta": 0})
    expected = reference.iterates(Problem("L21SemiNMF", X), *begin, ITERATIONS)
    U, V = begin
    for (U_expected, _), (U_seen, _) in zip(expected, seen, strict=True):
        d = 1 / np.maximum(reference.residuals(X, U, V), reference.EPS)[:, None]
        U = np.linalg.solve(V.T @ (d * V), V.T @ (d * X)).T
        phi, omega = X @ U, U.T @ U
        V = V * np.sqrt(
            (reference.plus(phi) + V @ reference.minus(omega))
            / (reference.minus(phi) + V @ reference.plus(omega))
        )
        spread = difference(U, U_expected)
        assert difference(U_seen, U_expected) <= max(1e-11, 30 * spread)
    assert reference.residuals(X, *expected[-1]).min() < 1e-6
    assert estimator.objective_ == pytest.approx(
        reference.objective(Problem("L21SemiNMF", X), *expected[-1]), rel=1e-5
    )


# --- the reference itself -------------------------------------------------------------------------


@pytest.mark.parametrize("model", CLASSES)
def test_gradients_of_the_reference_are_those_of_its_objective(model: str) -> None:
    X = data(8, 5, nonnegative=model == "NMF")
    U, V = start(8, 5, 3, nonnegative=model == "NMF")
    problem = Problem(model, X, reference.neighbour_graph(X, 2), 0.3, 2.0)
    g_U, g_V = reference.gradients(problem, U, V)
    for factor, gradient in ((U, g_U), (V, g_V)):
        for index in np.ndindex(factor.shape):
            kept, h = factor[index], 1e-6
            factor[index] = kept + h
            above = reference.objective(problem, U, V)
            factor[index] = kept - h
            below = reference.objective(problem, U, V)
            factor[index] = kept
            assert gradient[index] == pytest.approx((above - below) / (2 * h), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("model", CLASSES)
def test_the_formulas_lower_the_objective(model: str) -> None:
    X = data(25, 8, nonnegative=model == "NMF")
    begin = start(25, 8, 3, nonnegative=model == "NMF")
    problem = Problem(model, X, reference.neighbour_graph(X, 3), 0.3, 2.0)
    points = [begin, *reference.iterates(problem, *begin, 60)]
    values = [reference.objective(problem, U, V) for U, V in points]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(values))
