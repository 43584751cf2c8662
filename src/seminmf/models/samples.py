"""X as estimators take it: arrays, CSR and sources, by scikit-learn's rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, validate_data

from .._quiet import quietly
from .._sparse import check_indices
from .._types import FloatArray
from .._words import counted
from ..sources.adapters import check_table
from ..sources.opening import source_of
from .gaps import find_gaps
from .validation import DTYPES, MOST_APART, check_batch, check_memory

# What NumPy says of something that it cannot make numbers of.
_NO_NUMBERS = re.compile(
    r"could not convert|argument must be|setting an array element|promoted|too large to convert"
)
# What libraries of tables call times: some of them would be taken for numbers, days since 1970.
_TIMES = re.compile(r"date|time|duration", re.IGNORECASE)


def check_samples(
    estimator: Any, X: Any, max_memory: Any = None, *, reset: bool = True, gaps: bool = False,
    lazy: bool = False,
) -> Any:  # fmt: skip
    """X as ``fit`` takes it, or with ``reset=False`` as ``transform`` does.

    Arrays and what scikit-learn makes arrays of; and sources, which are not read here, nor are Dask
    arrays, where there may be ``lazy`` ones. With ``gaps`` values may be NaN or infinite.
    """
    if is_dask_array(X) and not lazy:
        # scikit-learn would bring it into memory as a whole.
        raise ValueError(
            f"{type(estimator).__name__} does not take Dask arrays here. Fit a factorization, such "
            "as L21SemiNMF, to X and go on with its codes_, or pass X.compute() if that fits in "
            "memory."
        )
    if is_dask_array(X):
        from ..distributed.dask import check_array

        check_array(X)
        _note_features(estimator, X.shape, None, reset)
        return X
    most = check_memory(max_memory)
    source = source_of(X, mapped=most is not None)
    if source is not None:
        return _check_source(estimator, source, most, reset)
    if not reset:
        return _validated(estimator, X, gaps, reset=False)
    if _is_taken(estimator, X, 2):
        estimator.n_features_in_ = X.shape[1]
        return X
    return _validated(estimator, X, gaps, ensure_min_samples=2)


def _validated(estimator: Any, X: Any, gaps: bool = False, **options: Any) -> Any:
    """By scikit-learn's rules and errors, but for what is no finite number, where our remedy is
    named.
    """
    new = not options.get("reset", True)
    if new and _is_taken(estimator, X, 1) and X.shape[1] == estimator.n_features_in_:
        _check_size(X, getattr(estimator, "_unit", None))
        return X
    _check_table(X)
    if sp.issparse(X):
        check_indices("X", X)
    elif isinstance(X, np.ma.MaskedArray):
        # What is behind a mask is not meant; scikit-learn would take it.
        single = X.dtype == np.float32
        X = np.ma.filled(X.astype(np.float32 if single else np.float64), np.nan)
    # What is beyond the range of double precision is told below, as infinity.
    with _numbers("X", X):
        found = quietly(
            validate_data, estimator, X, accept_sparse="csr", dtype=DTYPES, ensure_all_finite=False,
            **options,
        )  # fmt: skip
    if not gaps:
        _check_finite(found, getattr(estimator, "feature_names_in_", None))
    if new:
        _check_size(found, getattr(estimator, "_unit", None))
    return found


def _check_table(X: Any) -> None:
    """Refuse what scikit-learn would ask in vain for an array, or take for numbers."""
    if hasattr(X, "collect"):
        raise ValueError(f"X is a {type(X).__name__}, which is not read yet: pass X.collect().")
    if getattr(getattr(X, "dtype", None), "names", None) is not None:
        raise ValueError(
            "X is an array of records; pass an array of two dimensions, as "
            "numpy.lib.recfunctions.structured_to_unstructured makes of it."
        )
    names, kinds = _columns_of(X)
    if hasattr(X, "columns") and not len(names):
        raise ValueError("X is a table without columns: there is nothing to factorize.")
    times = {kind for kind in set(kinds) if _TIMES.match(str(kind))}
    for name, kind in zip(names, kinds, strict=True):
        if kind in times:
            where = "" if name is None else f", in column {name!r}"
            raise TypeError(
                f"X has to be made of numbers, and is not{where}: it has values of type {kind}. "
                "Leave out what is not a number, or convert it first."
            )
    fills = [getattr(kind, "fill_value", None) for kind in kinds]
    if None not in fills:  # else pandas makes a dense array of it
        for name, fill in zip(names, fills, strict=True):
            if fill != 0:
                raise ValueError(
                    f"X is a sparse table whose column {name!r} has {fill} instead of 0 where "
                    "nothing is stored: pass X.sparse.to_dense()."
                )
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"X has several columns of the name {twice!r}. Rename them.")


def _columns_of(table: Any) -> tuple[Any, Any]:
    """Names and types of the columns of a DataFrame or a table of Arrow; None and the one type of
    an array.
    """
    schema: Any = getattr(table, "schema", None)
    if hasattr(schema, "types"):
        return schema.names, schema.types
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        return table.columns, table.dtypes
    return (None,), (getattr(table, "dtype", None),)


@contextmanager
def _numbers(name: str, values: Any) -> Iterator[None]:
    """Have errors say which argument is not made of numbers, and in which column."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        if _NO_NUMBERS.search(str(error)) is None:
            raise
        others = _columns_of_others(values)
        where = f", in column {others[0]!r}" if others else ""
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{name} has to be made of numbers, and is not{where}: {error} Leave out what is not a "
            "number, or convert it first."
        ) from error


def _columns_of_others(table: Any) -> list[Any]:
    """Columns of a DataFrame that are not made of numbers."""
    names, _ = _columns_of(table)
    return [
        name for name in names if name is not None and not _are_numbers(np.asarray(table[name]))
    ]


def _are_numbers(values: Any) -> bool:
    """NumPy makes numbers of dates, but not of a table that has some."""
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return values.dtype.kind not in "mM"


def _all_finite(X: Any) -> bool:
    """By the least and the largest, of which NumPy says nothing; a sum may overflow."""
    entries = X.data if sp.issparse(X) else X
    return not entries.size or bool(np.isfinite(entries.min()) and np.isfinite(entries.max()))


def _check_finite(X: Any, names: Any) -> None:
    if _all_finite(X):
        return
    rows, columns = find_gaps(X)
    if len(rows) == 0:
        return
    column = columns[0] if names is None else repr(names[columns[0]])
    count = "1 value that is" if len(rows) == 1 else f"{len(rows)} values that are"
    raise ValueError(
        f"X has {count} NaN or infinity, the first in row {rows[0]}, column {column}. Leave such "
        "rows out, or let the medians of the columns stand for them: "
        'seminmf.Standardized(model, how="none", fill="median").'
    )


def _check_size(X: Any, unit: float | None) -> None:
    """New samples may have any size whose squares are in range, in the unit of a fit; if that is
    known.
    """
    if unit is not None:
        from ..data import entry_range

        check_batch(*entry_range(X), False, X.dtype, unit)


def check_in_memory(estimator: Any, X: Any, method: str, gaps: bool = False) -> Any:
    """X for a method that looks at all samples at a time."""
    refuse_elsewhere(X, method, "of some rows: samples that are not all of the fit are new to it")
    return _validated(estimator, X, gaps, reset=False)


def refuse_elsewhere(X: Any, method: str, example: str) -> None:
    """An error for samples that are not in memory."""
    if is_dask_array(X) or source_of(X, mapped=False) is not None:
        raise ValueError(
            f"{method} needs its samples in memory, and X is a {type(X).__name__}. Pass an array, "
            f"for example {example}."
        )


def given(X: Any) -> Any:
    """What `check_samples` has returned, for another estimator to check."""
    return getattr(X, "source", X)


def _check_source(estimator: Any, source: Any, max_memory: int | None, reset: bool) -> Any:
    from ..data import Stream

    check_table("X", source.shape, source.dtype)
    _note_features(estimator, source.shape, getattr(source, "names", None), reset)
    return Stream(source, max_memory)


def _note_features(estimator: Any, shape: tuple[int, int], names: Any, reset: bool) -> None:
    """What scikit-learn would note, or compare, of samples that are not in memory."""
    (n, m), least = shape, 2 if reset else 1
    if n < least or m < 1:
        raise ValueError(
            f"X has {counted(n, 'sample')} and {counted(m, 'feature')}; at least {least} and 1 are "
            "needed."
        )
    if reset:
        estimator.n_features_in_ = m
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif m != estimator.n_features_in_:
        raise ValueError(
            f"X has {m} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    elif names is not None and hasattr(estimator, "feature_names_in_"):
        other = np.flatnonzero(np.asarray(names, dtype=object) != estimator.feature_names_in_)
        if len(other):
            raise ValueError(
                f"X has other features than the fit: column {other[0]} is {names[other[0]]!r}, and "
                f"was {estimator.feature_names_in_[other[0]]!r}."
            )


def _is_taken(estimator: Any, X: Any, least: int) -> bool:
    """Whether scikit-learn, which needs 0.2 ms for that, would hand this array back as it is.

    There are no names of features, a type of numbers that we take, and all of them finite.
    """
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in DTYPES
    named = hasattr(estimator, "feature_names_in_")
    return bool(plain and len(X) >= least and X.size and not named and _all_finite(X))


def check_weights(sample_weight: Any, X: Any) -> FloatArray | None:
    """Sample weights, one for each row of X, by scikit-learn's rules."""
    if sample_weight is None:
        return None
    # Of the samples only their number matters, which no source has to be read for.
    rows = np.broadcast_to(np.zeros(1), (X.shape[0], 1))
    with _numbers("sample_weight", sample_weight):
        if isinstance(sample_weight, Number):  # at which scikit-learn does not look
            sample_weight = np.full(X.shape[0], sample_weight)
        weights: FloatArray = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
    if not weights.any():  # which scikit-learn refuses itself from version 1.8 on
        raise ValueError("sample_weight must have at least one non-zero number.")
    least, most = MOST_APART[4 if X.dtype == np.float32 else 8]
    if not least < weights.max() < most:
        raise ValueError(
            f"sample_weight has numbers up to {weights.max():g}, which is out of all proportion "
            "to one. Divide it by that number: a common factor makes no difference to the parts."
        )
    return weights


@contextmanager
def or_as_before(estimator: Any) -> Iterator[None]:
    """What the block has set is taken back if it does not end well, also by an interrupt.

    Else factors of the last fit would stand beside the number and the names of the features of a
    table that was refused, and samples with these would be taken for those.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def is_dask_array(X: Any) -> bool:
    """Whether X is one, without importing Dask."""
    kind = type(X)
    return kind.__module__.split(".")[0] == "dask" and kind.__name__ == "Array"
