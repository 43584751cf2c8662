"""Turns, by which small fits in several Python threads run one after the other.

Small fits are mostly Python code, of which one thread runs at a time. Run at once, they hand the
interpreter over to each other hundreds of times in a few milliseconds, at every call that releases
it.

Nobody has to wait: a fit that gets no turn soon begins without one. So it does not matter what the
holder of a turn does meanwhile, in a callback or in a fork, or that a Ctrl-C keeps it from being
given back.
"""

from __future__ import annotations

from threading import RLock

# A factorization is small with fewer products of an entry of X and one of the basis in a pass. In a
# trial four fits of 8 parts at once took 1.5 times as long as one after the other without turns and
# 1.2 times with them for 400 × 20 entries, 1.04 and 1.11 times for 700 × 20, 0.88 and 1.1 times
# for 1,000 × 20. `benchmarks.at_once` measures fits on both sides of the limit.
_SMALL = 1e5
# Seconds after which a fit begins without a turn.
_PATIENCE = 0.05


class Turn:
    """Context manager for a factorization with so many products in a pass."""

    _present = RLock()

    def __init__(self, products: float) -> None:
        self._small = products < _SMALL
        self._taken: RLock | None = None

    def __enter__(self) -> None:
        turn = Turn._present
        if self._small and turn.acquire(timeout=_PATIENCE):
            self._taken = turn
        elif self._small:
            # The holder keeps that one, perhaps for ever; others share a new one.
            Turn._present = RLock()

    def __exit__(self, *error: object) -> None:
        if self._taken is not None:
            self._taken.release()
