"""Callback, log and progress: they observe every iteration, may stop a run, change nothing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import reference
import seminmf
import seminmf.models.training
from helpers import (
    KINDS,
    data,
    make,
    problem,
    value,
)
from seminmf import L21SemiNMF, SemiNMF

kinds = pytest.mark.parametrize(("model", "penalised"), KINDS)
solvers = pytest.mark.parametrize("solver", ["cd", "mu"])


@kinds
@solvers
def test_a_callback_sees_every_iteration(model: str, penalised: bool, solver: str) -> None:
    X = data(25, 60, nonnegative=model == "NMF")
    seen: list[Any] = []

    def watch(progress: Any) -> None:
        basis, codes = progress.factors()
        seen.append((progress.iteration, progress.start, progress.objective, basis, codes))

    fitted = make(
        model, 3, penalised=penalised, solver=solver, tol=0, max_iter=10, callback=watch
    ).fit(X)
    assert [entry[0] for entry in seen] == list(range(1, 11))
    assert {entry[1] for entry in seen} == {0}
    p = problem(fitted, X)
    for _, _, objective, basis, codes in seen:
        assert objective == pytest.approx(reference.objective(p, basis, codes), rel=1e-9)
        assert codes.min() >= 0
    # Without a graph the codes of "cd" are polished after the last iteration, never for the worse.
    np.testing.assert_allclose([e[2] for e in seen[:-1]], fitted.objective_history_[:-1])
    assert fitted.objective_ <= seen[-1][2]


@solvers
def test_a_callback_may_stop_the_run(solver: str) -> None:
    X = data(25, 6)
    fitted = L21SemiNMF(
        3, solver=solver, tol=1e-12, max_iter=50, callback=lambda progress: progress.iteration == 4
    ).fit(X)
    assert fitted.n_iter_ == len(fitted.objective_history_) == 4
    assert not fitted.converged_
    assert fitted.objective_ == pytest.approx(value(fitted, X), rel=1e-9)


def test_factors_given_to_a_callback_are_copies() -> None:
    X = data(25, 6)

    def spoil(progress: Any) -> None:
        basis, codes = progress.factors()
        basis[:], codes[:] = 0, 0

    spoiled = L21SemiNMF(3, tol=0, max_iter=10, callback=spoil).fit(X)
    assert spoiled.objective_ == L21SemiNMF(3, tol=0, max_iter=10).fit(X).objective_


def test_factors_given_to_a_callback_belong_to_the_samples() -> None:
    """One row of codes per sample, also where equal samples are one vertex or have weight zero."""
    X = data(25, 6)
    X[20:] = X[:5]
    shapes = []

    def watch(progress: Any) -> None:
        basis, codes = progress.factors()
        shapes.append(codes.shape)
        errors = np.linalg.norm(X - codes @ basis.T, axis=1)
        assert (errors <= 2 * np.linalg.norm(X, axis=1)).all()

    L21SemiNMF(3, tol=0, max_iter=2, callback=watch).fit(X)
    weights = np.ones(25)
    weights[10] = 0
    SemiNMF(3, tol=0, max_iter=2, callback=watch).fit(X, sample_weight=weights)
    assert set(shapes) == {(25, 3)}


def test_a_failing_callback_is_not_swallowed() -> None:
    def fail(progress: Any) -> None:
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        L21SemiNMF(3, callback=fail).fit(data(25, 6))


def test_verbose_logs_every_so_many_iterations(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="seminmf"):
        SemiNMF(2, tol=0, max_iter=7, verbose=3).fit(data(20, 5))
    assert [record.args[2] for record in caplog.records] == [3, 6]
    seen = []
    SemiNMF(
        2, tol=0, max_iter=2, verbose=1, callback=lambda p: seen.append(p.iteration) or False
    ).fit(data(20, 5))
    assert seen == [1, 2]


def test_verbose_true_is_every_iteration(caplog: pytest.LogCaptureFixture) -> None:
    SemiNMF(2, tol=0, max_iter=3, verbose=True).fit(data(20, 5))
    assert [record.args[2] for record in caplog.records] == [1, 2, 3]
    caplog.clear()
    SemiNMF(2, tol=0, max_iter=3, verbose=False).fit(data(20, 5))
    assert not caplog.records


def test_a_bar_by_whatever_is_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    model = SemiNMF(
        2, tol=0, max_iter=3, progress=True, callback=lambda p: seen.append(p.objective)
    )
    model.fit(data(20, 5))
    assert len(seen) == 3
    said = capsys.readouterr().err
    assert "SemiNMF: 100%" in said
    assert f"objective {seen[-1]:.6g}" in said
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    model.fit(data(20, 5))
    assert f"SemiNMF start 1 objective {seen[-1]:.6g}" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ImportError, match="progress=True needs tqdm or rich: pip install tqdm"):
        model.fit(data(20, 5))
    with pytest.raises(ValueError, match="progress must be True or False, got 'bar'"):
        SemiNMF(2, progress="bar").fit(data(20, 5))  # type: ignore[arg-type]


def test_progress_is_public() -> None:
    assert seminmf.Progress.__name__ == "Progress"
    with pytest.raises(AttributeError, match="Nothing"):
        _ = seminmf.Nothing
