"""Text that is to become numbers, checked before a parser sees it that guesses or crashes.

``pandas.to_numeric`` does not survive an exponent of twenty digits in some versions, and
``scipy.io.mmread`` neither a zero byte nor a number that ends too early; it also takes ``0.5x`` and
``1_0`` for numbers. What is a number is said once, here.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ._table import need

# No more than four digits of an exponent that count: no number has more, and parsers overflow.
_EXPONENT = r"[eE][+-]?0*[0-9]{1,4}"
_NUMBER = rf"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:{_EXPONENT})?"
_WORD = r"[+-]?(?:nan|inf|infinity)"
_TEXT = re.compile(rf"\s*(?:{_NUMBER}|{_WORD})\s*", re.IGNORECASE)
_TOKEN = re.compile(rf"(?:{_NUMBER}|{_WORD})".encode(), re.IGNORECASE)
# Characters of numbers, and where one of them stands that cannot be part of one: only tokens with
# points, signs or exponents have to be looked at.
_PLAIN = b"0123456789+-.eE \t\r\n"
_WITH_OTHERS = re.compile(rb"\S*[^0-9+\-.eE \t\r\n]\S*")
_MISPLACED = re.compile(
    rb"[eE](?![+-]?0*[0-9]{1,4}(?:\s|\Z))|(?<![0-9.])[eE]"  # an exponent of something, of digits
    rb"|\.[0-9]*\.|(?<![0-9])\.(?![0-9])"  # one point, beside a digit
    rb"|(?<![\seE])(?<!\A)[+-]|[+-](?![0-9.])"  # a sign in front
)


def is_number(text: str) -> bool:
    """Whether a text is one number, with a decimal point."""
    return _TEXT.fullmatch(text) is not None


def numbers_in(values: NDArray[Any]) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Texts and numbers as float64, and which of them are not numbers.

    Equal ones are looked at once.
    """
    which, different = need("pandas", "tables with columns").factorize(values)
    known = np.full(len(different), np.nan)
    odd = np.zeros(len(different), dtype=bool)
    for place, value in enumerate(different):
        if isinstance(value, str) and not is_number(value):
            odd[place] = True
        else:
            known[place] = _as_float(value)
    return known[which], odd[which]


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond 1.8e308
        return float("inf")


def check_numbers(body: bytes, first_line: int) -> None:
    """Refuse text between spaces and line ends that is not a number; counts lines from 1."""
    if body.translate(None, _PLAIN):
        for found in _WITH_OTHERS.finditer(body):
            if _TOKEN.fullmatch(found[0]) is None:
                raise ValueError(_complaint(body, found.start(), first_line))
    for found in _MISPLACED.finditer(body):
        token = _token(body, found.start())
        if _TOKEN.fullmatch(token) is None:
            raise ValueError(_complaint(body, found.start(), first_line))


def _token(body: bytes, place: int) -> bytes:
    """What stands between spaces around a place."""
    before = re.search(rb"\S*\Z", body[max(0, place - 1000) : place])
    after = re.match(rb"\S*", body[place : place + 1000])
    return (before[0] if before else b"") + (after[0] if after else b"")


def _complaint(body: bytes, place: int, first_line: int) -> str:
    line = first_line + body.count(b"\n", 0, place)
    shown = _token(body, place)[:40].decode("ascii", "backslashreplace").replace("\0", "\\0")
    return f"line {line} has {shown!r}, which is not a number"
