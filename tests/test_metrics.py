"""Scores of clusterings: known values, laws that hold for all labellings, error messages."""

from __future__ import annotations

import doctest
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from seminmf import metrics
from seminmf.metrics import majority_accuracy, majority_labels, matched_accuracy, nmi, purity

LAW = settings(deadline=None)  # the first call of a function may be slow
SCORES = (majority_accuracy, matched_accuracy, nmi, purity)

# Two labellings of the same samples, few classes so that ties and empty overlaps are common.
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40).map(
    lambda rows: (np.array([a for a, _ in rows]), np.array([b for _, b in rows]))
)


def test_majority_on_a_case_worked_out_by_hand() -> None:
    y = np.array(["a", "a", "b", "b", "b", "c"])
    clusters = np.array([9, 9, 9, 4, 4, 4])
    assert majority_labels(y, clusters).tolist() == ["a", "a", "a", "b", "b", "b"]
    assert majority_accuracy(y, clusters) == pytest.approx(4 / 6)
    assert purity(y, clusters) == majority_accuracy(y, clusters)


def test_ties_take_the_label_that_sorts_first() -> None:
    assert majority_labels(["b", "a", "c"], [0, 0, 0]).tolist() == ["a", "a", "a"]
    assert majority_labels([3, -1], [0, 0]).tolist() == [-1, -1]


def test_majority_labels_keep_the_type_of_y() -> None:
    assert majority_labels(np.array([1, 2], dtype=np.int8), ["x", "y"]).dtype == np.int8
    assert majority_labels(["yes", "no"], [0, 1]).dtype == np.dtype("<U3")
    assert majority_labels([True, False], [0, 1]).dtype == np.bool_


def test_matched_accuracy_gives_a_class_to_one_cluster_only() -> None:
    y = [0, 0, 0, 0, 1, 1]
    clusters = [0, 0, 1, 1, 1, 2]
    assert majority_accuracy(y, clusters) == pytest.approx(5 / 6)
    assert matched_accuracy(y, clusters) == pytest.approx(3 / 6)


def test_the_greedy_match_is_not_always_the_best() -> None:
    # Class 0 fills cluster 0 best, but giving it cluster 1 leaves cluster 0 for class 1.
    y = [0] * 3 + [0] * 2 + [1] * 2
    clusters = [0] * 3 + [1] * 2 + [0] * 2
    assert matched_accuracy(y, clusters) == pytest.approx(4 / 7)


def test_nmi_is_divided_by_the_larger_entropy() -> None:
    y, labels = [0, 0, 1, 1], [0, 1, 2, 3]
    assert nmi(y, labels) == pytest.approx(np.log(2) / np.log(4))


@pytest.mark.parametrize(
    ("y", "labels", "expected"),
    [
        ([1, 1, 1], ["a", "a", "a"], 1.0),
        ([1, 1, 1], [0, 1, 2], 0.0),
        ([0, 1, 2], [1, 1, 1], 0.0),
        ([5], ["x"], 1.0),
    ],
)
def test_nmi_without_entropy(y: list[Any], labels: list[Any], expected: float) -> None:
    assert nmi(y, labels) == expected


@LAW
@given(pairs)
def test_bounds(pair: tuple[Any, Any]) -> None:
    y, clusters = pair
    n_classes = len(np.unique(y))
    assert 1 / n_classes <= majority_accuracy(y, clusters) <= 1
    assert 0 < matched_accuracy(y, clusters) <= majority_accuracy(y, clusters)
    assert 0 <= nmi(y, clusters) <= 1


@LAW
@given(pairs, st.permutations(range(4)), st.permutations(range(5)), st.randoms())
def test_names_and_order_do_not_matter(
    pair: tuple[Any, Any], class_names: list[int], cluster_names: list[int], random: Any
) -> None:
    y, clusters = pair
    order = list(range(len(y)))
    random.shuffle(order)
    renamed = np.array([f"class {class_names[label]}" for label in y])[order]
    moved = (np.array(cluster_names)[clusters] * 10.5)[order]
    for score in SCORES:
        assert score(renamed, moved) == pytest.approx(score(y, clusters), abs=1e-12)


@LAW
@given(pairs)
def test_matched_accuracy_is_that_of_the_best_permutation(pair: tuple[Any, Any]) -> None:
    y, clusters = pair
    size = 5
    counts = np.zeros((size, size))
    np.add.at(counts, (y, clusters), 1)
    best = max(
        counts[list(order), range(size)].sum() for order in itertools.permutations(range(size))
    )
    assert matched_accuracy(y, clusters) == pytest.approx(best / len(y))


@LAW
@given(pairs)
def test_nmi_agrees_with_scikit_learn(pair: tuple[Any, Any]) -> None:
    y, labels = pair
    expected = normalized_mutual_info_score(y, labels, average_method="max")
    assert nmi(y, labels) == pytest.approx(expected, abs=1e-9)
    assert nmi(y, labels) == pytest.approx(nmi(labels, y), abs=1e-12)


@LAW
@given(pairs)
def test_majority_labels_are_a_clustering_as_good_as_the_clusters(pair: tuple[Any, Any]) -> None:
    y, clusters = pair
    labels = majority_labels(y, clusters)
    assert np.mean(labels == y) == pytest.approx(majority_accuracy(y, clusters))
    assert set(labels) <= set(y)
    for cluster in np.unique(clusters):
        (label,) = set(labels[clusters == cluster])
        members = y[clusters == cluster]
        counts = {c: int(np.sum(members == c)) for c in np.unique(y)}
        assert label == min(c for c in counts if counts[c] == max(counts.values()))


@LAW
@given(pairs)
def test_a_clustering_agrees_with_itself(pair: tuple[Any, Any]) -> None:
    y, _ = pair
    assert majority_accuracy(y, y) == matched_accuracy(y, y) == 1.0
    assert nmi(y, y) == pytest.approx(1.0)
    assert majority_labels(y, y).tolist() == y.tolist()


@pytest.mark.parametrize("score", [*SCORES, majority_labels])
@pytest.mark.parametrize(
    ("y", "clusters", "message"),
    [
        ([0, 1, 2], [0, 1], r"y has 3 entries and \w+ has 2; pass one label per sample"),
        ([], [], r"y is empty"),
        ([0, 1], [], r"(clusters|labels) is empty"),
        ([[0], [1]], [0, 1], r"y must be one-dimensional.*\(2, 1\).*y\.ravel\(\)"),
        (3, [0], r"y must be one-dimensional.*shape \(\)"),
        ([0.0, np.nan, np.nan], [0, 1, 1], r"y has 2 missing labels, the first is .*nan.* 1;"),
        ([0, 1], [0, None], r"(clusters|labels) has 1 missing label, the first is None at posit"),
        (["a", float("nan")], [0, 1], r"y has 1 missing label"),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), [0, 1], r"y has 1 missing label"),
        ([1, "a"], [0, 1], r"y mixes labels that cannot be sorted.*int, str.*one type"),
    ],
)
def test_errors_name_argument_value_and_remedy(
    score: Any, y: Any, clusters: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        score(y, clusters)


def test_dates_and_object_labels_are_welcome() -> None:
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-01"], "M8[D]")
    assert nmi(days, np.array(["x", "y", "x"], dtype=object)) == pytest.approx(1.0)


def test_examples_in_the_documentation() -> None:
    results = doctest.testmod(metrics)
    assert results.failed == 0
    assert results.attempted >= 8
