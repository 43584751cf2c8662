"""The rows of the benchmark, in the order of the table."""

from __future__ import annotations

from fnmatch import fnmatch

from ..row import Row
from . import cifar, first_fit, growth, losses, memory, multiplicative, objective, peers, products

ROWS: tuple[Row, ...] = (
    *multiplicative.ROWS,
    *objective.ROWS,
    *products.ROWS,
    *losses.ROWS,
    *peers.ROWS,
    *cifar.ROWS,
    *memory.ROWS,
    *growth.ROWS,
    *first_fit.ROWS,
)
NAMES = [row.name for row in ROWS]


def select(patterns: list[str]) -> list[Row]:
    """The rows whose names match one of the patterns (``mu-*``); all rows without patterns."""
    unknown = [text for text in patterns if not any(fnmatch(name, text) for name in NAMES)]
    if unknown:
        raise ValueError(f"no row is called {', '.join(unknown)}; the rows: {', '.join(NAMES)}")
    return [
        row for row in ROWS if not patterns or any(fnmatch(row.name, text) for text in patterns)
    ]
