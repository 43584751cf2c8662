"""The package at work on data that needs no download: ``python -m seminmf.demo``.

Waveform signals, a tenth of them corrupted, are factorized with default settings. What comes out
(groups, parts, outliers) is said in three lines and drawn in a report of one HTML file.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from . import FactorKMeans, L21SemiNMF, SemiNMF
from ._types import FloatArray, IntArray
from .datasets import add_outliers, make_waveform
from .metrics import majority_accuracy
from .reporting.document import Document, Drawing, Section
from .reporting.html import to_html
from .reporting.style import Theme

N_SAMPLES, N_COMPONENTS, CORRUPTED = 2000, 10, 0.1


@dataclass(frozen=True)
class Findings:
    """What the demonstration found."""

    model: L21SemiNMF
    clusters: IntArray
    corrupted: Any
    robust_accuracy: float
    plain_accuracy: float
    caught: int
    auc: float

    def sentences(self) -> list[str]:
        """Three sentences for a person."""
        total = int(self.corrupted.sum())
        return [
            f"{N_SAMPLES} signals of three kinds, of which {total} were corrupted; k = "
            f"{N_COMPONENTS}, every other setting at its default.",
            f"Of the intact signals, {self.robust_accuracy:.0%} fall into a cluster of their own "
            f"kind with L21SemiNMF, {self.plain_accuracy:.0%} with least squares (SemiNMF).",
            f"Of the {total} samples with the largest residuals, {self.caught} are corrupted ones "
            f"(area under the ROC curve {self.auc:.3f}).",
        ]


def explore(n_samples: int = N_SAMPLES, random_state: int = 0) -> Findings:
    """Fit the robust and the least-squares model to corrupted Waveform data."""
    clean, kinds = make_waveform(n_samples, random_state)
    X, corrupted = add_outliers(clean, CORRUPTED, random_state=random_state)
    accuracies, clusterings = [], []
    for factorizer in (L21SemiNMF(N_COMPONENTS), SemiNMF(N_COMPONENTS)):
        clustering = FactorKMeans(factorizer, random_state=random_state).fit(X)
        intact = ~corrupted
        accuracies.append(majority_accuracy(kinds[intact], clustering.labels_[intact]))
        clusterings.append(clustering)
    model = clusterings[0].factorizer_
    worst = np.argsort(model.residuals_)[::-1][: corrupted.sum()]
    return Findings(
        model, clusterings[0].labels_, corrupted, accuracies[0], accuracies[1],
        int(corrupted[worst].sum()), float(roc_auc_score(corrupted, model.residuals_)),
    )  # fmt: skip


def report(findings: Findings) -> Document:
    """The findings as a page."""
    model = findings.model
    section = Section(
        "What was found",
        "found",
        [
            Drawing("map", "The samples, in the plane that shows most of their codes; one colour "
                    "per cluster, crosses for corrupted samples.",
                    lambda theme: _map(theme, model.codes_, findings)),
            Drawing("parts", "The basis: each of the signals is a sum of these, with weights that "
                    "are never negative.", lambda theme: _parts(theme, model.components_)),
            Drawing("outliers", "Residual of each sample, the outlier score; corrupted samples "
                    "in blue.", lambda theme: _outliers(theme, findings)),
            Drawing("convergence", "The objective after each iteration.",
                    lambda theme: _convergence(theme, model.objective_history_)),
        ],
    )  # fmt: skip
    return Document("seminmf on noisy signals", findings.sentences(), [section])


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


_CLUSTER_COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999",
    "#8C510A", "#5E3C99",
)  # fmt: skip


def _map(theme: Theme, codes: FloatArray, findings: Findings) -> Any:
    figure = _figure(7, 4.6)
    axis = figure.subplots()
    intact = ~findings.corrupted
    plane = PCA(2).fit(codes[intact])
    places = plane.transform(codes)
    colours = [_CLUSTER_COLOURS[i % len(_CLUSTER_COLOURS)] for i in findings.clusters]
    axis.scatter(*places[intact].T, s=8, c=np.array(colours)[intact], linewidths=0)
    axis.scatter(*places[~intact].T, s=14, c=theme.faint, marker="x", linewidths=0.8)
    edges = np.quantile(places[intact], [0.001, 0.999], axis=0)
    margin = 0.15 * (edges[1] - edges[0])
    axis.set_xlim(edges[0, 0] - margin[0], edges[1, 0] + margin[0])
    axis.set_ylim(edges[0, 1] - margin[1], edges[1, 1] + margin[1])
    axis.set(xlabel="first direction of the codes", ylabel="second")
    return figure


def _parts(theme: Theme, components: FloatArray) -> Any:
    figure = _figure(9, 3.6)
    axes = figure.subplots(2, -(-len(components) // 2), sharex=True, sharey=True, squeeze=False)
    for number, axis in enumerate(axes.ravel()):
        if number >= len(components):
            axis.axis("off")
            continue
        axis.axhline(0, color=theme.faint, linewidth=0.6)
        axis.plot(np.arange(1, components.shape[1] + 1), components[number], color=theme.l21)
        axis.set_title(f"part {number + 1}", fontsize=9)
    figure.supxlabel("position in the signal", fontsize=10)
    return figure


def _outliers(theme: Theme, findings: Findings) -> Any:
    figure = _figure(7, 3.2)
    axis = figure.subplots()
    residuals, corrupted = findings.model.residuals_, findings.corrupted
    bins = np.geomspace(max(residuals.min(), 1e-3), residuals.max(), 50)
    groups = [residuals[~corrupted], residuals[corrupted]]
    colours = ["#E69F00", theme.l21]
    axis.hist(groups, bins=bins, stacked=True, color=colours, label=["intact", "corrupted"])
    axis.set(xscale="log", xlabel="residual", ylabel="samples")
    ticks = [t for t in (0.5, 1, 2, 5, 10, 20, 50, 100) if bins[0] <= t <= bins[-1]]
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axis.set_xticks([], minor=True)
    axis.legend(frameon=False)
    return figure


def _convergence(theme: Theme, history: FloatArray) -> Any:
    figure = _figure(7, 2.8)
    axis = figure.subplots()
    axis.plot(np.arange(1, len(history) + 1), history, color=theme.l21, marker="o", markersize=3)
    axis.set(xlabel="iteration", ylabel="objective")
    return figure


def main() -> None:
    """Entry point of ``python -m seminmf.demo``."""
    parser = argparse.ArgumentParser(prog="python -m seminmf.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-report"), help="folder to write to")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    findings = explore()
    page = folder / "index.html"
    page.write_text(to_html(report(findings)), encoding="utf-8")
    for sentence in findings.sentences():
        print(sentence)
    print(f"Report: {page}")


if __name__ == "__main__":
    main()
