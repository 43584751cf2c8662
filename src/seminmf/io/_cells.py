"""A column as numbers, or the reason why it is none, with the cure."""

from __future__ import annotations

import re
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._words import counted
from ._marks import MISSING, Marks
from ._numbers import is_number, numbers_in
from ._table import Raw, pandas_for

# Characters of a text that a reason shows.
_SHOWN = 40
# Signs of money, percent, brackets or units beside a number, which make a text of it.
_BESIDE = re.compile(
    r"[^\w\s.,+-]{0,2} ?(?P<number>[+-]?[\d.,]+)(?: ?[^\w\s.,+-]{1,2}| [^\W\d]{1,4})?"
)

_LIKE_NUMBER = re.compile(r"[^\w\s]{0,2} ?[+-]?[.,]?\d")


def numbers_of(column: Any, raw: Raw, missing_too: bool = False) -> tuple[NDArray[Any] | None, str]:
    """A column as float64, or the reason why it is none; one without any value if that is fine."""
    pandas = pandas_for()
    series = pandas.Series(column)
    types = pandas.api.types
    if types.is_complex_dtype(series.dtype):
        return None, "it has complex numbers"
    # First and without a step of pandas that can be spared: there may be 100,000 such columns.
    if types.is_numeric_dtype(series.dtype):  # also bool
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if not missing_too and np.isnan(values).all():
            return None, "it has no values"
        return _with_gaps(values, raw), ""
    series = series.reset_index(drop=True)
    if series.isna().all():
        return (np.full(len(series), np.nan), "") if missing_too else (None, "it has no values")
    if types.is_datetime64_any_dtype(series.dtype) or series.dtype.kind in "mM":
        return None, "it has dates or times"
    if isinstance(series.dtype, pandas.CategoricalDtype):
        return None, "it has categories"
    words = MISSING | {word.lower() for word in raw.na_values}
    gone = series.map(lambda value: isinstance(value, str) and value.strip().lower() in words)
    present = series[series.notna() & ~gone.astype(bool)]
    if len(present) == 0:
        return (np.full(len(series), np.nan), "") if missing_too else (None, "it has no values")
    values = np.full(len(series), np.nan)
    if present.map(lambda value: isinstance(value, bool | np.bool_)).all():
        values[present.index] = present.map({True: 1.0, False: 0.0}).to_numpy(dtype=np.float64)
        return values, ""
    odd = next((v for v in present if not isinstance(v, str | int | float | Number)), None)
    if odd is not None:
        return None, f"it has values of type {type(odd).__name__} (write them as columns)"
    numbers, bad = numbers_in(present.to_numpy(dtype=object), raw.marks)
    if not bad.any():
        values[present.index] = numbers
        return _with_gaps(values, raw), ""
    texts = present[bad]
    if len(texts) * 2 < len(present):
        where = f" in {counted(len(texts), 'row')}, the first {_shown(texts.iloc[0])} in row "
        return None, f"it has text{where}{texts.index[0] + 1}{_cure(texts, raw.marks, True)}"
    example = str(texts.iloc[0])
    shown = f", as {_shown(example)}" if _LIKE_NUMBER.match(example) else ""
    return None, f"it has text{shown}{_cure(texts, raw.marks, False)}"


def _with_gaps(values: NDArray[Any], raw: Raw) -> NDArray[Any]:
    """Numbers that stand for a missing value are gaps."""
    for word in raw.na_values:
        if is_number(word):
            values = np.where(values == float(word), np.nan, values)
    return values


def _shown(text: Any) -> str:
    shown = str(text)
    return repr(shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…")


def _cure(texts: Any, marks: Marks, few: bool) -> str:
    """What to say if these texts are numbers or gaps after all; ``few`` are among numbers."""
    different = [str(text).strip() for text in texts.unique()]
    if all(re.fullmatch(r"[+-]?\d+,\d+", text) for text in different):
        return " (--decimal , if these are numbers)"
    if len(different) == 1 and (few or not any(map(str.isalnum, different[0]))):
        return f" (--na-values {different[0]!r} if it stands for a missing value)"
    beside = [_BESIDE.fullmatch(text) for text in different]
    if all(found and marks.is_number(found["number"]) for found in beside):
        return " (write it as plain numbers if it is a feature)"
    return ""
