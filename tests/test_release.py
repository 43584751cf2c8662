"""What a release is made of: one version, a citation, a command, words on the front page."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import seminmf

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_one_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = re.search(r"^version: (\S+)$", citation, flags=re.MULTILINE)
    assert found is not None
    assert found[1] == seminmf.__version__
    assert PROJECT["license"] in citation


def test_the_command_is_there() -> None:
    module, _, name = PROJECT["scripts"]["seminmf"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_front_page_opens_with_install_block_and_picture() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    install = text.index("pip install")
    assert text.index("make demo") < text.index("make test") < install
    block = text.index("```python")
    picture = text.index("![")
    assert install < block < picture < text.index("\n## ")
    assert "In a clone" in text[:install]
    # The block needs nothing from above it.
    code = text[block + 10 : text.index("```", block + 10)]
    assert code.startswith("from seminmf import")
    assert 'pip install "seminmf' not in text  # there is no release yet


def test_every_optional_package_is_pinned() -> None:
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    extras = PROJECT["optional-dependencies"]
    named = {re.match(r"[A-Za-z0-9_.-]+", item)[0] for items in extras.values() for item in items}  # type: ignore[index]
    assert {name.lower().replace("_", "-") for name in named} - {"seminmf"} <= pinned


def test_publishing_is_one_command() -> None:
    """`make publish` builds, checks, and tries what was built in an empty environment before."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = dict(re.findall(r"^(\w+):([^\n]*\n(?:\t[^\n]*\n)*)", makefile, flags=re.MULTILINE))
    assert rules["publish"].split()[0] == "dist"
    steps = ["-m build", "twine check --strict", "venv", "pip install", "seminmf demo"]
    places = [rules["dist"].index(step) for step in steps]
    assert places == sorted(places)
    assert "twine upload" in rules["publish"]
