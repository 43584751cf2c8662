"""Measure all rows, print the table, and write it with a plot: ``python -m benchmarks``.

Each row runs in a process of its own for each number of threads; what it found is saved as soon as
it ends, so that a run may be broken off, and parts of it repeated with ``--only``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from . import environment, report, results
from .results import Result
from .row import Row
from .rows import NAMES, ROWS, select


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="names or patterns")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--quick", action="store_true", help="small data, to try the harness")
    parser.add_argument("--threads", nargs="+", type=int, help="instead of each row's own")
    parser.add_argument("--setup", action="store_true", help="install the peers and stop")
    parser.add_argument("--report", action="store_true", help="table and plot from saved results")
    parser.add_argument("--out", type=Path, help="folder for results (docs; build for --quick)")
    return parser


def _run(row: Row, threads: int, quick: bool) -> list[Result]:
    """Run a worker; its failure is a result too."""
    python = environment.peer_python() if row.with_peers else Path(sys.executable)
    command = [str(python), "-m", "benchmarks.worker", row.name, "--threads", str(threads)]
    settings = os.environ | environment.thread_settings(threads)
    finished, reason = "", ""
    try:
        done = subprocess.run(
            command + ["--quick"] * quick, env=settings, cwd=environment.ROOT,
            timeout=row.timeout, capture_output=True, text=True,
        )  # fmt: skip
        finished = done.stdout
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            reason = lines[-1] if lines else f"ended with code {done.returncode}"
    except subprocess.TimeoutExpired as error:
        finished = error.stdout.decode() if isinstance(error.stdout, bytes) else ""
        reason = f"not finished after {row.timeout:g} s"
    found = [Result(**json.loads(line)) for line in finished.splitlines()]
    if reason:
        about = environment.describe()
        found.append(
            Result(
                row.name, row.summary, "", status="failed", note=reason, threads=threads, **about
            )
        )
    return found


def main() -> None:
    """Entry point."""
    options = _parser().parse_args()
    if options.list:
        for row in ROWS:
            print(f"{row.name:24}{row.summary}")
        return
    if options.setup:
        environment.set_up_peers()
        return
    folder = options.out or environment.ROOT / ("build/benchmarks" if options.quick else "docs")
    table = folder / "performance.csv"
    if not options.report:
        rows = select(options.only)
        if any(row.with_peers for row in rows) and not environment.peer_python().exists():
            print("installing the peers in their own environment", file=sys.stderr)
            environment.set_up_peers()
        begun = perf_counter()
        for row in rows:
            for threads in options.threads or row.threads:
                found = _run(row, threads, options.quick)
                results.save(table, found, NAMES)
                for result in found:
                    print(report.line(result), flush=True)
        print(f"{perf_counter() - begun:.0f} s in all", file=sys.stderr)
    saved = results.read(table)
    report.write(saved, folder)
    print(report.text(saved))


if __name__ == "__main__":
    main()
