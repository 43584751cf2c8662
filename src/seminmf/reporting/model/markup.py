"""Texts and numbers as HTML. Whatever a user named goes through `text` or `json_block`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

# Characters that are no text: controls, halves of surrogate pairs, non-characters.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_IN_SCRIPT = {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
LONGEST = 60


def plain(value: Any) -> str:
    """A string that can stand in a UTF-8 page."""
    return _NO_TEXT.sub("\ufffd", str(value))


def short(value: Any, longest: int = LONGEST) -> str:
    """Its beginning, if it is long."""
    string = " ".join(plain(value).split())
    return string if len(string) <= longest else string[: longest - 1].rstrip() + "…"


def middle(value: Any, longest: int) -> str:
    """Its beginning and its end, if it is long: names of features often differ there."""
    string = " ".join(plain(value).split())
    if len(string) <= longest:
        return string
    end = (longest - 1) * 2 // 5
    return f"{string[: longest - 1 - end].rstrip()}…{string[-end:].lstrip()}"


def text(value: Any) -> str:
    """Text that is never markup, in elements and in quoted attributes."""
    return escape(plain(value), quote=True)


def own(value: Any, longest: int = LONGEST) -> str:
    """A user's word: shortened, escaped, and its direction of writing kept to itself."""
    string = middle(value, longest)
    full = plain(value)
    title = f' title="{text(full[:500])}"' if string != full else ""
    return f"<bdi{title}>{text(string)}</bdi>"


def number(value: float, digits: int = 3) -> str:
    """A number of so many significant digits, or a dash if there is none."""
    value = float(value)
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 10**6 or 0 < size < 1e-4:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        shown = f"{mantissa}e{int(exponent)}"
    else:
        decimals = max(0, digits - 1 - (math.floor(math.log10(size)) if size else 0))
        shown = f"{value:,.{decimals}f}"
    return shown.replace("-", "−")


def count(value: int) -> str:
    return f"{int(value):,}"


def percent(share: float, digits: int = 0) -> str:
    if not math.isfinite(share):
        return "–"
    return f"{100 * share:.{digits}f} %".replace("-", "−")


def factor(ratio: float) -> str:
    """ "2.4 ×", or a dash."""
    return f"{number(ratio, 2)} ×" if math.isfinite(ratio) else "–"


def finite(value: Any) -> Any:
    """The same with null for what JSON has no number for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return plain(value) if isinstance(value, str) else value


def json_block(name: str, value: Any) -> str:
    """Data for a script of the page; no text in it can end the block."""
    string = json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, code in _IN_SCRIPT.items():
        string = string.replace(character, code)
    return f'<script type="application/json" id="{text(name)}">{string}</script>\n'


def scrolling(content: str, label: str) -> str:
    """A box that scrolls by itself, also by keyboard, where its content is too wide."""
    return (
        f'<div class="scroll" role="region" aria-label="{text(label)}" tabindex="0">'
        f"{content}</div>\n"
    )


def segments(name: str, title: str, choices: Sequence[tuple[str, str]], chosen: str) -> str:
    """Some choices of which one holds; each has the name of the group and its own in its id."""
    radios = "".join(
        f'<input type="radio" name="{name}" id="{name}-{value}" value="{value}"'
        f'{" checked" if value == chosen else ""}><label for="{name}-{value}">{words}</label>'
        for value, words in choices
    )
    return f'<fieldset class="segments"><legend>{title}</legend><div>{radios}</div></fieldset>'


def lead(words: str) -> str:
    return f'<p class="lead">{words}</p>\n'


def reading(chart: str, facts: list[tuple[str, str]]) -> str:
    """A chart, and beside it the numbers to read off it."""
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f'<figure class="card reading">{chart}<dl>{rows}</dl></figure>\n'


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str | tuple[str, str]]],
    *,
    kind: str = "",
    head: int = 0,
) -> str:
    """A table; cells are HTML already, some with a class. Column ``head`` names the row."""
    columns = "".join(f'<th scope="col">{name}</th>' for name in header)

    def cell(content: str | tuple[str, str], place: int) -> str:
        if isinstance(content, tuple):
            return f'<td class="{content[1]}">{content[0]}</td>'
        return f'<th scope="row">{content}</th>' if place == head else f"<td>{content}</td>"

    body = (
        f"<tr>{''.join(cell(content, place) for place, content in enumerate(row))}</tr>"
        for row in rows
    )
    classes = f' class="{kind}"' if kind else ""
    inner = (
        f"<table{classes}><caption>{text(caption)}</caption><thead><tr>{columns}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>"
    )
    return scrolling(inner, caption)
