"""The house itself: imports flow one way, importing is light, and nothing prints."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import seminmf

PACKAGE = Path(seminmf.__file__).parent
ROOT = Path(__file__).parents[1]

# From left to right, as the data flow; a module (or package) imports only from what stands before
# it. Names in one entry are independent of each other. What is not listed is a new module, which
# has to be given its place here.
ORDER: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "_types _files _hdf5_apart _memory _once _optional _quiet _sparse _terminal _words",
        "_hdf5",
        "embedding metrics outliers datasets sources",
        "compiled",
        "data",
        "graph",
        "problem",
        "solve",
        "distributed",
        "models",
        "losses penalties",
        "__init__",
        "selection io anndata",
        "experiments",
        "reporting",
        "plotting demo",
        "cli",
        "__main__",
    )
)
# Parts without the compiler: they import compiled code inside functions only.
LIGHT = (
    "problem/losses.py",
    "problem/penalties.py",
    "problem/term.py",
    "losses.py",
    "penalties.py",
)
# The longest a module may be, and the most arguments of a function; a command has one for each
# option that is of no group, and who calls one of the others names what is passed.
MOST_LINES, MOST_ARGUMENTS, MOST_OF_COMMANDS = 400, 10, 11
CALLED_BY_NAMES = {"anndata.py": "factorize", "_read.py": "read_table"}
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


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path, tree: ast.AST | None = None) -> set[tuple[str, ...]]:
    """Modules of the package that a file imports, also inside functions, but not for types.

    Each as the names on the way to it, ("data", "rows"); the last may be that of a thing inside.
    """
    tree = parsed(path) if tree is None else tree
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    here = path.relative_to(PACKAGE).parts
    found: set[tuple[str, ...]] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            ways = [tuple(alias.name.split(".")) for alias in node.names]
            found |= {way[1:] for way in ways if way[0] == "seminmf"}
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level == 0:
                if module[:1] != ("seminmf",):
                    continue
                base = module[1:]
            else:
                base = here[: len(here) - node.level] + module
            found |= {(*base, alias.name) for alias in node.names}
    return found


def imports(path: Path) -> set[str]:
    """The modules, or packages directly under `seminmf`, that a file imports."""
    modules = {unit(file) for file in sources()}
    return {way[0] if way and way[0] in modules else "__init__" for way in imported(path)}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_flow_one_way(path: Path) -> None:
    here = unit(path)
    for name in imports(path) - {here}:
        assert place(name) < place(here), f"{here} must not import {name}"


def test_the_reader_of_imports_reads() -> None:
    assert {"data", "graph", "problem", "_types"} <= imports(PACKAGE / "solve" / "factorize.py")
    assert "solve" in imports(PACKAGE / "solve" / "factorize.py")
    assert "_types" in imports(PACKAGE / "data" / "engine.py")
    assert "compiled" in imports(PACKAGE / "data" / "engine.py")
    assert ("compiled", "jit", "inner") in imported(PACKAGE / "compiled" / "codes.py")
    factorization = PACKAGE / "models" / "factorization.py"
    assert ("models", "training", "train") in imported(factorization)
    assert ("solve", "loop", "Callback") not in imported(factorization)  # for types only


def test_every_package_has_its_place() -> None:
    named = set().union(*ORDER)
    here = {unit(path) for path in sources()}
    assert here == named


def test_nothing_imports_in_a_circle() -> None:
    """Not even inside of a package, when modules are loaded."""
    modules = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in sources()}
    following: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for name, path in modules.items():
        tree = parsed(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                node.body = []  # loaded later
        ways = imported(path, tree)
        following[name] = {part for way in ways for part in (way, way[:-1]) if part in modules}
    done: set[tuple[str, ...]] = set()

    def visit(name: tuple[str, ...], before: tuple[tuple[str, ...], ...]) -> None:
        assert name not in before, " → ".join(".".join(part) for part in (*before, name))
        if name not in done:
            for other in following[name]:
                visit(other, (*before, name))
            done.add(name)

    for name in modules:
        visit(name, ())


def test_no_property_has_a_lock_for_all_objects() -> None:
    """As those of `functools` have one in Python 3.11; ours are in `_once`."""
    assert not [path for path in sources() if "import cached_property" in path.read_text("utf-8")]


# --- inside of compiled ---------------------------------------------------------------------------

COMPILED = [path for path in sources() if unit(path) == "compiled"]
every_source = pytest.mark.parametrize(
    "path", sources(), ids=lambda path: str(path.relative_to(PACKAGE))
)
every_compiled = pytest.mark.parametrize(
    "path", COMPILED, ids=lambda path: str(path.relative_to(PACKAGE))
)


@every_compiled
def test_vector_code_knows_nothing_of_the_rest(path: Path) -> None:
    below = path.relative_to(PACKAGE / "compiled")
    ways = imported(path)
    if below.parts[0] == "simd":
        known = {way[:2] if way[1] == "jit" else way[:3] for way in ways}
        assert known <= {("compiled", "simd", "lanes"), ("compiled", "jit")}
    if below.name == "jit.py":
        assert not ways


@every_source
def test_vector_code_is_sealed(path: Path) -> None:
    """Who is outside of `compiled` does not know about lanes and tiles."""
    if unit(path) != "compiled":
        assert not {way for way in imported(path) if way[:2] == ("compiled", "simd")}


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef)]


@every_source
def test_no_function_takes_more_than_a_few_arguments(path: Path) -> None:
    most = MOST_OF_COMMANDS if unit(path) == "cli" else MOST_ARGUMENTS
    for function in functions(path):
        given = function.args
        count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
        by_names = CALLED_BY_NAMES.get(path.name) == function.name and len(given.args) < 3
        assert by_names or count <= most, f"{function.name} takes {count} arguments"


@every_source
def test_modules_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


# --- who reads entries of X -----------------------------------------------------------------------

# What the samples of a fit, or new ones, may be given to in `solve` and `problem`: an engine, those
# who look for equal or near samples, and questions about how they are stored.
TAKERS = {
    "Engine", "known", "query", "issparse", "csr_array", "transform", "_solve", "place", "divided",
    "_near_the_middle", "distances_from_middle", "Errors", "from_means", "nearest", "_neighbours",
    "held_out", "by_parts", "_by_neighbours", "spoilt_copies", "in_parts", "stored_like",
}  # fmt: skip
SAMPLES = {"X", "training"}


def is_samples(node: Any) -> bool:
    """The name X, or an attribute that holds samples, as ``self.training``."""
    return (isinstance(node, ast.Name) and node.id in SAMPLES) or (
        isinstance(node, ast.Attribute) and node.attr in SAMPLES
    )


def readers(source: str) -> list[str]:
    """Places where entries of X are, or may be, read."""
    tree = ast.parse(source)
    # What is told of samples without their entries, and what hands them on as they are.
    allowed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype"):
            allowed.add(id(node.value))
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in TAKERS:
                for given in node.args:
                    allowed.add(id(given))
                    # Whole samples of a list of numbers, and not a row, an entry or a slice.
                    if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Name):
                        allowed.add(id(given.value))
            if name == "toarray" and isinstance(node.func, ast.Attribute) and not node.args:
                allowed.add(id(node.func.value))
    found = []
    for node in ast.walk(tree):
        inside = isinstance(node, ast.Attribute) and node.attr in ("storage", "dense")
        used = is_samples(node) and isinstance(node.ctx, ast.Load) and id(node) not in allowed
        if inside or used:
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize(
    "line",
    [
        "engine.storage.X[0]", "engine.storage", "visited.dense()", "X @ U", "X[0, 1]", "X[0]",
        "X[:5]", "X.T", "X.sum()", "X * 2", "np.dot(X, U)", "np.linalg.norm(X)", "Y = X", "f(X)",
        "X.data", "X[new].sum()", "for x in X: pass", "Engine(X[0], 3)", "Engine(X * 2, 3)",
        "self.training @ U", "norms = (X**2).sum(axis=1)", "Engine(X[:, rows], 3)",
    ],
)  # fmt: skip
def test_readers_of_entries_are_found(line: str) -> None:
    assert readers(line)


@pytest.mark.parametrize(
    "line",
    [
        "Engine(X, k)", "X.shape[0]", "X.dtype", "index.known(X)",
        "self._solve(X[new], links)", "def f(X: Any) -> None: ...", "sp.issparse(X)",
        "X = X.toarray() if sp.issparse(X) else sp.csr_array(X)",
    ],
)  # fmt: skip
def test_who_only_hands_samples_on_is_no_reader(line: str) -> None:
    assert not readers(line)


@every_source
def test_nobody_outside_of_data_reads_entries_of_x(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if unit(path) in ("solve", "problem"):
        assert not readers(source)
    elif unit(path) not in ("data", "cli"):
        owners = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
        assert not [node.lineno for node in owners if node.attr == "storage"]


# --- importing, printing --------------------------------------------------------------------------


@every_source
def test_nothing_prints(path: Path) -> None:
    if unit(path) in SPEAKING:
        pytest.skip("talks to a person")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


def test_importing_loads_no_compiler() -> None:
    code = (
        "import sys, seminmf, seminmf.metrics, seminmf.datasets\n"
        "import seminmf.losses, seminmf.penalties, seminmf.problem.losses\n"
        "import seminmf.problem.penalties, seminmf.problem.term\n"
        "from seminmf import NMF, SemiNMF, GraphSemiNMF, L21SemiNMF, RobustSemiNMF\n"
        "from seminmf import FactorKMeans, Standardized\n"
        "for model in (NMF, SemiNMF, GraphSemiNMF, L21SemiNMF, RobustSemiNMF):\n"
        "    repr(model(3))\n"
        "FactorKMeans(Standardized(RobustSemiNMF(3, loss=seminmf.losses.Huber(2.0))))\n"
        "seminmf.penalties.L1(0.1)\n"
        "heavy = {'numba', 'llvmlite', 'matplotlib', 'pooch'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("name", LIGHT)
def test_parts_load_no_compiled_code_with_themselves(name: str) -> None:
    tree = parsed(PACKAGE / name)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = []
    assert not {way for way in imported(PACKAGE / name, tree) if way[0] == "compiled"}


@pytest.mark.parametrize("name", ["losses.py", "penalties.py"])
def test_public_modules_of_parts_have_nothing_of_their_own(name: str) -> None:
    kinds = {type(node) for node in parsed(PACKAGE / name).body}
    assert kinds <= {ast.Expr, ast.ImportFrom, ast.Assign}
    module = importlib.import_module(f"seminmf.{name[:-3]}")
    for thing in module.__all__:
        assert getattr(module, thing).__doc__


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
    assert set(seminmf.__all__) >= {
        "NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF", "RobustSemiNMF", "FactorKMeans"
    }  # fmt: skip
    for name in seminmf.__all__:
        assert getattr(seminmf, name).__doc__


def test_contributing_says_the_same() -> None:
    """The order of the packages, and that the files it names are there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chain = re.search(r"^`compiled`[^|#]*?`cli`$", text, flags=re.MULTILINE)
    assert chain is not None
    named = [re.findall(r"`(\w+)`", group) for group in chain[0].split("→")]
    places = [[place(name) for name in group] for group in named]
    assert all(len(set(group)) == 1 for group in places)
    assert places == sorted(places)
    assert {"data", "graph", "problem", "solve", "models"} <= {n for group in named for n in group}
    for name in re.findall(r"`([\w/]+/|[\w/]+/\w+\.\w+)`", text):
        inside = list(PACKAGE.rglob(name.rstrip("/")))
        assert inside or (ROOT / name).exists(), f"{name} is not there"
