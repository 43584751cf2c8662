"""The page of a model, second round: advice, data, uses of parts, gaps, wrappers, a true recipe."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from helpers import converging_or_not, data
from seminmf import NMF, FactorKMeans, L21SemiNMF, SemiNMF, Standardized, load, report
from seminmf._words import counted, plural
from seminmf.cli import app
from seminmf.datasets import make_waveform
from seminmf.io import read_table
from seminmf.metrics import majority_accuracy
from seminmf.reporting.model.advice import advice
from seminmf.reporting.model.drawing import histogram
from seminmf.reporting.model.findings import Findings, find
from seminmf.reporting.model.markup import middle
from seminmf.reporting.model.subject import checked_subject
from seminmf.reporting.unwrapping import unwrap


def text_of(page: str) -> str:
    """What stands on a page, without its markup, boxes apart."""
    bare = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    bare = re.sub(r"</?(?:bdi|code|strong)[^>]*>", "", bare)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " | ", bare)).split())


def program_of(page: str) -> str:
    found = re.search(r'id="recipe"><code>(.*?)</code>', page, flags=re.DOTALL)
    assert found
    return html.unescape(found[1])


def found_of(model: Any, X: Any, **options: Any) -> Findings:
    return find(checked_subject(model, X, **options))


# Words


@pytest.mark.filterwarnings("ignore:All outlier scores are rounding")
def test_one_is_not_many() -> None:
    assert counted(1, "row") == "1 row"
    assert counted(1200, "row") == "1,200 rows"
    assert plural(0, "part") == "parts"
    X = np.arange(1.0, 13)[:, None]
    page = report(SemiNMF(1, random_state=0).fit(X), X).html
    assert not re.search(
        r"\b1 (samples|features|parts|clusters|columns|iterations)\b", text_of(page)
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: majority_accuracy(["a"], ["a", "b"]), "y has 1 entry and"),
        (lambda: majority_accuracy(["a", None], ["a", "b"]), "y has 1 missing label,"),
        (
            lambda: SemiNMF(2).fit(np.eye(4)).inverse_transform(np.ones((2, 1))),
            "X has 1 column, but",
        ),
    ],
)
def test_messages_know_the_singular(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_names_are_shortened_in_the_middle() -> None:
    assert middle("short", 10) == "short"
    short = middle("chr12:92115848-93458871|ENSG00000139618.4|isoform_17", 30)
    assert len(short) == 30
    assert short.startswith("chr12:92115848")
    assert short.endswith("isoform_17")


def test_a_report_says_what_it_is() -> None:
    X = data(30, 4)
    page = report(SemiNMF(2, random_state=0).fit(X), X, title='"Cells" & more')
    assert repr(page).startswith("<Report '\"Cells\" & more', 0.")
    assert "<!DOCTYPE" not in repr(page)


# Wrappers


@pytest.mark.parametrize("last", [SemiNMF(3, random_state=0), FactorKMeans(SemiNMF(3), 2, 0)])
def test_a_pipeline_has_a_page(last: Any) -> None:
    X = pd.DataFrame(data(60, 5) * [1, 10, 100, 1e4, 1], columns=list("abcde"))
    X.iloc[3, 2] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), last).fit(X)
    page = report(model, X).html
    assert "60 samples of 5 features" in page
    assert "<bdi>d</bdi>" in page
    assert "before it was scaled" in page
    assert "1 value" in text_of(page)  # the gap
    assert "Scales differ" not in page  # the pipeline has seen to that
    other = make_pipeline(StandardScaler(), PCA(2)).fit(X.fillna(0))
    with pytest.raises(TypeError, match="PCA has no codes_"):
        report(other, X.fillna(0))


def test_a_pipeline_that_begins_with_texts() -> None:
    topics = [["tree", "leaf", "root"], ["star", "moon", "sun"]]
    words = [" ".join(topics[i % 2][: 1 + i % 3]) for i in range(40)]
    with converging_or_not():
        model = make_pipeline(TfidfVectorizer(), SemiNMF(2, random_state=0)).fit(words)
        page = report(model, words).html
    assert "<bdi>moon</bdi>" in page
    assert "40 samples of 6 features" in page


def test_a_factorization_behind_a_pipeline_in_factor_kmeans() -> None:
    X = data(50, 4)
    inner = make_pipeline(StandardScaler(), SemiNMF(3, random_state=0))
    model = FactorKMeans(inner, 2, random_state=0).fit(X)
    found = found_of(model, X)
    assert len(found.clusters) == 2
    np.testing.assert_allclose(found.subject.X.mean(axis=0), 0, atol=1e-12)


def test_a_standardized_model_shows_the_table_as_it_was() -> None:
    X = data(60, 4) * [1, 1, 1, 1000]
    model = Standardized(SemiNMF(2, random_state=0)).fit(X)
    found = found_of(model, X)
    np.testing.assert_allclose(found.overview.columns.spread, X.std(axis=0))
    np.testing.assert_allclose(found.subject.X.std(axis=0), 1)


# Labels with gaps


@pytest.mark.parametrize("absent", [None, np.nan, pd.NA])
def test_labels_may_have_gaps(absent: Any) -> None:
    X, kinds = make_waveform(120, random_state=0)
    labels = np.array(["a", "b", "c"], dtype=object)[kinds]
    labels[:20] = absent
    model = FactorKMeans(L21SemiNMF(4), random_state=0).fit(X)
    found = found_of(model, X, labels=labels)
    assert found.agreement is not None
    assert found.agreement.counts.sum() == 100
    expected = majority_accuracy(labels[20:].astype(str), model.labels_[20:])
    assert found.agreement.accuracy == expected
    page = report(model, X, labels=labels).html
    assert "20 samples have no label" in page
    assert 'class="swatch ln"' in page


def test_numbers_as_labels_may_have_gaps() -> None:
    X = data(30, 4)
    model = SemiNMF(2, random_state=0).fit(X)
    found = found_of(model, X, labels=[1.0] * 15 + [2.0] * 14 + [np.nan])
    assert found.subject.labels is not None
    assert found.subject.labels.names == ("1.0", "2.0")
    assert found.subject.label(29) == "no label"


# Advice


def told(model: Any, X: Any, **options: Any) -> str:
    return text_of(" ".join(advice(found_of(model, X, **options))))


def test_scales_and_ids_are_told() -> None:
    X = pd.DataFrame(data(80, 4), columns=["height", "weight", "row", "price"])
    X["row"], X["price"] = np.arange(80) + 7.0, 1e4 * X["price"]
    words = told(SemiNMF(2, random_state=0).fit(X), X)
    assert re.search(r"price is spread [\d,]+ times as widely as (height|weight)", words)
    assert "--standardize scale" in words
    assert "row looks like ids" in words
    words = told(Standardized(SemiNMF(2, random_state=0)).fit(X), X)
    assert "Scales differ" not in words
    X["flat"] = 3.0
    words = told(Standardized(SemiNMF(2, random_state=0)).fit(X), X)
    assert "flat has the same value in every sample" in words


@pytest.mark.filterwarnings("ignore:All outlier scores are rounding")
def test_the_share_explained_is_told_against_the_number_of_parts(rng: Any) -> None:
    X = rng.normal(size=(200, 8)) @ rng.normal(size=(8, 20))
    few = told(SemiNMF(3, random_state=0).fit(X), X)
    share = re.search(r"any 3 directions at most (\d+) %, twice as many up to (\d+) %", few)
    assert share
    squares = np.linalg.svd(X, compute_uv=False) ** 2
    assert int(share[1]) == pytest.approx(100 * squares[:3].sum() / squares.sum(), abs=0.51)
    assert int(share[2]) == pytest.approx(100 * squares[:6].sum() / squares.sum(), abs=0.51)
    assert "More parts" not in told(SemiNMF(9, random_state=0).fit(X), X)


def test_a_mean_that_hides_what_samples_differ_in_is_told() -> None:
    X, _ = make_waveform(200, random_state=0)
    assert "A common mean" not in told(SemiNMF(3, random_state=0).fit(X), X)
    X += 50
    model = SemiNMF(3, random_state=0).fit(X)
    mean = len(X) * (X.mean(axis=0) ** 2).sum() / (X**2).sum()
    explained = 1 - (model.residuals_**2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    words = told(model, X)
    assert f"A common mean. {100 * mean:.1f} % of the squares" in words
    assert f"explain {100 * explained:.0f} % of what they differ in" in words
    assert "--standardize center" in words
    centred = Standardized(SemiNMF(3, random_state=0), how="center").fit(X)
    assert "A common mean" not in told(centred, X)
    # Its samples have to stay above zero.
    assert "A common mean" not in told(NMF(3, random_state=0).fit(X), X)


def test_what_holds_parts_back_is_told_apart(rng: Any) -> None:
    X = rng.normal(size=(300, 3)) * [3.0, 2.9, 0.1]
    free = told(L21SemiNMF(2, random_state=0).fit(X), X)
    assert "One more part? 2 directions can explain 100 %" in free
    assert "try 3 (n_components, -k)" in free
    assert "penalties" not in free
    assert "One more part" not in told(L21SemiNMF(3, random_state=0).fit(X), X)
    X = make_waveform(200, random_state=0)[0]
    held = told(L21SemiNMF(4, strength=0.1, random_state=0).fit(X), X)
    best = np.cumsum(np.linalg.svd(X, compute_uv=False) ** 2) / (X**2).sum()
    assert f"Held back. 4 parts can explain {100 * best[2]:.0f} % of the squares and more" in held
    # These have no penalties, and no such bound.
    positive = NMF(2, random_state=0).fit(np.abs(X))
    assert "Held back" not in told(positive, np.abs(X))


def test_as_many_parts_as_columns_are_told() -> None:
    X = data(60, 4)
    assert "4 parts for 4 columns can describe" in told(SemiNMF(4, tol=0, max_iter=9).fit(X), X)
    assert "As many parts" not in told(SemiNMF(3, tol=0, max_iter=9).fit(X), X)


def test_what_else_speaks_against_a_fit() -> None:
    X = make_waveform(120, random_state=0)[0]
    with converging_or_not():
        early = SemiNMF(6, max_iter=1, init="random", random_state=0).fit(X)
    assert "ended after 1 iteration; raise max_iter" in told(early, X)
    model = L21SemiNMF(6, strength=0.1, random_state=0).fit(X)
    off = 6 - model.n_active_
    assert off > 0
    assert f"{off} of 6 parts are zero; n_components={model.n_active_}" in told(model, X)
    model = SemiNMF(3, random_state=0).fit(X)
    model.stability_ = np.array([0.99, 0.3, 0.95])
    assert "Part 1 did not come back from random starts" in told(model, X)
    model.stability_ = np.full(3, 0.99)
    page = report(model, X).html
    assert "Nothing was found that speaks against this fit" in page


# Who uses which part


def test_uses_are_means_over_clusters_and_labels() -> None:
    X, kinds = make_waveform(150, random_state=0)
    model = FactorKMeans(L21SemiNMF(4, strength=1e-3), 3, random_state=0).fit(X)
    page = report(model, X, labels=np.array(["x", "y", "z"])[kinds]).html
    weights = model.factorizer_.codes_ * np.linalg.norm(model.factorizer_.components_, axis=1)
    shares = 100 * weights / weights.sum(axis=1, keepdims=True)
    tables = re.findall(r'<table class="heat.*?</table>', page, flags=re.DOTALL)
    assert len(tables) == 2
    for groups, shown in ((model.labels_, tables[0]), (kinds, tables[1])):
        rows = re.findall(r'<th scope="row">Part (\d+)</th>(.*?)</tr>', shown)
        assert sorted(int(j) for j, _ in rows) == [0, 1, 2, 3]
        for j, cells in rows:
            shown = re.findall(r"<td[^>]*>(.*?)</td>", cells)
            numbers = [float(cell.replace("·", "0")) for cell in shown]
            expected = [shares[groups == g, int(j)].mean() for g in range(3)]
            np.testing.assert_allclose(numbers, expected, atol=0.51)


# The data


def test_the_data_are_shown_with_their_gaps(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    frame = pd.DataFrame(np.round(data(40, 3), 3), columns=["height", "weight", "age"])
    frame.loc[5, "weight"] = np.nan
    frame.insert(0, "name", [f"person {i}" for i in range(40)])
    frame.to_csv(path, index=False)
    table = read_table(str(path), id="name", missing="median")
    page = report(FactorKMeans(SemiNMF(2), random_state=0).fit(table.X), table).html
    words = text_of(page)
    assert "<h1><bdi>people.csv</bdi></h1>" in page
    assert "1 value, filled" in words
    assert "person 17" in page
    assert table.record.sha256 is not None
    assert table.record.sha256 in page
    columns = re.search(r'<table class="columns-table">.*?</table>', page, flags=re.DOTALL)
    assert columns
    row = re.search(r"<bdi>weight</bdi></th>(.*?)</tr>", columns[0])
    assert row
    assert row[1].endswith("<td>1</td>")


# The recipe


@pytest.mark.parametrize(
    "options",
    [
        ["--standardize", "scale", "--fill", "median", "--model", "graph"],
        ["--drop-missing", "--seed", "5", "--clusters", "3", "--title", "A title"],
        ["--fill", "median"],
    ],
    ids=["scaled and filled", "rows left out", "filled"],
)
def test_the_program_on_the_page_makes_the_model_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    X, kinds = make_waveform(90, random_state=0)
    X = X[:, :6] * [1, 1, 50, 1, 1, 1]
    X[::7, 2] = np.nan
    frame = pd.DataFrame(np.round(X, 4), columns=[f"t{i}" for i in range(6)])
    frame.insert(0, "sample", [f"s{i}" for i in range(90)])
    frame["kind"] = np.array(["a", "b", "c"])[kinds]
    path = tmp_path / "waves.csv"
    frame.to_csv(path, index=False)
    out = tmp_path / "result"
    named = ["--labels", "kind", "--id", "sample", "--out", str(out)]
    arguments = ["fit", str(path), "-k", "4", *named]
    monkeypatch.setattr(sys, "argv", ["seminmf", *arguments, *options])
    answer = CliRunner().invoke(app, [*arguments, *options])
    assert answer.exit_code == 0, answer.output
    page = (out / "report.html").read_text("utf-8")
    program = program_of(page)
    assert f"# seminmf fit {path} -k 4" in program
    assert "SHA-256" in program
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    names: dict[str, Any] = {}
    exec(program, names)
    both = unwrap(load(out / "model.seminmf")), unwrap(names["model"])
    np.testing.assert_array_equal(*(inner.factorizer.codes_ for inner in both))
    np.testing.assert_array_equal(*(inner.factorizer.components_ for inner in both))
    np.testing.assert_array_equal(*(inner.clusters.labels_ for inner in both))
    written = (elsewhere / "report.html").read_text("utf-8")
    title = re.compile(r"<h1>.*?</h1>")
    assert title.findall(written) == title.findall(page)
    assert "callback" not in text_of(page)


def test_the_title_is_the_name_of_the_file(tmp_path: Path) -> None:
    frame = pd.DataFrame(make_waveform(40, random_state=0)[0]).add_prefix("t")
    frame.to_csv(tmp_path / "my-waves.csv", index=False)
    words = ["fit", str(tmp_path / "my-waves.csv"), "-k", "3", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, words).exit_code == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "<h1><bdi>my-waves.csv</bdi></h1>" in page


def test_parts_and_colours_are_the_same_on_pages_plots_and_in_files(tmp_path: Path) -> None:
    """Parts are counted from 0; clusters are of one colour wherever they are shown."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from matplotlib.colors import to_hex

    from seminmf.plotting import plot_codes, plot_parts

    X = data(60, 9)
    model = FactorKMeans(L21SemiNMF(3), random_state=0).fit(X)
    page = report(model, X).html
    parts = [f"part {j}" for j in range(3)]
    assert [part.lower() for part in re.findall(r"<h3>(Part \d)", page)] == parts
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in plot_parts(model)]
    assert [re.findall(r"part \d", title.lower())[0] for title in titles] == parts
    frame = pd.DataFrame(X).add_prefix("t")
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", str(tmp_path / "t.csv"), "-k", "3", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, words).exit_code == 0
    codes = pd.read_csv(tmp_path / "out" / "codes.csv")
    assert [name.replace("_", " ") for name in codes.columns[1:]] == parts
    drawn = [to_hex(c.get_facecolor()[0]) for c in plot_codes(model).collections[::2]]
    shown = [re.findall(rf"--cat-{i}: light-dark\((#\w+)", page)[0] for i in range(3)]
    assert drawn == shown
    pyplot.close("all")


def test_the_parameters_of_a_loss_are_named() -> None:
    from seminmf import RobustSemiNMF
    from seminmf.losses import Huber

    X = data(40, 5)
    model = RobustSemiNMF(2, loss=Huber(2.5), random_state=0).fit(X)
    page = report(model, X).html
    program = program_of(page)
    assert "from seminmf.losses import Huber" in program
    assert re.search(r"loss=Huber\(\s*\w+=2\.5,\s*\)", program)
    assert re.search(r"<code>Huber\(\w+=2\.5\)</code>", page)


def test_a_fit_that_went_on_is_not_claimed_to_come_back() -> None:
    X = data(40, 5)
    model = SemiNMF(2, warm_start=True, random_state=0)
    with converging_or_not():
        model.fit(X).fit(X)
        assert "went on from an earlier one" in report(model, X).html


def test_weights_of_samples_are_part_of_the_recipe() -> None:
    X, weights = data(40, 5), np.linspace(1, 2, 40)
    with converging_or_not():
        model = SemiNMF(2, random_state=0).fit(X, sample_weight=weights)
        program = program_of(report(model, X).html)
    assert "model.fit(X, sample_weight=sample_weight)" in program


@pytest.mark.parametrize("threshold", [1.5, 3.0, 5.5])
def test_the_name_of_the_threshold_covers_no_bar(threshold: float) -> None:
    drawn = histogram(3 + np.random.default_rng(0).normal(size=1000), threshold)
    name = float(re.findall(r'class="fence-name" x="[^"]*" y="([^"]*)"', drawn)[0])
    assert name < min(float(y) for y in re.findall(r'<rect [^>]*y="([^"]*)"', drawn))
