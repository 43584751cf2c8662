"""Means of samples: of each with its neighbours, of clusters, and the geometric median of all."""

from math import sqrt

import numpy as np

from .jit import borrowing, inner
from .loops import clear

_ROUND_OFF = np.finfo(np.float64).eps


@borrowing
def find_middle(points, most_steps, still, weights, middle, before):
    """The geometric median of points, by Weiszfeld's iteration, and the points' weights in it.

    Starts at the mean. Ends after a step shorter than ``still`` times the harmonic mean of the
    distances, which points nearby make small, or after ``most_steps``. ``before`` is room for the
    previous median.
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
            # Weights are equal where all points are.
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
    """``means[row]`` = mean of ``copies[i]`` copies of row i and the rows of ``others`` beside it.

    Returns the sum of the squared weights in that mean, where copies count as one sample.
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
    """The mean of each sample with its neighbours, which are rows of ``others``."""
    for i in range(own.shape[0]):
        _average(i, own, others, copies, indptr, indices, means, i)


@borrowing
def squares_of_averages(values, copies, indptr, indices, mean):
    """Σ‖v‖² of values, Σ‖v̄‖² of their averages with neighbours, and the mean squared weight.

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
    """Add share · row to the sum of its label, and the share to the weight of its label."""
    for i in range(rows.shape[0]):
        c = labels[i]
        weights[c] += shares[i]
        for f in range(rows.shape[1]):
            sums[c, f] += shares[i] * rows[i, f]
