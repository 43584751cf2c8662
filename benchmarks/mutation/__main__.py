"""Break, test, restore: in copies of the tree, with machine code of their own."""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from .mutants import MUTANTS, TESTS, Mutant

HERE = Path(__file__).parents[2]
ROWS = HERE / "docs" / "mutation.csv"
# A mutant that makes tests run for ever is caught too.
SECONDS = 600
_WRITING = Lock()


def check_texts(root: Path = HERE) -> list[str]:
    """What is wrong with the list: texts that are not there once, tests that are not known."""
    wrong = []
    for mutant in MUTANTS:
        text = (root / "src/seminmf" / mutant.file).read_text(encoding="utf-8")
        if text.count(mutant.before) != 1:
            wrong.append(f"{mutant.name}: its text is {text.count(mutant.before)} times there")
        if mutant.tests not in TESTS:
            wrong.append(f"{mutant.name}: there are no tests {mutant.tests!r}")
    if len({mutant.name for mutant in MUTANTS}) < len(MUTANTS):
        wrong.append("a name is there twice")
    return wrong


def copy_of_the_tree(folder: Path) -> Path:
    for name in ("src", "tests"):
        shutil.copytree(HERE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(HERE / "pyproject.toml", folder)
    return folder


def run_tests(tree: Path, mutant: Mutant) -> tuple[bool, str]:
    """Whether tests fail, and their last words."""
    file, selection = TESTS[mutant.tests]
    # Broken machine code is not kept in the place of the right one.
    cache = tree / ("broken" if mutant.file.startswith("compiled/") else "cache")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=line",
               f"tests/{file}", *(["-k", selection] if selection else [])]  # fmt: skip
    environment = {
        **os.environ, "PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    try:
        # In a session of its own, to which the system gives its own share of the processors.
        run = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS,
            start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True, f"more than {SECONDS} s"
    if run.returncode in (2, 3, 4, 5):
        raise RuntimeError(
            f"{mutant.tests}: no tests were run: {run.stdout[-500:]}{run.stderr[-500:]}"
        )
    words = [line for line in run.stdout.splitlines() if line.strip()]
    return run.returncode != 0, words[-1] if words else f"ended with {run.returncode}"


def outcome(mutant: Mutant, tree: Path) -> tuple[str, str]:
    """``caught``, ``equivalent`` or ``survived``, and the last words of the tests."""
    file = tree / "src/seminmf" / mutant.file
    whole, times = file.read_text(encoding="utf-8"), file.stat()
    try:
        file.write_text(whole.replace(mutant.before, mutant.after), encoding="utf-8")
        failed, words = run_tests(tree, mutant)
    finally:
        file.write_text(whole, encoding="utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    if failed:
        return "caught", words
    return "equivalent" if mutant.equivalent else "survived", words


def write(new: dict[str, dict[str, str]]) -> None:
    """Rows of mutants that are no longer in the list go, others stay until they are made again."""
    with _WRITING:
        known: dict[str, dict[str, str]] = {}
        if ROWS.exists():
            with ROWS.open(newline="", encoding="utf-8") as stream:
                known = {row["name"]: row for row in csv.DictReader(stream)}
        known |= new
        with ROWS.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(next(iter(new.values()))), lineterminator="\n")
            writer.writeheader()
            writer.writerows(known[m.name] for m in MUTANTS if m.name in known)


def _by_part(mutants: list[Mutant]) -> tuple[list[Mutant], list[Mutant]]:
    compiled = [mutant for mutant in mutants if mutant.file.startswith("compiled/")]
    return compiled, [mutant for mutant in mutants if mutant not in compiled]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="all by default")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if wrong := check_texts():
        sys.exit("\n".join(wrong))
    chosen = [m for m in MUTANTS if not arguments.names or m.name in arguments.names]
    # Those of each kind in turns: the ones compile, which takes long, the others do not.
    chosen = [m for pair in zip_longest(*_by_part(chosen)) for m in pair if m is not None]
    rows: dict[str, dict[str, str]] = {}
    trees: SimpleQueue[Path] = SimpleQueue()

    def one(mutant: Mutant) -> None:
        tree = trees.get()
        try:
            found, words = outcome(mutant, tree)
        finally:
            trees.put(tree)
        rows[mutant.name] = {
            "name": mutant.name, "file": mutant.file, "tests": mutant.tests, "outcome": found,
            "reason": mutant.equivalent if found == "equivalent" else "",
        }  # fmt: skip
        write(rows)
        print(f"{len(rows):3} {found:10} {mutant.name} ({mutant.file}): {words[:100]}", flush=True)

    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(arguments.workers) as pool:
        for number in range(arguments.workers):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            trees.put(copy_of_the_tree(folder))
        list(pool.map(one, chosen))
    survived = [name for name, row in rows.items() if row["outcome"] == "survived"]
    sys.exit("Nobody noticed: " + ", ".join(survived) if survived else 0)


if __name__ == "__main__":
    main()
