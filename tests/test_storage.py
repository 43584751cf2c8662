"""What must not matter either: storage, precision, blocks, threads, compression."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

import reference
import seminmf.solve.factorize
from helpers import CLASSES, KINDS, cone, data, difference, make, start, value
from seminmf.compiled.threads import crew as crews
from seminmf.compiled.threads.crew import Crew
from seminmf.data import Engine, cutting
from seminmf.data import compression as compressions

kinds = pytest.mark.parametrize(("model", "penalised"), KINDS)
TIGHT = 1e-8


def run(model: str, X: Any, k: int = 3, *, weights: Any = None, **parameters: Any) -> Any:
    parameters = {"tol": 0, "max_iter": 15, "random_state": 0, **parameters}
    return make(model, k, **parameters).fit(X, sample_weight=weights)


@kinds
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("shape", [(40, 9), (20, 70)])
def test_storage(
    model: str, penalised: bool, solver: str, shape: tuple[int, int], tmp_path: Path
) -> None:
    X = data(*shape, nonnegative=model == "NMF")
    X[np.abs(X) < 1] = 0
    np.save(tmp_path / "X.npy", X)
    begin = start(*shape, 3, nonnegative=model == "NMF")
    wide = np.zeros((shape[0], 2 * shape[1]))
    wide[:, ::2] = X
    plain = run(model, X, penalised=penalised, solver=solver, init=begin)
    forms = {
        "csr_array": sp.csr_array(X),
        "csr_matrix": sp.csr_matrix(X),
        "csc": sp.csc_array(X),
        "fortran": np.asfortranarray(X),
        "memmap": np.load(tmp_path / "X.npy", mmap_mode="r"),
        "strided": wide[:, ::2],
        "list": X.tolist(),
    }
    for name, form in forms.items():
        other = run(model, form, penalised=penalised, solver=solver, init=begin)
        assert other.objective_ == pytest.approx(plain.objective_, rel=TIGHT), name
        assert difference(other.codes_, plain.codes_) < 1e-5, name
        assert difference(other.components_, plain.components_) < 1e-5, name


@pytest.mark.parametrize("init", ["svd", "kmeans", "exemplar"])
@pytest.mark.parametrize("model", CLASSES)
def test_starts_of_sparse_data(model: str, init: str) -> None:
    X = data(40, 12, nonnegative=model == "NMF")
    X[np.abs(X) < 1] = 0
    plain, other = run(model, X, init=init), run(model, sp.csr_array(X), init=init)
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-6)


@kinds
@pytest.mark.parametrize("shape", [(50, 9), (25, 70)])
def test_single_precision(model: str, penalised: bool, shape: tuple[int, int]) -> None:
    X = cone(*shape, 3, nonnegative=model == "NMF").astype(np.float32)
    begin = start(*shape, 3, nonnegative=model == "NMF")
    double = run(model, X.astype(np.float64), penalised=penalised, init=begin, max_iter=40)
    single = run(model, X, penalised=penalised, init=begin, max_iter=40)
    for name in ("codes_", "components_", "residuals_"):
        assert getattr(single, name).dtype == np.float32
        assert getattr(double, name).dtype == np.float64
    # Coarser floors, another way through the kinks of the robust graph penalty.
    assert single.objective_ == pytest.approx(double.objective_, rel=5e-2)
    assert single.objective_ == pytest.approx(value(single, X.astype(np.float64)), rel=1e-4)
    assert (np.diff(single.objective_history_) <= 1e-5 * single.objective_history_[:-1]).all()


@pytest.mark.parametrize("kind", ["int64", "int8", "uint8", "bool", "float16"])
def test_other_numbers_are_taken_as_double_precision(kind: str) -> None:
    X = np.floor(data(30, 6, nonnegative=True)).astype(kind)
    for model in CLASSES:
        fitted = run(model, X, 2)
        assert fitted.codes_.dtype == np.float64
        plain = run(model, X.astype(np.float64), 2)
        assert fitted.objective_ == pytest.approx(plain.objective_)


# --- blocks, threads, compression -----------------------------------------------------------------


@kinds
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("block_rows", [1, 7, 33])
def test_blocks(
    model: str, penalised: bool, solver: str, block_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = data(40, 60, nonnegative=model == "NMF")
    whole = run(model, X, penalised=penalised, solver=solver)
    chunked = functools.partial(Engine, block_rows=block_rows)
    monkeypatch.setattr(seminmf.solve.factorize, "Engine", chunked)
    other = run(model, X, penalised=penalised, solver=solver)
    assert other.objective_ == pytest.approx(whole.objective_, rel=TIGHT)
    assert difference(other.codes_, whole.codes_) < 1e-5


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("model", ["SemiNMF", "L21SemiNMF"])
def test_shards_of_the_compiled_iteration(
    model: str, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = data(400, 30)
    whole = run(model, X, solver=solver)
    assert len(Engine(X, 3).cuts.shards) == 2
    monkeypatch.setattr(cutting, "_SMALL", 0)
    monkeypatch.setattr(cutting, "_OWN_BLOCK", (2**15, 10))
    assert len(Engine(X, 3).cuts.shards) > 4
    other = run(model, X, solver=solver)
    assert other.objective_ == pytest.approx(whole.objective_, rel=TIGHT)
    assert difference(other.codes_, whole.codes_) < 1e-5


def test_the_numbers_for_compiled_code() -> None:
    """One line of numbers of one type, which is X itself; copied only where it has to be."""
    X = data(40, 9)
    read_only = X.copy()
    read_only.flags.writeable = False
    wide = np.asfortranarray(np.ones((200, 2000)))
    packed = np.zeros(40, dtype=[("mark", "i1"), ("numbers", "f8", 9)])
    packed["numbers"] = X
    forms = {
        "plain": X,
        "fortran": np.asfortranarray(X),
        "wide fortran": wide,
        "read only": read_only,
        "every other": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "one row again and again": np.broadcast_to(X[0], (40, 9)),
        "backwards": X[:, ::-1],
        "rows backwards": X[::-1],
        "between bytes": packed["numbers"],
    }
    for name, form in forms.items():
        for block_rows in (None, 10):
            engine = Engine(form, 3, block_rows=block_rows)
            line, steps = engine.storage._line()
            assert line.ndim == 1, name
            assert line.flags.c_contiguous, name
            assert line.flags.writeable, name
            strides = tuple(step * line.itemsize for step in steps)
            seen = np.lib.stride_tricks.as_strided(line, form.shape, strides)
            np.testing.assert_array_equal(seen, form, err_msg=name)
            copied = "backwards" in name or name == "between bytes"
            assert np.shares_memory(line, form) != copied, name
            assert engine.storage.gathers == (not form.flags.c_contiguous), name
    sparse = sp.csr_array(X)
    assert Engine(sparse, 3).storage.X is sparse


def test_the_engine_in_blocks() -> None:
    X = data(41, 9)
    U, V = start(41, 9, 3)
    for form in (X, sp.csr_array(X)):
        for block_rows in (None, 1, 5, 41, 100):
            with Engine(form, 3, block_rows=block_rows) as engine:
                np.testing.assert_allclose(engine.times(U), X @ U)
                np.testing.assert_allclose(engine.adjoint_times(V), X.T @ V)
                np.testing.assert_allclose(engine.residuals(U, V), reference.residuals(X, U, V))
                np.testing.assert_allclose(engine.squares, (X**2).sum(axis=1))


@kinds
@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_compression(
    model: str, penalised: bool, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = data(25, 140, nonnegative=model == "NMF")
    begin = start(25, 140, 3, nonnegative=model == "NMF")
    found = []
    for patience in ((np.inf, np.inf), (0, np.inf), (np.inf, 0)):
        monkeypatch.setattr(compressions, "_patience", lambda n, m, k, answer=patience: answer)
        found.append(run(model, X, penalised=penalised, solver=solver, init=begin, n_init=2))
    without = found[0]
    for with_ in found[1:]:
        assert with_.objective_ == pytest.approx(without.objective_, rel=TIGHT)
        np.testing.assert_allclose(with_.objective_history_, without.objective_history_, rtol=TIGHT)
        assert difference(with_.components_, without.components_) < 1e-5
        assert difference(with_.codes_, without.codes_) < 1e-5


@pytest.mark.parametrize("n", [1, 7, 128, 300, 700])
@pytest.mark.parametrize("threads", [1, 2])
def test_products_of_samples_with_samples(n: int, threads: int) -> None:
    """In strips, on one thread or several."""
    X = data(n, 40_000 // n + 900)
    with threadpool_limits(threads), Engine(X, 60) as engine:
        assert difference(engine.gram, X @ X.T) < 1e-14
    assert difference(Engine(sp.csr_array(X), 60).gram, X @ X.T) < 1e-14


def test_compression_is_exact_or_not_made() -> None:
    X = data(20, 90)
    U = start(20, 90, 3)[0]
    for way in (compressions.by_gram, compressions.by_reflections):
        compression = way(Engine(X, 3))
        assert compression is not None
        np.testing.assert_allclose(compression.L @ compression.L.T, X @ X.T, atol=1e-12)
        inside = compression.lift(compression.lower(U))
        np.testing.assert_allclose(X @ inside, X @ U, atol=1e-12)
        np.testing.assert_allclose(compression.lift(compression.lower(inside)), inside, atol=1e-12)
    for unfit in (np.vstack([X, X[:1] + 1e-7]), np.vstack([X, X[:1]]), X.astype(np.float32)):
        assert compressions.by_gram(Engine(unfit, 3)) is None


def test_few_samples_are_compressed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = compressions.LazyCompression.at_once

    def watch(*given: Any, **named: Any) -> Any:
        seen.append(original(*given, **named))
        return seen[-1]

    monkeypatch.setattr(compressions.LazyCompression, "at_once", watch)
    for n, m, expected in ((25, 140, True), (600, 700, False), (140, 25, False)):
        run("SemiNMF", data(n, m), max_iter=2)
        assert (seen.pop() is not None) == expected


# Large enough for several blocks and threads.
LARGE = (50_000, 60, 8)


def blas_threads() -> list[int]:
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("model", ["NMF", "SemiNMF", "L21SemiNMF"])
def test_threads(model: str, solver: str) -> None:
    n, m, k = LARGE
    X = data(n, m, nonnegative=model == "NMF")
    ring = sp.eye_array(n, k=1, format="csr") + sp.eye_array(n, k=5, format="csr")
    graph = {"graph": ring + ring.T} if model == "L21SemiNMF" else {}
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            allowed = blas_threads()
            if max(allowed) != count:
                pytest.skip("BLAS has a fixed number of threads here")
            assert Engine(X, k).team.size == count
            found.append(run(model, X, k, solver=solver, max_iter=4, **graph))
            # What the fit was allowed to use is what the next one may use.
            assert blas_threads() == allowed
    assert found[0].objective_ == pytest.approx(found[1].objective_, rel=1e-12)
    np.testing.assert_allclose(found[0].codes_, found[1].codes_, atol=1e-9)


def helpers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "seminmf"]


# Large enough for helpers in compiled code, too small for threads from Python.
MIDDLE = (3_000, 40, 8)


@pytest.mark.parametrize("model", ["SemiNMF", "GraphSemiNMF", "L21SemiNMF"])
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("pause", [0, 2e-3])
def test_helpers_change_no_digit(model: str, solver: str, pause: float) -> None:
    """Awake or asleep between the iterations, there or not: the sums are added in one order."""
    n, m, k = MIDDLE
    X = data(n, m)
    ring = sp.eye_array(n, k=1, format="csr") + sp.eye_array(n, k=5, format="csr")
    graph = {} if model == "SemiNMF" else {"graph": ring + ring.T}
    seen = []

    def watch(progress: Any) -> None:
        seen.append(len(helpers()))
        time.sleep(pause)

    found = []
    for count in (1, 3):
        with threadpool_limits(count, user_api="blas"):
            if max(blas_threads()) != count:
                pytest.skip("BLAS has a fixed number of threads here")
            assert Engine(X, k).team.crew.helpers == count - 1
            found.append(run(model, X, k, solver=solver, max_iter=8, callback=watch, **graph))
            assert seen[-1] == count - 1
            assert not helpers()
    np.testing.assert_array_equal(found[0].codes_, found[1].codes_)
    np.testing.assert_array_equal(found[0].components_, found[1].components_)
    np.testing.assert_array_equal(found[0].objective_history_, found[1].objective_history_)


class Clock:
    """In the place of perf_counter."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("reason", ["helpers have no core", "the caller has none"])
def test_who_gets_no_help_goes_on_alone(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are not enough cores the caller does without helpers, longer each time."""
    # By the true clock it is longer where others want the cores.
    monkeypatch.setattr(crews, "_seconds_per_offer", lambda: 4e-7)
    clock, crew, invited = Clock(), Crew(1), []
    monkeypatch.setattr(crews, "perf_counter", clock)
    monkeypatch.setattr(Crew, "_invite", lambda self: invited.append(True))

    def call(took: float, offers: int = 0) -> bool:
        """Whether helpers were invited."""

        def function(call: Any, number: int, room: str) -> int:
            assert room == "caller's"
            clock.now += took
            return offers

        invited.clear()
        crew.call(function, ["caller's", "helper's"], (), 1, 1)
        return bool(invited)

    def crowded_call() -> bool:
        return call(1e-3, 10**10) if reason == "helpers have no core" else call(8e-3)

    def pause() -> float:
        """Seconds until helpers are invited again."""
        since = clock.now
        while not call(1e-3):
            pass
        return clock.now - since

    assert call(1e-3)
    assert call(1.1e-3, 5)
    pauses = []
    for _ in range(8):
        assert crowded_call()
        pauses.append(pause())
    expected = [0.005 * 2**power for power in range(6)] + [0.16] * 2
    np.testing.assert_allclose(pauses, expected, atol=2.5e-3)
    clock.now += 1
    assert call(1e-3)
    assert crowded_call()
    assert pause() == pytest.approx(0.005, abs=2.5e-3)


def test_threads_are_given_back_after_an_error() -> None:
    def fail(progress: Any) -> None:
        raise RuntimeError("stop here")

    with threadpool_limits(2, user_api="blas"):
        allowed = blas_threads()
        with pytest.raises(RuntimeError, match="stop here"):
            run("SemiNMF", data(*LARGE[:2]), LARGE[2], callback=fail)
        assert blas_threads() == allowed
