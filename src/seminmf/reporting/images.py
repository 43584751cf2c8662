"""Figures of images and of the α × β grids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..experiments.models import LABELS
from .figures import NAMES, panels
from .style import Theme
from .summary import Row, group, select, spread

_SHOWN = ("SNF", "GR SNF", "L21 SNF", "noisy", "original")
_TITLES = {**LABELS, "noisy": "with noise", "original": "original"}


def digits(rows: list[Row], theme: Theme) -> Any:
    """One line of images per model, the digit below each column."""
    lines = [(name, select(rows, model=name)) for name in _SHOWN]
    lines = [(name, sorted(found, key=lambda row: row["image"])) for name, found in lines if found]
    figure, (axis,) = panels(1)
    figure.set_size_inches(10.5, 0.63 * len(lines) + 0.35)
    strips = [np.hstack([_image(row["pixels"]) for row in found]) for _, found in lines]
    axis.imshow(np.vstack(strips), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    side = strips[0].shape[0]
    axis.set_yticks([side * (i + 0.5) for i in range(len(lines))])
    axis.set_yticklabels([_TITLES[name] for name, _ in lines])
    axis.set_xticks([side * (i + 0.5) for i in range(len(lines[0][1]))])
    axis.set_xticklabels([str(row["digit"]) for row in lines[0][1]])
    axis.tick_params(length=0)
    axis.grid(False)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return figure


def _image(pixels: str) -> Any:
    values = np.frombuffer(bytes.fromhex(pixels), np.uint8)
    side = math.isqrt(len(values))
    return values[: side * side].reshape(side, side)


def grid(
    rows: list[Row], paper: dict[tuple[float, float], tuple[float, float]], theme: Theme
) -> Any:
    """ACC over α × β, the paper's and ours, side by side with the same colours."""
    means = {}
    for (alpha, beta), found in group(rows, "alpha", "beta").items():
        acc = spread(found, "ACC")
        if acc is not None:
            means[float(str(alpha)), float(str(beta))] = acc.mean
    printed = {pair: scores[0] for pair, scores in paper.items()}
    values = [*means.values(), *printed.values()]
    low, high = min(values), max(values)
    figure, axes = panels(2, height=3.8)
    for axis, title, table in ((axes[0], "paper", printed), (axes[1], "ours", means)):
        _heat(axis, title, table, low, high)
    return figure


def _heat(
    axis: Any, title: str, table: dict[tuple[float, float], float], low: float, high: float
) -> None:
    alphas = sorted({alpha for alpha, _ in table})
    betas = sorted({beta for _, beta in table}, reverse=True)
    cells = np.array([[table.get((a, b), np.nan) for a in alphas] for b in betas])
    axis.imshow(cells, cmap="cividis", vmin=low, vmax=high, aspect="auto")
    best = max(table, key=lambda pair: table[pair])
    for row, beta in enumerate(betas):
        for column, alpha in enumerate(alphas):
            value = cells[row, column]
            if np.isfinite(value):
                bright = (value - low) / max(high - low, 1e-9) > 0.55
                weight = "bold" if (alpha, beta) == best else "normal"
                axis.text(
                    column, row, f"{value:.1f}", ha="center", va="center", fontsize=8,
                    color="#000000" if bright else "#ffffff", fontweight=weight,
                )  # fmt: skip
    axis.set_xticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
    axis.set_yticks(range(len(betas)), [f"{beta:g}" for beta in betas])
    axis.set(xlabel="α", ylabel="β", title=f"ACC (%), {title}")
    axis.grid(False)
    axis.tick_params(length=0)


def collapse(by_solver: dict[str, list[Row]], theme: Theme) -> Any:
    """ACC of every pair (α, β) against their product: the paper's iterations, and ours."""
    datasets = sorted({row["dataset"] for rows in by_solver.values() for row in rows})
    order = [name for name in NAMES if name in datasets]
    figure, axes = panels(len(order), len(by_solver), 2.6)
    for line, (solver, rows) in enumerate(by_solver.items()):
        for column, dataset in enumerate(order):
            axis = axes[line * len(order) + column]
            points = [
                (float(str(a)) * float(str(b)), spread(found, "ACC"), float(str(a)))
                for (a, b), found in group(select(rows, dataset=dataset), "alpha", "beta").items()
            ]
            kept = [(x, s.mean, a) for x, s, a in points if s is not None]
            if kept:
                axis.scatter(
                    [x for x, _, _ in kept], [y for _, y, _ in kept], s=22, cmap="cividis",
                    c=[math.log10(a) for _, _, a in kept], vmin=-3, vmax=2,
                    edgecolors=theme.faint, linewidths=0.5,
                )  # fmt: skip
            axis.set_xscale("log")
            if line == 0:
                axis.set_title(NAMES[dataset])
            if line == len(by_solver) - 1:
                axis.set_xlabel("α · β")
        axes[line * len(order)].set_ylabel(f"ACC (%), {solver}")
    return figure
