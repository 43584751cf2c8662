"""One row with one number of threads, in a process of its own; prints a line of JSON per result.

``python -m benchmarks.worker ROW --threads T [--quick]``. The number of threads should also be set
by the environment variables of `environment.thread_settings`, as `python -m benchmarks` does.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
import warnings

from threadpoolctl import threadpool_limits

from . import environment
from .data import MissingDataError
from .results import Result
from .rows import select


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker")
    parser.add_argument("row")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    (row,) = select([options.row])
    warnings.simplefilter("ignore")
    output = sys.stdout
    about, others = environment.describe(), environment.Others()

    def tell(result: Result) -> None:
        told = dataclasses.replace(result, threads=options.threads, load=others.load(), **about)
        print(json.dumps(dataclasses.asdict(told)), file=output, flush=True)

    # Peers print; standard output is for results alone.
    with contextlib.redirect_stdout(sys.stderr), threadpool_limits(options.threads):
        try:
            for result in row.measure(options.quick):
                tell(result)
        except MissingDataError as reason:
            tell(Result(row.name, row.summary, "", status="skipped", note=str(reason)))


if __name__ == "__main__":
    main()
