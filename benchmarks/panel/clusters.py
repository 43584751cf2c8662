"""Clusters with as many clusters as classes: our models, and what can be done without them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF, PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph

from seminmf import FactorKMeans, GraphSemiNMF, L21SemiNMF, SemiNMF
from seminmf.metrics import majority_accuracy, matched_accuracy, nmi

from . import collection
from .rows import Job, Row, complete
from .sets import CLEAN, GROSS, NAMES, SCALED, SWAPPED, Floats, Labels, Subset, at_hand, subset

FILE = Path(__file__).parents[2] / "docs" / "panel-clusters.csv"
COLLECTION = FILE.with_name("panel-collection.csv")
RUNS = 3
FRACTION = 0.2
SPOILT = (GROSS, SCALED, SWAPPED)
# "× 2" is twice the automatic strength.
STRENGTHS = ("auto", "0.0003", "0.001", "0.003", "× 0.25", "× 0.5", "× 2", "× 4")
_NEIGHBOURS, _ROUNDS = 5, 2

Method = Callable[[Subset], Labels]


def _kmeans(X: Floats, of: Subset, inside: Any = slice(None)) -> Labels:
    """Clusters of all samples around centres of those ``inside``."""
    search = KMeans(of.classes, n_init=10, random_state=of.seed("k-means"))
    return np.asarray(search.fit(X[inside]).predict(X))


def _smooth(X: Floats, counts: Any) -> Floats:
    """Means of each sample and those of its nearest samples that count, again and again."""
    links = kneighbors_graph(X, min(_NEIGHBOURS, len(X) - 1)) @ sp.diags_array(counts.astype(float))
    total = 1 + np.asarray(links.sum(axis=1)).reshape(-1, 1)
    for _ in range(_ROUNDS):
        X = (X + links @ X) / total
    return X


def _smoothing(of: Subset) -> Labels:
    return _kmeans(_smooth(of.X, np.ones(len(of.X))), of)


def _fenced_smoothing(of: Subset, far: float) -> Labels:
    """Samples far from the median have no say."""
    distances = np.linalg.norm(of.X - np.median(of.X, axis=0), axis=1)
    beyond = np.abs(distances - np.median(distances))
    inside = distances <= np.median(distances) + far * 1.4826 * np.median(beyond)
    return _kmeans(_smooth(of.X, inside), of, inside)


def _spectral(of: Subset) -> Labels:
    search = SpectralClustering(
        of.classes, affinity="nearest_neighbors", n_neighbors=_NEIGHBOURS,
        random_state=of.seed("k-means"),
    )  # fmt: skip
    return np.asarray(search.fit_predict(of.X))


def _mixture(of: Subset) -> Labels:
    """Full covariances, in the leading directions where features are more than samples allow."""
    X, most = of.X, max(1, len(of.X) // (5 * of.classes))
    if X.shape[1] > most:
        X = PCA(most, random_state=0).fit_transform(X)
    search = GaussianMixture(of.classes, n_init=2, random_state=of.seed("k-means"))
    return np.asarray(search.fit_predict(X))


def _pca(of: Subset) -> Labels:
    number = min(of.classes, *of.X.shape)
    return _kmeans(PCA(number, random_state=0).fit_transform(of.X), of)


def _sklearn_nmf(of: Subset) -> Labels:
    """Of the samples moved to where all features are at least zero."""
    start = "nndsvda" if of.classes <= min(of.X.shape) else "random"
    model = NMF(of.classes, init=start, max_iter=300, random_state=of.seed("start"))
    return _kmeans(model.fit_transform(of.X - of.X.min(axis=0)), of)


def _factors(of: Subset, model: type, how: dict[str, Any], strength: str = "") -> Labels:
    """With the default strength if none is given."""
    factorizer = model(of.classes, random_state=of.seed("start"))
    if strength.startswith("× "):
        factorizer.set_params(strength=float(strength[2:]) * factorizer.fit(of.X).strength_)
    elif strength and strength != "auto":
        factorizer.set_params(strength=float(strength))
    search = FactorKMeans(factorizer, random_state=of.seed("k-means"), **how)
    return np.asarray(search.fit(of.X).labels_)


OURS = "FactorKMeans(L21SemiNMF)"
OTHERS = {
    "FactorKMeans(GraphSemiNMF)": partial(_factors, model=GraphSemiNMF, how={}),
    "FactorKMeans(SemiNMF)": partial(_factors, model=SemiNMF, how={}),
    "the paper's: k-means of V": partial(
        _factors, model=L21SemiNMF, how={"metric": "codes", "refine": False}
    ),
}
KMEANS = "k-means of X"
BASELINES: dict[str, Method] = {
    KMEANS: lambda of: _kmeans(of.X, of),
    "smoothing": _smoothing,
    "fence of 3, smoothing": partial(_fenced_smoothing, far=3.0),
    "fence of 6, smoothing": partial(_fenced_smoothing, far=6.0),
    "spectral": _spectral,
    "Gaussian mixture": _mixture,
    "PCA, k-means": _pca,
    "scikit-learn NMF, k-means": _sklearn_nmf,
}
# What was to be chosen: how codes are read, and the strength.
READINGS: dict[str, dict[str, Any]] = {
    "codes": {"metric": "codes", "refine": False},
    "codes, refined": {"metric": "codes"},
    "reconstructions": {"refine": False},
    "reconstructions, refined": {},
}
CHOICES: dict[str, Method] = {
    f"{model.__name__}, {strength}, {reading}": partial(
        _factors, model=model, how=how, strength=strength
    )
    for model in (L21SemiNMF, GraphSemiNMF)
    for strength in STRENGTHS
    for reading, how in READINGS.items()
    # What is near to what is chosen is looked at in its reading alone.
    if strength in ("auto", "0.001") or not how
}
METHODS: dict[str, Method] = {
    OURS: partial(_factors, model=L21SemiNMF, how={}), **OTHERS, **BASELINES, **CHOICES,
}  # fmt: skip


def _scores(y: Labels, clusters: Labels) -> tuple[float, float, float, float]:
    measures = (majority_accuracy, matched_accuracy, nmi, adjusted_rand_score)
    acc, matched, information, rand = (100 * float(measure(y, clusters)) for measure in measures)
    return acc, matched, information, rand


def work(job: Job) -> list[Row]:
    """The rows of a job."""
    of = subset(job.data, job.run, job.kind, FRACTION)
    intact, rows = ~of.outlier, []
    for name in job.methods:
        with warnings.catch_warnings():
            # Of runs that end before they are done, and graphs in several pieces.
            warnings.simplefilter("ignore")
            began = time.process_time()
            clusters = METHODS[name](of)
            seconds = time.process_time() - began
        scores = _scores(of.y[intact], clusters[intact])
        rows.append(Row(job.data, job.kind, job.run, name, *scores, round(seconds, 3)))
    return rows


def jobs(runs: int) -> list[Job]:
    """Everything on clean sets, and with outliers what a user would compare."""
    compared = (OURS, *OTHERS, *BASELINES)
    names = [name for name in NAMES if at_hand(name)]
    return [
        Job(name, kind, run, tuple(METHODS) if kind == CLEAN else compared)
        for name in names
        for run in range(runs)
        for kind in (CLEAN, *SPOILT)
    ]


def measure(runs: int, forget: set[str]) -> list[Row]:
    """The rows of the panel."""
    return complete(FILE, Row, jobs(runs), work, forget)


# What is measured on the collection: what a user would compare, as far as it is affordable.
UNSEEN = (OURS, "FactorKMeans(SemiNMF)", *list(BASELINES)[:4])


def measure_collection(half: str, runs: int, forget: set[str]) -> None:
    """The rows of half of the collection; of spoilt sets only those of the first subsets."""
    wanted = [
        Job(name, kind, run, UNSEEN)
        for name in collection.NAMES[half]
        for kind in (CLEAN, *SPOILT)
        for run in range(runs if kind == CLEAN else 1)
    ]
    complete(COLLECTION, Row, wanted, work, forget)
