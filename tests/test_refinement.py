"""Codes as k-means sees them: averaged over sound neighbourhoods, or read from the samples."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import KNeighborsTransformer

import seminmf
from helpers import CLASSES, GRAPH_MODELS, Array, converging_or_not, make
from seminmf import FactorKMeans, GraphSemiNMF, L21SemiNMF
from seminmf.datasets import add_outliers, make_waveform
from seminmf.metrics import majority_accuracy, majority_labels, nmi
from seminmf.models.refinement import Averaged, Measured, _noise, antihub_share, refine
from seminmf.solve.projection import Placed

KINDS = ("averaged", "measured", "none")


@cache
def samples(kind: str, n: int = 400) -> tuple[Array, Array]:
    """Images of digits; waves in noise of 40 dimensions; one cloud, nowhere round."""
    rng = np.random.default_rng(0)
    if kind == "averaged":
        X, y = load_digits(return_X_y=True)
        return X[:n], y[:n]
    if kind == "measured":
        X, y = make_waveform(n, random_state=0)
        return np.hstack([X, rng.normal(size=(n, 19))]), y
    return rng.normal(size=(n, 30)) * np.linspace(3, 0.3, 30), rng.integers(0, 2, n)


@cache
def clustered(kind: str) -> FactorKMeans:
    return FactorKMeans(L21SemiNMF(8), random_state=0).fit(samples(kind)[0])


def links_of(neighbours: list[list[int]]) -> sp.csr_array:
    matrix = np.zeros((len(neighbours), len(neighbours)))
    for row, others in enumerate(neighbours):
        matrix[row, others] = 1
    return sp.csr_array(matrix)


def test_antihubs_are_chosen_by_nobody() -> None:
    links = links_of([[1], [0], [0], [0], [4 - 1]])
    everybody = np.ones(5, dtype=bool)
    assert antihub_share(links, everybody) == 2 / 5  # 2 and 4
    # Without sample 4, nobody has chosen 3.
    assert antihub_share(links, np.arange(5) < 4) == 2 / 4


def test_more_neighbours_ask_for_more() -> None:
    """Of ten neighbours, to be chosen by one is to be chosen by hardly anybody."""
    n, p = 30, 10
    ring = links_of([[(i + step) % n for step in range(1, p + 1)] for i in range(n)]).toarray()
    everybody = np.ones(n, dtype=bool)
    assert antihub_share(sp.csr_array(ring), everybody) == 0
    ring[np.flatnonzero(ring[:, 0])[1:], 0] = 0
    assert antihub_share(sp.csr_array(ring), everybody) == 1 / n


def test_averages_by_plain_loops() -> None:
    rng = np.random.default_rng(0)
    codes, counts = rng.uniform(size=(12, 3)), rng.uniform(size=12) > 0.2
    neighbours = [list(rng.permutation([j for j in range(12) if j != i])[:4]) for i in range(12)]
    values = codes
    for _ in range(2):
        values = np.array([
            np.mean([values[i]] + [values[j] for j in neighbours[i] if counts[j]], axis=0)
            for i in range(12)
        ])  # fmt: skip
    averaged = Averaged.of(links_of(neighbours), codes, counts)
    np.testing.assert_allclose(averaged.rounds[-1], values)
    # New samples with the codes and neighbours of training samples get the same values.
    placed = Placed(codes[3:6], np.full(3, -1), links_of(neighbours)[3:6])
    np.testing.assert_allclose(averaged.codes(placed, codes), values[3:6])
    # A sample that is known gets its own, whatever else there is.
    placed = Placed(codes[[3, 9]], np.array([-1, 9]), links_of(neighbours)[[3]])
    np.testing.assert_allclose(averaged.codes(placed, codes), values[[3, 9]])


@pytest.mark.parametrize("free", [1, 4, 200])
def test_noise_of_residuals(free: int) -> None:
    residuals = np.linalg.norm(3 * np.random.default_rng(0).normal(size=(20000, free)), axis=1)
    assert _noise(residuals, free + 5, 5) == pytest.approx(9, rel=0.04)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_with_which_data(kind: str) -> None:
    assert clustered(kind).refinement_ == kind


def test_signal_of_two_dimensions() -> None:
    """Waves are sums of two of three: all but two directions are noise."""
    found = clustered("measured")._refinement
    assert isinstance(found, Measured)
    assert np.linalg.matrix_rank(found.slopes, tol=1e-8) == 2
    # None of it comes from the features that are noise alone.
    lengths = np.linalg.norm(found.slopes, axis=1)
    assert lengths[21:].max() < 0.3 * lengths[:21].max()
    # Codes that reconstruct a sample are measured to be themselves, in these two directions.
    model = clustered("measured").factorizer_
    again = found.codes(found.codes(samples("measured")[0]) @ model.components_)
    np.testing.assert_allclose(again, found.codes(samples("measured")[0]))


@pytest.mark.parametrize(("kind", "k"), [("averaged", 16), ("measured", 12)])
def test_clusters_are_better(kind: str, k: int) -> None:
    X, y = samples(kind, 800)
    before, after = [], []
    for seed in range(4):
        kept = np.random.default_rng(seed).permutation(len(X))[:720]
        found = FactorKMeans(L21SemiNMF(k), random_state=seed).fit(X[kept])
        plain = KMeans(k, n_init=10, random_state=seed).fit_predict(found.factorizer_.codes_)
        before.append(nmi(y[kept], majority_labels(y[kept], plain)))
        after.append(nmi(y[kept], majority_labels(y[kept], found.labels_)))
    assert np.mean(after) > np.mean(before) + 0.02


@pytest.mark.parametrize("kind", ["averaged", "measured"])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_outliers_change_nothing(kind: str, share: float) -> None:
    X, outlier = add_outliers(samples(kind)[0], share, random_state=0)
    found = FactorKMeans(L21SemiNMF(8), random_state=0).fit(X)
    assert found.refinement_ == kind
    refinement = found._refinement
    if isinstance(refinement, Averaged):
        assert refinement.counts[outlier].mean() < 0.1
        assert refinement.counts[~outlier].mean() > 0.9
    y = samples(kind)[1]
    assert majority_accuracy(y[~outlier], found.labels_[~outlier]) > 0.7


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_training_samples_keep_their_clusters(model: str, kind: str, form: Any) -> None:
    X = form(samples(kind)[0])
    with converging_or_not():
        found = FactorKMeans(make(model, 5), random_state=0).fit(X)
    assert found.refinement_ == kind
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    np.testing.assert_array_equal(found.predict(X[40:60]), found.labels_[40:60])


@pytest.mark.parametrize("kind", KINDS)
def test_a_little_moved_is_the_same_cluster(kind: str) -> None:
    """New samples are treated as those of the fit."""
    X, found = samples(kind)[0], clustered(kind)
    moved = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    agree = (found.predict(moved) == found.labels_).mean()
    # A sample next to a training sample has that one as a neighbour too, and one other less.
    assert agree == 1 if kind == "measured" else agree > 0.95


def test_copies_of_samples() -> None:
    X = samples("averaged", 150)[0]
    twice = FactorKMeans(L21SemiNMF(5), random_state=0).fit(np.vstack([X, X[:70]]))
    assert twice.refinement_ == "averaged"
    np.testing.assert_array_equal(twice.labels_[:70], twice.labels_[150:])
    np.testing.assert_array_equal(twice.predict(X), twice.labels_[:150])


def test_a_transformer_finds_neighbours_too() -> None:
    X = samples("averaged", 200)[0]
    plain = FactorKMeans(L21SemiNMF(5), random_state=0).fit(X)
    transformer = KNeighborsTransformer(n_neighbors=5, mode="distance")
    other = FactorKMeans(L21SemiNMF(5, graph=transformer), random_state=0).fit(X)
    assert other.refinement_ == plain.refinement_ == "averaged"
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    new = samples("averaged", 260)[0][200:]
    np.testing.assert_array_equal(other.predict(new), plain.predict(new))


def test_what_is_left_alone() -> None:
    X = samples("averaged", 150)[0]
    graph = L21SemiNMF(5).fit(X)._links
    given = FactorKMeans(GraphSemiNMF(5, graph=graph.maximum(graph.T)), random_state=0)
    others = [make(name, 5) for name in CLASSES if name not in GRAPH_MODELS]
    for search in (given, *(FactorKMeans(f, random_state=0) for f in others),
                   FactorKMeans(TruncatedSVD(5), random_state=0)):  # fmt: skip
        with converging_or_not():
            search.fit(X)
        assert search.refinement_ == "none"


@pytest.mark.parametrize(
    ("n", "m", "k"), [(40, 5, 1), (40, 3, 3), (40, 3, 5), (6, 8, 2), (2, 4, 1), (9, 30, 8)]
)
def test_few_samples_features_or_parts(n: int, m: int, k: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, m)) + 5
    with converging_or_not():
        found = FactorKMeans(L21SemiNMF(k, n_neighbors=min(5, n - 1)), random_state=0).fit(X)
    assert found.refinement_ != "measured"
    assert len(set(found.labels_)) == k
    np.testing.assert_array_equal(found.predict(X), found.labels_)


def test_exact_fits_have_no_noise() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3)) @ rng.normal(size=(3, 20))
    with converging_or_not():
        found = FactorKMeans(L21SemiNMF(6, strength=1e-12), random_state=0).fit(X)
    assert found.refinement_ != "measured"


def test_neighbourhoods_as_large_as_clusters() -> None:
    """With few samples in each cluster averages would make all of them one."""
    X, model, inside = samples("averaged")[0], clustered("averaged").factorizer_, np.ones(400, bool)
    assert isinstance(refine(model, X, inside, 400 // 6), Averaged)
    assert refine(model, X, inside, 400 // 6 + 1) is None


@pytest.mark.parametrize("kind", KINDS)
def test_files_keep_the_refinement(kind: str, tmp_path: Path) -> None:
    found, path = clustered(kind), tmp_path / "model"
    found.save(path)
    again = seminmf.load(path)
    new = samples(kind, 460)[0][400:]
    assert again.refinement_ == kind
    for X in (samples(kind)[0], new):
        np.testing.assert_array_equal(again.predict(X), found.predict(X))


@pytest.mark.parametrize("kind", KINDS)
def test_files_from_before(kind: str) -> None:
    """They have no refinement, and their centres are of the codes as they are."""
    state = clustered(kind)._saved_state()
    state.pop("refined", None)
    del state["refinement_"]
    model = FactorKMeans(L21SemiNMF(8))
    model._restore_state(state)
    assert model.refinement_ == "none"
    codes = clustered(kind).factorizer_.codes_
    np.testing.assert_array_equal(model.predict(samples(kind)[0]), model.kmeans_.predict(codes))


@pytest.mark.parametrize(
    ("kind", "name"), [("averaged", "rounds"), ("averaged", "counts"), ("measured", "slopes"),
                       ("measured", "shift")]
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(kind: str, name: str) -> None:
    state = clustered(kind)._saved_state()
    array = state["refined"][name]
    fewer = array[:, :-1] if name == "rounds" else array[:-1]
    state["refined"] = {**state["refined"], name: fewer}
    with pytest.raises(ValueError, match="do not fit"):
        FactorKMeans(L21SemiNMF(8))._restore_state(state)
