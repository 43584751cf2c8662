"""Peak memory of a fit beyond X itself.

The worker imports everything and fits a tiny problem first, so that code and compiled kernels are
in memory; then it makes X in place, block by block; then it fits. What counts is by how much the
peak of the resident set rises above what is resident with X in it.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

from ..data import low_rank
from ..results import Goal, Result, cost
from ..row import Row

_NAME = "memory-200000x500"


def _peak() -> int:
    """The largest resident set so far, in bytes."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest


def _resident() -> int:
    """The resident set now; where it cannot be read, the largest so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return _peak()
    return pages * resource.getpagesize()


def _measure(quick: bool) -> Iterator[Result]:
    from seminmf import L21SemiNMF

    n, m, k = (20_000 if quick else 200_000), 500, 20
    model = L21SemiNMF(k, alpha=0.0, beta=0.0, random_state=0, max_iter=10, tol=0)
    model.fit(low_rank(500, 40, k))
    X = low_rank(n, m, k)
    before, earlier = _resident(), _peak()
    model.fit(X)
    # Exact if the fit has raised the peak, an upper bound if it has not.
    beyond = _peak() - before
    yield cost(
        _NAME, "peak memory beyond X", f"{n:,} × {m} float64, k={k}", "X", unit="MB",
        ours=beyond / 1e6, reference=X.nbytes / 1e6, goal=Goal(0.25, at_least=False),
        note=f"earlier peak {(earlier - before) / 1e6:.1f} MB above the resident set",
    )  # fmt: skip


ROWS = (Row(_NAME, "peak memory of a fit beyond X", _measure, threads=(2,)),)
