"""How large the package is, by its parts: ``python -m benchmarks.size [SRC]``.

SRC is the folder ``src/seminmf`` of any checkout; without it that of this one. Lines are those of
the files; code is what is left without blank lines, comments and docstrings. The core is all but
what reads, talks, draws and tells. What commit 9b0fcd6, before the redesign, could not do is told
apart as far as it has modules of its own; what it takes in others counts with those.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

AROUND = {"io", "cli", "reporting", "plotting", "datasets", "experiments"}
# Modules of what the core can do since 9b0fcd6, which had 8,087 lines.
SINCE = {
    "larger than memory": ("sources/*", "data/stream.py"),
    "several machines": ("distributed/*", "models/distributed.py"),
    "selection, certificates": ("selection/*", "models/certificate.py"),
    "outliers": (
        "outliers.py", "models/outliers.py", "solve/outliers.py", "solve/held_out.py",
        "solve/spread.py", "data/distances.py",
    ),
    "batches": ("solve/streams.py", "models/streaming.py"),
    "checkpoints": ("solve/checkpoint.py", "models/resuming.py"),
    "search by cells": ("graph/approximate.py", "graph/cells.py", "compiled/neighbours.py"),
    "losses and penalties": (
        "losses.py", "penalties.py", "problem/term.py", "problem/penalties.py",
        "compiled/measures.py",
    ),
    "gaps, units, progress": ("models/gaps.py", "data/units.py", "models/watching.py"),
}  # fmt: skip
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text: str) -> int:
    """Lines that have something of code in them."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if told and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def sizes(root: Path) -> dict[str, tuple[int, int]]:
    """Lines, and lines of code, of each module."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found[path.relative_to(root).as_posix()] = len(text.splitlines()), code_lines(text)
    return found


def package_of(module: str) -> str:
    """Modules of the root are one package."""
    return module.split("/")[0] if "/" in module else "(root)"


def told(name: str, counts: Iterable[tuple[int, int]]) -> str:
    lines, code = map(sum, zip(*[*counts, (0, 0)], strict=True))
    return f"{name:<24}{lines:>8,}{code:>8,}"


def main() -> None:
    here = Path(__file__).parents[1] / "src" / "seminmf"
    found = sizes(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
    core = {module: count for module, count in found.items() if package_of(module) not in AROUND}
    print(f"{'package':<24}{'lines':>8}{'code':>8}")
    packages = {package_of(module) for module in found}
    for package in [*sorted(packages - AROUND), *sorted(AROUND & packages)]:
        print(told(package, (n for module, n in found.items() if package_of(module) == package)))
    print(told("core", core.values()))
    print(told("all", found.values()))
    left = dict(core)
    print("\nof the core, since 9b0fcd6")
    for name, patterns in SINCE.items():
        own = [m for m in core if any(fnmatch(m, pattern) for pattern in patterns)]
        print(told(name, (left.pop(module) for module in own)))
    print(told("what it did before", left.values()))


if __name__ == "__main__":
    main()
