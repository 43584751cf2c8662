"""Where to draw, what to draw, and what both must be like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..reporting.style import DARK, LIGHT, Theme, figure_style, pyplot

# Okabe and Ito's colours without the yellow, which does not show on white, and two more.
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C510A", "#5E3C99",
)  # fmt: skip
# From the ninth class on colours come again, with another marker.
MARKERS = "osDvPXp*"


def factorization(model: Any) -> Any:
    """The fitted factorization in a model, or an error that says what to pass."""
    found = model
    if hasattr(model, "factorizer"):
        check_is_fitted(model)
        found = model.factorizer_
    if not hasattr(found, "codes_") or not hasattr(found, "components_"):
        if hasattr(found, "fit") and hasattr(found, "n_components"):
            raise NotFittedError(
                f"This {type(found).__name__} is not fitted yet; call fit(X) before drawing it."
            )
        raise TypeError(
            "model must be a fitted factorization of seminmf, such as L21SemiNMF(10).fit(X), or a "
            f"fitted FactorKMeans, got {type(model).__name__}."
        )
    return found


def per_sample(name: str, values: Any, n_samples: int) -> NDArray[Any]:
    """One value per sample."""
    array = np.asarray(values)
    if array.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {array.shape}, but the model was fitted to {n_samples} samples; "
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
