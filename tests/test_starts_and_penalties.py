"""Several starts, given starts, automatic penalties, and data at the edge of what is possible."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import seminmf
import seminmf.models.training
from helpers import (
    CLASSES,
    GRAPH_MODELS,
    KINDS,
    converging_or_not,
    data,
    make,
    start,
    value,
)
from seminmf import NMF, GraphSemiNMF, L21SemiNMF, SemiNMF
from seminmf.data.axes import eigenvectors
from seminmf.data.samples import typical_length
from seminmf.datasets import make_waveform

kinds = pytest.mark.parametrize(("model", "penalised"), KINDS)
solvers = pytest.mark.parametrize("solver", ["cd", "mu"])


def never_rises(values: Any, slack: float = 1e-12) -> bool:
    return all(after <= before * (1 + slack) for before, after in pairwise(values))


@solvers
def test_several_starts_keep_the_best(solver: str) -> None:
    X = data(40, 10)
    ends: dict[int, float] = {}

    def watch(progress: Any) -> None:
        ends[progress.start] = progress.objective

    fitted = L21SemiNMF(
        4, solver=solver, init="random", n_init=5, tol=0, max_iter=15, callback=watch,
        random_state=0,
    ).fit(X)  # fmt: skip
    assert sorted(ends) == [0, 1, 2, 3, 4]
    assert len(set(ends.values())) == 5
    assert fitted.objective_ == pytest.approx(min(ends.values()))
    assert fitted.objective_ == pytest.approx(value(fitted, X), rel=1e-9)


@pytest.mark.parametrize("init", ["random", "kmeans", "exemplar"])
def test_the_seed_decides(init: str) -> None:
    X = data(40, 10)
    first, again, generator, other = (
        L21SemiNMF(4, init=init, tol=0, max_iter=5, random_state=seed).fit(X).codes_
        for seed in (0, 0, np.random.RandomState(0), 1)
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, generator)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", [SemiNMF, L21SemiNMF, GraphSemiNMF])
@pytest.mark.parametrize("seed", range(4))
def test_centres_of_centred_samples_are_a_start(model: Any, seed: int, dtype: Any) -> None:
    """They add up to zero but for rounding, of which huge codes would make something."""
    X, _ = make_waveform(200, random_state=seed)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(dtype)
    fitted, usual = (
        model(8, init=init, random_state=seed).fit(X).objective_ for init in ("kmeans", "auto")
    )
    assert fitted < 1.2 * usual


@pytest.mark.parametrize("count", [1, 2, 3, 4, 21, 22])
def test_the_typical_length_is_the_median_of_those_above_zero(count: int) -> None:
    lengths = np.random.default_rng(count).permutation(np.arange(1.0, count + 1) ** 2)
    squares = np.append(np.zeros(3), lengths**2)
    assert typical_length(squares, None) == np.median(lengths)
    assert typical_length(squares, np.ones(count + 3)) == np.median(lengths)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 1), (2, 2), (40, 7), (40, 40), (90, 7)])
def test_leading_eigenvectors(size: int, count: int, dtype: Any) -> None:
    X = data(120, size, seed=size)
    moment = (X.T @ X).astype(dtype)
    found = eigenvectors(moment, count)
    values, vectors = np.linalg.eigh(X.T @ X)
    expected = vectors[:, ::-1][:, :count]
    signs = np.sign((found * expected).sum(axis=0))
    assert found.shape == (size, count)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    gap = np.diff(values, prepend=-values[-1]).min() / values[-1]
    np.testing.assert_allclose(found * signs, expected, atol=20 * np.finfo(dtype).eps / gap)


@pytest.mark.parametrize("size", [2, 30])
def test_eigenvectors_of_one_eigenvalue(size: int) -> None:
    """Any orthonormal basis of the space will do."""
    for symmetric in (np.zeros((size, size)), np.eye(size), np.ones((size, size))):
        found = eigenvectors(symmetric, 2)
        np.testing.assert_allclose(found.T @ found, np.eye(2), atol=1e-14)
        values = np.linalg.eigvalsh(symmetric)[::-1][:2]
        np.testing.assert_allclose(symmetric @ found, values * found, atol=1e-13 * size)


def test_no_eigenvectors_of_infinity() -> None:
    with pytest.raises(ValueError, match="infs or NaNs"):
        eigenvectors(np.full((3, 3), np.inf), 2)


def test_an_infinite_start_does_not_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one of several starts fails numerically the others count."""
    import seminmf.solve.factorize as factorize
    from seminmf.solve.loop import Status

    real = factorize.run

    def run(descent: Any, stopping: Any, callback: Any, start: int, *checkpoint: Any) -> Any:
        solution = real(descent, stopping, callback, start, *checkpoint)
        if start == 0:
            solution.history[-1] = np.nan
            solution.status = Status.NONFINITE
        return solution

    monkeypatch.setattr(factorize, "run", run)
    fitted = SemiNMF(3, init="random", n_init=2, tol=0, max_iter=5, random_state=0).fit(data(20, 6))
    assert np.isfinite(fitted.objective_)


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize(("alpha", "beta"), [(0, 1.0), (1.0, 0)])
def test_one_penalty_alone_warns_with_the_remedy(model: str, alpha: float, beta: float) -> None:
    X = data(20, 6)
    present, absent = ("alpha", "beta") if alpha else ("beta", "alpha")
    message = rf"{present} is positive but {absent} is zero.*Give both a positive value"
    with pytest.warns(UserWarning, match=message):
        fitted = make(model, 2, alpha=alpha, beta=beta, tol=0, max_iter=30).fit(X)
    assert never_rises(fitted.objective_history_)
    assert (fitted.alpha_, fitted.beta_) == (alpha, beta)
    assert fitted.objective_ == pytest.approx(value(fitted, X), rel=1e-9)


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize(
    "parameters",
    [{"alpha": 0, "beta": 0}, {"alpha": 0}, {"beta": 0}, {"strength": 0}],
    ids=["both zero", "alpha zero", "beta zero", "strength zero"],
)
def test_without_alpha_no_graph_is_built(
    model: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise AssertionError("a graph was built")

    monkeypatch.setattr(seminmf.models.training, "_build_graph", fail)
    monkeypatch.setattr(seminmf.models.training.graphs, "given_graph", fail)
    X = data(20, 6)
    fitted = make(model, 2, tol=0, max_iter=5, **parameters).fit(X)
    assert (fitted.alpha_, fitted.beta_) == (0, 0)
    # Not even a graph that fits no data, or more neighbours than samples, matters then.
    make(model, 2, tol=0, max_iter=5, graph=sp.csr_array((3, 3)), n_neighbors=99, **parameters).fit(
        X
    )


@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_automatic_penalties(model: str) -> None:
    """√λ is the share of each penalty's weight; a given one is kept and its partner follows."""
    X = data(40, 9)
    length = float(np.median(np.linalg.norm(X, axis=1)))
    fitted = make(model, 3, strength=1e-3, tol=0, max_iter=3).fit(X)
    alpha, beta = fitted.alpha_, fitted.beta_
    if model == "L21SemiNMF":
        assert alpha * beta / (40 * length) == pytest.approx(1e-3)
    else:
        assert (alpha * beta**2 / (40**2 * length**4)) ** (2 / 3) == pytest.approx(1e-3)
    power = 1 if model == "L21SemiNMF" else 2
    for given in ({"alpha": 5 * alpha}, {"beta": 7 * beta}):
        other = make(model, 3, strength=1e-3, tol=0, max_iter=3, **given).fit(X)
        assert other.alpha_ * other.beta_**power == pytest.approx(alpha * beta**power)
        for name, number in given.items():
            assert getattr(other, f"{name}_") == number


def test_outliers_do_not_move_the_automatic_penalties() -> None:
    X = data(40, 9)
    calm = L21SemiNMF(3, tol=0, max_iter=2).fit(X).alpha_
    X[0] *= 1e6
    # It takes one of the three directions by which the strength tells what can be explained.
    assert L21SemiNMF(3, tol=0, max_iter=2).fit(X).alpha_ == pytest.approx(calm, rel=0.15)


@pytest.mark.parametrize("model", CLASSES)
@solvers
def test_what_is_passed_is_not_changed(model: str, solver: str) -> None:
    X = data(20, 50, nonnegative=model == "NMF")
    U0, V0 = start(20, 50, 3, nonnegative=model == "NMF")
    kept = X.copy(), U0.copy(), V0.copy()
    for array in (X, U0, V0):
        array.flags.writeable = False
    make(model, 3, solver=solver, init=(U0, V0), tol=0, max_iter=5).fit(X).transform(X)
    for array, copy in zip((X, U0, V0), kept, strict=True):
        np.testing.assert_array_equal(array, copy)


@solvers
def test_a_start_of_zeros_is_survived(solver: str) -> None:
    X = data(20, 6)
    for U0, V0 in ((np.zeros((6, 3)), np.zeros((20, 3))), (np.ones((6, 3)), np.zeros((20, 3)))):
        with converging_or_not():
            fitted = L21SemiNMF(3, solver=solver, init=(U0, V0), max_iter=30).fit(X)
        assert np.isfinite(fitted.codes_).all()
        assert np.isfinite(fitted.components_).all()
        assert never_rises(fitted.objective_history_)


@solvers
def test_components_that_are_copies_of_each_other(solver: str) -> None:
    """The k × k system of the basis step is singular then."""
    X = data(20, 6)
    U0, V0 = start(20, 6, 3)
    V0[:, 1] = V0[:, 0]
    fitted = SemiNMF(3, solver=solver, init=(U0, V0), tol=0, max_iter=20).fit(X)
    assert np.isfinite(fitted.components_).all()
    assert never_rises(fitted.objective_history_)


def test_fewer_distinct_samples_than_exemplars() -> None:
    X = np.repeat(data(3, 6), 4, axis=0)
    fitted = SemiNMF(5, init="exemplar", tol=0, max_iter=20, random_state=0).fit(X)
    assert fitted.objective_ < 1e-12 * (X**2).sum()


def test_rows_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    X = data(20, 6)
    X[7] = X[3]
    monkeypatch.setattr(
        "seminmf.data.samples._row_hashes", lambda X: np.zeros(X.shape[0], np.uint64)
    )
    fitted = L21SemiNMF(2, tol=0, max_iter=10).fit(X)
    assert np.isfinite(fitted.objective_)
    assert fitted.transform(X).shape == (20, 2)


def test_samples_and_features_of_zeros() -> None:
    for model, penalised in KINDS:
        X = data(30, 8, nonnegative=model == "NMF")
        X[:7], X[:, 2] = 0, 0
        fitted = make(model, 3, penalised=penalised, tol=0, max_iter=50).fit(X)
        assert np.isfinite(fitted.codes_).all()
        assert never_rises(fitted.objective_history_)
        np.testing.assert_allclose(fitted.components_[:, 2], 0, atol=1e-12)


def test_a_run_that_overflows_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import seminmf.solve.factorize as factorize
    from seminmf.solve.loop import Status

    real = factorize.run

    def run(*arguments: Any) -> Any:
        solution = real(*arguments)
        solution.history[-1] = np.inf
        solution.status = Status.NONFINITE
        return solution

    monkeypatch.setattr(factorize, "run", run)
    with pytest.raises(FloatingPointError, match="Standardize X"):
        NMF(2, solver="mu", tol=0, max_iter=3).fit(data(20, 6, nonnegative=True))
