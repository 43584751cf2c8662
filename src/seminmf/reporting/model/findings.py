"""What a report tells, as numbers: computed here, written elsewhere."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..._once import once
from ..._types import FloatArray, IntArray
from ...data import divided, entry_range, row_squares, unit_of
from ...metrics import majority_accuracy, majority_labels, nmi
from ...models.clustering import find_clusters
from ...models.outliers import outlier_scores
from ...models.reading import metric_root
from ...outliers import outlier_threshold
from .overview import Overview, look_over
from .pictures import Scale
from .plane import Plane, lay_out
from .subject import Subject

# How many samples are listed.
TYPICAL, RANKED = 5, 20
# So many samples set the scale of colours of all.
_SCALED = 500
# Seed of what a report has to draw itself: the clusters of a bare factorization.
_SEED = 0


@dataclass(frozen=True, eq=False)
class Outliers:
    """Outlier scores against their threshold."""

    scores: FloatArray
    threshold: float
    median: float
    flagged: NDArray[np.bool_]
    ranked: IntArray
    """The samples with the largest scores, worst first."""

    @property
    def count(self) -> int:
        return int(self.flagged.sum())

    def ratio(self, sample: int) -> float:
        """A score in units of the median; NaN where the median is zero."""
        return float(self.scores[sample]) / self.median if self.median > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class Cluster:
    """One cluster: the samples nearest to and farthest from its centre, outliers left out."""

    number: int
    size: int
    outliers: int
    most: IntArray
    least: IntArray
    parts: IntArray
    """The parts that make up most of its centre."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """Clusters against labels; scores of all samples that have one, and without the outliers."""

    counts: IntArray
    """Labels × clusters."""
    accuracy: float
    nmi: float
    accuracy_inside: float
    nmi_inside: float


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything a report shows."""

    subject: Subject
    explained: float
    """1 − Σ residual² / Σ ‖x‖² over all samples; NaN if X is zero."""
    explained_inside: float
    """The same without the outliers."""
    outliers: Outliers
    cluster_of: IntArray
    distances: FloatArray
    """Of each sample's reconstruction to the centre of its cluster."""
    clusters: tuple[Cluster, ...]
    usage: FloatArray
    """Share of each part in the sum of all that is added up, Σ_i v_ij ‖u_j‖; sums to 1."""
    shares: FloatArray
    """Share of each part in a sample, v_ij ‖u_j‖ of their sum; rows sum to 1, or are zero."""
    plane: Plane
    overview: Overview
    agreement: Agreement | None
    cluster_seed: int | None
    """Seed of the clusters, where the report had to find them itself."""

    @once
    def picture_scale(self) -> Scale:
        """One scale for all samples that are shown as images."""
        return Scale.of(self.subject.rows(self.plane.drawn[:_SCALED]))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Samples, features, parts."""
        n, m = self.subject.X.shape
        return n, m, len(self.subject.factorizer.components_)


def find(about: Subject) -> Findings:
    """Look at a fitted model."""
    fitted = about.factorizer
    codes, parts = (np.asarray(f, dtype=np.float64) for f in (fitted.codes_, fitted.components_))
    lengths = np.linalg.norm(parts, axis=1)
    outliers = _outliers(np.asarray(outlier_scores(fitted, about.X), dtype=np.float64))
    residuals = np.asarray(fitted.residuals_, dtype=np.float64)
    inside = ~outliers.flagged
    cluster_of, centres, seed = _clustering(about, codes)
    root = metric_root(fitted, codes.shape[1])
    distances = np.linalg.norm(codes @ root - (centres @ root)[cluster_of], axis=1)
    clusters = tuple(
        _cluster(number, centres[number] * lengths, cluster_of == number, inside, distances)
        for number in range(len(centres))
        if (cluster_of == number).any()
    )
    unit = unit_of(max(map(abs, entry_range(about.X))), about.X.dtype)
    squares = row_squares(divided(about.X, unit)).astype(np.float64) * unit**2
    weights = codes * lengths
    spent = weights.sum(axis=0, dtype=np.float64)
    total = weights.sum(axis=1, keepdims=True)
    listed = [outliers.ranked, *(c.most for c in clusters), *(c.least for c in clusters)]
    return Findings(
        about,
        _explained(residuals, squares),
        _explained(residuals[inside], squares[inside]),
        outliers,
        cluster_of,
        distances,
        clusters,
        spent / (spent.sum() or 1.0),
        weights / np.where(total > 0, total, 1.0),
        lay_out(fitted, outliers.scores, outliers.flagged, cluster_of, np.concatenate(listed)),
        look_over(about, inside),
        _agreement(about, cluster_of, len(centres), inside),
        seed,
    )


def _outliers(scores: FloatArray) -> Outliers:
    threshold = outlier_threshold(scores)
    ranked = np.argsort(-scores, kind="stable")[:RANKED]
    return Outliers(scores, threshold, float(np.median(scores)), scores > threshold, ranked)


def _clustering(about: Subject, codes: FloatArray) -> tuple[IntArray, FloatArray, int | None]:
    """Clusters and centres: the model's own, or those that `FactorKMeans` would find."""
    if about.clusters is not None:
        return about.clusters.labels_, about.clusters.cluster_centers_, None
    with warnings.catch_warnings():
        # Fewer different codes than clusters: some clusters stay empty, and are not shown.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = find_clusters(about.factorizer, codes, codes.shape[1], _SEED)
    return found.partition.labels, found.centres, _SEED


def _cluster(
    number: int, centre: FloatArray, member: Any, inside: Any, distances: FloatArray
) -> Cluster:
    chosen = np.flatnonzero(member & inside)
    if not len(chosen):
        chosen = np.flatnonzero(member)
    ordered = chosen[np.argsort(distances[chosen], kind="stable")]
    half = len(ordered) // 2
    most = ordered[: max(1, min(TYPICAL, len(ordered) - half))]
    least = ordered[::-1][: min(TYPICAL, half)]
    largest = np.argsort(-centre, kind="stable")[:3]
    return Cluster(
        number,
        int(member.sum()),
        int((member & ~inside).sum()),
        most,
        least,
        largest[centre[largest] > 0.05 * max(centre.max(), 0.0)],
    )


def _explained(residuals: FloatArray, squares: FloatArray) -> float:
    total = float(squares.sum())
    return 1 - float((residuals**2).sum()) / total if total > 0 else float("nan")


def _agreement(about: Subject, cluster_of: IntArray, count: int, inside: Any) -> Agreement | None:
    if about.labels is None:
        return None
    classes, known = about.labels.codes, about.labels.codes >= 0
    counts = np.zeros((len(about.labels.names), count), dtype=np.int64)
    np.add.at(counts, (classes[known], cluster_of[known]), 1)

    def scores(which: Any) -> tuple[float, float]:
        if not which.any():
            return float("nan"), float("nan")
        y, found = classes[which], cluster_of[which]
        return majority_accuracy(y, found), nmi(y, majority_labels(y, found))

    return Agreement(counts, *scores(known), *scores(known & inside))
