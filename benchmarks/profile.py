"""What an iteration of ``solver="mu"`` and a fit are made of: ``python -m benchmarks.profile``.

On the paper's three data sets, with their graphs and the paper's parameters, on one thread. The
parts are the compiled loops of which the iteration is made, each by itself on the arrays of the
start; the last line is the whole iteration, with what lies between the parts. Then the stages of a
fit with default settings before its first iteration. Best of several, in microseconds; the tables
are Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .data import Problem, paper_problem
from .timing import per_iteration

NAMES = ("ionosphere", "waveform", "uspst")
_ROUNDS, _SECONDS = 15, 0.02


def best(action: Callable[[], Any]) -> float:
    """Microseconds of one call, the best of several rounds."""
    action()
    begin = perf_counter()
    action()
    count = max(1, int(_SECONDS / (perf_counter() - begin)))
    found = float("inf")
    for _ in range(_ROUNDS):
        begin = perf_counter()
        for _ in range(count):
            action()
        found = min(found, (perf_counter() - begin) / count)
    return 1e6 * found


def parts(problem: Problem) -> Iterator[tuple[str, float]]:
    """The compiled loops of an iteration, and the iteration."""
    from seminmf import L21SemiNMF, graph_kernels, kernels
    from seminmf.graph.neighbours import NeighbourGraph

    X, (U, V) = problem.X, problem.start()
    (n, m), k = X.shape, problem.n_components
    width = -(-k // 4) * 4
    squares = np.einsum("ij,ij->i", X, X)
    graph = NeighbourGraph.prepare(problem.graph, squares, X.dtype)
    padded, phi = np.zeros((m, width)), np.empty((n, width))
    padded[:, :k] = U
    omega, rows, new = U.T @ U, np.arange(n), np.empty_like(V)
    fit, weights, edges = np.empty(n), np.full(n, 0.1), graph.base.copy()
    nobody = np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0)
    moment, gram, moments = X.T @ V, V.T @ V + np.eye(k), np.zeros((k, m))
    pattern = graph.indptr, graph.indices, edges

    def codes(alpha: float, pattern: tuple[Any, ...]) -> float:
        return best(
            lambda: kernels.mu_codes(
                rows, phi, omega, V, new, weights, *pattern, alpha, True, fit
            )
        )  # fmt: skip

    yield "X·U", best(lambda: kernels.times(X, 0, n, False, padded, phi))
    alone = codes(0.0, nobody)
    yield "the rule", alone
    yield "visits to neighbours", codes(1.0, pattern) - alone
    yield "Xᵀ·V", best(lambda: kernels.add_adjoint(X, 0, n, False, V, moments))
    yield "Vᵀ·V", best(lambda: kernels.add_adjoint(V, 0, n, False, V, np.zeros((k, k))))
    yield (
        "lengths of edges",
        best(
            lambda: graph_kernels.edge_weights(
                0, len(graph.pairs), V, graph.pairs, graph.base, False, 1e-10, edges
            )
        ),
    )
    yield "basis", best(
        lambda: kernels.solve_basis(
            moment, gram, np.ones(k), np.empty_like(U), np.empty((k, k))
        )
    )  # fmt: skip
    model = L21SemiNMF(k, solver="mu", init=(U, V), **problem.parameters)
    yield "whole iteration", 1e6 * min(per_iteration(model, X, 100) for _ in range(_ROUNDS))


def stages(problem: Problem) -> Iterator[tuple[str, float]]:
    """What happens in a fit with default settings before its first iteration."""
    from seminmf import L21SemiNMF, factorize, training

    spent: dict[str, float] = {}
    originals = []
    for module, name, title in (
        (training, "_build_graph", "check of the graph"),
        (factorize, "leading_subspace", "leading directions"),
        (factorize, "_make_start", "start"),
        (factorize, "Descent", "first look at it"),
        (factorize.NeighbourGraph, "prepare", "colours and edges"),
    ):
        originals.append((module, name, getattr(module, name)))
        setattr(module, name, _watched(getattr(module, name), title, spent))
    stamps: list[float] = []
    model = L21SemiNMF(
        problem.n_components, **problem.parameters, max_iter=1, tol=0,
        callback=lambda progress: stamps.append(perf_counter()),
    )  # fmt: skip
    first = float("inf")
    try:
        for _ in range(20 * _ROUNDS):
            begin = perf_counter()
            model.fit(problem.X)
            first = min(first, stamps[-1] - begin)
    finally:
        for module, name, original in originals:
            setattr(module, name, original)
    yield from ((title, 1e6 * seconds) for title, seconds in spent.items())
    yield "all, with the first iteration", 1e6 * first


def _watched(function: Any, title: str, spent: dict[str, float]) -> Any:
    def watched(*arguments: Any) -> Any:
        begin = perf_counter()
        result = function(*arguments)
        spent[title] = min(spent.get(title, float("inf")), perf_counter() - begin)
        return result

    return watched


def show(measure: Callable[[Problem], Iterator[tuple[str, float]]]) -> None:
    columns = [dict(measure(paper_problem(name))) for name in NAMES]
    print(f"| µs | {' | '.join(NAMES)} |\n| --- |{' --- |' * len(NAMES)}")
    for title in columns[0]:
        print(f"| {title} | {' | '.join(f'{column[title]:,.0f}' for column in columns)} |")
    print()


def main() -> None:
    with threadpool_limits(1):
        show(parts)
        show(stages)


if __name__ == "__main__":
    main()
