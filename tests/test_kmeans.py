"""k-means: Lloyd's rounds by plain loops, tight clusters, and samples that leave little to find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from threadpoolctl import threadpool_limits

from seminmf.compiled.kmeans import Partition, kmeans, squared_distances

Array = Any


def blobs(n: int, d: int, count: int, spread: float = 2.0) -> Array:
    return make_blobs(n, d, centers=count, cluster_std=spread, random_state=0)[0]


def squares_of(X: Array, centres: Array) -> Array:
    return ((X[:, None] - centres) ** 2).sum(axis=2)


def lloyd(X: Array, weights: Array, centres: Array) -> tuple[Array, Array]:
    """Until nobody moves."""
    labels = None
    while True:
        nearest = squares_of(X, centres).argmin(axis=1)
        if labels is not None and (nearest == labels).all():
            return centres, labels
        labels = nearest
        centres = np.array([
            np.average(X[labels == c], axis=0, weights=weights[labels == c])
            for c in range(len(centres))
        ])  # fmt: skip


def assert_fixed(X: Array, found: Partition, weights: Array | float = 1.0) -> None:
    """Samples have their nearest centres, and the sum of their squares is the one that is told."""
    squares = squares_of(X, found.centres)
    np.testing.assert_array_equal(found.labels, squares.argmin(axis=1))
    np.testing.assert_allclose(found.inertia, (weights * squares.min(axis=1)).sum(), rtol=1e-9)


@pytest.mark.parametrize(("n", "d", "count"), [(40, 1, 2), (150, 4, 3), (300, 7, 11), (2500, 3, 5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_rounds_by_plain_loops(n: int, d: int, count: int, weighted: bool) -> None:
    X = blobs(n, d, count)
    weights = np.random.default_rng(0).uniform(0.5, 2, n) if weighted else np.ones(n)
    given = X[np.linspace(0, n - 1, count, dtype=int)]
    found = kmeans(X, count, 0, weights=weights if weighted else None, centres=given)
    centres, _ = lloyd(X, weights, given)
    # The last steps, which are small against the clusters, may be left out.
    typical = np.sqrt(found.inertia / weights.sum())
    assert np.abs(found.centres - centres).max() < 0.1 * typical
    again, labels = lloyd(X, weights, found.centres)
    assert (labels == found.labels).mean() > 0.99
    assert np.abs(again - found.centres).max() < 0.1 * typical
    assert_fixed(X, found, weights)


@pytest.mark.parametrize("starts", [1, 3])
def test_clusters_are_as_tight_as_those_of_scikit_learn(starts: int) -> None:
    sets = {
        "iris": (load_iris().data, 3), "wine": (load_wine().data, 3),
        "digits": (load_digits().data[:600], 10), "blobs": (blobs(500, 2, 12, 0.7), 12),
        "one cloud": (np.random.default_rng(0).normal(size=(300, 6)), 8),
    }  # fmt: skip
    ratios = []
    for X, count in sets.values():
        ours = np.array([kmeans(X, count, seed, starts).inertia for seed in range(20)])
        theirs = np.array([
            KMeans(count, n_init=starts, random_state=seed).fit(X).inertia_ for seed in range(20)
        ])  # fmt: skip
        assert ours.min() < 1.01 * theirs.min()
        ratios.append(ours.mean() / theirs.mean())
    assert np.mean(ratios) < 1.02


def test_of_several_starts_a_good_one_goes_on() -> None:
    """Nearly as good as the best of as many that all go on to their ends."""
    X = blobs(400, 2, 15, 0.8)
    one, three, ten = (
        np.array([kmeans(X, 15, seed, starts).inertia for seed in range(30)])
        for starts in (1, 3, 10)
    )
    best = one.reshape(10, 3).min(axis=1).mean()
    assert ten.mean() < three.mean() < 1.01 * best
    assert best < 0.98 * one.mean()


def test_a_seed_gives_the_same_for_any_number_of_threads() -> None:
    X = blobs(9000, 12, 6, 6.0)
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads):
            found += [kmeans(X, 6, 7, 2) for _ in range(3)]
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    assert any((kmeans(X, 6, seed).centres != found[0].centres).any() for seed in (1, 2, 3))


def test_one_cluster_is_the_mean() -> None:
    X = blobs(77, 5, 3)
    found = kmeans(X, 1, 0)
    np.testing.assert_allclose(found.centres[0], X.mean(axis=0))
    np.testing.assert_array_equal(found.labels, 0)


def test_as_many_clusters_as_samples() -> None:
    X = blobs(45, 3, 3)
    found = kmeans(X, 45, 0)
    assert sorted(found.labels) == list(range(45))
    assert found.inertia == 0


def test_fewer_different_samples_than_clusters() -> None:
    X = np.repeat(blobs(3, 4, 3), 30, axis=0)
    found = kmeans(X, 5, 0, 2)
    assert len(np.unique(found.labels)) == 3
    assert found.inertia < 1e-25  # means are rounded
    assert np.isfinite(found.centres).all()
    assert found.rounds < 10


def test_equal_samples_are_together_and_count_as_often_as_they_are_there() -> None:
    X = blobs(60, 4, 4)
    often = np.random.default_rng(0).integers(1, 5, 60)
    given = X[:4]
    copies = kmeans(np.repeat(X, often, axis=0), 4, 0, centres=given)
    weighted = kmeans(X, 4, 0, weights=often.astype(float), centres=given)
    np.testing.assert_array_equal(copies.labels, np.repeat(weighted.labels, often))
    np.testing.assert_allclose(copies.centres, weighted.centres)
    np.testing.assert_allclose(copies.inertia, weighted.inertia)


def test_a_centre_without_samples_goes_to_the_farthest_one() -> None:
    X = np.array([[0.0], [1.0], [2.0], [30.0]])
    found = kmeans(X, 2, 0, centres=np.array([[1.0], [1000.0]]))
    np.testing.assert_array_equal(found.labels, [0, 0, 0, 1])
    np.testing.assert_allclose(found.centres, [[1.0], [30.0]])


def test_samples_without_weight_have_no_say() -> None:
    X = np.vstack([blobs(50, 3, 2), [[1e3, 0, 0]]])
    weights = np.append(np.ones(50), 0.0)
    found, without = kmeans(X, 2, 0, weights=weights), kmeans(X[:50], 2, 0)
    np.testing.assert_allclose(np.sort(found.centres[:, 0]), np.sort(without.centres[:, 0]))
    assert_fixed(X, found, weights)


@pytest.mark.parametrize("power", [-400, 400])
def test_scales_change_nothing(power: int) -> None:
    X = blobs(200, 5, 4)
    found, other = kmeans(X, 4, 0, 2), kmeans(np.ldexp(X, power), 4, 0, 2)
    np.testing.assert_array_equal(found.labels, other.labels)
    np.testing.assert_array_equal(np.ldexp(found.centres, power), other.centres)


def test_single_precision_is_taken_as_it_is() -> None:
    X = blobs(200, 5, 4).astype(np.float32)
    found, other = kmeans(X, 4, 0), kmeans(X.astype(np.float64), 4, 0)
    np.testing.assert_array_equal(found.centres, other.centres)
    assert found.centres.dtype == np.float64


def test_near_samples_far_from_the_origin_keep_their_digits() -> None:
    """Squares that are expanded would lose them."""
    X = blobs(200, 3, 4)
    apart = np.round(X * 1024) / 1024
    found, far = kmeans(apart, 4, 0), kmeans(apart + 2.0**26, 4, 0)
    np.testing.assert_array_equal(found.labels, far.labels)


@pytest.mark.parametrize(("n", "count"), [(1, 1), (31, 2), (32, 3), (65, 7)])
def test_squared_distances_by_plain_loops(n: int, count: int) -> None:
    rng = np.random.default_rng(0)
    X, centres = rng.normal(size=(n, 3)), rng.normal(size=(count, 3))
    np.testing.assert_allclose(squared_distances(X, centres), squares_of(X, centres))
    found = kmeans(X, min(n, count), 0)
    np.testing.assert_array_equal(squared_distances(X, found.centres).argmin(axis=1), found.labels)
