"""A page as data, before it becomes HTML or Markdown: sections of texts, tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .style import Theme, figure_style, to_svg


@dataclass(frozen=True)
class Cell:
    """Text of a table, with a kind ("within", "better", "outside", "best") that colours it."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Table:
    caption: str
    header: list[str]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn when a theme is known, once for each."""

    name: str
    caption: str
    draw: Callable[[Theme], Any] = field(repr=False)
    _drawn: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    def svg(self, theme: Theme) -> bytes:
        """The figure in the colours of a theme."""
        if theme.name not in self._drawn:
            with figure_style(theme):
                self._drawn[theme.name] = to_svg(self.draw(theme))
        return self._drawn[theme.name]


@dataclass(frozen=True)
class Section:
    title: str
    name: str
    items: list[str | Table | Drawing]


@dataclass(frozen=True)
class Document:
    title: str
    introduction: list[str]
    sections: list[Section]
