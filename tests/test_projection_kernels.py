"""The compiled solvers of single samples, at the edges of arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from seminmf import L21SemiNMF
from seminmf.data import Engine
from seminmf.problem.losses import Norm
from seminmf.problem.objective import Objective
from seminmf.solve.projection import nonnegative_codes, solve_codes


@pytest.mark.parametrize("present", [5e-324, 1e-310, 1e-200, 1.0, 1e200])
def test_a_member_that_must_leave_leaves(present: float) -> None:
    """A subnormal code to start from must not stop the active set from changing."""
    codes = np.array([[present]])
    nonnegative_codes(Engine(np.array([[-3.0]]), 1), np.array([[1.0]]), codes)
    assert codes[0, 0] == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.booleans())
def test_any_start_ends_at_the_same_solution(seed: int, k: int, warm: bool) -> None:
    rng = np.random.default_rng(seed)
    basis, X = rng.standard_normal((12, k)), rng.standard_normal((6, 12))
    codes = rng.exponential(1, (6, k)) * (rng.random((6, k)) < 0.5) * warm
    nonnegative_codes(Engine(X, k), basis, codes)
    for found, sample in zip(codes, X, strict=True):
        np.testing.assert_allclose(found, nnls(basis, sample)[0], atol=1e-9)


@pytest.mark.parametrize("nearest", [0, 1])
def test_a_minimum_at_the_code_of_a_neighbour_is_met_exactly(nearest: int) -> None:
    """Reweighting comes nearer with each step, but never there."""
    anchors = np.array([[0.3, 0.0], [2.0, 0.7]])
    weights = np.ones(2)
    weights[nearest] = 10
    codes, links = np.zeros((1, 2)), sp.csr_array(weights[None])
    objective = Objective(Norm(), Norm(), alpha=5.0)
    solve_codes(Engine(np.array([[1.0, 1.0]]), 2), np.eye(2), objective, codes, links, anchors)
    np.testing.assert_array_equal(codes[0], anchors[nearest])


def test_more_components_than_features_with_a_graph() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    fitted = L21SemiNMF(5, tol=0, max_iter=10, random_state=0).fit(X)
    new = X[:4] + 0.05
    codes = fitted.transform(new)
    assert (codes >= 0).all()
    errors = np.linalg.norm(new - fitted.inverse_transform(codes), axis=1)
    assert (errors < np.linalg.norm(new, axis=1)).all()
