"""Are the defaults good? Clusters against the labels: ``python -m benchmarks.defaults``.

Every way of clustering sees the same random 90 % of each data set, for each number of clusters of
the paper's tables (one or two numbers for the other sets). k-means of the samples and
`FactorKMeans` with several strengths stand beside each other, and the paper's L2,1 SNF where it has
the set; at the default strength also without the refinement of the codes. A second table has data
with outliers. The tables go to ``docs/defaults.md``.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets as toys
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from seminmf import FactorKMeans, L21SemiNMF
from seminmf.datasets import add_outliers, make_waveform
from seminmf.experiments.data import LOADERS, seed_for
from seminmf.experiments.paper import DATASETS, paper_table
from seminmf.experiments.scoring import clusters_of, scores_of
from seminmf.models.clustering import robust_kmeans

PAGE = Path(__file__).parent.parent / "docs" / "defaults.md"
NUMBERS = {
    "ionosphere": (4, 5, 6, 7), "waveform": (8, 10, 12, 14), "uspst": (12, 16, 20, 24),
    "iris": (3, 4), "wine": (3, 5), "breast_cancer": (2, 4), "digits": (10, 16), "blobs": (6, 8),
    "made waveform": (10,),
}  # fmt: skip
STRENGTHS = (1e-4, 3e-4, 6e-4, 1e-3)
FRACTIONS = (0.2, 0.3)
OUTLIER_RUNS = 3
RAW = "k-means of X"
PLAIN = "codes as they are"
SCORES = ["ACC", "NMI"]


@lru_cache(maxsize=1)
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """(X, y) of a set; nothing is downloaded but the paper's three."""
    if name in DATASETS:
        return LOADERS[name]()
    if name == "digits":
        X, y = toys.load_digits(return_X_y=True)
        return X - X.mean(axis=0), y
    if name == "blobs":
        return toys.make_blobs(1000, n_features=30, centers=6, cluster_std=6.0, random_state=0)
    if name == "made waveform":
        return make_waveform(2000, random_state=7)
    X, y = getattr(toys, f"load_{name}")(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def rows_of(name: str, k: int, run: int, fraction: float) -> Iterator[dict[str, object]]:
    """All ways on one subset; scores are of the samples that were not moved."""
    X, y = table(name)
    kept = np.random.default_rng(seed_for(name, run, "subset")).permutation(len(X))
    kept = np.sort(kept[: round(0.9 * len(X))])
    X, moved = add_outliers(X[kept], fraction, random_state=seed_for(name, run, "outliers"))
    y, seed = y[kept], seed_for(name, run, "k-means")

    def row(way: str, clusters: np.ndarray) -> dict[str, object]:
        scores = scores_of(clusters[~moved], y[~moved])
        return {"data": name, "k": k, "run": run, "outliers": fraction, "way": way, **scores}

    yield row(RAW, clusters_of(X, k, seed))
    for strength in STRENGTHS:
        model = L21SemiNMF(k, strength=strength, random_state=seed_for(name, run, "start"))
        search = FactorKMeans(model, random_state=seed).fit(X)
        if strength == default_strength():
            codes, own_seed = search.factorizer_.codes_, search.kmeans_.random_state
            plain = robust_kmeans(search.factorizer_, codes, k, own_seed)
            yield row(f"{PLAIN}, {strength:g}", plain.predict(codes))
        yield row(f"strength {strength:g}", search.labels_)


def default_strength() -> float:
    """That of the estimator."""
    return float(inspect.signature(L21SemiNMF).parameters["strength"].default)


def measure(runs: int) -> pd.DataFrame:
    """One row for each clustering."""
    rows: list[dict[str, object]] = []
    for name, numbers in NUMBERS.items():
        for k in numbers:
            for run in range(runs):
                rows += rows_of(name, k, run, 0.0)
        print(name, flush=True)
    for name in DATASETS:
        for fraction in FRACTIONS:
            for run in range(min(runs, OUTLIER_RUNS)):
                rows += rows_of(name, NUMBERS[name][1], run, fraction)
    return pd.DataFrame(rows)


def paper_cell(name: str) -> str:
    """ACC / NMI of the paper's L2,1 SNF, mean over k."""
    if name not in DATASETS:
        return ""
    cells = paper_table(name).values()
    acc, nmi = (np.mean([c[s]["L21 SNF"][0] for c in cells]) for s in ("ACC", "NMI"))
    return f"{acc:.1f} / {nmi:.1f}"


def page(rows: pd.DataFrame) -> str:
    """The tables, as Markdown."""
    ways = list(rows["way"].unique())
    clean, spoilt = rows[rows["outliers"] == 0], rows[rows["outliers"] > 0]
    heads = " | ".join(ways)
    ruler = "| --- | ---: |" + " ---: |" * len(ways)
    lines = [
        "# Are the defaults good?",
        "",
        "Made by `python -m benchmarks.defaults`. ACC / NMI in percent of the majority-vote "
        "labels: `FactorKMeans(L21SemiNMF(k, strength=…))`, nothing else given, and k-means of "
        "the samples with as many clusters. Means over k and "
        f"{clean['run'].nunique()} random subsets of 90 %. The default strength is "
        f"{default_strength():g}; “{PLAIN}” is the same without the refinement.",
        "",
        f"| data | paper, L2,1 SNF | {heads} |",
        ruler,
    ]
    for name, part in clean.groupby("data", sort=False):
        lines.append(f"| {name} | {paper_cell(str(name))} | {_cells(part.groupby('way'), ways)} |")
    by_set = clean.groupby(["way", "data"])[SCORES].mean()
    lines += [
        f"| **mean of sets** |  | {_cells(by_set.groupby('way'), ways)} |",
        "",
        "## With outliers",
        "",
        "Part of the samples moved by five median lengths; scores of the others, at the second k "
        f"of the paper's tables, {OUTLIER_RUNS} subsets.",
        "",
        f"| data | outliers | {heads} |",
        ruler,
    ]
    for (name, fraction), part in spoilt.groupby(["data", "outliers"], sort=False):
        lines.append(f"| {name} | {100 * fraction:.0f} % | {_cells(part.groupby('way'), ways)} |")
    return "\n".join(lines) + "\n"


def _cells(groups: Any, ways: list[str]) -> str:
    means = groups[SCORES].mean()
    return " | ".join(f"{means.ACC[way]:.1f} / {means.NMI[way]:.1f}" for way in ways)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = measure(arguments.runs)
    PAGE.write_text(page(rows), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
