"""The results page: verdicts, tables, figures; from made rows and from the committed ones."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seminmf.experiments import Run, Size, names, plan, read_rows
from seminmf.experiments.models import GR_PAIRS
from seminmf.experiments.paper import DATASETS, paper_table
from seminmf.reporting import results_document, write_results
from seminmf.reporting.document import Cell, Document, Drawing, Section, Table
from seminmf.reporting.html import to_html
from seminmf.reporting.markdown import to_markdown
from seminmf.reporting.page import REASONS
from seminmf.reporting.style import DARK, LIGHT
from seminmf.reporting.summary import Comparison, Spread, best_pair, curve, group, select, spread
from seminmf.reporting.tables import outside, performance_table

COMMITTED = Path(__file__).parents[1] / "results"


def made_rows(name: str) -> list[dict[str, Any]]:
    """Rows as the experiment would write them, with invented results."""
    rng = np.random.default_rng(len(name))
    rows = []
    for run in plan([name], Size(runs=2, quick=True)):
        fixed = {"experiment": name, **run.parameters, "run": run.number, "seconds": 0.1}
        scores = {"ACC": rng.uniform(50, 90), "NMI": rng.uniform(20, 70), "J": 10.0}
        if run.task == "cluster":
            pair = {"alpha": 0.0, "beta": 0.0} | dict(run.parameters)
            rows.append({**fixed, **pair, **scores, "clean_error": 0.5})
        elif run.task == "reconstruct":
            pixels = [rng.integers(0, 256, 256, dtype=np.uint8).tobytes().hex() for _ in range(15)]
            rows += [
                {**fixed, "image": i, "digit": i % 10, "pixels": p} for i, p in enumerate(pixels)
            ]
        elif run.task == "half-steps":
            rises = {"basis_rises": 0, "codes_rises": 2, "rises": 0, "largest_codes_rise": 1e-4}
            rows.append({**fixed, **rises, "n_iter": 8, "J": 10.0})
        else:
            rows += [
                {**fixed, "iteration": i, "J": 10 / i, "relative_error": 1 / i, "elapsed": 0.1 * i,
                 "exact_samples": i, "largest_rise": 0.0, "ACC": 60.0, "NMI": 50.0}
                for i in (1, 2, 3)
            ]  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def document() -> Document:
    return results_document({name: made_rows(name) for name in names()})


class Checker(HTMLParser):
    """Collects what a browser would be asked to load, and checks the nesting."""

    void = frozenset({"meta", "img", "source", "br", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.void:
            self.open.append(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "srcset", "href")
        ]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_html(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert "script" not in checker.tags
    assert all(a.startswith(("data:image/svg+xml", "#")) for a in checker.addresses)
    return checker


# --- summaries -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "sd", "verdict"),
    [(80, 0.1, "within"), (81.5, 0.1, "within"), (81.6, 0.1, "better"), (78.4, 0.1, "outside"),
     (78.4, 1.0, "within"), (77.9, 1.0, "outside"), (82.1, 1.0, "better")],
)  # fmt: skip
def test_verdicts(ours: float, sd: float, verdict: str) -> None:
    assert Comparison(Spread(ours, 0.5, 20), (80.0, sd)).verdict == verdict


def test_spread_and_group() -> None:
    rows = [{"a": 1, "x": 1.0}, {"a": 1, "x": 3.0}, {"a": 0, "x": 5.0}, {"a": 0}]
    found = spread(select(rows, a=1), "x")
    assert found == Spread(2.0, np.sqrt(2.0), 2)
    assert str(found) == "2.00 ± 1.41"
    assert spread(select(rows, a=0), "x") == Spread(5.0, 0.0, 1)
    assert spread([], "x") is None
    assert list(group(rows, "a")) == [(0,), (1,)]


def test_curves_end_where_the_first_run_ends() -> None:
    rows = [{"i": i, "J": float(j)} for i, j in ((1, 4), (1, 2), (2, 2), (2, 0), (3, 1))]
    assert curve(rows, "i", "J") == ([1.0, 2.0], [3.0, 1.0])


def test_best_pair() -> None:
    scores = {(0.1, 1.0): (80, 40), (1.0, 1.0): (79, 45), (10.0, 1.0): (81, 30)}
    rows = [
        {"alpha": a, "beta": b, "ACC": acc, "NMI": nmi} for (a, b), (acc, nmi) in scores.items()
    ]
    assert best_pair(rows) == (1.0, 1.0)
    assert best_pair([]) is None


def test_the_papers_own_numbers_are_within() -> None:
    rows = [
        {"k": k, "model": model, "ACC": acc, "NMI": by_score["NMI"][model][0]}
        for k, by_score in paper_table("waveform").items()
        for model, (acc, _) in by_score["ACC"].items()
    ]
    table = performance_table(rows, "waveform", "same")
    assert len(table.rows) == 12
    assert all([row[6].text, row[10].text] == ["within", "within"] for row in table.rows)
    assert all(row[5].text == "+0.00" for row in table.rows)


# --- pages ---------------------------------------------------------------------------------------


def test_html_from_made_rows(document: Document) -> None:
    checker = check_html(to_html(document))
    drawings = [i for s in document.sections for i in s.items if isinstance(i, Drawing)]
    assert checker.tags.count("img") == len(drawings) >= 14
    assert checker.tags.count("table") >= 12
    anchors = [section.name for section in document.sections]
    assert len(set(anchors)) == len(anchors)


def test_markdown_from_made_rows(document: Document, tmp_path: Path) -> None:
    text = to_markdown(document, tmp_path / "images", "images")
    linked = re.findall(r"\]\(images/([^)]+)\)", text)
    assert sorted(linked) == sorted(path.name for path in (tmp_path / "images").iterdir())
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) >= 12
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_the_page_is_a_function_of_the_rows() -> None:
    rows = {"noise-uspst": made_rows("noise-uspst"), "half-steps": made_rows("half-steps")}
    assert to_html(results_document(rows)) == to_html(results_document(rows))


def test_no_rows_give_an_empty_page(tmp_path: Path) -> None:
    write_results({}, tmp_path / "a" / "page.html")
    checker = check_html((tmp_path / "a" / "page.html").read_text("utf-8"))
    assert "h2" not in checker.tags


def test_text_is_escaped(tmp_path: Path) -> None:
    evil = '<script>alert("1")</script> | *x* [y](z)'
    page = Document(
        evil, [evil], [Section(evil, 'a"b', [evil, Table(evil, [evil], [[Cell(evil)]])])]
    )
    html = to_html(page)
    assert "<script" not in html
    check_html(html)
    text = to_markdown(page, tmp_path, "images")
    assert "<script" not in text.replace("\\<", "")


def test_light_and_dark_differ() -> None:
    rows = made_rows("noise-ionosphere")
    (section,) = results_document({"noise-ionosphere": rows}).sections
    (drawing,) = section.items
    assert isinstance(drawing, Drawing)
    light, dark = drawing.svg(LIGHT), drawing.svg(DARK)
    assert LIGHT.paper.encode() in light
    assert DARK.paper.encode() in dark
    assert LIGHT.ink.encode() not in dark
    assert drawing.svg(LIGHT) is light


def test_without_matplotlib_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    actual = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return actual(name, *args, **kwargs)

    page = results_document({"noise-uspst": made_rows("noise-uspst")})
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"seminmf\[plot\]"):
        to_html(page)


# --- the rows of the full reproduction -----------------------------------------------------------


@pytest.fixture(scope="module")
def committed() -> dict[str, list[dict[str, Any]]]:
    rows = read_rows(COMMITTED) if COMMITTED.is_dir() else {}
    if not rows:
        pytest.skip("the rows of the full reproduction are not in results/")
    return rows


def test_committed_rows_are_complete(committed: dict[str, list[dict[str, Any]]]) -> None:
    """Every run of the full size has left rows."""
    assert set(committed) == set(names())
    for name in names():
        for columns, runs in by_columns(plan([name], Size())).items():
            found = {(*(row.get(c) for c in columns), row["run"]) for row in committed[name]}
            known = {(*(run.parameters[c] for c in columns), run.number) for run in runs}
            assert known <= found, name


def by_columns(runs: list[Run]) -> dict[tuple[str, ...], list[Run]]:
    found: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        found.setdefault(tuple(sorted(run.parameters)), []).append(run)
    return found


def test_committed_rows_agree_with_the_paper(committed: dict[str, list[dict[str, Any]]]) -> None:
    """20 runs of the paper's algorithm; GR SNF alone may be outside, and the page says why."""
    for dataset in DATASETS:
        for solver in ("mu", "cd"):
            rows = select(committed[f"table-{dataset}"], setting="paper", solver=solver)
            assert {len(part) for part in group(rows, "model", "k").values()} == {20}
            found = {model for _, model, _ in outside(rows, dataset)}
            assert solver == "cd" or found <= {"GR SNF"}
            assert all((solver, dataset, model) in REASONS for model in found)


def test_gr_snf_uses_the_pair_that_the_grid_found(
    committed: dict[str, list[dict[str, Any]]],
) -> None:
    for (dataset,), rows in group(committed["grsnf-grid"], "dataset").items():
        assert best_pair(rows) == GR_PAIRS[str(dataset)]


def test_page_from_the_committed_rows(
    committed: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    page = tmp_path / "results.html"
    write_results(committed, page)
    checker = check_html(page.read_text("utf-8"))
    assert checker.tags.count("img") >= 14
    assert page.stat().st_size < 12_000_000
