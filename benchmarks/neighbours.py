"""The neighbour index and models without samples: ``python -m benchmarks.neighbours``.

Four questions, one table each, whose rows go to ``docs/neighbours.csv``:

- ``search``: time and recall of exact and of approximate search by the number of samples, which is
  where the size comes from at which "auto" changes from one to the other;
- ``panel``: clusters of the panel with neighbours in all features and in the 2k leading directions,
  and the recall of approximate search in these;
- ``landmarks``: codes and clusters of the held-out fifth of the panel, by models with all training
  samples, with landmarks and with none;
- ``fit``: time of a default fit and its parts, and peak memory.

``--only search`` answers one of them; rows of others stay. Times are of the processor, all threads
together, so that they mean something on a machine that others use.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.panel.sets import NAMES, at_hand, table
from seminmf import FactorKMeans, L21SemiNMF
from seminmf.data.features import features_of
from seminmf.graph.exact import Exact
from seminmf.graph.index import automatic_recipe, index_of_features
from seminmf.metrics import matched_accuracy, nmi

ROWS = Path(__file__).parent.parent / "docs" / "neighbours.csv"
Row = dict[str, Any]


def made(n: int, m: int, seed: int = 0, clusters: int = 10) -> np.ndarray:
    """Clusters of noise that fills all features: hard for any search."""
    rng = np.random.default_rng(seed)
    centres = 1.5 * np.random.default_rng(5).standard_normal((clusters, m))
    X = rng.standard_normal((n, m))
    X += centres[rng.integers(clusters, size=n)]
    return X


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    found = function()
    return time.process_time() - begin, found


def right(features: np.ndarray, found: np.ndarray, exact: np.ndarray) -> float:
    """The share of neighbours that are as near as the last of the exact ones."""
    radius = np.linalg.norm(features[exact[:, -1]] - features, axis=1)
    lengths = np.linalg.norm(features[found] - features[:, None], axis=2)
    return float((lengths <= radius[:, None] * (1 + 1e-5)).mean())


def search(quick: bool) -> Iterator[Row]:
    index_of_features(made(2000, 20), 5, approximate=True)  # compiled before it is timed
    sizes = (2_000, 10_000) if quick else (2_000, 5_000, 10_000, 20_000, 50_000)
    for n in sizes:
        for m in (20, 50):
            features = made(n, m)
            exact_time, exact = timed(lambda f=features: Exact(f, 5).neighbours())
            near_time, near = timed(
                lambda f=features: index_of_features(f, 5, approximate=True).neighbours()
            )
            share = right(features, near, exact)
            yield {"what": f"{n:,} × {m}", "exact, s": exact_time, "approximate, s": near_time,
                   "recall": share}  # fmt: skip


def scores(y: np.ndarray, labels: np.ndarray) -> Row:
    return {"ACC": 100 * matched_accuracy(y, labels), "NMI": 100 * nmi(y, labels)}


def of_panel(quick: bool) -> Iterator[Row]:
    for name, (X, y) in ((name, table(name)) for name in NAMES if at_hand(name)):
        k, runs = int(y.max()) + 1, range(1 if quick else 3)
        p = min(5, len(X) - 1)
        features = features_of(X, automatic_recipe(X, k, p).directions)
        exact = Exact(features, p).neighbours()
        near = index_of_features(features, p, approximate=True).neighbours()
        row: Row = {"what": name, "recall": right(features, near, exact)}
        for graph, which in (("knn", "all features"), ("auto", "directions")):
            found = [
                scores(y, FactorKMeans(L21SemiNMF(k, graph=graph, random_state=run),
                                       random_state=run).fit_predict(X)) for run in runs
            ]  # fmt: skip
            for score in ("ACC", "NMI"):
                row[f"{score}, {which}"] = np.mean([of_run[score] for of_run in found])
        yield row


def landmarks(quick: bool) -> Iterator[Row]:
    for name, (X, y) in ((name, table(name)) for name in NAMES if at_hand(name)):
        if len(X) < 300:
            continue
        k, order = int(y.max()) + 1, np.random.default_rng(0).permutation(len(X))
        new, old = order[: len(X) // 5], order[len(X) // 5 :]
        model = FactorKMeans(L21SemiNMF(k, random_state=0), random_state=0).fit(X[old])
        whole = model.factorizer_.transform(X[new])
        for count in (None, 500, 0):
            some = model if count is None else model.without_training(count)
            codes = some.factorizer_.transform(X[new])
            labels = some.predict(X[new])
            yield {
                "what": name, "kept": "all" if count is None else count, "samples": len(old),
                "codes apart": np.linalg.norm(codes - whole) / np.linalg.norm(whole),
                "same cluster": float((labels == model.predict(X[new])).mean()),
                **scores(y[new], labels),
            }  # fmt: skip


def fit(quick: bool) -> Iterator[Row]:
    L21SemiNMF(10, random_state=0, max_iter=3, tol=0).fit(made(12_000, 50))
    for n in (20_000,) if quick else (30_000, 100_000, 300_000):
        X = made(n, 50)
        model = L21SemiNMF(10, random_state=0, max_iter=60, tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole, fitted = timed(lambda X=X, model=model: model.fit(X))
        again = copy(fitted._projector.index)  # without what was built
        build, _ = timed(again.links)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        query, _ = timed(lambda n=n, fitted=fitted: fitted.transform(made(10_000, 50, seed=1)))
        yield {"what": f"{n:,} × 50, k=10", "fit of 60 iterations, s": whole,
               "neighbours, s": build, "transform 10,000, s": query,
               "recall": fitted.graph_["recall"],
               "peak of the process / X": peak / X.nbytes}  # fmt: skip


TABLES: dict[str, Callable[[bool], Iterator[Row]]] = {
    "search": search, "panel": of_panel, "landmarks": landmarks, "fit": fit,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=TABLES)
    chosen = parser.parse_args()
    for name in [chosen.only] if chosen.only else TABLES:
        rows = []
        for row in TABLES[name](chosen.quick):
            print(row, flush=True)
            rows.append({"table": name, **row})
        found = pd.DataFrame(rows)
        by = found["kept"].astype(str) if "kept" in found else found["table"]
        print(found.drop(columns="kept", errors="ignore").groupby(by).mean(numeric_only=True))
        if not chosen.quick:
            others = pd.read_csv(ROWS) if ROWS.exists() else pd.DataFrame({"table": []})
            others = others[others["table"] != name]
            pd.concat([others, found]).to_csv(ROWS, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
