"""A document as Markdown, with its figures as files beside it."""

from __future__ import annotations

import re
from pathlib import Path

from .document import Document, Drawing, Table
from .style import LIGHT

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")
_MARKS = {"outside": "**", "best": "**"}


def to_markdown(document: Document, images: Path, address: str) -> str:
    """The text of the page; the figures are written to ``images``, found at ``address``."""
    images.mkdir(parents=True, exist_ok=True)
    parts = [f"# {_plain(document.title)}", *map(_plain, document.introduction)]
    for section in document.sections:
        parts.append(f"## {_plain(section.title)}")
        for item in section.items:
            if isinstance(item, Table):
                parts.append(_table(item))
            elif isinstance(item, Drawing):
                (images / f"{item.name}.svg").write_bytes(item.svg(LIGHT))
                parts.append(f"![{_plain(item.caption)}]({address}/{item.name}.svg)")
                parts.append(f"*{_plain(item.caption)}*")
            else:
                parts.append(_plain(item))
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Text in which nothing is taken for markup."""
    return _SPECIAL.sub(r"\\\1", text.replace("\n", " "))


def _table(table: Table) -> str:
    lines = [
        "| " + " | ".join(map(_plain, table.header)) + " |",
        "| " + " | ".join(["---"] + ["---:"] * (len(table.header) - 1)) + " |",
    ]
    for row in table.rows:
        cells = (f"{_MARKS.get(c.kind, '')}{_plain(c.text)}{_MARKS.get(c.kind, '')}" for c in row)
        lines.append("| " + " | ".join(cells) + " |")
    return f"{_plain(table.caption)}\n\n" + "\n".join(lines)
