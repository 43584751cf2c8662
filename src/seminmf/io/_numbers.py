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
from ._marks import POINT, Marks
from ._table import pandas_for

# No more than four digits of an exponent that count: no number has more, and parsers overflow.
_EXPONENT = r"[eE][+-]?0*[0-9]{1,4}"
_NUMBER = rf"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:{_EXPONENT})?"
_WORD = r"[+-]?(?:nan|inf|infinity)"
_TEXT = re.compile(rf"\s*(?:{_NUMBER}|{_WORD})\s*", re.IGNORECASE)
_A_SPACE = re.compile(rb"\s")
_TOKEN = re.compile(rf"(?:{_NUMBER}|{_WORD})".encode(), re.IGNORECASE)
# Characters of numbers, by kind; whatever else stands in a file may be part of a word.
_PLAIN = b"0123456789+-.eE \t\r\n"
_WITH_OTHERS = re.compile(rb"\S*[^0-9+\-.eE \t\r\n]\S*")
_SPACE, _DIGIT, _SIGN, _POINT, _EXP = range(5)
_KIND = np.zeros(256, np.uint8)
for _kind, _characters in ((_DIGIT, b"0123456789"), (_SIGN, b"+-"), (_POINT, b"."), (_EXP, b"eE")):
    _KIND[list(_characters)] = _kind
# Which kind may follow which, as 5 × first + second.
_MAY_FOLLOW = np.zeros(25, bool)
for _first, _seconds in (
    (_SPACE, (_SPACE, _DIGIT, _SIGN, _POINT)),
    (_DIGIT, (_SPACE, _DIGIT, _POINT, _EXP)),
    (_SIGN, (_DIGIT, _POINT)),
    (_POINT, (_SPACE, _DIGIT, _EXP)),
    (_EXP, (_DIGIT, _SIGN)),
):
    for _second in _seconds:
        _MAY_FOLLOW[5 * _first + _second] = True
# Bytes that are looked at together.
_CHUNK = 2**22


def is_number(text: str) -> bool:
    """Whether a text is one number, with a decimal point."""
    return _TEXT.fullmatch(text) is not None


def numbers_in(values: NDArray[Any], marks: Marks = POINT) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Texts and numbers as float64, and which of them are not numbers by their marks.

    Equal ones are looked at once.
    """
    which, different = pandas_for().factorize(values)
    known = np.full(len(different), np.nan)
    odd = np.zeros(len(different), dtype=bool)
    for place, value in enumerate(different):
        number = marks.point(value) if isinstance(value, str) else value
        if isinstance(number, str) and not is_number(number):
            odd[place] = True
        else:
            known[place] = _as_float(number)
    return known[which], odd[which]


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond 1.8e308
        return float("inf")


def check_numbers(body: bytes, first_line: int) -> None:
    """Refuse text between spaces and line ends that is not a number; counts lines from 1."""
    plain = body
    if body.translate(None, _PLAIN):
        for found in _WITH_OTHERS.finditer(body):
            if _TOKEN.fullmatch(found[0]) is None:
                raise ValueError(_complaint(body, found.start(), first_line))
        plain = _WITH_OTHERS.sub(lambda word: b"0" * len(word[0]), body)
    begin = 0
    while begin < len(plain):
        space = _A_SPACE.search(plain, begin + _CHUNK)
        end = len(plain) if space is None else space.end()
        for place in _suspects(plain[begin:end]):
            if _TOKEN.fullmatch(_token(body, begin + place)) is None:
                raise ValueError(_complaint(body, begin + place, first_line))
        begin = end


def _suspects(text: bytes) -> list[int]:
    """Places in whole tokens of plain characters that are not those of a number.

    A long exponent may turn out to be all zeros, so that the tokens are looked at again.
    """
    kind = np.zeros(len(text) + 2, np.uint8)  # with a space on both sides
    np.take(_KIND, np.frombuffer(text, np.uint8), out=kind[1:-1])
    wrong = ~_MAY_FOLLOW[5 * kind[:-1] + kind[1:]]
    points = np.flatnonzero(kind == _POINT)
    lone = points[(kind[points - 1] != _DIGIT) & (kind[points + 1] != _DIGIT)]
    # In one token only an exponent may follow, and only a point.
    special = np.flatnonzero(kind >= _POINT)
    spaces = np.flatnonzero(kind == _SPACE)
    token = np.searchsorted(spaces, special)
    fine = (kind[special[:-1]] == _POINT) & (kind[special[1:]] == _EXP)
    again = special[1:][(token[1:] == token[:-1]) & ~fine]
    exponents = special[kind[special] == _EXP]
    ends = spaces[np.searchsorted(spaces, exponents)]
    signed = kind[exponents + 1] == _SIGN
    long = exponents[ends - exponents - 1 - signed > 4]
    found = np.concatenate([np.flatnonzero(wrong), lone - 1, again - 1, long - 1])
    return np.minimum(found, len(text) - 1).tolist()


def _token(body: bytes, place: int) -> bytes:
    """What stands between spaces around a place."""
    before = re.search(rb"\S*\Z", body[max(0, place - 1000) : place])
    after = re.match(rb"\S*", body[place : place + 1000])
    return (before[0] if before else b"") + (after[0] if after else b"")


def _complaint(body: bytes, place: int, first_line: int) -> str:
    line = first_line + body.count(b"\n", 0, place)
    shown = _token(body, place)[:40].decode("ascii", "backslashreplace").replace("\0", "\\0")
    return f"line {line} has {shown!r}, which is not a number"
