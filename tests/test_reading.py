"""Samples as k-means sees them: in the metric of the data, drawn in, averaged over neighbours."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import seminmf
from helpers import CLASSES, GRAPH_MODELS, Array, converging_or_not, make
from seminmf import FactorKMeans, GraphSemiNMF, L21SemiNMF, SemiNMF
from seminmf.datasets import add_outliers
from seminmf.metrics import majority_accuracy, nmi
from seminmf.models.averages import lengths
from seminmf.models.reading import Reading, metric_root
from seminmf.solve.projection import Placed

READINGS = list(product(("reconstruction", "codes"), (True, False)))
readings = pytest.mark.parametrize(("metric", "refine"), READINGS)


@cache
def digits(n: int = 400) -> tuple[Array, Array]:
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


@cache
def clustered(metric: str, refine: bool) -> FactorKMeans:
    search = FactorKMeans(L21SemiNMF(8), random_state=0, metric=metric, refine=refine)
    return search.fit(digits()[0])


def fitted(codes: Array, basis: Array, X: Array, links: Any = None) -> Any:
    """A factorization, as far as it is read."""
    index = SimpleNamespace(samples=X, recipe=SimpleNamespace(directions=None))
    return SimpleNamespace(
        codes_=codes, components_=basis.T, _links=links, _member=None,
        residuals_=np.linalg.norm(X - codes @ basis.T, axis=1),
        _projector=SimpleNamespace(index=index, unit=1.0),
    )  # fmt: skip


def random_fit(n: int = 60, m: int = 9, k: int = 4, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    neighbours = [list(rng.permutation([j for j in range(n) if j != i])[:5]) for i in range(n)]
    codes, basis = rng.uniform(size=(n, k)), rng.normal(size=(m, k))
    X = codes @ basis.T + 1 + rng.normal(size=(n, m))
    return fitted(codes, basis, X, links_of(neighbours))


def links_of(neighbours: list[list[int]]) -> sp.csr_array:
    matrix = np.zeros((len(neighbours), len(neighbours)))
    for row, others in enumerate(neighbours):
        matrix[row, others] = 1
    return sp.csr_array(matrix)


def seen(model: Any, metric: str, refine: bool) -> Array:
    """Places, counted from the origin of the metric."""
    reading, found = Reading.of(model, model.codes_, 2, metric, refine)
    np.testing.assert_allclose(found.places.mean(axis=0), 0, atol=1e-12)
    assert reading.origin is not None
    return np.asarray(reading.origin + found.places)


# The metric.


@pytest.mark.parametrize("k", [1, 4, 12])
def test_distances_are_those_of_reconstructions(k: int) -> None:
    """Also with more parts than features."""
    model = random_fit(k=k)
    places = seen(model, "reconstruction", False)
    assert places.shape == (60, k)
    expected = pairwise_distances(model.codes_ @ model.components_)
    np.testing.assert_allclose(pairwise_distances(places), expected, atol=1e-7)
    np.testing.assert_allclose(seen(model, "codes", False), model.codes_)


@pytest.mark.parametrize("refine", [True, False])
def test_how_the_factors_share_scale_and_angles_does_not_matter(refine: bool) -> None:
    model = random_fit()
    A = np.random.default_rng(1).normal(size=(4, 4)) + 2 * np.eye(4)
    samples = model._projector.index.samples
    other = fitted(
        model.codes_ @ A, model.components_.T @ np.linalg.inv(A).T, samples, model._links
    )
    distances = [
        pairwise_distances(seen(found, "reconstruction", refine)) for found in (model, other)
    ]
    np.testing.assert_allclose(distances[0], distances[1], rtol=1e-6, atol=1e-6)
    codes = [pairwise_distances(seen(found, "codes", refine)) for found in (model, other)]
    assert np.abs(codes[0] - codes[1]).max() > 0.1


def test_parts_of_a_pipeline_and_of_nobody() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    inner = SemiNMF(3, tol=0, max_iter=20)
    pipeline = make_pipeline(StandardScaler(), inner).fit(X)
    np.testing.assert_array_equal(metric_root(pipeline, 3), metric_root(inner, 3))
    np.testing.assert_array_equal(metric_root(StandardScaler(), 6), np.eye(6))
    # Orthonormal parts: codes are their own coordinates.
    np.testing.assert_allclose(metric_root(PCA(3).fit(X), 3), np.eye(3), atol=1e-12)


def test_tables_whose_parts_are_of_different_lengths() -> None:
    """k-means of the codes themselves is misled by the scales that the fit happened to choose."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    with converging_or_not():
        codes, data = (
            FactorKMeans(SemiNMF(3), random_state=0, metric=metric, refine=False).fit(X)
            for metric in ("codes", "reconstruction")
        )
    assert majority_accuracy(y, data.labels_) > max(0.93, majority_accuracy(y, codes.labels_) + 0.1)


# Drawn in.


def drawing(places: Array, others: Array | None = None, residuals: Any = 0.0) -> tuple[Any, Array]:
    """The middle of samples with these means with neighbours, and what is kept of the way to it."""
    X = np.asarray(places)
    alone = fitted(X, np.eye(X.shape[1]), X)
    alone.residuals_ = residuals
    middle = Reading.of(alone, X, 2, "codes", True)[0].middle
    assert middle is not None
    if others is not None:
        middle = replace(middle, gap=float(np.median(np.linalg.norm(X - others, axis=1))))
    return middle, middle.shares(X, others, residuals)


def test_near_samples_stay_and_far_ones_come_nearer() -> None:
    rng = np.random.default_rng(0)
    places, residuals = rng.normal(size=(200, 3)), np.abs(rng.normal(size=200))
    places[:20] += 50 * rng.normal(size=(20, 3))
    residuals[20:30] += 50
    middle, shares = drawing(places, None, residuals)
    distances = np.hypot(np.linalg.norm(places - middle.place, axis=1), residuals)
    drawn = middle.drawn_in(places, shares)
    far = distances > middle.radius
    assert far[:30].all()
    assert far.mean() == 0.5
    np.testing.assert_array_equal(drawn[~far], places[~far])
    np.testing.assert_allclose(
        drawn[far] - middle.place,
        (places[far] - middle.place) * (middle.radius / distances[far])[:, None] ** (4 / 5),
    )


def test_who_has_neighbours_is_not_far_out() -> None:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(200, 3))
    places[:40] += 50
    others = places + rng.normal(size=(200, 3))
    others[:20] += 50
    middle, shares = drawing(places, others)
    gaps = np.linalg.norm(places - others, axis=1)
    assert (shares[:20] < 0.3).all()  # far from the middle, and from their neighbours
    stay = gaps[20:40] <= middle.gap
    assert stay.sum() > 5
    assert (shares[20:40][stay] == 1).all()
    # The nearer of the two counts.
    alone = drawing(places)[1]
    np.testing.assert_allclose(
        shares[:, 0], np.maximum(alone[:, 0], np.maximum(gaps / middle.gap, 1) ** (-4 / 5))
    )


def test_copies_are_no_yardstick() -> None:
    rng = np.random.default_rng(0)
    middle, _ = drawing(np.vstack([np.ones((60, 2)), 1 + rng.normal(size=(40, 2))]))
    np.testing.assert_allclose(middle.place, 1, atol=1e-6)
    assert 0.5 < middle.radius < 2


@pytest.mark.parametrize("shares", [(0.6, 0.2, 0.2), (0.45, 0.3, 0.25)])
@pytest.mark.parametrize("m", [2, 10])
def test_clusters_behind_each_other_stay_apart(m: int, shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], np.round(1000 * np.array(shares)).astype(int))
    X = rng.normal(size=(1000, m))
    X[:, 0] += np.array([0, 15, 45])[y]
    labels = FactorKMeans(L21SemiNMF(3), random_state=0).fit_predict(X - X.mean(axis=0))
    assert adjusted_rand_score(y, labels) > 0.98


@pytest.mark.parametrize("scale", [1e-250, 1e-120, 1.0, 1e250])
def test_lengths_of_any_size(scale: float) -> None:
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [5.0, 12.0]])
    np.testing.assert_allclose(lengths(rows * scale) / scale, [5, 0, 13], rtol=1e-12)


def test_the_middle_is_where_distances_are_least() -> None:
    rng = np.random.default_rng(0)
    places = np.vstack([rng.normal(size=(80, 2)), 30 + rng.normal(size=(20, 2))])
    middle, _ = drawing(places)

    def total(point: Array) -> float:
        return float(np.linalg.norm(places - point, axis=1).sum())

    around = middle.place + 0.05 * rng.normal(size=(50, 2))
    assert total(middle.place) < 1.001 * min(total(point) for point in around)
    assert total(middle.place) < 0.9 * total(places.mean(axis=0))


def test_samples_that_are_all_the_same() -> None:
    places = np.ones((10, 2))
    middle, shares = drawing(places, places)
    np.testing.assert_array_equal(middle.drawn_in(places, shares), places)
    # What rounding leaves of a large sample is infinitely far: NumPy warned of that.
    near = middle.shares(places, None, 1e39 * np.ones(10))
    np.testing.assert_allclose(middle.drawn_in(places + 1e-9, near), places, rtol=1e-15)


@pytest.mark.parametrize(
    "sizes", [(700, 300), (800, 100, 100), (960, 20, 20)], ids=["two", "three", "small"]
)
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_clusters_far_from_the_middle_are_no_outliers(
    sizes: tuple[int, ...], spread: float
) -> None:
    """A fence around the middle would shut them out as a whole."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    centres = rng.normal(size=(len(sizes), 10))
    centres *= 40 / np.linalg.norm(centres, axis=1, keepdims=True)
    centres[0] = 0
    X = centres[y] + np.where(y > 0, spread, 1.0)[:, None] * rng.normal(size=(len(y), 10))
    labels = FactorKMeans(L21SemiNMF(len(sizes)), random_state=0).fit_predict(X - X.mean(axis=0))
    assert adjusted_rand_score(y, labels) > 0.99


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("kind", ["gross", "scaled"])
def test_outliers_change_little(kind: str, share: float) -> None:
    X, y = digits()
    X = X - X.mean(axis=0)
    if kind == "gross":
        spoilt, outlier = add_outliers(X, share, random_state=0)
    else:
        outlier = np.random.default_rng(0).permutation(len(X)) < share * len(X)
        spoilt = np.where(outlier[:, None], 5 * X, X)
    found = FactorKMeans(L21SemiNMF(10), random_state=0).fit(spoilt)
    plain = KMeans(10, n_init=10, random_state=0).fit(spoilt)
    accuracy = majority_accuracy(y[~outlier], found.labels_[~outlier])
    assert accuracy > max(0.7, majority_accuracy(y[~outlier], plain.labels_[~outlier]) + 0.1)


# Averaged.


def averaged(values: Array, neighbours: list[Any]) -> Array:
    return np.array([
        np.mean([values[i], *values[others]], axis=0) for i, others in enumerate(neighbours)
    ])  # fmt: skip


@pytest.mark.parametrize(("n", "most"), [(20, 5), (12, 3)])
def test_averages_by_plain_loops(n: int, most: int) -> None:
    """Of two clusters: neighbours, the nearest of five, are no more than half of one."""
    model = random_fit(n, k=3)
    X = model._projector.index.samples
    # Nine features are looked at along six directions.
    reading, found = Reading.of(model, model.codes_, 2, "reconstruction", True)
    assert reading.directions is not None
    assert reading.rounds is not None
    assert reading.middle is not None
    assert 0 < reading.rest < 1
    features = X @ reading.directions
    away = pairwise_distances(features)
    neighbours = [
        sorted(np.flatnonzero(row), key=lambda j, i=i: away[i, j])[:most]
        for i, row in enumerate(model._links.toarray())
    ]
    described = model.codes_ @ model.components_ @ reading.directions
    shares = reading.middle.shares(features, averaged(features, neighbours), 0.0)
    np.testing.assert_allclose(found.shares, shares, rtol=1e-14)
    # Of what the parts leave out counts what neighbours share.
    left = shares * (features - described)
    before, after = (left**2).sum(), (averaged(left, neighbours) ** 2).sum()
    np.testing.assert_allclose(reading.rest, ((most + 1) * after - before) / most / after)
    places = described + reading.rest * (features - described)
    first = values = reading.middle.drawn_in(places, shares)
    for _ in range(2):
        values = averaged(values, neighbours)
    np.testing.assert_allclose(reading.origin, values.mean(axis=0))
    np.testing.assert_allclose(found.places, values - reading.origin)
    np.testing.assert_allclose(reading.rounds[0], first)
    # New samples with codes and neighbours of training samples get the same values; a sample that
    # is known gets its own, whatever else there is.
    new = [3, 4, 5]
    placed = Placed(model.codes_[[*new, 9]], np.array([-1, -1, -1, 9]), model._links[new])
    model._projector.place = lambda X: placed
    codes, again = reading.seen(model, X[[*new, 9]])
    np.testing.assert_array_equal(codes, placed.codes)
    np.testing.assert_allclose(again, found.places[[*new, 9]])


def test_what_parts_leave_out_counts_as_far_as_neighbours_share_it() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    groups = [[j for j in range(200) if y[j] == y[i] and j != i][:5] for i in range(200)]
    rest = {}
    for name, left in {
        "noise": rng.normal(size=(200, 5)), "shared": rng.normal(size=(4, 5))[y],
        "nothing": np.zeros((200, 5)),
    }.items():  # fmt: skip
        model = fitted(rng.uniform(size=(200, 3)), np.zeros((5, 3)), left, links_of(groups))
        rest[name] = Reading.of(model, model.codes_, 4, "reconstruction", True)[0].rest
    assert rest["noise"] < 0.3
    assert rest["shared"] > 0.98
    assert rest["nothing"] == 0


def test_clusters_are_better() -> None:
    """Where the fit itself has hardly tied neighbours together."""
    X, y = digits(800)
    scores: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(3):
        kept = np.random.default_rng(seed).permutation(len(X))[:720]
        for refine, found in scores.items():
            factorizer = L21SemiNMF(10, strength=1e-6)
            search = FactorKMeans(factorizer, random_state=seed, refine=refine).fit(X[kept])
            found.append(nmi(y[kept], search.labels_))
    assert np.mean(scores[True]) > np.mean(scores[False]) + 0.02


@pytest.mark.parametrize(("n_clusters", "expected"), [(200, "averaged"), (201, "none")])
def test_neighbourhoods_as_large_as_clusters(n_clusters: int, expected: str) -> None:
    """With fewer than two samples in a cluster averages over two would reach into others."""
    X = digits()[0]
    found = FactorKMeans(L21SemiNMF(8), n_clusters, random_state=0).fit(X)
    assert found.refinement_ == expected
    assert len(set(found.labels_)) == n_clusters


def test_few_samples_of_many_classes() -> None:
    """In much noise few parts are left standing; what they leave out separates the clusters."""
    y, scores = np.arange(30) % 8, []
    for draw in range(10):
        rng = np.random.default_rng(draw)
        X = rng.uniform(-1, 1, (8, 700))[y] + 2 * rng.normal(size=(30, 700))
        labels = FactorKMeans(L21SemiNMF(8), random_state=0).fit_predict(X)
        scores.append(adjusted_rand_score(y, labels))
    assert np.mean(scores) > 0.3


def test_copies_of_samples() -> None:
    X = digits(150)[0]
    twice = FactorKMeans(L21SemiNMF(5), random_state=0).fit(np.vstack([X, X[:70]]))
    assert twice.refinement_ == "averaged"
    np.testing.assert_array_equal(twice.labels_[:70], twice.labels_[150:])
    np.testing.assert_array_equal(twice.predict(X), twice.labels_[:150])


def test_copies_are_the_nearest_neighbours() -> None:
    """Of a few patterns the usual ones stay where they are, and the rare ones come to them."""
    rng = np.random.default_rng(0)
    true = np.array([[0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1]])
    y = np.arange(600) % 3
    X = np.where(rng.uniform(size=(600, 7)) < 0.1, 1 - true[y], true[y]).astype(float)
    found = FactorKMeans(L21SemiNMF(3), random_state=0).fit(X)
    assert found.refinement_ == "averaged"
    member, links = found.factorizer_._member, found.factorizer_._links.toarray()
    copies, rounds = np.bincount(member), found._reading.rounds
    assert len(copies) < 100
    assert rounds is not None
    for i, others in enumerate(links.astype(bool)):
        mean = (copies[i] * rounds[0][i] + rounds[0][others].sum(axis=0)) / (copies[i] + 5)
        np.testing.assert_allclose(rounds[1][i], mean)
    assert adjusted_rand_score(y, found.labels_) > 0.8
    np.testing.assert_array_equal(found.predict(X), found.labels_)


def test_a_transformer_finds_neighbours_too() -> None:
    X = digits(200)[0]
    plain = FactorKMeans(L21SemiNMF(5, graph="knn"), random_state=0).fit(X)
    transformer = KNeighborsTransformer(n_neighbors=5, mode="distance")
    other = FactorKMeans(L21SemiNMF(5, graph=transformer), random_state=0).fit(X)
    assert other.refinement_ == plain.refinement_ == "averaged"
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    new = digits(260)[0][200:]
    np.testing.assert_array_equal(other.predict(new), plain.predict(new))


def test_who_has_no_neighbours() -> None:
    X = digits(150)[0]
    graph = L21SemiNMF(5).fit(X)._links
    given = FactorKMeans(GraphSemiNMF(5, graph=graph.maximum(graph.T)), random_state=0)
    others = [make(name, 5) for name in CLASSES if name not in GRAPH_MODELS]
    for search in (given, *(FactorKMeans(f, random_state=0) for f in others),
                   FactorKMeans(TruncatedSVD(5), random_state=0)):  # fmt: skip
        with converging_or_not():
            search.fit(X)
        assert search.refinement_ == "none"
    assert clustered("reconstruction", False).refinement_ == "none"


# New samples.


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, np.float32])
@readings
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_training_samples_keep_their_clusters(
    model: str, metric: str, refine: bool, form: Any
) -> None:
    X = form(digits()[0])
    search = FactorKMeans(make(model, 5), random_state=0, metric=metric, refine=refine)
    with converging_or_not():
        found = search.fit(X)
    assert found.refinement_ == ("averaged" if refine else "none")
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    np.testing.assert_array_equal(found.predict(X[40:60]), found.labels_[40:60])


@readings
def test_a_little_moved_is_the_same_cluster(metric: str, refine: bool) -> None:
    """New samples are treated as those of the fit."""
    X, found = digits()[0], clustered(metric, refine)
    moved = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    # A sample next to a training sample has that one as a neighbour too, and one other less.
    assert (found.predict(moved) == found.labels_).mean() > 0.95


@readings
def test_transform_gives_the_distances_to_the_centres(metric: str, refine: bool) -> None:
    X, found = digits(460)[0], clustered(metric, refine)
    distances = found.transform(X)
    assert distances.shape == (460, 8)
    np.testing.assert_array_equal(distances.argmin(axis=1), found.predict(X))
    assert found.get_feature_names_out().tolist() == [f"factorkmeans{i}" for i in range(8)]
    # The same distances by hand.
    places = found._reading.seen(found.factorizer_, X)[1]
    np.testing.assert_allclose(
        pairwise_distances(places, found.kmeans_.cluster_centers_), distances, rtol=1e-4
    )


def test_centres_as_codes() -> None:
    """Means of the codes of a cluster; who was drawn in counts less."""
    found = clustered("reconstruction", False)
    codes, labels = found.factorizer_.codes_, found.labels_
    means = np.array([codes[labels == label].mean(axis=0) for label in range(8)])
    np.testing.assert_allclose(found.cluster_centers_, means)
    found = clustered("reconstruction", True)
    shares = Reading.of(found.factorizer_, codes, 8, "reconstruction", True)[1].shares
    assert shares.min() < 0.9
    means = np.array([
        np.average(codes[found.labels_ == label], axis=0, weights=shares[found.labels_ == label, 0])
        for label in range(8)
    ])  # fmt: skip
    np.testing.assert_allclose(found.cluster_centers_, means)


@pytest.mark.parametrize(
    ("n", "m", "k"), [(40, 5, 1), (40, 3, 3), (40, 3, 5), (6, 8, 2), (2, 4, 1), (9, 30, 8)]
)
def test_few_samples_features_or_parts(n: int, m: int, k: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, m)) + 5
    with converging_or_not():
        found = FactorKMeans(L21SemiNMF(k, n_neighbors=min(5, n - 1)), random_state=0).fit(X)
    assert len(set(found.labels_)) == k
    np.testing.assert_array_equal(found.predict(X), found.labels_)


# Files.


@readings
def test_files_keep_the_reading(metric: str, refine: bool, tmp_path: Path) -> None:
    found, path = clustered(metric, refine), tmp_path / "model"
    found.save(path)
    again = seminmf.load(path)
    assert (again.metric, again.refine) == (metric, refine)
    assert again.refinement_ == found.refinement_
    np.testing.assert_array_equal(again.cluster_centers_, found.cluster_centers_)
    for X in (digits()[0], digits(460)[0][400:]):
        np.testing.assert_array_equal(again.transform(X), found.transform(X))


def before(refined: dict[str, Any] | None, kind: str | None) -> dict[str, Any]:
    """The state of a file that had no metric yet: centres are those of the codes."""
    state = clustered("codes", False)._saved_state()
    for name in ("reading", "refinement_", "cluster_centers_"):
        del state[name]
    if kind is not None:
        state["refinement_"] = kind
    if refined is not None:
        state["refined"] = refined
    return state


def test_files_from_before_there_was_a_refinement() -> None:
    model = FactorKMeans(L21SemiNMF(8))
    model._restore_state(before(None, None))
    assert (model.metric, model.refinement_) == ("codes", "none")
    codes = model.factorizer_.codes_
    np.testing.assert_array_equal(model.predict(digits()[0]), model.kmeans_.predict(codes))
    np.testing.assert_array_equal(model.cluster_centers_, model.kmeans_.cluster_centers_)


def test_files_with_averages_of_before() -> None:
    averages = np.random.default_rng(0).uniform(size=(2, 400, 8))
    refined = {"rounds": averages, "counts": np.ones(400, dtype=bool)}
    model = FactorKMeans(L21SemiNMF(8))
    model._restore_state(before(refined, "averaged"))
    assert model.refinement_ == "averaged"
    np.testing.assert_array_equal(model.predict(digits()[0]), model.kmeans_.predict(averages[-1]))


def test_files_with_a_reading_that_is_gone() -> None:
    refined = {"slopes": np.ones((64, 8)), "shift": np.ones(8)}
    with pytest.raises(ValueError, match=r"'measured' is not known any more; fit the model again"):
        FactorKMeans(L21SemiNMF(8))._restore_state(before(refined, "measured"))


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("rounds", np.s_[:, :-1]),
        ("rounds", np.s_[:, :, :-1]),
        ("rounds", 0),
        ("features", np.s_[1:]),
        ("features", np.s_[:, 1:]),
        ("directions", np.s_[:, 1:]),
        ("root", np.s_[1:]),
        ("root", np.s_[:, 1:]),
        ("place", np.s_[1:]),
        ("home", np.s_[1:]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name: str, cut: Any) -> None:
    state = clustered("reconstruction", True)._saved_state()
    reading = state["reading"]
    of = reading["middle"] if name in reading["middle"] else reading
    changed = {**of, name: of[name][cut]}
    state["reading"] = changed if of is reading else {**reading, "middle": changed}
    with pytest.raises(ValueError, match="not fit"):
        FactorKMeans(L21SemiNMF(8))._restore_state(state)
