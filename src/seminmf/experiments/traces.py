"""Tasks that watch a fit on its way: J, errors and scores, iteration by iteration."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import FloatArray
from .data import low_rank_matrix, seed_for, subset, table, uniform_matrix
from .models import L21_SNF, make_estimator
from .runs import Value
from .scoring import clusters_of, scores_of

if TYPE_CHECKING:
    from ..solve.loop import Progress

Parameters = Mapping[str, Value]
Results = list[dict[str, Any]]
_POINTS = 40  # of a curve, about
_BLOCK = 1000  # rows of X per step of a residual
_EXACT = 1e-6  # a sample whose residual is below this share of its length is fitted exactly
_FLOOR = 1e-10  # the paper's ε


def shown_iterations(last: int) -> list[int]:
    """Iterations to keep of a curve: every one at first, then ever fewer, and the last."""
    spaced = np.unique(np.round(np.geomspace(1, last, _POINTS)).astype(int))
    return sorted({*range(1, min(10, last) + 1), *spaced.tolist()})


def _largest_rise(history: FloatArray, scale: float) -> float:
    """The largest increase of J in one iteration, as a share of ``scale``; 0 if it never rose."""
    return float(max(0.0, np.diff(history).max(initial=0.0)) / scale)


def objective_curve(parameters: Parameters, number: int) -> Results:
    """J after each iteration on a random 90 % of a data set."""
    dataset = str(parameters["dataset"])
    X, _ = subset(dataset, number, int(parameters.get("samples", 0)))
    seed = seed_for(dataset, number, "start")
    began = time.perf_counter()
    history = make_estimator(parameters, seed).fit(X).objective_history_
    seconds = time.perf_counter() - began
    fixed = {"seed": seed, "seconds": seconds, "largest_rise": _largest_rise(history, history[0])}
    return [{**fixed, "iteration": i, "J": history[i - 1]} for i in shown_iterations(len(history))]


def _matrix(parameters: Parameters, number: int) -> FloatArray:
    dataset = str(parameters["dataset"])
    if dataset not in ("uniform", "low rank"):
        return table(dataset, int(parameters.get("samples", 0)))[0]
    n, m = int(parameters["n_samples"]), int(parameters["n_features"])
    if dataset == "uniform":
        return uniform_matrix(n, m, number)
    return low_rank_matrix(n, m, int(parameters["k"]), float(parameters["sigma"]), number)


def _lengths(X: FloatArray, basis: FloatArray | None = None, codes: Any = None) -> FloatArray:
    """Lengths of the rows of X, or of X − V Uᵀ, block by block."""
    parts = []
    for low in range(0, len(X), _BLOCK):
        rows = slice(low, low + _BLOCK)
        block = X[rows] if basis is None else X[rows] - codes[rows] @ basis.T
        parts.append(np.linalg.norm(block, axis=1))
    return np.concatenate(parts)


def error_curve(parameters: Parameters, number: int) -> Results:
    """Relative error Σ‖x_i − U v_i‖ / Σ‖x_i‖ after each iteration, whatever the model minimises.

    ``exact_samples`` counts those that are fitted without error.
    """
    X = _matrix(parameters, number)
    seed = seed_for(str(parameters["dataset"]), number, "start")
    lengths = _lengths(X)
    shown = set(shown_iterations(int(parameters["max_iter"])))
    results: Results = []
    paused = 0.0

    def watch(progress: Progress) -> None:
        nonlocal paused
        if progress.iteration not in shown:
            return
        began = time.perf_counter()
        residuals = _lengths(X, *progress.factors())
        results.append(
            {
                "iteration": progress.iteration,
                "J": progress.objective,
                "relative_error": residuals.sum() / lengths.sum(),
                "exact_samples": int((residuals < _EXACT * lengths).sum()),
            }
        )
        paused += time.perf_counter() - began

    changes: dict[str, Any] = {"callback": watch}
    if parameters["init"] == "positive":
        changes["init"] = _start(X, int(parameters["k"]), seed, 0.0)
    began = time.perf_counter()
    model = make_estimator(parameters, seed, **changes).fit(X)
    seconds = time.perf_counter() - began - paused
    # Measured by the J of a model that explains nothing: on an exact fit J is but round-off.
    nothing = lengths.sum() if parameters["model"] == L21_SNF else (lengths**2).sum()
    rise = _largest_rise(model.objective_history_, nothing)
    fixed = {"seed": seed, "seconds": seconds, "largest_rise": rise, "n_iter": model.n_iter_}
    return [{**fixed, **result} for result in results]


def _start(X: FloatArray, k: int, seed: int, low: float = -1.0) -> tuple[FloatArray, FloatArray]:
    """U uniform in [low, 1], V uniform in [0, 1]."""
    rng = np.random.default_rng(seed)
    return rng.uniform(low, 1, (X.shape[1], k)), rng.uniform(0, 1, (len(X), k))


def scores_in_time(parameters: Parameters, number: int) -> Results:
    """J, ACC and NMI of the codes at some iterations, with the seconds the fit took until then."""
    dataset, k = str(parameters["dataset"]), int(parameters["k"])
    X, y = subset(dataset, number, int(parameters.get("samples", 0)))
    seed = seed_for(dataset, number, "start")
    shown = {1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500}
    results: Results = []
    kept: list[FloatArray] = []
    paused, began = 0.0, 0.0

    def watch(progress: Progress) -> None:
        nonlocal paused
        now = time.perf_counter()
        if progress.iteration in shown:
            kept.append(progress.factors()[1])
            results.append(
                {"iteration": progress.iteration, "J": progress.objective,
                 "elapsed": now - began - paused}
            )  # fmt: skip
        paused += time.perf_counter() - now

    # A given start keeps copies of a sample apart, so that there is a code for each label.
    start = _start(X, k, seed)
    make_estimator(parameters, seed, init=start, max_iter=2).fit(X)  # loads what is compiled
    model = make_estimator(parameters, seed, init=start, callback=watch)
    began = time.perf_counter()
    model.fit(X)
    kmeans_seed = seed_for(dataset, number, "k-means")
    return [
        {"seed": seed, **result, **scores_of(clusters_of(codes, k, kmeans_seed), y)}
        for result, codes in zip(results, kept, strict=True)
    ]


def half_steps(parameters: Parameters, number: int) -> Results:
    """The paper's iteration, written out plainly, with J after each of its two halves.

    ``codes_rises`` counts the iterations in which the codes step alone raised J, with the weights
    d made once per iteration as the paper's algorithm does; ``rises`` those in which the whole
    iteration did. Of "uniform" matrices there are so many as ``trials`` says.
    """
    dataset = str(parameters["dataset"])
    counts = {"n_iter": 0, "basis_rises": 0, "codes_rises": 0, "rises": 0}
    largest = 0.0
    for trial in range(int(parameters.get("trials", 1))):
        if dataset == "uniform":
            X = _matrix(parameters, 10_000 * number + trial)
        else:
            X, _ = subset(dataset, number, int(parameters.get("samples", 0)))
        seed = seed_for(dataset, 10_000 * number + trial, "start")
        before, between, after = _plain_iterations(X, parameters, seed)
        slack = 1e-10 * before
        counts["n_iter"] += len(before)
        counts["basis_rises"] += int((between > before + slack).sum())
        counts["codes_rises"] += int((after > between + slack).sum())
        counts["rises"] += int((after > before + slack).sum())
        largest = max(largest, float((after / between - 1).max()))
    return [{**counts, "largest_codes_rise": largest}]


def _plain_iterations(
    X: FloatArray, parameters: Parameters, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """J before each iteration, after its basis step and after its codes step."""
    from ..graph.neighbours import knn_graph  # loads the compiler

    alpha, beta = float(parameters["alpha"]), float(parameters["beta"])
    U, V = _start(X, int(parameters["k"]), seed)
    graph = knn_graph(X, min(5, len(X) - 1)).tocoo()
    i, j = graph.row, graph.col

    def objective(basis: FloatArray, codes: FloatArray) -> float:
        apart = np.linalg.norm(codes[i] - codes[j], axis=1).sum() / 2
        lengths = np.linalg.norm(basis, axis=0).sum()
        return float(_lengths(X, basis, codes).sum() + alpha * apart + beta * lengths)

    values = [(np.nan, objective(U, V))]
    for _ in range(int(parameters["max_iter"])):
        d = 1 / np.maximum(_lengths(X, U, V), _FLOOR)[:, None]
        b = 1 / np.maximum(np.linalg.norm(U, axis=0), _FLOOR)
        edges = 1 / np.maximum(np.linalg.norm(V[i] - V[j], axis=1), _FLOOR)
        U = np.linalg.solve(V.T @ (d * V) + beta * np.diag(b), (d * V).T @ X).T
        half = objective(U, V)
        phi, omega = X @ U, U.T @ U
        pulled = np.zeros_like(V)
        np.add.at(pulled, i, edges[:, None] * V[j])
        degree = np.bincount(i, edges, minlength=len(V))[:, None]
        up = d * (np.maximum(phi, 0) + V @ np.maximum(-omega, 0)) + alpha * pulled
        down = d * (np.maximum(-phi, 0) + V @ np.maximum(omega, 0)) + alpha * degree * V
        V = V * np.sqrt(up / np.maximum(down, 1e-150))
        values.append((half, objective(U, V)))
    between, after = np.array(values[1:]).T
    before = np.array(values)[:-1, 1]
    return before, between, after
