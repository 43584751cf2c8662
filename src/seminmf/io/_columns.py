"""Which columns are features: numeric ones that do not only name or count the samples."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._words import counted
from ._layout import as_point
from ._numbers import numbers_in
from ._table import Raw, Skipped, TableError, nearest, need

# Features to be named in a message.
_SHOWN = 5
# Names of columns that tell samples apart, and endings of such names.
_ROW_NAME = re.compile(
    r"(id|ids|idx|index|row|rows|sample|samples|obs|observation|record|case|key|uid|uuid|"
    r"unnamed.*|(.*[ _.-])(id|idx|index|no|nr|uid))",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r".*[a-z](ID|Id)")
# So many whole numbers that go up by one, or that only go up, are not there by chance.
_COUNTED, _RISING = 4, 10
# Scales that differ by more are worth a word; of so many rows.
_MUCH, _LOOKED_AT = 100, 10_000


def row_name_reason(name: str, values: NDArray[Any]) -> str | None:
    """Why a column of numbers says which sample a row is; None if it says how it is."""
    present = values[np.isfinite(values)]
    if len(present) < len(values) or not (present == np.floor(present)).all():
        return None
    before, after = values[:-1], values[1:]
    # A number beyond 2⁵³ is equal to itself plus one, so that rising is asked for too.
    if len(values) >= _COUNTED and ((after > before) & (after == before + 1)).all():
        return f"it counts the rows (--keep {name!r} if it is a feature)"
    if len(values) >= _RISING and (after > before).all():
        return f"its whole numbers rise from row to row (--keep {name!r} if it is a feature)"
    if len(values) > 1 and is_row_name(name):
        return named_reason(name)
    return None


def is_row_name(name: str) -> bool:
    """Whether a column is called like one that tells samples apart."""
    return any(pattern.fullmatch(name.strip()) for pattern in (_ROW_NAME, _CAMEL_ID))


def named_reason(name: str) -> str:
    """Why such a column of whole numbers is left out."""
    return f"by its name it says which sample a row is (--keep {name!r} if it is a feature)"


def far_scales(X: Any) -> tuple[int, int, float, float] | None:
    """Columns of the smallest and the largest scale, with these, if they differ by far.

    The scale is the range of the middle half, so that columns that are mostly one value, such as
    the margins of images, do not count. Sparse tables have no such columns.
    """
    if not isinstance(X, np.ndarray) or X.shape[1] < 2:
        return None
    rows = X[:: max(1, len(X) // _LOOKED_AT)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns of gaps
        low, high = np.nanquantile(np.where(np.isfinite(rows), rows, np.nan), [0.25, 0.75], axis=0)
    scales = np.where(high > low, high - low, np.nan)
    if np.isnan(scales).all():
        return None
    small, large = int(np.nanargmin(scales)), int(np.nanargmax(scales))
    if scales[large] <= _MUCH * scales[small]:
        return None
    return small, large, float(scales[small]), float(scales[large])


def scale_hint(X: Any, names: Sequence[str]) -> str | None:
    """A word on columns whose scales differ so much that the largest decide alone."""
    found = far_scales(X)
    if found is None:
        return None
    small, large, least, most = found
    return (
        f"the scales of columns differ by a factor of {most / least:,.0f} (from {names[small]!r}, "
        f"{least:.3g}, to {names[large]!r}, {most:.3g}), and the largest decide what is found; "
        "--standardize scale brings them to one"
    )


def numeric_columns(
    source: str, raw: Raw, taken: set[str], features: Sequence[str] | None, keep: Sequence[str]
) -> tuple[NDArray[Any], list[str], list[Skipped]]:
    """Features as a matrix, their names, and the columns that are none."""
    wanted = None if features is None else set(features)
    found: dict[str, NDArray[Any]] = {}
    skipped: list[Skipped] = []
    for name, column in raw.columns.items():
        if name in taken and (wanted is None or name not in wanted):
            continue
        if wanted is not None and name not in wanted:
            skipped.append(Skipped(name, "not a feature of the model"))
            continue
        values, reason = numbers_of(column, raw, wanted is not None)
        if values is None and wanted is not None:
            raise TableError(f"{source}: column {name!r} is a feature of the model, but {reason}.")
        if values is None:
            skipped.append(Skipped(name, reason))
        else:
            found[name] = values
    if features is not None:
        check_present(source, features, raw.columns)
        found = {name: found[name] for name in features}
    else:
        check_kept(source, keep, raw.columns)
        named = {n: row_name_reason(n, v) for n, v in found.items() if n not in keep}
        left_out = {name: reason for name, reason in named.items() if reason is not None}
        if len(left_out) < len(found):  # a table of nothing else has these as features
            skipped += [Skipped(name, reason) for name, reason in left_out.items()]
            found = {name: values for name, values in found.items() if name not in left_out}
    if not found:
        reasons = "; ".join(f"{s.name!r}: {s.reason}" for s in skipped[:_SHOWN])
        hint = " Is the delimiter right (--delimiter)?" if len(raw.columns) == 1 else ""
        raise TableError(
            f"{source} has no numeric column to factorize ({reasons or 'nothing is left'}).{hint}"
        )
    n = len(next(iter(found.values())))
    X = np.empty((n, len(found)))
    for place, values in enumerate(found.values()):
        X[:, place] = values
    return X, list(found), skipped


def check_present(source: str, features: Sequence[str], names: Any) -> None:
    absent = [name for name in features if name not in names]
    if absent:
        shown = ", ".join(map(repr, absent[:_SHOWN])) + (" …" if len(absent) > _SHOWN else "")
        raise TableError(
            f"{source} does not have {len(absent)} of the {len(features)} features of the model: "
            f"{shown}; {nearest(absent[0], names)}"
        )


def check_kept(source: str, keep: Sequence[str], names: Any) -> None:
    """Whether columns that are to be kept are there."""
    for name in keep:
        if name not in names:
            raise TableError(f"{source} has no column {name!r} for --keep; {nearest(name, names)}")


def matrix_columns(
    source: str, raw: Raw, features: Sequence[str] | None
) -> tuple[Any, list[str], bool, list[Skipped]]:
    """(X, names, whether they come from the file, columns that are no features)."""
    matrix = raw.matrix
    if sp.issparse(matrix):
        X = sp.csr_array(matrix, dtype=np.float64)
        X.sum_duplicates()
    else:
        X = np.ascontiguousarray(matrix, dtype=np.float64)
    if raw.names is None:
        if features is not None and len(features) != X.shape[1]:
            raise TableError(
                f"{source} has {X.shape[1]} columns, but the model has {len(features)} features."
            )
        names = list(features) if features is not None else [f"x{i}" for i in range(X.shape[1])]
        return X, names, False, []
    if features is None:
        return X, raw.names, True, []
    place = {name: i for i, name in enumerate(raw.names)}
    check_present(source, features, place)
    chosen = set(features)
    skipped = [Skipped(n, "not a feature of the model") for n in raw.names if n not in chosen]
    return X[:, [place[name] for name in features]], list(features), True, skipped


def numbers_of(column: Any, raw: Raw, missing_too: bool = False) -> tuple[NDArray[Any] | None, str]:
    """A column as float64, or the reason why it is none; one without any value if that is fine."""
    pandas = need("pandas", "tables with columns")
    series = pandas.Series(column).reset_index(drop=True)
    if series.isna().all():
        return (np.full(len(series), np.nan), "") if missing_too else (None, "it has no values")
    types = pandas.api.types
    if types.is_complex_dtype(series.dtype):
        return None, "it has complex numbers"
    if types.is_numeric_dtype(series.dtype):  # also bool
        return series.to_numpy(dtype=np.float64, na_value=np.nan), ""
    if types.is_datetime64_any_dtype(series.dtype) or series.dtype.kind in "mM":
        return None, "it has dates or times"
    if isinstance(series.dtype, pandas.CategoricalDtype):
        return None, "it has categories"
    present = series[series.notna()]
    if present.map(lambda value: isinstance(value, bool | np.bool_)).all():
        return series.map({True: 1.0, False: 0.0}).to_numpy(dtype=np.float64), ""
    odd = next((v for v in present if not isinstance(v, str | int | float | Number)), None)
    if odd is not None:
        return None, f"it has values of type {type(odd).__name__}"
    texts = present.to_numpy(dtype=object)
    if raw.thousands is not None or raw.format.decimal == ",":
        marks = raw.format.decimal, raw.thousands
        texts = np.array([as_point(v, *marks) for v in texts], dtype=object)
    numbers, bad = numbers_in(texts)
    if not bad.any():
        values = np.full(len(series), np.nan)
        values[present.index] = numbers
        return values, ""
    if bad.sum() * 2 < len(bad):
        first = present.iloc[int(bad.argmax())]
        rows = counted(int(bad.sum()), "row")
        return None, (
            f"it has text in {rows}, the first {first!r} in row "
            f"{present.index[int(bad.argmax())] + 1}{_cure(present[bad])}"
        )
    return None, f"it has text{_cure(present[bad]) if _comma_numbers(present[bad]) else ''}"


def _cure(texts: Any) -> str:
    """What to say if these texts are numbers or gaps after all."""
    if _comma_numbers(texts):
        return " (--decimal , if these are numbers)"
    different = texts.unique()
    if len(different) == 1 and not re.search(r"\w{4}", different[0]):
        return f" (--na-values {different[0]!r} if it stands for a missing value)"
    return ""


def _comma_numbers(texts: Any) -> bool:
    return all(re.fullmatch(r"[+-]?\d+,\d+", str(text).strip()) for text in texts)
