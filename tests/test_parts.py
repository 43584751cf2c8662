"""Losses and penalties as parts: parameters, parts of a user's own, refusals, model files."""

from __future__ import annotations

import copy
import ctypes
import math
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import reference
import seminmf
import seminmf.models.training
from helpers import converging_or_not, data, difference, problem, start
from seminmf import FactorKMeans, GraphSemiNMF, L21SemiNMF, ModelFileError, RobustSemiNMF, load
from seminmf.losses import Cauchy, Huber, Loss, Norm, SquaredNorm
from seminmf.penalties import L1, CodesPenalty
from seminmf.problem.objective import Objective

SOLVERS = ("cd", "mu")
solvers = pytest.mark.parametrize("solver", SOLVERS)


# As a user would write them: the same formulas as ours, and others.


class OwnNorm(Loss):
    @staticmethod
    def value(t: float) -> float:
        return t

    @staticmethod
    def weight(t: float) -> float:
        return 1 / (2 * t)


class OwnHuber(Loss):
    def __init__(self, scale: Any = "auto") -> None:
        self.scale = scale

    @staticmethod
    def value(t: float, scale: float) -> float:
        if t < scale:
            return t**2 / (2 * scale)
        return t - scale / 2

    @staticmethod
    def weight(t: float, scale: float) -> float:
        return 1 / (2 * scale) if t < scale else 1 / (2 * t)


class OwnCauchy(Loss):
    """Its parameter has a name of its own."""

    typical = 2.0

    def __init__(self, width: Any = "auto") -> None:
        self.width = width

    @staticmethod
    def value(t: float, width: float) -> float:
        return width / 2 * math.log(1 + t**2 / width**2)

    @staticmethod
    def weight(t: float, width: float) -> float:
        return width / (2 * (width**2 + t**2))


class Doubled(Norm):
    """A loss derived from one of ours, which it is not."""

    @staticmethod
    def value(t: float) -> float:
        return 2 * t

    @staticmethod
    def weight(t: float) -> float:
        return 1 / t


class Tempered(SquaredNorm):
    """Another one: the formulas of Huber's, and its unit."""

    power = 1

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    value, weight = staticmethod(OwnHuber.value), staticmethod(OwnHuber.weight)


class PseudoHuber(Loss):
    """c·(√(1 + t²/c²) − 1) up to a factor: two parameters."""

    def __init__(self, scale: Any = "auto", factor: float = 1.0) -> None:
        self.scale = scale
        self.factor = factor

    @staticmethod
    def value(t: float, scale: float, factor: float) -> float:
        return factor * (math.sqrt(scale * scale + t * t) - scale)

    @staticmethod
    def weight(t: float, scale: float, factor: float) -> float:
        return factor / (2 * math.sqrt(scale * scale + t * t))


class Tukey(Loss):
    """Rises no more beyond its scale, where its weights are zero."""

    def __init__(self, scale: Any = "auto") -> None:
        self.scale = scale

    @staticmethod
    def value(t: float, scale: float) -> float:
        return scale / 6 * (1 - (1 - min(t / scale, 1.0) ** 2) ** 3)

    @staticmethod
    def weight(t: float, scale: float) -> float:
        return (1 - min(t / scale, 1.0) ** 2) ** 2 / (2 * scale)


class OwnL1(CodesPenalty):
    @staticmethod
    def value(v: float) -> float:
        return v

    @staticmethod
    def shift(v: float) -> float:
        return 1.0


class Ridge(CodesPenalty):
    """Σ v²: all curvature."""

    power = 2
    curvature = 2.0

    @staticmethod
    def value(v: float) -> float:
        return v * v

    @staticmethod
    def shift(v: float) -> float:
        return 0.0


class Root(CodesPenalty):
    """Σ √v: concave, with a slope that is infinite at zero."""

    power = 0.5

    @staticmethod
    def value(v: float) -> float:
        return math.sqrt(v)

    @staticmethod
    def shift(v: float) -> float:
        return 0.5 / math.sqrt(v)


class Elastic(CodesPenalty):
    """A parameter of its own: factor · Σ v."""

    def __init__(self, strength: float = 0.0, factor: float = 1.0) -> None:
        super().__init__(strength)
        self.factor = factor

    @staticmethod
    def value(v: float, factor: float) -> float:
        return factor * v

    @staticmethod
    def shift(v: float, factor: float) -> float:
        return factor


def same_fit(one: Any, other: Any, new: Any, tolerance: float = 1e-8) -> None:
    assert difference(other.codes_, one.codes_) <= tolerance
    assert difference(other.components_, one.components_) <= tolerance
    np.testing.assert_allclose(other.objective_history_, one.objective_history_, rtol=1e-10)
    assert difference(other.transform(new), one.transform(new)) <= max(tolerance, 1e-6)
    assert other.kkt_residual_ == pytest.approx(one.kkt_residual_, rel=1e-3, abs=1e-9)


# --- parts of a user's own ------------------------------------------------------------------------


@solvers
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("own", "ours"),
    [
        (OwnNorm(), Norm()),
        (OwnHuber(1.5), Huber(1.5)),
        (OwnHuber(), Huber()),
        (OwnCauchy(1.5), Cauchy(1.5)),
        (OwnCauchy(), Cauchy()),
    ],
    ids=repr,
)
def test_a_loss_of_ones_own(own: Loss, ours: Loss, solver: str, dtype: Any) -> None:
    X = data(40, 7).astype(dtype)
    settings = {"solver": solver, "init": start(40, 7, 3), "max_iter": 15, "tol": 0}
    for penalty in ({}, {"l1": 1e-5}):
        one, two = (
            RobustSemiNMF(3, loss=loss, **settings, **penalty).fit(X) for loss in (ours, own)
        )
        same_fit(one, two, X[:5] + 0.1, 1e-3 if dtype == np.float32 else 1e-8)
        assert type(two.loss_) is type(own)


@solvers
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_a_loss_derived_from_one_of_ours(solver: str, alpha: float) -> None:
    """Its own functions count, not what it is derived from; also in the start."""
    X, beta = data(40, 7), 2.0 if alpha else 0.0
    settings = {"solver": solver, "max_iter": 15, "tol": 0, "random_state": 0}
    plain = RobustSemiNMF(3, loss="norm", alpha=alpha, beta=beta, **settings).fit(X)
    twice = RobustSemiNMF(3, loss=Doubled(), alpha=2 * alpha, beta=2 * beta, **settings).fit(X)
    assert twice.objective_ == pytest.approx(2 * plain.objective_, rel=1e-9)
    assert difference(twice.codes_, plain.codes_) < 1e-6
    one, two = (
        RobustSemiNMF(3, loss=loss, alpha=alpha, beta=beta, **settings).fit(X)
        for loss in (Huber(1.5), Tempered(1.5))
    )
    same_fit(one, two, X[:5] + 0.1)


@solvers
@pytest.mark.parametrize("own", [OwnL1(1e-3), Elastic(1e-3), Elastic(5e-4, 2.0)], ids=repr)
def test_a_penalty_of_ones_own(own: CodesPenalty, solver: str) -> None:
    X = data(40, 7)
    settings = {"solver": solver, "init": start(40, 7, 3), "max_iter": 15, "tol": 0}
    for penalties in ({}, {"alpha": 0, "beta": 2.0}):
        one = RobustSemiNMF(3, l1=1e-3, **settings, **penalties).fit(X)
        two = RobustSemiNMF(3, codes_penalty=own, **settings, **penalties).fit(X)
        same_fit(one, two, X[:5] + 0.1)


@solvers
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("l1", [0.0, 1e-4])
def test_a_loss_that_rises_no_more(solver: str, dtype: Any, l1: float) -> None:
    """Samples without a weight get the codes of their neighbours, and the others are fitted."""
    X = data(60, 7, 0).astype(dtype)
    X[:6] *= 50
    model = RobustSemiNMF(
        3, loss=Tukey(8.0), alpha=0.02, beta=1.0, l1=l1, solver=solver, init=start(60, 7, 3),
        max_iter=60, tol=0,
    ).fit(X)  # fmt: skip
    assert (model.residuals_[:6] > 8).all()
    history = model.objective_history_
    assert history[-1] < 0.9 * history[0]
    assert (np.diff(history) <= 1e-6 * history[1:]).all()
    assert (np.diff(history) < 0).sum() > 20
    assert np.isfinite(model.transform(2 * X)).all()


@solvers
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_loss_with_two_parameters(solver: str, alpha: float, weighted: bool) -> None:
    """J is what its formula says, and falls."""
    X, weights = data(40, 7), np.random.default_rng(0).uniform(0.5, 2, 40)
    loss = PseudoHuber(1.5, 3.0)
    fitted = RobustSemiNMF(
        3, loss=loss, solver=solver, init=start(40, 7, 3), alpha=alpha, beta=2.0, l1=1e-3,
        max_iter=60, tol=0, graph="knn",
    ).fit(X, sample_weight=weights if weighted else None)  # fmt: skip
    share = weights if weighted else np.ones(40)
    U, V = fitted.components_.T, fitted.codes_
    W = reference.neighbour_graph(X, 5)
    J = share @ (3 * (np.sqrt(1.5**2 + reference.residuals(X, U, V) ** 2) - 1.5))
    J += alpha * (np.triu(W, 1) * reference.distances(V)).sum()
    J += 2 * np.linalg.norm(U, axis=0).sum() + fitted.l1_ * (share @ V.sum(axis=1))
    assert fitted.objective_ == pytest.approx(J, rel=1e-9)
    history = fitted.objective_history_
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(history))


@solvers
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("penalty", [Ridge(1e-3), Root(1e-3)], ids=repr)
def test_penalties_of_other_powers(penalty: CodesPenalty, alpha: float, solver: str) -> None:
    X = data(40, 7)
    fitted = RobustSemiNMF(
        3, loss="norm", codes_penalty=penalty, solver=solver, init=start(40, 7, 3), alpha=alpha,
        beta=2.0, max_iter=200, tol=0, graph="knn", n_neighbors=3,
    ).fit(X)  # fmt: skip
    U, V = fitted.components_.T, fitted.codes_
    assert V.max() > 0

    def total(U: Any, V: Any) -> float:
        found = reference.residuals(X, U, V).sum() + 2 * np.linalg.norm(U, axis=0).sum()
        if alpha:
            W = reference.neighbour_graph(X, 3)
            found += alpha * (np.triu(W, 1) * reference.distances(V)).sum()
        return float(found + fitted.l1_ * (V**penalty.power).sum())

    assert fitted.objective_ == pytest.approx(total(U, V), rel=1e-9)
    history = fitted.objective_history_
    assert np.isfinite(history).all()
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(history))
    if solver == "cd" and penalty.power > 1:
        # Not so where it is not convex: the last step may find codes in another valley.
        for c in (0.98, 1.02):
            assert total(U / c, c * V) >= fitted.objective_ * (1 - 1e-9)
    if penalty.power < 1 and solver == "cd" and not alpha:
        # Where it is not convex new codes may lie in another valley, but not in a much higher one.
        assert total(U, fitted.transform(X)) <= fitted.objective_ * (1 + 1e-3)
    else:
        assert difference(fitted.transform(X), V) < (1e-6 if alpha or solver == "cd" else 1)
    # Its strength, as that of L1, does not depend on β.
    n, s = 40, np.median(np.linalg.norm(X, axis=1))
    kappa = fitted.l1_ * fitted.beta_**penalty.power / (s * n**penalty.power)
    assert kappa == pytest.approx(1e-3)


@pytest.mark.parametrize("penalty", [Ridge(1e-3), L1(1e-3)], ids=repr)
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_codes_of_new_samples_with_any_penalty(penalty: CodesPenalty, alpha: float) -> None:
    """No move of a code lowers what a new sample minimises."""
    X, rng = data(40, 7), np.random.default_rng(1)
    with converging_or_not():
        fitted = RobustSemiNMF(
            3, loss=PseudoHuber(1.0), codes_penalty=penalty, alpha=alpha, beta=2.0, n_neighbors=1
        ).fit(X)
    U, new = fitted.components_.T, X[:6] + 0.05
    for x, v, nearest in zip(new, fitted.transform(new), fitted.codes_, strict=False):

        def total(v: Any, x: Any = x, nearest: Any = nearest) -> float:
            residual = np.sqrt(1 + np.sum((x - U @ v) ** 2)) - 1
            tie = alpha * np.linalg.norm(v - nearest)
            return float(residual + tie + fitted.l1_ * (v**penalty.power).sum())

        for size in (1e-1, 1e-2, 1e-4):
            for direction in rng.normal(size=(30, 3)):
                moved = np.maximum(v + size * direction, 0)
                assert total(v) <= total(moved) * (1 + 1e-9)


def test_mu_with_a_ridge_follows_the_formulas() -> None:
    """The whole slope of the penalty, curvature and shift, stands in the denominator."""
    X, (U, V) = data(40, 7), start(40, 7, 3)
    fitted = RobustSemiNMF(
        3, loss="norm", codes_penalty=Ridge(1e-5), solver="mu", init=(U, V), alpha=0, beta=2.0,
        max_iter=20, tol=0,
    ).fit(X)  # fmt: skip
    p = problem(fitted, X)
    for _ in range(20):
        d, b, _ = reference.weights(p, U, V)
        U = X.T @ (d[:, None] * V) @ np.linalg.inv(2 * np.diag(b) + V.T @ (d[:, None] * V))
        phi, omega = X @ U, U.T @ U
        up = d[:, None] * (reference.plus(phi) + V @ reference.minus(omega))
        down = d[:, None] * (reference.minus(phi) + V @ reference.plus(omega))
        down = down + fitted.l1_ * 2 * V
        V = V * np.sqrt(np.divide(up, down, where=down > 0, out=np.ones_like(up)))
    assert difference(fitted.codes_, V) < 1e-8
    assert difference(fitted.components_.T, U) < 1e-8


# --- parameters -----------------------------------------------------------------------------------


def test_parameters_of_parts_are_parameters_of_the_model() -> None:
    estimator = RobustSemiNMF(3, loss=Huber(2.0), codes_penalty=L1(0.1))
    found = estimator.get_params()
    assert found["loss__scale"] == 2.0
    assert found["codes_penalty__strength"] == 0.1
    assert estimator.set_params(loss__scale=0.5) is estimator
    assert estimator.loss.scale == 0.5
    estimator.set_params(codes_penalty__strength=0.2, loss=Cauchy(3.0))
    assert estimator.codes_penalty.strength == 0.2
    assert estimator.get_params()["loss__scale"] == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        estimator.set_params(loss__width=1)


@pytest.mark.parametrize(
    "part", [Norm(), SquaredNorm(), Huber(), Huber(2.0), Cauchy(0.5), L1(0.1), OwnHuber(3.0)],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize(
    "duplicate",
    [clone, copy.copy, copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))],
    ids=["clone", "copy", "deepcopy", "pickle"],
)
def test_copies_of_parts(part: Any, duplicate: Any) -> None:
    twin = duplicate(part)
    assert type(twin) is type(part)
    assert twin is not part
    assert twin.get_params() == part.get_params()
    assert repr(twin) == repr(part)


def test_the_copy_of_an_estimator_has_a_loss_of_its_own() -> None:
    estimator = RobustSemiNMF(2, loss=Huber(2.0), codes_penalty=L1(0.1))
    twin = clone(estimator)
    twin.set_params(loss__scale=5.0, codes_penalty__strength=7.0)
    assert estimator.loss.scale == 2.0
    assert estimator.codes_penalty.strength == 0.1
    with converging_or_not():
        fitted = pickle.loads(pickle.dumps(estimator.fit(data(20, 5))))
    np.testing.assert_array_equal(
        fitted.transform(data(4, 5, 1)), estimator.transform(data(4, 5, 1))
    )


def test_defaults_are_not_shared() -> None:
    """Neither between estimators nor between fits, whatever the data were."""
    first, second = RobustSemiNMF(2, tol=0, max_iter=2), RobustSemiNMF(2, tol=0, max_iter=2)
    X = data(30, 6)
    scale = first.fit(X).loss_.scale
    assert second.fit(100 * X).loss_.scale == pytest.approx(100 * scale)
    assert first.loss_.scale == scale
    first.loss_.set_params(scale=1e9)
    assert RobustSemiNMF(2, tol=0, max_iter=2).fit(X).loss_.scale == scale
    assert Huber().scale == "auto"
    shared = Huber()
    one = RobustSemiNMF(2, loss=shared, tol=0, max_iter=2).fit(X)
    two = RobustSemiNMF(2, loss=shared, tol=0, max_iter=2).fit(3 * X)
    assert shared.scale == "auto"
    assert two.loss_.scale == pytest.approx(3 * one.loss_.scale)
    assert one.loss_ is not one.loss


def test_fitting_again_asks_the_data_again() -> None:
    estimator, X = RobustSemiNMF(2, tol=0, max_iter=2), data(30, 6)
    first = estimator.fit(X).loss_.scale
    assert estimator.fit(7 * X).loss_.scale == pytest.approx(7 * first)


def typical_error(estimator: Any, X: Any, y: Any = None) -> float:
    codes = estimator.transform(X)
    return -float(np.median(np.linalg.norm(X - estimator.inverse_transform(codes), axis=1)))


@pytest.mark.parametrize(
    "grid",
    [
        {"loss": ["norm", "squared", Huber(1.0), Cauchy(), OwnHuber(2.0)]},
        {"loss": [Huber(), Cauchy()], "loss__scale": [0.5, 5.0, "auto"]},
        {"l1": [0.0, 1e-3, 1e-2]},
        {"codes_penalty": [None, L1(1e-3), Ridge(1e-3)]},
    ],
    ids=["loss", "scale", "l1", "penalty"],
)
def test_a_search_over_parts(grid: dict[str, list[Any]]) -> None:
    X = data(60, 6)
    search = GridSearchCV(RobustSemiNMF(2), grid, cv=3, scoring=typical_error)
    with converging_or_not():
        search.fit(X)
    results = search.cv_results_
    assert np.isfinite(results["mean_test_score"]).all()
    count = math.prod(map(len, grid.values()))
    assert len(results["params"]) == count
    # What was varied has made a difference.
    assert len(set(results["mean_test_score"])) > 1
    assert search.best_params_.keys() == grid.keys()
    assert search.best_estimator_.transform(X).shape == (60, 2)


def test_parts_print_as_they_are_made() -> None:
    assert repr(Huber(2.0)) == "Huber(scale=2.0)"
    assert repr(Huber()) == "Huber()"
    assert repr(L1(0.5)) == "L1(strength=0.5)"
    assert "loss=Cauchy(scale=0.5)" in repr(RobustSemiNMF(3, loss=Cauchy(scale=0.5)))


def test_the_short_sums_of_a_loss() -> None:
    lengths, share = np.array([0.0, 0.5, 1.5, 20.0]), np.array([1.0, 2.0, 3.0, 0.5])
    for name, loss in (
        ("norm", Norm()), ("squared", SquaredNorm()), ("huber", Huber(1.5)), ("cauchy", Cauchy(1.5))
    ):  # fmt: skip
        values = reference.rho(name, lengths, 1.5)
        weights = reference.slope_per_length(name, lengths, 1.5, 1e-3) / 2
        for dtype, precision in ((np.float64, 1e-14), (np.float32, 1e-6)):
            t, w = lengths.astype(dtype), share.astype(dtype)
            assert loss.total(t) == pytest.approx(values.sum(), rel=precision)
            assert loss.total(t, w) == pytest.approx(share @ values, rel=precision)
            np.testing.assert_allclose(loss.weights(t, 1e-3), weights, rtol=10 * precision)
            np.testing.assert_allclose(
                loss.weights(t, 1e-3, w), share * weights, rtol=10 * precision
            )


@pytest.mark.parametrize(
    "part", [Norm(), SquaredNorm(), Huber(0.5), Cauchy(0.5), L1(1.0)], ids=repr
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_do_not_depend_on_where_arrays_lie(part: Any, dtype: Any) -> None:
    """A loop that adds up and writes at once may be run in another order for arrays side by side.

    So the last digit of J, with few samples, would depend on what was allocated before.
    """
    block = part.block(dtype)
    number, place = ctypes.c_double, ctypes.c_void_p
    count = (ctypes.c_int64,)
    if isinstance(part, Loss):
        kinds = (*count, place, place, *count, number, place, place)
    else:
        kinds = (*count, place, place, place)
    function = ctypes.CFUNCTYPE(number, *kinds)(block.address)
    parameters, rng = block.parameters.ctypes.data, np.random.default_rng(0)
    for n in (5, 13, 20, 40):
        for _ in range(10):
            arguments, found = rng.random(n), set()
            for gap in (0, 1, 2, 7, 12, 100):
                memory = np.zeros(2 * n + 100, dtype)
                memory[:n] = arguments
                given, result = memory.ctypes.data, memory[n + gap :].ctypes.data
                if isinstance(part, Loss):
                    total = function(n, given, given, 0, 1e-10, parameters, result)
                else:
                    total = function(n, given, parameters, result)
                found.add((total, memory[n + gap : 2 * n + gap].tobytes()))
            assert len(found) == 1


@given(
    st.floats(-6, 6), st.floats(-6, 6), st.floats(-6, 6), st.sampled_from([Norm(), SquaredNorm()]),
    st.sampled_from([None, L1(1.0), Ridge(1.0), Root(1.0)]),
)  # fmt: skip
def test_the_best_scale(P: float, S: float, Q: float, graph: Loss, penalty: Any) -> None:
    """The c that minimises α cᵖ P + μ cᵠ S + β Q / c, for sizes far apart."""
    P, S, Q = 10.0**P, 10.0**S, 10.0**Q
    mu, power = (0.0, 0.0) if penalty is None else (0.7, penalty.power)
    objective = Objective(Norm(), graph, alpha=0.3, beta=2.0, penalty=penalty, mu=mu)
    c = objective.best_scale(P, S, Q)

    def total(c: float) -> float:
        return 0.3 * P * c**graph.power + mu * S * c**power + 2 * Q / c

    for factor in (0.5, 0.999, 1.001, 2):
        assert total(c) <= total(factor * c)
    # The same weights as after a change of both factors.
    rescaled = objective.rescaled(c)
    assert rescaled.best_scale(P, S, Q) == pytest.approx(1.0)
    assert rescaled.total(1.0, P, S, Q) == pytest.approx(1.0 + total(c))


# --- refusals -------------------------------------------------------------------------------------


class Cubic(Loss):
    @staticmethod
    def value(t: float) -> float:
        return t**3

    @staticmethod
    def weight(t: float) -> float:
        return 1.5 * t


class Mismatched(Loss):
    """The weight of another loss."""

    @staticmethod
    def value(t: float) -> float:
        return t

    @staticmethod
    def weight(t: float) -> float:
        return 1.0


class Twice(Loss):
    """A slope over t, not over 2t."""

    @staticmethod
    def value(t: float) -> float:
        return t

    @staticmethod
    def weight(t: float) -> float:
        return 1 / t


class Falling(Loss):
    @staticmethod
    def value(t: float) -> float:
        return -t

    @staticmethod
    def weight(t: float) -> float:
        return -0.5 / t


class Undefined(Loss):
    @staticmethod
    def value(t: float) -> float:
        return t

    @staticmethod
    def weight(t: float) -> float:
        return math.nan


class Indifferent(Loss):
    @staticmethod
    def value(t: float) -> float:
        return 0.0

    @staticmethod
    def weight(t: float) -> float:
        return 0.0


class Wordy(Loss):
    @staticmethod
    def value(t: float) -> Any:
        return "long"

    @staticmethod
    def weight(t: float) -> float:
        return 1.0


class Forgotten(Loss):
    """A parameter that is not an attribute."""

    @staticmethod
    def value(t: float, width: float) -> float:
        return t * width

    @staticmethod
    def weight(t: float, width: float) -> float:
        return width / 2 / t


class Uneven(Loss):
    """Functions of different parameters."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    @staticmethod
    def value(t: float, width: float) -> float:
        return t * width

    @staticmethod
    def weight(t: float) -> float:
        return 0.5 / t


class Crowded(Loss):
    """More parameters than there is room for."""

    def __init__(self) -> None:
        self.a = self.b = self.c = self.d = 1.0

    @staticmethod
    def value(t: float, a: float, b: float, c: float, d: float) -> float:
        return t

    @staticmethod
    def weight(t: float, a: float, b: float, c: float, d: float) -> float:
        return 0.5 / t


class Saturating(CodesPenalty):
    """log(1 + v): not homogeneous, whatever its power is said to be."""

    @staticmethod
    def value(v: float) -> float:
        return math.log1p(v)

    @staticmethod
    def shift(v: float) -> float:
        return 1 / (1 + v)


class WrongShift(CodesPenalty):
    @staticmethod
    def value(v: float) -> float:
        return v

    @staticmethod
    def shift(v: float) -> float:
        return 2.0


class WrongPower(CodesPenalty):
    """A square, said to grow in proportion."""

    curvature = 2.0

    @staticmethod
    def value(v: float) -> float:
        return v * v

    @staticmethod
    def shift(v: float) -> float:
        return 0.0


class NoCurvature(CodesPenalty):
    """A square, said to be concave."""

    power = 2

    @staticmethod
    def value(v: float) -> float:
        return v * v

    @staticmethod
    def shift(v: float) -> float:
        return 2 * v


class Rewarding(CodesPenalty):
    @staticmethod
    def value(v: float) -> float:
        return -v

    @staticmethod
    def shift(v: float) -> float:
        return -1.0


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused is refused before anything is computed."""

    def fail(*arguments: Any, **named: Any) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(seminmf.models.training, "factorize", fail)
    for builder in ("links", "by_transformer"):
        monkeypatch.setattr(seminmf.models.training.NeighbourIndex, builder, fail)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": Cubic()}, r"Cubic\(\) cannot be used: its weight grows with the length"),
        ({"loss": Mismatched()}, r"Mismatched\(\) cannot be used: its weight is not ρ'\(t\) / 2t"),
        ({"loss": Twice()}, r"Twice\(\) cannot be used: its weight is not ρ'\(t\) / 2t"),
        ({"loss": Falling()}, r"Falling\(\) cannot be used: its weight must be.*not negative"),
        ({"loss": Undefined()}, r"Undefined\(\) cannot be used: its weight must be a finite"),
        ({"loss": Indifferent()}, r"Indifferent\(\) cannot be used: its weight is zero for every"),
        ({"loss": Wordy()}, r"Wordy\(\) cannot be used: Numba cannot compile its functions.*str"),
        ({"loss": Huber(0)}, "Huber: scale must be positive, got 0"),
        ({"loss": Huber(-1.0)}, "Huber: scale must be positive, got -1"),
        ({"loss": Cauchy(0.0)}, "Cauchy: scale must be positive, got 0"),
        ({"loss": Cauchy(math.nan)}, "Cauchy: scale must be a finite number, got nan"),
        ({"loss": Huber(math.inf)}, "Huber: scale must be a finite number, got inf"),
        ({"loss": Huber("large")}, "Huber: scale must be a finite number, got 'large'"),
        ({"loss": Huber(True)}, "Huber: scale must be a finite number, got True"),
        ({"loss": Huber(None)}, "Huber: scale must be a finite number, got None"),
        ({"loss": "hubber"}, r"loss must be one of 'norm'.*'cauchy'.*losses\.Loss, got 'hubber'"),
        ({"loss": Huber}, "loss must be one of .*got <class"),
        ({"loss": None}, "loss must be one of .*got None"),
        ({"loss": L1(0.1)}, r"loss must be one of .*got L1\(strength=0.1\)"),
        ({"l1": -1}, "l1 must be a finite number, zero or positive, got -1"),
        ({"l1": math.nan}, "l1 must be a finite number, zero or positive, got nan"),
        ({"l1": "strong"}, "l1 must be a finite number, zero or positive, got 'strong'"),
        ({"l1": 0.1, "beta": 0}, "l1.* and beta=0 cannot be combined"),
        ({"l1": 0.1, "alpha": 0.3, "beta": 0}, "l1.* and beta=0 cannot be combined"),
        ({"codes_penalty": L1(0.1), "beta": 0}, r"L1\(strength=0.1\).*and beta=0 cannot be comb"),
        ({"codes_penalty": Ridge(0.1), "beta": 0}, r"Ridge\(.*and beta=0 cannot be combined"),
        (
            {"l1": 0.1, "codes_penalty": L1(0.2)},
            r"l1=0.1 and codes_penalty=L1\(strength=0.2\) cannot be combined",
        ),
        ({"codes_penalty": "l1"}, r"codes_penalty must be None or .*CodesPenalty, got 'l1'"),
        ({"codes_penalty": 0.1}, "codes_penalty must be None or .*got 0.1"),
        ({"codes_penalty": L1}, "codes_penalty must be None or .*got <class"),
        ({"codes_penalty": Huber(1.0)}, r"codes_penalty must be None or .*got Huber\(scale=1.0\)"),
        ({"codes_penalty": L1(-1)}, "codes_penalty.strength must be a finite number, zero or pos"),
        ({"codes_penalty": Saturating(0.1)}, r"Saturating\(.*its value at 2v is not 2\^1 times"),
        ({"codes_penalty": WrongShift(0.1)}, r"WrongShift\(.*is not the slope of its value"),
        ({"codes_penalty": WrongPower(0.1)}, r"WrongPower\(.*its value at 2v is not 2\^1 times"),
        ({"codes_penalty": NoCurvature(0.1)}, r"NoCurvature\(.*its shift grows with the code"),
        ({"codes_penalty": Rewarding(0.1)}, r"Rewarding\(.*must not be negative"),
    ],
    ids=str,
)  # fmt: skip
@solvers
def test_what_cannot_be_is_refused(parameters: dict[str, Any], message: str, solver: str) -> None:
    with pytest.raises(ValueError, match=message):
        RobustSemiNMF(2, solver=solver, **parameters).fit(data(20, 6))


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Forgotten(), "Forgotten.value takes 'width', but .* has no such attribute"),
        (Uneven(), "Uneven.weight takes 0 parameters .* there are 1"),
        (Crowded(), "Crowded.value takes 4 parameters; there may be 3"),
    ],
    ids=repr,
)
def test_functions_and_attributes_that_do_not_fit(loss: Loss, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        RobustSemiNMF(2, loss=loss).fit(data(20, 6))


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("model", [GraphSemiNMF, L21SemiNMF])
def test_l1_without_a_price_of_the_basis_is_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=r"l1.* and beta=0 cannot be combined.*\"auto\""):
        model(2, l1=0.1, beta=0).fit(data(20, 6))
    with pytest.raises(ValueError, match="l1 must be a finite number"):
        model(2, l1=-0.1).fit(data(20, 6))


def test_a_penalty_of_strength_zero_is_not_refused() -> None:
    fitted = RobustSemiNMF(2, codes_penalty=L1(0.0), alpha=0, beta=0, tol=0, max_iter=2)
    assert fitted.fit(data(20, 6)).l1_ == 0


def test_a_loss_that_changes_its_mind_is_asked_again() -> None:
    """A part is an object that may change between fits."""
    X, loss = data(20, 6), Huber(1.0)
    estimator = RobustSemiNMF(2, loss=loss, tol=0, max_iter=3)
    first = estimator.fit(X).objective_
    loss.scale = 3.0
    second = estimator.fit(X).objective_
    assert first != second
    loss.scale = -3.0
    with pytest.raises(ValueError, match="scale must be positive"):
        estimator.fit(X)


# --- model files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss",
    ["norm", "squared", "huber", "cauchy", Norm(), SquaredNorm(), Huber(), Huber(1.5), Cauchy(),
     Cauchy(2), OwnNorm(), OwnHuber(), OwnHuber(1.5), PseudoHuber(1.0, 2.0)],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize(
    "penalty", [{}, {"l1": 1e-3}, {"codes_penalty": L1(1e-3)}, {"codes_penalty": Ridge(1e-3)}],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("alpha", ["auto", 0])
def test_parts_come_back_from_a_file(
    loss: Any, penalty: dict[str, Any], alpha: Any, tmp_path: Path
) -> None:
    X, new = data(30, 6), data(7, 6, 3)
    beta = "auto" if penalty or alpha else 0
    model = RobustSemiNMF(2, loss=loss, alpha=alpha, beta=beta, tol=0, max_iter=5, **penalty)
    model.fit(X).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert repr(again) == repr(model)
    assert repr(again.loss_) == repr(model.loss_)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert again.l1_ == model.l1_
    np.testing.assert_array_equal(again.codes_, model.codes_)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    np.testing.assert_array_equal(again.fit(X).codes_, model.codes_)  # a whole estimator


@pytest.mark.parametrize("model", [GraphSemiNMF, L21SemiNMF])
def test_models_with_l1_come_back(model: Any, tmp_path: Path) -> None:
    X, new = data(30, 6), data(7, 6, 3)
    fitted = model(2, l1=1e-3, tol=0, max_iter=5).fit(X)
    fitted.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.l1, again.l1_) == (1e-3, fitted.l1_)
    np.testing.assert_array_equal(again.transform(new), fitted.transform(new))


def test_parts_inside_other_models_come_back(tmp_path: Path) -> None:
    X = data(40, 6)
    inner = RobustSemiNMF(2, loss=OwnHuber(2.0), codes_penalty=OwnL1(1e-3))
    with converging_or_not():
        model = FactorKMeans(inner, n_clusters=3, random_state=0).fit(X)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X + 0.1), model.predict(X + 0.1))
    assert repr(again.factorizer) == repr(inner)


def test_a_part_that_is_not_known_is_named(tmp_path: Path) -> None:
    """The class is not in the file; whoever opens it has to have it."""
    X = data(30, 6)
    files = {
        "OwnHuber": RobustSemiNMF(2, loss=OwnHuber(1.5), tol=0, max_iter=3),
        "Ridge": RobustSemiNMF(2, codes_penalty=Ridge(1e-3), tol=0, max_iter=3),
    }
    for name, model in files.items():
        model.fit(X).save(tmp_path / name)
        code = (
            "import sys, seminmf\n"
            "try:\n"
            "    seminmf.load(sys.argv[1])\n"
            "except seminmf.ModelFileError as error:\n"
            "    print(error)\n"
        )
        command = [sys.executable, "-c", code, str(tmp_path / name)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert f"the loss or penalty {__name__}.{name}," in said
        assert "import the module that defines it" in said


def test_a_part_that_changed_is_refused(tmp_path: Path) -> None:
    class Passing(Loss):
        """Two versions of one class."""

        def __init__(self, scale: float = 1.0) -> None:
            self.scale = scale

        value, weight = staticmethod(Huber.value), staticmethod(Huber.weight)

    model = RobustSemiNMF(2, loss=Passing(2.0), tol=0, max_iter=3).fit(data(30, 6))
    model.save(tmp_path / "m")

    class Passing(Loss):  # type: ignore[no-redef]
        value, weight = staticmethod(Norm.value), staticmethod(Norm.weight)

    with pytest.raises(ModelFileError, match="not a valid model file"):
        load(tmp_path / "m")


def test_a_class_of_the_same_name_as_ours_does_not_take_its_place(tmp_path: Path) -> None:
    """What is called Huber in a file is ours, or refused: never quietly another loss."""
    code = (
        "import sys, numpy as np\n"
        "from seminmf import RobustSemiNMF, load\n"
        "from seminmf.losses import Loss, Norm, Huber as Ours\n"
        "model = RobustSemiNMF(2, loss=Ours(2.0), tol=0, max_iter=3)\n"
        "model.fit(np.random.default_rng(0).normal(size=(20, 4))).save(sys.argv[1])\n"
        "class Huber(Loss):\n"
        "    def __init__(self, scale=1.0):\n"
        "        self.scale = scale\n"
        "    value, weight = staticmethod(lambda t: t), staticmethod(lambda t: 0.5 / t)\n"
        "assert type(load(sys.argv[1]).loss_) is Ours\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], check=True)


# --- without the compiler -------------------------------------------------------------------------


def test_parts_are_made_without_the_compiler() -> None:
    code = (
        "import sys\n"
        "from seminmf import RobustSemiNMF\n"
        "from seminmf.losses import Cauchy, Huber, Loss\n"
        "from seminmf.penalties import L1, CodesPenalty\n"
        "class Own(Loss):\n"
        "    value = staticmethod(lambda t: t)\n"
        "    weight = staticmethod(lambda t: 0.5 / t)\n"
        "RobustSemiNMF(3, loss=Own(), codes_penalty=L1(0.1)).get_params()\n"
        "repr(RobustSemiNMF(3, loss=Cauchy(2.0)))\n"
        "assert not {'numba', 'llvmlite'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
