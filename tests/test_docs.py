"""Examples do not rot: scripts of the gallery, blocks of code on the pages, docstrings."""

from __future__ import annotations

import doctest
import importlib
import re
import runpy
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
import pytest

import seminmf

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "index",
            "start",
            "models",
            "numbers",
            "page",
            "scaling",
            "streams",
            "how-many",
            "outliers",
            "loss",
            "penalty",
        )
    ),
)
PUBLIC = (
    "seminmf.anndata",
    "seminmf.models.clustering",
    "seminmf.models.estimators",
    "seminmf.losses",
    "seminmf.metrics",
    "seminmf.penalties",
    "seminmf.plotting",
    "seminmf.selection.components",
    "seminmf.selection.path",
    "seminmf.selection.selector",
    "seminmf.selection.stability",
    "seminmf.sources",
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """No windows, and files only where they do no harm."""
    monkeypatch.setattr(plt, "show", lambda *a, **k: None)
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_prints_and_draws(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert figures
    assert all(figure.axes for figure in figures)


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_code_run(page: str) -> None:
    found = blocks(page)
    assert found
    # As a module of its own, because dataclasses look for the module that they are defined in.
    space: dict[str, Any] = {"__name__": "seminmf"}
    for block in found:
        exec(compile(block, page, "exec"), space)  # the project's own pages


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_of_public_modules(name: str) -> None:
    module = importlib.import_module(name)
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    "name", ["NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF", "RobustSemiNMF", "FactorKMeans"]
)
def test_estimators_have_an_example(name: str) -> None:
    assert f">>> from seminmf import {name}" in getattr(seminmf, name).__doc__


def public_names(module: ModuleType) -> set[str]:
    return {f"{module.__name__}.{name}" for name in module.__all__}


def test_the_api_page_has_every_public_name() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed: set[str] = set()
    module = ""
    for line in text.splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.fullmatch(r"   (\w+)", line):
            listed.add(f"{module}.{match[1]}")
    names = (
        "seminmf",
        *(
            f"seminmf.{name}"
            for name in (
                "anndata", "datasets", "io", "losses", "metrics", "penalties", "plotting",
                "selection", "sources",
            )
        ),
    )  # fmt: skip
    public = set().union(*(public_names(importlib.import_module(name)) for name in names))
    assert listed == public
