"""What small fits do not reach: many blocks, shards, colours and edges, and singular systems;
and steps of the core by themselves, which a fit would make up for by further steps.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

import reference
from helpers import Array, converging_or_not, data, difference, start, value
from seminmf import L21SemiNMF, SemiNMF
from seminmf.compiled.single import nnls_rows
from seminmf.data import DESCEND, MULTIPLY, Engine, Rows, Rule, Space
from seminmf.losses import Loss, Norm, SquaredNorm
from seminmf.penalties import L1, CodesPenalty
from seminmf.problem.basis import Basis, LeastSquaresBasis
from seminmf.problem.objective import Objective
from seminmf.solve.descent import Descent, Scheme


def test_many_samples_follow_the_formulas() -> None:
    n, m, k = 30_000, 20, 3  # more blocks than shards
    X, (U, V) = data(n, m), start(n, m, k)
    model = SemiNMF(k, solver="mu", init=(U, V), max_iter=3, tol=0)
    with converging_or_not():
        model.fit(X)
    for _ in range(3):
        U = np.linalg.solve(V.T @ V, V.T @ X).T
        phi, omega = X @ U, U.T @ U
        numerator = reference.plus(phi) + V @ reference.minus(omega)
        denominator = reference.minus(phi) + V @ reference.plus(omega)
        # Zero at codes of zero alone, which the rule cannot leave.
        V = V * np.sqrt(numerator / np.where(denominator == 0, 1, denominator))
    np.testing.assert_allclose(model.codes_, V, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.components_.T, U, rtol=1e-9)
    assert model.objective_ == pytest.approx(((X - V @ U.T) ** 2).sum(), rel=1e-12)


@pytest.fixture(scope="module")
def ring() -> tuple[np.ndarray, sp.csr_array]:
    """Samples on a ring, each next to six others: some thousand edges, and several colours."""
    n = 900
    X = data(n, 6)
    steps = [sp.eye_array(n, k=shift) for shift in (1, 2, 5, 1 - n, 2 - n, 5 - n)]
    W = sp.csr_array(sum(steps[1:], start=steps[0]))
    return X, sp.csr_array(W + W.T)


def test_a_large_graph_follows_the_formulas(ring: tuple[np.ndarray, sp.csr_array]) -> None:
    X, W = ring
    U, V = start(*X.shape, 3)
    model = L21SemiNMF(3, alpha=0.3, beta=2.0, graph=W, solver="mu", init=(U, V), max_iter=2, tol=0)
    with converging_or_not():
        model.fit(X)
    problem = reference.Problem("L21SemiNMF", X, W.toarray(), 0.3, 2.0)
    U, V = reference.iterates(problem, U, V, 2)[-1]
    np.testing.assert_allclose(model.codes_, V, rtol=1e-8, atol=1e-12)
    assert model.objective_ == pytest.approx(reference.objective(problem, U, V), rel=1e-12)


def test_every_sample_of_a_large_graph_descends(ring: tuple[np.ndarray, sp.csr_array]) -> None:
    """A sample that coordinate descent left out would keep its code of the start."""
    X, W = ring
    U, V = start(*X.shape, 3)
    with converging_or_not():
        model = L21SemiNMF(3, graph=W, init=(U, V), max_iter=4, tol=0).fit(X)
    assert model.objective_ == pytest.approx(value(model, X, W), rel=1e-9)
    scale = np.median(model.codes_) / np.median(V)
    assert not (np.abs(model.codes_ - scale * V).max(axis=1) < 1e-3).any()
    assert len(np.unique(np.round(model.codes_ / V, 8))) > X.shape[0]


def test_every_shard_has_its_own_sums() -> None:
    """Threads add to shards at the same time: two of them may not share a place."""
    n, m, k = 30_000, 20, 3
    X, (U, V) = data(n, m), start(n, m, k)
    with Engine(X, k) as engine:
        terms = Objective(Norm(), SquaredNorm()).terms(X.dtype, 0.0)
        rows = engine.begin(terms, Rule(DESCEND, sweeps=1), None, None, V.copy())
        found = rows.measure(U, U.T @ U, 0.0, 0.0)
        ends = engine.cuts.blocks[engine.cuts.shards]
        grams = rows._sums.grams.reshape(-1, k, k)
    d = 0.5 / reference.residuals(X, U, V)
    weighted = d[:, None] * V
    assert len(grams) == len(ends) - 1 > 2
    # That of the first has received all the others.
    for first, last, gram in zip(ends[1:-1], ends[2:], grams[1:], strict=True):
        np.testing.assert_allclose(gram, V[first:last].T @ weighted[first:last], rtol=1e-11)
    np.testing.assert_allclose(found.gram, V.T @ weighted, rtol=1e-11)
    np.testing.assert_allclose(found.moment, X.T @ weighted, rtol=1e-9, atol=1e-9)
    assert found.loss == pytest.approx((0.5 / d).sum(), rel=1e-12)


# Codes with a penalty that has a slope and a curvature.


class _Both(CodesPenalty):
    """π(v) = v + v²."""

    curvature = 2.0

    @staticmethod
    def value(v: float) -> float:
        return v + v * v

    @staticmethod
    def shift(v: float) -> float:
        return 1.0


def _penalised(rule: Rule, mu: float) -> tuple[Array, Array, Array, Array, Array]:
    """X, U, V, what two weights make of a sample, and the codes by one step of a rule."""
    X, (U, V) = data(37, 6), start(37, 6, 3)
    share = np.random.default_rng(3).uniform(0.5, 2, len(X))
    with Engine(X, 3) as engine:
        terms = Objective(Norm(), SquaredNorm(), penalty=_Both()).terms(X.dtype, 0.0)
        rows: Rows = engine.begin(terms, rule, None, share, V.copy())
        rows.measure(U, U.T @ U, 0.0, mu)
        found = rows.advance(U, U.T @ U, 0.0, mu, 0.0)
        rows.accept(0.0)
        codes = rows.codes.copy()
    assert found.codes_penalty == pytest.approx((share[:, None] * (codes + codes**2)).sum())
    d = share * 0.5 / reference.residuals(X, U, V)
    return X, U, V, (share / d)[:, None], codes


def test_coordinate_descent_ends_where_slopes_of_the_penalty_balance() -> None:
    """At the minimum over v ≥ 0 of d‖x − Uv‖² + μω Σ(v + v²), by its first-order conditions."""
    mu = 0.4
    X, U, _, ratio, codes = _penalised(Rule(DESCEND, sweeps=2000), mu)
    gradient = 2 * (codes @ (U.T @ U) - X @ U) + mu * ratio * (1 + 2 * codes)
    assert 10 < (codes > 0).sum() < codes.size
    np.testing.assert_allclose(gradient[codes > 0], 0, atol=1e-9)
    assert gradient[codes == 0].min() > -1e-9


def test_a_sweep_takes_one_code_of_a_sample_after_the_other() -> None:
    """Each to its minimum beside the others, as often as asked; slopes of the penalty stay."""
    mu, sweeps = 0.4, 2
    X, U, V, ratio, codes = _penalised(Rule(DESCEND, sweeps=sweeps), mu)
    phi, omega, V = X @ U, U.T @ U, V.copy()
    for q in list(range(3)) * sweeps:
        rest = phi[:, q] - V @ omega[:, q] + omega[q, q] * V[:, q] - 0.5 * mu * ratio[:, 0]
        V[:, q] = np.maximum(rest / (omega[q, q] + mu * ratio[:, 0]), 0)
    np.testing.assert_allclose(codes, V, rtol=1e-9, atol=1e-12)


def test_the_multiplicative_rule_divides_by_half_the_slope_of_the_penalty() -> None:
    mu = 0.4
    X, U, V, ratio, codes = _penalised(Rule(MULTIPLY), mu)
    phi, omega = X @ U, U.T @ U
    numerator = reference.plus(phi) + V @ reference.minus(omega)
    denominator = reference.minus(phi) + V @ reference.plus(omega) + mu * ratio * (0.5 + V)
    np.testing.assert_allclose(codes, V * np.sqrt(numerator / denominator), rtol=1e-10)


# What a run does with a step that raises J.


class _Astray(LeastSquaresBasis):
    """Answers with the opposite of the best basis, once it is told to."""

    astray = False

    def step(self, moment: Array, gram: Array, basis: Basis, beta: float, floor: float) -> Basis:
        best = super().step(moment, gram, basis, beta, floor)
        return Basis.of(-best.U) if self.astray else best


def _descent(engine: Engine, basis: LeastSquaresBasis) -> Descent:
    """After some plain steps, so that most other steps raise J."""
    scheme = Scheme(Rule(DESCEND, sweeps=1), basis, accelerate=True)
    begin = start(engine.n_samples, engine.n_features, 3)
    found = Descent(Space(engine), Objective(Norm(), Norm()), scheme, None, None, begin)
    for _ in range(30):
        found.iterate(0.0)
    return found


@pytest.mark.parametrize("far", [False, True])
def test_an_extrapolation_is_judged_by_what_it_does_to_j(far: bool) -> None:
    """One that raises J is taken back for a plain step, another is kept."""
    with Engine(data(40, 6), 3) as engine:
        plain, bold = (_descent(engine, LeastSquaresBasis()) for _ in range(2))
        plain.iterate(0.0)
        before, _ = bold.iterate(1e3 if far else 0.5)
        assert before == plain.value
        after, eta = bold.iterate(0.5)
        expected, _ = plain.iterate(0.0)
        assert expected < before * (1 - 1e-9)
        if far:
            assert after == pytest.approx(expected, rel=1e-11)
            np.testing.assert_allclose(bold.factors()[1], plain.factors()[1], atol=1e-9)
        else:
            assert after < expected * (1 - 1e-9)
        assert (eta < 0.5) == far


@pytest.mark.parametrize("eta", [0.0, 0.5])
def test_a_step_that_raises_j_is_not_taken(eta: float) -> None:
    """Neither a plain one nor the plain one after an extrapolation."""
    with Engine(data(40, 6), 3) as engine:
        basis = _Astray()
        descent = _descent(engine, basis)
        before, _ = descent.iterate(eta)
        factors, basis.astray = descent.factors(), True
        after, _ = descent.iterate(eta)
        assert after == descent.value == before
        for factor, original in zip(descent.factors(), factors, strict=True):
            np.testing.assert_array_equal(factor, original)
        # And it goes on from there as if nothing had happened.
        basis.astray = False
        assert descent.iterate(eta)[0] < before


@pytest.mark.parametrize("penalty", [None, L1()], ids=["", "l1"])
@pytest.mark.parametrize("graph", [Norm(), SquaredNorm()], ids=["norm", "squared"])
def test_the_best_scale_is_the_best(graph: Loss, penalty: CodesPenalty | None) -> None:
    """Of J(U/c, cV), where α, μ and β are not at their balance."""
    mu = 0.0 if penalty is None else 0.7
    objective = Objective(Norm(), graph, 0.3, 50.0, penalty, mu)
    P, S, Q = 3.0, 5.0, 2.0

    def along(logarithm: float) -> float:
        c = np.exp(logarithm)
        return float(objective.total(0.0, c**graph.power * P, c * S, Q / c))

    found = objective.best_scale(P, S if mu else 0.0, Q)
    best = np.exp(minimize_scalar(along, bracket=(-3, 3), tol=1e-12).x)
    assert best > 1.5
    assert found == pytest.approx(best, rel=1e-5)
    # The objective in the new units has nothing left to gain.
    again = objective.rescaled(found)
    assert again.best_scale(P, S if mu else 0.0, Q) == pytest.approx(1, rel=1e-12)


# The convex problem of one sample.


def _nnls_violation(phi: Array, omega: Array, codes: Array) -> float:
    """Of the first-order conditions, relative to φ."""
    gradient = codes @ omega - phi
    step = codes - np.maximum(codes - gradient, 0)
    return float(np.abs(step).max() / np.abs(phi).max())


@pytest.mark.parametrize("warm", [False, True])
def test_nnls_steps_until_the_first_code_is_zero(warm: bool) -> None:
    """Steps further than that raise the misfit, and may come back to a support for ever."""
    rng = np.random.default_rng(8)
    n, k = 2000, 10
    U = rng.normal(size=(k, k))
    X = 2 * rng.random((n, k)) @ U.T + rng.normal(size=(n, k))
    codes = rng.random((n, k)) if warm else np.zeros((n, k))
    doubtful = nnls_rows(X @ U, U.T @ U, np.zeros(n), codes)
    assert not doubtful.any()
    assert codes.min() >= 0
    assert _nnls_violation(X @ U, U.T @ U, codes) < 1e-9


@pytest.mark.parametrize("apart", [0.0, 1e-7, 1e-6])
def test_nnls_says_where_directions_depend_on_each_other(apart: float) -> None:
    """Two directions that normal equations cannot tell apart, both in use at the start."""
    rng = np.random.default_rng(1)
    U = rng.normal(size=(6, 4))
    U[:, 2] = U[:, 1] + apart * rng.normal(size=6)
    X = rng.uniform(1, 2, (20, 4)) @ U.T
    codes = np.ones((20, 4))
    doubtful = nnls_rows(X @ U, U.T @ U, np.zeros(20), codes)
    assert doubtful.all()
    assert codes.min() >= 0
    assert codes.max() < 10
    assert _nnls_violation(X @ U, U.T @ U, codes) < 1e-5


# The basis step where its system is singular.


def test_parts_that_nobody_uses_keep_their_vector() -> None:
    rng = np.random.default_rng(0)
    basis = Basis.of(rng.normal(size=(6, 3)))
    V = rng.uniform(0, 1, (20, 3))
    V[:, 1] = 0
    X = rng.normal(size=(20, 6))
    found = LeastSquaresBasis().step(X.T @ V, V.T @ V, basis, 0.0, 1e-10)
    np.testing.assert_array_equal(found.U[:, 1], basis.U[:, 1])
    expected = np.linalg.lstsq(V[:, [0, 2]], X, rcond=None)[0].T
    np.testing.assert_allclose(found.U[:, [0, 2]], expected, rtol=1e-9)


def test_a_singular_system_has_its_ridge() -> None:
    """Equal parts: the shortest solution, with the ridge of the present lengths."""
    rng = np.random.default_rng(0)
    basis = Basis.of(rng.normal(size=(6, 2)) * [1.0, 2.0])
    column = rng.uniform(0, 1, (20, 1))
    V, X, beta = np.hstack([column, column]), rng.normal(size=(20, 6)), 1e-14
    np.testing.assert_allclose(basis.ridge(beta, 1e-10), 0.5 * beta / basis.lengths, rtol=1e-15)
    assert basis.ridge(1.0, 100.0).tolist() == [0.005, 0.005]
    found = LeastSquaresBasis().step(X.T @ V, V.T @ V, basis, beta, 1e-10)
    expected = np.linalg.lstsq(V, X, rcond=None)[0].T
    np.testing.assert_allclose(found.U, expected, rtol=1e-6)


@pytest.mark.parametrize("length", [0.0, 1e-3])
def test_the_ridge_of_a_part_of_no_length_is_that_of_the_floor(length: float) -> None:
    rng = np.random.default_rng(0)
    U, beta, floor = rng.normal(size=(6, 3)), 0.8, 0.1
    U[:, 1] *= length
    V, X = rng.uniform(0, 1, (20, 3)), rng.normal(size=(20, 6))
    found = LeastSquaresBasis().step(X.T @ V, V.T @ V, Basis.of(U), beta, floor)
    ridge = 0.5 * beta / np.maximum(np.linalg.norm(U, axis=0), floor)
    expected = np.linalg.solve(V.T @ V + np.diag(ridge), V.T @ X).T
    np.testing.assert_allclose(found.U, expected, rtol=1e-10)
    np.testing.assert_allclose(found.lengths, np.linalg.norm(expected, axis=0), rtol=1e-10)
    assert found.penalty == pytest.approx(found.lengths.sum())


@pytest.mark.parametrize("apart", [0.0, 4e-16, 2e-15])
def test_parts_that_cannot_be_told_apart_share_their_vector(apart: float) -> None:
    """A pivot of round-off alone is none: by it parts would be as long as one likes."""
    gram = np.array([[1.0, 1.0, 0.2], [1.0, 1.0 + apart, 0.2], [0.2, 0.2, 1.0]])
    moment = np.random.default_rng(0).normal(size=(6, 3))
    moment[:, 1] = moment[:, 0] * (1 + 1e-15)
    found = LeastSquaresBasis().step(moment, gram, Basis.of(np.ones((6, 3))), 0.0, 1e-10)
    expected = moment @ np.linalg.pinv(gram, rcond=1e-12)
    np.testing.assert_allclose(found.U, expected, rtol=1e-8)


def test_directions_of_no_weight_stay_out_of_the_shortest_solution() -> None:
    """Where the part of the moments in such a direction is round-off, and so is its weight."""
    rng = np.random.default_rng(0)
    V = rng.uniform(0, 1, (20, 4))
    V[:, 2], V[:, 3] = V[:, 0] + V[:, 1], V[:, 0]
    V /= np.linalg.norm(V, axis=0)  # its solution is the shortest in this scale
    X = rng.normal(size=(20, 6))
    found = LeastSquaresBasis().step(X.T @ V, V.T @ V, Basis.of(np.ones((6, 4))), 0.0, 1e-10)
    expected = np.linalg.lstsq(V, X, rcond=1e-10)[0].T
    assert difference(found.U, expected) < 1e-9
