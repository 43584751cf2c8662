"""How far codes are from stationary: the sums of `problem.stationarity`."""

import numpy as np

from .jit import borrowing


@borrowing
def newton_steps(first, slopes, codes, omega, weights, graph, edges, alpha, push, ridge):
    """Σ h (v − [v − g/h]₊)² and Σ h v² over the codes of the samples from ``first`` on.

    g and h are half the gradient and half the curvature of the quadratic that majorises the
    objective; a step down ends at zero at the latest, and coordinates without curvature are left
    out. ``slopes`` are VΩ − XU, a row for each of the samples, and are overwritten. ``push`` and
    ``ridge``, what a penalty adds to gradient and curvature, may be empty, and so are ``edges``
    without a graph.
    """
    k = omega.shape[0]
    steps = sizes = 0.0
    for r in range(slopes.shape[0]):
        i = first + r
        weight, stiffness = np.float64(weights[i]), 0.0
        for q in range(k):
            slopes[r, q] *= weight
        if edges.shape[0] > 0:
            for e in range(graph.indptr[i], graph.indptr[i + 1]):
                pull, j = alpha * edges[e], graph.indices[e]
                stiffness += pull
                for q in range(k):
                    slopes[r, q] -= pull * codes[j, q]
        for q in range(k):
            v = np.float64(codes[i, q])
            gradient = slopes[r, q] + stiffness * v
            curvature = weight * omega[q, q] + stiffness
            if push.shape[0] > 0:
                gradient += push[r, q]
                curvature += ridge[r]
            if curvature > 0:
                step = min(gradient, curvature * v) / curvature
                steps += curvature * step * step
                sizes += curvature * v * v
    return steps, sizes
