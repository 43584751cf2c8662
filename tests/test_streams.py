"""``partial_fit``: near the fit of all samples, robust, and of batches of any form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import seminmf
from helpers import CLASSES, Array, converging_or_not, data, make
from seminmf import NMF, L21SemiNMF, RobustSemiNMF, SemiNMF
from seminmf.losses import Huber
from seminmf.solve import streams

models = pytest.mark.parametrize("model", CLASSES)


def cone(n: int, seed: int = 0, outliers: float = 0.0, nonnegative: bool = False) -> Array:
    """Noisy sums of four parts, with samples far away among them."""
    parts = np.random.default_rng(7).uniform(0 if nonnegative else -1, 1, (4, 20))
    rng = np.random.default_rng(seed)
    X = (rng.gamma(1, 1, (n, 4)) * (rng.random((n, 4)) < 0.5)) @ parts
    X += 0.2 * rng.normal(size=X.shape)
    far = rng.random(n) < outliers
    X[far] = 10 * rng.normal(size=(int(far.sum()), 20))
    return np.abs(X) if nonnegative else X


def pieces(X: Any, size: int, passes: int = 1) -> list[Any]:
    rng = np.random.default_rng(0)
    orders = [rng.permutation(X.shape[0]) for _ in range(passes)]
    return [X[o[low : low + size]] for o in orders for low in range(0, X.shape[0], size)]


def streamed(model: Any, batches: list[Any]) -> Any:
    for batch in batches:
        assert model.partial_fit(batch) is model
    return model


def loss(model: Any, X: Array, judge: Any) -> float:
    """With the best codes for the model's basis."""
    residuals = np.linalg.norm(X - model.transform(X) @ model.components_, axis=1)
    return float(judge.loss_.total(residuals))


@pytest.mark.parametrize(
    ("model", "outliers"),
    [
        (L21SemiNMF(4), 0.05),
        (RobustSemiNMF(4, loss=Huber(1.0)), 0.05),
        (SemiNMF(4), 0.0),
        (NMF(4), 0.0),
    ],
    ids=["norm", "huber", "squared", "nonnegative"],
)
@pytest.mark.parametrize("size", [200, 400])
def test_two_passes_come_within_two_percent_of_fit(model: Any, outliers: float, size: int) -> None:
    X = cone(8000, outliers=outliers, nonnegative=isinstance(model, NMF))
    free = {"alpha": 0, "beta": 0} if hasattr(model, "alpha") else {}
    whole = clone(model).set_params(**free).fit(X)
    fitted = streamed(clone(model), pieces(X, size, passes=2))
    assert loss(fitted, X, whole) <= 1.02 * loss(whole, X, whole)
    assert fitted.n_samples_seen_ == 16_000


def test_outliers_do_not_lead_the_parts_astray() -> None:
    """Ordinary samples are fitted as if there were none; by least squares they are not."""
    clean = cone(4000, seed=5)
    alone = streamed(L21SemiNMF(4), pieces(cone(4000), 500))
    robust = streamed(L21SemiNMF(4), pieces(cone(4000, outliers=0.1), 500))
    squares = streamed(SemiNMF(4), pieces(cone(4000, outliers=0.1), 500))
    assert loss(robust, clean, alone) <= 1.03 * loss(alone, clean, alone)
    assert loss(squares, clean, alone) >= 1.3 * loss(alone, clean, alone)


def test_samples_that_are_fitted_exactly_do_not_hold_the_basis() -> None:
    """The first batch has hardly more samples than parts."""
    X = cone(4000, outliers=0.05)
    whole = L21SemiNMF(4, alpha=0, beta=0).fit(X)
    fitted = streamed(L21SemiNMF(4), [X[:6], *pieces(X[6:], 50)])
    assert loss(fitted, X, whole) <= 1.1 * loss(whole, X, whole)


def test_more_batches_bring_it_nearer() -> None:
    X = cone(6000)
    batches = pieces(X, 100)
    early, late = (streamed(L21SemiNMF(4), batches[:count]) for count in (1, 60))
    assert loss(late, X, late) < loss(early, X, late)


def test_forgetting_follows_a_change() -> None:
    before, after = cone(3000), cone(3000)[:, ::-1].copy()
    found = {}
    for factor in (1.0, 0.5):
        model = streamed(L21SemiNMF(4, forgetting=factor), pieces(before, 300))
        found[factor] = loss(streamed(model, pieces(after, 300)), after, model)
    whole = L21SemiNMF(4, alpha=0, beta=0).fit(after)
    assert found[0.5] <= 1.05 * loss(whole, after, whole)
    assert found[1.0] > 1.1 * found[0.5]


def test_sums_are_what_they_say() -> None:
    """After the first batch: the codes and weights of each batch when it came, faded."""
    X, rule = cone(90), streams.basis_rule(nonnegative=False)
    first, second, third = X[:40], X[40:70], X[70:]
    model = L21SemiNMF(4, forgetting=0.5).partial_fit(first)
    weights = np.random.default_rng(0).uniform(0.5, 2, 30)
    weights[3] = 0
    gram = moment = count = typical = None
    for batch, share in ((second, weights), (third, None)):
        basis = model.components_.T
        codes = model.transform(batch)
        lengths = np.linalg.norm(batch - codes @ basis.T, axis=1)
        ours = np.ones(len(batch)) if share is None else share
        middle = streams._middle(lengths, share)
        if gram is None:
            d = 0.5 / np.maximum(model.residuals_, middle)
            gram = model.codes_.T @ (d[:, None] * model.codes_)
            moment, count, typical = basis @ gram, 40.0, middle
        gram, moment, count = 0.5 * gram, 0.5 * moment, 0.5 * count
        typical = (count * typical + ours.sum() * middle) / (count + ours.sum())
        d = ours * 0.5 / np.maximum(lengths, typical)
        gram = gram + codes.T @ (d[:, None] * codes)
        moment, count = moment + batch.T @ (d[:, None] * codes), count + ours.sum()
        model.partial_fit(batch, sample_weight=share)
        memory = model._memory
        np.testing.assert_allclose(memory.gram, gram, rtol=1e-9)
        np.testing.assert_allclose(memory.moment, moment, rtol=1e-9, atol=1e-9)
        assert memory.weight == pytest.approx(count)
        np.testing.assert_allclose(
            model.components_, np.linalg.solve(gram, moment.T), rtol=1e-6, atol=1e-9
        )
    assert model.n_samples_seen_ == 90
    assert type(rule).__name__ == "LeastSquaresBasis"


@models
def test_what_is_there_afterwards(model: str) -> None:
    X = cone(600, nonnegative=model == "NMF")
    fitted = make(model, 4).partial_fit(pieces(X, 200)[0])
    assert not fitted.converged_
    fitted.partial_fit(pieces(X, 200)[1])
    last = pieces(X, 200)[1]
    np.testing.assert_allclose(fitted.codes_, fitted.transform(last), rtol=1e-7, atol=1e-9)
    residuals = np.linalg.norm(last - fitted.inverse_transform(fitted.codes_), axis=1)
    np.testing.assert_allclose(fitted.residuals_, residuals, rtol=1e-9)
    assert fitted.objective_ == pytest.approx(fitted.loss_.total(residuals))
    assert list(fitted.objective_history_) == [fitted.objective_]
    assert (fitted.alpha_, fitted.beta_, fitted.n_iter_, fitted.converged_) == (0, 0, 1, False)
    assert fitted.n_features_in_ == 20
    assert "distance from optimality nan" in fitted._repr_html_()
    if model == "NMF":
        assert fitted.components_.min() >= 0
    # A fit afterwards begins anew.
    with converging_or_not():
        np.testing.assert_array_equal(fitted.fit(X).codes_, make(model, 4).fit(X).codes_)
    assert fitted.n_samples_seen_ == 600


def test_a_penalty_on_the_codes_stays() -> None:
    X = cone(6000)
    whole = L21SemiNMF(4, alpha=0, l1=3e-2).fit(X)
    fitted = streamed(L21SemiNMF(4, l1=3e-2), pieces(X, 500))
    assert fitted.l1_ == pytest.approx(whole.l1_, rel=0.1)
    assert fitted.beta_ == pytest.approx(whole.beta_, rel=0.1)  # grows with the samples

    def value(model: Any) -> float:
        lengths = np.linalg.norm(model.components_, axis=1)
        penalties = whole.l1_ * model.transform(X).sum() + whole.beta_ * lengths.sum()
        return loss(model, X, whole) + float(penalties)

    assert value(fitted) <= 1.02 * value(whole)
    zeros = [(model.transform(X) == 0).mean() for model in (fitted, whole)]
    assert zeros[0] == pytest.approx(zeros[1], abs=0.05)
    batch = pieces(X, 500)[-1]
    expected = fitted.loss_.total(fitted.residuals_) + fitted.l1_ * fitted.codes_.sum()
    expected += fitted.beta_ * 500 / 6000 * np.linalg.norm(fitted.components_, axis=1).sum()
    assert len(fitted.codes_) == len(batch)
    assert fitted.objective_ == pytest.approx(expected)


@models
def test_from_a_fit(model: str) -> None:
    """It counts as its samples: a batch that says the same changes little."""
    nonnegative = model == "NMF"
    X, more = cone(3000, nonnegative=nonnegative), cone(300, 3, nonnegative=nonnegative)
    with converging_or_not():
        fitted = make(model, 4).fit(X)
    before = fitted.components_.copy()
    fitted.partial_fit(more)
    assert fitted.n_samples_seen_ == 3300
    assert fitted.alpha_ == 0
    assert np.abs(fitted.components_ - before).max() <= 0.1 * np.abs(before).max()
    assert (fitted.components_ != before).any()
    # The graph of the fit is gone: codes are those of the sample alone.
    alone = make(model, 4, penalised=False).partial_fit(more)
    assert fitted.transform(more).shape == alone.transform(more).shape
    np.testing.assert_allclose(fitted.transform(more), fitted.codes_, rtol=1e-7, atol=1e-9)


def test_weights_of_a_fit_are_remembered(tmp_path: Path) -> None:
    """Samples of weight two are two samples, also after the model was a file."""
    X, more = cone(300), cone(100, 3)
    doubled = L21SemiNMF(4, alpha=0, beta=0).fit(np.vstack([X, X]))
    weighted = L21SemiNMF(4, alpha=0, beta=0).fit(X, sample_weight=np.full(300, 2.0))
    weighted.save(tmp_path / "model")
    loaded = seminmf.load(tmp_path / "model")
    for model in (doubled, weighted, loaded):
        model.partial_fit(more)
    np.testing.assert_allclose(weighted.components_, doubled.components_, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(loaded.components_, weighted.components_)


def test_weights_of_a_batch() -> None:
    first, batch = cone(200), cone(100, 3)
    plain = L21SemiNMF(4).partial_fit(first).partial_fit(np.vstack([batch, batch]))
    twice = L21SemiNMF(4).partial_fit(first).partial_fit(batch, sample_weight=np.full(100, 2))
    np.testing.assert_allclose(twice.components_, plain.components_, rtol=1e-9)
    weights = np.r_[np.ones(60), np.zeros(40)]
    some = L21SemiNMF(4).partial_fit(first).partial_fit(batch, sample_weight=weights)
    less = L21SemiNMF(4).partial_fit(first).partial_fit(batch[:60])
    np.testing.assert_allclose(some.components_, less.components_, rtol=1e-9)


def test_forms_of_a_batch() -> None:
    X = np.maximum(cone(600), 0)
    dense = streamed(L21SemiNMF(4), [X[:300], X[300:]])
    sparse = streamed(L21SemiNMF(4), [X[:300], sp.csr_array(X[300:])])
    single = streamed(L21SemiNMF(4), [part.astype(np.float32) for part in (X[:300], X[300:])])
    np.testing.assert_allclose(sparse.components_, dense.components_, rtol=1e-9, atol=1e-12)
    assert single.components_.dtype == single.codes_.dtype == np.float32
    one = dense.partial_fit(X[:1])
    assert one.codes_.shape == (1, 4)
    assert one.n_samples_seen_ == 601
    one.partial_fit(np.zeros((3, 20)))  # nothing in them
    assert np.isfinite(one.components_).all()


def test_samples_that_are_fitted_by_the_parts_exactly() -> None:
    X = data(300, 12, rank=3)
    model = streamed(L21SemiNMF(3, tol=0), pieces(X, 50, passes=3))
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.residuals_).all()


def test_a_saved_stream_goes_on(tmp_path: Path) -> None:
    batches = pieces(cone(600), 100)
    model = streamed(L21SemiNMF(4, l1=1e-3, forgetting=0.9), batches[:3])
    model.save(tmp_path / "model")
    again = streamed(seminmf.load(tmp_path / "model"), batches[3:])
    streamed(model, batches[3:])
    np.testing.assert_array_equal(again.components_, model.components_)
    assert again.n_samples_seen_ == model.n_samples_seen_ == 600


@pytest.mark.parametrize("part", ["gram", "moment", "sample_weight"])
def test_a_file_with_a_memory_that_does_not_fit(part: str) -> None:
    """Compiled loops would read beyond its end."""
    X = cone(200)
    model = streamed(L21SemiNMF(4), [X[:100], X[100:]])
    state = model._saved_state()
    if part == "sample_weight":
        state["stream"]["sample_weight"] = np.ones(99)
    else:
        state["stream"]["memory"][part] = state["stream"]["memory"][part][:3]
    with pytest.raises(ValueError, match="does not fit"):
        L21SemiNMF(4)._restore_state(state)


def test_a_stream_is_no_run() -> None:
    """Neither callback nor checkpoint nor a given graph has a part in it."""
    seen: list[Any] = []
    X = cone(200)
    graph = sp.csr_array((50, 50))
    model = L21SemiNMF(4, callback=seen.append, checkpoint="never made", graph=graph)
    streamed(model, [X[:100], X[100:]])
    assert not seen
    assert not Path("never made").exists()


# --- what is refused ------------------------------------------------------------------------------


@models
def test_batches_that_do_not_fit(model: str) -> None:
    X = cone(100, nonnegative=model == "NMF")
    with pytest.raises(ValueError, match=r"first batch has 3 samples, fewer than n_components=4"):
        make(model, 4).partial_fit(X[:3])
    with pytest.raises(ValueError, match="0 sample"):
        make(model, 4).partial_fit(X[:0])
    fitted = make(model, 4).partial_fit(X)
    before = fitted.components_.copy()
    with pytest.raises(ValueError, match="0 sample"):
        fitted.partial_fit(X[:0])
    with pytest.raises(ValueError, match=r"19 features, but .* is expecting 20 features"):
        fitted.partial_fit(X[:, :19])
    bad = X[:10].copy()
    bad[2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted.partial_fit(bad)
    with pytest.raises(ValueError, match="outside the range of float64"):
        fitted.partial_fit(X * 1e200)
    with pytest.raises(ValueError, match="at least one non-zero number"):
        fitted.partial_fit(X, sample_weight=np.zeros(100))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        fitted.partial_fit(X, sample_weight=-np.ones(100))
    if model == "NMF":
        with pytest.raises(ValueError, match="Negative values in data"):
            fitted.partial_fit(-X)
    np.testing.assert_array_equal(fitted.components_, before)
    assert fitted.n_samples_seen_ == 100


def test_parts_beyond_the_range_of_numbers_are_refused() -> None:
    """Of too many parts some are hardly used, and may be thousands of times as long as X."""
    refused = 0
    for seed in range(250, 275):
        rng = np.random.default_rng(seed)
        X = (1e35 * np.outer(rng.random(33), rng.normal(size=7))).astype(np.float32)
        fitted = SemiNMF(8, random_state=0)
        for batch in (X[:11], X[11:22], X[22:]):
            before = vars(fitted).copy()
            try:
                fitted.partial_fit(batch)
            except ValueError as error:
                refused += "components_ are beyond the range of float32" in str(error)
                assert vars(fitted) == before
            else:
                assert np.isfinite(fitted.components_).all()
    assert refused > 0


@pytest.mark.parametrize("bad", [0, -0.5, 1.5, np.nan, "none", True, None])
def test_forgetting(bad: Any) -> None:
    with pytest.raises(ValueError, match="forgetting must be a number above 0 and not above 1"):
        SemiNMF(3, forgetting=bad).partial_fit(cone(50))


def test_parameters_are_checked_at_the_first_batch() -> None:
    with pytest.raises(ValueError, match="max_iter must be"):
        SemiNMF(3, max_iter=0).partial_fit(cone(50))
    with pytest.raises(ValueError, match="n_components must be"):
        SemiNMF(0).partial_fit(cone(50))
    with pytest.raises(ValueError, match="tol must be"):
        SemiNMF(3, tol=-1).partial_fit(cone(50))
