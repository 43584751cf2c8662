"""Constants that only the results show: of clusters against labels, or of outliers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from seminmf import FactorKMeans, L21SemiNMF, RobustSemiNMF
from seminmf.datasets import add_outliers
from seminmf.experiments.models import PAPER_K
from seminmf.metrics import majority_accuracy

from .. import environment
from ..panel import sets
from .outcome import OTHER, PRESENT, Outcome, shown
from .runner import Pace
from .table import ACCURACY, SEEDS, Constant

_FRACTION = 0.2
Labelled = tuple[str, int, Any, Any]


@cache
def labelled(quick: bool) -> tuple[Labelled, ...]:
    """(name, k, X, y) of the sets of the panel that are at hand.

    k is the paper's number of parts, or the number of classes.
    """
    found: list[Labelled] = []
    for name in filter(sets.at_hand, sets.NAMES):
        X, y = sets.table(name)
        found.append((name, PAPER_K.get(name, len(np.unique(y))), X, y))
    return tuple(found[::4] if quick else found)


class _Kept(L21SemiNMF):
    """A factorization that is made once: the constants of what comes after it do not change it."""

    _found: ClassVar[dict[Any, dict[str, Any]]] = {}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> _Kept:
        key = self.n_components, self.random_state, X.shape, float(X.sum())
        if key not in self._found:
            super().fit(X)
            self._found[key] = dict(vars(self))
        self.__dict__.update(self._found[key])
        return self


def accuracy(X: Any, k: int, y: Any) -> float:
    """Of the clusters of `FactorKMeans`, by the labels that most of a cluster have.

    The mean of that of clean data, and that of the others where a fifth are outliers.
    """
    found = []
    for kind in (sets.CLEAN, sets.SCALED):
        samples, outlier = sets.spoilt(X, kind, _FRACTION, seed=0)
        for seed in range(SEEDS):
            search = FactorKMeans(_Kept(k, random_state=0), random_state=seed).fit(samples)
            found.append(majority_accuracy(y[~outlier], search.labels_[~outlier]))
    return float(np.mean(found))


def error(X: Any, k: int, model: Callable[..., Any]) -> float:
    """‖X − VUᵀ‖ / ‖X‖ of the samples that are no outliers, with a fifth of outliers beside them."""
    found = []
    for seed in range(SEEDS):
        spoilt, moved = add_outliers(X, _FRACTION, random_state=seed)
        fitted = model(k, random_state=0).fit(spoilt)
        found.append(np.linalg.norm(fitted.residuals_[~moved]) / np.linalg.norm(spoilt[~moved]))
    return float(np.mean(found))


@cache
def _reference_error(number: int, quick: bool) -> float:
    _, k, X, _ = labelled(quick)[number]
    return error(X, k, L21SemiNMF)


def _robust(constant: Constant) -> Callable[..., Any]:
    loss = constant.place.name.split(".")[0].lower()
    return lambda k, **settings: RobustSemiNMF(k, loss=loss, **settings)


def judge(constant: Constant, pace: Pace, quick: bool) -> Iterator[Outcome]:
    """The result of each value on each labelled set.

    The ratio of an accuracy is to that with the present value, that of an error to the error of
    `L21SemiNMF`, whose loss has no scale.
    """
    place, about = constant.place, environment.describe()
    present = place.value
    with threadpool_limits(1):
        for number, (name, k, X, y) in enumerate(labelled(quick)):
            if constant.measure != ACCURACY and k >= X.shape[1]:
                continue  # any scale fits such samples exactly
            reference = None if constant.measure == ACCURACY else _reference_error(number, quick)
            for value in (present, *pace.values_of(constant)):
                with place.set_to(value):
                    found = (
                        accuracy(X, k, y)
                        if constant.measure == ACCURACY
                        else error(X, k, _robust(constant))
                    )
                reference = found if reference is None else reference
                yield Outcome(
                    place.name, place.module, shown(value), shown(present),
                    PRESENT if value == present else OTHER, f"{name}, k={k}", 1, constant.measure,
                    result=found, result_ratio=found / reference, **about,
                )  # fmt: skip
