"""Whether parts come from the data or from the start: agreement with fits from random starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from .._types import FloatArray, IntArray
from .validation import check_seed


def matched_cosines(parts: FloatArray, others: FloatArray) -> FloatArray:
    """The cosine of each row of ``parts`` with its partner among ``others``, matched one to one.

    NaN for zero rows, zero for rows without a partner.
    """
    cosines = np.where(parts.any(axis=1), 0.0, np.nan)
    rows, columns = _matched(parts, others)
    products = np.einsum("ij,ij->i", _unit_rows(parts[rows]), _unit_rows(others[columns]))
    cosines[rows] = np.maximum(products, 0.0)
    return cosines


def _matched(parts: FloatArray, others: FloatArray) -> tuple[IntArray, IntArray]:
    """(rows of parts, rows of their partners) with the largest sum of cosines; no zero rows."""
    wanted, there = (np.flatnonzero(rows.any(axis=1)) for rows in (parts, others))
    products = _unit_rows(parts[wanted]) @ _unit_rows(others[there]).T
    rows, columns = linear_sum_assignment(products, maximize=True)
    return wanted[rows], there[columns]


def _unit_rows(rows: FloatArray) -> FloatArray:
    """Rows scaled to length one; zero rows stay zero."""
    rows = np.asarray(rows, dtype=np.float64)
    # By the largest entry first, so that no square over- or underflows.
    rows = rows / np.abs(rows).max(axis=1, keepdims=True, initial=np.finfo(np.float64).tiny)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0))


def stability_of(model: Any, X: Any, n_runs: int, random_state: Any) -> FloatArray:
    """Mean cosine of each part of a fitted model with its partners in fits from random starts."""
    rng = check_seed(random_state)
    found = np.zeros(len(model.components_))
    for _ in range(n_runs):
        other = clone(model).set_params(
            init="random", n_init=1, callback=None, random_state=rng.randint(2**31 - 1)
        )
        found += matched_cosines(model.components_, other.fit(X).components_)
    return found / n_runs
