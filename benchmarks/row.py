"""What a row of the benchmark is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .results import Result


@dataclass(frozen=True)
class Row:
    """A part of the benchmark that runs in a process of its own for each number of threads."""

    name: str
    summary: str
    measure: Callable[[bool], Iterable[Result]]
    """Called with True for a quick trial on small data; yields results as they are ready."""
    threads: tuple[int, ...] = (1, 2)
    with_peers: bool = False
    """Whether it runs in the peers' environment."""
    timeout: float = 180.0
