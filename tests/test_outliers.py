"""Outlier scores, by samples that have not seen each other, and the threshold for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

import seminmf
from helpers import CLASSES, cone, converging_or_not, data
from seminmf import FactorKMeans, L21SemiNMF, RobustSemiNMF, SemiNMF, outlier_threshold
from seminmf.data.distances import Errors
from seminmf.datasets import add_outliers
from seminmf.graph.index import NeighbourIndex
from seminmf.losses import Norm
from seminmf.outliers import shortest_half
from seminmf.solve.held_out import Fitted, held_out
from seminmf.solve.outliers import _neighbours, refer
from seminmf.solve.spread import Spread

KINDS = ("gross", "scaled", "noise", "swapped", "grouped")


def model(name: str, k: int, graph: bool) -> Any:
    parameters: dict[str, Any] = {"random_state": 0, "max_iter": 300}
    if name in ("GraphSemiNMF", "L21SemiNMF") and not graph:
        parameters["strength"] = 0.0
    return CLASSES[name](k, **parameters)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("graph", [True, False])
def test_outliers_with_parts_of_their_own_are_found(name: str, graph: bool) -> None:
    """More parts than the data need, and few samples: residuals fail, scores do not."""
    nonnegative = name == "NMF"
    X, odd = add_outliers(cone(60, 40, 3, nonnegative=nonnegative), 0.1, random_state=1)
    X = abs(X) if nonnegative else X
    fitted = model(name, 9, graph).fit(X)
    scores = fitted.outlier_scores(X)
    assert scores.shape == (60,)
    assert (scores >= 0).all()
    assert scores[odd].min() > scores[~odd].max()
    if not (name == "GraphSemiNMF" and graph):  # whose penalty keeps parts off outliers
        assert roc_auc_score(odd, fitted.residuals_) < 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fraction", [0.05, 0.4])
def test_kinds_of_outliers(kind: str, fraction: float) -> None:
    X = PCA(whiten=False).fit_transform(data(300, 20, seed=2))
    X, odd = add_outliers(X, fraction, random_state=0, kind=kind)
    scores = L21SemiNMF(4, random_state=0).fit(X).outlier_scores(X)
    assert roc_auc_score(odd, scores) > (0.85 if kind == "swapped" else 0.95)


def test_the_parts_score_where_they_say_more_than_neighbours() -> None:
    """Samples of a wide cone are far from their neighbours, and near to its parts."""
    X = cone(300, 30, 5, noise=0.05)
    odd = np.zeros(300, bool)
    odd[:20] = True
    X[odd] += 0.2 * np.random.default_rng(1).normal(size=(20, 30))
    fitted = L21SemiNMF(5, random_state=0).fit(X)
    assert roc_auc_score(odd, fitted.outlier_scores(X)) > 0.99
    assert fitted._outlier_reference.way.index is None
    # As many parts as features say nothing: then neighbours do.
    narrow = data(300, 4, seed=3)
    full = L21SemiNMF(5, random_state=0).fit(narrow)
    scores = full.outlier_scores(narrow)
    reference = full._outlier_reference
    near = _neighbours(narrow, reference.trusted, reference.way.index, None)
    assert near.shape == (300, 5)
    distances = np.linalg.norm(narrow - narrow[near].mean(axis=1), axis=1)
    np.testing.assert_allclose(scores / distances, 1, atol=0.5)
    assert np.corrcoef(scores, distances)[0, 1] > 0.95


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_parts_that_foretell_anything_are_not_asked(seed: int) -> None:
    """Axes and their opposites: what they leave of a sample is rounding, of a longer one more."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5)) * np.exp(rng.normal(size=(300, 1)))
    basis = np.hstack([np.eye(5), -np.eye(5)])
    fitted = Fitted(basis, np.maximum(X @ basis, 0), np.full(300, 1e-16), Norm(), False)
    reference = refer(X, fitted, NeighbourIndex(X, 5), None)
    assert reference.way.index is not None
    assert reference.scores.min() > 1e-3


def errors_of(E: Any) -> Errors:
    """Of samples of which nothing is foretold."""
    n, m = E.shape
    return Errors(E, sp.csr_array((n, 1)), np.zeros((1, m)), np.linalg.norm(E, axis=1))


def test_scores_that_are_nothing_but_rounding_are_told() -> None:
    X = data(100, 3)
    with pytest.warns(UserWarning, match="All outlier scores are rounding"):
        SemiNMF(4).fit(X).outlier_scores(X)
    exact = data(100, 8, rank=2)
    exact[:3] += 5 * data(3, 8, 1)
    scores = SemiNMF(3).fit(exact).outlier_scores(exact)
    assert set(scores.argsort()[-3:]) == {0, 1, 2}


@pytest.mark.parametrize(("n", "m", "k"), [(300, 3, 1), (300, 3, 2), (300, 3, 3), (300, 10, 10)])
@pytest.mark.parametrize("name", ["NMF", "SemiNMF", "L21SemiNMF"])
def test_false_alarms_of_few_and_many_parts(name: str, n: int, m: int, k: int) -> None:
    """Between as many parts as features nothing is left of half of the samples but rounding."""
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(n, m))
        X -= X.min() if name == "NMF" else 0
        with converging_or_not():
            scores = model(name, k, False).fit(X).outlier_scores(X)
        assert (scores > outlier_threshold(scores)).mean() < 0.01


@pytest.mark.parametrize("shape", [(60, 8), (20, 50)])
def test_lengths_by_the_spread_of_the_others(shape: tuple[int, int]) -> None:
    """Those of Mahalanobis, by Tyler's scatter, in which a sample's own error is not."""
    n, m = shape
    rng = np.random.default_rng(0)
    E = rng.normal(size=(n + 9, m)) * np.linspace(0.2, 3, m) * rng.gamma(2, 1, (n + 9, 1))
    spread, own = Spread.of(E[:n])
    scatter, squares = np.eye(m), np.einsum("ij,ij->i", E, E)[:n]
    lengths = squares
    for _ in range(2):
        loads = 0.9 * m / lengths / (squares / lengths).sum()
        scatter = 0.1 * np.eye(m) + sum(
            load * np.outer(e, e) for load, e in zip(loads, E, strict=False)
        )
        lengths = np.array([
            e @ np.linalg.solve(scatter - load * np.outer(e, e), e)
            for load, e in zip(loads, E, strict=False)
        ])  # fmt: skip
    assert np.trace(scatter) == pytest.approx(m)
    np.testing.assert_allclose(own, np.sqrt(lengths), rtol=1e-6)
    everything = np.sqrt(np.einsum("ij,ij->i", E @ np.linalg.inv(scatter), E))
    np.testing.assert_allclose(spread.lengths(errors_of(E)), everything)


def test_spread_goes_by_directions() -> None:
    """Where errors are common they count less, and few long ones do not make their own common."""
    rng = np.random.default_rng(1)
    E = rng.normal(size=(400, 6)) * [5, 5, 1, 1, 1, 1]
    E[:20, 5] += 200
    spread, _ = Spread.of(E)
    common, rare, few = spread.lengths(errors_of(np.eye(6)[[0, 3, 5]]))
    assert 2 * common < rare
    assert few > 0.7 * rare
    # Without any errors all directions are alike.
    flat, _ = Spread.of(np.zeros((9, 6)))
    np.testing.assert_array_equal(flat.lengths(errors_of(E)), errors_of(E).lengths)


def test_a_sample_does_not_move_its_own_score() -> None:
    """The parts that score it come from a fit in which it has no weight."""
    X = cone(100, 12, 4)
    fitted = SemiNMF(4, random_state=0).fit(X)
    scores = fitted.outlier_scores(X)
    assert (scores > fitted.residuals_).mean() > 0.7
    assert np.median(scores) < 1.5 * np.median(fitted.residuals_)


def test_groups_do_not_vouch_for_themselves() -> None:
    X, odd = add_outliers(data(200, 10, seed=4), 0.3, random_state=0, kind="grouped")
    fitted = L21SemiNMF(6, random_state=0).fit(X)
    assert roc_auc_score(odd, fitted.residuals_) < 0.5
    scores = fitted.outlier_scores(X)
    assert roc_auc_score(odd, scores) > 0.99
    assert not fitted._outlier_reference.trusted[odd].any()
    beyond = scores > outlier_threshold(scores)
    assert beyond[odd].all()
    assert beyond[~odd].mean() < 0.02


@pytest.mark.parametrize("name", ["SemiNMF", "L21SemiNMF"])
def test_a_group_that_has_a_part_leaves_nothing_in_the_codes_of_others(name: str) -> None:
    """Samples with a little of that part would else keep its direction."""
    X = np.random.default_rng(0).normal(size=(400, 20))
    X, odd = add_outliers(X, 0.1, 5.0, random_state=0, kind="grouped")
    fitted = model(name, 2, graph=False).fit(X)
    assert roc_auc_score(odd, fitted.outlier_scores(X)) > 0.99


@pytest.mark.parametrize("graph", [True, False])
def test_new_samples(graph: bool) -> None:
    X = cone(260, 15, 3)
    fitted = model("L21SemiNMF", 3, graph).fit(X[:200])
    new, odd = add_outliers(X[200:], 0.2, random_state=0)
    scores = fitted.outlier_scores(new)
    assert scores[odd].min() > scores[~odd].max()
    if not graph:
        expected = [nnls(fitted.components_.T, x)[1] for x in new]
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-9)


def test_training_samples_are_known_one_by_one() -> None:
    X = data(120, 8)
    fitted = L21SemiNMF(4, random_state=0).fit(X)
    scores = fitted.outlier_scores(X)
    order = np.random.default_rng(0).permutation(120)[:50]
    np.testing.assert_array_equal(fitted.outlier_scores(X[order]), scores[order])
    mixed = fitted.outlier_scores(np.vstack([X[:3] + 0.1, X[:3]]))
    np.testing.assert_array_equal(mixed[3:], scores[:3])
    assert (mixed[:3] != scores[:3]).all()


@pytest.mark.parametrize("name", ["SemiNMF", "L21SemiNMF"])
def test_copies_score_alike(name: str) -> None:
    """A copy of an outlier does not vouch for it, whatever folds they would fall in."""
    X, odd = add_outliers(data(90, 10), 0.05, random_state=0)
    doubled = np.vstack([X, X[odd]])
    fitted = CLASSES[name](4, random_state=0, max_iter=500).fit(doubled)
    scores = fitted.outlier_scores(doubled)
    np.testing.assert_array_equal(scores[90:], scores[:90][odd])
    assert scores[:90][odd].min() > scores[:90][~odd].max()


@pytest.mark.parametrize("name", ["SemiNMF", "L21SemiNMF"])
def test_sparse_and_single_precision(name: str) -> None:
    rng = np.random.default_rng(0)
    X = data(80, 12) * (rng.random((80, 12)) < 0.6)
    dense = CLASSES[name](3, random_state=0, tol=1e-7, max_iter=3000).fit(X)
    sparse = CLASSES[name](3, random_state=0, tol=1e-7, max_iter=3000).fit(sp.csr_array(X))
    scores = dense.outlier_scores(X)
    np.testing.assert_allclose(sparse.outlier_scores(sp.csr_array(X)), scores, rtol=1e-2)
    if name == "L21SemiNMF":
        np.testing.assert_allclose(dense.outlier_scores(sp.csr_array(X)), scores, rtol=1e-12)
    single = CLASSES[name](3, random_state=0).fit(X.astype(np.float32))
    found = single.outlier_scores(X.astype(np.float32))
    assert np.corrcoef(found, scores)[0, 1] > 0.95


def test_more_features_than_samples() -> None:
    X, odd = add_outliers(cone(60, 400, 3), 0.1, random_state=0)
    fitted = L21SemiNMF(4, strength=0.0, random_state=0).fit(X)
    scores = fitted.outlier_scores(X)
    assert scores[odd].min() > scores[~odd].max()


def test_given_graphs_transformers_and_other_losses() -> None:
    from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

    X, odd = add_outliers(data(100, 10), 0.1, random_state=0)
    graph = kneighbors_graph(X, 5)
    graph = graph.maximum(graph.T)
    for fitted in (
        L21SemiNMF(4, graph=graph, random_state=0).fit(X),
        L21SemiNMF(4, graph=KNeighborsTransformer(n_neighbors=4), random_state=0).fit(X),
        RobustSemiNMF(4, loss="cauchy", random_state=0).fit(X),
        L21SemiNMF(4, l1=1e-3, random_state=0).fit(X),
        L21SemiNMF(4, solver="mu", random_state=0, max_iter=30, tol=1e-2).fit(X),
    ):
        scores = fitted.outlier_scores(X)
        assert scores[odd].min() > scores[~odd].max()


def test_after_saving(tmp_path: Any) -> None:
    X = data(80, 9)
    for fitted in (L21SemiNMF(3, random_state=0).fit(X), SemiNMF(3, random_state=0).fit(X)):
        fitted.save(tmp_path / "model.seminmf")
        again = seminmf.load(tmp_path / "model.seminmf")
        np.testing.assert_allclose(again.outlier_scores(X), fitted.outlier_scores(X), rtol=1e-12)


def test_clusters_and_standardized_models() -> None:
    X = data(80, 9) * np.arange(1, 10)
    clusters = FactorKMeans(L21SemiNMF(3), random_state=0).fit(X)
    np.testing.assert_array_equal(
        clusters.outlier_scores(X), clusters.factorizer_.outlier_scores(X)
    )
    wrapped = seminmf.Standardized(FactorKMeans(L21SemiNMF(3), random_state=0)).fit(X)
    scores = wrapped.outlier_scores(X)
    np.testing.assert_array_equal(scores, wrapped.model_.outlier_scores(wrapped.standardize(X)))
    with pytest.raises(AttributeError, match="PCA has no outlier scores"):
        FactorKMeans(PCA(2), n_clusters=2, random_state=0).fit(X).outlier_scores(X)


def test_a_fit_forgets_the_scores_of_the_one_before() -> None:
    fitted = L21SemiNMF(3, random_state=0)
    first = fitted.fit(data(60, 5)).outlier_scores(data(60, 5))
    other = data(60, 5, seed=9)
    assert (fitted.fit(other).outlier_scores(other) != first).all()


def test_tiny_sets() -> None:
    X = data(3, 4)
    for fitted in (SemiNMF(2, random_state=0), L21SemiNMF(2, n_neighbors=2, random_state=0)):
        assert np.isfinite(fitted.fit(X).outlier_scores(X)).all()
    same = np.outer(np.ones(6), [1.0, 2.0, 3.0])
    assert np.isfinite(SemiNMF(1, random_state=0).fit(same).outlier_scores(same)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_codes_that_are_rounding_make_no_parts(dtype: Any, nonnegative: bool) -> None:
    """A part that others use by 1e-19 was 1e19 times as long without its only user, and its square
    was too large for single precision.
    """
    X = np.asarray(np.random.default_rng(0).random((7, 30)), dtype)
    rounding = np.tri(7, 7, -1, dtype=dtype)
    told = []
    for share in (0.0, 1e-20):
        codes = np.eye(7, dtype=dtype) + rounding * dtype(share)
        fitted = Fitted(np.ascontiguousarray(X.T), codes, np.zeros(7, dtype), Norm(), nonnegative)
        told.append(held_out(X, fitted, np.ones(7, np.bool_)))
    np.testing.assert_allclose(told[1][1].lengths, told[0][1].lengths, rtol=1e-5)
    np.testing.assert_allclose(told[1][0], told[0][0], rtol=1e-5)


# From where on


def test_shortest_half() -> None:
    values = np.array([5.0, 1.0, 1.5, 2.0, 9.0])
    middle, deviation = shortest_half(values)
    assert (middle, deviation) == (1.5, pytest.approx(0.5 / 0.6745))
    rng = np.random.default_rng(0)
    normal = rng.normal(3, 2, 100_000)
    assert shortest_half(normal) == pytest.approx((3, 2), abs=0.2)
    # Two in five far above hardly move it.
    mixed = np.append(normal[:6000], rng.normal(100, 20, 4000))
    middle, deviation = shortest_half(mixed)
    assert abs(middle - 3) < 1
    assert deviation < 5


def test_the_threshold_finds_many_outliers_and_few_others() -> None:
    rng = np.random.default_rng(0)
    ordinary = rng.chisquare(10, 600) ** 0.5
    assert (ordinary > outlier_threshold(ordinary)).mean() <= 0.01
    for count in (1, 60, 400):
        scores = np.append(ordinary, rng.uniform(30, 60, count))
        beyond = scores > outlier_threshold(scores)
        assert beyond[600:].all()
        assert beyond[:600].mean() <= 0.02
    assert outlier_threshold(np.append(np.zeros(60), [1.0, 2.0])) == 2.0
    assert outlier_threshold([3.0]) == 3.0
    assert outlier_threshold(np.zeros(5)) == 0.0
    # Who is foretold exactly says nothing of how far others are off.
    some = outlier_threshold(ordinary[:300])
    assert outlier_threshold(np.append(ordinary[:300], np.zeros(290))) == some


DISTRIBUTIONS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "Laplace": lambda rng, shape: rng.laplace(size=shape),
    "of many sizes": lambda rng, shape: (
        rng.normal(size=shape) * np.exp(0.5 * rng.normal(size=(*shape[:2], 1)))
    ),
}


@pytest.mark.parametrize("errors", DISTRIBUTIONS)
@pytest.mark.parametrize("count", [10, 30, 100, 1000])
@pytest.mark.parametrize("features", [1, 3, 30])
def test_false_alarms(errors: str, count: int, features: int) -> None:
    """Less than one in a hundred, and of few samples little more than two."""
    rng = np.random.default_rng(count)
    drawn = DISTRIBUTIONS[errors](rng, (3000 // count + 20, count, features))
    lengths = np.linalg.norm(drawn, axis=2)
    beyond = [(scores > outlier_threshold(scores)).mean() for scores in lengths]
    assert np.mean(beyond) < (0.01 if count >= 100 else 0.025)


def test_outliers_just_outside_are_counted() -> None:
    """They need not lie as far from the others as these are wide."""
    rng = np.random.default_rng(0)
    scores = np.append(np.exp(rng.normal(0, 0.18, 900)), np.exp(rng.normal(0.6, 0.05, 45)))
    beyond = scores > outlier_threshold(scores)
    assert beyond[900:].mean() > 0.7
    assert beyond[:900].sum() <= beyond.sum() / 5


def test_outliers_everywhere_between_near_and_far_do_not_join_the_bulk() -> None:
    rng = np.random.default_rng(0)
    scores = np.append(np.exp(rng.normal(0, 0.3, 600)), rng.uniform(2, 12, 200))
    beyond = scores > outlier_threshold(scores)
    assert beyond[600:].mean() > 0.7
    assert beyond[:600].mean() < 0.01


@pytest.mark.parametrize("scores", [[], [[1.0]], [1.0, np.nan], 3.0, ["high"], [1j]])
def test_what_are_no_scores(scores: Any) -> None:
    with pytest.raises(ValueError, match="scores must be finite numbers"):
        outlier_threshold(scores)


# Making them


def test_kinds_of_corruption() -> None:
    X = data(50, 6)
    typical = np.median(np.linalg.norm(X, axis=1))
    found = {kind: add_outliers(X, 0.2, 4.0, random_state=0, kind=kind) for kind in KINDS}
    for spoilt, odd in found.values():
        assert odd.sum() == 10
        np.testing.assert_array_equal(spoilt[~odd], X[~odd])
        np.testing.assert_array_equal(odd, found["gross"][1])
    odd = found["gross"][1]
    moved = found["gross"][0][odd] - X[odd]
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 4 * typical)
    np.testing.assert_allclose(found["scaled"][0][odd], 4 * X[odd])
    np.testing.assert_array_equal(np.sort(found["swapped"][0][odd]), np.sort(X[odd]))
    assert not np.array_equal(found["swapped"][0][odd], X[odd])
    noise = np.linalg.norm(found["noise"][0][odd] - X[odd], axis=1)
    assert 0.5 * typical < noise.mean() < 1.5 * typical
    place = found["grouped"][0][odd] - 0.1 * X[odd]
    np.testing.assert_allclose(np.linalg.norm(place, axis=1), 4 * typical)
    assert np.ptp(place, axis=0).max() < 1e-12
    with pytest.raises(ValueError, match="kind='other' must be one of 'gross', 'scaled'"):
        add_outliers(X, 0.1, kind="other")
