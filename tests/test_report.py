"""The report of a model: what it finds, how it is written, and what it refuses."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import converging_or_not, data
from seminmf import (
    NMF,
    FactorKMeans,
    GraphSemiNMF,
    L21SemiNMF,
    Report,
    RobustSemiNMF,
    SemiNMF,
    Standardized,
    report,
)
from seminmf.datasets import add_outliers, make_waveform
from seminmf.embedding import FRAME
from seminmf.losses import Huber, SquaredNorm
from seminmf.metrics import majority_accuracy, majority_labels, nmi
from seminmf.models.clustering import find_clusters
from seminmf.outliers import outlier_threshold
from seminmf.reporting.model import markup, pictures, plane
from seminmf.reporting.model.again import recipe, value_text
from seminmf.reporting.model.drawing import bar, histogram, line, profile, ticks
from seminmf.reporting.model.findings import Findings, find
from seminmf.reporting.model.page import compose, page_style
from seminmf.reporting.model.subject import checked_subject
from seminmf.reporting.unwrapping import unwrap
from seminmf.solve.projection import Projector

Array = np.ndarray[Any, Any]
LIMIT = 6_000_000
WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "</script><script>window.hacked = 1</script>",
    "' onmouseover='window.hacked = 1",
    "<!-- & ]]> \u2028 \u202e naïve 数据 🙂 \x00 \ud800",
)


@pytest.fixture(scope="module")
def signals() -> tuple[Array, Array, Array]:
    X, kinds = make_waveform(400, random_state=0)
    X, corrupted = add_outliers(X, 0.1, random_state=0)
    return X, np.array(["a", "b", "c"])[kinds], corrupted


@pytest.fixture(scope="module")
def clustering(signals: tuple[Array, Array, Array]) -> FactorKMeans:
    return FactorKMeans(L21SemiNMF(5), random_state=0).fit(signals[0])


@pytest.fixture(scope="module")
def found(signals: tuple[Array, Array, Array], clustering: FactorKMeans) -> Findings:
    return find(checked_subject(clustering, signals[0], labels=signals[1]))


def fitted(X: Any, codes: Array, parts: Array, **more: Any) -> SemiNMF:
    """A model as if it had been fitted, to see a report of what is rare."""
    model = SemiNMF(codes.shape[1])
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    residuals = np.linalg.norm(dense - codes @ parts, axis=1)
    values = {
        "codes_": codes, "components_": parts, "residuals_": residuals, "converged_": True,
        "objective_history_": np.array([3.0, 2.0]), "objective_": 2.0, "n_iter_": 2,
        "kkt_residual_": 0.1, "alpha_": 0.0, "beta_": 0.0, "n_features_in_": parts.shape[1],
        "n_active_": len(parts), "loss_": SquaredNorm(), "_projector": Projector(parts.T),
    }  # fmt: skip
    for name, value in (values | more).items():
        setattr(model, name, value)
    return model


def invented(
    n: int, m: int, k: int, seed: int = 0, outliers: float = 0.01
) -> tuple[Array, SemiNMF]:
    """Samples of a model with some outliers, without the time of a fit."""
    rng = np.random.default_rng(seed)
    codes, parts = rng.gamma(1.0, 1.0, (n, k)), rng.normal(size=(k, m))
    X = codes @ parts + 0.1 * rng.normal(size=(n, m))
    X[rng.random(n) < outliers] += 10 * rng.normal(size=m)
    return X, fitted(X, codes, parts)


class Reader(HTMLParser):
    """What a browser would see of a page: elements with their attributes, and their text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def samples_of(page: str) -> dict[str, Any]:
    block = re.search(r'<script type="application/json" id="samples">(.*?)</script>', page)
    assert block
    loaded: dict[str, Any] = json.loads(block[1])
    return loaded


# What is found


def test_the_share_explained_and_the_outliers(
    found: Findings, signals: tuple[Array, Array, Array], clustering: FactorKMeans
) -> None:
    X, _, corrupted = signals
    model = clustering.factorizer_
    misfit = ((X - model.codes_ @ model.components_) ** 2).sum(axis=1)
    assert found.explained == pytest.approx(1 - misfit.sum() / (X**2).sum())
    scores = model.outlier_scores(X)
    inside = scores <= outlier_threshold(scores)
    assert found.explained_inside == pytest.approx(
        1 - misfit[inside].sum() / (X[inside] ** 2).sum()
    )
    assert found.explained_inside > found.explained
    outliers = found.outliers
    np.testing.assert_array_equal(outliers.flagged, ~inside)
    assert outliers.flagged[corrupted].all()
    assert outliers.flagged[~corrupted].mean() < 0.01  # false alarms, about one in 200
    worst = np.sort(scores)[::-1][:20]
    np.testing.assert_array_equal(scores[outliers.ranked], worst)
    assert outliers.ratio(int(outliers.ranked[0])) == worst[0] / np.median(scores)
    assert found.usage.sum() == pytest.approx(1)


def test_typical_samples_are_nearest_to_the_centre(
    found: Findings, clustering: FactorKMeans
) -> None:
    codes, centres = clustering.factorizer_.codes_, clustering.cluster_centers_
    for cluster in found.clusters:
        member = (clustering.labels_ == cluster.number) & ~found.outliers.flagged
        steps = (codes - centres[cluster.number]) @ clustering.factorizer_.components_
        distance = np.linalg.norm(steps, axis=1)
        np.testing.assert_allclose(distance[cluster.most], np.sort(distance[member])[:5])
        np.testing.assert_allclose(distance[cluster.least], np.sort(distance[member])[::-1][:5])
        assert cluster.size == (clustering.labels_ == cluster.number).sum()
        assert cluster.outliers == cluster.size - member.sum()
        # A code times the length of its part is what the part contributes.
        lengths = np.linalg.norm(clustering.factorizer_.components_, axis=1)
        assert cluster.parts[0] == (centres[cluster.number] * lengths).argmax()
    assert sum(cluster.size for cluster in found.clusters) == 400


def test_agreement_with_the_labels(
    found: Findings, signals: tuple[Array, Array, Array], clustering: FactorKMeans
) -> None:
    y, agreement = signals[1], found.agreement
    assert agreement is not None
    assert agreement.accuracy == majority_accuracy(y, clustering.labels_)
    assert agreement.nmi == nmi(y, majority_labels(y, clustering.labels_))
    assert agreement.accuracy_inside > agreement.accuracy
    expected = pd.crosstab(y, clustering.labels_).to_numpy()
    np.testing.assert_array_equal(agreement.counts, expected)


def test_a_bare_factorization_is_clustered_as_factor_kmeans_does(
    signals: tuple[Array, Array, Array],
) -> None:
    X = signals[0]
    model = L21SemiNMF(4, random_state=0).fit(X)
    result = find(checked_subject(model, X))
    expected = find_clusters(model, model.codes_, 4, 0)
    np.testing.assert_array_equal(result.cluster_of, expected.partition.labels)
    assert result.cluster_seed == 0
    assert result.agreement is None
    page = compose(result)
    assert "FactorKMeans</code> finds" in page
    assert 'id="by-label"' not in page


def test_fewer_different_codes_than_clusters() -> None:
    codes = np.repeat(np.eye(3)[:2], [4, 4], axis=0)
    X = codes @ np.arange(12.0).reshape(3, 4)
    result = find(checked_subject(fitted(X, codes, np.arange(12.0).reshape(3, 4)), X))
    assert len(result.clusters) == 2
    assert "2 clusters" in compose(result)


def test_a_cluster_of_outliers_alone_has_typical_samples_too() -> None:
    rng = np.random.default_rng(0)
    codes = np.vstack([rng.uniform(0, 1, (30, 2)), [[50.0, 50.0]]])
    parts = rng.normal(size=(2, 5))
    X = codes @ parts + rng.normal(size=(31, 5))
    X[30] += 100
    model = FactorKMeans(SemiNMF(2), 2, random_state=0)
    model.factorizer_ = fitted(X, codes, parts)
    model.labels_ = np.repeat([0, 1], [30, 1])
    model.cluster_centers_ = np.array([[0.5, 0.5], [50.0, 50.0]])
    model.kmeans_, model.n_features_in_ = None, 5
    alone = find(checked_subject(model, X)).clusters[1]
    assert alone.most.tolist() == [30]
    assert alone.least.tolist() == []
    assert "1 sample, 1 outlier" in report(model, X).html


# The map


def test_far_outliers_do_not_squeeze_the_map() -> None:
    rng = np.random.default_rng(0)
    codes = np.abs(rng.normal(size=(300, 4)))
    codes[:3] += 1000
    flagged = np.arange(300) < 3
    X = codes @ np.eye(4)
    drawn = plane.lay_out(
        fitted(X, codes, np.eye(4)), np.ones(300), flagged, np.zeros(300, int), np.arange(2)
    )
    assert drawn.complete
    dots = drawn.codes
    assert set(drawn.drawn[dots.beyond]) == {0, 1, 2}
    assert drawn.drawn[-3:].min() < 3  # on top
    inside = dots.places[~dots.beyond]
    assert (np.ptp(inside, axis=0) > 0.8 * FRAME).all()
    for layout in (dots, drawn.neighbours):
        assert layout.places.min() >= 0
        assert (layout.places <= FRAME).all()


def test_page_and_plot_have_the_same_map(found: Findings, clustering: FactorKMeans) -> None:
    plotting = pytest.importorskip("seminmf.plotting")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    for layout, dots in (("codes", found.plane.codes), ("neighbours", found.plane.neighbours)):
        axes = plotting.plot_codes(clustering, layout=layout)
        (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
        seen = np.concatenate([c.get_offsets().data for c in axes.collections])
        seen = (seen - [x0, y0]) / [x1 - x0, y1 - y0] * FRAME
        both = [np.round(places, 3) for places in (seen, dots.places)]
        ordered = [places[np.lexsort(places.T)] for places in both]
        np.testing.assert_allclose(*ordered, atol=0.002)
        matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("k", "axes"),
    [
        (1, ("code of part 0", "residual")),
        (2, ("code of part 0", "code of part 1")),
        (3, ("first direction of the codes", "second direction of the codes")),
    ],
)
def test_axes(k: int, axes: tuple[str, str]) -> None:
    X, model = invented(60, 5, k)
    drawn = find(checked_subject(model, X)).plane
    assert all(name.startswith(start) for name, start in zip(drawn.axes, axes, strict=True))


def test_codes_without_variation() -> None:
    X = np.ones((5, 3))
    model = fitted(X, np.ones((5, 3)), np.eye(3))
    drawn = plane.lay_out(model, np.ones(5), np.zeros(5, bool), np.zeros(5, int), np.arange(1))
    assert np.isfinite(drawn.codes.places).all()
    assert np.isfinite(drawn.neighbours.places).all()


def test_of_many_samples_the_outliers_and_the_listed_are_drawn() -> None:
    rng = np.random.default_rng(0)
    n = 12_000
    flagged = rng.random(n) < 0.05
    cluster_of = np.where(np.arange(n) < 30, 1, 0)
    listed = np.array([5, 7000, 11_999])
    scores = np.where(flagged, 10.0, 1.0)
    codes = rng.random((n, 3))
    model = fitted(codes, codes, np.eye(3))
    drawn = plane.lay_out(model, scores, flagged, cluster_of, listed)
    assert not drawn.complete
    assert len(drawn.drawn) <= plane.MOST_POINTS + 20
    assert len(np.unique(drawn.drawn)) == len(drawn.drawn)
    assert flagged[drawn.drawn].sum() == flagged.sum()
    assert drawn.outliers_left_out == 0
    assert set(listed) <= set(drawn.drawn)
    assert (cluster_of[drawn.drawn] == 1).sum() >= 20
    again = plane.lay_out(model, scores, flagged, cluster_of, listed)
    np.testing.assert_array_equal(drawn.drawn, again.drawn)
    np.testing.assert_array_equal(drawn.neighbours.places, again.neighbours.places)


def test_too_many_outliers_are_left_out_and_said_so() -> None:
    X, model = invented(9000, 4, 2, outliers=0.22)
    result = find(checked_subject(model, X))
    assert result.plane.outliers_left_out == result.outliers.count - plane.MOST_OUTLIERS
    assert "of the lesser ones" in compose(result)


# The size of the page


@pytest.mark.parametrize(("n", "m", "k"), [(10_000, 300, 30), (200_000, 4, 3)])
def test_large_data_make_no_large_page(n: int, m: int, k: int) -> None:
    X, model = invented(n, m, k)
    labels = np.arange(n) % 100
    names = [f"a feature with quite a long name {i}" for i in range(m)]
    ids = [f"a sample with quite a long name {i}" for i in range(n)]
    page = report(model, X, labels=labels, ids=ids, feature_names=names).html
    assert len(page.encode()) < LIMIT
    assert f"of {n:,} samples: those listed" in page
    assert "and 70 smaller ones" in page
    assert "the 40 commonest of 100 labels" in page


def test_large_images_and_many_parts_make_no_large_page() -> None:
    X, model = invented(2500, 64 * 64, 62, outliers=0.001)
    with converging_or_not():
        page = report(model, X, image_shape=(64, 64)).html
    assert len(page.encode()) < LIMIT
    assert "the 60 parts that the samples use most" in page
    assert "Shown are the 60 largest of 62" in page


# What stands in the page


def test_the_page_tells_what_was_done(found: Findings, clustering: FactorKMeans) -> None:
    page = compose(found, when=WHEN)
    n_iter = clustering.factorizer_.n_iter_
    assert f"converged after {n_iter} iterations" in page
    assert "400 samples of 21 features as sums of 5 parts" in page
    count = found.outliers.count
    outliers = f"{count} samples ({count / 4:.1f} %) are outliers"
    assert f"{outliers}; the codes of the others form 5 clusters." in page
    assert "2026-01-02 03:04 UTC" in page
    ids = [attributes.get("id") for attributes in Reader(page).named("section")]
    assert ids == [
        "samples-map", "parts", "uses", "typical", "outliers", "labels", "data", "objective",
        "again",
    ]  # fmt: skip
    assert len(ids) == page.count("</section>")
    assert f"<td>{clustering.factorizer_.alpha_:.2f}"[:8] in page


def test_not_converged_is_said(signals: tuple[Array, Array, Array]) -> None:
    with converging_or_not():
        model = SemiNMF(3, max_iter=1, random_state=0).fit(signals[0])
    page = report(model, signals[0]).html
    assert "stopped after 1 iteration, not converged" in page
    assert "ended by their limit" in page


def test_the_same_findings_give_the_same_page(
    found: Findings, signals: tuple[Array, Array, Array], clustering: FactorKMeans
) -> None:
    again = find(checked_subject(clustering, signals[0], labels=signals[1]))
    assert compose(found, when=WHEN) == compose(again, when=WHEN)


def test_points_and_their_data_are_in_step(found: Findings) -> None:
    page = compose(found)
    samples = samples_of(page)
    assert len(set(map(len, (samples[c] for c in ("x", "y", "id", "cluster", "label"))))) == 1
    points = re.search(r'<g id="points">(.*?)</g>', page)
    assert points
    marks = re.findall(r'<(?:circle|use) class="k(\d)', points[1])
    assert [int(mark) for mark in marks] == samples["cluster"]
    assert samples["id"] == [str(sample) for sample in found.plane.drawn]
    assert samples["id"][samples["end"]] == str(found.outliers.ranked[0])
    assert sum(samples["outlier"]) == found.outliers.count


def test_groups_beyond_the_colours_become_rings() -> None:
    X, model = invented(300, 13, 13)
    page = report(model, X, labels=np.arange(300) % 14).html
    assert re.search(r'<circle class="k2 kr s\d l', page)
    assert '<span class="swatch l3 lr">' in page


def test_features_names_come_from_the_fit_and_ids_from_the_index() -> None:
    X = pd.DataFrame(data(40, 4), columns=["height", "weight", "age", "size"])
    X.index = [f"person {i}" for i in range(40)]
    page = report(SemiNMF(2, random_state=0).fit(X), X).html
    assert "<bdi>weight</bdi>" in page
    assert samples_of(page)["id"][0].startswith("person ")
    given = report(SemiNMF(2, random_state=0).fit(X), X, feature_names=list("abcd"), ids=range(40))
    assert ">weight<" not in given.html
    assert "<bdi>b</bdi>" in given.html
    assert "person" not in given.html


def test_few_unnamed_features_are_bars_and_many_a_signal() -> None:
    X, model = invented(50, 5, 2)
    assert "<bdi>x3</bdi>" in report(model, X).html
    X, model = invented(50, 900, 2)
    page = report(model, X).html
    assert page.count('<svg class="profile"') == 2
    assert 'class="bars"' not in page


def test_only_the_largest_named_features_are_shown() -> None:
    X, model = invented(50, 30, 2)
    page = report(model, X, feature_names=[f"f{i}" for i in range(30)]).html
    assert page.count('<svg class="bar"') == 2 * 30
    for part, card in zip(model.components_, page.split('class="card part"')[1:], strict=False):
        first, _, more = card.partition("<summary>Show 30</summary>")
        largest = np.argsort(-np.abs(part))
        for shown, features in ((first, largest[:12]), (more, largest[12:])):
            above, _, below = shown.partition("<h4>Below zero</h4>")
            assert "<h4>Above zero</h4>" in above
            for wanted, text in ((part[features] > 0, above), (part[features] < 0, below)):
                names = re.findall(r"<bdi>f(\d+)</bdi>", text.partition("</ol>")[0])
                assert [int(name) for name in names] == features[wanted].tolist()


def test_images() -> None:
    X, model = invented(60, 12, 3)
    page = report(model, X, image_shape=(3, 4)).html
    read = Reader(page)
    assert len([i for i in read.named("img") if (i["alt"] or "").startswith("Part ")]) == 2 * 3
    assert all(str(i["src"]).startswith("data:image/png;base64,") for i in read.named("img"))
    sheet = samples_of(page)["pictures"]
    assert (sheet["width"], sheet["height"]) == (4, 3)
    assert sheet["columns"] == 8


@pytest.mark.parametrize("convert", [sp.csr_matrix, np.float32, np.asfortranarray])
def test_kinds_of_data(convert: Callable[[Any], Any]) -> None:
    X = convert(data(60, 6))
    with converging_or_not():
        model = SemiNMF(3, random_state=0).fit(X)
    assert "60 samples of 6 features" in report(model, X, image_shape=(2, 3)).html


@pytest.mark.parametrize("model", [NMF(2), GraphSemiNMF(2), FactorKMeans(NMF(3), 2)])
def test_every_model(model: Any) -> None:
    X = data(50, 6, nonnegative=True)
    with converging_or_not():
        page = report(model.fit(X), X).html
    assert "NMF wrote 50 samples" in page
    assert "No sample is an outlier" in page or "outlier" in page


@pytest.mark.filterwarnings("ignore:All outlier scores are rounding")
def test_numbers_that_are_none() -> None:
    X, model = invented(40, 4, 2)
    model.objective_history_ = np.array([np.nan, np.inf])
    model.objective_ = model.kkt_residual_ = np.inf
    page = report(model, X).html
    assert "There is no finite value to draw." in page
    zero = fitted(np.zeros((30, 4)), np.zeros((30, 2)), np.zeros((2, 4)))
    page = report(zero, np.zeros((30, 4)), image_shape=(2, 2)).html
    assert "explains – of the sum of squares" in page
    assert "NaN" not in page
    assert ">nan" not in page
    samples_of(page)


# Nothing that a user names is markup


def test_hostile_strings_stay_text() -> None:
    X, model = invented(40, len(HOSTILE), 2)
    plain = report(model, X, labels=["l"] * 40, ids=["i"] * 40, feature_names=list("abcde"))
    hostile = report(
        model,
        X,
        labels=[HOSTILE[i % 5] for i in range(40)],
        ids=[HOSTILE[i % 5] + str(i) for i in range(40)],
        feature_names=HOSTILE,
        title=HOSTILE[0] + HOSTILE[2],
    )
    allowed = {
        (tag, name) for tag, attributes in Reader(plain.html).elements for name in attributes
    }
    read = Reader(hostile.html)
    used = {(tag, name) for tag, attributes in read.elements for name in attributes}
    assert used - allowed <= {("bdi", "title")}
    assert len(read.named("script")) == 2
    assert not read.named("img")
    assert HOSTILE[0] in read.texts
    assert any(text.startswith('"><img src=x onerror') for text in read.texts)
    hostile.html.encode()  # no half of a surrogate pair
    assert "\u2028" not in hostile.html.partition('id="samples">')[2].partition("</script>")[0]
    assert HOSTILE[2] + "2" in samples_of(hostile.html)["id"]


def test_long_names_are_shortened() -> None:
    X, model = invented(30, 2, 2)
    page = report(model, X, ids=["x" * 5000] * 30, title="t" * 5000).html
    assert "x" * 600 not in page
    assert "…" in page


def test_the_policy_lets_only_our_script_run(found: Findings) -> None:
    page = compose(found)
    policy = next(m["content"] for m in Reader(page).named("meta") if m.get("http-equiv"))
    assert policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert not re.search(r"<[^>]+ (?:style|on\w+)=", page)
    assert "http:" not in page
    assert "https:" not in page


# For readers of every kind


def test_structure_for_screen_readers(found: Findings) -> None:
    read = Reader(compose(found))
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert all(attributes.get("alt") for attributes in read.named("img"))
    assert all(attributes.get("scope") for attributes in read.named("th"))
    tags = [tag for tag, _ in read.elements]
    assert tags.count("caption") == tags.count("table")
    assert {"header", "nav", "main", "footer", "noscript"} <= set(tags)
    for attributes in read.named("svg"):
        assert attributes.get("aria-label") or attributes.get("aria-hidden")
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert read.named("html")[0]["lang"] == "en"


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast(scheme: int) -> None:
    style = page_style()
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colours = {name: pair[scheme] for name, *pair in pairs}

    def contrast(a: str, b: str) -> float:
        light, dark = sorted((_luminance(colours[a]), _luminance(colours[b])), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    for ground in ("paper", "card"):
        for text in ("ink", "faint", "accent"):
            assert contrast(text, ground) >= 4.5, (text, ground)
        for mark in ("pos", "neg", *(f"cat-{i}" for i in range(10)), "score-5"):
            assert contrast(mark, ground) >= 3, (mark, ground)


# Bad input


def good() -> tuple[Array, SemiNMF]:
    return invented(30, 6, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": [1, 2]}, "labels has 2 entries, but X has 30 samples"),
        ({"labels": [None] * 30}, "labels are all missing"),
        ({"labels": [["a"]] * 30}, "labels must be one-dimensional"),
        ({"ids": ["a"]}, "ids has 1 entry, but X has 30 samples; pass one per sample"),
        ({"ids": "abc"}, "ids must be a list of one name per sample, got 'abc'"),
        ({"ids": 3}, "ids must be a list"),
        ({"feature_names": ["a"]}, "feature_names has 1 entry, but X has 6 features"),
        ({"image_shape": (4, 4)}, r"4 × 4 has 16 pixels, but X has 6 .* image_shape=\(2, 3\)"),
        ({"image_shape": (-2, -3)}, "image_shape -2 × -3"),
        ({"image_shape": 6}, "image_shape must be a pair"),
        ({"image_shape": "ab"}, "image_shape must be a pair"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    X, model = good()
    with pytest.raises(ValueError, match=message):
        report(model, X, **options)


def test_bad_models_and_data() -> None:
    X, model = good()
    with pytest.raises(NotFittedError):
        report(L21SemiNMF(2), X)
    with pytest.raises(NotFittedError):
        report(FactorKMeans(L21SemiNMF(2)), X)
    with pytest.raises(TypeError, match=r"model must be a fitted factorization .* got 3"):
        report(3, X)
    with pytest.raises(TypeError, match="model must be a fitted factorization"):
        report(SemiNMF, X)
    with pytest.raises(TypeError, match="PCA has no codes_"):
        report(PCA(2).fit(X), X)
    with pytest.raises(TypeError, match="PCA has no codes_"):
        report(FactorKMeans(PCA(2), 2, random_state=0).fit(X), X)
    with pytest.raises(ValueError, match="X has 29 samples, but the model was fitted to 30"):
        report(model, X[:29])
    with pytest.raises(ValueError, match="X has 5 features, but SemiNMF is expecting 6"):
        report(model, X[:, :5])
    with pytest.raises(ValueError, match="X is not the data that the model was fitted to: row 0"):
        report(model, X[::-1])
    with pytest.raises(
        ValueError, match=r"X has \d+ values that are NaN or infinity.*Standardized"
    ):
        report(model, np.full_like(X, np.nan))


# The file


def test_saving_replaces_the_file_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.html"
    assert Report("first").save(target) == target
    assert Report("zweite é").save(str(target)) == target
    assert target.read_bytes() == "zweite é".encode()
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        Report("third").save(target)
    assert target.read_text("utf-8") == "zweite é"
    assert list(tmp_path.iterdir()) == [target]


def test_the_file_can_be_read_by_those_who_may_read_new_files(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert Report("x").save(tmp_path / "r.html").stat().st_mode == plain.stat().st_mode


def test_saving_to_a_folder_or_nowhere(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        Report("x").save(tmp_path)
    with pytest.raises(FileNotFoundError):
        Report("x").save(tmp_path / "missing" / "report.html")


def test_a_notebook_shows_the_page_in_a_frame_of_its_own() -> None:
    page = '<!DOCTYPE html><p class="a">&amp;</p>'
    frame = Report(page)._repr_html_()
    attributes = Reader(frame).named("iframe")[0]
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == page
    assert html.unescape(frame).count("<p") == 1


# How to do it again


@pytest.mark.parametrize(
    "model",
    [
        L21SemiNMF(3, random_state=4),
        NMF(2, init="random", random_state=1, tol=np.float64(1e-3)),
        GraphSemiNMF(3, alpha=0.5, beta=0.1, random_state=0, n_init=2),
        FactorKMeans(SemiNMF(4), n_clusters=3, random_state=7),
        FactorKMeans(L21SemiNMF(3, random_state=2), random_state=np.int64(5)),
        FactorKMeans(SemiNMF(3, init="random")),
        SemiNMF(3, init="random"),
        RobustSemiNMF(3, loss=Huber(2.0), l1=0.1, random_state=0),
        Standardized(FactorKMeans(SemiNMF(3)), how="robust"),
        make_pipeline(StandardScaler(), FactorKMeans(SemiNMF(2), random_state=1)),
        GraphSemiNMF(2, graph=KNeighborsTransformer(n_neighbors=4), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_recipe_makes_the_same_model(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = data(60, 6, nonnegative=True)
    labels = np.arange(60) % 3
    with converging_or_not():
        first = report(model.fit(X), X, labels=labels, image_shape=(2, 3))
        code = re.search(r'id="recipe"><code>(.*?)</code>', first.html, re.DOTALL)
        assert code
        monkeypatch.chdir(tmp_path)
        names: dict[str, Any] = {"X": X, "labels": labels}
        exec(html.unescape(code[1]), names)
    both = unwrap(model), unwrap(names["model"])
    np.testing.assert_array_equal(*(inner.factorizer.codes_ for inner in both))
    if both[0].clusters is not None:
        np.testing.assert_array_equal(*(inner.clusters.labels_ for inner in both))
    date = re.compile(r"Made by seminmf on [^.]*")
    written = (tmp_path / "report.html").read_text("utf-8")
    assert date.sub("", written) == date.sub("", first.html)


def test_what_cannot_be_written_is_named() -> None:
    X = data(30, 4)
    graph = sp.csr_array(np.ones((30, 30)) - np.eye(30))
    start = (np.ones((4, 2)), np.ones((30, 2)))
    with converging_or_not():
        model = GraphSemiNMF(2, graph=graph, init=start, random_state=0).fit(X)
        seedless = FactorKMeans(SemiNMF(2)).fit(X)
    text = recipe(find(checked_subject(model, X, ids=range(30), feature_names=["abcd"] * 4)))
    assert "# graph: the csr_array of shape (30, 30) that was given to the fit" in text
    assert "graph=graph," in text
    assert "# init: the (ndarray of shape (4, 2), ndarray of shape (30, 2))" in text
    assert "ids=ids, feature_names=feature_names" in text
    text = recipe(find(checked_subject(seedless, X)))
    assert f"random_state={seedless.seed_},\n" in text
    unknown = SemiNMF(2, random_state=np.random.RandomState(0)).fit(X)
    assert "# random_state: the RandomState that was given" in recipe(
        find(checked_subject(unknown, X))
    )
    del seedless.seed_  # as in files from before it was kept
    assert "The seed of the fit is not known" in report(seedless, X).html
    assert "callback" not in report(SemiNMF(2, callback=lambda _: None).fit(X), X).html
    assert value_text(print) == "print"
    assert value_text(np.random.RandomState(0)) == "RandomState"


# The small tools


def test_numbers_as_text() -> None:
    assert markup.number(1234.5678) == "1,235"
    assert markup.number(-0.012345) == "−0.0123"
    assert markup.number(0) == "0.00"
    assert markup.number(1.5e9) == "1.50e9"
    assert markup.number(2e-7, 2) == "2.0e−7"
    assert markup.number(float("nan")) == "–"
    assert markup.percent(-0.051, 1) == "−5.1 %"
    assert markup.percent(float("inf")) == "–"
    assert markup.factor(2.44) == "2.4 ×"
    assert markup.factor(float("nan")) == "–"
    assert markup.json_block("a", {"x": [float("inf"), 1.0, "</script>"]}).count("</script>") == 1


def test_ticks() -> None:
    assert ticks(0, 10, 5) == [0, 2, 4, 6, 8, 10]
    assert ticks(-1.2, 1.1, 5) == [-1, -0.5, 0, 0.5, 1]
    assert ticks(3, 3) == [3]
    assert ticks(0, float("inf")) == [0]


def test_charts() -> None:
    assert 'points="84.0 ' in line(np.array([3.0, 2.0, 1.5]))
    assert "NaN" not in line(np.array([2.0]))
    assert line(np.arange(200.0)[::-1]).count("<circle") == 1
    assert "(logarithmic)" in histogram(np.r_[np.random.default_rng(0).random(50), 1e6], 2.0)
    assert "(logarithmic)" not in histogram(np.random.default_rng(0).random(50), 2.0)
    assert 'class="neg scaled" width="50.00"' in bar(-1, 2, 4)


def test_no_bar_is_beyond_a_threshold_that_no_score_is_beyond() -> None:
    scores = np.linspace(1, 5, 60)
    assert 'class="out"' not in histogram(scores, 5.0)
    assert histogram(scores, 4.95).count('class="out"') == 1
    assert 'class="out"' not in histogram(np.r_[scores, 1e4], 1e4)
    assert 'transform="scale(0.5 1)"' in bar(1, 2, 4)
    assert "nan" not in profile(np.array([1.0]), 0.0, "one")


def test_png_and_shrinking() -> None:
    scale = pictures.Scale.of(np.array([-2.0, 0.0, 1.0]))
    assert scale.signed
    np.testing.assert_array_equal(scale.palette[127], [255, 255, 255])
    assert scale.indices(np.array([[0.0, -9.0, 9.0, np.nan]])).tolist() == [[127, 0, 254, 127]]
    image = pytest.importorskip("matplotlib.image")
    indices = np.array([[0, 254], [127, 3], [1, 2]], dtype=np.uint8)
    import io

    read = image.imread(io.BytesIO(pictures.png(indices, scale.palette)), format="png")
    np.testing.assert_array_equal(np.rint(255 * read[..., :3]), scale.palette[indices])
    small = pictures.shrunk(np.arange(30.0).reshape(1, 5, 6), 3)
    assert small.shape == (1, 3, 3)
    assert small[0, 0, 0] == np.mean([0, 1, 6, 7])
    assert small[0, 2, 0] == np.mean([24, 25])


# Estimators in notebooks


@pytest.mark.parametrize("model", [L21SemiNMF(2), FactorKMeans(SemiNMF(2), random_state=0)])
def test_estimators_show_their_fit(model: Any) -> None:
    assert "polyline" not in model._repr_html_()
    with converging_or_not():
        model.fit(data(40, 5))
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert shown.count("<polyline") == 1
        assert "40 samples × 5 features in 2 parts" in shown
        assert "iterations, converged" in shown
        assert ("2 clusters of" in shown) == isinstance(model, FactorKMeans)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()


def test_other_factorizations_show_their_clusters() -> None:
    model = FactorKMeans(PCA(2), 2, random_state=0).fit(data(40, 5))
    assert "2 clusters of" in model._repr_html_()
    assert "polyline" not in model._repr_html_()


def test_names_that_are_loaded_when_asked_for() -> None:
    import seminmf.reporting

    assert seminmf.reporting.report is report
    for module in (seminmf, seminmf.reporting):
        with pytest.raises(AttributeError, match="has no attribute 'reprot'"):
            module.reprot  # noqa: B018


def test_a_report_of_large_numbers_in_single_precision() -> None:
    """Squares left the range of numbers, and shares were none."""
    X = data(60, 8)
    found = []
    for table in (X, (X * 2.0**100).astype(np.float32)):
        model = FactorKMeans(L21SemiNMF(3, random_state=0), random_state=0).fit(table)
        found.append(find(checked_subject(model, table)))
    assert found[1].explained == pytest.approx(found[0].explained, abs=1e-3)
    np.testing.assert_allclose(found[1].usage, found[0].usage, atol=1e-2)
    assert len(report(model, table).html) > 10_000
