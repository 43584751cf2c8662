"""What a report is about: a fitted model, its data and their names, all checked first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._types import FloatArray, IntArray
from ...metrics import encode

__all__ = ["Labels", "Subject", "checked_subject"]

_NEEDED = ("components_", "codes_", "residuals_", "objective_history_")
# So many rows are enough to see that X is another table than that of the fit.
_PROBED = 256
# Residuals come back to round-off, also in float32; other data miss them by far more than this
# share of a sample's length.
_SAME = 1e-2


@dataclass(frozen=True, eq=False)
class Labels:
    """Known classes of the samples: their names, and the position of each sample's one."""

    names: tuple[str, ...]
    codes: IntArray


@dataclass(frozen=True, eq=False)
class Subject:
    """Checked input; ``model`` is what was passed, ``factorizer`` the factorization in it."""

    model: Any
    factorizer: Any
    X: Any
    ids: tuple[str, ...] | None
    labels: Labels | None
    feature_names: tuple[str, ...]
    named: bool
    """Whether the features have names of their own, and not x0, x1, …"""
    image_shape: tuple[int, int] | None

    def name(self, sample: int) -> str:
        """A sample's id, or its number."""
        return str(sample) if self.ids is None else self.ids[sample]

    def label(self, sample: int) -> str:
        """The name of a sample's known class."""
        assert self.labels is not None
        return self.labels.names[self.labels.codes[sample]]

    def rows(self, samples: IntArray) -> FloatArray:
        """Some samples as a dense array."""
        rows = self.X[samples]
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


def checked_subject(
    model: Any,
    X: Any,
    *,
    labels: Any = None,
    ids: Any = None,
    feature_names: Any = None,
    image_shape: Any = None,
) -> Subject:
    """Check everything that is passed to a report."""
    factorizer = _factorizer(model)
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    names_in = getattr(model, "feature_names_in_", None)
    data = validate_data(model, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
    n, m = data.shape
    if n != len(factorizer.codes_):
        raise ValueError(
            f"X has {n} samples, but the model was fitted to {len(factorizer.codes_)}; pass the "
            "data of the fit."
        )
    if ids is None and index is not None:
        ids = index
    given = names_in if feature_names is None else feature_names
    names = _texts("feature_names", given, m, "feature") if given is not None else None
    checked = Subject(
        model,
        factorizer,
        data,
        None if ids is None else _texts("ids", ids, n, "sample"),
        None if labels is None else _labels(labels, n),
        tuple(f"x{i}" for i in range(m)) if names is None else names,
        names is not None,
        None if image_shape is None else _image_shape(image_shape, m),
    )
    _probe(checked)
    return checked


def _factorizer(model: Any) -> Any:
    """The fitted factorization in a model."""
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise ValueError(
            "model must be a fitted factorization of seminmf or a fitted FactorKMeans, got "
            f"{model!r}."
        )
    check_is_fitted(model)
    factorizer = getattr(model, "factorizer_", model)
    missing = [name for name in _NEEDED if not hasattr(factorizer, name)]
    if missing:
        raise ValueError(
            "model must be a factorization of seminmf (NMF, SemiNMF, GraphSemiNMF, L21SemiNMF, "
            f"RobustSemiNMF) or a FactorKMeans of one: {type(factorizer).__name__} has no "
            f"{missing[0]}."
        )
    return factorizer


def _texts(name: str, values: Any, count: int, what: str) -> tuple[str, ...]:
    """One string for each sample or feature."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a list of one name per {what}, got {values!r}.")
    texts = tuple(str(value) for value in values)
    if len(texts) != count:
        raise ValueError(
            f"{name} has {len(texts)} entries, but X has {count} {what}s; pass one per {what}."
        )
    return texts


def _labels(labels: Any, count: int) -> Labels:
    values, codes = encode(labels, "labels")
    if len(codes) != count:
        raise ValueError(
            f"labels has {len(codes)} entries, but X has {count} samples; pass one per sample."
        )
    return Labels(tuple(str(value) for value in values.tolist()), codes)


def _image_shape(shape: Any, count: int) -> tuple[int, int]:
    try:
        height, width = (int(side) for side in shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"image_shape must be a pair (height, width) such as (16, 16), got {shape!r}."
        ) from None
    if height < 1 or width < 1 or height * width != count:
        sides = [d for d in range(1, math.isqrt(count) + 1) if count % d == 0]
        raise ValueError(
            f"image_shape {height} × {width} has {height * width} pixels, but X has {count} "
            f"features; for example image_shape=({sides[-1]}, {count // sides[-1]})."
        )
    return height, width


def _probe(checked: Subject) -> None:
    """An error if the residuals of some samples show that X is not what was fitted."""
    n = checked.X.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, _PROBED)).astype(int))
    rows, fitted = checked.rows(some), checked.factorizer
    residuals = np.linalg.norm(rows - fitted.codes_[some] @ fitted.components_, axis=1)
    size = np.linalg.norm(rows, axis=1) + residuals
    wrong = ~(np.abs(residuals - fitted.residuals_[some]) <= _SAME * size)  # NaN is wrong too
    if wrong.any():
        raise ValueError(
            f"X is not the data that the model was fitted to: row {int(some[wrong.argmax()])} has "
            "another residual than in the fit. Pass the same rows in the same order, with the "
            "same scaling."
        )
