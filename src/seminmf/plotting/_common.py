"""Where to draw, what to draw, and what both must be like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._words import counted
from ..reporting.style import DARK, LIGHT, Theme, figure_style, pyplot

# Lines in one picture are told apart by these as well.
MARKERS = "osDvPXp*"


def per_sample(name: str, values: Any, n_samples: int) -> NDArray[Any]:
    """One value per sample."""
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {array.shape}, but the model was fitted to "
            f"{counted(n_samples, 'sample')}; "
            f"pass one value per sample, shape ({n_samples},)."
        )
    return array


def plain(text: Any) -> str:
    """A user's string as text: matplotlib takes what stands between dollar signs for a formula."""
    return str(text).replace("$", r"\$")


@contextmanager
def canvas(
    ax: Any,
    dark: bool,
    count: int,
    shape: tuple[int, int],
    size: tuple[float, float],
) -> Iterator[tuple[Theme, NDArray[Any]]]:
    """A theme and ``count`` Axes: those given, or those of a new figure in our style.

    ``shape`` is (rows, columns) of a new figure and ``size`` (width, height) of one of its panels.
    """
    pyplot()
    theme = DARK if dark else LIGHT
    if ax is not None:
        axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(axes) != count or not all(hasattr(axis, "plot") for axis in axes):
            raise ValueError(
                f"ax must be {count} matplotlib Axes, got {len(axes)} of type "
                f"{type(axes[0]).__name__ if len(axes) else 'none'}; for example "
                f"ax=plt.subplots(1, {count})[1]."
            )
        yield theme, axes
        return
    from matplotlib import pyplot as plt

    rows, columns = shape
    with figure_style(theme):
        figure = plt.figure(figsize=(columns * size[0], rows * size[1]))
        everything = figure.subplots(rows, columns, squeeze=False).ravel()
        for spare in everything[count:]:
            spare.remove()
        try:
            yield theme, everything[:count]
        except BaseException:
            plt.close(figure)
            raise
