"""Numbers as people write them: the decimal mark, and what stands between thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

_OTHER = {".": ",", ",": "."}
_MINUS = "\u2212"
_WORDS = "nan|inf|true|false"
# Marks between thousands that are never decimal: spaces of three kinds, and those of Switzerland.
_NEVER_DECIMAL = (" ", "\u00a0", "\u202f", "'", "\u2019")
# What stands for a missing value, in lower case; also the errors of a spreadsheet.
MISSING = {
    "", "na", "n/a", "nan", "null", "none", "#n/a", "<na>", "?", "#div/0!", "#value!", "#ref!",
    "#name?", "#num!", "#null!",
}  # fmt: skip


@cache
def _plain(decimal: str) -> re.Pattern[str]:
    mark = re.escape(decimal)
    number = rf"[+-]?(\d+{mark}?\d*|{mark}\d+)([eE][+-]?\d+)?"
    return re.compile(f"{number}|{_WORDS}", re.IGNORECASE)


@cache
def _grouped(decimal: str, mark: str) -> re.Pattern[str]:
    return re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+({re.escape(decimal)}\d*)?")


@dataclass(frozen=True)
class Marks:
    """Of the numbers in a file."""

    decimal: str = "."
    thousands: str | None = None

    def is_number(self, text: str) -> bool:
        """Whether a text is a number by these marks, or one of the words for such."""
        text = text.replace(_MINUS, "-")
        if _plain(self.decimal).fullmatch(text):
            return True
        mark = self.thousands or _OTHER[self.decimal]
        grouped = _grouped(self.decimal, mark).fullmatch(text)
        # As long as nothing is known of thousands, both marks have to be there to be sure.
        return grouped is not None and (self.thousands is not None or self.decimal in text)

    def point(self, value: str) -> str:
        """A text that is a number by these marks as Python writes it; others as they are.

        One that would be a number by other marks only becomes an empty text.
        """
        text = value.strip().replace(_MINUS, "-")
        if self.thousands is not None and _grouped(self.decimal, self.thousands).fullmatch(text):
            text = text.replace(self.thousands, "")
        elif self.decimal == "," and "." in text:
            return ""
        return text.replace(",", ".") if self.decimal == "," else text


# The marks of programs.
POINT = Marks()


def find_marks(values: list[str], delimiter: str, decimal: str | None = None) -> Marks:
    """Those of the numbers among some values; ``decimal`` where that is known."""
    mark = _decimal(values, delimiter) if decimal is None else decimal
    return Marks(mark, _thousands(values, mark))


def _decimal(values: list[str], delimiter: str) -> str:
    """A comma if numbers have it and none has a point but between thousands."""
    if delimiter == ",":
        return "."
    commas, points = (_between_thousands(values, decimal) for decimal in (".", ","))
    if commas.sure and not points.sure:
        return "."
    by_comma = any("," in v and Marks(",").is_number(v) for v in values)
    return "," if points.all_fit and (by_comma or points.sure) else "."


@dataclass(frozen=True)
class _Between:
    """What the values with the other mark say, if one mark is the decimal one."""

    all_fit: bool
    """The other stands between thousands wherever it stands in a number."""
    sure: bool
    """And somewhere twice, so that it is no decimal mark."""


def _between_thousands(values: list[str], decimal: str) -> _Between:
    other = _OTHER[decimal]
    marked = _marked(values, other)
    fit = all(_grouped(decimal, other).fullmatch(v) for v in marked)
    return _Between(fit, fit and any(v.count(other) > 1 for v in marked))


def _marked(values: Iterable[str], mark: str) -> list[str]:
    """Those with the mark that are numbers by some marks: 27.06.2024 and 192.168.0.1 are not."""
    forms = [
        form
        for decimal, other in _OTHER.items()
        for form in (_plain(decimal), _grouped(decimal, other), _grouped(decimal, mark))
    ]
    return [v for v in values if mark in v and _fits(forms, v.replace(_MINUS, "-"))]


def _fits(forms: Iterable[re.Pattern[str]], text: str) -> bool:
    return any(form.fullmatch(text) for form in forms)


def _thousands(values: list[str], decimal: str) -> str | None:
    """The mark between thousands, if no number contradicts and it can be nothing else."""
    for mark in (_OTHER[decimal], *_NEVER_DECIMAL):
        marked = [v.replace(_MINUS, "-") for v in _marked(values, mark)]
        if not marked or not all(_grouped(decimal, mark).fullmatch(v) for v in marked):
            continue
        if (
            mark in _NEVER_DECIMAL
            or any(v.count(mark) > 1 or decimal in v for v in marked)
            or any(decimal in v and _plain(decimal).fullmatch(v) for v in values)
        ):
            return mark
    return None


def ambiguous(values: list[str], marks: Marks) -> str | None:
    """A number whose comma is taken as the decimal mark, but may as well be between thousands."""
    if marks.decimal == ".":
        return None
    commas = [v for v in values if "," in v and marks.is_number(v)]
    fit = all(_grouped(".", ",").fullmatch(v) for v in commas)
    return commas[0] if commas and fit else None
