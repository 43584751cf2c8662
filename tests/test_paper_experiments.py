"""What the paper measured: its data sets, and a matrix that has an exact factorization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers import start
from seminmf import L21SemiNMF, SemiNMF

# Data set, components, and the paper's α and β.
SETS = [("ionosphere", 5, 0.1, 2.25), ("waveform", 10, 0.1, 100.0), ("uspst", 16, 1.0, 15.0)]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "k", "alpha", "beta"), SETS)
def test_40_iterations_of_cd_are_better_than_500_of_mu(
    name: str, k: int, alpha: float, beta: float, seed: int, paper_data: Callable[[str], Any]
) -> None:
    X = paper_data(name)
    begin = start(*X.shape, k, seed)
    fast, slow = (
        L21SemiNMF(k, alpha=alpha, beta=beta, init=begin, solver=solver, tol=0, max_iter=count)
        .fit(X)
        .objective_
        for solver, count in (("cd", 40), ("mu", 500))
    )
    assert fast < slow


@pytest.mark.parametrize("init", ["random", "auto"])
@pytest.mark.parametrize("k", [16, 32])
@pytest.mark.parametrize("model", [L21SemiNMF, SemiNMF])
def test_an_exact_factorization_is_found(model: Any, k: int, init: str) -> None:
    """X = V Uᵀ, 10,000 features × 128 samples: relative error Σ‖x − Uv‖ / Σ‖x‖ below 1e-8.

    From a random start the robust loss needs least squares to go ahead: once it has fitted k
    samples exactly, their weights hold the basis where it is (fact 5 of the theory page).
    """
    rng = np.random.default_rng(0)
    V, U = rng.uniform(0, 1, (128, k)), rng.uniform(-1, 1, (10_000, k))
    X = V @ U.T
    start: Any = init
    if (model, init) == (L21SemiNMF, "random"):
        ahead = SemiNMF(k, init=init, tol=0, max_iter=400, random_state=0).fit(X)
        start = ahead.components_.T, ahead.codes_
    off = {"alpha": 0, "beta": 0} if model is L21SemiNMF else {}
    fitted = model(k, init=start, tol=0, max_iter=400, random_state=0, **off).fit(X)
    lengths = np.linalg.norm(X, axis=1)
    errors = np.linalg.norm(X - fitted.codes_ @ fitted.components_, axis=1)
    assert errors.sum() / lengths.sum() < 1e-8
    np.testing.assert_allclose(fitted.residuals_, errors, atol=1e-12 * lengths.max())


def test_random_matrices_are_fitted_exactly_in_k_samples() -> None:
    """The relative error tends to 1 − k/n: weights of 1/ε are the normal case."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (32, 2000))
    fitted = L21SemiNMF(8, alpha=0, beta=0, tol=0, max_iter=300, random_state=0).fit(X)
    relative = fitted.residuals_.sum() / np.linalg.norm(X, axis=1).sum()
    assert relative < 1 - 8 / 32 + 0.01
    assert np.isfinite(fitted.codes_).all()
    assert (np.diff(fitted.objective_history_) <= 1e-12 * fitted.objective_).all()
