"""What small fits do not reach: many blocks, shards, colours and edges, and singular systems."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from helpers import converging_or_not, data, start, value
from seminmf import L21SemiNMF, SemiNMF
from seminmf.problem.basis import Basis, LeastSquaresBasis


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
