"""Factorizations with rising numbers of parts, each from the one before.

Imported when work begins, since it loads the numerics and their compiler.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh

from .._sparse import dense
from .._types import FloatArray
from ..data import TOGETHER, Engine, LazyCompression, Space, leading_subspace, power_of_two
from ..models.estimators import SemiNMF
from ..problem.objective import Objective
from ..problem.strength import Units
from ..solve.descent import Descent
from ..solve.finishing import exact_codes
from ..solve.loop import run
from ..solve.plan import code_length, code_square, floors_for, scheme_of

Factors = tuple[FloatArray, FloatArray]
"""Basis (m × k) and codes (n × k)."""

# A run ends when J falls by a smaller share than this per iteration; exact codes follow. With them
# planted numbers of parts are found as often as without them and with a thirtieth of this, in less
# time.
_TOL = 3e-4


class Growth:
    """Least squares X ≈ V Uᵀ, V ≥ 0, as in `SemiNMF`, for rising numbers of parts up to ``most``.

    Each factorization starts from the one before, with the leading directions of its residual as
    new parts. X is compressed once for all of them, and all descend in the same few leading
    directions of X before they end in the whole space (see `data.subspace`).
    """

    def __init__(self, X: FloatArray, most: int, last: Factors | None = None) -> None:
        """Continue from the ``last`` factors, if given."""
        self._X, self._engine = X, Engine(X, most)
        self._most, self._last = most, last

    def __enter__(self) -> Self:
        engine = self._engine
        engine.__enter__()
        space = LazyCompression(engine, self._most).at_once(TOGETHER) or Space(engine)
        even = np.ones(engine.n_samples, engine.dtype)
        self._space = leading_subspace(space, self._most, even) or space
        # The plan is the same for all numbers of parts, up to that number.
        settings = SemiNMF(tol=_TOL)._settings().checked((2, 2), engine.dtype)
        self._plan = settings.plan(Units(1.0, 1.0, settings.loss.power))
        return self

    def __exit__(self, *error: Any) -> None:
        self._engine.__exit__(*error)

    def to(self, n_components: int) -> Factors:
        """The factorization with ``n_components`` parts, more than the last one had."""
        last = self._last
        more = 0 if last is None else n_components - last[1].shape[1]
        if last is None or more > min(self._X.shape):
            fitted = SemiNMF(n_components, random_state=0).fit(self._X)
            self._last = fitted.components_.T, fitted.codes_
        else:
            self._last = self._descended(*self._with_more(last, more))
        return self._last

    def _with_more(self, last: Factors, count: int) -> Factors:
        """Factors in the space of the runs, with ``count`` new parts for the residual.

        Parts can only be added, never subtracted, so each direction gets the sign that explains
        more.
        """
        basis, codes = self._space.lower(last[0]), last[1]
        left = self._space.engine.all_rows() - codes @ basis.T
        directions = _leading(left, count)
        steps = left @ directions
        ahead, behind = (np.square(np.maximum(s, 0)).sum(axis=0) for s in (steps, -steps))
        signs = np.where(ahead >= behind, 1.0, -1.0)
        # As long as samples, whatever the unit of X: other parts may be huge, with tiny codes.
        signs *= power_of_two(float(np.sqrt(self._engine.squares.mean())))
        return (
            np.hstack([basis, directions * signs]),
            np.hstack([codes, np.maximum(steps / signs, 0)]),
        )

    def _descended(self, basis: FloatArray, codes: FloatArray) -> Factors:
        plan = replace(self._plan, n_components=codes.shape[1])
        floors = floors_for(plan, basis, code_length(code_square(codes), len(codes)))
        objective = Objective(plan.loss, plan.graph_measure, floors=floors)
        scheme = scheme_of(plan, self._engine.n_features)
        found = run(
            Descent(self._space, objective, scheme, None, None, (basis, codes)), plan.stopping
        )
        basis, codes = exact_codes(found)
        return found.space.lift(basis), codes


def _leading(rows: FloatArray, count: int) -> FloatArray:
    """The ``count`` leading directions of some rows, by the smaller of their Gram matrices."""
    wide = rows.shape[0] < rows.shape[1]
    gram = rows @ rows.T if wide else rows.T @ rows
    ends = len(gram) - count, len(gram) - 1
    found = eigh(gram, subset_by_index=ends, check_finite=False)[1][:, ::-1]
    return np.linalg.qr(rows.T @ found)[0] if wide else found


def grown_parts(X: Any, candidates: list[int]) -> dict[int, FloatArray]:
    """Parts of fits with rising numbers of parts, each from the one before.

    A part keeps its place from fit to fit, so that one can follow it.
    """
    rows = np.ascontiguousarray(dense(X), dtype=np.float64)
    with Growth(rows, candidates[-1]) as growth:
        return {k: np.ascontiguousarray(growth.to(k)[0].T) for k in candidates}
