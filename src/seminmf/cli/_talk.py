"""What a command says, and where: words for people, one object for machines."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console

_FOR_PROGRAMMERS = (
    DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning,
)  # fmt: skip


def _console(stream: Any) -> Console:
    # Colours are rich's business: none unless it is a terminal and NO_COLOR is not set.
    # Words of the user are said as they are: ":b:" is no picture.
    return Console(file=stream, highlight=False, soft_wrap=True, emoji=False)


def one_line(text: object) -> str:
    return " ".join(str(text).split())


class Talk:
    """Words go to standard output, or to standard error where the output carries data."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False, debug: bool = False) -> None:
        self.quiet, self.as_json, self.debug = quiet, as_json, debug
        self.result: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.data_on_stdout = as_json
        self.errors = _console(sys.stderr)

    @property
    def words(self) -> Console:
        return self.errors if self.data_on_stdout else _console(sys.stdout)

    def say(self, text: Any) -> None:
        """For people, unless they want quiet or a machine listens."""
        if not self.quiet and not self.as_json:
            self.words.print(text, markup=False)

    def warn(self, text: object) -> None:
        line = one_line(text)
        if line not in self.warnings:
            self.warnings.append(line)
            self.errors.print(f"Warning: {line}", markup=False, style="yellow")

    def fail(self, text: object, code: int) -> None:
        line = one_line(text)
        self.errors.print(f"Error: {line}", markup=False, style="red")
        if self.as_json:
            with suppress(OSError):  # of which there may be no room for this either
                self._print({"error": line, "exit_code": code})

    def finish(self) -> None:
        """The object for machines, once all went well."""
        if self.as_json:
            self._print({**self.result, "warnings": self.warnings})

    @staticmethod
    def _print(value: dict[str, Any]) -> None:
        plain_characters = "utf" not in (sys.stdout.encoding or "").lower()
        sys.stdout.write(to_json(value, ascii=plain_characters) + "\n")
        sys.stdout.flush()

    @contextmanager
    def hearing_warnings(self) -> Iterator[None]:
        """Warnings of the library as lines; those meant for programmers are left out.

        Not by filters: libraries that a command imports may put their own before ours.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("always")

            def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
                if not issubclass(category, _FOR_PROGRAMMERS):
                    self.warn(message)

            warnings.showwarning = show
            yield


def plain(value: Any) -> Any:
    """Values as JSON has them: no arrays, no tuples, null for what is not a number."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def to_json(value: Any, indent: int | None = None, ascii: bool = False) -> str:
    return json.dumps(plain(value), ensure_ascii=ascii, allow_nan=False, indent=indent)
