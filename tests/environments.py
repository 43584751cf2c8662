"""Versions to test with: the lowest that pyproject allows, and the newest there are.

    python tests/environments.py lowest     # writes constraints/lowest.txt from pyproject.toml
    python tests/environments.py newest     # writes constraints/newest-3.x.txt: what is installed

`make test-lowest` and `make test-newest` call it. The lowest versions are pinned for what pyproject
names itself; what these need in turn is left to pip.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parents[1]
FOLDER = HERE / "constraints"
LOWEST = FOLDER / "lowest.txt"
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


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    if sys.argv[1:] == ["lowest"]:
        LOWEST.write_text(lowest(), encoding="utf-8")
    elif sys.argv[1:] == ["newest"]:
        version = "{}.{}".format(*sys.version_info)
        (FOLDER / f"newest-{version}.txt").write_text(newest(), encoding="utf-8")
    else:
        sys.exit(__doc__)
