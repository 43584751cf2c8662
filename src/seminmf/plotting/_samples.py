"""The samples: a map of them, and those that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..embedding import FRAME, far_fence
from ..models.validation import check_choice, check_integer
from ..outliers import outlier_threshold
from ..reporting.style import Theme
from ..reporting.unwrapping import sample_map, unwrap
from ._common import canvas, per_sample, plain

# More classes than this make a legend larger than the map.
MOST_IN_LEGEND = 20
# From this ratio of the largest residual to the median on, a linear axis shows only the outliers.
LONG_TAIL = 8.0
# Inches of a new figure that the map takes, across.
_WIDTH = 5.5


@dataclass(frozen=True)
class _Points:
    """Samples that are drawn alike."""

    rows: NDArray[np.bool_]
    look: dict[str, Any]
    label: str


def _classes(labels: NDArray[Any] | None, n: int, theme: Theme) -> Iterator[_Points]:
    """One look for each class: ten colours as discs, then as rings, then with an outline."""
    if labels is None:
        look = {"facecolors": theme.l21, "linewidths": 0}
        yield _Points(np.ones(n, dtype=np.bool_), look, "_samples")
        return
    for number, value in enumerate(np.unique(labels).tolist()):
        cycle, place = divmod(number, len(theme.categories))
        colour = theme.categories[place]
        look = (
            {"facecolors": colour, "linewidths": 0},
            {"facecolors": theme.paper, "edgecolors": colour, "linewidths": 1.2},
            {"facecolors": colour, "edgecolors": theme.ink, "linewidths": 0.8},
        )[cycle % 3]
        yield _Points(labels == value, look, plain(value))


def _continuous(labels: NDArray[Any]) -> bool:
    """Numbers that are measured, not counted."""
    return labels.dtype.kind == "f" and bool((labels != np.round(labels)).any())


def plot_codes(
    model: Any, *, labels: Any = None, layout: str = "codes", ax: Any = None, dark: bool = False
) -> Any:
    """A map of the samples, the same as on the page of `seminmf.report`.

    By codes it shows the plane of the principal components of the codes without far outliers.
    Samples that fall outside of the window are drawn at its edge, as triangles. Samples that would
    cover each other are moved apart.

    Parameters
    ----------
    model : fitted estimator
        A factorization, or a `FactorKMeans`, `Standardized` or pipeline of one. A model with one
        component is drawn as its code against the residual.
    labels : array-like of shape (n_samples,), default=None
        What to colour by: clusters or classes, or numbers that are not whole, which get a colour
        bar. None takes the clusters of a `FactorKMeans`, or no colours.
    layout : {"codes", "neighbours"}, default="codes"
        Whether samples are placed by their codes, or so that neighbours are near each other.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    ax : matplotlib Axes
    """
    inner = unwrap(model)
    n = len(inner.factorizer.codes_)
    check_choice("layout", layout, ("codes", "neighbours"))
    given = None if labels is None else per_sample("labels", labels, n)
    if given is not None and given.dtype.kind == "O":
        given = given.astype(str)  # mixed types have no order
    groups = getattr(inner.clusters, "labels_", None) if given is None else given
    found = sample_map(inner.factorizer, layout)
    dots, (low, high) = found.dots(), found.window
    shown, away = low + dots.places / FRAME * (high - low), dots.beyond
    size = (2 * dots.radius * 72 * _WIDTH / FRAME[0]) ** 2  # in square points
    with canvas(ax, dark, 1, (1, 1), (6.4, 4.6)) as (theme, (axes,)):
        if groups is not None and _continuous(groups):
            # One far value must not take the whole range of colours.
            high_value = min(float(np.nanmax(groups)), far_fence(groups[np.isfinite(groups)]))
            shades = {"cmap": "viridis", "vmin": np.nanmin(groups), "vmax": high_value}
            for rows, marker, area in ((away, "^", 2 * size), (~away, "o", size)):
                drawn = axes.scatter(
                    *shown[rows].T, c=groups[rows], marker=marker, s=area, linewidths=0,
                    clip_on=False, **shades,
                )  # fmt: skip
            extend = "max" if np.nanmax(groups) > high_value else "neither"
            axes.figure.colorbar(drawn, ax=axes, extend=extend)
        else:
            for points in _classes(groups, n, theme):
                near, far = points.rows & ~away, points.rows & away
                look = {"clip_on": False, **points.look}
                axes.scatter(*shown[near].T, marker="o", s=size, label=points.label, **look)
                axes.scatter(*shown[far].T, marker="^", s=2 * size, label="_beyond", **look)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.set(xlabel=found.axes[0], ylabel=found.axes[1])
        if layout == "neighbours":
            axes.set(xticks=[], yticks=[])
        handles = axes.get_legend_handles_labels()[0]
        if 0 < len(handles) <= MOST_IN_LEGEND:
            title = "cluster" if given is None else None
            axes.legend(
                loc="upper left", bbox_to_anchor=(1.0, 1.0), title=title, handletextpad=0.2,
                markerscale=max(1.0, np.sqrt(24 / size)),
            )  # fmt: skip
    return axes


def plot_outliers(
    model: Any,
    X: Any = None,
    *,
    ids: Any = None,
    top: int = 20,
    ax: Any = None,
    dark: bool = False,
) -> Any:
    """Outlier scores: how they are distributed, and the largest.

    The dashed line is `seminmf.outlier_threshold`.

    Parameters
    ----------
    model : fitted estimator
        A factorization, or a `FactorKMeans`, `Standardized` or pipeline of one.
    X : array-like or CSR matrix of shape (n_samples, n_features), default=None
        Samples, as a rule those of the fit, whose ``outlier_scores`` are drawn. Without them the
        residuals of the fit are: an outlier with a part of its own has none.
    ids : array-like of shape (n_samples,), default=None
        Names of the samples; None counts them from 0.
    top : int, default=20
        How many of the largest to name.
    ax : two Axes, default=None
        For the distribution and for the ranking; None makes a new figure.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    axes : ndarray of two matplotlib Axes
    """
    inner, what = unwrap(model), "residual" if X is None else "outlier score"
    fitted = inner.factorizer
    found = fitted.residuals_ if X is None else fitted.outlier_scores(inner.seen(X))
    scores = np.asarray(found, np.float64)
    names = np.arange(len(scores)) if ids is None else per_sample("ids", ids, len(scores))
    top = min(check_integer("top", top, 1), len(scores))
    threshold = outlier_threshold(scores)
    worst = np.argsort(-scores, kind="stable")[:top]
    size = (4.6, max(3.0, 0.8 + 0.19 * top))
    with canvas(ax, dark, 2, (1, 2), size) as (theme, axes):
        left, right = axes
        _distribution(left, theme, scores, threshold)
        left.set(xlabel=what)
        colours = [theme.below if scores[row] > threshold else theme.l21 for row in worst]
        right.barh(np.arange(top), scores[worst], color=colours, height=0.7)
        right.set_yticks(np.arange(top), [plain(names[row]) for row in worst], fontsize=8)
        right.set(xlabel=what, ylim=(top - 0.4, -0.6))
        right.grid(visible=False, axis="y")
        if threshold < scores[worst[0]]:
            right.axvline(threshold, color=theme.ink, linestyle="--", linewidth=1)
        right.set_title(f"the {top} largest" if top > 1 else "the largest")
    return axes


def _distribution(axis: Any, theme: Theme, scores: FloatArray, threshold: float) -> None:
    """A histogram, on a logarithmic axis where the tail is long, and the threshold."""
    largest, median = float(scores.max()), float(np.median(scores))
    if median > 0 and largest > LONG_TAIL * median:
        # Samples that are fitted exactly are in the first bin.
        low = max(float(scores.min()), 1e-2 * median)
        bins = np.geomspace(low, largest * (1 + 1e-9), 41)
        axis.hist(np.maximum(scores, low), bins=bins, color=theme.l21)
        axis.set_xscale("log")
        _plain_numbers(axis, low, largest)
    else:
        axis.hist(scores, bins=40, color=theme.l21)
    beyond = int((scores > threshold).sum())
    axis.axvline(
        threshold, color=theme.ink, linestyle="--", linewidth=1,
        label=f"threshold {threshold:.3g}\n{beyond} of {len(scores)} beyond",
    )  # fmt: skip
    axis.set(ylabel="samples")
    axis.set_title("all samples")
    axis.legend()


def _plain_numbers(axis: Any, low: float, high: float) -> None:
    """Ticks 1, 2, 5 and their tens, written as numbers."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    steps = (1, 2, 5) if len(decades) <= 4 else (1,)
    ticks = [float(f"{step}e{power}") for power in decades for step in steps]
    inside = [tick for tick in ticks if low <= tick <= high]
    axis.set_xticks(inside, [f"{tick:g}" for tick in inside])
    axis.set_xticks([], minor=True)
