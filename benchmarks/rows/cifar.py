"""Our models against scikit-learn's NMF on the non-negative images of CIFAR-10.

scikit-learn runs ``NMF(k, solver="cd", max_iter=50)``, its other settings at their defaults, and
ends with some relative error Σ‖x_i − Uv_i‖ / Σ‖x_i‖; our time is from the call of ``fit`` to the
first iteration with a lower one, with ``tol=0`` so that nothing else ends it. The clock stands
still while the error is computed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..data import Floats, cifar
from ..results import Goal, Result, cost
from ..row import Row
from ..timing import Arrival, interleave, seconds, time_to


def _lengths(rows: Floats) -> Floats:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _measure(name: str, k: int, quick: bool) -> Iterator[Result]:
    from sklearn.base import clone
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    from seminmf import L21SemiNMF, SemiNMF

    warnings.simplefilter("ignore", ConvergenceWarning)
    X = cifar(quick)
    total = float(_lengths(X).sum())
    reference = NMF(k, solver="cd", max_iter=50, random_state=0)
    models: dict[str, Any] = {
        "L21SemiNMF": L21SemiNMF(k, alpha=0.0, beta=0.0, max_iter=1000, tol=0, random_state=0),
        "SemiNMF": SemiNMF(k, max_iter=1000, tol=0, random_state=0),
    }
    arrivals: dict[str, list[Arrival]] = {title: [] for title in models}
    goal, codes = math.nan, np.empty(0)

    def relative_error(codes: Floats, components: Floats) -> float:
        return float(_lengths(X - codes @ components).sum()) / total

    def present_error(progress: Any) -> float:
        basis, codes = progress.factors()
        return relative_error(codes, basis.T)

    def by_sklearn() -> float:
        nonlocal goal, codes

        def fit() -> None:
            nonlocal codes
            codes = reference.fit_transform(X)

        elapsed = seconds(fit)
        goal = relative_error(codes, reference.components_)
        return elapsed

    def ours(title: str) -> float:
        arrivals[title].append(time_to(models[title], X, goal, present_error))
        return arrivals[title][-1].seconds

    for model in models.values():
        clone(model).set_params(max_iter=5).fit(X[: 20 * k])
    contestants = {"sklearn": by_sklearn} | {title: partial(ours, title) for title in models}
    best = interleave(contestants, 1 if quick else 2, budget=45)
    for title in models:
        arrival = min(arrivals[title], key=lambda arrival: arrival.seconds)
        note = f"relative error {goal:.5f} after {reference.n_iter_} iterations; ours "
        if math.isfinite(arrival.seconds):
            note += f"{arrival.value:.5f} in {arrival.iterations}, fit at {arrival.whole:.3g} s"
        else:
            note += f"stopped at {arrival.value:.5f} after {arrival.iterations}"
        yield cost(
            name, "time to below scikit-learn's relative L2,1 error",
            f"CIFAR-10 test, k={k}, {title}", "scikit-learn NMF", ours=best[title],
            reference=best["sklearn"], goal=Goal(1 / 15, at_least=False), note=note,
        )  # fmt: skip


def _row(k: int) -> Row:
    name = f"cifar-k{k}"
    summary = "time to a lower relative L2,1 error than scikit-learn's NMF"
    return Row(name, summary, partial(_measure, name, k), threads=(2,), timeout=300)


ROWS = (_row(15), _row(30))
