"""Several fits at once in threads of Python against one after the other: ``docs/at-once.csv``.

``python -m benchmarks.at_once`` measures default fits in turns, so that a machine that is busy for
a while is so for both, and keeps the fastest and the middle time of each. The table is made of the
rows by ``python -m benchmarks.promises``.
"""

from __future__ import annotations

import argparse
import csv
import threading
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from sklearn.datasets import make_blobs

import seminmf

ROWS = Path(__file__).parents[1] / "docs" / "at-once.csv"
SHAPES = ((6_000, 40), (2_000, 21), (1_000, 20), (400, 20))
COUNTS = (2, 4)
K = 8


def _factorize() -> Any:
    return seminmf.L21SemiNMF(K, random_state=0)


def _cluster() -> Any:
    return seminmf.FactorKMeans(_factorize(), random_state=0)


MODELS: dict[str, Callable[[], Any]] = {"L21SemiNMF": _factorize, "FactorKMeans": _cluster}


def one_after_the_other(work: list[Callable[[], Any]]) -> float:
    begin = perf_counter()
    for piece in work:
        piece()
    return perf_counter() - begin


def at_once(work: list[Callable[[], Any]]) -> float:
    """Seconds from when all may begin to when the last is done."""
    start = threading.Barrier(len(work) + 1)

    def run(piece: Callable[[], Any]) -> None:
        start.wait()
        piece()

    threads = [threading.Thread(target=run, args=(piece,)) for piece in work]
    for thread in threads:
        thread.start()
    begin = perf_counter()
    start.wait()
    for thread in threads:
        thread.join()
    return perf_counter() - begin


def measure(make: Callable[[], Any], tables: list[Any], turns: int) -> dict[str, float]:
    work = [lambda X=X: make().fit(X) for X in tables]
    one_after_the_other(work)  # compiled code is there, and does not count
    times: dict[str, list[float]] = {"after": [], "at once": []}
    for _ in range(turns):
        times["after"].append(one_after_the_other(work))
        times["at once"].append(at_once(work))
    found = {}
    for name, seconds in times.items():
        found[name], found[f"{name}, median"] = min(seconds), median(seconds)
    return found


def rows(turns: int) -> list[dict[str, Any]]:
    made = []
    for n, m in SHAPES:
        tables = [
            make_blobs(n, m, centers=K, cluster_std=4.0, random_state=s)[0]
            for s in range(max(COUNTS))
        ]
        for name, make in MODELS.items():
            for count in COUNTS:
                found = measure(make, tables[:count], turns)
                case = {"fit": name, "samples": n, "features": m, "fits": count}
                made.append({**case, **{key: f"{value:.5f}" for key, value in found.items()}})
                print(made[-1], flush=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=9)
    made = rows(parser.parse_args().turns)
    with ROWS.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)


if __name__ == "__main__":
    main()
