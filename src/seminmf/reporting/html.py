"""A document as one HTML file that needs nothing else: no network, no scripts."""

from __future__ import annotations

import base64
from html import escape

from .document import Document, Drawing, Section, Table
from .style import DARK, LIGHT

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #666; --line: #ddd;
  --good: #00604a; --bad: #a33b00; --stripe: #f6f6f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181c; --faint: #a5a5a5;
  --line: #3a3d44; --good: #5fd3b3; --bad: #ff9a5c; --stripe: #1e2127; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; color: var(--ink);
  background: var(--paper); font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.8rem; line-height: 1.2; } h2 { margin-top: 3rem; font-size: 1.3rem; }
p { max-width: 46rem; } a { color: inherit; }
nav ul { columns: 18rem; padding-left: 1.2rem; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; }
figcaption, caption { color: var(--faint); font-size: .9rem; text-align: left; }
caption { padding-bottom: .4rem; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid var(--line); } td { border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
tbody tr:nth-child(even) { background: var(--stripe); }
.within, .better { color: var(--good); } .outside { color: var(--bad); font-weight: 600; }
.best { font-weight: 700; }
"""


def to_html(document: Document) -> str:
    """The whole page as text."""
    links = "".join(
        f'<li><a href="#{escape(section.name)}">{escape(section.title)}</a></li>'
        for section in document.sections
    )
    opening = "".join(f"<p>{escape(text)}</p>" for text in document.introduction)
    body = "".join(_section(section) for section in document.sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(document.title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(document.title)}</h1>{opening}"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>{body}</body></html>\n'
    )


def _section(section: Section) -> str:
    parts = [f'<section id="{escape(section.name)}"><h2>{escape(section.title)}</h2>']
    for item in section.items:
        if isinstance(item, Table):
            parts.append(_table(item))
        elif isinstance(item, Drawing):
            parts.append(_drawing(item))
        else:
            parts.append(f"<p>{escape(item)}</p>")
    return "".join([*parts, "</section>\n"])


def _table(table: Table) -> str:
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = "".join(
        "<tr>" + "".join(_cell(cell.text, cell.kind) for cell in row) + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="scroll"><table><caption>{escape(table.caption)}</caption>'
        f"<thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>\n"
    )


def _cell(text: str, kind: str) -> str:
    mark = f' class="{escape(kind)}"' if kind else ""
    return f"<td{mark}>{escape(text)}</td>"


def _drawing(drawing: Drawing) -> str:
    light, dark = (_data_address(drawing.svg(theme)) for theme in (LIGHT, DARK))
    caption = escape(drawing.caption)
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{caption}"></picture>'
        f"<figcaption>{caption}</figcaption></figure>\n"
    )


def _data_address(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")
