"""Graphs with more samples than fit into the cache: in chunks, and stored in another order."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import reference
import seminmf.solve.factorize
from helpers import GRAPH_MODELS, data, difference, make, problem, start
from seminmf import L21SemiNMF
from seminmf.data import DESCEND, Engine, Rule, cutting
from seminmf.graph.prepared import NeighbourGraph
from seminmf.problem import stationarity
from seminmf.problem.losses import Norm
from seminmf.problem.objective import Objective
from seminmf.solve.descent import Descent

N, M, K = 600, 12, 3


def chain(n: int = N) -> Any:
    """Each sample is tied to the two after it: neighbours are near."""
    ties = sp.eye_array(n, k=1, format="csr") + sp.eye_array(n, k=2, format="csr")
    return sp.csr_array(ties + ties.T)


def shuffled(matrix: Any, seed: int = 0) -> Any:
    mixed = np.random.default_rng(seed).permutation(matrix.shape[0])
    return sp.csr_array(matrix[mixed][:, mixed])


def everywhere(n: int = N) -> Any:
    """Neighbours at random, which no order brings together."""
    rng = np.random.default_rng(5)
    ties = sp.coo_array((np.ones(4 * n), rng.integers(0, n, (2, 4 * n))), shape=(n, n))
    matrix = sp.csr_array(ties + ties.T)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    matrix.data[:] = 1
    return matrix


GRAPHS = {"near": chain(), "shuffled": shuffled(chain()), "everywhere": everywhere()}


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of some 128 samples."""
    monkeypatch.setattr(cutting, "_OWN_BLOCK", (1, 8))
    assert len(Engine(np.zeros((N, M)), K).chunk_bounds) == 6


def prepared(matrix: Any) -> NeighbourGraph:
    chunks = Engine(np.zeros((N, M)), K).chunk_bounds
    return NeighbourGraph.prepare(matrix, np.arange(N, dtype=float), np.float64, chunks)


@pytest.mark.parametrize(
    ("shape", "k", "count"),
    [
        ((5_000, 21), 10, 1),
        ((2_007, 256), 16, 1),
        ((200_000, 100), 20, 38),
        ((20_000, 600), 5, 1),
        ((20_000, 500), 90, 1),
    ],
)
def test_only_many_samples_of_few_features_are_cut(
    shape: tuple[int, int], k: int, count: int
) -> None:
    chunks = cutting.chunk_bounds(*shape, k)
    assert len(chunks) == count + 1
    assert (chunks[0], chunks[-1]) == (0, shape[0])
    assert np.ptp(np.diff(chunks)) <= 1


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("kind", GRAPHS)
def test_colours_of_chunks(kind: str) -> None:
    W = GRAPHS[kind]
    graph = prepared(W)
    assert (graph.numbering is not None) == (kind == "shuffled")
    numbering = np.arange(N) if graph.numbering is None else graph.numbering
    assert sorted(numbering) == sorted(graph.order) == list(range(N))
    dense = W.toarray()
    for chunk, (first, stop) in enumerate(pairwise(graph.chunks)):
        groups = graph.colour_starts[graph.groups[chunk] : graph.groups[chunk + 1] + 1]
        assert (groups[0], groups[-1]) == (first, stop)
        assert set(graph.order[first:stop]) == set(numbering[first:stop])
        for low, high in pairwise(groups):
            members = graph.order[low:high]
            assert len(members) > 0
            assert (dense[np.ix_(members, members)] == 0).all()


@pytest.mark.usefixtures("small_chunks")
def test_renumbered_graph_is_the_same_graph() -> None:
    W = GRAPHS["shuffled"].copy()
    W.data = np.arange(1.0, W.nnz + 1)
    W = sp.csr_array(W + W.T)
    graph = prepared(W)
    other = graph.renumbered
    assert graph.numbering is not None
    assert other.numbering is None
    assert other.indices.dtype == graph.indices.dtype
    matrix = sp.csr_array((other.base, other.indices, other.indptr), shape=(N, N))
    wanted = W[graph.numbering][:, graph.numbering]
    np.testing.assert_array_equal(matrix.toarray(), wanted.toarray())
    np.testing.assert_array_equal(graph.numbering[other.order], graph.order)
    one, two, entry, mirror = other.pairs.T
    np.testing.assert_array_equal(np.stack([one, two]), np.nonzero(np.triu(matrix.toarray())))
    np.testing.assert_array_equal(other.base[entry], other.base[mirror])
    assert prepared(chain()).renumbered.numbering is None


def run(model: str, X: Any, kind: str, **parameters: Any) -> Any:
    weights = parameters.pop("weights", None)
    parameters = {"tol": 0, "max_iter": 10, "init": start(N, M, K), **parameters}
    return make(model, K, graph=GRAPHS[kind], **parameters).fit(X, sample_weight=weights)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_same_path_however_samples_are_stored(
    model: str, kind: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As rows, as CSR or in blocks, and in whatever order the state of the samples is kept."""
    X = data(N, M)
    weights = np.random.default_rng(2).uniform(0.5, 2, N) if weighted else None
    dense = run(model, X, kind, weights=weights)
    sparse = run(model, sp.csr_array(X), kind, weights=weights)
    monkeypatch.setattr(seminmf.solve.factorize, "Engine", functools.partial(Engine, block_rows=70))
    blocked = run(model, X, kind, weights=weights)
    for other in (sparse, blocked):
        np.testing.assert_allclose(
            other.objective_history_, dense.objective_history_, rtol=1e-9, atol=0
        )
        assert difference(other.codes_, dense.codes_) < 1e-7
        assert difference(other.residuals_, dense.residuals_) < 1e-7
    if not weighted:
        W = GRAPHS[kind]
        assert dense.objective_ == pytest.approx(reference.objective(
            problem(dense, X, W), dense.components_.T, dense.codes_
        ), rel=1e-10)  # fmt: skip


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("l1", [0.0, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize(("dtype", "precision"), [(np.float64, 1e-9), (np.float32, 1e-2)])
def test_distance_from_optimality_comes_from_what_a_run_leaves(
    dtype: Any, precision: float, kind: str, weighted: bool, l1: float, solver: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """It is that of a visit to X, in whatever order the state of the samples is kept."""
    X = data(N, M).astype(dtype)
    weights = np.random.default_rng(2).uniform(0.5, 2, N) if weighted else None
    visits: list[Any] = []
    visit = stationarity._sums
    monkeypatch.setattr(stationarity, "_sums", lambda *a: visits.append(a) or visit(*a))
    found = run("L21SemiNMF", X, kind, weights=weights, l1=l1, solver=solver)
    assert not visits
    monkeypatch.setattr(Descent, "kkt_residual", lambda self: np.nan)
    expected = run("L21SemiNMF", X, kind, weights=weights, l1=l1, solver=solver)
    assert visits
    assert found.kkt_residual_ == pytest.approx(expected.kkt_residual_, rel=precision)


def test_a_step_that_is_not_accepted_leaves_nothing() -> None:
    """What its products with X say is of another basis than the present one."""
    basis, codes = start(N, M, K)
    omega = basis.T @ basis
    objective, none = Objective(Norm(), Norm(), 0.1, 0.1), (np.zeros((0, 1)), np.zeros(0))
    known = []
    with Engine(data(N, M), K) as engine:
        terms = objective.terms(np.dtype(np.float64), 0.0)
        rows = engine.begin(terms, Rule(DESCEND, 1), prepared(GRAPHS["near"]), None, codes)
        step = functools.partial(rows.solve, 0.1, 0.0, 0.5, 0.1, 1e-10)
        for action in (
            lambda: rows.measure(basis, omega, 0.1, 0.0), step, rows.restart, step,
            lambda: rows.accept(0.5), rows.restart,
        ):  # fmt: skip
            action()
            known.append(rows.newton_steps(omega, 0.1, lambda *given: none) is not None)
    assert known == [True, False, False, False, True, True]


@pytest.mark.usefixtures("small_chunks")
def test_multiplicative_rule_knows_no_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    X = data(N, M)
    chunked = run("L21SemiNMF", X, "shuffled", solver="mu")
    monkeypatch.undo()
    np.testing.assert_array_equal(
        chunked.codes_, run("L21SemiNMF", X, "shuffled", solver="mu").codes_
    )


@pytest.mark.usefixtures("small_chunks")
def test_callback_sees_samples_in_the_given_order() -> None:
    X, seen = data(N, M), []

    def watch(progress: Any) -> None:
        seen.append((progress.objective, *progress.factors()))

    model = run("L21SemiNMF", X, "shuffled", callback=watch, max_iter=4)
    for objective, basis, codes in seen:
        now = reference.objective(problem(model, X, GRAPHS["shuffled"]), basis, codes)
        assert now == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize("kind", GRAPHS)
def test_threads_make_no_difference(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n, m, k = 6_000, 12, 4
    monkeypatch.setattr(cutting, "_OWN_BLOCK", (1, 80))
    graph = {"near": chain(n), "shuffled": shuffled(chain(n)), "everywhere": everywhere(n)}[kind]
    X = data(n, m)
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            assert len(Engine(X, k).chunk_bounds) > 4
            model = L21SemiNMF(k, graph=graph, init=start(n, m, k), tol=0, max_iter=8)
            found.append(model.fit(X))
    np.testing.assert_array_equal(found[0].codes_, found[1].codes_)
    np.testing.assert_array_equal(found[0].objective_history_, found[1].objective_history_)


def test_given_start_is_left_alone() -> None:
    X, begin = data(50, 6), start(50, 6, 3)
    kept = [factor.copy() for factor in begin]
    for solver in ("cd", "mu"):
        L21SemiNMF(3, init=begin, solver=solver, tol=0, max_iter=5).fit(X)
        for factor, copy in zip(begin, kept, strict=True):
            np.testing.assert_array_equal(factor, copy)
