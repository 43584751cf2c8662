"""No false convergence: fits that are nearly exact, and fits that are worse than nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers import cone, data
from seminmf import GraphSemiNMF, L21SemiNMF, RobustSemiNMF
from seminmf.graph.neighbours import knn_graph
from seminmf.losses import Huber
from seminmf.solve import finishing

Array = np.ndarray[Any, Any]
STRENGTHS = (1e-6, 3e-4, 1e-2, 1.0)


def sets() -> dict[str, tuple[Array, int]]:
    """Data that k parts fit (nearly) exactly, by name, with k."""
    X = data(150, 6, seed=1)
    return {
        "k = m": (X, 6), "k = m + 1": (X, 7), "k = m - 1": (X, 5),
        "noise-free": (cone(150, 12, 3, noise=0.0), 4), "rank": (data(150, 12, rank=3), 5),
    }  # fmt: skip


def shrinking(X: Array, k: int, strength: float, start: tuple[Array, Array]) -> Any:
    """The same problem by Huber's loss with many scales, each from the end of the one before."""
    length, graph = np.median(np.linalg.norm(X, axis=1)), knn_graph(X, 5)
    settings = {"strength": strength, "graph": graph, "max_iter": 100}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for scale in (0.3, 0.1, 0.03, 0.01, 0.003, 1e-3):
            fitted = RobustSemiNMF(k, loss=Huber(scale * length), init=start, **settings).fit(X)
            start = fitted.components_.T.copy(), fitted.codes_.copy()
        return L21SemiNMF(k, init=start, **settings).fit(X)


@pytest.mark.parametrize("name", sets())
@pytest.mark.parametrize("strength", STRENGTHS)
def test_what_has_converged_cannot_be_lowered(name: str, strength: float) -> None:
    X, k = sets()[name]
    fitted = L21SemiNMF(k, strength=strength, max_iter=1000, random_state=0).fit(X)
    nothing = np.linalg.norm(X, axis=1).sum()
    assert fitted.converged_
    assert fitted.objective_ <= nothing * (1 + 1e-12)
    if not fitted.n_active_:
        return
    own = fitted.components_.T.copy(), fitted.codes_.copy()
    squares = GraphSemiNMF(k, strength=strength, max_iter=1000, random_state=0).fit(X)
    for start in (own, (squares.components_.T.copy(), squares.codes_.copy())):
        again = shrinking(X, k, strength, start)
        assert again.objective_ > 0.97 * fitted.objective_


@pytest.mark.parametrize("kind", ["integers", "gamma"])
def test_a_start_from_squares_brings_no_more(kind: str) -> None:
    """Where penalties are strong, Huber's loss loses parts that are needed."""
    rng = np.random.default_rng(0)
    X = (
        rng.integers(0, 4, (150, 5)).astype(float)
        if kind == "integers"
        else rng.gamma(1, 1, (90, 15))
    )
    k, settings = X.shape[1], {"strength": 0.1, "max_iter": 1000, "random_state": 0}
    fitted = L21SemiNMF(k, **settings).fit(X)
    squares = GraphSemiNMF(k, **settings).fit(X)
    again = L21SemiNMF(k, init=(squares.components_.T, squares.codes_), **settings).fit(X)
    assert fitted.objective_ < 1.03 * again.objective_


@pytest.mark.parametrize("name", ["k = m + 1", "rank"])
def test_thawing_is_what_does_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, k = sets()[name]
    thawed = L21SemiNMF(k, strength=1e-3, random_state=0).fit(X)
    monkeypatch.setattr(finishing, "_NOTABLE", 2.0)
    frozen = L21SemiNMF(k, strength=1e-3, random_state=0).fit(X)
    assert frozen.n_iter_ <= 3
    assert thawed.objective_ < 0.95 * frozen.objective_
    assert (np.diff(thawed.objective_history_) <= 1e-12 * frozen.objective_).all()


def test_other_fits_are_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    X = data(200, 10)
    plain = L21SemiNMF(4, random_state=0).fit(X)
    monkeypatch.setattr(finishing.Finish, "_thawed", None)  # nobody calls it
    again = L21SemiNMF(4, random_state=0).fit(X)
    np.testing.assert_array_equal(plain.objective_history_, again.objective_history_)
    exact = data(100, 8, rank=3)
    fitted = L21SemiNMF(4, strength=0.0, random_state=0).fit(exact)  # nothing is left to lower
    assert fitted.objective_ < 1e-9 * np.linalg.norm(exact, axis=1).sum()
    L21SemiNMF(4, solver="mu", max_iter=5, tol=0).fit(exact)
    GraphSemiNMF(4, random_state=0).fit(exact)


def test_the_papers_iteration_is_left_alone() -> None:
    """Frozen or not, above nothing or not: ``mu`` ends where its formulas end."""
    X = data(80, 8, rank=3)
    fitted = L21SemiNMF(5, strength=10.0, solver="mu", max_iter=3, tol=0, random_state=0).fit(X)
    assert fitted.n_iter_ == 3
    assert fitted.objective_ > np.linalg.norm(X, axis=1).sum()


@pytest.mark.parametrize("model", [L21SemiNMF, GraphSemiNMF])
def test_nothing_is_better_than_too_much(model: Any) -> None:
    X = data(90, 7) - data(90, 7).mean(axis=0)
    fitted = model(4, strength=100.0, random_state=0).fit(X)
    lengths = np.linalg.norm(X, axis=1)
    nothing = (lengths if model is L21SemiNMF else lengths**2).sum()
    assert fitted.objective_ <= nothing * (1 + 1e-12)
    if fitted.n_active_ == 0:
        assert fitted.converged_
        assert fitted.kkt_residual_ == 0
        assert fitted.objective_ == pytest.approx(nothing)
        np.testing.assert_array_equal(fitted.codes_, 0)
        np.testing.assert_array_equal(fitted.components_, 0)
        np.testing.assert_array_equal(fitted.transform(X[:5] + 1.0), 0)


def test_a_given_number_of_iterations_ends_where_it_ends() -> None:
    X = data(60, 6)
    fitted = L21SemiNMF(3, strength=100.0, init="random", max_iter=1, tol=0, random_state=0).fit(X)
    assert fitted.n_iter_ == 1
    assert fitted.n_active_ == 3


def test_callbacks_see_the_runs_and_may_end_them() -> None:
    X, k = sets()["k = m + 1"]
    seen: list[int] = []
    L21SemiNMF(k, strength=1e-3, callback=lambda p: seen.append(p.iteration)).fit(X)
    assert seen.count(1) > 1  # once for each run of the model's own objective
    stopped = L21SemiNMF(k, strength=1e-3, callback=lambda p: True).fit(X)
    assert stopped.n_iter_ == 1
    assert not stopped.converged_
