"""Checks of what users pass, before any work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator

from ..models.samples import check_samples, refuse_elsewhere
from ..models.validation import check_integer, check_seed


def check_array(X: Any, doing: str) -> Any:
    """X as an array or CSR in memory."""
    refuse_elsewhere(X, doing, "of some thousand rows drawn at random")
    return check_samples(type(doing, (BaseEstimator,), {})(), X)  # messages have its class name


def check_candidates(name: str, candidates: Any) -> list[int]:
    """At least two numbers of parts, sorted."""
    if isinstance(candidates, str) or not isinstance(candidates, Iterable):
        raise ValueError(
            f"{name} must be several numbers of parts, such as range(2, 13), got {candidates!r}."
        )
    given = list(candidates)
    for value in given:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(
                f"{name} must be integers of at least 1, such as range(2, 13), got {value!r} among "
                "them."
            )
    found = sorted({int(value) for value in given})
    if len(found) < 2:
        raise ValueError(
            f"{name} has {'one number' if found else 'no number'} of parts, {found}, and there is "
            "nothing to choose from. Give several, such as range(2, 13)."
        )
    return found


def check_folds(folds: Any, shape: tuple[int, int]) -> tuple[int, int]:
    """The numbers of blocks of samples and of features, at least two and none of them empty."""
    if not isinstance(folds, tuple | list) or len(folds) != 2:
        raise ValueError(
            f'folds must be "auto" or two numbers, of samples and of features, got {folds!r}.'
        )
    for value, size, what in zip(folds, shape, ("samples", "features"), strict=True):
        check_integer("folds", value, 2)
        if value > size:
            raise ValueError(
                f"folds={tuple(folds)!r} asks for {value} blocks of {what}, and there are only "
                f"{size} {what}. Take at most {size}."
            )
    return int(folds[0]), int(folds[1])


def told_of(X: Any, **parameters: Any) -> Mapping[str, str]:
    """All that a result depends on, in words that are the same in the next process."""
    from ..models.persistence import package_version
    from ..models.resuming import told

    return {
        "version of seminmf": package_version(),
        **{name: told(value) for name, value in parameters.items()},
        "X": f"{X.shape} {X.dtype}",
        "entries of X": told(X),
    }


def drawn_seed(random_state: Any) -> int:
    """A seed for all that is drawn from here on."""
    return int(check_seed(random_state).randint(2**31 - 1))
