"""``warm_start=True`` goes on from the last fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import KINDS, converging_or_not, data, make, value
from seminmf import CheckpointError, L21SemiNMF, SemiNMF

kinds = pytest.mark.parametrize(("model", "penalised"), KINDS)
solvers = pytest.mark.parametrize("solver", ["cd", "mu"])


@kinds
@solvers
def test_from_a_fit_that_has_converged_little_is_left(
    model: str, penalised: bool, solver: str
) -> None:
    X = data(120, 15, nonnegative=model == "NMF")
    fitted = make(
        model, 3, penalised=penalised, solver=solver, warm_start=True, tol=1e-6, max_iter=20_000
    ).fit(X)
    first, iterations = fitted.objective_, fitted.n_iter_
    fitted.fit(X)
    assert fitted.converged_
    assert fitted.n_iter_ <= max(4, iterations // 4) < iterations
    assert fitted.objective_ <= first * (1 + 1e-12)
    assert fitted.objective_ == pytest.approx(first, rel=1e-3)
    assert value(fitted, X) == pytest.approx(fitted.objective_, rel=1e-9)


@kinds
@solvers
def test_half_the_iterations_twice(model: str, penalised: bool, solver: str) -> None:
    X = data(120, 15, nonnegative=model == "NMF")
    parameters: dict[str, Any] = {"penalised": penalised, "solver": solver, "tol": 0}
    halves = make(model, 3, warm_start=True, max_iter=10, **parameters).fit(X)
    after_ten = halves.objective_
    halves.fit(X)
    whole = make(model, 3, max_iter=20, **parameters).fit(X)
    assert len(halves.objective_history_) == halves.n_iter_ == 10
    assert halves.objective_ < after_ten
    # What is lost is the extrapolation that the first half has built up.
    assert halves.objective_ <= whole.objective_ * 1.03


def test_a_path_of_strengths() -> None:
    """Each fit goes on from the one before, at another strength, to where a new start leads."""
    X = data(150, 15)
    model = L21SemiNMF(4, warm_start=True, tol=1e-6, max_iter=3000)
    for strength in (1e-4, 3e-4, 1e-3, 3e-3):
        model.set_params(strength=strength).fit(X)
        alone = L21SemiNMF(4, strength=strength, tol=1e-6, max_iter=3000).fit(X)
        assert model.alpha_ == alone.alpha_
        assert value(model, X) == pytest.approx(model.objective_, rel=1e-9)
        assert model.objective_ <= alone.objective_ * 1.02


def test_samples_that_are_copies_or_weigh_nothing() -> None:
    """Copies stay one vertex of the graph, as in the first fit."""
    X = np.vstack([data(100, 12), data(100, 12)[:30]])
    weights = np.random.default_rng(0).uniform(0.5, 2, 130)
    weights[40:50] = 0
    model = L21SemiNMF(3, warm_start=True, tol=1e-7, max_iter=5000).fit(X, sample_weight=weights)
    first = model.objective_
    model.fit(X, sample_weight=weights)
    assert model.n_iter_ <= 3
    assert first * (1 - 1e-4) <= model.objective_ <= first
    np.testing.assert_array_equal(model.codes_[:30], model.codes_[100:])


def test_other_forms_of_the_same_samples() -> None:
    X = np.maximum(data(100, 12), 0)
    model = SemiNMF(3, warm_start=True).fit(X)
    first = model.objective_
    for form in (sp.csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        model.fit(form)
        assert model.n_iter_ <= 3
        assert model.objective_ <= first * (1 + 1e-5)
        assert model.codes_.dtype == form.dtype


def test_one_start_is_made_and_the_first_fit_is_an_ordinary_one() -> None:
    X = data(100, 12)
    seen: list[int] = []
    parameters: dict[str, Any] = {"n_init": 3, "init": "random", "random_state": 0}
    model = L21SemiNMF(3, warm_start=True, callback=lambda p: seen.append(p.start), **parameters)
    model.fit(X)
    np.testing.assert_array_equal(model.codes_, L21SemiNMF(3, **parameters).fit(X).codes_)
    assert set(seen) == {0, 1, 2}
    seen.clear()
    model.fit(X)
    assert set(seen) == {0}
    # Without it a fit begins anew.
    model.set_params(warm_start=False, callback=None).fit(X)
    np.testing.assert_array_equal(model.codes_, L21SemiNMF(3, **parameters).fit(X).codes_)


def test_with_a_checkpoint(tmp_path: Any) -> None:
    X = data(100, 12)

    def interrupted(progress: Any) -> None:
        if progress.iteration == 5:
            raise RuntimeError

    with converging_or_not():
        first = L21SemiNMF(3, warm_start=True, max_iter=5, tol=0).fit(X)
        second = L21SemiNMF(3, warm_start=True, max_iter=5, tol=0).fit(X)
        second.set_params(max_iter=12).fit(X)
        first.set_params(max_iter=12, checkpoint=tmp_path, callback=interrupted)
        with pytest.raises(RuntimeError):
            first.fit(X)
        first.set_params(callback=None).fit(X)
        np.testing.assert_array_equal(first.codes_, second.codes_)
        # From another fit it is another one.
        third = L21SemiNMF(3, warm_start=True, max_iter=6, tol=0).fit(X)
        third.set_params(max_iter=12, checkpoint=tmp_path, callback=interrupted)
        with pytest.raises(RuntimeError):
            third.fit(X)
        with pytest.raises(CheckpointError, match="last fit to go on from: "):
            first.set_params(checkpoint=tmp_path, max_iter=12).fit(X)


def test_shapes_that_differ() -> None:
    X = data(100, 12)
    model = SemiNMF(3, warm_start=True).fit(X)
    with pytest.raises(ValueError, match=r"n_samples was 100 and is 90\. Set warm_start=False"):
        model.fit(X[:90])
    with pytest.raises(ValueError, match="n_features was 12 and is 11"):
        model.fit(X[:, :11])
    with pytest.raises(ValueError, match="n_components was 3 and is 4"):
        model.set_params(n_components=4).fit(X)
    with pytest.raises(ValueError, match="warm_start must be True or False, got 'yes'"):
        SemiNMF(3, warm_start="yes").fit(X)
