"""Figures of curves, each from rows and a theme alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..experiments.models import LABELS
from ..experiments.paper import DATASETS
from .style import MARKERS, Theme, pyplot
from .summary import Row, curve, group, select, spread

NAMES = {
    **DATASETS,
    "uspst_zip": "USPST (zip.test)",
    "cifar10": "CIFAR-10",
    "uniform": "tiny random problems",
}


def panels(columns: int, rows: int = 1, height: float = 3.1) -> tuple[Any, list[Any]]:
    """A figure and its axes, row by row."""
    pyplot()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(min(10.5, 3.6 * columns + 0.6), height * rows))
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def _by_dataset(
    rows: list[Row], lines: int = 1, height: float = 3.1
) -> tuple[Any, list[tuple[list[Any], list[Row]]]]:
    """A figure with a column for each data set: axes from above, and the rows for them."""
    found = group(rows, "dataset")
    figure, axes = panels(len(found), lines, height)
    columns = []
    for place, ((dataset,), part) in enumerate(found.items()):
        own = axes[place :: len(found)]
        own[0].set_title(NAMES.get(str(dataset), str(dataset)))
        columns.append((own, part))
    return figure, columns


def _label_below(figure: Any, axis: Any, columns: int = 6) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def _models(rows: Iterable[Row]) -> list[str]:
    present = {row["model"] for row in rows}
    return [model for model in LABELS if model in present]


def _means(axis: Any, theme: Theme, rows: list[Row], x: str, y: str) -> None:
    """One line per model, with the standard deviation of the runs as a band."""
    for model in _models(rows):
        by_x = group(select(rows, model=model), x)
        points = [(float(str(key[0])), spread(found, y)) for key, found in by_x.items()]
        kept = [(at, s) for at, s in points if s is not None]
        if not kept:
            continue
        xs, means = [at for at, _ in kept], [s.mean for _, s in kept]
        colour = theme.colour(model)
        axis.plot(xs, means, MARKERS[model] + "-", color=colour, label=LABELS[model])
        low = [s.mean - s.sd for _, s in kept]
        axis.fill_between(xs, low, [s.mean + s.sd for _, s in kept], color=colour, alpha=0.15, lw=0)


def noise(rows: list[Row], theme: Theme) -> Any:
    """ACC and NMI against the deviation of the noise."""
    figure, axes = panels(2)
    for axis, score in zip(axes, ("ACC", "NMI"), strict=True):
        _means(axis, theme, rows, "sigma", score)
        axis.set(xlabel="deviation σ of the noise", ylabel=f"{score} (%)")
    _label_below(figure, axes[0])
    return figure


def outliers(rows: list[Row], theme: Theme) -> Any:
    """Scores and error of the clean samples against the share of outliers."""
    figure, columns = _by_dataset(rows, 2)
    for (top, bottom), part in columns:
        percent = [{**row, "percent": 100 * row["fraction"]} for row in part]
        _means(top, theme, percent, "percent", "ACC")
        _means(bottom, theme, percent, "percent", "clean_error")
        bottom.set(xlabel="outliers (% of samples)")
    top, bottom = columns[0][0]
    top.set_ylabel("ACC of clean samples (%)")
    bottom.set_ylabel("relative error of them")
    _label_below(figure, top)
    return figure


def _solver_line(axis: Any, theme: Theme, rows: list[Row], x: str, y: str, solver: str) -> None:
    text = {"mu": "mu, the paper's", "cd": "cd, ours"}[solver]
    xs, ys = curve(select(rows, solver=solver), x, y)
    style = "-" if solver == "mu" else "--"
    axis.plot(xs, ys, style, color=theme.colour(solver), label=text)


def convergence(rows: list[Row], theme: Theme) -> Any:
    """J against the iteration, both solvers."""
    figure, columns = _by_dataset(rows)
    for (axis,), part in columns:
        for solver in ("mu", "cd"):
            _solver_line(axis, theme, part, "iteration", "J", solver)
        axis.set(xscale="log", yscale="log", xlabel="iteration")
        _few_ticks(axis)
    (first,) = columns[0][0]
    first.set_ylabel("objective J")
    _label_below(figure, first)
    return figure


def _few_ticks(axis: Any) -> None:
    """Plain numbers on a logarithmic axis that spans less than a decade or two."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def errors(rows: list[Row], theme: Theme) -> Any:
    """Relative error against the iteration, one panel per k, one line per model and algorithm."""
    by_k = sorted(group(rows, "k").items(), key=lambda item: -float(str(item[0][0])))
    figure, axes = panels(len(by_k))
    for axis, ((k,), part) in zip(axes, by_k, strict=True):
        _error_lines(axis, theme, part)
        axis.set(xscale="log", xlabel="iteration", title=f"k = {k}")
    axes[0].set_ylabel("relative L2,1 error")
    _label_below(figure, axes[0], 3)
    return figure


def noisy_errors(rows: list[Row], theme: Theme) -> Any:
    """The same on a logarithmic scale, one row of panels per k, one panel per noise level."""
    found = sorted(group(rows, "k", "sigma").items(), key=lambda item: -float(str(item[0][0])))
    levels = len({key[1] for key, _ in found})
    figure, axes = panels(levels, len(found) // levels, 2.6)
    for axis, ((k, sigma), part) in zip(axes, found, strict=True):
        _error_lines(axis, theme, part)
        axis.set(xscale="log", yscale="log", title=f"k = {k}, σ = {float(str(sigma)):g}")
    for place, axis in enumerate(axes):
        if place % levels == 0:
            axis.set_ylabel("relative L2,1 error")
        if place >= len(axes) - levels:
            axis.set_xlabel("iteration")
    _label_below(figure, axes[0], 4)
    return figure


def _error_lines(axis: Any, theme: Theme, rows: list[Row]) -> None:
    for (model, solver, init), found in group(rows, "model", "solver", "init").items():
        name, start = str(model), str(init)
        colour = theme.colour(name if solver == "mu" else "cd")
        style = "-" if solver == "mu" else "--" if start == "random" else ":"
        xs, ys = curve(found, "iteration", "relative_error")
        label = f"{LABELS[name]} ({solver}{_STARTS.get(start, '')})"
        axis.plot(xs, [max(y, 1e-16) for y in ys], style, color=colour, label=label)


_STARTS = {"exemplar": ", exemplars", "auto": ", default start"}


def path(rows: list[Row], theme: Theme) -> Any:
    """ACC and NMI along the one-parameter path."""
    figure, columns = _by_dataset(rows, 2, 2.6)
    for own, part in columns:
        for axis, score in zip(own, ("ACC", "NMI"), strict=True):
            _means(axis, theme, part, "strength", score)
            axis.set_xscale("log")
        own[1].set_xlabel("strength λ")
    for axis, score in zip(columns[0][0], ("ACC", "NMI"), strict=True):
        axis.set_ylabel(f"{score} (%)")
    _label_below(figure, columns[0][0][0])
    return figure


def solvers(rows: list[Row], theme: Theme) -> Any:
    """J and ACC against the seconds of the fit."""
    figure, columns = _by_dataset(rows, 2, 2.7)
    for (top, bottom), part in columns:
        for solver in ("mu", "cd"):
            timed = _with_mean_time(select(part, solver=solver))
            _solver_line(top, theme, timed, "time", "J", solver)
            _solver_line(bottom, theme, timed, "time", "ACC", solver)
        top.set(xscale="log", yscale="log")
        _few_ticks(top)
        bottom.set(xscale="log", xlabel="seconds")
    top, bottom = columns[0][0]
    top.set_ylabel("objective J")
    bottom.set_ylabel("ACC (%)")
    _label_below(figure, top)
    return figure


def _with_mean_time(rows: Sequence[Row]) -> list[Row]:
    """The runs' mean time of an iteration, so that runs can be averaged at equal iterations."""
    times = {key: spread(found, "elapsed") for key, found in group(rows, "iteration").items()}
    timed = []
    for row in rows:
        mean = times[row["iteration"],]
        if mean is not None:
            timed.append({**row, "time": max(mean.mean, 1e-6)})
    return timed
