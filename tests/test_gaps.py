"""Gaps: what stands in their place belongs to the fit, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from seminmf import FactorKMeans, L21SemiNMF, SemiNMF, Standardized, cli, load
from seminmf.datasets import make_waveform
from seminmf.models.gaps import column_medians, filled

pd = pytest.importorskip("pandas")
runner = CliRunner()
NAMES = [f"t{i}" for i in range(21)]


def invoke(*words: object, code: int = 0) -> Any:
    result = runner.invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "400"})
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result


def samples() -> Any:
    X = make_waveform(80, random_state=0)[0]
    X[[3, 7, 8], [0, 5, 5]] = np.nan
    X[11, 2] = np.inf
    return X


def test_medians_are_those_of_the_finite_values() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 40)) * (rng.random((41, 40)) < 0.6)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 7] = np.nan
    expected = [np.nan if np.isnan(c).all() else np.nanmedian(c) for c in X.T]
    assert np.array_equal(column_medians(X), expected, equal_nan=True)
    assert np.array_equal(column_medians(sp.csr_array(X)), expected, equal_nan=True)
    whole = rng.normal(size=(30, 35))
    assert np.array_equal(column_medians(whole), np.median(whole, axis=0))
    fills = np.arange(40.0)
    expected_X = np.where(np.isnan(X), fills, X)
    assert np.array_equal(filled(X, fills), expected_X)
    assert np.array_equal(filled(sp.csr_array(X), fills).toarray(), expected_X)
    assert np.isnan(X).any()


@pytest.mark.parametrize("how", ["none", "scale"])
def test_fills_are_learned_in_the_fit_and_saved(how: Any, tmp_path: Path) -> None:
    X = samples()
    model = Standardized(FactorKMeans(SemiNMF(3), random_state=0), how, fill="median").fit(X)
    whole = np.where(np.isfinite(X), X, np.nan)
    medians = np.nanmedian(whole, axis=0)
    assert np.array_equal(model.fill_, medians)
    by_hand = np.where(np.isfinite(X), X, medians)
    same = Standardized(FactorKMeans(SemiNMF(3), random_state=0), how).fit(by_hand)
    assert np.array_equal(model.model_.factorizer_.codes_, same.model_.factorizer_.codes_)
    row = X[:1].copy()
    row[0, 4] = np.nan
    model.save(tmp_path / "m.seminmf")
    loaded = load(tmp_path / "m.seminmf")
    expected = same.transform(np.where(np.isfinite(row), row, medians))
    assert np.array_equal(loaded.transform(row), expected)
    assert loaded.predict(row).shape == (1,)
    with pytest.raises(ValueError, match=r"Standardized\(model, how=\"none\", fill=\"median\"\)"):
        same.transform(row)


def test_a_column_without_values_is_named() -> None:
    X = samples()
    X[:, 6] = np.nan
    with pytest.raises(ValueError, match="Column 6 of X has no finite value"):
        Standardized(SemiNMF(2), fill="median").fit(X)
    with pytest.raises(ValueError, match="Column 't6' of X"):
        Standardized(SemiNMF(2), fill="median").fit(pd.DataFrame(X, columns=NAMES))
    with pytest.raises(ValueError, match="fill must be one of 'median'"):
        Standardized(SemiNMF(2), fill="mean").fit(X)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make", [lambda X: X, sp.csr_array, lambda X: pd.DataFrame(X, columns=NAMES)]
)
def test_the_error_about_nan_names_our_remedy(make: Any) -> None:
    X = samples()
    for model in (SemiNMF(2), FactorKMeans(SemiNMF(2)), Standardized(SemiNMF(2)), L21SemiNMF(2)):
        with pytest.raises(ValueError, match=r"X has 4 values that are NaN or infinity") as caught:
            model.fit(make(X))
        assert "in row 3, column" in str(caught.value)
        assert 'Standardized(model, how="none", fill="median")' in str(caught.value)


def table(path: Path, X: Any) -> Path:
    pd.DataFrame(X, columns=NAMES).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("options", [[], ["--standardize", "scale"]])
def test_transform_fills_with_the_medians_of_the_fit(options: list[str], tmp_path: Path) -> None:
    X = samples()
    data, out = table(tmp_path / "t.csv", X), tmp_path / "out"
    said = invoke("fit", data, "-k", 3, "--fill", "median", "--out", out, *options).output
    assert "Filled 4 missing values with the median of the column." in said
    run = json.loads((out / "run.json").read_text())
    medians = np.nanmedian(np.where(np.isfinite(X), X, np.nan), axis=0)
    assert run["data"]["gaps"] == {"t0": 1, "t2": 1, "t5": 2}
    assert run["data"]["fills"] == {f"t{i}": medians[i] for i in (0, 2, 5)}
    assert run["data"]["values_filled"] == 4
    row = X[20:21].copy()
    row[0, 1] = np.nan  # a column that had no gap in the fit
    one, whole = table(tmp_path / "one.csv", row), row.copy()
    whole[0, 1] = medians[1]
    expected = load(out / "model.seminmf").model_.factorizer_
    for words in (["--fill", "median"], []):
        said = invoke("transform", out, one, "--out", tmp_path / "codes.npy", *words).output
        assert "Filled 1 missing value with the median of the column in the fit." in said
        found = np.load(tmp_path / "codes.npy")
        scaled = load(out / "model.seminmf").standardize(whole)
        assert np.array_equal(found, expected.transform(scaled))
    said = invoke("cluster", out, one, "--out", tmp_path / "clusters.csv").output
    assert "Filled 1 missing value" in said
    assert invoke("report", out).exit_code == 0


def test_a_model_without_gaps_fills_those_of_new_samples(tmp_path: Path) -> None:
    X = make_waveform(80, random_state=0)[0]
    data, out = table(tmp_path / "t.csv", X), tmp_path / "out"
    invoke("fit", data, "-k", 3, "--out", out)
    row = X[20:21].copy()
    row[0, 1] = np.nan
    one = table(tmp_path / "one.csv", row)
    assert "--fill median" in invoke("transform", out, one, code=2).stderr
    invoke("transform", out, one, "--fill", "median", "--out", tmp_path / "codes.npy")
    row[0, 1] = np.median(X[:, 1])
    expected = load(out / "model.seminmf").factorizer_.transform(row)
    assert np.array_equal(np.load(tmp_path / "codes.npy"), expected)
    # One that was saved in Python knows no medians.
    load(out / "model.seminmf").save(tmp_path / "m.seminmf")
    error = invoke("transform", tmp_path / "m.seminmf", one, "--fill", "median", code=2).stderr
    assert "fit it again with --fill median" in error
