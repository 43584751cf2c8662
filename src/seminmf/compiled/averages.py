"""Means of samples: of each with its neighbours, of those of a cluster, and the middle of all."""

from math import sqrt

import numpy as np

from .jit import borrowing, inner
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


@inner
def _average(i, own, others, copies, indptr, indices, means, row):
    """Into a row of ``means``: of ``copies[i]`` times row i, and the rows of ``others`` next to it.

    Returns the sum of the squares of the weights, copies being one sample.
    """
    d, neighbours = own.shape[1], indptr[i + 1] - indptr[i]
    total = copies[i] + neighbours
    for f in range(d):
        means[row, f] = copies[i] * own[i, f]
    for e in range(indptr[i], indptr[i + 1]):
        j = indices[e]
        for f in range(d):
            means[row, f] += others[j, f]
    for f in range(d):
        means[row, f] /= total
    return (copies[i] ** 2 + neighbours) / total**2


@borrowing
def average(own, others, copies, indptr, indices, means):
    """Means of each sample with its neighbours among others."""
    for i in range(own.shape[0]):
        _average(i, own, others, copies, indptr, indices, means, i)


@borrowing
def squares_of_averages(values, copies, indptr, indices, mean):
    """The squares of values, those of their averages, and the mean of the squares of weights.

    ``mean`` is room for one average.
    """
    before, after, leave = 0.0, 0.0, 0.0
    for i in range(values.shape[0]):
        leave += _average(i, values, values, copies, indptr, indices, mean, 0)
        for f in range(values.shape[1]):
            before += values[i, f] ** 2
            after += mean[0, f] ** 2
    return before, after, leave / values.shape[0]


@borrowing
def add_by_label(rows, shares, labels, sums, weights):
    """Sums of rows times their shares, and of the shares, for each label."""
    for i in range(rows.shape[0]):
        c = labels[i]
        weights[c] += shares[i]
        for f in range(rows.shape[1]):
            sums[c, f] += shares[i] * rows[i, f]
