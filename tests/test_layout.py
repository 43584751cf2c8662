"""The house itself: imports flow one way, importing is light, and nothing prints."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import seminmf

PACKAGE = Path(seminmf.__file__).parent

# From left to right, as the data flow; a module (or package) imports only from what stands before
# it. Names in one entry are independent of each other. What is not listed is a new module, which
# has to be given its place here.
ORDER: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "_types _files",
        "_display _docs _validation embedding objective strength metrics datasets refinement",
        "_container",
        "persistence",
        "_compile lanes samples",
        "vectors tiles ledger",
        "kernels graph_kernels projection_kernels",
        "fused start_kernels cutting",
        "engines",
        "graph updates",
        "fused_step",
        "projection descent",
        "solver",
        "init stationarity",
        "factorize",
        "training",
        "estimators",
        "clustering preparation",
        "__init__",
        "selection io anndata",
        "experiments",
        "reporting",
        "plotting demo",
        "cli",
        "__main__",
    )
)
# Those that talk to a person on a terminal.
SPEAKING = ("cli", "demo", "__main__")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def unit(path: Path) -> str:
    """The module, or the package directly under `seminmf`, that a file belongs to."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def place(name: str) -> int:
    for index, names in enumerate(ORDER):
        if name in names:
            return index
    raise AssertionError(f"seminmf.{name} has no place in the order of tests/test_layout.py")


def imports(path: Path) -> set[str]:
    """Modules of the package that a file imports, also inside functions, but not for types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    depth = len(path.relative_to(PACKAGE).parts)
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "seminmf":
                    found.add(parts[1] if len(parts) > 1 else "__init__")
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level == 0 and module.split(".")[0] == "seminmf":
                rest = module.split(".")[1:]
            elif node.level == depth:
                rest = module.split(".") if module else []
            else:
                continue  # another package, or a neighbour inside the same one
            if rest:
                found.add(rest[0])
            else:
                names = {alias.name for alias in node.names}
                modules = {unit(file) for file in sources()}
                found |= {name if name in modules else "__init__" for name in names}
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_flow_one_way(path: Path) -> None:
    here = unit(path)
    for name in imports(path) - {here}:
        assert place(name) < place(here), f"{here} must not import {name}"


def test_the_reader_of_imports_reads() -> None:
    assert {"solver", "descent", "engines", "graph", "objective"} <= imports(
        PACKAGE / "factorize.py"
    )
    assert "_types" in imports(PACKAGE / "engines" / "memory.py")
    assert "training" in imports(PACKAGE / "estimators.py")
    assert "solver" not in imports(PACKAGE / "estimators.py")  # for types only


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_prints(path: Path) -> None:
    if unit(path) in SPEAKING:
        pytest.skip("talks to a person")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


def test_importing_loads_no_compiler() -> None:
    code = (
        "import sys, seminmf, seminmf.metrics, seminmf.datasets\n"
        "seminmf.L21SemiNMF(3)\n"
        "heavy = {'numba', 'llvmlite', 'matplotlib', 'pooch'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_cache_that_cannot_be_written_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    from seminmf.compiled import jit as _compile

    def njit(cache: bool = False, **options: object) -> object:
        if cache:
            raise RuntimeError("no locator available")
        return lambda function: function

    monkeypatch.setattr(_compile, "njit", njit)
    with pytest.warns(RuntimeWarning, match=r"no locator available.*NUMBA_CACHE_DIR"):
        assert _compile.compiled(len) is len


def test_public_names() -> None:
    assert set(seminmf.__all__) >= {"NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF", "FactorKMeans"}
    for name in seminmf.__all__:
        assert getattr(seminmf, name).__doc__
