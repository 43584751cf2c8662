"""Versions to test with: the lowest that pyproject allows, and the newest there are.

    python tests/environments.py lowest     # writes constraints/lowest.txt from pyproject.toml
    python tests/environments.py newest     # writes constraints/newest-3.x.txt: what is installed
    python tests/environments.py run NAME [options of pytest] [files]

`make test-lowest`, `make test-newest` and `make test-generic` call it. The lowest versions are
pinned for what pyproject names itself; what these need in turn is left to pip. ``run`` goes through
the tests with the Python that it is run by, each file in a process of its own, so that one that
crashes is a failure like others, and writes a row of ``docs/tested.csv``.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parents[1]
FOLDER = HERE / "constraints"
LOWEST = FOLDER / "lowest.txt"
TESTED = HERE / "docs" / "tested.csv"
COLUMNS = ("environment", "python", "versions", "passed", "failed", "skipped", "what failed",
           "commit", "date")  # fmt: skip
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,]+)\])?(>=(?P<lowest>[\w.]+))?")


def requirements(project: dict[str, object], extra: str | None = None) -> Iterator[tuple[str, str]]:
    """Names and lowest versions that the package, or one of its extras, asks for."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    for text in project["dependencies"] if extra is None else extras[extra]:  # type: ignore[attr-defined]
        found = _REQUIREMENT.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not of the form name>=version")
        if found["name"] != project["name"]:
            yield found["name"], found["lowest"]
            continue
        for other in found["extras"].split(","):
            yield from requirements(project, other)


def lowest(pyproject: Path = HERE / "pyproject.toml", extra: str = "test") -> str:
    """The text of a constraints file."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    pins: dict[str, str] = {}
    for name, version in [*requirements(project), *requirements(project, extra)]:
        if pins.setdefault(name, version) != version:
            raise ValueError(f"{name} has two lowest versions: {pins[name]} and {version}")
    return "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))


def newest() -> str:
    """What pip has put into this environment, the package itself excepted."""
    command = [sys.executable, "-m", "pip", "freeze", "--exclude", "seminmf"]
    frozen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "".join(f"{line}\n" for line in frozen.splitlines() if "==" in line)


def outcomes(report: Path) -> tuple[Counter[str], list[str]]:
    """How many tests passed, failed and were skipped by a report of pytest, and which failed."""
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            counts["failed"] += 1
            failed.append(f"{case.get('classname', '').split('.')[-1]}::{case.get('name')}")
        else:
            counts["skipped" if "skipped" in kinds else "passed"] += 1
    return counts, failed


def run_file(file: Path, options: Sequence[str]) -> tuple[Counter[str], list[str]]:
    """One file of tests, in a process of its own; one that ends without a report has failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *options, str(file)]
        code = subprocess.run(words, cwd=HERE).returncode
        if report.exists():
            return outcomes(report)
    return Counter(failed=1), [f"{file.stem} (ended with {code})"]


def run(name: str, options: Sequence[str], files: Sequence[Path]) -> dict[str, str]:
    """The row of a run of all these files."""
    sys.path.insert(0, str(HERE))
    from benchmarks.environment import describe

    known = describe()
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for file in files:
        of_file, names = run_file(file, options)
        counts += of_file
        failed += names
    row = {"environment": name, "what failed": ", ".join(failed)}
    row |= {kind: str(counts[kind]) for kind in ("passed", "failed", "skipped")}
    return row | {column: str(known[column]) for column in COLUMNS if column in known}


def record(row: dict[str, str], path: Path = TESTED) -> None:
    """Write a row in place of the last one of the same environment and Python."""
    rows = [row]
    if path.exists():
        with path.open(newline="", encoding="utf-8") as stream:
            rows += [
                old for old in csv.DictReader(stream)
                if (old["environment"], old["python"]) != (row["environment"], row["python"])
            ]  # fmt: skip
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda r: (r["environment"], r["python"])))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    if sys.argv[1:2] == ["run"] and len(sys.argv) > 2:
        given = [Path(word) for word in sys.argv[3:] if word.endswith(".py")]
        options = [word for word in sys.argv[3:] if not word.endswith(".py")]
        row = run(sys.argv[2], options, given or sorted((HERE / "tests").glob("test_*.py")))
        record(row)
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**row))
        sys.exit(row["failed"] != "0")
    elif sys.argv[1:] == ["lowest"]:
        LOWEST.write_text(lowest(), encoding="utf-8")
    elif sys.argv[1:] == ["newest"]:
        version = "{}.{}".format(*sys.version_info)
        (FOLDER / f"newest-{version}.txt").write_text(newest(), encoding="utf-8")
    else:
        sys.exit(__doc__)
