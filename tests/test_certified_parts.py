"""Parts that are not needed are zero and counted; parts that the data demand are found again."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import seminmf
from helpers import CLASSES, cone, data
from seminmf import NMF, GraphSemiNMF, L21SemiNMF, SemiNMF
from seminmf.models.certificate import matched_cosines


def planted(noise: float) -> Any:
    """Five parts."""
    rng = np.random.default_rng(0)
    V = rng.gamma(1, 1, (300, 5)) * (rng.random((300, 5)) < 0.6)
    return V @ rng.normal(size=(5, 30)) + noise * rng.normal(size=(300, 30))


@pytest.mark.parametrize("model", [L21SemiNMF, GraphSemiNMF])
def test_parts_that_are_switched_off_are_zero(model: Any) -> None:
    X = planted(0.5)
    fitted = model(15, strength=1e-3, random_state=0, max_iter=500).fit(X)
    assert fitted.n_active_ in (5, 6, 7)
    used = fitted.components_.any(axis=1)
    assert used.sum() == fitted.n_active_
    np.testing.assert_array_equal(used, fitted.codes_.any(axis=0))
    assert fitted.objective_history_[-1] == fitted.objective_
    assert (np.diff(fitted.objective_history_) <= 0).all()
    np.testing.assert_array_equal(fitted.transform(X[:9] + 0.1)[:, ~used], 0)
    assert f"15 parts, {15 - fitted.n_active_} of them zero" in fitted._outcome()[0]
    # The objective is that of the factors as they are.
    lengths = np.linalg.norm(X - fitted.codes_ @ fitted.components_, axis=1)
    np.testing.assert_allclose(fitted.residuals_, lengths, rtol=1e-9, atol=1e-12)


def test_weak_penalties_switch_nothing_off() -> None:
    fitted = L21SemiNMF(15, strength=1e-5, random_state=0, max_iter=500).fit(planted(0.5))
    assert fitted.n_active_ == 15
    assert "zero" not in fitted._outcome()[0]


@pytest.mark.parametrize("name", CLASSES)
def test_every_model_counts(name: str) -> None:
    X = cone(80, 10, 3, nonnegative=name == "NMF")
    fitted = CLASSES[name](3, random_state=0).fit(X)
    assert fitted.n_active_ == 3


def test_a_slight_part_that_is_needed_stays(rng: np.random.Generator) -> None:
    """Some samples, 1e-4 times as long as the others, have nothing else."""
    codes = np.zeros((60, 2))
    codes[:50, 0], codes[50:, 1] = rng.uniform(1, 2, 50), rng.uniform(1, 2, 10)
    basis = np.array([[1.0, 0.0], [0.0, 1e-4]])
    X = codes @ basis.T
    fitted = SemiNMF(2, init=(basis, codes)).fit(X)
    assert fitted.n_active_ == 2
    assert fitted.residuals_.max() < 1e-9


def test_dropping_a_part_that_is_needed_is_not_done() -> None:
    """Few samples use it, but they cannot do without."""
    X = cone(200, 10, 2, noise=0.01)
    X[:1] = 5 * np.eye(10)[0]
    fitted = SemiNMF(3, random_state=0, max_iter=500).fit(X)
    assert fitted.n_active_ == 3


def test_files_from_before_parts_were_counted() -> None:
    for path in sorted((Path(__file__).parent / "data").glob("*.seminmf")):
        model = seminmf.load(path)
        model = getattr(model, "model_", model)
        model = getattr(model, "factorizer_", model)
        assert 1 <= model.n_active_ <= len(model.components_)


# Certificates


def test_parts_that_the_data_demand_come_back() -> None:
    rng = np.random.default_rng(0)
    parts = np.kron(np.eye(3), np.ones(4))  # without a feature in common
    X = rng.gamma(1, 1, (300, 3)) @ parts + 0.01 * rng.random((300, 12))
    fitted = NMF(3, random_state=0, max_iter=1000).fit(X)
    assert fitted.certify(X, n_runs=3, random_state=0) is fitted
    assert fitted.stability_.shape == (3,)
    assert (fitted.stability_ > 0.95).all()
    noise = np.random.default_rng(0).normal(size=(200, 15))
    vague = SemiNMF(4, random_state=0, max_iter=1000).fit(noise)
    assert vague.certify(noise, n_runs=3, random_state=0).stability_.max() < 0.9


def test_zero_parts_have_no_stability() -> None:
    X = planted(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = L21SemiNMF(10, strength=1e-3, random_state=0).fit(X)
        fitted.certify(X, n_runs=2, random_state=0)
    off = ~fitted.components_.any(axis=1)
    assert off.any()
    np.testing.assert_array_equal(np.isnan(fitted.stability_), off)
    kept = fitted.stability_[~off]
    assert ((kept >= 0) & (kept <= 1 + 1e-12)).all()


def test_a_certificate_is_that_of_its_fit(tmp_path: Path) -> None:
    X = data(60, 6)
    fitted = SemiNMF(2, random_state=0)
    with pytest.raises(NotFittedError):
        fitted.certify(X)
    fitted.fit(X).certify(X, n_runs=1, random_state=0)
    fitted.save(tmp_path / "m.seminmf")
    np.testing.assert_array_equal(
        seminmf.load(tmp_path / "m.seminmf").stability_, fitted.stability_
    )
    assert not hasattr(fitted.fit(X), "stability_")
    with pytest.raises(ValueError, match="n_runs"):
        fitted.certify(X, n_runs=0)
    with pytest.raises(ValueError, match="random_state: 'x' cannot be used"):
        fitted.certify(X, random_state="x")


def test_matching_is_one_to_one() -> None:
    parts = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0, 0], [0, 0, 1e-200]])
    others = np.array([[2.0, 0, 0], [0, 0, 3e200], [0, 0, 0], [-1, 1, 0]])
    found = matched_cosines(parts, others)
    assert np.isnan(found[2])
    assert found[3] == 1.0
    assert sorted(found[:2])[1] > 0.99
    assert sorted(found[:2])[0] == 0.0
    assert (matched_cosines(parts[:2], np.zeros((2, 3))) == 0).all()
