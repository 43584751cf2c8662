"""What a race of starts of k-means is worth: ``python -m benchmarks.panel.starts``.

Samples of the clean sets of the panel, as the default clustering sees them, are clustered by
k-means from some seeds. A race compares its starts after a few rounds, and one of them goes on;
that is compared with as many starts that all go on to their ends, ours and scikit-learn's. Means
over the sets; sums of squares as multiples of those of three starts that all go on.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from seminmf import L21SemiNMF
from seminmf.compiled.kmeans import kmeans
from seminmf.metrics import majority_accuracy, nmi
from seminmf.models.reading import RECONSTRUCTION, Reading

from .clusters import FRACTION, RUNS
from .sets import CLEAN, NAMES, Floats, subset

_REFERENCE = "3 that all go on"
Clusters = tuple[Any, float]


def _race(places: Floats, k: int, seed: int, starts: int) -> Clusters:
    found = kmeans(places, k, seed, starts)
    return found.labels, found.inertia


def _all(places: Floats, k: int, seed: int, starts: int) -> Clusters:
    found = [kmeans(places, k, starts * seed + start) for start in range(starts)]
    best = min(found, key=lambda one: one.inertia)
    return best.labels, best.inertia


def _of_scikit_learn(places: Floats, k: int, seed: int, starts: int) -> Clusters:
    found = KMeans(k, n_init=starts, random_state=seed).fit(places)
    return found.labels_, found.inertia_


WAYS: dict[str, Callable[[Floats, int, int], Clusters]] = {
    "1": partial(_all, starts=1), _REFERENCE: partial(_all, starts=3),
    "scikit-learn's 3": partial(_of_scikit_learn, starts=3),
    **{f"a race of {starts}": partial(_race, starts=starts) for starts in (3, 4, 5)},
}  # fmt: skip


def _rows(name: str, run: int, seeds: int) -> list[dict[str, Any]]:
    of = subset(name, run, CLEAN, FRACTION)
    fitted = L21SemiNMF(of.classes, random_state=of.seed("start")).fit(of.X)
    places = Reading.of(fitted, fitted.codes_, of.classes, RECONSTRUCTION, True)[1].places
    rows = []
    for way, search in WAYS.items():
        for seed in range(seeds):
            began = process_time()
            labels, inertia = search(places, of.classes, seed)
            seconds = process_time() - began
            scores = (
                100 * measure(of.y, labels)
                for measure in (majority_accuracy, nmi, adjusted_rand_score)
            )
            rows.append(dict(zip(
                ("data", "way", "ACC", "NMI", "ARI", "inertia", "seconds"),
                (name, way, *scores, inertia, seconds), strict=True,
            )))  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=15, help="of k-means, for each subset")
    seeds = parser.parse_args().seeds
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pd.DataFrame([
            row for name in NAMES for run in range(RUNS) for row in _rows(name, run, seeds)
        ])  # fmt: skip
    means = table.groupby(["way", "data"]).mean().unstack("way")
    inertia = means["inertia"].div(means["inertia"][_REFERENCE], axis=0)
    summary = means.drop(columns="inertia", level=0).mean().unstack(0)
    summary["inertia"], summary["most"] = inertia.mean(), inertia.max()
    summary["seconds"] = table.groupby("way")["seconds"].sum()
    print(summary.loc[list(WAYS)].round(4).to_string())


if __name__ == "__main__":
    main()
