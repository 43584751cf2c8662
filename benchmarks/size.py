"""How large the package is, by its parts: ``python -m benchmarks.size [SRC]``.

SRC is the folder ``src/seminmf`` of any checkout; without it that of this one. Lines are those of
the files; code is what is left without blank lines, comments and docstrings. The core is all but
what reads, talks, draws and tells.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

AROUND = {"io", "cli", "reporting", "plotting", "datasets", "experiments"}
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


def sizes(root: Path) -> tuple[Counter[str], Counter[str]]:
    """Lines, and lines of code, of each package; modules of the root are one of them."""
    lines: Counter[str] = Counter()
    code: Counter[str] = Counter()
    for path in sorted(root.rglob("*.py")):
        parts, text = path.relative_to(root).parts, path.read_text(encoding="utf-8")
        package = parts[0] if len(parts) > 1 else "(root)"
        lines[package] += len(text.splitlines())
        code[package] += code_lines(text)
    return lines, code


def main() -> None:
    here = Path(__file__).parents[1] / "src" / "seminmf"
    lines, code = sizes(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
    core = sorted(set(lines) - AROUND)
    print(f"{'package':<14}{'lines':>8}{'code':>8}")
    for package in [*core, *sorted(AROUND & set(lines))]:
        print(f"{package:<14}{lines[package]:>8,}{code[package]:>8,}")
    for name, packages in (("core", core), ("all", list(lines))):
        total = (sum(counts[package] for package in packages) for counts in (lines, code))
        print(f"{name:<14}" + "".join(f"{number:>8,}" for number in total))


if __name__ == "__main__":
    main()
