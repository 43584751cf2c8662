"""Fits of Dask arrays: in this process, and on a cluster of two real worker processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer

from helpers import data
from seminmf import (
    NMF,
    FactorKMeans,
    GraphSemiNMF,
    L21SemiNMF,
    RobustSemiNMF,
    SemiNMF,
    Standardized,
)
from seminmf.data import DESCEND, Engine, Rule
from seminmf.data.features import features_of
from seminmf.distributed.halo import Crossing, HaloGraph, HaloRows
from seminmf.graph.index import automatic_recipe
from seminmf.graph.neighbours import knn_graph
from seminmf.graph.prepared import NeighbourGraph
from seminmf.losses import Norm
from seminmf.problem.objective import Objective

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore:Port .* is already in use:UserWarning",
    # distributed leaves the socket open with which it looks for a free port.
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        # Who looks for a worker that was killed gives up sooner than by default.
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def blobs(n: int = 1500, m: int = 12, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(5, m))
    return centres[rng.integers(0, 5, n)] + rng.normal(size=(n, m))


def chunked(X: Any, rows: int = 400) -> Any:
    return da.from_array(X, chunks=(rows, -1), asarray=not sp.issparse(X))


PLAIN = [
    SemiNMF(4, random_state=0),
    NMF(4, random_state=0),
    L21SemiNMF(4, alpha=0, beta=0, random_state=0),
    L21SemiNMF(4, alpha=0, beta=0, solver="mu", max_iter=20, tol=0, random_state=0),
    RobustSemiNMF(4, loss="huber", alpha=0, beta=0, l1=0, random_state=0),
    L21SemiNMF(1, alpha=0, beta=0, random_state=0),
]


def agrees(model: Any, X: Any, share: Any = None, tolerance: float = 1e-8) -> None:
    """The same model of the array in memory, of the same digits but for round-off."""
    rows = X if sp.issparse(X) else np.abs(X) if isinstance(model, NMF) else X
    expected = clone(model).fit(rows, sample_weight=share)
    found = clone(model).fit(chunked(rows), sample_weight=share)
    assert found.objective_ == pytest.approx(expected.objective_, rel=tolerance)
    assert found.n_iter_ == expected.n_iter_
    assert found.converged_ == expected.converged_
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.codes_.compute(), expected.codes_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.residuals_.compute(), expected.residuals_, rtol=1e-6)
    assert found.kkt_residual_ == pytest.approx(expected.kkt_residual_, rel=1e-3, abs=1e-9)


# Without a client: before the first test that makes one for the rest of the module.


@pytest.mark.parametrize("model", PLAIN[:3], ids=repr)
def test_without_a_client_as_in_memory(model: Any) -> None:
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()
    agrees(model, blobs())


def test_few_samples_without_a_graph() -> None:
    """No neighbours are looked for, so that there need not be as many."""
    agrees(SemiNMF(2, random_state=0), blobs(5, 4))


@pytest.mark.parametrize("k", [6, 7])
def test_nearly_exact_fits_are_thawed_as_in_memory(k: int) -> None:
    """Held by its first samples, the objective would end 10 to 25 % higher."""
    agrees(L21SemiNMF(k, strength=3e-4, max_iter=1000, random_state=0), data(150, 6, seed=1))


def test_bad_input() -> None:
    X = blobs()
    with pytest.raises(ValueError, match=r"X\.rechunk\(\{0: \"auto\", 1: -1\}\)"):
        SemiNMF(3).fit(da.from_array(X, chunks=(500, 6)))
    unknown = chunked(X)
    unknown = unknown[unknown[:, 0] > 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        SemiNMF(3).fit(unknown, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="samples × features"):
        SemiNMF(3).fit(da.from_array(X[:, 0], chunks=500))
    with pytest.raises(ValueError, match='init="kmeans" is not offered for a Dask array'):
        SemiNMF(3, init="kmeans").fit(chunked(X))
    with pytest.raises(ValueError, match="Negative values"):
        NMF(3).fit(chunked(X))
    with pytest.raises(ValueError, match="X is constant"):
        SemiNMF(3).fit(chunked(np.ones((50, 4))))
    with pytest.raises(ValueError, match="not offered for a Dask array"):
        L21SemiNMF(3, graph=KNeighborsTransformer()).fit(chunked(X))
    for model in (FactorKMeans(SemiNMF(3)), Standardized(SemiNMF(3))):
        with pytest.raises(ValueError, match="does not take Dask arrays here"):
            model.fit(chunked(X))
    with pytest.raises(ValueError, match="does not take Dask arrays here"):
        SemiNMF(3).partial_fit(chunked(X))
    with pytest.raises(ValueError, match="outlier_scores needs its samples in memory"):
        SemiNMF(3).fit(X).outlier_scores(chunked(X))
    for table, message in (
        (X + 0j, r"must hold real numbers, got dtype complex128\. Use X\.real"),
        (X[:1], "X has 1 sample and 12 features; at least 2 and 1 are needed"),
        (np.ma.masked_array(X, np.equal(X, X[7, 1])), "NaN or infinity, first in row 7, column 1"),
    ):
        with pytest.raises(ValueError, match=message):
            SemiNMF(1).fit(chunked(table))
    with pytest.raises(ValueError, match="X has 2 features, but SemiNMF is expecting 12"):
        SemiNMF(3).fit(X).transform(chunked(X[:, :2]))
    named = SemiNMF(3)
    named.feature_names_in_ = np.array(["a"] * 12, dtype=object)  # of a fit before, to a table
    assert not hasattr(named.fit(chunked(X)), "feature_names_in_")
    damaged = sp.csr_array(X[:50])
    damaged.indices[3] = 1000
    with pytest.raises(ValueError, match="X is a damaged sparse matrix"):
        SemiNMF(3).fit(chunked(X[:50]).map_blocks(lambda _: damaged))
    with pytest.raises(ValueError, match="must hold real numbers"):
        SemiNMF(3).fit(da.from_array(np.array([["a"] * 5] * 4), chunks=(2, -1)))


def test_neighbours_elsewhere_are_where_they_were_told_and_start_beyond() -> None:
    """Of the current point their codes as told, of the next start extrapolated like the own."""
    rng = np.random.default_rng(0)
    X, codes = rng.random((6, 4)), rng.random((8, 2))
    crossing = Crossing(
        np.array([1, 4]), np.array([0, 1]), np.ones(2), np.ones(2, bool), np.array([1, 4])
    )
    inner = NeighbourGraph.prepare(knn_graph(X, 2), rng.random(6), X.dtype)
    objective = Objective(Norm(), Norm(), alpha=1.0)
    with Engine(X, 2) as engine:
        terms = objective.terms(X.dtype, 0.0)
        rule = Rule(DESCEND, 1)
        rows = HaloRows(engine, terms, rule, HaloGraph.of(inner, crossing), None, codes.copy())
        basis = rng.random((4, 2))
        rows.measure(basis, basis.T @ basis, 1.0, 0.0)
        rows.advance(basis, basis.T @ basis, 1.0, 0.0, 0.5)
        rows.accept(0.5)
        told = rng.random((2, 2))
        rows.meet(told)
    np.testing.assert_array_equal(rows._current.codes[6:], told)
    ahead = np.maximum(told + 0.5 * (told - codes[6:]), 0)
    np.testing.assert_allclose(rows._trial.codes[6:], ahead)
    graph = HaloGraph.of(inner, crossing)
    for sample in range(6):
        near = graph.indices[graph.indptr[sample] : graph.indptr[sample + 1]]
        there = crossing.other[crossing.own == sample] + 6
        assert near[near >= 6].tolist() == there.tolist()


# On a cluster.


@pytest.mark.parametrize("model", PLAIN, ids=repr)
def test_on_a_cluster_without_a_graph_as_in_memory(client: Any, model: Any) -> None:
    agrees(model, blobs())


def test_with_many_features(client: Any) -> None:
    """Directions come from a range finder."""
    agrees(SemiNMF(3, random_state=0), blobs(900, 400), tolerance=1e-6)


def test_sample_weights(client: Any) -> None:
    share = np.random.default_rng(1).integers(1, 4, 1500).astype(float)
    agrees(L21SemiNMF(4, alpha=0, beta=0, random_state=0), blobs(), share)


def test_single_precision_and_integers(client: Any) -> None:
    X = chunked(blobs().astype(np.float32))
    model = SemiNMF(3, random_state=0).fit(X)
    assert model.components_.dtype == model.codes_.dtype == np.float32
    assert SemiNMF(3).fit(chunked((10 * blobs()).astype(int))).codes_.dtype == np.float64


def test_sparse_chunks(client: Any) -> None:
    X = sp.random_array((1200, 30), density=0.2, format="csr", random_state=0)
    blocks = [X[:500], X[500:]]
    parts = [
        da.from_array(block, chunks=block.shape, asarray=False, inline_array=True)
        for block in blocks
    ]
    expected = SemiNMF(4, random_state=0).fit(X)
    found = SemiNMF(4, random_state=0).fit(da.concatenate(parts))
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-8)


def automatic_graph(X: Any, k: int) -> sp.csr_array:
    """That of a fit in memory."""
    return knn_graph(features_of(X, automatic_recipe(X, k, 5).directions), 5)


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("kind", [L21SemiNMF, GraphSemiNMF])
def test_graph_on_a_cluster(client: Any, kind: Any, solver: str) -> None:
    """J is that of the whole graph, never rises, and ends no higher than in memory."""
    X = blobs()
    model = kind(4, strength=1e-3, graph="knn", solver=solver, random_state=0, max_iter=60, tol=0)
    graph = knn_graph(X, 5)
    expected = kind(**{**model.get_params(), "graph": graph}).fit(X)
    model.fit(chunked(X))
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[:-1]).all()
    codes, basis = model.codes_.compute(), model.components_.T
    edges = sp.triu(graph, 1, format="coo")
    power = 2 if kind is GraphSemiNMF else 1
    lengths = np.linalg.norm(codes[edges.row] - codes[edges.col], axis=1)
    residuals = np.linalg.norm(X - codes @ basis.T, axis=1)
    value = (
        (residuals**power).sum()
        + model.alpha_ * (lengths**power).sum()
        + model.beta_ * np.linalg.norm(basis, axis=0).sum()
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.objective_ <= 1.001 * expected.objective_
    np.testing.assert_allclose(model.residuals_.compute(), residuals, rtol=1e-6)
    if solver == "mu":
        # All samples move at once: where they lie makes no difference.
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)


def test_edges_between_workers_do_not_stay_behind(client: Any) -> None:
    """Held back as much as they pull, ends that have come together end 0.3 % above."""
    rng = np.random.default_rng(0)
    X = 2 * rng.normal(size=(20, 20))[rng.integers(0, 20, 4000)] + rng.normal(size=(4000, 20))
    model = L21SemiNMF(8, random_state=0, tol=1e-5, max_iter=300)
    expected = clone(model).set_params(graph=automatic_graph(X, 8)).fit(X)
    model.fit(chunked(X, 1000))
    assert model.graph_["crossing"] > 0.01
    assert model.objective_ <= 1.001 * expected.objective_


@pytest.mark.parametrize("turn", [0, 1])
def test_either_end_of_an_edge_is_held_back_in_turn(turn: int) -> None:
    """The two factors of an edge have to be inverse to each other for J to fall."""
    X, rng = np.random.default_rng(0).random((6, 4)), np.random.default_rng(1)
    inner = NeighbourGraph.prepare(knn_graph(X, 2), rng.random(6), X.dtype)
    own, other = np.array([4, 1, 4]), np.array([0, 1, 2])
    held = []
    for first in ([True, False, True], [False, True, False]):
        crossing = Crossing(own, other, np.ones(3), np.array(first), np.array([1, 4]))
        graph = HaloGraph.of(inner, crossing, held_back=True)
        edges = np.ones_like(graph.base)
        graph.hold_back(edges, turn)
        held.append(edges)
    np.testing.assert_allclose(held[0] * held[1], 1)
    assert sorted(held[turn][held[turn] != 1].tolist()) == sorted(
        [min(held[0]), min(held[0]), max(held[0])]
    )


@pytest.mark.parametrize("graph", ["knn", "auto"])
def test_neighbours_across_workers_are_the_nearest(client: Any, graph: str) -> None:
    """Every edge of the graph in memory is found, and no other."""
    from seminmf.distributed.sites import HERE
    from seminmf.models.distributed import DaskFit

    X = blobs(800, 9)
    settings = L21SemiNMF(3, graph=graph)._settings().checked(X.shape, X.dtype)
    fit = DaskFit(chunked(X, 150), settings, None)
    fit.load()
    gather, ends = fit.sites.gather, fit.ground.graph.ends
    inner = gather(lambda site, own: site.numbers[own.pairs[:, :2]], HERE, fit.ground.graph)
    shown = gather(lambda site, own: site.numbers[own.crossing.shown], HERE, fit.ground.graph)
    fit.sites.close()
    found = np.concatenate([*inner, np.concatenate(shown)[ends]])
    matrix = knn_graph(X, 5) if graph == "knn" else automatic_graph(X, 3)
    expected = sp.triu(matrix, 1, format="coo")
    pairs = {frozenset(pair) for pair in found.tolist()}
    assert len(found) == len(pairs) == expected.nnz
    assert pairs == {frozenset(pair) for pair in zip(expected.row, expected.col, strict=True)}
    assert 0 < len(ends) < len(found) / 2


def test_given_graph(client: Any) -> None:
    X = blobs()
    graph = knn_graph(X, 3)
    expected = GraphSemiNMF(4, graph=graph, random_state=0, tol=0, max_iter=60).fit(X)
    found = GraphSemiNMF(4, graph=graph, random_state=0, tol=0, max_iter=60).fit(chunked(X))
    assert found.objective_ == pytest.approx(expected.objective_, rel=5e-3)
    # In the order of the rows half of the neighbours would be parted.
    assert found.graph_["crossing"] < 0.1


def test_given_start_and_several_starts(client: Any) -> None:
    X, rng = blobs(), np.random.default_rng(0)
    init = rng.normal(size=(12, 4)), rng.random((1500, 4))
    agrees(L21SemiNMF(4, alpha=0, beta=0, init=init, max_iter=30, tol=0), X)
    one = SemiNMF(4, init="random", random_state=3, max_iter=15, tol=0).fit(chunked(X))
    more = SemiNMF(4, init="random", n_init=3, random_state=3, max_iter=15, tol=0).fit(chunked(X))
    assert more.objective_ <= one.objective_
    residuals = np.linalg.norm(X - more.codes_.compute() @ more.components_, axis=1)
    assert (residuals**2).sum() == pytest.approx(more.objective_)


def test_samples_as_a_start(client: Any) -> None:
    agrees(SemiNMF(4, init="exemplar", random_state=0), blobs())
    # So few of them that the best start is one of samples.
    agrees(L21SemiNMF(6, alpha=0, beta=0, random_state=0), blobs(90))


def test_more_components_than_directions(client: Any) -> None:
    X = blobs()
    found = SemiNMF(14, random_state=0).fit(chunked(X))
    assert found.objective_ <= 1e-3 * (X**2).sum()


def test_parts_that_are_not_needed_are_zero(client: Any) -> None:
    X = blobs()
    model = L21SemiNMF(6, strength=0.05, random_state=0).fit(chunked(X))
    codes = model.codes_.compute()
    active = model.components_.any(axis=1)
    assert 0 < active.sum() < 6
    np.testing.assert_array_equal(active, codes.any(axis=0))
    residuals = np.linalg.norm(X - codes @ model.components_, axis=1)
    np.testing.assert_allclose(model.residuals_.compute(), residuals, rtol=1e-6)


def test_transform_is_lazy(client: Any) -> None:
    X = blobs()
    model = L21SemiNMF(4, alpha=0, beta=0, random_state=0).fit(chunked(X))
    codes = model.transform(chunked(X))
    assert isinstance(codes, da.Array)
    assert codes.chunks[0] == chunked(X).chunks[0]
    np.testing.assert_allclose(codes.compute(), model.codes_.compute(), atol=1e-8)
    np.testing.assert_allclose(codes.compute(), model.transform(X), atol=1e-10)
    back = model.inverse_transform(codes)
    assert isinstance(back, da.Array)
    np.testing.assert_allclose(back.compute(), codes.compute() @ model.components_)


def test_callback_sees_all_codes(client: Any) -> None:
    X, seen = blobs(), []

    def watch(progress: Any) -> bool:
        basis, codes = progress.factors()
        seen.append((progress.iteration, progress.objective, codes.shape))
        lengths = np.linalg.norm(X - codes @ basis.T, axis=1)
        assert lengths.sum() == pytest.approx(progress.objective)
        return progress.iteration == 3

    model = L21SemiNMF(4, alpha=0, beta=0, callback=watch, random_state=0).fit(chunked(X))
    assert [iteration for iteration, _, _ in seen] == [1, 2, 3]
    assert model.n_iter_ == 3
    assert not model.converged_


@pytest.mark.parametrize(
    ("alpha", "count"), [(0, 1), ("auto", 1), (0, 2)], ids=["no graph", "graph", "both workers"]
)
def test_a_worker_that_dies(client: Any, alpha: Any, count: int) -> None:
    """Its rows are read again; the result is a fit like any other, and a warning says so."""
    X, killed = blobs(), []
    beta = 0 if alpha == 0 else "auto"

    def kill(progress: Any) -> None:
        if progress.iteration == 4 and not killed:
            killed.extend(sorted(client.run(os.getpid).values())[:count])
            for process in killed:
                os.kill(process, signal.SIGKILL)

    whole = L21SemiNMF(4, alpha=alpha, beta=beta, random_state=0).fit(chunked(X))
    model = L21SemiNMF(4, alpha=alpha, beta=beta, random_state=0, callback=kill)
    with pytest.warns(RuntimeWarning, match="A worker was lost"):
        model.fit(chunked(X))
    assert len(killed) == count
    assert model.n_iter_ == len(model.objective_history_) > 4
    # Codes that are found anew may lead to another minimum, which is as good or better.
    assert 0.95 * whole.objective_ <= model.objective_ <= 1.01 * whole.objective_
    residuals = np.linalg.norm(X - model.codes_.compute() @ model.components_, axis=1)
    np.testing.assert_allclose(model.residuals_.compute(), residuals, rtol=1e-6)
    client.wait_for_workers(2, timeout=60)


def test_errors_of_a_step_are_told_as_they_are(client: Any) -> None:
    X = blobs()
    X[700, 3] = np.nan
    with pytest.raises(ValueError, match="first in row 700, column 3"):
        SemiNMF(3).fit(chunked(X))


def test_a_client_without_workers(client: Any) -> None:
    """The last test: it sends the workers away."""
    client.cluster.scale(0)
    while client.scheduler_info(n_workers=-1)["workers"]:
        time.sleep(0.05)
    with pytest.raises(ValueError, match="has no workers"):
        SemiNMF(3).fit(chunked(blobs()))
