"""The neighbour graph: exact, given, by a transformer; and its form for the solver."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from weakref import ref

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

import reference
from helpers import GRAPH_MODELS, converging_or_not, data, make, start, value
from seminmf.data import DESCEND, Engine, Rule
from seminmf.graph.index import NeighbourIndex
from seminmf.graph.neighbours import given_graph, knn_graph, symmetric, transformer_links
from seminmf.graph.prepared import NeighbourGraph
from seminmf.problem.losses import Norm, SquaredNorm
from seminmf.problem.objective import Floors, Objective

models = pytest.mark.parametrize("model", GRAPH_MODELS)


def random_graph(n: int, density: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.1, 2, (n, n)) * (rng.random((n, n)) < density), 1)
    return W + W.T


# --- which samples are neighbours -----------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(2, 30), st.integers(1, 6), st.integers(1, 9), st.integers(0, 10**6))
def test_knn_equals_brute_force(n: int, m: int, p: int, seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(n, m))
    p = min(p, n - 1)
    W = knn_graph(X, p)
    np.testing.assert_array_equal(W.toarray(), reference.neighbour_graph(X, p))
    assert W.has_sorted_indices
    assert (W.data == 1).all()


def test_knn_of_sparse_data_and_of_many_features() -> None:
    X = data(40, 90)
    X[np.abs(X) < 1] = 0
    expected = reference.neighbour_graph(X, 5)
    for form in (X, sp.csr_array(X), sp.csr_matrix(X), np.asfortranarray(X)):
        np.testing.assert_array_equal(knn_graph(form, 5).toarray(), expected)


def test_knn_among_equal_samples() -> None:
    """A sample's copies are its nearest neighbours, the sample itself never is."""
    X = np.repeat(data(5, 3), 4, axis=0)
    W = knn_graph(X, 3).toarray()
    assert (W.diagonal() == 0).all()
    np.testing.assert_array_equal(W, np.kron(np.eye(5), np.ones((4, 4))) - np.eye(20))


@models
def test_the_model_uses_the_exact_graph(model: str) -> None:
    X = data(30, 5)
    for p in (1, 4, 29):
        fitted = make(model, 2, graph="knn", n_neighbors=p, tol=0, max_iter=4).fit(X)
        W = reference.neighbour_graph(X, p)
        assert fitted.objective_ == pytest.approx(value(fitted, X, W), rel=1e-9)


# --- a given matrix -------------------------------------------------------------------------------


@models
def test_a_given_matrix_is_used(model: str) -> None:
    X = data(20, 5)
    W = random_graph(20, 0.2, 0)
    for container in (sp.csr_array, sp.csr_matrix, sp.coo_array, sp.csc_matrix):
        fitted = make(model, 2, graph=container(W), tol=0, max_iter=4).fit(X)
        assert fitted.objective_ == pytest.approx(value(fitted, X, W), rel=1e-9)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sp.csr_array(np.ones((3, 4))), r"graph has shape \(3, 4\).*5 samples.*\(5, 5\)"),
        (sp.csr_array(np.ones((4, 4))), r"graph has shape \(4, 4\).*5 samples"),
        (sp.csr_array(-np.eye(5)[::-1]), r"graph has negative weights \(smallest -1\)"),
        (sp.csr_array(np.full((5, 5), np.nan)), "graph contains NaN or infinity"),
        (sp.csr_array(np.full((5, 5), np.inf)), "graph contains NaN or infinity"),
    ],
)
def test_bad_matrices_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        given_graph(matrix, 5)
    with pytest.raises(ValueError, match=message):
        make("L21SemiNMF", 2, graph=matrix, n_neighbors=2).fit(data(5, 3))


def test_an_asymmetric_matrix_is_symmetrised_with_a_warning() -> None:
    W = sp.csr_array(np.array([[0, 2.0, 0], [1.0, 0, 0], [0, 3.0, 0]]))
    with pytest.warns(UserWarning, match=r"graph is not symmetric.*max\(graph, graph\.T\)"):
        found = given_graph(W, 3)
    np.testing.assert_array_equal(found.toarray(), [[0, 2, 0], [2, 0, 3], [0, 3, 0]])
    with pytest.warns(UserWarning, match="graph is not symmetric"):
        make("L21SemiNMF", 2, graph=W, n_neighbors=1, tol=0, max_iter=2).fit(data(3, 4))


@pytest.mark.filterwarnings("error")
def test_the_last_digits_of_weights_do_not_matter_to_symmetry() -> None:
    W = sp.csr_array(np.array([[0, 1 / 3, 0], [1 / 3 + 1e-16, 0, 5], [0, 5, 0]]))
    assert W[0, 1] != W[1, 0]
    np.testing.assert_array_equal(given_graph(W, 3).toarray(), W.toarray())


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_one_entry_that_differs_is_noticed(index: Any) -> None:
    """Wherever in its row it is: missing, too much, or of another weight."""

    def stored(dense: Any) -> sp.csr_array:
        W = sp.csr_array(dense)
        W.indices, W.indptr = W.indices.astype(index), W.indptr.astype(index)
        return W

    W = stored(knn_graph(data(12, 2), 3).toarray())
    assert given_graph(W, 12) is W
    for i, j in np.argwhere(~np.eye(12, dtype=bool)):
        for weight in {0, 1, 1 + 1e-9} - {W[i, j]}:
            other = W.toarray()
            other[i, j] = weight
            with pytest.warns(UserWarning, match="graph is not symmetric"):
                found = given_graph(stored(other), 12)
            np.testing.assert_array_equal(found.toarray(), np.maximum(other, other.T))


@pytest.mark.filterwarnings("error")
def test_columns_in_any_order() -> None:
    """They are sorted in a copy, with each weight at its place."""
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((9, 9)) * (rng.random((9, 9)) < 0.5), 1)
    W = sp.csr_array(dense + dense.T)
    for i in range(9):
        row = slice(*W.indptr[i : i + 2])
        turned = rng.permutation(row.stop - row.start)
        W.indices[row], W.data[row] = W.indices[row][turned], W.data[row][turned]
    before = W.data.copy(), W.indices.copy(), W.indptr.copy()
    found = given_graph(W, 9)
    np.testing.assert_array_equal(found.toarray(), dense + dense.T)
    assert (
        np.diff(found.indices)[np.diff(np.repeat(np.arange(9), np.diff(W.indptr))) == 0] > 0
    ).all()
    for kept, now in zip(before, (W.data, W.indices, W.indptr), strict=True):
        np.testing.assert_array_equal(kept, now)


def test_nobody_keeps_a_graph_that_is_no_longer_needed() -> None:
    """Not even until cycles of references are looked for: it may be large."""
    X = data(20, 3)
    graph = NeighbourGraph.prepare(knn_graph(X, 3), np.square(X).sum(axis=1), X.dtype)
    assert graph.renumbered.structure is graph.structure
    kept = ref(graph)
    del graph
    assert kept() is None


@pytest.mark.parametrize("change", ["diagonal", "zero", "asymmetry", "nothing"])
@pytest.mark.filterwarnings("ignore:graph is not symmetric")
def test_a_given_matrix_is_left_alone(change: str) -> None:
    dense = np.array([[0, 2.0, 0], [2.0, 0, 1], [0, 1, 0]])
    dense[0, 0], dense[2, 0] = change == "diagonal", change == "asymmetry"
    W = sp.csr_array(dense)
    if change == "zero":
        W.data[W.data == 1] = 0
    before = W.data.copy(), W.indices.copy(), W.indptr.copy()
    make("L21SemiNMF", 2, graph=W, n_neighbors=1, tol=0, max_iter=2).fit(data(3, 4))
    for kept, now in zip(before, (W.data, W.indices, W.indptr), strict=True):
        np.testing.assert_array_equal(kept, now)


def test_diagonal_and_explicit_zeros_are_dropped() -> None:
    W = sp.csr_array(
        (np.array([5.0, 0, 1, 1, 0]), (np.array([0, 0, 0, 2, 2]), np.array([0, 1, 2, 0, 1]))),
        shape=(3, 3),
    )
    found = given_graph(W, 3)
    np.testing.assert_array_equal(found.toarray(), [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    assert found.nnz == 2


def test_repeated_entries_are_summed_and_the_matrix_left_alone() -> None:
    W = sp.csr_array((np.ones(4), np.array([1, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    before = W.data.copy(), W.indices.copy(), W.indptr.copy()
    np.testing.assert_array_equal(given_graph(W, 2).toarray(), [[0, 2], [2, 0]])
    for kept, now in zip(before, (W.data, W.indices, W.indptr), strict=True):
        np.testing.assert_array_equal(kept, now)


@models
def test_a_matrix_decides_alone_who_is_a_neighbour(model: str) -> None:
    """`n_neighbors` is about the graph "knn" and new samples: it cannot forbid a given graph."""
    X = data(5, 3)
    W = sp.csr_array(np.ones((5, 5)) - np.eye(5))
    fitted = make(model, 2, graph=W, tol=0, max_iter=3).fit(X)
    assert fitted.objective_ == pytest.approx(value(fitted, X, W), rel=1e-9)


@models
def test_a_graph_without_edges(model: str) -> None:
    fitted = make(model, 2, graph=sp.csr_array((20, 20)), tol=0, max_iter=10).fit(data(20, 5))
    assert np.isfinite(fitted.objective_)
    assert (np.diff(fitted.objective_history_) <= 1e-12 * fitted.objective_).all()


# --- transformers ---------------------------------------------------------------------------------


class Chain(TransformerMixin, BaseEstimator):
    """A neighbours transformer of our own: each sample is tied to the next one."""

    def fit(self, X: Any, y: Any = None) -> Any:
        self.n_samples_fit_ = X.shape[0]
        return self

    def transform(self, X: Any) -> Any:
        n = X.shape[0]
        return sp.csr_matrix(
            (np.full(n, 0.5), (np.arange(n), (np.arange(n) + 1) % self.n_samples_fit_)),
            shape=(n, self.n_samples_fit_),
        )


class Crooked(Chain):
    def transform(self, X: Any) -> Any:
        return sp.csr_matrix((X.shape[0], 3))


class Pointing(Chain):
    """To a sample that is not there."""

    def __init__(self, column: int, late: bool) -> None:
        self.column, self.late = column, late

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        found = self.fit(X).transform(X)
        return super().transform(X) if self.late else found

    def transform(self, X: Any) -> Any:
        found = super().transform(X)
        found.indices[3] = self.column
        return found


@models
def test_a_scikit_learn_transformer(model: str) -> None:
    X = data(30, 5)
    plain = make(model, 2, graph="knn", n_neighbors=4, tol=0, max_iter=10).fit(X)
    for transformer in (
        KNeighborsTransformer(n_neighbors=4, mode="distance"),
        # Here scikit-learn counts the sample itself as one of the neighbours.
        KNeighborsTransformer(n_neighbors=5, mode="connectivity"),
    ):
        fitted = make(model, 2, graph=transformer, tol=0, max_iter=10).fit(X)
        np.testing.assert_allclose(fitted.codes_, plain.codes_)
        assert not hasattr(transformer, "n_samples_fit_")


def test_new_samples_have_the_nearest_of_what_a_transformer_finds() -> None:
    X, new = data(30, 5), data(8, 5, seed=1)
    index, _ = NeighbourIndex.by_transformer(RadiusNeighborsTransformer(radius=9.0), X)
    index.n_neighbors = 4
    distances = np.linalg.norm(new[:, None] - X, axis=2)
    expected = distances <= np.sort(distances, axis=1)[:, 3:4]
    np.testing.assert_array_equal(index.query(new).toarray(), expected)


def test_other_transformers() -> None:
    X = data(30, 5)
    matrix, _, _ = transformer_links(RadiusNeighborsTransformer(radius=2.5), X)
    near = reference.distances(X) <= 2.5
    np.testing.assert_array_equal(matrix.toarray(), near & ~np.eye(30, dtype=bool))
    chain, fitted, _ = transformer_links(Chain(), X)
    ring = np.roll(np.eye(30), 1, axis=1)
    np.testing.assert_array_equal(symmetric(chain).toarray(), ring + ring.T)
    assert fitted.n_samples_fit_ == 30


@models
def test_a_transformer_of_our_own(model: str) -> None:
    X = data(30, 5)
    ring = np.roll(np.eye(30), 1, axis=1)
    fitted = make(model, 2, graph=Chain(), tol=0, max_iter=5).fit(X)
    assert fitted.objective_ == pytest.approx(value(fitted, X, ring + ring.T), rel=1e-9)
    assert fitted.transform(data(4, 5, 3)).shape == (4, 2)
    with pytest.raises(ValueError, match=r"graph: the transformer Crooked.*shape \(30, 3\)"):
        make(model, 2, graph=Crooked()).fit(X)


@pytest.mark.parametrize("column", [-1, 30, 10**6])
@pytest.mark.parametrize("late", [False, True])
def test_neighbours_that_are_not_there(column: int, late: bool) -> None:
    """Compiled code read and wrote there, which ended the interpreter."""
    model = make("L21SemiNMF", 2, graph=Pointing(column, late), tol=0, max_iter=3, random_state=0)
    with pytest.raises(
        ValueError, match=r"the transformer Pointing\(.* is a damaged sparse matrix"
    ):
        model.fit(data(30, 5)).transform(data(8, 5, 1))


def test_a_transformer_that_returns_nothing_for_new_samples() -> None:
    class Silent(Chain):
        def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
            return super().transform(self.fit(X) and X)

        def transform(self, X: Any) -> Any:
            return None

    model = make("L21SemiNMF", 2, graph=Silent(), tol=0, max_iter=3, random_state=0).fit(
        data(30, 5)
    )
    with pytest.raises(ValueError, match=r"Silent\(\) returned a NoneType for 8 samples"):
        model.transform(data(8, 5, 1))


@models
def test_a_transformer_decides_alone_who_is_a_neighbour(model: str) -> None:
    fitted = make(model, 2, graph=KNeighborsTransformer(n_neighbors=2), tol=0, max_iter=3)
    assert np.isfinite(fitted.fit(data(5, 3)).objective_)


# --- equal samples, equal codes -------------------------------------------------------------------


@models
@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_equal_samples_are_no_explosion(model: str, solver: str) -> None:
    X = np.vstack([data(20, 4), np.repeat(data(2, 4, 1), 12, axis=0), np.zeros((8, 4))])
    fitted = make(model, 3, solver=solver, tol=0, max_iter=100, random_state=0).fit(X)
    for array in (fitted.codes_, fitted.components_, fitted.objective_history_):
        assert np.isfinite(array).all()
    assert (np.diff(fitted.objective_history_) <= 1e-12 * fitted.objective_history_[:-1]).all()
    assert fitted.codes_.max() < 1e3
    if solver == "cd":
        np.testing.assert_array_equal(fitted.codes_[20:32], np.tile(fitted.codes_[20], (12, 1)))
        np.testing.assert_allclose(fitted.residuals_[20:32], fitted.residuals_[20])


@models
@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_a_start_with_equal_codes(model: str, solver: str) -> None:
    X = data(30, 5)
    U0, V0 = start(30, 5, 3)
    V0[:] = V0[0]
    fitted = make(model, 3, solver=solver, init=(U0, V0), tol=0, max_iter=50).fit(X)
    assert np.isfinite(fitted.objective_history_).all()
    assert (np.diff(fitted.objective_history_) <= 1e-12 * fitted.objective_history_[:-1]).all()


@models
def test_equal_codes_at_the_start_are_no_trap(model: str) -> None:
    """The k-means start gives neighbours the same code; the run must be able to part them."""
    X = load_iris().data
    with converging_or_not():
        trapped = make(model, 2, init="kmeans", random_state=0).fit(X).objective_
        best = make(model, 2, init="exemplar", random_state=0, max_iter=1000).fit(X).objective_
    assert trapped < 1.3 * best


@models
def test_all_samples_equal(model: str) -> None:
    X = np.tile([1.0, 2.0, 3.0], (10, 1))
    with converging_or_not():
        fitted = make(model, 1).fit(X)
    assert np.isfinite(fitted.objective_)
    np.testing.assert_allclose(fitted.codes_, fitted.codes_[0, 0])


@models
def test_fewer_distinct_samples_than_components(model: str) -> None:
    """Ten samples, three of them distinct: four components are as good as with SemiNMF."""
    X = np.repeat(data(3, 6), 5, axis=0)[:10]
    with converging_or_not():
        fitted = make(model, 4).fit(X)
    assert fitted.codes_.shape == (10, 4)


# --- the form for the solver ----------------------------------------------------------------------


def prepared(W: Any) -> NeighbourGraph:
    return NeighbourGraph.prepare(sp.csr_array(W), np.arange(len(W), dtype=float), np.float64)


@settings(max_examples=30)
@given(st.integers(2, 40), st.floats(0, 1), st.integers(0, 10**6))
def test_colours_are_proper_and_each_edge_is_listed_once(n: int, density: float, seed: int) -> None:
    W = random_graph(n, density, seed)
    graph = prepared(W)
    assert sorted(graph.order) == list(range(n))
    starts = graph.colour_starts
    assert (starts[0], starts[-1]) == (0, n)
    for first, stop in pairwise(starts):
        members = graph.order[first:stop]
        assert (W[np.ix_(members, members)] == 0).all()
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    one, other, entry, mirror = graph.pairs.T
    np.testing.assert_array_equal(np.stack([one, other]), np.nonzero(np.triu(W)))
    np.testing.assert_array_equal([rows[entry], graph.indices[entry]], [one, other])
    np.testing.assert_array_equal([rows[mirror], graph.indices[mirror]], [other, one])


def test_colours_do_not_depend_on_the_order_of_samples() -> None:
    W = random_graph(25, 0.2, 0)
    rng = np.random.default_rng(1)
    key, mixed = rng.random(25), rng.permutation(25)
    plain = NeighbourGraph.prepare(sp.csr_array(W), key, np.float64)
    other = NeighbourGraph.prepare(sp.csr_array(W[np.ix_(mixed, mixed)]), key[mixed], np.float64)
    np.testing.assert_array_equal(other.colour_starts, plain.colour_starts)
    for first, stop in pairwise(plain.colour_starts):
        assert set(mixed[other.order[first:stop]]) == set(plain.order[first:stop])


@pytest.mark.parametrize("k", [3, 4, 11])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("density", [0.3, 0.0])
def test_penalty_and_edge_weights(squared: bool, k: int, density: float) -> None:
    """Many edges, and two, which are fewer than a vector has lanes."""
    n = 30
    W = random_graph(n, density, 2)
    codes = np.random.default_rng(0).random((n, k))
    codes[4] = codes[5]
    W[4, 5] = W[5, 4] = 1.5
    W[6, 7] = W[7, 6] = 0.5
    graph = prepared(W)
    measure = SquaredNorm() if squared else Norm()
    objective = Objective(Norm(), measure, alpha=1.0, floors=Floors(1e-10, 1e-3, 1e-10))
    # A pass over the rows finds both; X and the basis are of no concern to them.
    with Engine(codes, k) as engine:
        terms = objective.terms(codes.dtype, 0.0)
        passed = engine.begin(terms, Rule(DESCEND, 1), graph, None, codes.copy())
        found = passed.measure(np.eye(k), np.eye(k), 1.0, 0.0).graph_penalty
        edges = passed._current.edges
    spread = reference.distances(codes)
    upper = np.triu(W, 1)
    assert found == pytest.approx((upper * spread ** (2 if squared else 1)).sum())
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    base = W[rows, graph.indices]
    # Half-quadratic weights: those of the paper, times one half.
    expected = base if squared else 0.5 * base / np.maximum(spread[rows, graph.indices], 1e-3)
    np.testing.assert_allclose(edges, expected)
