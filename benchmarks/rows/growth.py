"""Is the time of an iteration linear in the number of samples?

The same model on the first n rows of one matrix, n from 10⁴ to 10⁶; iterations are measured
between callbacks. They are the same twelve for every n: a step that is taken back takes as long as
two more, and must not be in the mean of one n and not of another. The ratio is the largest time per
iteration and sample over the smallest.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..data import low_rank, random_start
from ..results import Goal, Result, cost
from ..row import Row
from ..timing import interleave, per_iteration

_NAME = "growth"
_ITERATIONS = 12


def _measure(quick: bool) -> Iterator[Result]:
    from seminmf import L21SemiNMF

    m, k = 50, 10
    sizes = [10_000, 31_623] if quick else [10_000, 31_623, 100_000, 316_228, 1_000_000]
    X = low_rank(sizes[-1], m, k)
    basis, codes = random_start(X.shape, k)

    def one(n: int) -> float:
        start = basis, np.ascontiguousarray(codes[:n])
        model = L21SemiNMF(k, alpha=0.0, beta=0.0, init=start)
        # Short looks are taken more often.
        looks = int(np.clip(300_000 / n, 1, 10))
        return min(per_iteration(model, X[:n], _ITERATIONS) for _ in range(looks)) / n

    one(1_000)
    best = interleave({f"{n:,}": partial(one, n) for n in sizes}, 2 if quick else 6, budget=60)
    slowest, fastest = max(best.values()), min(best.values())
    yield cost(
        _NAME, "growth, time per iteration and sample", f"n {sizes[0]:,} to {sizes[-1]:,}, m={m}, "
        f"k={k}", "smallest", unit="ns", ours=slowest * 1e9, reference=fastest * 1e9,
        goal=Goal(1.2, at_least=False),
        note="; ".join(f"n={n}: {value * 1e9:.1f} ns" for n, value in best.items()),
    )  # fmt: skip


ROWS = (Row(_NAME, "time per iteration from 10⁴ to 10⁶ samples", _measure),)
