"""Compiled code on disk: where it cannot be kept, and when it is made again."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest

from seminmf.compiled import announce
from seminmf.compiled import jit as _compile


def test_without_a_cache_folder_it_warns_and_works(monkeypatch: pytest.MonkeyPatch) -> None:
    real = _compile.njit

    def refusing(cache: bool = False, **options: Any) -> Callable[..., Any]:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(_compile, "njit", refusing)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        double = _compile.compiled(lambda x: 2 * x)
    assert double(21) == 42


def test_kept_code_is_made_again_when_a_file_it_calls_has_changed(tmp_path: Path) -> None:
    """Numba alone would go on with the sum of before."""
    package = tmp_path / "package"
    package.mkdir()
    source = Path(_compile.__file__).read_text(encoding="utf-8")
    (package / "_compile.py").write_text(source, encoding="utf-8")
    (package / "__init__.py").touch()
    caller = "from ._compile import compiled\nfrom .vectors import add\n\n"
    caller += "@compiled\ndef twice(x):\n    return 2 * add(x)\n"
    (package / "kernels.py").write_text(caller, encoding="utf-8")
    answers = []
    for number in (1, 100):
        called = "from ._compile import compiled\n\n@compiled\ndef add(x):\n"
        called += f"    return x + {number}\n"
        (package / "vectors.py").write_text(called, encoding="utf-8")
        for _ in range(2):
            run = subprocess.run(
                [sys.executable, "-c", "from package.kernels import twice; print(twice(20))"],
                cwd=tmp_path, capture_output=True, text=True, check=True,
                env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            )  # fmt: skip
            answers.append(int(run.stdout))
    assert answers == [42, 42, 240, 240]


def test_who_waits_for_the_compiler_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After two seconds of compiling our functions, nested or not; never for those of others."""
    clock = [0.0]
    monkeypatch.setattr(announce, "perf_counter", lambda: clock[0])

    def happening(module: str) -> Any:
        function = SimpleNamespace(__module__=module)
        return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})

    def compiles(module: str, seconds: float) -> None:
        listener.on_start(happening(module))
        clock[0] += seconds
        listener.on_end(happening(module))

    listener = announce._Announcer()
    compiles("somebody.else", 60)
    compiles("seminmf.compiled.codes", 1.5)
    assert not caplog.records
    listener.on_start(happening("seminmf.compiled.iteration"))
    compiles("seminmf.compiled.loops", 0.6)
    assert len(caplog.records) == 1
    assert "compiles its numerical core" in caplog.text
    listener.on_end(happening("seminmf.compiled.iteration"))
    compiles("seminmf.compiled.codes", 9)
    assert len(caplog.records) == 1


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Compile a function, or take it from the folder ``cache``; how often it was there."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    script = tmp_path / "script.py"
    script.write_text("def twice(x):\n    return 2 * x\n", encoding="utf-8")

    def made() -> int:
        function = _compile.compiled(runpy.run_path(str(script))["twice"])
        assert function(21) == 42
        return sum(function.stats.cache_hits.values())

    return made


def test_damaged_code_is_made_again(tmp_path: Path, kept: Callable[[], int]) -> None:
    """Index and machine code, changed in any byte or cut: Numba alone would fail or run it."""
    assert [kept(), kept()] == [0, 1]
    for suffix in ("nbi", "nbc"):
        (file,) = (tmp_path / "cache").rglob(f"*.{suffix}")
        whole = file.read_bytes()
        for place in range(0, len(whole), len(whole) // 20):
            changed = bytearray(whole)
            changed[place] ^= 255
            file.write_bytes(changed)
            hits = kept()
            assert suffix == "nbi" or hits == 0
        for length in range(0, len(whole), len(whole) // 5):
            file.write_bytes(whole[:length])
            assert kept() == 0
        assert kept() == 1


def test_a_cache_that_cannot_be_written_warns_and_works(
    tmp_path: Path, kept: Callable[[], int]
) -> None:
    """Folders are where files ought to be, which stops root as well."""
    kept()
    for file in list((tmp_path / "cache").rglob("*.nb?")):
        file.unlink()
        file.mkdir()
    with pytest.warns(RuntimeWarning, match="cannot be kept on disk .*NUMBA_CACHE_DIR"):
        assert kept() == 0
