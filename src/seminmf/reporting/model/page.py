"""The whole page: one file, which asks for nothing and lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

from .findings import Findings
from .markup import count, percent, plain, short, text
from .sections import sections

__all__ = ["compose", "default_title", "summary"]


@cache
def _asset(name: str) -> str:
    """A file of the folder ``assets``."""
    return files("seminmf.reporting").joinpath("assets", name).read_text(encoding="utf-8")


def _fingerprint(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _policy(style: str, script: str) -> str:
    """Only this style and this script, images that are in the page, and no request at all."""
    return (
        f"default-src 'none'; script-src {_fingerprint(script)}; "
        f"style-src {_fingerprint(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def default_title(found: Findings) -> str:
    return (
        f"What {type(found.subject.factorizer).__name__} found in {count(found.shape[0])} samples"
    )


def summary(found: Findings) -> str:
    """What was done, in two sentences."""
    n, m, k = found.shape
    fitted = found.subject.factorizer
    steps = f"{count(fitted.n_iter_)} iteration{'s' if fitted.n_iter_ != 1 else ''}"
    how = (
        f"converged after {steps}" if fitted.converged_ else f"stopped after {steps}, not converged"
    )
    parts = f"{count(k)} part{'s' if k != 1 else ''}"
    explained = percent(found.explained_inside)
    without = " of the samples that are no outliers" if found.outliers.count else ""
    first = (
        f"{type(fitted).__name__} wrote {count(n)} samples of {count(m)} "
        f"feature{'s' if m != 1 else ''} as sums of {parts}; it {how} and explains {explained} "
        f"of the sum of squares{without}."
    )
    clusters = len(found.clusters)
    groups = f"{count(clusters)} cluster{'s' if clusters != 1 else ''}"
    share = percent(found.outliers.count / n, 1)
    if found.outliers.count:
        are = "is an outlier" if found.outliers.count == 1 else "are outliers"
        second = f"{count(found.outliers.count)} samples ({share}) {are}"
        second = second.replace("samples", "sample") if found.outliers.count == 1 else second
    else:
        second = "No sample is an outlier"
    return (
        f"{first} {second}; the codes of the others form {groups}."
        if (found.outliers.count)
        else f"{first} {second}; the codes form {groups}."
    )


def _tiles(found: Findings) -> str:
    n, m, k = found.shape
    fitted = found.subject.factorizer
    tiles = [
        ("samples", count(n), f"{count(m)} features"),
        ("parts", count(k), f"{count(len(found.clusters))} clusters"),
        (
            "explained",
            percent(found.explained_inside),
            f"{percent(found.explained)} with outliers" if found.outliers.count else "of squares",
        ),
        (
            "outliers",
            count(found.outliers.count),
            f"{percent(found.outliers.count / n, 1)} of samples",
        ),
        (
            "iterations",
            count(fitted.n_iter_),
            "converged" if fitted.converged_ else "not converged",
        ),
    ]
    if found.agreement is not None:
        tiles.append(("agreement", percent(found.agreement.accuracy_inside), "with the labels"))
    return (
        '<dl class="tiles">'
        + "".join(
            f"<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>"
            for name, value, note in tiles
        )
        + "</dl>\n"
    )


def compose(found: Findings, title: str | None = None, when: datetime | None = None) -> str:
    """The report as HTML; the same findings, title and date give the same text."""
    style, script = _asset("report.css"), _asset("report.js")
    heading = plain(title) if title is not None else default_title(found)
    date = (when or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M %Z").strip()
    made = sections(found)
    links = "".join(f'<li><a href="#{name}">{name_}</a></li>' for name, name_, _ in made)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{title_}</h2>\n{content}</section>\n'
        for name, title_, content in made
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{text(short(heading, 120))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n'
        f'<header>\n<div class="top"><p class="eyebrow">seminmf · model report</p>'
        '<button type="button" id="theme" hidden>Dark</button></div>\n'
        f"<h1><bdi>{text(heading)}</bdi></h1>\n"
        f'<p class="summary">{text(summary(found))}</p>\n{_tiles(found)}'
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n</header>\n'
        '<noscript><p class="note">Without scripts the page is complete but for the tooltips of '
        "the map.</p></noscript>\n"
        f'<main id="content">\n{body}</main>\n'
        f"<footer><p>Made by seminmf on {text(date)}. Everything on this page is in this "
        "file; it asks for nothing from elsewhere.</p></footer>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
