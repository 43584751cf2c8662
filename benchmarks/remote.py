"""Fits in a process of their own, which makes them when it is told to by a pipe.

`Remote` is the one who asks; ``python -m benchmarks.remote --threads T [--set module:name=value]``
is the one who fits. It reads the name of a fit from a line and answers with a line of JSON. So two
versions of the package, or two values of a constant that compiled code was made with, can take
turns fit by fit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from threadpoolctl import threadpool_limits

from . import environment
from .setting import parse
from .timing import working_seconds


@dataclass(frozen=True)
class Answer:
    """One fit: how long it took and where it ended, or why it could not be made.

    On one thread the seconds are those of the processor, so that other work on the machine hardly
    counts.
    """

    seconds: float = float("inf")
    objective: float = float("nan")
    iterations: int = 0
    error: str = ""
    used: float = 0.0
    """Processor seconds of the process so far."""


class Remote:
    """A process that fits; context manager."""

    def __init__(
        self, threads: int, settings: tuple[str, ...] = (), variables: Mapping[str, str] = {}
    ) -> None:
        command = [sys.executable, "-m", "benchmarks.remote", "--threads", str(threads)]
        for setting in settings:
            command += ["--set", setting]
        self._process = subprocess.Popen(
            command, env={**os.environ, **environment.thread_settings(threads), **variables},
            cwd=environment.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.used = 0.0

    def send(self, name: str) -> None:
        """Tell it to make a fit."""
        assert self._process.stdin is not None
        print(name, file=self._process.stdin, flush=True)

    def answer(self) -> Answer:
        """What became of the fit that it was told to make; waits for it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            return Answer(error=f"the process ended with code {self._process.wait()}")
        found = Answer(**json.loads(line))
        self.used = found.used
        return found

    def fit(self, name: str) -> Answer:
        self.send(name)
        return self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()


def python_path(sources: Path) -> dict[str, str]:
    """Environment variables with which a process imports the package from ``sources``."""
    return {"PYTHONPATH": str(sources.resolve())}


def run(name: str, threads: int) -> Answer:
    """Make a fit in this process, which is held to so many threads."""
    from .fits import FITS

    try:
        model, X = FITS[name].prepared
        took = working_seconds(lambda: model.fit(X), threads)
    except Exception as error:
        return Answer(error=f"{type(error).__name__}: {error}".splitlines()[0])
    return Answer(took, float(model.objective_), int(model.n_iter_))


def main() -> None:
    """Answer until the pipe is closed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.remote")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="MODULE:NAME=VALUE")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    output = sys.stdout
    with contextlib.redirect_stdout(sys.stderr), threadpool_limits(options.threads):
        for place, value in map(parse, options.set):
            place.assign(value)
        for line in sys.stdin:
            answer: dict[str, Any] = asdict(run(line.strip(), options.threads))
            answer["used"] = environment.processor_seconds()
            print(json.dumps(answer), file=output, flush=True)


if __name__ == "__main__":
    main()
