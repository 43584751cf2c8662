"""The strength that is left to the data: in proportion to what there is to gain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from seminmf import FactorKMeans, GraphSemiNMF, L21SemiNMF, RobustSemiNMF, SemiNMF
from seminmf.losses import Huber, Norm, SquaredNorm
from seminmf.metrics import majority_accuracy
from seminmf.problem.strength import automatic_strength
from seminmf.sources import ArraySource

# λ₀ of problem/strength.py.
LARGEST = 3e-3


def clusters(noise: float, n: int = 300, m: int = 400, k: int = 5) -> tuple[Any, Any]:
    """Samples around k centres of length about √m, with noise in all features."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(k, m))
    kind = np.arange(n) % k
    X = centres[kind] + noise * rng.normal(size=(n, m))
    return X - X.mean(axis=0), kind


def typical_residual(X: Any, k: int, weights: Any) -> float:
    """What k leading directions of the weighted rows leave of a typical row, as a share of it."""
    _, _, axes = np.linalg.svd(np.sqrt(weights)[:, None] * X, full_matrices=False)
    left = X - X @ axes[:k].T @ axes[:k]
    lengths = np.linalg.norm(X, axis=1)
    return float(np.median(np.linalg.norm(left, axis=1)) / np.median(lengths))


def fitted(model: type, X: Any, k: int = 3, **parameters: Any) -> Any:
    return model(k, random_state=0, tol=0, max_iter=2, **parameters).fit(X)


def wanted(X: Any, k: int, squared: bool) -> float:
    """The formula of the theory page, from a singular value decomposition."""
    lengths = np.linalg.norm(X, axis=1)
    weights = np.ones(len(X)) if squared else 1 / lengths
    s, centre = np.median(lengths), weights @ X / weights.sum()
    d = np.median(np.linalg.norm(X - centre, axis=1))
    r = s * typical_residual(X, k, weights)
    power = 2 if squared else 1
    gain = (d**power - r**power) / s**power
    return float(LARGEST * gain**2 * (s**2 / (d**2 - r**2)) ** (power / (1 + power)))


@pytest.mark.parametrize("shift", [0.0, 2.0])
@pytest.mark.parametrize("noise", [0.1, 1.0, 3.0])
def test_formula(noise: float, shift: float) -> None:
    X = clusters(noise, 120, 20)[0] + shift
    assert fitted(L21SemiNMF, X).strength_ == pytest.approx(wanted(X, 3, False), rel=1e-6)
    assert fitted(GraphSemiNMF, X).strength_ == pytest.approx(wanted(X, 3, True), rel=1e-6)


def test_samples_around_the_origin() -> None:
    """Then it is λ₀ (1 − t)^{3/2} / (1 + t)^{1/2}, and λ₀ (1 − t²)^{4/3} for squares."""
    half = clusters(1.0, 120, 20)[0]
    X = np.vstack([half, -half])
    t = typical_residual(X, 3, 1 / np.linalg.norm(X, axis=1))
    expected = LARGEST * (1 - t) ** 1.5 / (1 + t) ** 0.5
    assert fitted(L21SemiNMF, X).strength_ == pytest.approx(expected, rel=1e-6)
    t = typical_residual(X, 3, np.ones(len(X)))
    expected = LARGEST * (1 - t**2) ** (4 / 3)
    assert fitted(GraphSemiNMF, X).strength_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("power", [1, 2])
def test_samples_that_are_hardly_apart(power: int) -> None:
    """From a thousandth of their length on nobody asks how near to their centre they are."""
    loss = Norm() if power == 1 else SquaredNorm()
    least = automatic_strength(loss, 1.0, 1e-3, 0.0, power)
    for spread in (1e-4, 1e-12, 0.0):
        assert automatic_strength(loss, 1.0, spread, 0.0, power) == least > 0
    assert automatic_strength(loss, 1.0, 2e-3, 0.0, power) != least


def test_a_constant_does_not_make_all_codes_one() -> None:
    """Beside a large constant, what tells samples apart is a small share of their lengths."""
    X = np.random.default_rng(0).normal(size=(9, 30)) + 5
    found = L21SemiNMF(8).fit(X)
    assert np.ptp(found.codes_, axis=0).max() > 0.01 * found.codes_.max()
    assert found.n_active_ > 1


def test_other_losses_gain_by_their_own_measure() -> None:
    """Huber's loss between the norm and its square."""
    X, _ = clusters(1.0, 120, 20)
    norm = fitted(L21SemiNMF, X).strength_
    assert fitted(RobustSemiNMF, X, loss=Huber(1e-6)).strength_ == pytest.approx(norm, rel=1e-3)
    assert fitted(RobustSemiNMF, X, loss=Huber(1e6)).strength_ > 1.2 * norm


@pytest.mark.parametrize("model", [L21SemiNMF, GraphSemiNMF])
def test_noise_takes_no_part_away(model: type) -> None:
    """Of these samples five parts explain a tenth: a strength for others leaves none of them."""
    X, kind = clusters(3.0)
    found = FactorKMeans(model(5, random_state=0), random_state=0).fit(X)
    assert found.factorizer_.n_active_ >= 4
    assert majority_accuracy(kind, found.labels_) > 0.95
    if model is L21SemiNMF:
        strong = model(5, strength=LARGEST, graph="knn", random_state=0)
        assert strong.fit(X).n_active_ == 0


@pytest.mark.parametrize("model", [L21SemiNMF, GraphSemiNMF])
def test_neither_unit_nor_copies_nor_features_in_which_nothing_happens_matter(model: type) -> None:
    X, _ = clusters(1.0, 90, 12)
    known = fitted(model, X).strength_
    assert fitted(model, 1e3 * X).strength_ == pytest.approx(known, rel=1e-9)
    assert fitted(model, np.hstack([X, np.zeros((90, 30))])).strength_ == pytest.approx(known)
    weighted = model(3, random_state=0, tol=0, max_iter=2).fit(X, sample_weight=np.full(90, 2.0))
    assert weighted.strength_ == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize(
    "shape", [(4000, 400), (60, 900), (500, 30)], ids=["large", "wide", "long"]
)
def test_found_again_by_hand(shape: tuple[int, int]) -> None:
    """Wherever the residual is measured, in leading directions or the span of the samples."""
    X, _ = clusters(1.0, *shape)
    known = fitted(L21SemiNMF, X, 5)
    assert known.strength_ == pytest.approx(wanted(X, 5, False), rel=0.02)
    again = fitted(L21SemiNMF, X, 5, strength=known.strength_)
    np.testing.assert_allclose(again.objective_, known.objective_, rtol=1e-9)


def test_of_a_source_as_in_memory() -> None:
    X, _ = clusters(1.0, 300, 30)
    known = fitted(L21SemiNMF, X, 5).strength_
    of_source = fitted(L21SemiNMF, ArraySource(X), 5, max_memory="20MB").strength_
    assert of_source == pytest.approx(known, rel=1e-6)


def test_of_a_dask_array_as_in_memory() -> None:
    """Also of samples with a constant in common, and with weights."""
    da = pytest.importorskip("dask.array")
    X, share = clusters(1.0, 300, 30)[0] + 2, np.arange(300) % 3 + 1.0
    for model in (L21SemiNMF, GraphSemiNMF):
        known = model(5, tol=0, max_iter=2).fit(X, sample_weight=share).strength_
        table = da.from_array(X, chunks=(80, -1))
        found = model(5, tol=0, max_iter=2).fit(table, sample_weight=share).strength_
        assert found == pytest.approx(known, rel=1e-6)


def test_what_is_given_is_taken() -> None:
    X, _ = clusters(1.0, 90, 12)
    n, s = len(X), np.median(np.linalg.norm(X, axis=1))
    given = fitted(L21SemiNMF, X, strength=2e-4)
    assert given.strength_ == pytest.approx(2e-4)
    assert given.alpha_ * given.beta_ == pytest.approx(2e-4 * n * s)
    pair = fitted(L21SemiNMF, X, alpha=0.3, beta=2.0)
    assert (pair.alpha_, pair.beta_) == (0.3, 2.0)
    assert pair.strength_ == pytest.approx(0.6 / (n * s))
    one = fitted(L21SemiNMF, X, alpha=0.3)
    assert one.alpha_ == 0.3
    assert one.strength_ == pytest.approx(fitted(L21SemiNMF, X).strength_)
    assert fitted(SemiNMF, X).strength_ == 0
    assert fitted(L21SemiNMF, X, alpha=0, beta=0).strength_ == 0


def test_samples_that_no_direction_reaches() -> None:
    """More than half of the samples are alone in their feature: next to nothing can be gained."""
    X = np.eye(40)
    found = fitted(L21SemiNMF, X, 2)
    assert 0 < found.strength_ < 1e-5
    assert np.isfinite(found.objective_)
