"""Runs: how the objective fell, and how the solution changes with the strength."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from .._words import counted
from ..metrics import majority_accuracy, nmi
from ..reporting.unwrapping import unwrap
from ._common import MARKERS, canvas, per_sample, plain

# A part that makes up less than this share of any sample is switched off.
_UNUSED = 1e-6


def plot_convergence(
    model: Any, *, relative: bool = False, ax: Any = None, dark: bool = False
) -> Any:
    """The objective after each iteration.

    Parameters
    ----------
    model : fitted estimator or mapping
        A factorization, a `FactorKMeans`, or a mapping of names to several of them, which are
        drawn as lines with a legend.
    relative : bool, default=False
        Draw how far, as a share, the objective is above its last value, on a logarithmic axis:
        for models whose objectives are not of one kind, and to see the last iterations.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    ax : matplotlib Axes
    """
    models = dict(model) if isinstance(model, Mapping) else {"": model}
    if not models:
        raise ValueError("model is an empty mapping; pass at least one fitted model.")
    histories = {name: unwrap(m).factorizer.objective_history_ for name, m in models.items()}
    with canvas(ax, dark, 1, (1, 1), (6.4, 3.6)) as (theme, (axes,)):
        for number, (name, history) in enumerate(histories.items()):
            colour = theme.categories[number % len(theme.categories)]
            if relative:
                # The last value itself, and what is not above it, has no logarithm.
                excess = history / history[-1] - 1 if history[-1] != 0 else history
                history = np.where(excess > 0, excess, np.nan)
            steps = np.arange(1, len(history) + 1)
            axes.plot(steps, history, "o-", color=colour, markersize=3, label=plain(name))
        axes.set(xlabel="iteration", ylabel="objective J")
        if relative:
            axes.set(yscale="log", ylabel="J / last J − 1")
        axes.xaxis.get_major_locator().set_params(integer=True)
        if "" not in histories:
            axes.legend()
    return axes


def plot_path(models: Any, *, labels: Any = None, ax: Any = None, dark: bool = False) -> Any:
    """How a solution changes with `strength`.

    Three panels over the strength: what the objective is made of (the loss and both penalties
    together, as shares; at the best scale of the codes one penalty is a fixed multiple of the
    other); how simple the model is (shares of codes that are zero and of parts in use); and how the
    clusters change: agreement (NMI) with the model before, and with the classes if given. Clusters
    are those of `FactorKMeans`; for a bare factorization, the part that contributes most to a
    sample.

    Parameters
    ----------
    models : sequence of fitted estimators, or mapping of strengths to them
        Graph models fitted to the same samples without sample weights. In a sequence each has the
        strength of its parameter `strength`, or, if that is "auto", its ``strength_``.
    labels : array-like of shape (n_samples,), default=None
        True classes, to compare with.
    ax : three Axes, default=None
        Where to draw; None makes a new figure.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    axes : ndarray of three matplotlib Axes
    """
    strengths, fitted = _path(models)
    factorizations = [unwrap(model).factorizer for model in fitted]
    n = len(factorizations[0].codes_)
    if any(len(f.codes_) != n for f in factorizations):
        raise ValueError(
            "models were fitted to different numbers of samples; pass models of the same data."
        )
    classes = None if labels is None else per_sample("labels", labels, n)
    shares = np.array([_loss_share(f) for f in factorizations])
    zero = [float((f.codes_ == 0).mean()) for f in factorizations]
    used = [_used(f) for f in factorizations]
    clusters = [_clusters(m, f) for m, f in zip(fitted, factorizations, strict=True)]
    with canvas(ax, dark, 3, (1, 3), (3.4, 3.7)) as (theme, axes):
        lines: list[list[tuple[str, Any, Any]]] = [
            [("loss", strengths, shares), ("penalties", strengths, 1 - shares)],
            [("codes that are zero", strengths, zero), ("parts in use", strengths, used)],
            [
                (
                    "NMI with the model before",
                    strengths[1:],
                    [nmi(before, after) for before, after in pairwise(clusters)],
                )
            ],
        ]
        if classes is not None:
            lines[2] += [
                ("NMI with labels", strengths, [nmi(classes, found) for found in clusters]),
                (
                    "majority accuracy",
                    strengths,
                    [majority_accuracy(classes, found) for found in clusters],
                ),
            ]
        titles = ("what J is made of", "how simple it is", "what the clusters do")
        for axis, title, drawn in zip(axes, titles, lines, strict=True):
            for number, (name, x, y) in enumerate(drawn):
                marker = MARKERS[number]
                axis.plot(x, y, marker + "-", color=theme.categories[number], label=name)
            _strength_scale(axis, strengths)
            axis.set(xlabel="strength λ", ylim=(-0.04, 1.04))
            axis.set_title(title)
            axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        axes[0].set_ylabel("share")
    return axes


def _path(models: Any) -> tuple[FloatArray, list[Any]]:
    """Strengths, ascending, and the models that belong to them."""
    if isinstance(models, Mapping):
        pairs = list(models.items())
    elif isinstance(models, Iterable):
        pairs = [(_strength(unwrap(model).factorizer), model) for model in models]
    else:
        raise TypeError(
            "models must be a sequence of fitted models or a mapping of strengths to them, got "
            f"{type(models).__name__}."
        )
    if len(pairs) < 2:
        raise ValueError(
            f"models has {counted(len(pairs), 'entry')}; a path needs at least two strengths."
        )
    if any(strength is None for strength, _ in pairs):
        raise ValueError(
            "models must have a parameter strength, as GraphSemiNMF and L21SemiNMF do; or pass a "
            "mapping of numbers to models."
        )
    pairs.sort(key=lambda pair: float(pair[0]))
    strengths = np.array([float(strength) for strength, _ in pairs])
    if not (np.isfinite(strengths).all() and (strengths >= 0).all()):
        raise ValueError("strengths must be finite numbers, zero or positive.")
    return strengths, [model for _, model in pairs]


def _strength(factorizer: Any) -> Any:
    given = getattr(factorizer, "strength", None)
    return factorizer.strength_ if given == "auto" else given


def _loss_share(fitted: Any) -> float:
    """The loss as a share of the objective."""
    total = float(fitted.objective_)
    loss = fitted.loss_.total(np.asarray(fitted.residuals_))
    return min(loss / total, 1.0) if total > 0 else 1.0


def _contributions(fitted: Any) -> FloatArray:
    """v_iq ‖u_q‖: how much of a sample each part makes up, whatever the scale of the factors."""
    return np.asarray(fitted.codes_ * np.linalg.norm(fitted.components_, axis=1))


def _used(fitted: Any) -> float:
    """Share of the parts that some sample is made of."""
    most = _contributions(fitted).max(axis=0)
    # A sample without any part has its own length as residual.
    typical = max(float(most.max()), float(np.max(fitted.residuals_)))
    return float((most > _UNUSED * typical).mean())


def _clusters(model: Any, fitted: Any) -> NDArray[Any]:
    found = getattr(model, "labels_", None)
    return _contributions(fitted).argmax(axis=1) if found is None else np.asarray(found)


def _strength_scale(axis: Any, strengths: FloatArray) -> None:
    """Logarithmic; a strength of zero stands at the left end."""
    positive = strengths[strengths > 0]
    if len(positive) == len(strengths):
        axis.set_xscale("log")
    elif len(positive):
        axis.set_xscale("symlog", linthresh=float(positive.min()), linscale=0.5)
