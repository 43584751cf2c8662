"""The page about the command line says what happens: its commands are run, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seminmf import cli

PAGE = Path(__file__).parent.parent / "docs" / "command-line.md"
pytest.importorskip("pandas")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Each command on the page with the output shown below it."""
    found = []
    for block in blocks("console"):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = piece.partition("\n")
            found.append((command, shown))
    return found


def masked(text: str) -> str:
    """Numbers may differ between machines, the words may not."""
    return re.sub(r"\d[\d,.]*", "#", " ".join(text.split()))


def test_every_command_is_on_the_page() -> None:
    shown = {shlex.split(command)[1] for command, _ in commands()}
    names = {info.name or info.callback.__name__ for info in cli.app.registered_commands}  # type: ignore[union-attr]
    assert shown == names | {"datasets"}


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEMINMF_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    making, loading = blocks("python")
    exec(compile(making, "command-line.md", "exec"), {})
    for command, shown in commands():
        _, *words = shlex.split(command)
        result = CliRunner().invoke(cli.app, words)
        assert result.exit_code == (2 if shown.startswith("Error") else 0), result.output
        assert masked(result.output) == masked(shown), command
    exec(compile(loading, "command-line.md", "exec"), {})
