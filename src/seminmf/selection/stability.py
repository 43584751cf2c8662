"""Stability of clusters and parts: fits to random subsamples, and what they agree on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from sklearn.base import clone

from .._files import PathLike
from .._types import FloatArray, IntArray
from ..models.clustering import FactorKMeans
from ..models.factorization import _Factorization
from ..models.validation import check_integer, check_share
from .checks import check_array, drawn_seed, told_of
from .consensus import consensus_model, rand_index
from .work import Step, Work, working

# The most samples in the consensus matrix; of more, this many are drawn at random.
_MOST_SAMPLES = 1_000
# Percentiles that bound the confidence interval, and the number of bootstrap draws of runs for it.
_BOUNDS, _DRAWS = (2.5, 97.5), 300
_RUNNING = "fits to subsamples"


@dataclass(frozen=True)
class Stability:
    """What fits to subsamples agree on.

    Attributes
    ----------
    agreement : float
        Mean adjusted Rand index of the clusters of two runs, on the samples that both have: 1 if
        they are the same, about 0 if they are unrelated.
    interval : (float, float)
        95 % confidence interval of the agreement, by drawing runs anew.
    cophenetic : float
        Cophenetic correlation of the consensus matrix with average linkage.
    consensus_matrix : ndarray of shape (n_shown, n_shown)
        For each two samples the share of the runs with both that have them in one cluster.
    shown : ndarray of shape (n_shown,)
        Which samples these are: all, or 1,000 of them drawn at random.
    part_stability : ndarray of shape (n_components,)
        For each part of ``model`` its mean cosine with its partners in the runs.
    model : FactorKMeans
        The consensus as a fitted model: its parts, clusters and codes.
    labels : ndarray of shape (n_runs, n_samples)
        Clusters of each run; −1 for samples that were not in it.
    """

    agreement: float
    interval: tuple[float, float]
    cophenetic: float
    consensus_matrix: FloatArray = field(repr=False)
    shown: IntArray = field(repr=False)
    part_stability: FloatArray = field(repr=False)
    model: Any = field(repr=False)
    labels: IntArray = field(repr=False)


def check_clusters(estimator: Any) -> FactorKMeans:
    """An unfitted copy of a `FactorKMeans`, made from a factorization if that is given."""
    factorizer = estimator.factorizer if isinstance(estimator, FactorKMeans) else estimator
    if not isinstance(factorizer, _Factorization):
        raise ValueError(
            "estimator must be one of seminmf's factorizations, such as L21SemiNMF(10), or a "
            f"FactorKMeans of one, got {estimator!r}."
        )
    return clone(estimator) if factorizer is not estimator else FactorKMeans(clone(estimator))


def check_subsamples(factorizer: Any, instead: str) -> None:
    """Raise an error if a parameter has a row for each sample, which subsamples cannot use."""
    for name in ("init", "graph"):
        value = getattr(factorizer, name, None)
        if isinstance(value, tuple) or sp.issparse(value):
            raise ValueError(
                f"{name} of the estimator has a row for each sample, and fits to subsamples do not "
                f"have all of them. Set {name} to a way that finds its own for each fit, or "
                f"{instead}."
            )


def stability(
    X: Any,
    estimator: Any,
    *,
    n_runs: int = 40,
    subsample: float = 0.8,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[Step], object] | None = None,
    checkpoint: PathLike | None = None,
) -> Stability:
    """How stable clusters and parts are, and the consensus as a fitted model.

    The model is fitted to random subsamples. Clusters that the data have are found in all of them.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
    estimator : estimator
        A factorization with as many parts as wanted, or a `FactorKMeans`; it is not changed.
    n_runs : int, default=40
        Number of fits.
    subsample : float, default=0.8
        Share of the samples in each. With 1 all take part, and fits differ by their starts, which
        are then random.
    random_state : int, RandomState or None, default=None
        For subsamples and starts.
    n_jobs : int or None, default=None
        Processes; None is one, −1 is one for each core.
    callback : callable, default=None
        Called with a `Step` after each fit.
    checkpoint : path or None, default=None
        Folder in which results are kept as they come: the same call with the same folder continues
        where one was killed.

    Returns
    -------
    stability : Stability

    Examples
    --------
    >>> from seminmf import L21SemiNMF
    >>> from seminmf.datasets import make_waveform
    >>> from seminmf.selection import stability
    >>> X, _ = make_waveform(300, random_state=0)
    >>> found = stability(X, L21SemiNMF(3), n_runs=5, random_state=0)
    >>> found.agreement > 0.5, found.model.labels_.shape
    (True, (300,))
    """
    model = check_clusters(estimator)
    check_integer("n_runs", n_runs, 2)
    check_share("subsample", subsample)
    X = check_array(X, "stability")
    if subsample < 1:
        check_subsamples(model.factorizer, "subsample=1")
    k, kept = model.factorizer.n_components, round(subsample * X.shape[0])
    if max(k, model.n_clusters or 1) > kept:
        raise ValueError(
            f"subsample={subsample:g} leaves {kept} of {X.shape[0]} samples, fewer than parts or "
            "clusters. Take a larger share, or fewer parts."
        )
    if n_runs * kept <= X.shape[0]:
        raise ValueError(
            f"subsample={subsample:g} leaves {n_runs} runs no sample in common to compare. Take a "
            "larger share, or more runs."
        )

    def described() -> Any:
        return told_of(
            X, estimator=model, n_runs=n_runs, subsample=subsample, random_state=random_state
        )

    with working(n_jobs, callback, checkpoint, described) as work:
        return steadiness(X, model, n_runs, subsample, work, random_state)


def steadiness(
    X: Any, model: FactorKMeans, n_runs: int, subsample: float, work: Work, random_state: Any
) -> Stability:
    """`stability` for arguments that have been checked."""
    seed = work.once("seed of runs", lambda: drawn_seed(random_state))
    present = _drawn(X.shape[0], subsample, n_runs, seed)
    jobs = [(X, model, rows, seed + run) for run, rows in enumerate(present)]
    runs = work.run(_RUNNING, _clusters_of_some, jobs)
    labels = np.full((n_runs, X.shape[0]), -1)
    for row, rows, run in zip(labels, present, runs, strict=True):
        row[rows] = run["labels"]
    rng = np.random.RandomState(seed)
    shown = np.arange(X.shape[0])
    if len(shown) > _MOST_SAMPLES:
        shown = np.sort(rng.permutation(len(shown))[:_MOST_SAMPLES])
    together = _together(labels[:, shown])
    agreement, interval = _agreement(labels, rng)
    fitted, part_stability = consensus_model(X, model, labels, [run["parts"] for run in runs])
    return Stability(
        agreement, interval, _cophenetic(together), together, shown, part_stability, fitted, labels
    )


def _drawn(n_samples: int, subsample: float, n_runs: int, seed: int) -> list[IntArray]:
    """The samples of each run, drawn at random.

    All samples are absent equally often, or once more than others: agreement then depends less on
    the draw than with independent draws.
    """
    rng = np.random.RandomState(seed)
    absent = n_samples - round(subsample * n_samples)
    times = np.zeros(n_samples, np.int64)
    drawn: list[IntArray] = []
    for _ in range(n_runs):
        order = np.lexsort((rng.rand(n_samples), times))
        times[order[:absent]] += 1
        drawn.append(np.sort(order[absent:]))
    return drawn


def _clusters_of_some(X: Any, model: FactorKMeans, rows: IntArray, seed: int) -> dict[str, Any]:
    """Clusters and parts of a fit to some of the samples."""
    rng = np.random.RandomState(seed)
    run = clone(model).set_params(random_state=int(rng.randint(2**31 - 1)))
    run.factorizer.set_params(random_state=int(rng.randint(2**31 - 1)))
    if len(rows) == X.shape[0]:
        run.factorizer.set_params(init="random")
    run.fit(X[rows])
    return {"labels": run.labels_, "parts": run.factorizer_.components_}


def _together(labels: IntArray) -> FloatArray:
    """The consensus matrix: the share of the runs with two samples that have them in one cluster,
    0 if no run has both.
    """
    both, same = (np.zeros((labels.shape[1],) * 2) for _ in range(2))
    for row in labels:
        there = row >= 0
        both += np.outer(there, there)
        same += (row[:, None] == row) & there
    return same / np.maximum(both, 1)


def _cophenetic(together: FloatArray) -> float:
    distances = squareform(1 - together, checks=False)
    if np.ptp(distances) == 0:
        return 1.0  # always a single cluster
    return float(cophenet(linkage(distances, "average"), distances)[0])


def _agreement(labels: IntArray, rng: np.random.RandomState) -> tuple[float, tuple[float, float]]:
    runs = len(labels)
    pairs = np.full((runs, runs), np.nan)
    for i, j in combinations(range(runs), 2):
        pairs[i, j] = pairs[j, i] = rand_index(labels[i], labels[j])
    means = []
    for _ in range(_DRAWS):
        drawn = rng.randint(runs, size=runs)
        values = pairs[np.ix_(drawn, drawn)]
        if not np.isnan(values).all():
            means.append(float(np.nanmean(values)))
    low, high = np.percentile(means, _BOUNDS)
    return float(np.nanmean(pairs)), (float(low), float(high))
