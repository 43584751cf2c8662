"""Is the yardstick right? The plain formulas against ``solver="mu"``, iterate by iterate."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import plain
from .data import Problem

ITERATIONS = 20
TOLERANCE = 1e-8


class DisagreementError(AssertionError):
    """Two implementations of the paper's iteration differ: no time of theirs means anything."""


def _difference(found: Any, expected: Any) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def check(problem: Problem) -> float:
    """The largest relative difference of U, V or J after 20 iterations, for all three models.

    Raises `DisagreementError` if it is above 1e-8.
    """
    from seminmf import GraphSemiNMF, L21SemiNMF, SemiNMF

    X, k, (basis, codes) = problem.X, problem.n_components, problem.start()
    cases = {
        "L2,1 SNF": (plain.l21_snf, L21SemiNMF, problem.penalties, problem.parameters),
        "GR SNF": (plain.gr_snf, GraphSemiNMF, problem.penalties, problem.parameters),
        "SNF": (plain.snf, SemiNMF, {}, {}),
    }
    worst = 0.0
    for name, (formulas, estimator, penalties, parameters) in cases.items():
        expected = formulas(X, basis, codes, ITERATIONS, **penalties)
        model = estimator(
            k, **parameters, solver="mu", init=(basis, codes), max_iter=ITERATIONS, tol=0
        ).fit(X)
        difference = max(
            _difference(model.components_.T, expected.basis),
            _difference(model.codes_, expected.codes),
            _difference(model.objective_history_, np.array(expected.history[1:])),
        )
        if not difference <= TOLERANCE:
            raise DisagreementError(
                f"{name} on {problem.name}: plain.py and solver='mu' differ by {difference:.1e} "
                f"after {ITERATIONS} iterations"
            )
        worst = max(worst, difference)
    return worst
