"""Small problems whose answer is known from elsewhere: convex solvers, and a slow search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

import reference
from helpers import Array, converging_or_not, data, lopsided, make, problem
from seminmf import L21SemiNMF, RobustSemiNMF, SemiNMF
from seminmf.losses import Huber

cp = pytest.importorskip("cvxpy")

N, M, K = 14, 4, 3
MODELS = ("NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF", "Huber", "L21SemiNMF l1")


def fitted(name: str, X: Array) -> Any:
    """At rest: so many iterations that nothing changes any more."""
    common: dict[str, Any] = {"tol": 0, "max_iter": 3000, "random_state": 0}
    tied = {"n_neighbors": 3, "strength": 1e-2, **common}
    if name == "Huber":
        model = RobustSemiNMF(K, loss=Huber(0.5), **tied)
    elif name == "L21SemiNMF l1":
        model = L21SemiNMF(K, l1=1e-2, **tied)
    else:
        model = make(name, K, **(tied if name.startswith(("Graph", "L21")) else common))
    return model.fit(X)


def measured(loss: str, vector: Any, scale: float) -> Any:
    """ρ(‖vector‖) in the words of the convex solver."""
    if loss == "norm":
        return cp.norm(vector)
    if loss == "squared":
        return cp.sum_squares(vector)
    return cp.huber(cp.norm(vector), scale) / (2 * scale)


def convex(p: reference.Problem, U: Any, V: Any) -> Any:
    """J where one of the two is a variable."""
    rows, pairs = len(p.X), [] if p.W is None else np.argwhere(np.triu(p.W, 1) > 0)
    J = sum(measured(p.residual_loss, p.X[i] - U @ V[i], p.scale) for i in range(rows))
    if p.model in ("NMF", "SemiNMF"):
        return J
    for i, j in pairs:
        J += p.alpha * p.W[i, j] * measured(p.edge_loss, V[i] - V[j], p.scale)
    return J + p.beta * sum(cp.norm(U[:, q]) for q in range(K)) + p.mu * cp.sum(V)


@pytest.mark.parametrize("half", ["basis", "codes"])
@pytest.mark.parametrize("name", MODELS)
def test_neither_half_can_be_improved(name: str, half: str) -> None:
    """With one factor held fixed J is convex in the other: its minimum there is known."""
    X = data(N, M, nonnegative=name == "NMF")
    model = fitted(name, X)
    p = problem(model, X, n_neighbors=3)
    U, V = model.components_.T, model.codes_
    if half == "basis":
        variable = cp.Variable((M, K), nonneg=name == "NMF")
        J = convex(p, variable, V)
    else:
        variable = cp.Variable((N, K), nonneg=True)
        J = convex(p, U, variable)
    found = cp.Problem(cp.Minimize(J)).solve(solver="CLARABEL")
    assert model.objective_ <= found * (1 + 1e-4)
    assert model.objective_ >= found * (1 - 1e-6)


@pytest.mark.parametrize("spread", [0, 4, 12])
@pytest.mark.parametrize("angle", [1.0, 1e-4, 1e-7])
def test_transform_is_least_squares_of_scipy(angle: float, spread: float) -> None:
    """Also where parts are nearly parallel, or their lengths are orders of magnitude apart."""
    rng = np.random.default_rng(0)
    X = data(40, 6)
    model = SemiNMF(4, random_state=0).fit(X)
    U = rng.normal(size=(6, 4))
    U[:, 1] = -U[:, 0] + angle * U[:, 1]
    U[:, 3] = U[:, 2] + angle * U[:, 3]
    U *= 10.0 ** rng.uniform(-spread, spread, 4)
    object.__setattr__(model._projector, "basis", U)
    codes = model.transform(X)
    assert codes.min() >= 0
    unit = U / np.linalg.norm(U, axis=0)
    for x, v in zip(X, codes, strict=True):
        best = np.linalg.norm(unit @ nnls(unit, x)[0] - x)
        assert np.linalg.norm(U @ v - x) <= best + 1e-7 * np.linalg.norm(x)


@pytest.mark.parametrize("name", ["norm", "huber"])
@pytest.mark.parametrize("neighbours", [1, 3])
def test_transform_of_new_samples_is_the_convex_minimum(name: str, neighbours: int) -> None:
    X = data(30, M)
    model = RobustSemiNMF(
        K, loss=Huber(0.5) if name == "huber" else name, n_neighbors=neighbours, l1=1e-3,
        strength=1e-2, random_state=0,
    ).fit(X)  # fmt: skip
    new = data(6, M, seed=5)
    U = model.components_.T
    scale = getattr(model.loss_, "scale", 1.0)
    for x, v in zip(new, model.transform(new), strict=True):
        near = np.argsort(np.linalg.norm(X - x, axis=1))[:neighbours]

        def value(v: Array, x: Array = x, near: Array = near) -> float:
            return reference.transform_objective(
                "RobustSemiNMF", x, U, v, model.codes_[near], model.alpha_, mu=model.l1_, loss=name,
                scale=scale,
            )  # fmt: skip

        variable = cp.Variable(K, nonneg=True)
        J = measured(name, x - U @ variable, scale) + model.l1_ * cp.sum(variable)
        for j in near:
            J += model.alpha_ * cp.norm(variable - model.codes_[j])
        found = cp.Problem(cp.Minimize(J)).solve(solver="CLARABEL")
        assert value(v) <= found * (1 + 1e-6)


def search(p: reference.Problem, U: Array, V: Array, nonnegative: bool) -> float:
    """Go up and down along every coordinate, by steps that are halved: slow, and sure."""
    U, V = U.copy(), V.copy()
    best, step = reference.objective(p, U, V), 0.5 * float(np.abs(U).max())
    while step > 1e-7:
        lower = False
        for factor, bounded in ((U, nonnegative), (V, True)):
            for place in np.ndindex(*factor.shape):
                for change in (step, -step):
                    before = factor[place]
                    factor[place] = max(before + change, 0) if bounded else before + change
                    value = reference.objective(p, U, V)
                    if value < best:
                        best, lower = value, True
                    else:
                        factor[place] = before
        if not lower:
            step /= 2
    return best


@pytest.mark.parametrize("name", ["NMF", "SemiNMF", "L21SemiNMF"])
def test_no_coordinate_leads_lower(name: str) -> None:
    """The joint minimum of a tiny problem: of many starts ours is as low as the slow search's."""
    rng = np.random.default_rng(1)
    X = data(5, 2, seed=3, nonnegative=name == "NMF")
    parameters: dict[str, Any] = {"tol": 0, "max_iter": 400, "random_state": 0, "n_init": 8}
    if name == "L21SemiNMF":
        parameters.update(n_neighbors=2, strength=1e-3)
    with converging_or_not():
        model = make(name, 1, **parameters).fit(X)
    p = problem(model, X, n_neighbors=2)
    ours = reference.objective(p, model.components_.T, model.codes_)
    assert search(p, model.components_.T, model.codes_, name == "NMF") >= ours * (1 - 1e-5)
    low = 0.0 if name == "NMF" else -1.0
    for _ in range(4):
        U, V = rng.uniform(low, 1, (2, 1)) * np.abs(X).max(), rng.uniform(0, 1, (5, 1))
        assert search(p, U, V, name == "NMF") >= ours * (1 - 1e-5)


@pytest.mark.parametrize("name", ["NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF"])
@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_ten_thousand_iterations_never_rise(name: str, solver: str) -> None:
    X = data(25, 6, nonnegative=name == "NMF")
    with lopsided():
        model = make(name, 3, solver=solver, tol=0, max_iter=10_000, random_state=0).fit(X)
    history = model.objective_history_
    assert len(history) == 10_000
    assert np.diff(history).max() <= 1e-13 * history[0]
    # Squares of residuals are known to the round-off of those of the parts that cancel in them.
    parts = np.linalg.norm(X, axis=1) + model.codes_ @ np.linalg.norm(model.components_, axis=1)
    least = 2 * np.finfo(np.float64).eps * np.square(parts).sum() if name != "L21SemiNMF" else 0.0
    found = reference.objective(problem(model, X), model.components_.T, model.codes_)
    assert model.objective_ == pytest.approx(found, rel=1e-11, abs=least)
