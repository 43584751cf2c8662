"""The whole page: one file, which asks for nothing and lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from ..._words import counted, plural
from ..style import DARK, LIGHT
from .advice import advice_box
from .findings import Findings
from .markup import count, percent, plain, short, text
from .part_cards import SHADES
from .sections import Section, sections

# By which a page of ours is known.
MARK = "seminmf · model report"


@cache
def _asset(name: str) -> str:
    """A file of the folder ``assets``."""
    return files("seminmf.reporting").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def page_style() -> str:
    """The style sheet, behind the colours of marks: the same as in matplotlib."""
    pairs = {"pos": (LIGHT.l21, DARK.l21), "neg": (LIGHT.below, DARK.below)}
    steps = [(*theme.steps, theme.below) for theme in (LIGHT, DARK)]
    both = (("cat", LIGHT.categories, DARK.categories), ("score", *steps))
    for name, light, dark in both:
        pairs |= {f"{name}-{i}": pair for i, pair in enumerate(zip(light, dark, strict=True))}
    rules = [f"--{name}: light-dark({a.lower()}, {b.lower()});" for name, (a, b) in pairs.items()]
    lines = [f":root {{ {' '.join(rules)} }}"]
    for i in range(len(LIGHT.categories)):
        lines.append(f".k{i} {{ color: var(--cat-{i}); }}")
    for letter, choice, name, count_ in (
        ("l", "label", "cat", len(LIGHT.categories)), ("s", "score", "score", len(steps[0]))
    ):  # fmt: skip
        for i in range(count_):
            where = f".legend .{letter}{i}, .map:has(#by-{choice}:checked) #points .{letter}{i}"
            lines.append(f"{where} {{ color: var(--{name}-{i}); }}")
    for i in range(1, SHADES + 1):
        mixed = f"color-mix(in srgb, var(--pos) {5 + 6 * i}%, transparent)"
        lines.append(f".u{i} {{ background: {mixed}; }}")
    return "\n".join(lines) + "\n" + _asset("report.css")


def _fingerprint(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def policy(style: str, script: str) -> str:
    """Only this style and this script, images that are in the page, and no request at all."""
    return (
        f"default-src 'none'; script-src {_fingerprint(script)}; "
        f"style-src {_fingerprint(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def default_title(found: Findings) -> str:
    """From the name of the file, where there is one."""
    record = found.subject.origin.record
    if record is not None and record.path is not None:
        return Path(record.path).name
    return (
        f"What {type(found.subject.factorizer).__name__} found in "
        f"{counted(found.shape[0], 'sample')}"
    )


def summary(found: Findings) -> str:
    """What was done, in two sentences."""
    n, m, k = found.shape
    fitted, outliers = found.subject.factorizer, found.outliers.count
    steps = counted(fitted.n_iter_, "iteration")
    how = (
        f"converged after {steps}" if fitted.converged_ else f"stopped after {steps}, not converged"
    )
    first = (
        f"{type(fitted).__name__} wrote {counted(n, 'sample')} of {counted(m, 'feature')} as sums "
        f"of {counted(k, 'part')}; it {how} and explains {percent(found.explained_inside)} of the "
        f"sum of squares{' of the samples that are no outliers' if outliers else ''}."
    )
    groups = counted(len(found.clusters), "cluster")
    if not outliers:
        return f"{first} No sample is an outlier; the codes form {groups}."
    are = "is an outlier" if outliers == 1 else "are outliers"
    return (
        f"{first} {counted(outliers, 'sample')} ({percent(outliers / n, 1)}) {are}; the codes of "
        f"the others form {groups}."
    )


def _tiles(found: Findings) -> str:
    n, m, k = found.shape
    fitted = found.subject.factorizer
    tiles = [
        (plural(n, "sample"), count(n), counted(m, "feature")),
        (plural(k, "part"), count(k), counted(len(found.clusters), "cluster")),
        (
            "explained",
            percent(found.explained_inside),
            f"{percent(found.explained)} with outliers" if found.outliers.count else "of squares",
        ),
        (
            plural(found.outliers.count, "outlier"),
            count(found.outliers.count),
            f"{percent(found.outliers.count / n, 1)} of samples",
        ),
        (
            plural(fitted.n_iter_, "iteration"),
            count(fitted.n_iter_),
            "converged" if fitted.converged_ else "not converged",
        ),
    ]
    if found.agreement is not None:
        tiles.append(("agreement", percent(found.agreement.accuracy_inside), "with the labels"))
    return tiles_box(tiles)


def tiles_box(tiles: list[tuple[str, str, str]]) -> str:
    """Names with values, and a note on each."""
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>"
        for name, value, note in tiles
    )
    return f'<dl class="tiles">{cells}</dl>\n'


def compose(found: Findings, title: str | None = None, when: datetime | None = None) -> str:
    """The report as HTML; the same findings, title and date give the same text."""
    heading = plain(title) if title is not None else default_title(found)
    return whole_page(
        MARK, heading, summary(found), _tiles(found), advice_box(found), sections(found), when,
        script=_asset("names.js") + _asset("report.js"),
    )  # fmt: skip


def whole_page(
    mark: str, heading: str, told: str, tiles: str, advice: str, made: list[Section],
    when: datetime | None, script: str = "",
) -> str:  # fmt: skip
    """Sections behind a heading and a summary; ``tiles`` and ``advice`` are HTML already."""
    style = page_style()
    button = '<button type="button" id="theme" hidden>Dark</button>' if script else ""
    without = (
        '<noscript><p class="note">Without scripts the page is complete but for what the map does '
        "when it is pointed at.</p></noscript>\n"
    )
    date = (when or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M %Z").strip()
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in made)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{title}</h2>\n{content}</section>\n'
        for name, title, content in made
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{text(short(heading, 120))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n'
        f'<header>\n<div class="top"><p class="eyebrow">{mark}</p>{button}</div>\n'
        f"<h1><bdi>{text(heading)}</bdi></h1>\n"
        f'<p class="summary">{text(told)}</p>\n{tiles}'
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n</header>\n'
        f"{without if script else ''}"
        f'<main id="content">\n{advice}{body}</main>\n'
        f"<footer><p>Made by seminmf on {text(date)}. Everything on this page is in this "
        "file; it asks for nothing from elsewhere.</p></footer>\n"
        f"{f'<script>{script}</script>' if script else ''}\n</body>\n</html>\n"
    )
