"""The parts: rows of ``components_`` as images, bars or lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._types import FloatArray
from .._words import counted
from ..models.validation import check_choice, check_integer
from ..reporting.style import DIVERGING, GREY, Theme
from ..reporting.unwrapping import unwrap
from ._common import canvas, plain

# Few enough features for a bar each.
FEW_FEATURES = 15


def plot_parts(
    model: Any,
    *,
    feature_names: Any = None,
    image_shape: tuple[int, int] | None = None,
    kind: str = "auto",
    top: int = 10,
    parts: Sequence[int] | None = None,
    same_scale: bool = False,
    columns: int | None = None,
    ax: Any = None,
    dark: bool = False,
) -> Any:
    """The parts (rows of ``components_``): images, bars with names, or lines.

    Parameters
    ----------
    model : fitted estimator
        A factorization, or a `FactorKMeans`, `Standardized` or pipeline of one.
    feature_names : sequence of str, default=None
        One name per feature; None takes those that the model saw in the fit.
    image_shape : (rows, columns), default=None
        Draw each part as an image of this shape: white is zero, blue positive, orange negative;
        black positive where no part is negative.
    kind : {"auto", "bars", "lines", "images"}, default="auto"
        "auto" draws images where `image_shape` is given, bars where features have names or are
        few, and lines otherwise.
    top : int, default=10
        Bars of the features with the largest weights only, largest on top.
    parts : sequence of int, default=None
        Which parts to draw, counted from 0; None draws all.
    same_scale : bool, default=False
        One scale for all parts. By default each part has its own, symmetric around zero: the
        size of a part says nothing without that of its codes.
    columns : int, default=None
        Panels in a row of a new figure.
    ax : Axes or array of Axes, default=None
        Where to draw, one Axes per part; None makes a new figure.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    axes : ndarray of matplotlib Axes, one per part
    """
    inner = unwrap(model)
    fitted = inner.factorizer
    components = np.asarray(fitted.components_, dtype=np.float64)
    k, m = components.shape
    check_choice("kind", kind, ("auto", "bars", "lines", "images"))
    check_integer("top", top, 1)
    if feature_names is None:
        feature_names = inner.names(getattr(model, "feature_names_in_", None))
    names = None if feature_names is None else _names(feature_names, m)
    if image_shape is not None:
        image_shape = _check_image(image_shape, m)
    if kind == "auto":
        short = names is not None or m <= FEW_FEATURES
        kind = "images" if image_shape is not None else "bars" if short else "lines"
    if kind == "images" and image_shape is None:
        raise ValueError(
            'kind="images" needs image_shape=(rows, columns) with rows * columns = '
            f"n_features = {m}."
        )
    chosen = range(k) if parts is None else [_check_part(part, k) for part in parts]
    if not len(chosen):
        raise ValueError("parts is empty; name at least one part, counted from 0.")
    if columns is None:
        rows = -(-len(chosen) // {"images": 8, "lines": 5, "bars": 3}[kind])
        columns = -(-len(chosen) // rows)
    columns = check_integer("columns", columns, 1)
    size = {"images": (1.35, 1.55), "lines": (2.2, 1.7), "bars": (3.3, 0.7 + 0.22 * min(top, m))}
    shape = -(-len(chosen) // columns), columns
    largest = np.abs(components[list(chosen)]).max(axis=1)
    largest = np.full_like(largest, largest.max()) if same_scale else largest
    signed = bool((components < 0).any())
    with canvas(ax, dark, len(chosen), shape, size[kind]) as (theme, axes):
        for axis, number, bound in zip(axes, chosen, largest, strict=True):
            part, limit = components[number], float(bound) or 1.0
            if image_shape is not None and kind == "images":
                axis.imshow(
                    part.reshape(image_shape), cmap=_colours(signed),
                    vmin=-limit if signed else 0.0, vmax=limit, interpolation="nearest",
                )  # fmt: skip
                axis.set(xticks=[], yticks=[])
                axis.grid(visible=False)
            elif kind == "bars":
                _bars(axis, theme, part, names, top)
                if same_scale:
                    axis.set_xlim(-1.08 * limit, 1.08 * limit)
            else:
                axis.axhline(0, color=theme.faint, linewidth=0.8)
                axis.plot(np.arange(1, m + 1), part, color=theme.l21)
                axis.set_ylim(-1.08 * limit, 1.08 * limit)
            axis.set_title(f"part {number}", fontsize=10)
    return axes


def _colours(signed: bool) -> Any:
    """Those of images on a page."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("seminmf", DIVERGING if signed else GREY)


def _names(given: Any, n_features: int) -> list[str]:
    """Names of the features as text."""
    listed = [plain(name) for name in given]
    if len(listed) != n_features:
        raise ValueError(
            f"feature_names has {counted(len(listed), 'name')}, but the model has {n_features} "
            "features; pass one name per feature."
        )
    return listed


def _check_image(image_shape: Any, n_features: int) -> tuple[int, int]:
    shape = tuple(image_shape) if np.iterable(image_shape) else (image_shape,)
    whole = all(isinstance(side, int | np.integer) and side > 0 for side in shape)
    if len(shape) != 2 or not whole or shape[0] * shape[1] != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} must be two positive integers (rows, columns) with "
            f"rows * columns = n_features = {n_features}."
        )
    return int(shape[0]), int(shape[1])


def _check_part(part: Any, k: int) -> int:
    if isinstance(part, bool) or not isinstance(part, int | np.integer) or not 0 <= part < k:
        raise ValueError(
            f"parts has the entry {part!r}, but the model has parts 0 to {k - 1}; "
            "parts are counted from 0."
        )
    return int(part)


def _bars(axis: Any, theme: Theme, part: FloatArray, names: list[str] | None, top: int) -> None:
    """The largest weights by size, largest on top."""
    largest = np.argsort(-np.abs(part), kind="stable")[:top]
    colours = [theme.l21 if weight >= 0 else theme.below for weight in part[largest]]
    rows = np.arange(len(largest))
    axis.barh(rows, part[largest], color=colours, height=0.7)
    texts = [names[j] if names is not None else f"x{j}" for j in largest]
    axis.set_yticks(rows, texts, fontsize=8)
    axis.set_ylim(len(largest) - 0.4, -0.6)
    axis.axvline(0, color=theme.faint, linewidth=0.8)
    axis.grid(visible=False, axis="y")
