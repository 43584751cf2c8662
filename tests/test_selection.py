"""How many parts, how strong, how sure: planted truth, warm starts, consensus, and bad input."""

from __future__ import annotations

import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from seminmf import FactorKMeans, L21SemiNMF, SemiNMF
from seminmf.datasets import add_outliers, make_waveform
from seminmf.graph.neighbours import knn_graph
from seminmf.selection import (
    SemiNMFSelector,
    choose_components,
    regularization_path,
    stability,
)
from seminmf.selection import blocks as blocks_module
from seminmf.selection.blocks import (
    Blocks,
    _Cut,
    condensed,
    evened,
    foretold,
    most_parts,
    usual_folds,
)
from seminmf.selection.components import _further, usual_candidates
from seminmf.selection.consensus import _agreed, rand_index
from seminmf.selection.evidence import _crossed_error, _reason, _warning
from seminmf.selection.grid import check_labels
from seminmf.selection.growth import Growth, grown_parts
from seminmf.selection.stability import _drawn
from seminmf.selection.work import Work
from seminmf.solve.checkpoint import CheckpointError


def planted(kind: str, k: int, noise: float, seed: int, n: int = 240, m: int = 30) -> Any:
    rng = np.random.RandomState(seed)
    parts = rng.standard_normal((k, m))
    if kind == "clusters":
        codes = np.eye(k)[rng.randint(k, size=n)]
    else:
        codes = rng.rand(n, k) * (rng.rand(n, k) < 0.3)
        codes[np.arange(n), rng.randint(k, size=n)] += rng.rand(n)
    signal_ = codes @ parts
    return signal_ / signal_.std() + noise * rng.standard_normal((n, m))


# --- numbers of parts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "k", "noise", "outliers"),
    [("clusters", 4, 0.3, 0.0), ("parts", 6, 0.3, 0.1), ("clusters", 7, 0.5, 0.1)],
)
def test_planted_parts_are_counted(kind: str, k: int, noise: float, outliers: float) -> None:
    X = planted(kind, k, noise, seed=k)
    X, _ = add_outliers(X, outliers, random_state=0)
    found = choose_components(X, range(2, 11), random_state=0)
    assert found.n_components == k
    assert found.interval[0] <= k <= found.interval[1]
    assert found.n_outliers >= round(outliers * len(X))
    assert len(found.table["error"]) == 9
    assert found.table["excess"].min() == 0


@pytest.mark.parametrize(("kind", "k"), [("clusters", 3), ("parts", 4)])
def test_noise_may_be_louder_in_some_features(kind: str, k: int) -> None:
    """With features as they are, 8 parts were said to be needed for both."""
    rng = np.random.RandomState(7)
    noise = rng.standard_normal((240, 30)) * np.exp(rng.standard_normal(30))
    found = choose_components(
        planted(kind, k, 0.0, seed=k) + 0.4 * noise, range(1, 9), random_state=1
    )
    assert found.n_components == k


def test_features_are_scaled_by_their_noise() -> None:
    rng = np.random.RandomState(0)
    X, blocks = rng.rand(400, 12), Blocks.dealt((400, 12), (2, 3), rng)
    loud = np.geomspace(0.4, 3, 12)

    def screened(typical: Any) -> list[dict[str, Any]]:
        return [{"typical": typical[blocks.column_fold == j]} for _, j in blocks.cells]

    factors = (X / evened(X, blocks, screened(loud)))[0]
    assert np.corrcoef(np.log(factors), np.log(loud))[0, 1] > 1 - 1e-9
    np.testing.assert_allclose(np.log(factors).mean(), 0, atol=1e-9)
    assert 0.8 < np.log(factors).std() / np.log(loud).std() < 1
    # What may be chance changes nothing, nor do features that are foretold exactly.
    np.testing.assert_array_equal(evened(X, blocks, screened(loud**0.1)), X)
    np.testing.assert_array_equal(evened(X, blocks, screened(np.zeros(12))), X)
    assert np.isfinite(evened(X, blocks, screened(loud * (loud > loud.min())))).all()


def test_sparse_samples_have_as_many_parts_as_dense_ones() -> None:
    X = planted("parts", 4, 0.2, seed=1)
    X[np.abs(X) < 0.5] = 0
    dense, sparse = (
        choose_components(x, range(2, 7), random_state=0) for x in (X, sp.csr_array(X))
    )
    np.testing.assert_allclose(dense.table["error"], sparse.table["error"])


def test_many_samples_and_features_are_condensed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "MOST_SAMPLES", 200)
    monkeypatch.setattr(blocks_module, "MOST_FEATURES", 40)
    X = planted("clusters", 5, 0.3, seed=3, n=500, m=300)
    rng = np.random.RandomState(0)
    small, rows = condensed(X, rng)
    assert small.shape == (200, 40)
    assert len(set(rows)) == 200
    # Groups of features keep the lengths of samples, but for their signs.
    same, _ = condensed(sp.csr_array(X), np.random.RandomState(0))
    np.testing.assert_allclose(small, same)
    found = choose_components(X, range(2, 9), random_state=0)
    assert found.n_components == 5
    assert 200 - found.n_outliers <= found.n_samples_used <= 200
    assert found.n_features_used == 40


def test_constant_features_do_no_harm() -> None:
    X = np.hstack([planted("clusters", 4, 0.3, seed=4), np.zeros((240, 6))])
    assert choose_components(X, range(2, 8), random_state=0).n_components == 4


def test_what_is_foretold_does_not_look_at_what_is_left_out() -> None:
    X = planted("parts", 3, 0.2, seed=5)
    blocks = Blocks.dealt(X.shape, (4, 5), np.random.RandomState(0))
    out = np.ix_(blocks.row_fold == 0, blocks.column_fold == 0)
    before = foretold(X, blocks, (0, 0), [2, 3])["errors"]
    changed = X.copy()
    changed[out] += 7.0
    D = X[out]
    after = foretold(changed, blocks, (0, 0), [2, 3])["errors"]
    # Both are distances from the same forecast: they differ by no more than what was changed.
    assert np.abs(after - before).max() <= 7.0 * np.sqrt(D.shape[1]) + 1e-9
    assert np.median(after) > np.median(before) + 5


@pytest.mark.parametrize("shape", [(240, 30), (60, 90), (400, 300)])
def test_a_factorization_grows_by_what_is_left(shape: tuple[int, int]) -> None:
    """Few features, more of them than samples, and so many that it goes down in a subspace."""
    X = planted("parts", 9, 0.1, seed=6, n=shape[0], m=shape[1])
    with Growth(X, 9) as growth:
        found = {k: growth.to(k) for k in (3, 5, 9)}
    left = {}
    for k, (basis, codes) in found.items():
        assert basis.shape == (shape[1], k)
        assert (codes >= 0).all()
        left[k] = np.square(X - codes @ basis.T).sum()
        assert left[k] < 1.02 * SemiNMF(k, random_state=0).fit(X).objective_
    assert left[9] < left[5] < left[3]


@pytest.mark.parametrize("power", [-465, -30, 30, 465])
def test_the_unit_of_x_has_no_say(power: int) -> None:
    """New parts were of length one, whatever the length of the others."""
    X = np.random.default_rng(0).normal(size=(60, 8))
    expected, found = (
        choose_components(table, range(2, 5), random_state=0) for table in (X, X * 2.0**power)
    )
    assert repr(found) == repr(expected)


def test_a_new_part_points_where_more_is_left() -> None:
    X = np.random.default_rng(0).gamma(1.0, size=(60, 8)) ** 2
    with Growth(X, 4) as growth:
        last = growth.to(2)
        basis, codes = growth._with_more(last, 2)
        left = growth._space.engine.all_rows() - last[1] @ growth._space.lower(last[0]).T
    along = left @ basis[:, 2:]
    squares = np.square(basis[:, 2:]).sum(axis=0)
    np.testing.assert_allclose(codes[:, 2:], np.maximum(along, 0) / squares, atol=1e-9)
    ahead, behind = (np.square(np.maximum(side, 0)).sum(axis=0) for side in (along, -along))
    assert (ahead > behind).all()


def test_blocks_are_foretold_with_weights() -> None:
    """By weighted least squares, in another way than by normal equations."""
    rng = np.random.default_rng(0)
    cut = _Cut(*(rng.normal(size=shape) for shape in ((30, 7), (30, 4), (9, 7), (9, 4))))
    basis, codes, weights = rng.normal(size=(7, 3)), rng.random((30, 3)), rng.random(30) ** 4
    root = np.sqrt(weights)[:, None]
    continued = np.linalg.lstsq(root * codes, root * cut.B, rcond=None)[0]
    of_others = np.array([nnls(basis, x)[0] for x in cut.C])
    expected = cut.D - of_others @ continued
    np.testing.assert_allclose(cut.missed(basis, codes, weights), expected, rtol=1e-6, atol=1e-9)


def test_parts_keep_their_places_as_they_become_more() -> None:
    X = planted("clusters", 4, 0.1, seed=6)
    parts = grown_parts(sp.csr_array(X), [3, 4])
    cosines = np.sum(parts[3] * parts[4][:3], axis=1) / (
        np.linalg.norm(parts[3], axis=1) * np.linalg.norm(parts[4][:3], axis=1)
    )
    assert np.sort(cosines)[1] > 0.9  # but for the one that was two centres


def test_errors_add_up_over_samples_and_features() -> None:
    beyond = np.zeros((1, 4, 5, 1))
    beyond[0, 0] = 4.0  # one block of samples differs: its variance alone counts
    np.testing.assert_allclose(_crossed_error(beyond), 1.0)


def test_folds_leave_room_for_the_parts() -> None:
    assert usual_folds((200, 60), 12) == (4, 5)
    assert usual_folds((200, 20), 15) == (4, 20)
    assert most_parts((200, 20), (4, 5)) == 16
    assert usual_candidates((150, 4))[-1] == 2
    assert usual_candidates((1000, 500))[-1] == 20


X_SMALL = planted("clusters", 3, 0.3, seed=0, n=40, m=12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": [3]}, "candidates has one number of parts.*nothing to choose"),
        ({"candidates": []}, "no number of parts"),
        ({"candidates": 5}, "several numbers of parts"),
        ({"candidates": [0, 2]}, "integers of at least 1"),
        ({"candidates": [2, 2.5]}, "integers of at least 1"),
        ({"candidates": range(2, 30)}, "candidates go up to 29.*Choose candidates up to 11"),
        ({"candidates": [2, 3], "folds": (50, 2)}, "50 blocks of samples.*only 40 samples"),
        ({"candidates": [2, 3], "folds": (2, 13)}, "13 blocks of features"),
        ({"candidates": [2, 3], "folds": 3}, "folds must be"),
        ({"candidates": [2, 3], "folds": (1, 2)}, "folds must be an integer of at least 2"),
        ({"candidates": [2, 3], "repeats": 0}, "repeats"),
        ({"candidates": [2, 3], "n_jobs": 0}, "n_jobs"),
        ({"candidates": [2, 3], "callback": 3}, "callback"),
        ({"candidates": [2, 3], "checkpoint": 3}, "checkpoint must be"),
    ],
)
def test_bad_input_is_refused_before_any_work(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_components(X_SMALL, **arguments)


def test_blocks_without_variation_are_refused() -> None:
    X = np.zeros((40, 10))
    X[:3, 0] = 1.0
    with pytest.raises(ValueError, match="X is constant where a block"):
        choose_components(X, [1, 2], random_state=0)


def test_too_small_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="at least three of each"):
        choose_components(np.random.RandomState(0).rand(20, 2), [1, 2])


def test_an_end_of_the_range_is_warned_of() -> None:
    X = planted("clusters", 6, 0.2, seed=2)
    found = choose_components(X, [2, 3, 4], random_state=0)
    assert found.n_components == 4
    assert "may be more parts" in found.warning


def test_candidates_go_on_until_there_are_enough() -> None:
    X = planted("parts", 24, 0.1, seed=1, n=400, m=80)
    found = choose_components(X, random_state=0)
    assert found.n_components == 24
    assert found.interval[1] < found.table["n_components"][-1] <= 45
    assert not found.warning
    few = choose_components(planted("clusters", 4, 0.2, seed=2), random_state=0)
    assert few.n_components == 4
    assert few.table["n_components"].tolist() == list(range(1, 17))


def test_what_was_tried_is_told_from_what_the_data_support() -> None:
    X = planted("parts", 12, 0.1, seed=1, n=300, m=60)
    found = choose_components(X, range(2, 9), random_state=0)
    assert "8 is the largest number tried: the data may support more." in found.reason
    assert "may be more parts" in found.warning
    assert "support more" not in choose_components(X, range(2, 16), random_state=0).reason


def test_a_curve_that_falls_on_says_how_few_have_most_of_it() -> None:
    numbers = np.array([2, 4, 6, 8])
    said = _reason(8, 8, numbers, np.array([10.0, 3.0, 1.5, 1.0]), 0)
    assert said.endswith("6 achieve nine tenths of what 8 gain over 2.")
    assert "nine tenths" not in _reason(6, 8, numbers, np.array([10.0, 3.0, 1.1, 1.0]), 0)


def test_noise_and_few_features_are_told_from_numbers_that_are_too_small() -> None:
    for seed in range(3):
        X = np.random.RandomState(seed).standard_normal((150, 10))
        assert "no better than by zeros" in choose_components(X, random_state=0).warning
    assert "lower bound" in _warning([1, 2, 3, 4], 3, 4, 6)
    assert "there may be more parts" in _warning([1, 2, 3, 4], 3, 4, 60)


def test_further_candidates_end_at_the_limit() -> None:
    assert _further(20, 60) == [22, 24, 26, 28, 30]
    assert _further(30, 32) == [32]
    assert _further(2, 60) == [3]
    assert _further(32, 32) == []


# --- work that goes on ----------------------------------------------------------------------------


def test_another_choice_in_the_folder_is_refused(tmp_path: Path) -> None:
    X = planted("parts", 3, 0.2, seed=1, n=80)

    def stop(step: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose_components(X, [2, 3], random_state=0, checkpoint=tmp_path, callback=stop)
    with pytest.raises(CheckpointError, match=r"candidates: '\[2, 3\]' there, '\[2, 4\]' here"):
        choose_components(X, [2, 4], random_state=0, checkpoint=tmp_path)
    assert (tmp_path / "state.npz").exists()  # nothing is lost

    def again(step: Any) -> None:
        with pytest.raises(CheckpointError, match="in use by another"):
            choose_components(X, [2, 3], random_state=0, checkpoint=tmp_path)

    choose_components(X, [2, 3], random_state=0, checkpoint=tmp_path, callback=again)


def test_processes_find_the_same() -> None:
    X = planted("clusters", 3, 0.3, seed=0, n=80)
    one, two = (choose_components(X, [2, 3, 4], random_state=0, n_jobs=j) for j in (1, 2))
    np.testing.assert_allclose(one.table["error"], two.table["error"], rtol=1e-9)


# --- the path -------------------------------------------------------------------------------------


def test_the_path_is_that_of_single_fits() -> None:
    X, _ = make_waveform(400, random_state=0)
    path = regularization_path(X, 6, [1e-4, 1e-3, 1e-2])
    assert path.strengths.tolist() == [1e-4, 1e-3, 1e-2]
    for strength, model in zip(path.strengths, path.models, strict=True):
        alone = L21SemiNMF(6, strength=strength, random_state=0).fit(X)
        assert model.objective_ < 1.05 * alone.objective_
        assert (model.alpha_, model.beta_) == (alone.alpha_, alone.beta_)
        assert model.graph_ == alone.graph_
        np.testing.assert_allclose(model.transform(X[:5]), model.codes_[:5])
    table = path.table
    terms = table["loss"] + table["graph"] + table["basis"]
    np.testing.assert_allclose(terms, table["objective"])
    assert (np.diff(table["n_active"]) <= 0).all()
    assert (np.diff(table["explained"]) < 0).all()
    assert path.at(2e-3) is path.models[1]


def test_parts_that_are_switched_off_stay_so() -> None:
    """Up to where none is left; what goes on without them is what a fit with zeros would be."""
    X, _ = make_waveform(200, random_state=0)
    path = regularization_path(X, 6, [1e-3, 1e-2, 3e-2, 10.0, 20.0])
    off = np.array([~model.components_.any(axis=1) for model in path.models])
    assert (off[1:] >= off[:-1]).all()
    assert 0 < off[1].sum() < 6
    assert off[-1].all()
    for model in path.models:
        assert model.components_.shape == (6, 21)
        assert not model.codes_[:, ~model.components_.any(axis=1)].any()
        np.testing.assert_allclose(model.transform(X[:5]), model.codes_[:5])
    third = path.models[2]
    again = clone(third).set_params(init=(third.components_.T, third.codes_)).fit(X)
    # As near as fits of a path are to single ones (docs/how-many.md).
    np.testing.assert_allclose(again.objective_, third.objective_, rtol=5e-3)


def test_the_path_looks_for_neighbours_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from seminmf.models import training

    X, _ = make_waveform(200, random_state=0)
    X = np.vstack([X, X[:20]])  # copies are one vertex
    searches = []
    index = training.NeighbourIndex
    monkeypatch.setattr(
        training, "NeighbourIndex", lambda *given: searches.append(1) or index(*given)
    )
    path = regularization_path(X, 4, [1e-4, 1e-3, 1e-2])
    assert len(searches) == 1
    assert path.models[-1].codes_.shape == (220, 4)
    np.testing.assert_array_equal(path.models[-1].codes_[:20], path.models[-1].codes_[200:])


def test_a_graph_that_is_given_is_kept_on_the_path() -> None:
    X, _ = make_waveform(120, random_state=0)
    graph = sp.csr_array(sp.eye_array(120, k=1) + sp.eye_array(120, k=-1))
    path = regularization_path(
        X, 3, [1e-4, 1e-3], estimator=L21SemiNMF(graph=graph, random_state=0)
    )
    assert path.models[1].graph_["search"] == "given"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strengths": [1e-3]}, "makes no path"),
        ({"strengths": [0, 1e-3]}, "must be positive"),
        ({"strengths": "auto"}, "several positive numbers"),
        ({"estimator": SemiNMF()}, "a model with a strength"),
        ({"estimator": L21SemiNMF(alpha=1.0)}, "alpha=1.0; leave it"),
        ({"callback": 3}, "callback must be None or a function"),
    ],
)
def test_bad_paths_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regularization_path(X_SMALL, 3, **arguments)


# --- stability and consensus ----------------------------------------------------------------------


def test_clusters_that_are_there_are_stable() -> None:
    X = planted("clusters", 4, 0.2, seed=1)
    found = stability(X, L21SemiNMF(4, strength=1e-4), n_runs=20, random_state=0)
    assert found.agreement > 0.95
    assert found.interval[0] <= found.agreement <= found.interval[1]
    assert found.cophenetic > 0.95
    assert (found.part_stability > 0.9).all()
    assert found.consensus_matrix.shape == (240, 240)
    np.testing.assert_allclose(found.consensus_matrix, found.consensus_matrix.T)
    model = found.model
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.factorizer_.stability_, found.part_stability)
    assert adjusted_rand_score(found.labels[0][found.labels[0] >= 0],
                               model.labels_[found.labels[0] >= 0]) > 0.9  # fmt: skip


@pytest.mark.parametrize(("n_samples", "subsample"), [(193, 0.8), (10, 0.5), (7, 0.9), (5, 1.0)])
def test_all_samples_are_absent_equally_often(n_samples: int, subsample: float) -> None:
    drawn = _drawn(n_samples, subsample, 23, seed=0)
    assert {len(np.unique(rows)) for rows in drawn} == {round(subsample * n_samples)}
    there = np.bincount(np.concatenate(drawn), minlength=n_samples)
    assert np.ptp(there) <= 1
    assert len({tuple(rows) for rows in drawn}) > 1 or subsample == 1


def _handler(_: int) -> dict[str, Any]:
    return {"ignored": signal.getsignal(signal.SIGINT) == signal.SIG_IGN}


def test_ctrl_c_is_not_for_the_processes_that_work() -> None:
    """Nor for those that were there before."""
    Parallel(2, backend="loky")(delayed(abs)(number) for number in range(4))
    before = signal.getsignal(signal.SIGINT)
    found = Work(n_jobs=2).run("listening", _handler, [(0,), (1,), (2,)])
    assert all(result["ignored"] for result in found)
    assert signal.getsignal(signal.SIGINT) is before


def test_noise_is_not_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[stability.__module__], "_MOST_SAMPLES", 50)
    X = np.random.RandomState(0).standard_normal((150, 20))
    found = stability(X, SemiNMF(6), n_runs=4, subsample=1.0, random_state=0)
    assert found.agreement < 0.6
    assert found.consensus_matrix.shape == (50, 50)
    assert (found.labels >= 0).all()  # all take part; starts differ


def test_a_consensus_model_can_be_saved(tmp_path: Path) -> None:
    from seminmf import load

    X = planted("clusters", 3, 0.2, seed=2, n=120)
    model = stability(X, FactorKMeans(SemiNMF(3)), n_runs=3, random_state=0).model
    model.save(tmp_path / "consensus.seminmf")
    loaded = load(tmp_path / "consensus.seminmf")
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)


def test_runs_agree_whatever_clusters_are_called() -> None:
    truth = np.repeat([0, 1, 2], 30)
    runs = np.array([np.random.RandomState(i).permutation(3)[truth] for i in range(5)])
    runs[0, ::7] = -1
    places = np.eye(3)[truth] + 0.1 * np.random.RandomState(0).rand(90, 3)
    assert adjusted_rand_score(truth, _agreed(places, runs, 3)) == 1


def _square() -> tuple[Any, Any, Any]:
    """Four heaps at the corners of a square that is hardly higher than wide, cut both ways."""
    corners = np.array([[0, 0], [1.0, 0], [0, 1.02], [1.0, 1.02]])
    places = np.repeat(corners, 20, axis=0) + 0.05 * np.random.RandomState(0).randn(80, 2)
    return places - places.mean(axis=0), np.repeat([0, 1, 0, 1], 20), np.repeat([0, 0, 1, 1], 20)


@pytest.mark.parametrize("loose_runs", [0, 10, 20])
def test_where_runs_are_divided_the_tightest_clusters_decide(loose_runs: int) -> None:
    places, loose, tight = _square()
    runs = np.where(np.arange(40)[:, None] < loose_runs, loose, tight)
    assert adjusted_rand_score(_agreed(places, runs, 2), tight) == 1


def test_most_runs_outvote_the_tightest_clusters() -> None:
    places, loose, tight = _square()
    runs = np.where(np.arange(40)[:, None] < 36, loose, tight)
    assert adjusted_rand_score(_agreed(places, runs, 2), loose) == 1


def test_small_clusters_stay_beside_large_ones() -> None:
    """Runs that all keep four small clusters apart, and cut the large one anywhere."""
    rng = np.random.RandomState(0)
    truth = np.repeat([0, 1, 2, 3, 4], [200, 12, 12, 12, 12])
    centres = 6 * rng.standard_normal((5, 8))
    places = centres[truth] + rng.standard_normal((len(truth), 8))
    runs = []
    for seed in range(10):
        run = truth.copy()
        if seed < 6:  # two of the small ones are one, for half of the large one
            cut = np.random.RandomState(seed).standard_normal(8)
            run[truth == 4] = 3
            run[(truth == 0) & ((places - centres[0]) @ cut > 0)] = 4
        runs.append(run)
    assert (
        adjusted_rand_score(_agreed(places - places.mean(axis=0), np.array(runs), 5), truth) > 0.9
    )


def test_runs_with_too_few_clusters_have_no_say_in_where_to_begin() -> None:
    places, _, tight = _square()
    assert _agreed(places, np.zeros((3, 80), np.int64), 2) is None
    runs = np.array([np.zeros(80, np.int64), tight])
    assert adjusted_rand_score(_agreed(places, runs, 2), tight) == 1


def test_agreement_is_the_adjusted_rand_index_of_what_both_have() -> None:
    rng = np.random.RandomState(0)
    for _ in range(200):
        n = rng.randint(1, 30)
        one, other = (rng.randint(-1, rng.randint(1, 6), size=n) for _ in range(2))
        both = (one >= 0) & (other >= 0)
        wanted = adjusted_rand_score(one[both], other[both]) if both.any() else np.nan
        np.testing.assert_allclose(rand_index(one, other), wanted, atol=1e-12)


def test_bad_stability_is_refused() -> None:
    with pytest.raises(ValueError, match="seminmf's factorizations"):
        stability(X_SMALL, object())
    with pytest.raises(ValueError, match="n_runs"):
        stability(X_SMALL, SemiNMF(3), n_runs=1)
    with pytest.raises(ValueError, match="leaves 4 of 40 samples"):
        stability(X_SMALL, SemiNMF(6), subsample=0.1)
    with pytest.raises(ValueError, match="no sample in common"):
        stability(X_SMALL, SemiNMF(3), n_runs=2, subsample=0.5)
    with pytest.raises(ValueError, match="leaves 5 runs no sample in common"):
        stability(X_SMALL, SemiNMF(3), n_runs=5, subsample=0.2)


def test_what_belongs_to_all_samples_is_no_part_of_fits_to_some() -> None:
    """The runs had complained of shapes, those of a selector after all the rest of its work."""
    U0, V0 = np.ones((X_SMALL.shape[1], 3)), np.ones((40, 3))
    given = L21SemiNMF(3, graph=knn_graph(X_SMALL, 5), random_state=0)
    for model, name in ((SemiNMF(3, init=(U0, V0)), "init"), (given, "graph")):
        with pytest.raises(ValueError, match=f"^{name} of the estimator .* or subsample=1"):
            stability(X_SMALL, model, n_runs=3)
    assert stability(X_SMALL, given, n_runs=2, subsample=1, random_state=0).agreement > 0
    with pytest.raises(ValueError, match=r"^graph of the estimator .* or n_runs=0"):
        SemiNMFSelector(given, candidates=[2, 3]).fit(X_SMALL)


def test_some_runs_may_have_nothing_in_common() -> None:
    found = stability(X_SMALL, SemiNMF(3), n_runs=3, subsample=0.4, random_state=0)
    assert found.interval[0] <= found.agreement <= found.interval[1]


# --- the selector ---------------------------------------------------------------------------------


def test_the_selector_says_what_and_why() -> None:
    X = planted("clusters", 4, 0.3, seed=7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SemiNMFSelector(
            L21SemiNMF(strength=2e-4, random_state=0), candidates=range(2, 8),
            strengths=[1e-4, 1e-3], n_runs=3, random_state=0,
        ).fit(X)  # fmt: skip
    assert found.best_params_ == {"n_components": 4, "strength": 2e-4}
    assert found.best_estimator_.codes_.shape == (240, 4)
    assert "4 parts predict" in found.reason_
    assert "no rule is known" in found.reason_
    assert set(found.results_) == {"components", "path"}
    assert found.path_.strengths.tolist() == [1e-4, 2e-4, 1e-3]
    np.testing.assert_allclose(found.transform(X[:3]), found.best_estimator_.codes_[:3])


def test_the_selector_warns_of_weak_evidence() -> None:
    X = np.random.RandomState(0).standard_normal((120, 20))
    with pytest.warns(UserWarning, match="evidence is weak"):
        found = SemiNMFSelector(candidates=range(2, 6), n_runs=0, random_state=0).fit(X)
    assert found.doubts_
    assert found.stability_ is None
    # The path goes around the strength of the model, which is among its own.
    own = found.best_estimator_.strength_
    assert found.path_.strengths.size == 20
    assert own in found.path_.strengths
    np.testing.assert_allclose(found.path_.strengths[[0, -1]], [own / 100, 10 ** (7 / 6) * own])


@pytest.mark.filterwarnings("ignore:The evidence is weak")
def test_labels_choose_around_the_strength_of_each_number_of_parts() -> None:
    X = planted("clusters", 3, 0.3, seed=8, n=150)
    truth = SemiNMF(3, random_state=0).fit(X).codes_.argmax(axis=1)
    found = SemiNMFSelector(candidates=[2, 4], n_runs=0, random_state=0).fit(X, truth)
    grid = found.results_["grid"]
    for k in (2, 4):
        own = L21SemiNMF(k, random_state=0).fit(X).strength_
        found_there = grid["strength"][grid["n_components"] == k]
        np.testing.assert_allclose(found_there[:5].min(), own / 100)
    assert np.isclose(found.best_params_["strength"], grid["strength"]).any()


@pytest.mark.filterwarnings("ignore:The evidence is weak")
def test_labels_of_some_samples_choose() -> None:
    X = planted("clusters", 3, 0.3, seed=8, n=150)
    truth = SemiNMF(3, random_state=0).fit(X).codes_.argmax(axis=1)
    labels = np.array([f"kind {c}" if i % 2 else None for i, c in enumerate(truth)], dtype=object)
    found = SemiNMFSelector(
        candidates=range(2, 6), strengths=[1e-5, 1e-4, 1e-3], n_runs=0, random_state=0
    ).fit(X, labels)
    grid = found.results_["grid"]
    assert found.best_score_ == grid["score"].max() > 0.9
    pairs = list(zip(grid["n_components"], grid["strength"], strict=True))
    assert pairs == sorted(set(pairs))  # the finer grid has some of the coarse one again
    assert {k for k, _ in pairs} == {2, 3, 4, 5}
    best = grid["score"] == found.best_score_
    fewest = grid["n_components"][best].min()
    assert found.best_params_["n_components"] == fewest
    equal = grid["strength"][best & (grid["n_components"] == fewest)]
    assert found.best_params_["strength"] == equal[len(equal) // 2]
    assert "by the labels" in found.reason_


def test_labels_with_gaps() -> None:
    known, given = check_labels([0.0, 1.0, np.nan, -1.0], 4)
    assert known.tolist() == [True, True, False, False]
    assert given.tolist() == [0, 1]
    known, _ = check_labels(np.array(["a", None, "b"], dtype=object), 3)
    assert known.tolist() == [True, False, True]
    assert check_labels([3, -1, 4], 3)[0].tolist() == [True, False, True]
    assert check_labels(["a", "b"], 2)[0].all()
    missing = np.array([pd.NA, "b", "c"], dtype=object)
    assert check_labels(missing, 3)[0].tolist() == [False, True, True]
    with pytest.raises(ValueError, match="labels of 1 class on 1 samples"):
        check_labels([0, -1, -1], 3)
    with pytest.raises(ValueError, match=r"y has shape \(2,\), but X has 3"):
        check_labels([0, 1], 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": SemiNMF()}, "a model with a strength"),
        ({"estimator": L21SemiNMF(strength=0)}, "strength of the estimator must be positive"),
        ({"candidates": [3]}, "nothing to choose"),
        ({"candidates": range(2, 60)}, "candidates go up to 59"),
        ({"n_runs": 1}, "n_runs=1"),
        ({"scoring": "nonsense", "y": [0, 1] * 20}, "scoring must be the name .*nonsense"),
        ({"scoring": "nonsense"}, "scoring must be the name"),
        ({"scoring": None, "y": [0, 1] * 20}, "scoring must be the name"),
        ({"scoring": adjusted_rand_score, "y": [0, 1] * 20}, "as sklearn.metrics.make_scorer"),
        ({"scoring": lambda *_: np.nan, "y": [0, 1] * 20}, "scoring returned nan for"),
        ({"scoring": lambda *_: "a", "y": [0, 1] * 20}, "scoring returned 'a' for"),
        ({"y": [0.5, 1.5] * 20}, "y has numbers that are no classes, such as 0.5"),
        ({"candidates": [2, 50], "y": [0, 1] * 20}, "X has 40 samples"),
        ({"estimator": L21SemiNMF(n_neighbors=40)}, "n_neighbors=40 must be smaller"),
        ({"estimator": L21SemiNMF(n_neighbors=32)}, "n_neighbors=32 .*subsamples have 32 of 40"),
        ({"estimator": L21SemiNMF(tol=-1)}, "tol must be"),
    ],
)
def test_bad_selectors_are_refused(parameters: dict[str, Any], message: str) -> None:
    y = parameters.pop("y", None)
    steps: list[Any] = []
    with pytest.raises(ValueError, match=message):
        SemiNMFSelector(callback=steps.append, **parameters).fit(X_SMALL, y)
    assert not steps


def test_score_is_what_is_explained_and_lets_searches_work() -> None:
    X = planted("clusters", 3, 0.2, seed=9, n=120)
    model = SemiNMF(3, random_state=0).fit(X)
    expected = 1 - (model.residuals_**2).sum() / (X**2).sum()
    np.testing.assert_allclose(model.score(X), expected)
    robust = L21SemiNMF(3, alpha=0, beta=0, random_state=0).fit(X)
    lengths = np.linalg.norm(X, axis=1).sum()
    np.testing.assert_allclose(robust.score(X), 1 - robust.residuals_.sum() / lengths)
    assert robust.score(np.zeros((2, 30))) == 0
    search = GridSearchCV(SemiNMF(random_state=0), {"n_components": [1, 3]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 3}


def test_sources_and_dask_are_refused(tmp_path: Path) -> None:
    from seminmf.sources import open_source

    np.save(tmp_path / "X.npy", X_SMALL)
    source = open_source(tmp_path / "X.npy")
    with pytest.raises(ValueError, match="needs its samples in memory"):
        choose_components(source, [2, 3])


def test_the_model_of_a_selector_knows_the_names_of_features() -> None:
    """It took columns in any order, and complained of names in the right one."""
    table = pd.DataFrame(planted("parts", 3, 0.1, seed=0, n=60, m=8), columns=list("abcdefgh"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = SemiNMFSelector(candidates=[2, 3], n_runs=0, random_state=0).fit(table)
    np.testing.assert_array_equal(found.transform(table), found.best_estimator_.codes_)
    with pytest.raises(ValueError, match="must be in the same order"):
        found.transform(table[list("hgfedcba")])
    for model in regularization_path(table, 3, [1e-3, 1e-2]).models:
        np.testing.assert_array_equal(model.transform(table), model.codes_)


@pytest.mark.filterwarnings("ignore:The evidence is weak")
def test_a_selector_is_a_step_of_a_pipeline() -> None:
    """It had no names of what it returns, and no set_output."""
    table = pd.DataFrame(planted("parts", 3, 0.1, seed=0, n=60, m=8), columns=list("abcdefgh"))
    chosen = SemiNMFSelector(candidates=[2, 3], n_runs=0, random_state=0)
    steps = make_pipeline(MaxAbsScaler(), chosen).set_output(transform="pandas")
    codes = steps.fit_transform(table)
    assert list(codes.columns) == list(chosen.best_estimator_.get_feature_names_out())
    np.testing.assert_array_equal(codes, chosen.best_estimator_.codes_)


def test_a_generator_is_no_seed() -> None:
    with pytest.raises(ValueError, match=r"random_state: .* Pass None, an integer"):
        choose_components(np.eye(60, 8), [2, 3], random_state=np.random.default_rng(0))
