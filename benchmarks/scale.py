"""How fits grow: with the samples on one machine, beyond its memory, and over a Dask cluster.

``python -m benchmarks.scale growth peers storage dask page`` measures and writes `docs/scale.csv`,
and makes `docs/scale.md` from it. Each row is measured in a process of its own and written at once;
rows that are there are not measured again unless ``--again``, so that ``--most 1``, called again
and again, does the work in pieces.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROWS = Path(__file__).parents[1] / "docs" / "scale.csv"
PAGE = ROWS.with_suffix(".md")
# Written by `benchmarks.neighbours`.
PANEL = ROWS.with_name("neighbours.csv")
FIELDS = ("part", "what", "n", "m", "k", "workers", "figure", "value")
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
# Of the comparison of engines.
N, M, K = 400_000, 128, 10
WORKERS = (1, 2, 4)
# Iterations of a measured fit, and the first that counts: the start settles before.
ITERATIONS, FIRST = 40, 10


def samples(n: int, m: int, clusters: int = 20, seed: int = 0) -> np.ndarray:
    """Clusters of different sizes with noise of their own; made in pieces, to keep memory small."""
    rng = np.random.default_rng(seed)
    centres = 2 * rng.normal(size=(clusters, m))
    X = np.empty((n, m))
    for low in range(0, n, 2**14):
        part = X[low : low + 2**14]
        part[:] = rng.standard_normal(part.shape)
        part += centres[rng.integers(0, clusters, len(part))]
    return X


def sheets(n: int, m: int, count: int = 20, seed: int = 0) -> np.ndarray:
    """Curved sheets of eight dimensions with a little noise, as pictures of one thing are."""
    rng = np.random.default_rng(seed)
    number = rng.integers(0, count, n)
    place = rng.normal(size=(n, 8))
    axes, centres = rng.normal(size=(count, 8, m)), rng.normal(size=(count, m))
    X = 0.1 * rng.standard_normal((n, m))
    for one in range(count):
        X[number == one] += np.tanh(place[number == one] @ axes[one] / 2) + centres[one]
    return X


class Clock:
    """A callback that notes when iterations end."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.ends: list[float] = []

    def __call__(self, progress: Any) -> None:
        self.ends.append(time.perf_counter())

    @property
    def before_first(self) -> float:
        return self.ends[0] - self.began

    @property
    def iteration(self) -> float:
        """A typical one."""
        return float(np.median(np.diff(self.ends[FIRST:])))


def peak() -> float:
    """Most bytes of memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def grow(n: int) -> dict[str, float]:
    """A default fit of n × 50 numbers, one of 60 iterations, and the neighbours by themselves."""
    from seminmf import L21SemiNMF
    from seminmf.graph.index import NeighbourIndex, automatic_recipe

    L21SemiNMF(3).fit(samples(11_000, 10))  # compiles, and loads what is compiled
    X = samples(n, 50)
    base = peak()
    clock = Clock()
    model = L21SemiNMF(10, max_iter=60, tol=0, callback=clock, random_state=0).fit(X)
    used = peak() - base + X.nbytes
    began = time.perf_counter()
    default = L21SemiNMF(10, random_state=0).fit(X)
    whole = time.perf_counter() - began
    return {
        "default fit": whole,
        "iterations of it": default.n_iter_,
        "neighbours": seconds(lambda: NeighbourIndex(X, 5, automatic_recipe(X, 10, 5)).links()),
        "before the first iteration": clock.before_first,
        "60 iterations": clock.ends[-1] - clock.ends[0],
        "peak / X": used / X.nbytes,
        "recall": model.graph_["recall"],
    }


def seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def of_pictures(n: int, what: str) -> dict[str, float]:
    """A fit of n × 784 numbers on curved sheets: by default, with exact neighbours, by k-means."""
    from sklearn.cluster import KMeans

    from seminmf import L21SemiNMF

    X = sheets(n, 784)
    if what == "k-means":
        return {"fit": seconds(lambda: KMeans(20, n_init=10, random_state=0).fit(X))}
    graph = "knn" if what == "exact neighbours" else "auto"
    model = L21SemiNMF(20, graph=graph, random_state=0)
    L21SemiNMF(3, graph=graph).fit(samples(11_000, 10))
    return {"fit": seconds(lambda: model.fit(X)), "recall": model.graph_["recall"]}


def projecting(n: int) -> dict[str, float]:
    """Codes of 10,000 new samples: by the index of the fit, and by exact search."""
    from seminmf import L21SemiNMF

    X, new = samples(n, 50), samples(10_000, 50, seed=0)
    new += 0.1 * np.random.default_rng(1).normal(size=new.shape)
    models = [L21SemiNMF(10, graph=graph, random_state=0).fit(X) for graph in ("auto", "knn")]
    for model in models:
        model.transform(new[:10])  # builds the index
    rounds = [[seconds(lambda one=one: one.transform(new)) for one in models] for _ in range(3)]
    index, exact = np.min(rounds, axis=0)
    return {"transform 10,000": index, "by exact search": exact}


def beyond_memory(what: str, shape: tuple[int, int, int]) -> dict[str, float]:
    """Files in parts and sparse rows; see `benchmarks.out_of_core`."""
    from benchmarks import out_of_core

    if what == "large":
        return out_of_core.of_large()
    with tempfile.TemporaryDirectory() as folder:
        if what == "sparse":
            return out_of_core.of_sparse(Path(folder))
        return out_of_core.of_file(Path(folder), *shape, what == "file, graph")


def _model(graph: bool, clock: Clock, tol: float = 0.0) -> Any:
    from seminmf import L21SemiNMF

    weights = {} if graph else {"alpha": 0, "beta": 0}
    limit = ITERATIONS if tol == 0 else 300
    return L21SemiNMF(K, max_iter=limit, tol=tol, callback=clock, random_state=0, **weights)


def compare(workers: int, graph: bool) -> dict[str, float]:
    """A fit in memory for no workers, else on a cluster of so many processes."""
    X = samples(N, M)
    if workers == 0:
        return _measured(X, graph)
    import dask.array as da
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1",
        memory_limit=0,
    )  # fmt: skip
    with cluster, Client(cluster):
        chunked = da.from_array(X, chunks=(N // 16, -1))
        return _measured(chunked.persist(), graph)


def _measured(X: Any, graph: bool) -> dict[str, float]:
    _model(graph, Clock()).set_params(max_iter=3).fit(X[:20_000])
    clock = Clock()
    _model(graph, clock).fit(X)
    end = Clock()
    ended = _model(graph, end, tol=1e-4).fit(X)
    history = ended.objective_history_
    return {
        "seconds per iteration": clock.iteration,
        "before the first iteration": clock.before_first,
        "iterations": ended.n_iter_,
        "J": ended.objective_,
        "rises": float((np.diff(history) > 1e-12 * history[:-1]).sum()),
        "crossing": (ended.graph_ or {}).get("crossing", 0.0),
    }


def round_trip() -> dict[str, float]:
    """What the cost model needs: a round trip to an idle worker, and how fast memory is read."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        actor = client.submit(list, [0], actor=True).result()
        times = []
        for _ in range(200):
            began = time.perf_counter()
            actor.count(0).result()
            times.append(time.perf_counter() - began)
    X = np.ones(2**26)
    reading = []
    for _ in range(5):
        began = time.perf_counter()
        X.sum()
        reading.append(time.perf_counter() - began)
    return {"round trip": float(np.median(times)), "bytes per second": X.nbytes / min(reading)}


def tasks(parts: list[str]) -> Iterator[tuple[str, str, tuple[int, int, int], int]]:
    """(part, what, shape, workers) of all rows."""
    from benchmarks.out_of_core import LARGE, SHAPES, SPARSE

    if "growth" in parts:
        yield from (("growth", "graph", (n, 50, 10), 0) for n in SIZES)
    if "peers" in parts:
        for what in ("default", "exact neighbours", "k-means"):
            yield "peers", what, (60_000, 784, 20), 0
        yield "peers", "projecting", (100_000, 50, 10), 0
    if "storage" in parts:
        yield "storage", "sparse", SPARSE[:3], 0
        yield "storage", "large", LARGE[:3], 0
        for *shape, graph in SHAPES:
            yield "storage", "file, graph" if graph else "file", (shape[0], shape[1], shape[2]), 0
    if "dask" in parts:
        for what in ("no graph", "graph"):
            yield from (("dask", what, (N, M, K), count) for count in (0, *WORKERS))
        yield "machine", "this", (0, 0, 0), 2


def measure(part: str, what: str, shape: tuple[int, int, int], workers: int) -> dict[str, float]:
    if part == "growth":
        return grow(shape[0])
    if part == "peers":
        return projecting(shape[0]) if what == "projecting" else of_pictures(shape[0], what)
    if part == "storage":
        return beyond_memory(what, shape)
    return round_trip() if part == "machine" else compare(workers, what == "graph")


def read(path: Path = ROWS) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in FIELDS[:6])


def update(parts: list[str], again: bool, most: int | None) -> None:
    rows, measured = read(), 0
    for part, what, (n, m, k), workers in tasks(parts):
        head = dict(zip(FIELDS, (part, what, n, m, k, workers), strict=False))
        if measured == most or (any(key(row) == key(head) for row in rows) and not again):
            continue
        measured += 1
        words = [str(word) for word in (part, what, n, m, k, workers)]
        command = [sys.executable, "-m", "benchmarks.scale", "--one", *words]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            sys.exit(ran.stderr[-2000:])
        found = json.loads(ran.stdout.splitlines()[-1])
        rows = [row for row in rows if key(row) != key(head)]
        rows += [
            {**head, "figure": name, "value": f"{value:.12g}"} for name, value in found.items()
        ]
        with ROWS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(part, what, n, workers, found, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="of growth, peers, storage, dask, page")
    parser.add_argument("--again", action="store_true", help="measure rows that are there again")
    parser.add_argument("--most", type=int, help="measure at most so many rows")
    parser.add_argument("--one", nargs=6, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        part, what, *numbers = options.one
        n, m, k, workers = (int(number) for number in numbers)
        print(json.dumps(measure(part, what, (n, m, k), workers)))
        return
    update(options.parts, options.again, options.most)
    if "page" in options.parts:
        from benchmarks.scale_page import page

        PAGE.write_text(page(read(), read(PANEL)), encoding="utf-8")
        print(f"Wrote {PAGE.name}.")


if __name__ == "__main__":
    main()
