"""An iteration with other losses against one of `L21SemiNMF`, whose loss is the norm.

The loss of one's own has the formulas of the norm, in a class outside of the package: its iterates
are the same, and what it takes longer is the price of not being ours. With the losses of Huber and
Cauchy the run goes another way, and may take other steps back, which are in the time. All begin at
the same given start, and are measured between callbacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..data import low_rank, paper_problem, random_start
from ..own_losses import norm
from ..results import Goal, Result, cost
from ..row import Row
from ..timing import interleave, per_iteration

_NAME = "losses"
_GOAL = Goal(1.15, at_least=False)
_OWN = "a loss of one's own"


def _problems(quick: bool) -> Iterator[tuple[str, int, Any, dict[str, Any], int]]:
    """(name, k, X, parameters, iterations)."""
    from seminmf.datasets import make_waveform
    from seminmf.graph.neighbours import knn_graph

    X = make_waveform(400, random_state=0)[0]
    yield "made Waveform 400 × 21, k=5", 5, X, {"graph": knn_graph(X, 5)}, 200
    waveform = paper_problem("waveform")
    graph = {"graph": waveform.graph}
    yield waveform.name, waveform.n_components, waveform.X, graph, 40
    n = 10_000 if quick else 200_000
    alone = {"alpha": 0.0, "beta": 0.0}
    yield f"{n:,} × 20, k=10, no graph", 10, low_rank(n, 20, 10), alone, 12


def _measure(quick: bool) -> Iterator[Result]:
    from seminmf import L21SemiNMF, RobustSemiNMF

    losses: dict[str, Any] = {_OWN: norm(), "Huber": "huber", "Cauchy": "cauchy"}
    for name, k, X, parameters, iterations in _problems(quick):
        basis, codes = random_start(X.shape, k)
        start = basis * np.linalg.norm(X, axis=1).mean() / k, codes
        settings = {**parameters, "init": start}
        models: dict[str, Any] = {"L21SemiNMF": L21SemiNMF(k, **settings)}
        models |= {title: RobustSemiNMF(k, loss=loss, **settings) for title, loss in losses.items()}
        for model in models.values():
            per_iteration(model, X, 3)
        best = interleave(
            {
                title: partial(per_iteration, model, X, iterations)
                for title, model in models.items()
            },
            rounds=3 if quick else 25,
            budget=20,
        )
        for title in losses:
            yield cost(
                _NAME, "iteration with another loss", f"{name}, {title}", "`L21SemiNMF`",
                ours=best[title], reference=best["L21SemiNMF"], goal=_GOAL,
            )  # fmt: skip


ROWS = (Row(_NAME, "one iteration with other losses against one of L21SemiNMF", _measure),)
