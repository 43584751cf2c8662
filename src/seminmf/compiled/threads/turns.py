"""Small fits of several threads of Python go one after the other.

They are mostly Python, of which one thread runs at a time. At once they only hand the interpreter
over to each other, hundreds of times in a few milliseconds, at every call that lets go of it.

Nobody has to wait: who does not get a turn soon begins without one. So it does not matter what
whoever has it does meanwhile, in a callback or in a fork, or that a Ctrl-C has kept it from being
given back.
"""

from __future__ import annotations

from threading import RLock

# Factorizations with fewer products of an entry of X and one of the basis in a pass are small. In a
# trial four fits of 8 parts at once took 1.5 times as long as one after the other without turns and
# 1.2 times with them for 400 × 20 entries, 1.04 and 1.11 times for 700 × 20, 0.88 and 1.1 times
# for 1,000 × 20. `benchmarks.at_once` measures fits on both sides of the limit.
_SMALL = 1e5
# Whoever has waited for this many seconds begins without a turn.
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
            # Whoever has that one keeps it, perhaps for ever; others share a new one.
            Turn._present = RLock()

    def __exit__(self, *error: object) -> None:
        if self._taken is not None:
            self._taken.release()
