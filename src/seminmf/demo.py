"""The package at work on data that needs no download: ``python -m seminmf.demo``.

Waveform signals, a tenth of them corrupted, are factorized with default settings. What comes out
(groups, parts, outliers) is said in three lines and shown in a report of one HTML file.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score

from . import FactorKMeans, L21SemiNMF
from ._terminal import speak_plainly
from ._types import FloatArray
from .datasets import add_outliers, make_waveform
from .metrics import majority_accuracy
from .reporting import Report, report
from .reporting.model.page import MARK

N_SAMPLES, N_COMPONENTS, CORRUPTED = 2000, 10, 0.1
# A signal is a random mixture of two of three triangular waves.
KINDS = np.array(["waves 2 and 3", "waves 1 and 3", "waves 1 and 2"])


@dataclass(frozen=True, eq=False)
class Findings:
    """What the demonstration found."""

    X: FloatArray
    kinds: Any
    clustering: FactorKMeans
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
            f"kind with L21SemiNMF, {self.plain_accuracy:.0%} with k-means of the signals.",
            f"Of the {total} samples with the largest outlier scores, {self.caught} are corrupted "
            f"ones (area under the ROC curve {self.auc:.3f}).",
        ]


def explore(n_samples: int = N_SAMPLES, random_state: int = 0) -> Findings:
    """Clusters and outliers of corrupted Waveform data, and the clusters of plain k-means."""
    clean, kinds = make_waveform(n_samples, random_state)
    X, corrupted = add_outliers(clean, CORRUPTED, random_state=random_state)
    robust = FactorKMeans(L21SemiNMF(N_COMPONENTS), random_state=random_state).fit(X)
    plain = KMeans(N_COMPONENTS, n_init=10, random_state=random_state).fit(X)
    accuracies = [
        majority_accuracy(kinds[~corrupted], found.labels_[~corrupted]) for found in (robust, plain)
    ]
    scores = robust.outlier_scores(X)
    worst = np.argsort(scores)[::-1][: corrupted.sum()]
    return Findings(
        X, KINDS[kinds], robust, corrupted, accuracies[0], accuracies[1],
        int(corrupted[worst].sum()), float(roc_auc_score(corrupted, scores)),
    )  # fmt: skip


def show(findings: Findings) -> Report:
    """The robust model as a page."""
    title = "Noisy signals, a tenth of them corrupted"
    return report(findings.clustering, findings.X, labels=findings.kinds, title=title)


def check_folder(folder: Path) -> Path:
    """Where its page will be; an error if something else is there."""
    page = folder / "index.html"
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; name a folder (--out).")
    if page.exists() and MARK not in page.read_text(encoding="utf-8", errors="replace"):
        raise FileExistsError(f"{page} is not a page of seminmf; choose another folder (--out).")
    return page


def write(findings: Findings, folder: Path) -> Path:
    """The page in a folder, in place of an earlier one, but of nothing else."""
    page = check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return show(findings).save(page)


def main() -> None:
    """Entry point of ``python -m seminmf.demo``."""
    parser = argparse.ArgumentParser(prog="python -m seminmf.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-report"), help="folder to write to")
    folder: Path = parser.parse_args().out
    speak_plainly()
    check_folder(folder)
    findings = explore()
    page = write(findings, folder)
    for sentence in findings.sentences():
        print(sentence)
    print(f"Report: {page}")


if __name__ == "__main__":
    main()
