"""Rows on disk.

A folder has one file ``<experiment>.jsonl`` per experiment. Each finished run is one line of it,
``{"key": ..., "rows": [...]}``, written at once and forced to the disk. What a process that is
killed, or a full disk, has left of a line is passed over, and the run is done again. For people,
and for the repository, the rows are exported as CSV.
"""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .environment import environment, environment_id

Row = dict[str, Any]
ENVIRONMENTS = "environments"
_FIRST_COLUMNS = ("experiment", "dataset", "model", "setting", "k", "run", "solver")
_LAST_COLUMNS = ("seconds", "environment")


class Store:
    """The finished runs of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, experiment: str) -> Path:
        return self.folder / f"{experiment}.jsonl"

    def experiments(self) -> list[str]:
        """Names of the experiments that have rows, sorted."""
        names = (path.stem for path in self.folder.glob("*.jsonl"))
        return sorted(name for name in names if name != ENVIRONMENTS)

    def finished(self, experiment: str) -> dict[str, list[Row]]:
        """Rows by key; the first one counts if a key is there twice."""
        found: dict[str, list[Row]] = {}
        for line in _complete_lines(self.path(experiment)):
            key, rows = line.get("key"), line.get("rows")
            if isinstance(key, str) and isinstance(rows, list) and _all_dicts(rows):
                found.setdefault(key, rows)
        return found

    def add(self, experiment: str, key: str, rows: list[Row]) -> None:
        """Append a finished run; when this returns it survives a crash."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._append(self.path(experiment), {"key": key, "rows": rows})

    def add_environment(self) -> None:
        """Note what ``environment`` in the rows stands for."""
        path = self.path(ENVIRONMENTS)
        if environment_id() not in {line.get("id") for line in _complete_lines(path)}:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._append(path, {"id": environment_id(), **environment()})

    def export(self, folder: Path) -> list[Path]:
        """Write ``<experiment>.csv`` for all experiments and ``environments.csv``."""
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name in self.experiments():
            finished = self.finished(name)
            rows = [row for key in sorted(finished) for row in finished[key]]
            written.append(write_csv(folder / f"{name}.csv", rows))
        environments = sorted(
            _complete_lines(self.path(ENVIRONMENTS)), key=lambda e: str(e.get("id"))
        )
        if environments:
            written.append(write_csv(folder / f"{ENVIRONMENTS}.csv", environments))
        return written

    @staticmethod
    def _append(path: Path, line: Row) -> None:
        # It begins on a line of its own: the line before may be cut off, by a full disk or because
        # its process was killed, and that at any time until this one is written.
        data = b"\n" + json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        with path.open("ab", buffering=0) as stream:
            if stream.write(data) != len(data):
                raise OSError(
                    errno.ENOSPC,
                    "a finished run could not be written whole and counts as not done: make room "
                    "and start again, which does what is missing",
                    str(path),
                )
            os.fsync(stream.fileno())


def _all_dicts(rows: list[Any]) -> bool:
    return all(isinstance(row, dict) for row in rows)


def _complete_lines(path: Path) -> Iterator[Row]:
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n")[:-1]:
        # Empty, or cut off: as if the run had not been.
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found


def _columns(rows: list[Row]) -> list[str]:
    names = {name for row in rows for name in row}
    first = [name for name in _FIRST_COLUMNS if name in names]
    last = [name for name in _LAST_COLUMNS if name in names]
    return first + sorted(names - {*first, *last}) + last


def write_csv(path: Path, rows: Iterable[Row]) -> Path:
    """Write rows as CSV, complete or not at all."""
    rows = list(rows)
    scratch = path.with_suffix(".tmp")
    with scratch.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, _columns(rows), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    scratch.replace(path)
    return path


def read_csv(path: Path) -> list[Row]:
    """Rows as they were written: numbers are numbers again, empty cells are absent."""
    with path.open(newline="", encoding="utf-8") as stream:
        return [
            {name: _value(name, text) for name, text in row.items() if text != ""}
            for row in csv.DictReader(stream)
        ]


_TEXT_COLUMNS = frozenset({"pixels", "environment", "id"})


def _value(name: str, text: str) -> Any:
    if name in _TEXT_COLUMNS:
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_rows(folder: Path) -> dict[str, list[Row]]:
    """Rows by experiment, from a folder of ``.jsonl`` or of exported ``.csv`` files."""
    store = Store(folder)
    found = {}
    for name in store.experiments():
        finished = store.finished(name)
        found[name] = [row for key in sorted(finished) for row in finished[key]]
    for path in sorted(folder.glob("*.csv")):
        if path.stem not in found and path.stem != ENVIRONMENTS:
            found[path.stem] = read_csv(path)
    return found
