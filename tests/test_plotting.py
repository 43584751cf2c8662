"""What is drawn: the data of lines, bars, points and images, and their names."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import data
from seminmf import (
    FactorKMeans,
    GraphSemiNMF,
    L21SemiNMF,
    SemiNMF,
    Standardized,
    outlier_threshold,
)
from seminmf.datasets import add_outliers, make_waveform
from seminmf.embedding import FRAME, code_map, fit_plane, neighbour_map, plane, spread
from seminmf.metrics import nmi
from seminmf.plotting import (
    plot_codes,
    plot_convergence,
    plot_outliers,
    plot_parts,
    plot_path,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

FUNCTIONS = (plot_convergence, plot_parts, plot_codes, plot_outliers)


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def waves() -> tuple[Any, Any, Any]:
    X, kinds = make_waveform(240, 0)
    X, corrupted = add_outliers(X, 0.1, random_state=0)
    return X, kinds, corrupted


@pytest.fixture(scope="module")
def clustered(waves: tuple[Any, Any, Any]) -> FactorKMeans:
    return FactorKMeans(L21SemiNMF(4), n_clusters=3, random_state=0).fit(waves[0])


@pytest.fixture(scope="module")
def named() -> SemiNMF:
    frame = pd.DataFrame(data(40, 5), columns=["a", "$b$", "c", "d", "e"])
    return SemiNMF(3, random_state=0).fit(frame)


def points(axes: Any) -> Any:
    """Places of all samples that are drawn, in no order."""
    return np.concatenate([c.get_offsets().data for c in axes.collections])


# What all of them do


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_factorization_and_its_clusters_draw_alike(function: Any, clustered: Any) -> None:
    first = np.ravel(function(clustered))[0]
    second = np.ravel(function(clustered.factorizer_))[0]
    assert first.figure is not second.figure
    assert first.get_xlabel() == second.get_xlabel()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("model", [L21SemiNMF(3), FactorKMeans(SemiNMF(3))])
def test_unfitted_models_are_named(function: Any, model: Any) -> None:
    with pytest.raises(NotFittedError, match=type(model).__name__):
        function(model)
    assert not plt.get_fignums()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_things_are_no_models(function: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a fitted factorization of seminmf.* got array"):
        function(np.ones((3, 3)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_given_axes_are_used_and_nothing_is_shown(
    function: Any, clustered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plt, "show", lambda *a, **k: pytest.fail("plt.show was called"))
    count = len(np.ravel(function(clustered)))
    plt.close("all")
    figure, given = plt.subplots(1, count, squeeze=False)
    given = given.ravel()
    returned = function(clustered, ax=given[0] if count == 1 else given)
    assert list(np.ravel(returned)) == list(given)
    assert plt.get_fignums() == [figure.number]
    figure.savefig("/dev/null", format="png")


def test_a_wrong_number_of_axes(clustered: Any) -> None:
    axis = plt.subplots()[1]
    with pytest.raises(ValueError, match=r"ax must be 4 matplotlib Axes, got 1 of type Axes"):
        plot_parts(clustered, ax=axis)
    with pytest.raises(ValueError, match=r"ax must be 1 matplotlib Axes, got 1 of type str"):
        plot_codes(clustered, ax="here")


def test_without_matplotlib_there_is_a_word_on_it(
    clustered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(ImportError, match=r'pip install "seminmf\[plot\]"'):
        plot_convergence(clustered)


def test_dark_figures_are_dark(clustered: Any) -> None:
    dark, light = (plot_convergence(clustered, dark=d).figure for d in (True, False))
    assert sum(dark.get_facecolor()[:3]) < 0.5
    assert light.get_facecolor()[:3] == (1, 1, 1)


def test_a_failed_drawing_leaves_no_figure(clustered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seminmf.plotting._samples._distribution", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        plot_outliers(clustered)
    assert not plt.get_fignums()


# Convergence


def test_the_line_is_the_history(clustered: Any) -> None:
    (line,) = plot_convergence(clustered).lines
    history = clustered.factorizer_.objective_history_
    assert np.array_equal(line.get_xdata(), np.arange(1, len(history) + 1))
    assert np.array_equal(line.get_ydata(), history)


def test_several_models_have_a_legend(clustered: Any, named: Any) -> None:
    axes = plot_convergence({"robust": clustered, "semi": named}, relative=True)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["robust", "semi"]
    assert axes.get_yscale() == "log"
    history = clustered.factorizer_.objective_history_
    drawn = axes.lines[0].get_ydata()
    assert np.isnan(drawn[-1])
    assert drawn[0] == pytest.approx(history[0] / history[-1] - 1)
    with pytest.raises(ValueError, match="empty mapping"):
        plot_convergence({})


# Parts


def test_lines_of_signals(clustered: Any) -> None:
    axes = plot_parts(clustered)
    components = clustered.factorizer_.components_
    assert len(axes) == 4
    for number, axis in enumerate(axes):
        assert np.array_equal(axis.lines[1].get_ydata(), components[number])
        assert axis.get_title(loc="left") == f"part {number}"
        low, high = axis.get_ylim()
        assert low == -high
        assert high >= np.abs(components[number]).max()


def test_bars_name_the_largest_weights(named: Any) -> None:
    axes = plot_parts(named, top=3)
    for part, axis in zip(named.components_, axes, strict=True):
        largest = np.argsort(-np.abs(part))[:3]
        assert np.allclose([bar.get_width() for bar in axis.patches], part[largest])
        texts = [label.get_text() for label in axis.get_yticklabels()]
        assert texts == [["a", r"\$b\$", "c", "d", "e"][j] for j in largest]
        colours = {to_hex(bar.get_facecolor()) for bar in axis.patches if bar.get_width() < 0}
        assert len(colours) <= 1
        assert axis.get_ylim()[0] > axis.get_ylim()[1]  # the largest on top
    axes[0].figure.savefig("/dev/null", format="png")  # "$b$" is no formula


def test_models_around_a_factorization_know_the_names() -> None:
    frame = pd.DataFrame(data(40, 5), columns=["a", "b", "c", "d", "e"])
    clusters = FactorKMeans(SemiNMF(2), random_state=0).fit(frame)
    standard = Standardized(SemiNMF(2, random_state=0)).fit(frame)
    pipeline = make_pipeline(StandardScaler(), SemiNMF(2, random_state=0)).fit(frame)
    for model in (clusters, standard, pipeline):
        texts = {t.get_text() for axis in plot_parts(model) for t in axis.get_yticklabels()}
        assert texts == {"a", "b", "c", "d", "e"}


def test_bars_without_names(clustered: Any) -> None:
    (axis,) = plot_parts(clustered, kind="bars", top=2, parts=[1], same_scale=True)
    part = clustered.factorizer_.components_[1]
    largest = np.argsort(-np.abs(part))[:2]
    assert [t.get_text() for t in axis.get_yticklabels()] == [f"x{j}" for j in largest]
    assert axis.get_title(loc="left") == "part 1"
    assert axis.get_xlim()[0] == -axis.get_xlim()[1]


@pytest.mark.parametrize("same_scale", [False, True])
def test_images_on_a_symmetric_scale(clustered: Any, same_scale: bool) -> None:
    components = clustered.factorizer_.components_
    axes = plot_parts(clustered, image_shape=(3, 7), same_scale=same_scale, columns=2)
    for part, axis in zip(components, axes, strict=True):
        (image,) = axis.images
        assert np.array_equal(image.get_array(), part.reshape(3, 7))
        limit = np.abs(components if same_scale else part).max()
        assert image.get_clim() == (-limit, limit)
    assert len({axis.get_subplotspec().colspan.start for axis in axes}) == 2


def test_bad_requests_for_parts(clustered: Any) -> None:
    for arguments, message in (
        ({"image_shape": (4, 4)}, r"image_shape=\(4, 4\).*n_features = 21"),
        ({"image_shape": 21}, r"image_shape=21 must be two positive integers"),
        ({"image_shape": (-3, -7)}, "two positive integers"),
        ({"feature_names": ["a", "b"]}, "feature_names has 2 names.*21 features"),
        ({"kind": "pie"}, "kind must be one of"),
        ({"kind": "images"}, 'kind="images" needs image_shape'),
        ({"top": 0}, "top must be an integer of at least 1"),
        ({"columns": 0}, "columns must be an integer"),
        ({"parts": [4]}, "parts has the entry 4.*parts 0 to 3"),
        ({"parts": []}, "parts is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            plot_parts(clustered, **arguments)  # type: ignore[arg-type]
    assert not plt.get_fignums()


# The map


def test_every_sample_is_on_the_map_whatever_the_outliers(waves: Any, clustered: Any) -> None:
    axes = plot_codes(clustered)
    found = points(axes)
    assert len(found) == len(waves[0])
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert (found[:, 0] >= low).all() and (found[:, 0] <= high).all()  # noqa: PT018
    assert (found[:, 1] >= bottom).all() and (found[:, 1] <= top).all()  # noqa: PT018
    factorization = clustered.factorizer_
    fitted = fit_plane(factorization.codes_, factorization.residuals_)
    assert not fitted.inside[waves[2]].any()  # corrupted samples do not make the map
    whole = code_map(factorization.codes_, factorization.residuals_)
    assert np.allclose([(low, bottom), (high, top)], whole.window)
    assert np.allclose(whole.places, fitted.places(factorization.codes_))


def test_colours_are_clusters_or_labels(waves: Any, clustered: Any) -> None:
    legend = plot_codes(clustered).get_legend()
    assert legend.get_title().get_text() == "cluster"
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2"]
    kinds = np.array(["one", "two", "three"], dtype=object)[waves[1]]
    axes = plot_codes(clustered.factorizer_, labels=kinds)
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["one", "three", "two"]
    sizes = [len(c.get_offsets()) for c in axes.collections]
    pairs = [near + far for near, far in zip(sizes[::2], sizes[1::2], strict=True)]
    assert pairs == [int((kinds == name).sum()) for name in ("one", "three", "two")]
    assert plot_codes(clustered.factorizer_).get_legend() is None


def test_many_classes_have_looks_of_their_own_and_no_legend(clustered: Any) -> None:
    labels = np.arange(240) % 30
    axes = plot_codes(clustered, labels=labels)
    looks = {
        (to_hex(c.get_facecolor()[0]), to_hex(c.get_edgecolor()[0]), *c.get_linewidths())
        for c in axes.collections[::2]
        if len(c.get_offsets())
    }
    assert len(looks) == 30
    assert axes.get_legend() is None


def test_measured_values_have_a_colour_bar(clustered: Any) -> None:
    residuals = clustered.factorizer_.residuals_.copy()
    residuals[3] = np.nan
    axes = plot_codes(clustered, labels=residuals)
    assert len(axes.figure.axes) == 2
    values = np.concatenate([c.get_array().filled(np.nan) for c in axes.collections])
    assert np.nansum(values) == pytest.approx(np.nansum(residuals))
    # The far outliers are all of the last colour: the scale is for the others.
    assert axes.collections[0].get_clim()[1] < np.nanmax(residuals)


def test_one_component_is_drawn_against_the_residual() -> None:
    model = SemiNMF(1).fit(data(30, 4))
    axes = plot_codes(model)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("code of part 0", "residual")
    assert len(points(axes)) == 30


def test_wrong_lengths(clustered: Any) -> None:
    with pytest.raises(ValueError, match=r"labels has shape \(3,\).*240 samples"):
        plot_codes(clustered, labels=[1, 2, 3])
    with pytest.raises(ValueError, match=r"ids has shape \(2,\).*240 samples"):
        plot_outliers(clustered, ids=["a", "b"])


# The plane


def test_the_plane_is_that_of_the_ordinary_samples(rng: Any) -> None:
    codes = np.abs(rng.normal(size=(300, 5)) * [5, 3, 0.1, 0.1, 0.1])
    residuals = np.ones(300)
    spoilt, far = codes.copy(), residuals.copy()
    spoilt[:10], far[:10] = rng.normal(size=(10, 5)) * 1e6, 100.0
    clean = fit_plane(codes[10:], residuals[10:])
    found = fit_plane(spoilt, far)
    assert np.abs(found.axes @ clean.axes.T) == pytest.approx(np.eye(2), abs=0.02)
    assert np.allclose(plane(codes[10:]), plane(codes[10:], residuals[10:]))
    # ... even where the factorization fits the far samples.
    assert np.allclose(fit_plane(spoilt, residuals).axes, found.axes)


def test_planes_of_poor_data() -> None:
    assert plane(np.ones((4, 3))).tolist() == [[0, 0]] * 4
    line = fit_plane(np.arange(6.0)[:, None])
    assert line.axes.tolist() == [[1], [0]]
    assert fit_plane(np.eye(2), np.array([0.0, 1.0])).inside.all()
    assert code_map(np.zeros((2, 2)), np.ones(2)).window.tolist() == [[-1, -1], [1, 1]]


def test_a_cluster_apart_is_on_the_map_and_far_codes_are_not(rng: Any) -> None:
    codes = np.repeat(np.eye(4), [400, 300, 60, 40], axis=0) * [[1, 1, 1, 3]]
    codes += 1e-3 * rng.random(codes.shape)
    codes[-2:] = 500.0
    _, beyond = code_map(codes, np.ones(800)).unit()
    assert np.flatnonzero(beyond).tolist() == [798, 799]


def test_samples_with_equal_codes_do_not_share_a_dot(rng: Any) -> None:
    codes = np.repeat(np.abs(rng.normal(size=(24, 5))), 30, axis=0)
    dots = code_map(codes, np.ones(720)).dots()
    assert len(np.unique(np.round(dots.places / dots.radius), axis=0)) > 600
    gaps = np.linalg.norm(dots.places[:, None] - dots.places, axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert np.quantile(gaps.min(axis=1), 0.05) > 1.5 * dots.radius
    assert dots.places.min() >= 0
    assert (dots.places <= FRAME).all()
    # A heap is the larger, the more samples are in it.
    few, many = (
        np.ptp(spread(np.full((count, 2), 200.0), 3.0, FRAME), axis=0).mean() for count in (9, 225)
    )
    assert many > 3 * few


def test_neighbours_are_near_each_other(rng: Any) -> None:
    group_of = np.repeat(np.arange(6), 40)
    links = sp.csr_array((group_of[:, None] == group_of) & (rng.random((240, 240)) < 0.2))
    start = rng.random((240, 2))
    found, again = neighbour_map(links, start), neighbour_map(links, start)
    np.testing.assert_array_equal(found.places, again.places)
    centres = np.stack([found.places[group_of == g].mean(axis=0) for g in range(6)])
    own = np.linalg.norm(found.places - centres[group_of], axis=1)
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)[~np.eye(6, dtype=bool)]
    assert np.median(own) < 0.5 * np.median(apart)


# Outliers


def test_outliers_are_ranked_and_the_fence_is_drawn(waves: Any, clustered: Any) -> None:
    residuals = clustered.factorizer_.residuals_
    left, right = plot_outliers(clustered, ids=[f"s{i}" for i in range(240)], top=12)
    worst = np.argsort(-residuals)[:12]
    assert np.allclose([bar.get_width() for bar in right.patches], residuals[worst])
    assert [label.get_text() for label in right.get_yticklabels()] == [f"s{i}" for i in worst]
    middle = np.median(residuals)
    fence = outlier_threshold(residuals)
    assert fence > middle
    for axis in (left, right):
        (line,) = axis.lines
        assert line.get_xdata() == [fence, fence]
    assert sum(bar.get_height() for bar in left.patches) == 240
    assert left.get_xscale() == "log"
    beyond = int((residuals > fence).sum())
    assert beyond >= waves[2].sum() * 0.9
    assert f"{beyond} of 240 beyond" in left.get_legend().get_texts()[0].get_text()
    assert right.get_xlabel() == left.get_xlabel() == "residual"
    left, right = plot_outliers(clustered, waves[0], top=5)
    scores = np.sort(clustered.outlier_scores(waves[0]))[::-1]
    assert np.allclose([bar.get_width() for bar in right.patches], scores[:5])
    assert right.get_xlabel() == left.get_xlabel() == "outlier score"


def test_residuals_without_a_tail() -> None:
    model = SemiNMF(2).fit(data(50, 6))
    left, right = plot_outliers(model, top=1000)
    assert left.get_xscale() == "linear"
    assert len(right.patches) == 50
    assert not right.lines
    assert plot_outliers(model, top=1)[1].get_title(loc="left") == "the largest"


def test_samples_that_are_fitted_exactly() -> None:
    X = data(60, 6)
    X[:5] *= 100
    model = L21SemiNMF(5, alpha=0, beta=0, init="exemplar", random_state=0, tol=0, max_iter=3).fit(
        X
    )
    left, _ = plot_outliers(model)
    assert sum(bar.get_height() for bar in left.patches) == 60
    left.figure.savefig("/dev/null", format="png")


# The path


@pytest.fixture(scope="module")
def path(waves: Any) -> list[FactorKMeans]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of codes that are all zero
        return [
            FactorKMeans(L21SemiNMF(4, strength=s, max_iter=400), 3, random_state=0).fit(waves[0])
            for s in (1e-2, 1e-4, 1e3)
        ]


def lines(axis: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axis.lines}


def test_the_path_shows_objective_zeros_and_clusters(waves: Any, path: Any) -> None:
    axes = plot_path(path, labels=waves[1])
    ordered = [path[1], path[0], path[2]]
    loss, penalties = (lines(axes[0])[name] for name in ("loss", "penalties"))
    assert loss.get_xdata().tolist() == [1e-4, 1e-2, 1e3]
    expected = [m.factorizer_.residuals_.sum() / m.factorizer_.objective_ for m in ordered]
    assert np.allclose(loss.get_ydata(), expected)
    assert np.allclose(loss.get_ydata() + penalties.get_ydata(), 1)
    zero = lines(axes[1])["codes that are zero"].get_ydata()
    assert np.allclose(zero, [(m.factorizer_.codes_ == 0).mean() for m in ordered])
    used = lines(axes[1])["parts in use"].get_ydata()
    assert used[0] == 1
    assert used[2] == 0  # so strong a penalty switches all parts off
    assert np.allclose(
        lines(axes[2])["NMI with labels"].get_ydata(), [nmi(waves[1], m.labels_) for m in ordered]
    )
    before = lines(axes[2])["NMI with the model before"]
    assert before.get_xdata().tolist() == [1e-2, 1e3]
    assert before.get_ydata()[0] == nmi(path[1].labels_, path[0].labels_)
    assert "majority accuracy" in lines(axes[2])
    assert axes[0].get_xscale() == "log"


def test_a_path_of_bare_factorizations_from_zero() -> None:
    X = data(60, 5)
    models = {s: GraphSemiNMF(3, strength=s).fit(X) for s in (1e-3, 0.0)}
    axes = plot_path(models)
    assert axes[0].get_xscale() == "symlog"
    assert lines(axes[0])["loss"].get_xdata().tolist() == [0, 1e-3]
    assert lines(axes[0])["loss"].get_ydata()[0] == 1
    found = [
        (m.codes_ * np.linalg.norm(m.components_, axis=1)).argmax(axis=1)
        for m in (models[0.0], models[1e-3])
    ]
    assert lines(axes[2])["NMI with the model before"].get_ydata() == [nmi(*found)]
    assert "NMI with labels" not in lines(axes[2])


def test_bad_paths(path: Any, named: Any) -> None:
    with pytest.raises(ValueError, match="at least two strengths"):
        plot_path(path[:1])
    with pytest.raises(TypeError, match="got FactorKMeans"):
        plot_path(path[0])
    with pytest.raises(ValueError, match="parameter strength"):
        plot_path([named, named])
    with pytest.raises(ValueError, match="finite numbers, zero or positive"):
        plot_path({-1.0: named, 1.0: named})
    with pytest.raises(ValueError, match="different numbers of samples"):
        plot_path({1.0: named, 2.0: path[0]})
    with pytest.raises(ValueError, match=r"labels has shape \(1,\)"):
        plot_path(path, labels=["a"])
