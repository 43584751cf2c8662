"""Which start is best? The evidence behind ``init="auto"``: ``python -m benchmarks.starts``.

Every model is fitted from every start to labelled data of very different kinds, as they are and
with a tenth of the samples moved far away, with all other parameters at their defaults. For each
data set the objective is compared with the lowest that any start reached, and the clusters of the
codes (k-means with k clusters) with the labels. The tables go to ``docs/starts.md``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn import datasets as toys
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import seminmf
from seminmf import datasets
from seminmf.metrics import majority_accuracy, majority_labels, nmi

STARTS = ("random", "svd", "kmeans", "exemplar")
MODELS = ("SemiNMF", "GraphSemiNMF", "L21SemiNMF")
PAGE = Path(__file__).parent.parent / "docs" / "starts.md"


def labelled_data() -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """(name, k, X, y): the paper's three sets where they are at hand, and five others."""
    for name, k in (("ionosphere", 5), ("waveform", 10), ("uspst", 16)):
        try:
            bunch = getattr(datasets, f"load_{name}")()
        except FileNotFoundError:
            continue
        yield name, k, bunch.data, bunch.target
    for name, k in (("iris", 4), ("wine", 5), ("breast_cancer", 4)):
        X, y = getattr(toys, f"load_{name}")(return_X_y=True)
        yield name, k, StandardScaler().fit_transform(X), y
    X, y = toys.load_digits(return_X_y=True)
    yield "digits", 16, X - X.mean(axis=0), y
    X, y = toys.make_blobs(1000, n_features=30, centers=6, cluster_std=6.0, random_state=0)
    yield "blobs", 8, X, y


def measure(seeds: int) -> pd.DataFrame:
    """One row for each fit."""
    rows = []
    for name, k, clean, y in labelled_data():
        for outliers in (0.0, 0.1):
            X, moved = datasets.add_outliers(clean, outliers, random_state=0)
            for model in MODELS:
                for start in STARTS:
                    for seed in range(seeds):
                        estimator = getattr(seminmf, model)(k, init=start, random_state=seed)
                        began = perf_counter()
                        estimator.fit(X)
                        seconds = perf_counter() - began
                        kmeans = KMeans(k, n_init=10, random_state=seed)
                        clusters = kmeans.fit(estimator.codes_).labels_[~moved]
                        truth = y[~moved]
                        rows.append({
                            "data": name, "outliers": outliers, "model": model, "start": start,
                            "seed": seed, "objective": estimator.objective_,
                            "iterations": estimator.n_iter_, "seconds": seconds,
                            "ACC": 100 * majority_accuracy(truth, clusters),
                            "NMI": 100 * nmi(truth, majority_labels(truth, clusters)),
                        })  # fmt: skip
    return pd.DataFrame(rows)


def page(rows: pd.DataFrame) -> str:
    """The tables, as Markdown."""
    rows = rows.copy()
    lowest = rows.groupby(["data", "outliers", "model"])["objective"].transform("min")
    rows["excess"] = 100 * (rows["objective"] / lowest - 1)
    lines = [
        "# Which start?", "",
        "What each choice of `init` brings. The default, `auto`, usually means `svd`: with it "
        "`L21SemiNMF` has the best clusters on average, with outliers and without, at an objective "
        "close to the lowest. [How the starts are made](theory.md#8-starts).", "",
        "Made by `python -m benchmarks.starts`; every number is a mean over "
        f"{rows['seed'].nunique()} seeds and {rows['data'].nunique()} data sets "
        f"({', '.join(rows['data'].unique())}). *Excess* is how far the objective ends above the "
        "lowest that any start and seed reached on the same data, in percent. ACC and NMI are "
        "those of the majority-vote labels of k-means of the codes, on the samples that were not "
        "made outliers.", "",
    ]  # fmt: skip
    for (model, outliers), part in rows.groupby(["model", "outliers"], sort=False):
        what = f"{100 * outliers:.0f} % outliers" if outliers else "data as they are"
        lines += [f"## {model}, {what}", "", "| start | excess (%) | ACC | NMI | iterations |",
                  "| --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
        for start in STARTS:
            one = part[part["start"] == start]
            lines.append(
                f"| `{start}` | {one['excess'].mean():.2f} | {one['ACC'].mean():.1f} | "
                f"{one['NMI'].mean():.1f} | {one['iterations'].mean():.0f} |"
            )
        lines.append("")
    lines += ["## By data set (L21SemiNMF)", "",
              "ACC / NMI / excess of the objective in percent.", ""]  # fmt: skip
    lines += ["| data | outliers | " + " | ".join(f"`{s}`" for s in STARTS) + " |",
              "| --- | ---: |" + " --- |" * len(STARTS)]  # fmt: skip
    robust = rows[rows["model"] == "L21SemiNMF"]
    for (name, outliers), part in robust.groupby(["data", "outliers"], sort=False):
        cells = []
        for start in STARTS:
            one = part[part["start"] == start][["ACC", "NMI", "excess"]].mean()
            cells.append(f"{one['ACC']:.1f} / {one['NMI']:.1f} / {one['excess']:.2f}")
        lines.append(f"| {name} | {100 * outliers:.0f} % | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = measure(arguments.seeds)
    PAGE.write_text(page(rows), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
