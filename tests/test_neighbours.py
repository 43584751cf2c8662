"""The neighbour index, and models that do not hold the training samples."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors, RadiusNeighborsTransformer

import seminmf
from helpers import GRAPH_MODELS, make
from seminmf import FactorKMeans, L21SemiNMF, Standardized
from seminmf.data.features import features_of, leading_directions
from seminmf.data.samples import KnownRows
from seminmf.graph import approximate, cells, exact, index
from seminmf.graph.approximate import Approximate
from seminmf.graph.index import (
    NeighbourIndex,
    Recipe,
    automatic_recipe,
    index_of_features,
)

Samples = np.ndarray[Any, Any]


def clusters(n: int, m: int, seed: int = 0, dtype: Any = np.float64) -> Samples:
    """Ten clusters; the noise has as many dimensions as there are features."""
    rng = np.random.default_rng(seed)
    centres = 1.5 * np.random.default_rng(99).normal(size=(10, m))
    return (centres[rng.integers(10, size=n)] + rng.normal(size=(n, m))).astype(dtype)


def curve(n: int, m: int, seed: int = 0) -> Samples:
    """On a curve through many dimensions, with samples that are nearly equal."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 20, n)[:, None]
    return np.cos(angles * np.arange(1, m + 1) / m) + 1e-3 * rng.normal(size=(n, m))


def recall(exact: Samples, found: Samples) -> float:
    """By distances, so that ties are right either way."""
    return float((found <= exact[:, -1:] * (1 + 1e-5) + 1e-12).mean())


FEATURES = {
    "clusters": clusters(6000, 20),
    "clusters, many features": clusters(4000, 60),
    "one feature": np.random.default_rng(0).normal(size=(3000, 1)),
    "curve": curve(5000, 12),
    "uniform": np.random.default_rng(1).uniform(size=(5000, 8)),
    "heavy tails": np.random.default_rng(2).standard_cauchy(size=(5000, 6)),
    "far from the origin": clusters(4000, 10) + 1e6,
    "ties": np.unique(np.random.default_rng(3).integers(0, 4, size=(4000, 6)), axis=0) + 0.0,
    "single precision": clusters(4000, 16, dtype=np.float32),
    "very large": clusters(3000, 10) * 1e120,
    "very small": clusters(3000, 10) * 1e-120,
}


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("p", [1, 5, 30])
def test_recall(name: str, p: int) -> None:
    features = FEATURES[name]
    new = features[:300] + 0.01 * np.std(features) * np.random.default_rng(7).normal(
        size=(300, features.shape[1])
    ).astype(features.dtype)
    found = index_of_features(features, p, approximate=True)
    assert found.recall >= 0.95
    scaled = features / np.abs(features).max()
    exact = NearestNeighbors(n_neighbors=p).fit(scaled)
    near = found.neighbours()
    assert near.shape == (len(features), p)
    assert (near != np.arange(len(features))[:, None]).all()
    assert near.min() >= 0
    assert all(len(set(row)) == p for row in near[:200].tolist())
    lengths = np.linalg.norm(scaled[near] - scaled[:, None], axis=2)
    assert recall(exact.kneighbors()[0], lengths) >= 0.95
    indices, distances = found.query(new, p)
    lengths = np.linalg.norm(scaled[indices] - (new / np.abs(features).max())[:, None], axis=2)
    assert recall(exact.kneighbors(new / np.abs(features).max())[0], lengths) >= 0.95
    np.testing.assert_allclose(distances / np.abs(features).max(), lengths, rtol=1e-3, atol=1e-5)


def test_measured_recall_is_about_right() -> None:
    features = clusters(6000, 30)
    found = Approximate(features, 5)
    exact = NearestNeighbors(n_neighbors=5).fit(features).kneighbors()[0]
    lengths = np.linalg.norm(features[found.neighbours()] - features[:, None], axis=2)
    assert abs(found.recall - recall(exact, lengths)) < 0.03


def test_too_few_found_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where even as many cells as may be do not do."""
    monkeypatch.setattr(approximate, "_MOST", 500)
    with pytest.warns(UserWarning, match=r'Only \d+% of the 2 nearest.*graph="knn"'):
        Approximate(np.random.default_rng(0).normal(size=(5000, 60)), 2)


def test_more_cells_where_those_beside_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate, "_BESIDE", 1)
    assert Approximate(clusters(6000, 20), 5).recall >= 0.95


def test_many_equal_features_fill_several_cells() -> None:
    """Of one cell with all of them the time would be quadratic."""
    features = np.repeat(clusters(3, 4), [5000, 4000, 3], axis=0)
    team = approximate.Team(0, 1)
    centres, labels = cells.cells_of(team, features.astype(np.float32), 100, 6)
    sizes = np.bincount(labels)
    assert len(centres) == len(sizes)
    assert sizes.max() <= 400
    assert sizes.min() >= 6
    found = Approximate(features, 5)
    assert found.recall == 1
    assert (features[found.neighbours()[:9000]] == features[:9000, None]).all()


def test_a_query_for_more_neighbours() -> None:
    features = clusters(4000, 6)
    indices, distances = Approximate(features, 2).query(features[:50], 40)
    exact = NearestNeighbors(n_neighbors=40).fit(features).kneighbors(features[:50])[0]
    assert indices.min() >= 0
    assert recall(exact, distances) >= 0.9


@pytest.mark.parametrize("kind", ["double", "single", "by columns", "read only", "huge numbers"])
def test_exact_neighbours_are_those_of_scikit_learn(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the features lie in memory, and on both sides of the number of samples from which
    scikit-learn is asked.
    """
    features, new = clusters(700, 9), clusters(60, 9, seed=1)
    if kind == "single":
        features, new = features.astype(np.float32), new.astype(np.float32)
    elif kind == "by columns":
        features = np.asfortranarray(features)
    elif kind == "read only":
        features.flags.writeable = False
    elif kind == "huge numbers":
        features, new = 1e120 * features, 1e120 * new
    search = NearestNeighbors(n_neighbors=6, algorithm="kd_tree").fit(features.astype(float))
    for most in (exact._MOST_SAMPLES, 0):
        monkeypatch.setattr(exact, "_MOST_SAMPLES", most)
        found = exact.Exact(features, 6)
        assert (found._tiles is None) == (most == 0)
        np.testing.assert_array_equal(found.neighbours(), search.kneighbors()[1])
        indices, distances = found.query(new, 4)
        expected = search.kneighbors(new.astype(float), 4)
        np.testing.assert_array_equal(indices, expected[1])
        np.testing.assert_allclose(distances, expected[0], rtol=1e-6)


def test_samples_beyond_all_distances_have_some_neighbours() -> None:
    """Squares of distances overflow; who is nearest cannot be told."""
    indices, distances = exact.Exact(clusters(40, 3), 2).query(np.full((2, 3), 1e200), 2)
    assert ((indices >= 0) & (indices < 40)).all()
    assert np.isinf(distances).all()


@pytest.mark.parametrize("n", [2, 3, 7, 40, 60])
def test_few_samples(n: int) -> None:
    features = clusters(n, 4)
    p = min(5, n - 1)
    found = Approximate(features, p)
    assert found.recall == 1
    expected = NearestNeighbors(n_neighbors=p).fit(features).kneighbors()[1]
    np.testing.assert_array_equal(found.neighbours(), expected)
    np.testing.assert_array_equal(found.query(features, 1)[0][:, 0], np.arange(n))


def test_equal_features() -> None:
    """All distances are zero, and any neighbours are right."""
    found = Approximate(np.ones((500, 3)), 5)
    assert found.recall == 1
    assert found.neighbours().min() >= 0


CODE = """
import hashlib, sys
import numpy as np
from test_neighbours import clusters
from seminmf.graph.approximate import Approximate
found = Approximate(clusters(6000, 20), 5)
parts = found.neighbours(), found.query(clusters(500, 20, 1), 5)[0]
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def test_threads_make_no_difference() -> None:
    digests = set()
    for threads in ("1", "3"):
        path = os.pathsep.join([str(Path(__file__).parent), str(Path(seminmf.__file__).parents[1])])
        environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": threads,
                       "OMP_NUM_THREADS": threads}  # fmt: skip
        done = subprocess.run([sys.executable, "-c", CODE], env=environment, check=True,
                              capture_output=True, text=True)  # fmt: skip
        digests.add(done.stdout)
    assert len(digests) == 1


# --- features -------------------------------------------------------------------------------------


def low_rank(n: int, m: int, rank: int, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))


def test_leading_directions_span_the_samples() -> None:
    X = low_rank(400, 90, 6)
    directions = leading_directions(X, 6)
    np.testing.assert_allclose(directions.T @ directions, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(X @ directions @ directions.T, X, atol=1e-8)
    np.testing.assert_allclose(features_of(X, directions), X @ directions, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_directions_of_a_sparse_matrix(dtype: Any) -> None:
    X = sp.random_array((500, 80), density=0.1, rng=np.random.default_rng(0)).tocsr().astype(dtype)
    sparse, dense = leading_directions(X, 10), leading_directions(X.toarray(), 10)
    assert sparse.dtype == dtype
    np.testing.assert_allclose(abs(sparse.T @ dense), np.eye(10), atol=2e-2)
    np.testing.assert_allclose(features_of(X, None), X.toarray())


@pytest.mark.parametrize("shape", [(3, 40), (5, 400), (40, 11), (400, 350)])
def test_no_more_directions_than_there_are(shape: tuple[int, int]) -> None:
    """With as many as the samples span, no distance changes."""
    X = np.random.default_rng(0).normal(size=shape)
    directions = leading_directions(X, 10)
    assert directions is not None
    assert directions.shape[1] == min(10, *shape)
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-8)
    if shape[0] <= 10:
        np.testing.assert_allclose(X @ directions @ directions.T, X, atol=1e-7)


@pytest.mark.parametrize("shape", [(40, 3), (2, 2), (5, 4), (40, 10)])
def test_no_directions_where_there_are_no_more_features(shape: tuple[int, int]) -> None:
    assert leading_directions(np.ones(shape), 10) is None


def test_outliers_do_not_choose_the_directions() -> None:
    X = low_rank(2000, 60, 4)
    X[:3] = 50 * np.linalg.norm(X[10]) * np.eye(60)[:3] * np.array([[1], [2], [3]])
    directions = leading_directions(X, 8)
    left = X[3:] - X[3:] @ directions @ directions.T
    assert np.linalg.norm(left) < 0.1 * np.linalg.norm(X[3:])


def test_known_rows() -> None:
    X = np.vstack([clusters(50, 6), clusters(50, 6)[:5], np.zeros((1, 6))])
    known = KnownRows(X)
    expected = np.r_[np.arange(50), np.arange(5), 55]
    np.testing.assert_array_equal(known.match(X), expected)
    np.testing.assert_array_equal(known.match(-np.zeros((1, 6))), [55])
    np.testing.assert_array_equal(known.match(X + 1e-9)[:50], -np.ones(50))
    np.testing.assert_array_equal(KnownRows(sp.csr_array(X)).match(sp.csr_array(X)), expected)
    np.testing.assert_array_equal(KnownRows(X[:0]).match(X[:3]), [-1, -1, -1])


# --- what "auto" does -----------------------------------------------------------------------------


def test_the_recipe_follows_from_the_size() -> None:
    many = clusters(index.EXACT_SAMPLES + 1, 30)
    few = many[:-1]
    assert automatic_recipe(few, 20, 5) == Recipe()
    assert automatic_recipe(many, 20, 5) == Recipe(approximate=True)
    assert automatic_recipe(many, 20, 200) == Recipe()  # lists as long as that are no shortcut
    for X in (few, many):
        found = automatic_recipe(X, 3, 5)
        assert found.approximate is (X is many)
        assert found.directions is not None
        assert found.directions.shape == (30, 6)


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_for_few_samples_and_features_auto_is_knn(model: str) -> None:
    X, new = clusters(300, 6), clusters(20, 6, 1)
    auto = make(model, 3, max_iter=20, tol=0).fit(X)
    knn = make(model, 3, max_iter=20, tol=0, graph="knn").fit(X)
    np.testing.assert_array_equal(auto.codes_, knn.codes_)
    np.testing.assert_array_equal(auto.transform(new), knn.transform(new))
    assert auto.graph_ == knn.graph_
    assert auto.graph_ == {
        "search": "exact", "samples": 300, "edges": auto.graph_["edges"], "features": 6,
        "recall": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_noise_in_many_features_does_not_hide_neighbours(model: str) -> None:
    """Two clusters, which noise hides from a search in all features."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=300)
    X = rng.normal(size=(300, 100))
    X[:, :3] += 3 * kind[:, None] - 1.5
    together = {}
    for graph in ("auto", "knn"):
        fitted = make(model, 2, graph=graph, max_iter=2, tol=0).fit(X)
        links = fitted._links.tocoo()
        together[graph] = (kind[links.row] == kind[links.col]).mean()
        assert fitted.graph_["features"] == (4 if graph == "auto" else 100)
    assert together["auto"] > 0.95 > together["knn"]


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were more samples than exact search is for."""
    monkeypatch.setattr(index, "EXACT_SAMPLES", 1000)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("form", ["dense", "sparse", "single"])
def test_many_samples(form: str, tmp_path: Path) -> None:
    X, new = clusters(1500, 24), clusters(60, 24, 1)
    if form == "sparse":
        X, new = (sp.csr_array(np.where(abs(part) > 1, part, 0)) for part in (X, new))
    if form == "single":
        X, new = X.astype(np.float32), new.astype(np.float32)
    model = L21SemiNMF(4, random_state=0, max_iter=30, tol=0).fit(X)
    assert model.graph_["search"] == "approximate"
    assert model.graph_["features"] == 8
    assert model.graph_["recall"] >= 0.95
    codes = model.transform(new)
    np.testing.assert_array_equal(model.transform(X[:20]), model.codes_[:20])
    again = L21SemiNMF(4, random_state=0, max_iter=30, tol=0).fit(X)
    np.testing.assert_array_equal(again.codes_, model.codes_)
    path = tmp_path / "model"
    model.save(path)
    loaded = seminmf.load(path)
    assert loaded.graph_ == model.graph_
    np.testing.assert_array_equal(loaded.transform(new), codes)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(new), codes)
    assert "approximate neighbours in 8 features, recall" in model._repr_html_inner()


@pytest.mark.usefixtures("few_are_many")
def test_a_query_equals_exact_search_where_that_finds_the_same() -> None:
    """With the neighbours that exact search finds in the same features the codes are the same."""
    X, new = clusters(1500, 24), clusters(60, 24, 1)
    model = L21SemiNMF(4, random_state=0, max_iter=30, tol=0).fit(X)
    used = model._projector.index
    exact = NeighbourIndex(X, 5, Recipe(directions=used.recipe.directions))
    same = (used.query(new) != exact.query(new)).sum(axis=1) == 0
    assert same.mean() > 0.8
    projector = type(model._projector)(**{**vars(model._projector), "index": exact})
    np.testing.assert_allclose(
        model.transform(new)[same], projector.codes(new)[same], rtol=1e-6, atol=1e-9
    )


@pytest.mark.usefixtures("few_are_many")
def test_new_samples_of_a_given_graph() -> None:
    X, new = clusters(1200, 10), clusters(30, 10, 1)
    given = L21SemiNMF(3, graph=seminmf.graph.neighbours.knn_graph(X, 5), random_state=0, tol=1e-3)
    given.fit(X)
    assert given.graph_["search"] == "given"
    assert "recall" not in given.graph_
    assert given.transform(new).shape == (30, 3)


def test_an_index_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = L21SemiNMF(3, random_state=0, tol=1e-3).fit(clusters(300, 8))

    def fail(*arguments: Any, **named: Any) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(index, "index_of_features", fail)
    for seed in (1, 2):
        model.transform(clusters(10, 8, seed))


# --- models without the training samples ----------------------------------------------------------

GRAPHS: dict[str, Any] = {
    "auto": "auto",
    "knn": "knn",
    "matrix": lambda X: seminmf.graph.neighbours.knn_graph(X, 4),
    "k neighbours": KNeighborsTransformer(n_neighbors=4),
    "radius": RadiusNeighborsTransformer(radius=4.0),
}


def fitted(graph: Any, X: Samples) -> L21SemiNMF:
    graph = graph(X) if callable(graph) else graph
    return L21SemiNMF(3, graph=graph, random_state=0, tol=1e-3).fit(X)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("training", ["all", "landmarks", "none"])
def test_every_kind_can_be_saved(graph: Any, training: Any, tmp_path: Path) -> None:
    X, new = clusters(900, 8), clusters(40, 8, 1)
    model, path = fitted(graph, X), tmp_path / "model"
    model.save(path, training=training)
    loaded = seminmf.load(path)
    kept = {"all": 900, "landmarks": 500, "none": 0}[training]
    small = model if training == "all" else model.without_training(kept)
    assert len(loaded._projector.index) == kept
    np.testing.assert_array_equal(loaded.transform(new), small.transform(new))
    np.testing.assert_array_equal(loaded.codes_, model.codes_)
    if training == "all":
        np.testing.assert_array_equal(loaded.transform(X[:50]), model.codes_[:50])
        if not callable(graph):  # a matrix is a parameter, and is stored
            model.save(path, training="none")
            assert path.stat().st_size < X.nbytes


def test_without_training_samples_it_is_least_squares() -> None:
    X, new = clusters(300, 8), clusters(40, 8, 1)
    model = fitted("auto", X)
    before = model.transform(new)
    codes = model.without_training().transform(new)
    for x, v in zip(new, codes, strict=True):
        gradient = model.components_ @ (model.components_.T @ v - x)
        assert gradient.min() > -1e-6
        assert abs(gradient @ v) < 1e-6
    np.testing.assert_array_equal(model.transform(new), before)  # the model itself is as it was


def test_landmarks_keep_their_codes() -> None:
    X = clusters(300, 8)
    model = fitted("auto", X)
    small = model.without_training(40)
    chosen = model._projector.landmarks(40)
    assert len(set(chosen.tolist())) == 40
    np.testing.assert_array_equal(small.transform(X[chosen]), model.codes_[chosen])
    np.testing.assert_array_equal(model.without_training(1000).transform(X), model.codes_)
    assert len(small.without_training()._projector.index) == 0


@pytest.mark.parametrize("landmarks", [0, 3, 60])
def test_clusters_without_training_samples(landmarks: int, tmp_path: Path) -> None:
    X, new = clusters(400, 3), clusters(100, 3, 1)
    model = Standardized(FactorKMeans(L21SemiNMF(5, random_state=0), random_state=0)).fit(X)
    assert model.model_.refinement_ == "averaged"
    small = model.without_training(landmarks)
    labels = small.predict(new)
    assert labels.shape == (100,)
    if landmarks == 60:
        assert np.mean(labels == model.predict(new)) > 0.7
    path = tmp_path / "model"
    small.save(path)
    np.testing.assert_array_equal(seminmf.load(path).predict(new), labels)


def test_a_model_without_a_graph_has_nothing_to_lose() -> None:
    X = clusters(200, 8)
    model = seminmf.SemiNMF(3, random_state=0, tol=1e-3).fit(X)
    assert model.graph_ is None
    np.testing.assert_array_equal(model.without_training().transform(X), model.transform(X))


def test_bad_choices_are_refused(tmp_path: Path) -> None:
    model = fitted("auto", clusters(100, 8))
    with pytest.raises(ValueError, match="training must be one of 'all', 'landmarks', 'none'"):
        model.save(tmp_path / "model", training="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="landmarks must be an integer of at least 0, got -1"):
        model.without_training(-1)
    with pytest.raises(ValueError, match="graph must be one of 'auto', 'knn', got 'none'"):
        L21SemiNMF(2, graph="none").fit(clusters(50, 4))
    assert not list(tmp_path.iterdir())


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Approximate(clusters(3000, 12), 5).query(clusters(10, 12, 1), 5)


def test_a_given_graph_needs_no_recipe_before_there_are_new_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Leading directions of many samples took a fifth of a fit, for whoever never transforms."""
    written: list[Recipe] = []

    def watched(*arguments: Any) -> Recipe:
        written.append(automatic_recipe(*arguments))
        return written[-1]

    monkeypatch.setattr("seminmf.models.training.automatic_recipe", watched)
    X = clusters(80, 6)
    links = NeighbourIndex(X, 5, Recipe()).links()
    model = L21SemiNMF(3, graph=sp.csr_array(links.maximum(links.T)), tol=1e-3).fit(X)
    assert not written
    new = clusters(5, 6, 1)
    found = model.transform(new)
    assert len(written) == 1
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(new), found)
    assert len(written) == 1


def test_far_samples_choose_no_directions() -> None:
    """Samples count by their directions alone, so that few outliers do not matter, however far."""
    rng = np.random.default_rng(0)
    X = np.zeros((200, 12))
    X[:, :2] = rng.normal(size=(200, 2))
    X[:20] = 1e3 * rng.normal(size=(20, 12))
    directions = leading_directions(X, 2)
    assert directions is not None
    assert np.linalg.norm(directions[:2]) ** 2 > 1.9
