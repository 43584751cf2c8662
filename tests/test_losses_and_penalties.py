"""Every loss with and without a penalty on the codes, judged by the plain formulas.

The grid is models × losses × graph on or off × L1 on or off × storage × solver.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, nnls
from sklearn.neighbors import NearestNeighbors

import reference
import seminmf.solve.factorize
from helpers import Array, cone, converging_or_not, data, difference, problem, start, value
from seminmf import NMF, GraphSemiNMF, L21SemiNMF, RobustSemiNMF, SemiNMF
from seminmf.data import Engine, Subspace, cutting, subspace
from seminmf.losses import Cauchy, Huber, Norm, SquaredNorm
from seminmf.penalties import L1
from seminmf.solve import descent

# Of the residuals that the data below have, some are shorter and some are longer.
SCALE = 1.5
LOSSES = {"norm": Norm, "squared": SquaredNorm, "huber": Huber, "cauchy": Cauchy}
CLASSES = {
    "NMF": NMF,
    "SemiNMF": SemiNMF,
    "GraphSemiNMF": GraphSemiNMF,
    "L21SemiNMF": L21SemiNMF,
    "RobustSemiNMF": RobustSemiNMF,
}
SOLVERS = ("cd", "mu")
STORAGE = ("rows", "columns", "sparse", "single", "mapped")


@dataclass(frozen=True)
class Case:
    """A model with its loss, with or without graph, and the strength of L1."""

    model: str
    loss: str = ""
    graph: bool = False
    l1: float = 0.0

    def __str__(self) -> str:
        parts = (self.model, self.loss, "graph" if self.graph else "", "l1" if self.l1 else "")
        return "-".join(part for part in parts if part)

    @property
    def nonnegative(self) -> bool:
        return self.model == "NMF"

    @property
    def convex(self) -> bool:
        """Whether a sample's own problem has one minimum."""
        return self.loss != "cauchy"

    def penalties(self) -> dict[str, Any]:
        if self.model in ("NMF", "SemiNMF"):
            return {}
        # Without a graph β has work to do only against L1.
        alpha, beta = (0.3 if self.graph else 0.0), (2.0 if self.graph or self.l1 else 0.0)
        return {"alpha": alpha, "beta": beta, "l1": self.l1, "graph": "knn", "n_neighbors": 3}

    def make(self, k: int, **parameters: Any) -> Any:
        if self.loss:
            loss = LOSSES[self.loss]
            parameters["loss"] = loss(SCALE) if self.loss in ("huber", "cauchy") else loss()
        return CLASSES[self.model](k, **{**self.penalties(), **parameters})


def cases() -> list[Case]:
    found = [Case("NMF"), Case("SemiNMF")]
    parts = [("GraphSemiNMF", ""), ("L21SemiNMF", "")]
    for model, loss in parts + [("RobustSemiNMF", loss) for loss in LOSSES]:
        # A loss that hardly grows is not worth a large price.
        l1 = 2e-4 if loss == "cauchy" else 1e-3
        found += [Case(model, loss, graph, mu) for graph in (False, True) for mu in (0.0, l1)]
    return found


PENALISED = [case for case in cases() if case.l1]
grid = pytest.mark.parametrize("case", cases(), ids=str)
penalised = pytest.mark.parametrize("case", PENALISED, ids=str)
solvers = pytest.mark.parametrize("solver", SOLVERS)
losses = pytest.mark.parametrize("loss", LOSSES)


def samples(case: Case, n: int = 40, m: int = 7, seed: int = 0) -> Array:
    """Data with zeros, as sparse data have."""
    X = data(n, m, seed, nonnegative=case.nonnegative)
    X[np.abs(X) < 0.3] = 0
    return X


def stored(X: Array, form: str, folder: Path) -> Any:
    if form == "columns":
        return np.asfortranarray(X)
    if form == "sparse":
        return sp.csr_array(X)
    if form == "single":
        return X.astype(np.float32)
    if form == "mapped":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    return X


def graph_of(case: Case, X: Array) -> Array | None:
    return reference.neighbour_graph(X, 3) if case.graph else None


# --- the path -------------------------------------------------------------------------------------


@grid
@pytest.mark.parametrize("form", STORAGE)
def test_every_iterate_equals_the_formulas(case: Case, form: str, tmp_path: Path) -> None:
    X = samples(case)
    if form == "single":
        X = X.astype(np.float32).astype(np.float64)
    begin = start(*X.shape, 3, nonnegative=case.nonnegative)
    if form == "single":
        U, V = begin
        begin = U.astype(np.float32).astype(np.float64), V.astype(np.float32).astype(np.float64)
    seen: list[tuple[Array, Array]] = []
    fitted = case.make(
        3, solver="mu", init=begin, max_iter=20, tol=0,
        callback=lambda progress: seen.append(progress.factors()),
    ).fit(stored(X, form, tmp_path))  # fmt: skip
    p = problem(fitted, X, graph_of(case, X))
    assert (p.mu > 0) == (case.l1 > 0)
    assert fitted.codes_.max() > 0.1
    expected = reference.iterates(p, *begin, 20)
    tolerance = 1e-3 if form == "single" else 1e-8
    for (U, V), (U_seen, V_seen) in zip(expected, seen, strict=True):
        assert difference(U_seen, U) <= tolerance
        assert difference(V_seen, V) <= tolerance
    values = [reference.objective(p, U, V) for U, V in expected]
    precision = 1e-4 if form == "single" else 1e-10
    np.testing.assert_allclose(fitted.objective_history_, values, rtol=precision)


@grid
@solvers
@pytest.mark.parametrize("form", STORAGE)
def test_descent_and_a_truthful_result(case: Case, solver: str, form: str, tmp_path: Path) -> None:
    X = samples(case)
    U0, V0 = start(*X.shape, 3, nonnegative=case.nonnegative)
    fitted = case.make(3, solver=solver, init=(U0, V0), max_iter=40, tol=0).fit(
        stored(X, form, tmp_path)
    )
    p = problem(fitted, X, graph_of(case, X))
    history = [reference.objective(p, U0, V0), *fitted.objective_history_]
    slack, precision = (1e-5, 1e-4) if form == "single" else (1e-12, 1e-9)
    assert all(after <= before * (1 + slack) for before, after in pairwise(history))
    assert fitted.objective_ == fitted.objective_history_[-1]
    U, V = fitted.components_.T, fitted.codes_
    assert fitted.objective_ == pytest.approx(reference.objective(p, U, V), rel=precision)
    assert V.min() >= 0
    np.testing.assert_allclose(
        fitted.residuals_, reference.residuals(X, U, V), rtol=100 * precision, atol=1e-5
    )


@grid
@pytest.mark.parametrize("init", ["auto", "random", "kmeans", "exemplar"])
def test_every_start_descends(case: Case, init: str) -> None:
    X = samples(case)
    fitted = case.make(3, init=init, max_iter=15, tol=0, random_state=0).fit(X)
    history = fitted.objective_history_
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(history))
    assert fitted.objective_ == pytest.approx(value(fitted, X, graph_of(case, X)), rel=1e-9)


@grid
@pytest.mark.parametrize("shape", [(60, 8), (60, 70)])
def test_coordinate_descent_ends_at_a_stationary_point(case: Case, shape: tuple[int, int]) -> None:
    X = cone(*shape, 3, nonnegative=case.nonnegative, noise=0.3)
    # Weak enough for the parts to be worth their price.
    weak = {"alpha": 0.01, "beta": 0.1} if case.graph else {}
    fitted = replace(case, l1=case.l1 / 20).make(3, tol=1e-14, max_iter=6000, **weak).fit(X)
    p = problem(fitted, X, graph_of(case, X))
    assert fitted.kkt_residual_ < 1e-5
    assert reference.kkt(p, fitted.components_.T, fitted.codes_) < 1e-4


@grid
@solvers
def test_the_distance_from_optimality(case: Case, solver: str) -> None:
    """`kkt_residual_` is that of the formulas also where it is not small."""
    if case.nonnegative:
        return
    X = samples(case)
    begin = start(*X.shape, 3)
    fitted = case.make(3, solver=solver, init=begin, max_iter=7, tol=0).fit(X)
    p = problem(fitted, X, graph_of(case, X))
    expected = reference.stationarity(p, fitted.components_.T, fitted.codes_)
    assert expected > 1e-4
    assert fitted.kkt_residual_ == pytest.approx(expected, rel=1e-6)


@grid
@pytest.mark.parametrize("chunks", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_path_for_every_storage(
    case: Case, chunks: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As rows, as CSR and in blocks, and with a graph whose samples are kept in another order."""
    n, m = 600, 12
    if chunks:
        monkeypatch.setattr(cutting, "_OWN_BLOCK", (1, 8))
        assert len(Engine(np.zeros((n, m)), 3).chunk_bounds) == 6
    X = samples(case, n, m)
    weights = np.random.default_rng(2).uniform(0.5, 2, n) if weighted else None
    settings: dict[str, Any] = {"max_iter": 10, "tol": 0, "random_state": 0}
    settings["init"] = start(n, m, 3, nonnegative=case.nonnegative)
    if case.graph:
        ties = sp.eye_array(n, k=1, format="csr") + sp.eye_array(n, k=2, format="csr")
        mixed = np.random.default_rng(0).permutation(n)
        settings["graph"] = sp.csr_array(ties + ties.T)[mixed][:, mixed]
    dense = case.make(3, **settings).fit(X, sample_weight=weights)
    if not weighted:
        W = settings.get("graph")
        assert dense.objective_ == pytest.approx(value(dense, X, W), rel=1e-9)
    sparse = case.make(3, **settings).fit(sp.csr_array(X), sample_weight=weights)
    blocks = functools.partial(Engine, block_rows=70)
    monkeypatch.setattr(seminmf.solve.factorize, "Engine", blocks)
    blocked = case.make(3, **settings).fit(X, sample_weight=weights)
    for other in (sparse, blocked):
        np.testing.assert_allclose(
            other.objective_history_, dense.objective_history_, rtol=1e-9, atol=0
        )
        assert difference(other.codes_, dense.codes_) < 1e-6


@pytest.mark.parametrize("case", [case for case in cases() if case.graph], ids=str)
def test_a_run_that_goes_down_in_a_subspace_first(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = cone(150, 60, 3, noise=0.5)
    entered: list[bool] = []
    take_up = descent.Descent._take_up

    def watched(self: Any, space: Any) -> None:
        entered.append(isinstance(space, Subspace))
        take_up(self, space)

    monkeypatch.setattr(descent.Descent, "_take_up", watched)
    monkeypatch.setattr(subspace, "_WORTH_MAKING", 0)
    weak = {"alpha": 0.01, "beta": 0.1}
    seen: list[tuple[float, Any]] = []
    with converging_or_not():
        fitted = case.make(
            3, callback=lambda p: seen.append((p.objective, p.factors())), **weak
        ).fit(X)  # fmt: skip
    assert entered == [True, False]
    p = problem(fitted, X, graph_of(case, X))
    for objective, factors in seen:
        assert reference.objective(p, *factors) == pytest.approx(objective, rel=1e-9)
    history = fitted.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    assert fitted.objective_ == pytest.approx(value(fitted, X, p.W), rel=1e-9)


@grid
def test_the_compressed_path_is_the_same(case: Case) -> None:
    """With more features than samples a run goes on in the span of the samples."""
    X = samples(case, 25, 140) / 5
    begin = start(25, 140, 3, nonnegative=case.nonnegative)
    fitted = case.make(3, solver="mu", init=begin, max_iter=20, tol=0).fit(X)
    p = problem(fitted, X, graph_of(case, X))
    U, V = reference.iterates(p, *begin, 20)[-1]
    assert difference(fitted.components_.T, U) <= 1e-8
    assert difference(fitted.codes_, V) <= 1e-8


# --- new samples ----------------------------------------------------------------------------------


def sample_objective(fitted: Any, x: Array, v: Array, anchors: Array) -> float:
    p = problem(fitted, x[None], np.zeros((1, 1)))
    return reference.transform_objective(
        p.model, x, fitted.components_.T, v, anchors, p.alpha, mu=p.mu, loss=p.loss, scale=p.scale
    )


def descend(fitted: Any, x: Array, v: Array, anchors: Array) -> float:
    """The least value that L-BFGS-B finds from ``v``, sharpening a smoothed norm."""
    U = fitted.components_.T
    p = problem(fitted, x[None], np.zeros((1, 1)))

    def smooth(v: Array, width: float) -> tuple[float, Array]:
        error, ties = U @ v - x, v - anchors
        length = np.sqrt(error @ error + width**2)
        lengths = np.sqrt((ties**2).sum(axis=1) + width**2)
        total = reference.rho(p.residual_loss, length, p.scale) + p.mu * v.sum()
        total += p.alpha * np.sum(reference.rho(p.edge_loss, lengths, p.scale))
        pull = reference.slope_per_length(p.edge_loss, lengths, p.scale)[:, None] * ties
        gradient = reference.slope_per_length(p.residual_loss, length, p.scale) * (U.T @ error)
        return float(total), gradient + p.alpha * pull.sum(axis=0) + p.mu

    best = sample_objective(fitted, x, v, anchors)
    for width in (1e-1, 1e-3, 1e-5, 1e-8):
        v = minimize(
            smooth, v, (width,), "L-BFGS-B", jac=True, bounds=[(0, None)] * len(v),
            options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 2000},
        ).x  # fmt: skip
        best = min(best, sample_objective(fitted, x, v, anchors))
    return best


@grid
def test_codes_of_new_samples_are_the_best(case: Case) -> None:
    X = samples(case)
    with converging_or_not():
        fitted = case.make(3, max_iter=300, random_state=0).fit(X)
    new = np.vstack([samples(case, 4, seed=5), X[:2] + 1e-3, 20 * X[3:4]])
    nearest = NearestNeighbors(n_neighbors=3, algorithm="brute").fit(X)
    rng = np.random.default_rng(0)
    for x, v in zip(new, fitted.transform(new), strict=True):
        anchors = np.zeros((0, 3))
        if case.graph:
            anchors = fitted.codes_[nearest.kneighbors(x[None], return_distance=False)[0]]
        found = sample_objective(fitted, x, v, anchors)
        assert v.min() >= 0
        starts = [nnls(fitted.components_.T, x)[0], *anchors]
        # Of a loss that is not convex a minimum is asked for, not the least of all.
        least = min(
            min(sample_objective(fitted, x, start, anchors) for start in starts),
            min(descend(fitted, x, start, anchors) for start in (starts if case.convex else [v])),
        )
        slack = 1e-6 if case.convex else 1e-5
        assert found <= least * (1 + slack)
        for size in (1e-1, 1e-3, 1e-5):
            for direction in rng.normal(size=(20, 3)):
                moved = np.maximum(v + size * direction, 0)
                assert found <= sample_objective(fitted, x, moved, anchors) * (1 + 1e-7)


@grid
@pytest.mark.parametrize("form", STORAGE)
def test_training_samples_get_their_codes(case: Case, form: str, tmp_path: Path) -> None:
    X = stored(samples(case), form, tmp_path)
    with converging_or_not():
        fitted = case.make(3, max_iter=300, random_state=0).fit(X)
    tolerance = 1e-3 if form == "single" else 1e-7
    assert difference(fitted.transform(X), fitted.codes_) <= tolerance


@grid
@pytest.mark.parametrize("form", ["columns", "sparse", "mapped"])
def test_codes_of_new_samples_in_any_storage(case: Case, form: str, tmp_path: Path) -> None:
    with converging_or_not():
        fitted = case.make(3, max_iter=100, random_state=0).fit(samples(case))
    new = samples(case, 9, seed=5)
    codes = fitted.transform(new)
    assert difference(fitted.transform(stored(new, form, tmp_path)), codes) <= 1e-6


# --- the laws -------------------------------------------------------------------------------------


@grid
@solvers
def test_an_integer_weight_is_a_repetition(case: Case, solver: str) -> None:
    if case.graph and solver == "mu":
        return  # There a sample and its copies are different vertices, as in the paper.
    X = samples(case, 30)
    times = np.random.default_rng(2).integers(1, 4, len(X))
    settings = {"solver": solver, "max_iter": 15, "tol": 0, "random_state": 0}
    weighted = case.make(3, **settings).fit(X, sample_weight=times)
    repeated = case.make(3, **settings).fit(np.repeat(X, times, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    assert difference(np.repeat(weighted.codes_, times, axis=0), repeated.codes_) < 1e-5
    if not case.nonnegative and case.model != "SemiNMF":
        assert weighted.l1_ == pytest.approx(repeated.l1_)
        if not case.graph:
            p = problem(repeated, np.repeat(X, times, axis=0))
            U, V = weighted.components_.T, np.repeat(weighted.codes_, times, axis=0)
            assert weighted.objective_ == pytest.approx(reference.objective(p, U, V), rel=1e-8)


@grid
def test_a_weight_of_zero_is_an_absence(case: Case) -> None:
    X = samples(case, 30)
    weights = np.random.default_rng(3).uniform(0.5, 2, 30)
    weights[:3] = 0
    settings = {"max_iter": 15, "tol": 0, "random_state": 0}
    weighted = case.make(3, **settings).fit(X, sample_weight=weights)
    fewer = case.make(3, **settings).fit(X[3:], sample_weight=weights[3:])
    assert weighted.objective_ == pytest.approx(fewer.objective_, rel=1e-8)
    assert difference(weighted.codes_[3:], fewer.codes_) < 1e-5
    # The absent are projected, with the same loss and the same penalty.
    assert difference(weighted.codes_[:3], fewer.transform(X[:3])) < 1e-5


@penalised
@pytest.mark.parametrize("c", [1e-2, 7.0, 300.0])
def test_the_law_of_the_scale(case: Case, c: float) -> None:
    """J(U/c, cV; α, β, μ) = J(U, V; cᵖα, β/c, cμ), and only μβ is asked for by ``l1``."""
    X = samples(case)
    power = 2 if case.model == "GraphSemiNMF" else 1
    alpha, beta = case.penalties()["alpha"], case.penalties()["beta"]
    settings = {"max_iter": 15, "tol": 0, "random_state": 0}
    plain = case.make(3, **settings).fit(X)
    other = case.make(3, **settings, alpha=c**power * alpha, beta=beta / c).fit(X)
    assert other.l1_ == pytest.approx(c * plain.l1_)
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    assert difference(c * other.codes_, plain.codes_) < 1e-5
    assert difference(other.components_ / c, plain.components_) < 1e-5
    p = problem(plain, X, graph_of(case, X))
    scaled = replace(p, alpha=c**power * p.alpha, beta=p.beta / c, mu=c * p.mu)
    U, V = start(*X.shape, 3)
    assert reference.objective(scaled, U, V) == pytest.approx(reference.objective(p, U / c, c * V))


@penalised
def test_the_scale_of_the_result_is_the_best(case: Case) -> None:
    """Coordinate descent ends where no other scale of V against U has a lower J."""
    X = samples(case)
    with converging_or_not():
        fitted = replace(case, l1=case.l1 / 20).make(3, max_iter=2000, tol=1e-12).fit(X)
    p = problem(fitted, X, graph_of(case, X))
    U, V = fitted.components_.T, fitted.codes_
    for c in (0.9, 0.99, 1.01, 1.1):
        assert reference.objective(p, U / c, c * V) >= fitted.objective_ * (1 - 1e-9)


@pytest.mark.parametrize("model", ["GraphSemiNMF", "L21SemiNMF", *LOSSES])
@pytest.mark.parametrize("beta", ["auto", 2.0])
@pytest.mark.parametrize("alpha", ["auto", 0.0])
def test_strength_of_l1(model: str, alpha: Any, beta: Any) -> None:
    """κ = μβ / (a b), in units a = sʳ of α and b = n sʳ⁻¹ of β, whatever β is."""
    case = Case("RobustSemiNMF", model) if model in LOSSES else Case(model)
    X, kappa = samples(case), 0.003
    fitted = case.make(2, alpha=alpha, beta=beta, l1=kappa, tol=0, max_iter=1).fit(X)
    n, s = len(X), np.median(np.linalg.norm(X, axis=1))
    r = 2 if model in ("GraphSemiNMF", "squared") else 1
    a, b = s**r, n * s ** (r - 1)
    assert fitted.l1_ * fitted.beta_ / (a * b) == pytest.approx(kappa)
    assert fitted.alpha_ == 0 if alpha == 0 else fitted.alpha_ > 0
    if beta == 2.0:
        assert fitted.beta_ == 2.0
    elif alpha == 0:
        assert fitted.beta_ == pytest.approx(np.sqrt(kappa) * b)
    else:
        assert fitted.beta_ == pytest.approx(np.sqrt(fitted.strength_) * b)


@losses
@pytest.mark.parametrize("exponent", [-9, 9])
@pytest.mark.parametrize("l1", [0.0, 0.003])
def test_unit_of_measurement(loss: str, l1: float, exponent: int) -> None:
    """With everything automatic, also the scale of the loss: the codes stay."""
    X, c = data(30, 8), 10.0**exponent
    settings = {"loss": loss, "l1": l1, "tol": 0, "max_iter": 15}
    plain = RobustSemiNMF(3, **settings).fit(X)
    other = RobustSemiNMF(3, **settings).fit(c * X)
    power = 2 if loss == "squared" else 1
    if loss in ("huber", "cauchy"):
        assert other.loss_.scale == pytest.approx(c * plain.loss_.scale)
    if loss == "squared":
        # Its graph penalty is that of a loss of power one: α has another unit.
        assert other.alpha_ == pytest.approx(c**2 * plain.alpha_)
    assert other.objective_ == pytest.approx(c**power * plain.objective_, rel=1e-7)
    assert difference(other.codes_, plain.codes_) < 1e-5
    assert difference(other.components_ / c, plain.components_) < 1e-5


@solvers
@pytest.mark.parametrize("model", ["GraphSemiNMF", "L21SemiNMF", "RobustSemiNMF"])
def test_zero_l1_is_no_l1(model: str, solver: str) -> None:
    X = data(40, 7)
    settings = {"solver": solver, "max_iter": 15, "tol": 0, "random_state": 0}
    plain = CLASSES[model](3, **settings).fit(X)
    others = [CLASSES[model](3, l1=0, **settings)]
    if model == "RobustSemiNMF":
        others.append(RobustSemiNMF(3, codes_penalty=L1(0.0), **settings))
    for other in others:
        other.fit(X)
        np.testing.assert_array_equal(other.codes_, plain.codes_)
        np.testing.assert_array_equal(other.components_, plain.components_)
        np.testing.assert_array_equal(other.objective_history_, plain.objective_history_)
        np.testing.assert_array_equal(other.transform(X + 0.1), plain.transform(X + 0.1))
        assert other.l1_ == 0


@solvers
def test_one_model_by_two_names(solver: str) -> None:
    X = data(40, 7)
    settings = {"solver": solver, "max_iter": 15, "tol": 0, "random_state": 0}
    for penalty in ({}, {"l1": 0.01}):
        one = L21SemiNMF(3, **settings, **penalty).fit(X)
        two = RobustSemiNMF(3, loss="norm", **settings, **penalty).fit(X)
        three = RobustSemiNMF(3, loss=Norm(), **settings, codes_penalty=None, **penalty).fit(X)
        if penalty:
            three = RobustSemiNMF(3, loss="norm", codes_penalty=L1(0.01), **settings).fit(X)
        for other in (two, three):
            np.testing.assert_array_equal(other.codes_, one.codes_)
            np.testing.assert_array_equal(other.objective_history_, one.objective_history_)
            np.testing.assert_array_equal(other.transform(X + 0.1), one.transform(X + 0.1))


@pytest.mark.parametrize("case", [replace(case, l1=0.0) for case in PENALISED], ids=str)
def test_more_l1_more_zeros(case: Case) -> None:
    X = cone(60, 12, 4, noise=0.3)
    zeros = []
    for strength in (1e-6, 1e-4, 1e-3, 1e-2, 3e-2):
        weak = {"alpha": 0.01, "beta": 0.1} if case.graph else {}
        with converging_or_not():
            fitted = replace(case, l1=strength).make(4, max_iter=500, tol=1e-8, **weak).fit(X)
        zeros.append(int((fitted.codes_ == 0).sum()))
    assert zeros[-1] > zeros[0]
    assert all(after >= before - 2 for before, after in pairwise(zeros))


@solvers
@pytest.mark.parametrize("form", STORAGE)
@pytest.mark.parametrize("case", PENALISED, ids=str)
def test_parts_that_are_not_worth_their_price(
    case: Case, solver: str, form: str, tmp_path: Path
) -> None:
    """Some parts, or all, are switched off, and nothing is divided by their length."""
    X = samples(case)
    fitted = replace(case, l1=0.05).make(
        4, solver=solver, init=start(*X.shape, 4), max_iter=150, tol=0
    ).fit(stored(X, form, tmp_path))  # fmt: skip
    assert np.isfinite(fitted.objective_history_).all()
    assert np.isfinite(fitted.kkt_residual_)
    precision = 1e-4 if form == "single" else 1e-9
    assert fitted.objective_ == pytest.approx(value(fitted, X, graph_of(case, X)), rel=precision)
    assert np.isfinite(fitted.transform(X + 0.1)).all()


def test_strong_l1_leaves_nothing() -> None:
    """Zero is then the solution, and it is reached without a warning or an infinity."""
    X = data(40, 7)
    for solver in SOLVERS:
        with converging_or_not():
            fitted = L21SemiNMF(3, l1=1e3, solver=solver, max_iter=500).fit(X)
        assert np.isfinite(fitted.objective_history_).all()
        assert fitted.objective_ == pytest.approx(np.linalg.norm(X, axis=1).sum(), rel=1e-6)
        assert np.isfinite(fitted.transform(X + 0.1)).all()


# --- losses and each other ------------------------------------------------------------------------


@solvers
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_huber_between_the_norm_and_the_square(solver: str, graph: bool, l1: float) -> None:
    X = samples(Case("SemiNMF"))
    settings = {"solver": solver, "init": start(*X.shape, 3), "max_iter": 15, "tol": 0}
    case = Case("RobustSemiNMF", "norm", graph, l1)
    norm = case.make(3, **settings).fit(X)
    tiny = case.make(3, **settings).set_params(loss=Huber(1e-9)).fit(X)
    assert difference(tiny.codes_, norm.codes_) < 1e-6
    assert tiny.objective_ == pytest.approx(norm.objective_, rel=1e-7)
    # ρ(t) = t² / 2c for all of them: with α, β and μ in proportion J is that of the square.
    c = 1e4
    square = Case("RobustSemiNMF", "squared", graph, l1).make(3, **settings).fit(X)
    weights = {name: case.penalties()[name] / (2 * c) for name in ("alpha", "beta")}
    huge = case.make(3, **settings).set_params(loss=Huber(c), **weights)
    if l1:
        # The strength that has the μ of the square, divided likewise.
        n, s = len(X), np.median(np.linalg.norm(X, axis=1))
        huge.set_params(l1=square.l1_ / (2 * c) * weights["beta"] / (n * s))
    huge.fit(X)
    assert difference(huge.codes_, square.codes_) < 1e-6
    assert 2 * c * huge.objective_ == pytest.approx(square.objective_, rel=1e-7)


@losses
def test_residuals_of_zero(loss: str) -> None:
    """Data of rank k are fitted exactly: floors and nothing infinite."""
    X = data(40, 9, rank=3)
    for l1 in (0.0, 1e-6):
        with converging_or_not():
            fitted = RobustSemiNMF(3, loss=loss, strength=1e-8, l1=l1, max_iter=400).fit(X)
        assert np.isfinite(fitted.objective_history_).all()
        assert fitted.residuals_.max() < 0.05 * np.linalg.norm(X, axis=1).mean()
        if hasattr(fitted.loss_, "scale"):
            assert fitted.loss_.scale > 0


def test_the_automatic_scale_is_a_typical_residual() -> None:
    """The median distance from the span of the leading directions, of the rows at equal length."""
    X = data(50, 9)
    X[:3] *= 100  # no matter how far some are out
    lengths = np.linalg.norm(X, axis=1)
    directions = np.linalg.svd(X / np.sqrt(lengths)[:, None])[2][:3]
    typical = np.median(np.linalg.norm(X - X @ directions.T @ directions, axis=1))
    for loss, factor in ((Huber, 1), (Cauchy, 2)):
        estimator = RobustSemiNMF(3, loss=loss(), tol=0, max_iter=2)
        fitted = estimator.fit(X)
        assert fitted.loss_.scale == pytest.approx(factor * typical)
        assert type(fitted.loss_) is loss
        assert estimator.loss.scale == "auto"
        assert fitted.objective_ == pytest.approx(value(fitted, X), rel=1e-9)


@pytest.mark.parametrize("shape", [(60, 400), (400, 350)])
def test_the_automatic_scale_of_many_features(shape: tuple[int, int]) -> None:
    X = cone(*shape, 3, noise=0.5)
    lengths = np.linalg.norm(X, axis=1)
    directions = np.linalg.svd(X / np.sqrt(lengths)[:, None])[2][:3]
    typical = np.median(np.linalg.norm(X - X @ directions.T @ directions, axis=1))
    for form in (X, sp.csr_array(X), np.asfortranarray(X)):
        fitted = RobustSemiNMF(3, alpha=0, beta=0, tol=0, max_iter=1).fit(form)
        assert fitted.loss_.scale == pytest.approx(typical, rel=1e-2)


def test_outliers_count_less_and_less() -> None:
    """From the square to Cauchy: the error of the other samples falls when some are far out."""
    X = cone(120, 10, 3)
    rng = np.random.default_rng(0)
    X[:12] = 30 * rng.normal(size=(12, 10))
    errors = {}
    for loss in LOSSES:
        with converging_or_not():
            fitted = RobustSemiNMF(3, loss=loss, strength=1e-6, random_state=0).fit(X)
        errors[loss] = fitted.residuals_[12:].mean()
    assert errors["norm"] < errors["squared"]
    assert errors["huber"] < errors["squared"]
    assert errors["cauchy"] < errors["huber"]


# --- the reference itself -------------------------------------------------------------------------


@grid
def test_gradients_of_the_reference_are_those_of_its_objective(case: Case) -> None:
    X = samples(case, 8, 5)
    U, V = start(8, 5, 3, nonnegative=case.nonnegative)
    mu = 0.7 if case.l1 else 0.0
    W = reference.neighbour_graph(X, 2) if case.graph else None
    p = reference.Problem(case.model, X, W, 0.3, 2.0, mu, case.loss or "norm", SCALE)
    g_U, g_V = reference.gradients(p, U, V)
    for factor, gradient in ((U, g_U), (V, g_V)):
        for index in np.ndindex(factor.shape):
            kept, h = factor[index], 1e-6
            factor[index] = kept + h
            above = reference.objective(p, U, V)
            factor[index] = kept - h
            below = reference.objective(p, U, V)
            factor[index] = kept
            assert gradient[index] == pytest.approx((above - below) / (2 * h), rel=1e-5, abs=1e-5)


@grid
def test_the_formulas_lower_the_objective(case: Case) -> None:
    X = samples(case, 25, 8)
    begin = start(25, 8, 3, nonnegative=case.nonnegative)
    mu = 0.7 if case.l1 else 0.0
    W = reference.neighbour_graph(X, 3) if case.graph else None
    p = reference.Problem(case.model, X, W, 0.3, 2.0, mu, case.loss or "norm", SCALE)
    points = [begin, *reference.iterates(p, *begin, 60)]
    values = [reference.objective(p, U, V) for U, V in points]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(values))


@pytest.mark.parametrize("loss", reference.LOSSES)
def test_slopes_of_the_reference(loss: str) -> None:
    t = np.geomspace(1e-3, 1e3, 200) * SCALE
    for scale in (1e-2, SCALE, 50.0):
        above, below = (reference.rho(loss, t * (1 + sign * 1e-6), scale) for sign in (1, -1))
        slopes = (above - below) / (2e-6 * t)
        np.testing.assert_allclose(
            reference.slope_per_length(loss, t, scale) * t, slopes, rtol=1e-4
        )
