"""How far codes are from their best: the sums of `problem.stationarity`."""

import numpy as np

from .jit import borrowing


@borrowing
def newton_steps(first, phi, codes, omega, weights, graph, edges, alpha, push, ridge):
    """Σ h (v − [v − g/h]₊)² and Σ h v² over the codes of the samples from ``first`` on.

    g and h are gradient and curvature of the quadratic that touches the objective, halved; where
    there is no curvature nothing is measured. ``phi`` has a row for each of the samples, and so
    have ``push`` and ``ridge``, what a penalty adds to gradient and curvature, unless they are
    empty; ``edges`` are empty without a graph.
    """
    k = omega.shape[0]
    steps = sizes = 0.0
    for r in range(phi.shape[0]):
        i = first + r
        weight, degree = np.float64(weights[i]), 0.0
        begin = graph.indptr[i] if edges.shape[0] > 0 else 0
        end = graph.indptr[i + 1] if edges.shape[0] > 0 else 0
        for e in range(begin, end):
            degree += edges[e]
        for q in range(k):
            v, gradient, pull = np.float64(codes[i, q]), -np.float64(phi[r, q]), 0.0
            for p in range(k):
                gradient += codes[i, p] * omega[p, q]
            for e in range(begin, end):
                pull += edges[e] * codes[graph.indices[e], q]
            gradient = weight * gradient + alpha * (degree * v - pull)
            curvature = weight * omega[q, q] + alpha * degree
            if push.shape[0] > 0:
                gradient += push[r, q]
                curvature += ridge[r]
            if curvature > 0:
                step = v - max(v - gradient / curvature, 0.0)
                steps += curvature * step * step
                sizes += curvature * v * v
    return steps, sizes
