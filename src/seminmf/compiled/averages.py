"""The middle of samples, and means of each with its neighbours."""

from math import sqrt

import numpy as np

from .jit import borrowing
from .loops import clear

_ROUND_OFF = np.finfo(np.float64).eps


@borrowing
def find_middle(points, most_steps, still, weights, middle, before):
    """The geometric median (Weiszfeld's iteration from the mean), and the samples' weights in it.

    It is there when a step is shorter than ``still`` times the harmonic mean of the distances,
    which samples nearby make small, or after so many steps. ``before`` is room for another middle.
    """
    n, d = points.shape
    clear(middle)
    for i in range(n):
        weights[i] = 1 / n
        for f in range(d):
            middle[f] += points[i, f] / n
    for _ in range(most_steps):
        farthest, total, step = 0.0, 0.0, 0.0
        for i in range(n):
            square = 0.0
            for f in range(d):
                square += (points[i, f] - middle[f]) ** 2
            weights[i] = sqrt(square)
            farthest = max(farthest, weights[i])
        for i in range(n):
            # Samples that are all the same have the same weights.
            weights[i] = 1 / max(weights[i], _ROUND_OFF * farthest) if farthest > 0 else 1.0
            total += weights[i]
        for f in range(d):
            before[f], middle[f] = middle[f], 0.0
        for i in range(n):
            weights[i] /= total
            for f in range(d):
                middle[f] += weights[i] * points[i, f]
        for f in range(d):
            step += (middle[f] - before[f]) ** 2
        if sqrt(step) <= still * n / total:
            break


@borrowing
def average(own, others, copies, indptr, indices, means):
    """Means of ``copies[i]`` times row i, and the rows of ``others`` next to it."""
    for i in range(own.shape[0]):
        count = copies[i] + indptr[i + 1] - indptr[i]
        for f in range(own.shape[1]):
            means[i, f] = copies[i] * own[i, f]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for f in range(own.shape[1]):
                means[i, f] += others[j, f]
        for f in range(own.shape[1]):
            means[i, f] /= count
