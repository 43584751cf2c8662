"""What an iteration and the beginning of a fit go into: ``python -m benchmarks.profile``.

On the paper's three data sets, with their graphs and the paper's parameters, on one thread. The
parts are the compiled functions of which an iteration is made, each by itself on the arrays of the
start, called from Python (some microseconds more than from compiled code). Then come the passes
over the rows that are made of them (one that only sums, one that only measures, a whole one) and
the whole iteration. Last are the stages of a fit with default settings before its first iteration.
Best of several, in microseconds; the tables are Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .data import Problem, paper_problem
from .timing import per_iteration

NAMES = ("ionosphere", "waveform", "uspst")
_ROUNDS, _SECONDS = 15, 0.02
# Sweeps of coordinate descent on data with a graph, unless there are many features.
_SWEEPS = 2

Times = Iterator[tuple[str, float]]


def best(action: Callable[[], Any], rounds: int) -> float:
    """Microseconds of one call, the best of several rounds."""
    action()
    begin = perf_counter()
    action()
    count = max(1, int(_SECONDS / (perf_counter() - begin)))
    found = float("inf")
    for _ in range(rounds):
        begin = perf_counter()
        for _ in range(count):
            action()
        found = min(found, (perf_counter() - begin) / count)
    return 1e6 * found


class _Start:
    """The rows of a run at the paper's random start, with what compiled code sees of them."""

    def __init__(self, problem: Problem, solver: str) -> None:
        from seminmf.compiled.products import padded_width
        from seminmf.data import DESCEND, MULTIPLY, Engine, Rows, Rule
        from seminmf.graph.prepared import NeighbourGraph
        from seminmf.problem.losses import Norm
        from seminmf.problem.objective import Objective

        self.X, (self.U, self.V), self.problem = problem.X, problem.start(), problem
        (n, m), k = self.X.shape, problem.n_components
        self.rule = Rule(MULTIPLY) if solver == "mu" else Rule(DESCEND, _SWEEPS)
        self.engine = Engine(self.X, k)
        self.graph = NeighbourGraph.prepare(problem.graph, self.engine.squares, self.X.dtype)
        self.terms = Objective(Norm(), Norm(), problem.alpha, problem.beta).terms(self.X.dtype, 0.0)
        self.rows = Rows(self.engine, self.terms, self.rule, self.graph, None, self.V.copy())
        self.omega = self.U.T @ self.U
        self.found = self.measure()
        width = padded_width(k, self.X.dtype)
        self.padded, self.phi = np.zeros((m, width)), np.zeros((n, width))
        self.padded[:, :k] = self.U
        self.moment, self.spare = np.zeros((k, m)), np.empty(n)

    def measure(self) -> Any:
        """The pass that changes no codes."""
        return self.rows.measure(self.U, self.omega, self.problem.alpha, 0.0)

    def advance(self) -> Any:
        """The whole pass."""
        return self.rows.advance(self.U, self.omega, self.problem.alpha, 0.0, 0.5)

    def codes(self, alpha: float) -> Callable[[], Any]:
        """The rule for all samples, with neighbours or without."""
        from seminmf.compiled.codes import codes_update

        rows, n = self.rows, len(self.V)
        step, (old, new) = self.rule.step(alpha), self._points()
        new.basis.omega[:] = self.omega
        order: Any = np.arange(n)
        bounds: Any = np.array([0, n])
        if self.rule.sequential and alpha > 0:
            order, bounds = self.graph.order, self.graph.colour_starts

        def update() -> None:
            for start, stop in pairwise(bounds.tolist()):
                codes_update(
                    rows._run, rows._rooms[0], order, start, stop, self.phi, old, new, step
                )

        return update

    def _points(self) -> tuple[Any, Any]:
        rows = self.rows
        return rows._current, rows._trial

    def edges(self) -> Any:
        """Lengths and weights of all edges."""
        from seminmf.compiled.edges import weigh_all_edges

        graph, edges = self.graph, np.empty_like(self.graph.base)
        return partial(weigh_all_edges, graph.structure, self.terms.objective, self.V, edges)


def parts(solver: str, problem: Problem, rounds: int) -> Times:
    """The compiled functions of an iteration, the passes, and the iteration."""
    from seminmf import L21SemiNMF
    from seminmf.compiled.products import cross_products, products
    from seminmf.problem.basis import Basis, LeastSquaresBasis

    at, k = _Start(problem, solver), problem.n_components
    samples, n, gram = at.rows._run.samples, len(at.X), np.zeros((k, k))
    timed = partial(best, rounds=rounds)
    yield "X·U", timed(
        lambda: products(samples, at.X, 0, n, at.padded, at.phi, at.spare)
    )  # fmt: skip
    alone = timed(at.codes(0.0))
    yield "the rule", alone
    yield "visits to neighbours", timed(at.codes(problem.alpha)) - alone
    yield "Xᵀ·V", timed(lambda: cross_products(samples.blas, at.X, at.V, at.moment))
    yield "Vᵀ·V", timed(lambda: cross_products(samples.blas, at.V, at.V, gram))
    yield "lengths of edges", timed(at.edges())
    rule, basis = LeastSquaresBasis(), Basis.of(at.U)
    yield (
        "basis",
        timed(lambda: rule.step(at.found.moment, at.found.gram, basis, problem.beta, 1e-10)),
    )
    yield "pass that sums", timed(at.rows.restart)
    yield "pass that measures", timed(at.measure)
    yield "whole pass", timed(at.advance)
    chosen: Any = solver
    model = L21SemiNMF(k, solver=chosen, init=(at.U, at.V), **problem.parameters)
    yield "whole iteration", 1e6 * min(per_iteration(model, at.X, 100) for _ in range(rounds))


def stages(problem: Problem, rounds: int) -> Times:
    """What happens in a fit with default settings before its first iteration."""
    from seminmf import L21SemiNMF
    from seminmf.graph.prepared import NeighbourGraph
    from seminmf.models import factorization, training
    from seminmf.solve import factorize

    spent: dict[str, float] = {}
    stamps: list[float] = []
    model = L21SemiNMF(
        problem.n_components, **problem.parameters, max_iter=1, tol=0,
        callback=lambda progress: stamps.append(perf_counter()),
    )  # fmt: skip
    first = float("inf")
    watched = (
        (factorization, "check_samples", "check of X"),
        (training, "_build_graph", "check of the graph"),
        (NeighbourGraph, "prepare", "colours and edges"),
        (factorize, "leading_subspace", "leading directions"),
        (factorize._Beginning, "start", "start"),
        (factorize, "Descent", "rows, and a first look at them"),
    )
    with _watching(watched, spent):
        for _ in range(20 * rounds):
            begin = perf_counter()
            model.fit(problem.X)
            first = min(first, stamps[-1] - begin)
    for _, _, title in watched:
        yield title, 1e6 * spent.get(title, 0.0)
    yield "all, with the first iteration", 1e6 * first


@contextmanager
def _watching(
    functions: tuple[tuple[Any, str, str], ...], spent: dict[str, float]
) -> Iterator[None]:
    """Have the best time of each function, given as (module, name, title), in ``spent``."""

    def watched(function: Any, title: str) -> Any:
        def watch(*arguments: Any, **others: Any) -> Any:
            begin = perf_counter()
            result = function(*arguments, **others)
            spent[title] = min(spent.get(title, float("inf")), perf_counter() - begin)
            return result

        return watch

    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in functions]
    try:
        for owner, name, title in functions:
            setattr(owner, name, watched(getattr(owner, name), title))
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def show(title: str, measure: Callable[[Problem], Times], names: tuple[str, ...]) -> None:
    """A table with a column for each data set."""
    columns = [dict(measure(paper_problem(name))) for name in names]
    print(f"{title}\n\n| µs | {' | '.join(names)} |\n| --- |{' --- |' * len(names)}")
    for part in columns[0]:
        print(f"| {part} | {' | '.join(f'{column[part]:,.0f}' for column in columns)} |")
    print(flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="DATA")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    options = parser.parse_args()
    names = tuple(options.only)
    with threadpool_limits(1):
        for solver in ("mu", "cd"):
            title = f'An iteration of `solver="{solver}"`:'
            show(title, partial(parts, solver, rounds=options.rounds), names)
        show("A fit before its first iteration:", partial(stages, rounds=options.rounds), names)


if __name__ == "__main__":
    main()
