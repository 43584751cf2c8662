"""What a report is about: a fitted model, its data and their names, all checked first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from ..._sparse import dense
from ..._types import FloatArray, IntArray
from ..._words import counted
from ...metrics import encode, missing_labels
from ...models.samples import check_in_memory
from ..unwrapping import Unwrapped, unwrap

if TYPE_CHECKING:
    from ...io import Record

_NEEDED = ("components_", "codes_", "residuals_", "objective_history_")
_KINDS = (np.float64, np.float32)
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
    """−1 where a sample has no label."""

    @property
    def missing(self) -> int:
        return int((self.codes < 0).sum())


@dataclass(frozen=True)
class Origin:
    """Where a table came from, and what the page about it was asked for."""

    record: Record | None = None
    command: str | None = None
    title: str | None = None
    given: tuple[str, ...] = ()
    """Which of labels, ids and names of features were passed beside the samples."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Checked input: what was passed, and the factorization in it with the samples it saw."""

    model: Any
    inner: Unwrapped
    raw: Any
    """Samples as they were passed, before any scaling; with gaps if a pipeline fills them."""
    raw_names: tuple[str, ...]
    X: Any
    """Samples as the factorization sees them."""
    ids: tuple[str, ...] | None
    labels: Labels | None
    feature_names: tuple[str, ...]
    named: bool
    """Whether the features have names of their own, and not x0, x1, …"""
    image_shape: tuple[int, int] | None
    origin: Origin

    @property
    def factorizer(self) -> Any:
        return self.inner.factorizer

    @property
    def clusters(self) -> Any:
        """The fitted `FactorKMeans`, or None."""
        return self.inner.clusters

    def name(self, sample: int) -> str:
        """A sample's id, or its number."""
        return str(sample) if self.ids is None else self.ids[sample]

    def label(self, sample: int) -> str:
        """The name of a sample's known class."""
        assert self.labels is not None
        code = self.labels.codes[sample]
        return "no label" if code < 0 else self.labels.names[code]

    def rows(self, samples: IntArray) -> FloatArray:
        """Some samples as a dense array."""
        return np.asarray(dense(self.X[samples]), dtype=np.float64)


def checked_subject(
    model: Any,
    X: Any,
    *,
    labels: Any = None,
    ids: Any = None,
    feature_names: Any = None,
    image_shape: Any = None,
    origin: Origin | None = None,
) -> Subject:
    """Check everything that is passed to a report."""
    inner = unwrap(model)
    missing = [name for name in _NEEDED if not hasattr(inner.factorizer, name)]
    if missing:
        raise TypeError(f"model is no factorization of seminmf: it has no {missing[0]}.")
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    raw, data = _samples(model, inner, X)
    n, m = data.shape
    if n != len(inner.factorizer.codes_):
        raise ValueError(
            f"X has {counted(n, 'sample')}, but the model was fitted to "
            f"{len(inner.factorizer.codes_)}; pass the data of the fit."
        )
    if given is not None:
        given = _texts("feature_names", given, raw.shape[1], "feature")
    seen = given if raw is data and given is not None else inner.names(given)
    names = None if seen is None else _texts("feature_names", seen, m, "feature")
    if raw is data:
        given = names
    passed = {"labels": labels, "ids": ids, "feature_names": feature_names}
    origin = replace(
        origin or Origin(), given=tuple(name for name, value in passed.items() if value is not None)
    )
    if ids is None and index is not None:
        ids = index
    checked = Subject(
        model,
        inner,
        raw,
        _numbered(raw.shape[1]) if given is None else given,
        data,
        None if ids is None else _texts("ids", ids, n, "sample"),
        None if labels is None else _labels(labels, n),
        _numbered(m) if names is None else names,
        names is not None and names != _numbered(m),
        None if image_shape is None else _image_shape(image_shape, m),
        origin,
    )
    _probe(checked)
    return checked


def _samples(model: Any, inner: Unwrapped, X: Any) -> tuple[Any, Any]:
    """Samples as they were passed, and as the factorization sees them."""
    if not hasattr(model, "steps"):
        # A model that fills gaps has them in its data.
        raw = check_in_memory(model, X, "report", gaps=getattr(model, "fill_", None) is not None)
        if not inner.before:
            return raw, raw
        return raw, inner.seen(X if model is inner.before[0] else raw)  # with the names it knows
    # What a pipeline begins with may be anything; the factorization sees numbers.
    data = check_array(inner.seen(X), accept_sparse="csr", dtype=_KINDS)
    kind = X.dtype.kind if sp.issparse(X) else np.asarray(X).dtype.kind
    if kind not in "fiub" or len(np.shape(X)) != 2:
        return data, data
    return check_array(X, accept_sparse="csr", dtype=_KINDS, ensure_all_finite=False), data


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(count))


def _texts(name: str, values: Any, count: int, what: str) -> tuple[str, ...]:
    """One string for each sample or feature."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a list of one name per {what}, got {values!r}.")
    texts = tuple(str(value) for value in values)
    if len(texts) != count:
        raise ValueError(
            f"{name} has {counted(len(texts), 'entry')}, but X has {counted(count, what)}; pass "
            f"one per {what}."
        )
    return texts


def _labels(labels: Any, count: int) -> Labels:
    array = np.asarray(labels, dtype=None if hasattr(labels, "dtype") else object)
    absent = missing_labels(array) if array.ndim == 1 else np.zeros(1, dtype=bool)
    if absent.all():
        raise ValueError("labels are all missing; pass labels of some samples, or none at all.")
    values, known = encode(array[~absent] if absent.any() else labels, "labels")
    codes = np.full(len(array), -1, dtype=known.dtype)
    codes[~absent] = known
    if len(codes) != count:
        raise ValueError(
            f"labels has {counted(len(codes), 'entry')}, but X has {counted(count, 'sample')}; "
            "pass one per sample."
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
