"""Numbers with their nouns, so that no message says "1 rows"."""

from __future__ import annotations


def plural(number: int, noun: str) -> str:
    """The noun for this number: "row" or "rows", "entry" or "entries"."""
    if number == 1:
        return noun
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def counted(number: int, noun: str) -> str:
    """Number and noun: "1 row", "1,200 rows"."""
    return f"{int(number):,} {plural(number, noun)}"
