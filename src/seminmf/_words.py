"""Numbers with their nouns, so that no message says "1 rows"."""

from __future__ import annotations

__all__ = ["counted", "plural"]


def plural(number: int, noun: str) -> str:
    """The noun for so many: "row" or "rows"."""
    return noun if number == 1 else f"{noun}s"


def counted(number: int, noun: str) -> str:
    """Number and noun: "1 row", "1,200 rows"."""
    return f"{int(number):,} {plural(number, noun)}"
