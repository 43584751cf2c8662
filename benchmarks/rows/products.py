"""A whole iteration against the two products that no iteration can do without, and the graph.

``X @ U`` and ``X.T @ V`` are timed together, on the same arrays and with the same number of BLAS
threads. Ours is the mean time between the callbacks of iterations 2 and 12 from a given start:
both products, codes, residuals, weights, objective, and any step taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..data import low_rank, neighbour_graph, random_start
from ..results import Goal, Result, cost
from ..row import Row
from ..timing import interleave, per_iteration, seconds

_ITERATIONS = 12


def _bare_products(X: Any, basis: Any, codes: Any) -> Callable[[], float]:
    def multiply() -> float:
        return min(seconds(lambda: (X @ basis, X.T @ codes)) for _ in range(3))

    return multiply


def _measure_products(name: str, n: int, m: int, k: int, quick: bool) -> Iterator[Result]:
    from seminmf import L21SemiNMF, SemiNMF

    n = n // 20 if quick else n
    X, start = low_rank(n, m, k), random_start((n, m), k)
    models: dict[str, Any] = {
        "L21SemiNMF": L21SemiNMF(k, alpha=0.0, beta=0.0, init=start),
        "SemiNMF": SemiNMF(k, init=start),
    }
    for model in models.values():
        per_iteration(model, X, 3)
    contestants = {"bare": _bare_products(X, *start)}
    for title, model in models.items():
        contestants[title] = partial(per_iteration, model, X, _ITERATIONS)
    best = interleave(contestants, rounds=2 if quick else 4, budget=30)
    for title in models:
        yield cost(
            name, "iteration against `X @ U` and `X.T @ V`", f"{n:,} × {m}, k={k}, {title}",
            "bare products", ours=best[title], reference=best["bare"],
            goal=Goal(1.3, at_least=False),
        )  # fmt: skip


def _measure_graph(name: str, quick: bool) -> Iterator[Result]:
    from seminmf import L21SemiNMF

    n, m, k = (10_000 if quick else 200_000), 100, 20
    rng = np.random.default_rng(3)
    points = rng.random((n, 3))
    # Codes that follow the points, so that neighbours in the graph are neighbours in X.
    codes = np.maximum(points @ rng.standard_normal((3, k)), 0)
    X, start, graph = (
        low_rank(n, m, k, codes=codes),
        random_start((n, m), k),
        neighbour_graph(points),
    )
    without = L21SemiNMF(k, alpha=0.0, beta=0.0, init=start)
    coupled = L21SemiNMF(k, graph=graph, init=start)
    for model in (without, coupled):
        per_iteration(model, X, 3)
    best = interleave(
        {
            "without": partial(per_iteration, without, X, _ITERATIONS),
            "with": partial(per_iteration, coupled, X, _ITERATIONS),
        },
        rounds=2 if quick else 8,
        budget=60,
    )
    yield cost(
        name, "graph term, added cost of an iteration", f"{n:,} × {m}, k={k}, p=5",
        "iteration without it", ours=best["with"] - best["without"], reference=best["without"],
        goal=Goal(1.0, at_least=False), note=f"{graph.nnz // 2:,} edges",
    )  # fmt: skip


def _row(n: int, m: int, k: int) -> Row:
    name = f"products-{n}x{m}"
    measure = partial(_measure_products, name, n, m, k)
    return Row(name, "one iteration against the two bare products with X", measure)


ROWS = (
    _row(200_000, 100, 20),
    _row(50_000, 784, 20),
    _row(1_000_000, 50, 10),
    Row(
        "graph-200000",
        "what the graph term adds to an iteration",
        partial(_measure_graph, "graph-200000"),
    ),
)
