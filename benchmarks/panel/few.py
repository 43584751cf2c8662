"""How many neighbours have a say among few samples: ``python -m benchmarks.panel.few``.

Samples are drawn at random from the sets of the panel with four classes or more, and clustered with
as many clusters as there are classes among them: with neighbours of at most all, half, a third or a
quarter of the samples of a mean cluster, without a say of neighbours, and by what has no graph.
Means over the sets of ACC, NMI and ARI and of their sum, and this on either half of the sets, so
that what is best on one can be looked at on the other.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from seminmf import FactorKMeans, GraphSemiNMF, L21SemiNMF, SemiNMF
from seminmf.experiments.data import seed_for
from seminmf.metrics import majority_accuracy, nmi
from seminmf.models import reading
from seminmf.models.clustering import find_clusters

from .sets import NAMES, Floats, at_hand, table

_FEWEST_CLASSES = 4
_SHARES = (1, 2, 3, 4)


def _labels(X: Floats, k: int) -> Iterator[tuple[str, Any]]:
    """Clusters by each way."""
    yield "k-means of X", KMeans(k, n_init=5, random_state=0).fit_predict(X)
    yield "SemiNMF", FactorKMeans(SemiNMF(k), random_state=0).fit_predict(X)
    for kind in (GraphSemiNMF, L21SemiNMF):
        fitted = kind(k, random_state=0).fit(X)
        for share in _SHARES:
            with patch.object(reading, "_OF_A_CLUSTER", share):
                found = find_clusters(fitted, fitted.codes_, k, 0)
            yield f"{kind.__name__}, 1/{share} of a cluster", found.partition.labels
        found = find_clusters(fitted, fitted.codes_, k, 0, refine=False)
        yield f"{kind.__name__}, refine=False", found.partition.labels


def _rows(name: str, draw: int, count: int) -> Iterator[dict[str, Any]]:
    X, y = table(name)
    some = np.random.default_rng(seed_for(name, draw, "few")).permutation(len(X))[:count]
    X, y = np.ascontiguousarray(X[some]), y[some]
    for way, labels in _labels(X, len(np.unique(y))):
        measures = (majority_accuracy, nmi, adjusted_rand_score)
        scores = [100 * measure(y, labels) for measure in measures]
        yield dict(zip(("data", "way", "ACC", "NMI", "ARI"), (name, way, *scores), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="of samples, from each set")
    parser.add_argument("--samples", type=int, nargs="+", default=[30, 50, 80])
    options = parser.parse_args()
    names = [
        name for name in filter(at_hand, NAMES) if len(np.unique(table(name)[1])) >= _FEWEST_CLASSES
    ]
    for count in options.samples:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draws = range(options.draws)
            found = pd.DataFrame([
                row for name in names for draw in draws for row in _rows(name, draw, count)
            ])  # fmt: skip
        means = found.groupby(["way", "data"], sort=False).mean()
        summary = means.groupby("way", sort=False).mean()
        sums = means.sum(axis=1).unstack("way")
        summary["sum"] = sums.mean()
        summary["one half"], summary["the other"] = sums[::2].mean(), sums[1::2].mean()
        print(f"{count} samples of {len(names)} sets\n{summary.round(1).to_string()}\n", flush=True)


if __name__ == "__main__":
    main()
