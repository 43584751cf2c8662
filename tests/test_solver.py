"""The outer loop: descent, stationarity, stopping, history, callback, starts.

Everything over the grid model × solver × shape × penalties on or off, and judged by the plain
formulas of `reference`.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import reference
from helpers import (
    GRAPH_MODELS,
    KINDS,
    cone,
    data,
    make,
    problem,
    start,
    value,
)
from seminmf import L21SemiNMF, SemiNMF

SHAPES = {"tall": (45, 8), "wide": (30, 36), "compressed": (25, 130)}
SOLVERS = ("cd", "mu")
STARTS = ("auto", "random", "svd", "kmeans", "exemplar")
kinds = pytest.mark.parametrize(("model", "penalised"), KINDS)
solvers = pytest.mark.parametrize("solver", SOLVERS)


def never_rises(values: Any, slack: float = 1e-12) -> bool:
    return all(after <= before * (1 + slack) for before, after in pairwise(values))


# --- the grid -------------------------------------------------------------------------------------


@kinds
@solvers
@pytest.mark.parametrize("shape", SHAPES)
def test_descent_and_a_truthful_result(
    model: str, penalised: bool, solver: str, shape: str
) -> None:
    n, m = SHAPES[shape]
    X = data(n, m, nonnegative=model == "NMF")
    U0, V0 = start(n, m, 4, nonnegative=model == "NMF")
    fitted = make(
        model, 4, penalised=penalised, solver=solver, init=(U0, V0), max_iter=60, tol=0
    ).fit(X)
    p = problem(fitted, X)
    # The start itself belongs to the descent.
    history = [reference.objective(p, U0, V0), *fitted.objective_history_]
    assert never_rises(history)
    assert fitted.objective_history_.shape == (fitted.n_iter_,) == (60,)
    assert fitted.objective_ == fitted.objective_history_[-1]
    assert fitted.objective_ == pytest.approx(value(fitted, X), rel=1e-9)
    assert fitted.codes_.shape == (n, 4)
    assert fitted.components_.shape == (4, m)
    assert fitted.codes_.min() >= 0
    if model == "NMF":
        assert fitted.components_.min() >= 0
    expected = reference.residuals(X, fitted.components_.T, fitted.codes_)
    np.testing.assert_allclose(fitted.residuals_, expected, rtol=1e-7, atol=1e-11)
    assert not fitted.converged_


@kinds
@pytest.mark.parametrize("shape", [(60, 8), (60, 70)])
def test_coordinate_descent_ends_at_a_stationary_point(
    model: str, penalised: bool, shape: tuple[int, int]
) -> None:
    X = cone(*shape, 3, nonnegative=model == "NMF")
    # With more strength codes of neighbours become equal, and plain gradients say nothing there.
    weak = {"strength": 3e-4} if penalised and model in GRAPH_MODELS else {}
    fitted = make(model, 3, penalised=penalised, tol=1e-14, max_iter=4000, **weak).fit(X)
    p = problem(fitted, X)
    assert fitted.converged_
    assert reference.kkt(p, fitted.components_.T, fitted.codes_) < 1e-4
    assert fitted.kkt_residual_ < 1e-6


@kinds
def test_the_multiplicative_rule_ends_at_a_stationary_point(model: str, penalised: bool) -> None:
    X = cone(60, 30, 2) if penalised else data(60, 30, 3, nonnegative=model == "NMF")
    X = X if penalised or model == "NMF" else X + 5
    fitted = make(
        model, 2, penalised=penalised, solver="mu", init="random", tol=0, max_iter=4000,
        random_state=0,
    ).fit(X)  # fmt: skip
    assert fitted.kkt_residual_ < 1e-4
    if (model, penalised) != ("L21SemiNMF", True):
        # There codes of neighbours become equal, and plain gradients say nothing at a kink.
        assert reference.kkt(problem(fitted, X), fitted.components_.T, fitted.codes_) < 1e-5


@kinds
@pytest.mark.parametrize("init", ["auto", "random", "exemplar", "kmeans"])
def test_cd_finds_what_mu_finds(model: str, penalised: bool, init: str) -> None:
    """From every start, not least the default: a good start must not be a dead end."""
    # Two samples as the basis of a robust graph model may be a local minimum: best of several.
    several = 4 if (model, penalised, init) == ("L21SemiNMF", True, "exemplar") else 1
    X = cone(60, 30, 2, nonnegative=model == "NMF")
    best, plain = (
        make(
            model, 2, penalised=penalised, solver=solver, init=chosen, tol=0, max_iter=400,
            n_init=n_init, random_state=0,
        ).fit(X).objective_
        for solver, chosen, n_init in (("cd", init, several), ("mu", "random", 1))
    )  # fmt: skip
    assert best <= plain * 1.05


@pytest.mark.parametrize("model", ["SemiNMF", "GraphSemiNMF", "L21SemiNMF"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_default_start_uses_every_component(model: str, k: int) -> None:
    """On data whose first axis has scores of one sign, as all positive data have."""
    X = np.abs(data(60, 8)) + 1
    fitted = make(model, k, penalised=False, max_iter=2000).fit(X)
    assert np.linalg.matrix_rank(fitted.codes_, tol=1e-6 * fitted.codes_.max()) == k
    spectrum = np.linalg.svd(X, compute_uv=False)
    if model != "L21SemiNMF":
        assert fitted.objective_ < (spectrum[k - 1 :] ** 2).sum()


@kinds
@pytest.mark.parametrize("init", STARTS)
@solvers
def test_every_start_descends(model: str, penalised: bool, init: str, solver: str) -> None:
    X = data(30, 12, nonnegative=model == "NMF")
    fitted = make(
        model, 3, penalised=penalised, solver=solver, init=init, tol=0, max_iter=8, random_state=0
    ).fit(X)
    assert never_rises(fitted.objective_history_)
    assert np.isfinite(fitted.objective_)
    assert fitted.objective_ == pytest.approx(value(fitted, X), rel=1e-9)


def test_the_svd_start_has_the_error_of_the_truncated_svd() -> None:
    """Semi-NMF of rank k reaches the error of the SVD of rank k − 1 at once, for m ≤ 300 or not."""
    for shape in ((40, 9), (350, 320)):
        X = data(*shape)
        spectrum = np.linalg.svd(X, compute_uv=False)
        fitted = SemiNMF(4, init="svd", tol=0, max_iter=1, random_state=0).fit(X)
        slack = 1 + 1e-9 if shape[1] <= 300 else 1.01
        assert fitted.objective_ <= (spectrum[3:] ** 2).sum() * slack


@pytest.mark.parametrize("model", ["SemiNMF", "GraphSemiNMF", "L21SemiNMF"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_two_components_are_used_where_samples_lie_on_both_sides(model: str, noise: float) -> None:
    """Few samples at the origin, or beyond it by noise, took one of two components for a shift."""
    rng = np.random.default_rng(11)
    codes = rng.gamma(1, 1, (300, 3)) * (rng.random((300, 3)) < 0.7)
    X = codes @ rng.normal(size=(3, 8)) + noise * rng.normal(size=(300, 8))
    fitted, other = (make(model, 2, init=init, random_state=0).fit(X) for init in ("svd", "kmeans"))
    assert fitted.n_active_ == 2
    assert fitted.objective_ <= 1.05 * other.objective_


def test_the_svd_start_with_more_components_than_directions() -> None:
    X = data(20, 3)
    fitted = SemiNMF(8, tol=0, max_iter=100, random_state=0).fit(X)
    assert fitted.objective_ < 1e-12 * (X**2).sum()
    # More components than a sample needs must not let the codes grow without bound.
    assert fitted.codes_.max() * np.abs(fitted.components_).max() < 1e6 * np.abs(X).max()


def test_one_component() -> None:
    X = cone(30, 5, 1)
    for model, _ in KINDS:
        Y = np.abs(X) if model == "NMF" else X
        fitted = make(model, 1, tol=1e-10, max_iter=500).fit(Y)
        assert fitted.codes_.shape == (30, 1)
        assert fitted.residuals_.sum() < np.linalg.norm(Y, axis=1).sum()


# --- stopping -------------------------------------------------------------------------------------


@solvers
@pytest.mark.parametrize("count", [1, 2, 7])
def test_without_tol_exactly_max_iter_iterations(solver: str, count: int) -> None:
    fitted = L21SemiNMF(2, solver=solver, tol=0, max_iter=count).fit(data(20, 5))
    assert fitted.n_iter_ == len(fitted.objective_history_) == count
    assert not fitted.converged_


def test_without_tol_also_at_the_minimum() -> None:
    """Iterations that cannot lower J any more are still made and recorded."""
    X = data(20, 5, rank=2)
    fitted = SemiNMF(3, tol=0, max_iter=300).fit(X)
    assert fitted.n_iter_ == 300
    assert not fitted.converged_
    assert np.isfinite(fitted.objective_history_).all()


@kinds
@solvers
def test_tol_is_the_relative_decrease(model: str, penalised: bool, solver: str) -> None:
    X = data(40, 10, nonnegative=model == "NMF")
    tol = 1e-3
    seen: list[float] = []

    def watch(progress: Any) -> None:
        seen.append(progress.objective)

    fitted = make(
        model, 3, penalised=penalised, solver=solver, tol=tol, max_iter=1000, callback=watch
    ).fit(X)
    assert fitted.converged_
    assert len(seen) == fitted.n_iter_ < 1000
    decreases = [(before - after) / before for before, after in pairwise(seen)]
    assert decreases[-1] <= tol
    assert all(decrease > tol for decrease in decreases[:-1])


@solvers
def test_a_run_that_is_cut_short_warns_with_the_remedy(solver: str) -> None:
    X = data(40, 10)
    with pytest.warns(ConvergenceWarning, match=r"tol=1e-12.*max_iter=3.*Increase max_iter or tol"):
        fitted = L21SemiNMF(3, solver=solver, tol=1e-12, max_iter=3).fit(X)
    assert not fitted.converged_
    assert fitted.n_iter_ == 3


def test_converged_runs_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert L21SemiNMF(3, max_iter=2000).fit(data(40, 10)).converged_
