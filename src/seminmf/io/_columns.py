"""Which columns are features: numeric ones that do not only name or count the samples."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._words import counted
from ._cells import numbers_of
from ._table import Raw, Skipped, TableError, nearest

# Features to be named in a message.
_SHOWN = 5
# Names of columns that tell samples apart, and endings of such names.
_ROW_NAME = re.compile(
    r"(id|ids|idx|index|row|rows|sample|samples|obs|observation|record|case|key|uid|uuid|"
    r"unnamed.*|(.*[ _.-])(id|idx|index|no|nr|uid))",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r".*[a-z](ID|Id)")
# Names of columns that tell features apart, of tables with samples as columns.
_FEATURE_NAME = re.compile(
    r"(gene|probe|probe ?set|transcript|protein|peptide|metabolite|taxon|otu|asv|cpg|snp)s?"
    r"([ _.-]?(id|name|symbol)s?)?|(hgnc|ensembl|entrez|gene)[ _.-]?(id|symbol)s?",
    re.IGNORECASE,
)
# So many whole numbers that go up by one, or that only go up, are not there by chance.
_COUNTED, _RISING = 4, 10
# Scales that differ by more are worth a word; of so many rows.
_MUCH, _LOOKED_AT = 100, 10_000
# Of the largest value of a column: what a printed sum may be off.
_ROUNDED = 1e-3
# Numbers that many instruments and surveys write where there is none; so many ranges of the other
# values away from them.
_NO_VALUE, _AWAY = tuple(s * (10.0**d - 1) for d in range(2, 7) for s in (-1, 1)), 3


def row_name_reason(name: str, values: NDArray[Any]) -> str | None:
    """Why a column of numbers says which sample a row is; None if it says how it is."""
    present = values[np.isfinite(values)]
    if len(present) < len(values) or not (present == np.floor(present)).all():
        return None
    before, after = values[:-1], values[1:]
    # A number beyond 2⁵³ is equal to itself plus one, so that rising is asked for too.
    up, down = (after > before) & (after == before + 1), (after < before) & (after == before - 1)
    if len(values) >= _COUNTED and (up.all() or down.all()):
        return f"it counts the rows (--keep {name!r} if it is a feature)"
    if len(values) >= _RISING and (after > before).all():
        return f"its whole numbers rise from row to row (--keep {name!r} if it is a feature)"
    if len(values) > 1 and is_row_name(name):
        return named_reason(name)
    return None


def without_name_reason(name: str, values: NDArray[Any]) -> str | None:
    """Why a first column that has no name is an index, as pandas writes it."""
    if not all_differ(values):
        return None
    return f"row numbers without a name (--keep {name!r} if it is a feature)"


def all_differ(values: NDArray[Any]) -> bool:
    """Whether a column has whole numbers, no two of which are the same."""
    whole = bool(np.isfinite(values).all()) and bool((values == np.floor(values)).all())
    return whole and len(np.unique(values)) == len(values)


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


def gap_hint(X: NDArray[Any], names: Sequence[str]) -> str | None:
    """A word on a number such as -9999 that stands for a missing value, by how far off it is."""
    for place, number in _no_values(X):
        column = X[:, place][np.isfinite(X[:, place])]
        others = column[column != number]
        if len(others) < 2:
            continue
        low, high = others.min(), others.max()
        if not low - _AWAY * (high - low) <= number <= high + _AWAY * (high - low):
            rows = counted(len(column) - len(others), "row")
            return (
                f"{names[place]!r} has {number:.0f} in {rows}, far from all others; --na-values "
                f"{number:.0f} if it stands for a missing value"
            )
    return None


def total_hint(X: NDArray[Any]) -> str | None:
    """A word on a last row that is the sum of all others, as below the line in a spreadsheet."""
    if len(X) <= _COUNTED or X.shape[1] < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # of what is not finite nothing is said
        total, last = X[:-1].sum(axis=0), X[-1]
        largest = np.maximum(np.abs(X.max(axis=0)), np.abs(X.min(axis=0)))
        same = bool((np.abs(total - last) <= _ROUNDED * largest).all())
    if not same or not last.any() or not np.isfinite(last).all():
        return None
    return "the last row is the sum of all others; remove it if it is a total"


def transpose_hint(raw: Raw, skipped: Sequence[Skipped]) -> str | None:
    """A word on a first column of text that is called like one with names of features."""
    name = next(iter(raw.columns))
    named = _FEATURE_NAME.fullmatch(name.strip()) and name in {column.name for column in skipped}
    if not named or len(set(map(str, raw.columns[name]))) < len(raw.columns[name]):
        return None
    return f"{name!r} seems to name features; --transpose if the samples are columns"


def _no_values(X: NDArray[Any]) -> Iterator[tuple[int, float]]:
    """Columns whose smallest or largest number may stand for none."""
    for extremes in (np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)):
        for place in np.flatnonzero(np.isin(extremes, _NO_VALUE)):
            yield int(place), float(extremes[place])


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
        reasons = {n: reason_of(raw, n, v) for n, v in found.items() if n not in keep}
        left_out = {name: why for name, why in reasons.items() if why is not None}
        if len(left_out) < len(found):
            skipped += [Skipped(name, reason) for name, reason in left_out.items()]
            found = {name: values for name, values in found.items() if name not in left_out}
        elif left_out:
            name, why = next(iter(left_out.items()))
            why = re.sub(r" \(--keep .*", "", why)
            raw.remarks.append(f"{name!r} is a feature because nothing else is, though {why}")
    if not found:
        listed = "; ".join(f"{s.name!r}: {s.reason}" for s in skipped[:_SHOWN])
        one_of_text = len(raw.columns) == 1 and raw.format.kind == "csv"
        hints = ["is the delimiter right (--delimiter)?"] if one_of_text else []
        hint = "".join(f" {h[0].upper()}{h[1:]}" for h in [*hints, *raw.remarks])
        raise TableError(
            f"{source} has no numeric column to factorize ({listed or 'nothing is left'}).{hint}"
        )
    n = len(next(iter(found.values())))
    X = np.empty((n, len(found)))
    for place, values in enumerate(found.values()):
        X[:, place] = values
    turned = transpose_hint(raw, skipped) if features is None else None
    said = (gap_hint(X, list(found)), total_hint(X), turned)
    raw.remarks += [hint for hint in said if hint is not None]
    return X, list(found), skipped


def reason_of(raw: Raw, name: str, values: NDArray[Any]) -> str | None:
    """Why a column of a table is no feature though it has numbers."""
    if name == raw.nameless and (reason := without_name_reason(name, values)) is not None:
        return reason
    return row_name_reason(name, values)


def check_present(source: str, features: Sequence[str], names: Any) -> None:
    absent = [name for name in features if name not in names]
    if absent:
        shown = ", ".join(map(repr, absent[:_SHOWN])) + (" …" if len(absent) > _SHOWN else "")
        raise TableError(
            f"{source} does not have {len(absent)} of the {counted(len(features), 'feature')} "
            "of the model: "
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
                f"{source} has {counted(X.shape[1], 'column')}, but the model has "
                f"{counted(len(features), 'feature')}."
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
