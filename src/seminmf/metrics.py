"""Scores of a clustering against known classes.

All functions compare two labellings of the same samples: `y`, the true classes, and
`clusters`, what a clustering found. Labels may be of any type that NumPy can sort
(integers, strings, booleans, dates); only equality matters, never the numbers themselves.

With the counts n_cj of samples of class c in cluster j, and n samples:

=====================  =========================================================
`majority_accuracy`    (1/n) Σ_j max_c n_cj: clusters may share a class
`matched_accuracy`     (1/n) max_π Σ_j n_{π(j) j}, with π one-to-one
`nmi`                  I(y; labels) / max(H(y), H(labels))
=====================  =========================================================

The scores called ACC and NMI in the experiments of the paper on robust semi-NMF are
``majority_accuracy(y, clusters)`` and ``nmi(y, majority_labels(y, clusters))``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix, normalized_mutual_info_score

from ._words import counted

__all__ = ["majority_accuracy", "majority_labels", "matched_accuracy", "nmi", "purity"]


def majority_labels(y: ArrayLike, clusters: ArrayLike) -> NDArray[Any]:
    """Give every cluster the class that is commonest in it.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes.
    clusters : array-like of shape (n_samples,)
        Cluster of each sample.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        For each sample the commonest class of its cluster, in the type of `y`. Where several
        classes are equally common in a cluster, the one that sorts first is taken.

    Examples
    --------
    >>> from seminmf.metrics import majority_labels
    >>> majority_labels(["a", "a", "b", "b"], [7, 7, 7, 2]).tolist()
    ['a', 'a', 'a', 'b']
    """
    classes, pair = _encode_pair(y, clusters, "clusters")
    # argmax takes the first maximum, and the rows of the counts are the sorted classes.
    return classes[contingency_matrix(*pair).argmax(axis=0)[pair[1]]]


def majority_accuracy(y: ArrayLike, clusters: ArrayLike) -> float:
    """Share of samples that are of the commonest class of their cluster.

    Several clusters may stand for the same class, so the score does not fall when clusters are
    split: with as many clusters as samples it is 1. Compare only equal numbers of clusters.

    Another name of this function is `purity`, as it is called in textbooks (Manning, Raghavan,
    Schütze, *Introduction to Information Retrieval*, section 16.3).

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes.
    clusters : array-like of shape (n_samples,)
        Cluster of each sample.

    Returns
    -------
    accuracy : float
        Between 1 / (number of classes) and 1.

    See Also
    --------
    matched_accuracy : Each class may be taken by one cluster only.

    Examples
    --------
    >>> from seminmf.metrics import majority_accuracy
    >>> majority_accuracy(["a", "a", "b", "b"], [7, 7, 7, 2])
    0.75
    """
    counts = contingency_matrix(*_encode_pair(y, clusters, "clusters")[1])
    return float(counts.max(axis=0).sum() / counts.sum())


purity = majority_accuracy


def matched_accuracy(y: ArrayLike, clusters: ArrayLike) -> float:
    """Share of samples labelled rightly under the best one-to-one match of clusters and classes.

    The match is found exactly (Hungarian method). With more clusters than classes, the samples
    of the clusters left over count as wrong; with fewer, those of the classes left over do.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes.
    clusters : array-like of shape (n_samples,)
        Cluster of each sample.

    Returns
    -------
    accuracy : float
        In (0, 1], never above `majority_accuracy`.

    Examples
    --------
    >>> from seminmf.metrics import matched_accuracy
    >>> matched_accuracy(["a", "a", "a", "b"], [0, 0, 1, 2])
    0.75
    """
    counts = contingency_matrix(*_encode_pair(y, clusters, "clusters")[1])
    matched = linear_sum_assignment(counts, maximize=True)
    return float(counts[matched].sum() / counts.sum())


def nmi(y: ArrayLike, labels: ArrayLike) -> float:
    """Mutual information of two labellings, divided by the larger of their entropies.

    Symmetric in its arguments and unchanged when either side is renamed.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes.
    labels : array-like of shape (n_samples,)
        Clusters, or the classes given to them by `majority_labels`.

    Returns
    -------
    nmi : float
        Between 0 (independent) and 1 (the same partition). If exactly one side has a single
        value its entropy is zero and it tells nothing about the other: 0.0. If both have a single
        value they are the same partition: 1.0.

    Examples
    --------
    >>> from seminmf.metrics import nmi
    >>> nmi([0, 0, 1, 1], ["x", "x", "y", "y"])
    1.0
    >>> nmi([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    pair = _encode_pair(y, labels, "labels")[1]
    return float(normalized_mutual_info_score(*pair, average_method="max"))


def _encode_pair(
    y: ArrayLike, other: ArrayLike, other_name: str
) -> tuple[NDArray[Any], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the sorted classes of `y` and the 0-based codes of both labellings, checked."""
    classes, y_codes = encode(y, "y")
    _, other_codes = encode(other, other_name)
    if y_codes.size != other_codes.size:
        raise ValueError(
            f"y and {other_name} must label the same samples, but y has "
            f"{counted(y_codes.size, 'entry')} and {other_name} has {other_codes.size}; pass one "
            "label per sample in both."
        )
    return classes, (y_codes, other_codes)


def encode(labels: ArrayLike, name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted distinct values of one labelling and the position of each label in them."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one label per sample, but has shape {array.shape}; "
            f"pass for example {name}.ravel() or one column of it."
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty; pass at least one labelled sample.")
    plain_dtype = array.dtype
    if plain_dtype.kind in "US" and not hasattr(labels, "dtype"):
        # NumPy silently turns [1, "1", nan] into strings: look at the labels themselves.
        array = np.asarray(labels, dtype=object)
    missing = missing_labels(array)
    if missing.any():
        first = int(missing.argmax())
        raise ValueError(
            f"{name} has {counted(missing.sum(), 'missing label')}, the first is "
            f"{array[first]!r} at position {first}; drop these samples or give them a label of "
            "their own."
        )
    try:
        values, codes = np.unique(array, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in array.tolist()})
        raise ValueError(
            f"{name} mixes labels that cannot be sorted together (types {', '.join(kinds)}); "
            f"convert them to one type, for example [str(label) for label in {name}]."
        ) from error
    return values.astype(plain_dtype, copy=False), codes


def missing_labels(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark labels that stand for "no value": NaN, NaT, None, pandas.NA."""
    if array.dtype.kind in "fc":
        return np.asarray(np.isnan(array), dtype=np.bool_)
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array), dtype=np.bool_)
    if array.dtype.kind == "O":
        # pandas.NA cannot be compared, so it is recognised by the name of its type.
        absent = [
            v is None or (isinstance(v, float) and math.isnan(v)) or type(v).__name__ == "NAType"
            for v in array
        ]
        return np.array(absent, dtype=np.bool_)
    return np.zeros(array.shape, dtype=np.bool_)
