"""Which constants matter? The evidence behind them: ``python -m benchmarks.constants``.

Each constant of `sweeps.table` is set to values around the present one, everything else as it is.
Fits take turns with all of them, so that a busy moment of the machine hits all; the best times
count. What is found goes to ``constants.csv``, and from there to the page ``constants.md``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from time import perf_counter

from . import environment
from .report import QUIET
from .results import read_rows, write_rows
from .setting import GoneError
from .sweeps import page
from .sweeps.outcome import Outcome
from .sweeps.quality import judge
from .sweeps.runner import FULL, QUICK, sweep, sweep_apart
from .sweeps.table import CONSTANTS, OBJECTIVE, Constant


def measure(constant: Constant, quick: bool) -> Iterator[Outcome]:
    """All values on all data sets."""
    pace = QUICK if quick else FULL
    if constant.measure != OBJECTIVE:
        return judge(constant, pace, quick)
    return sweep_apart(constant, pace) if constant.compiled else sweep(constant, pace)


def _matches(constant: Constant, patterns: list[str]) -> bool:
    """Whether it is meant by its name, or by ``module:name``."""
    names = constant.place.name, str(constant.place)
    return any(fnmatch(name, pattern) for name in names for pattern in patterns)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constants", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="patterns")
    parser.add_argument(
        "--disturbed",
        action="store_true",
        help="those on several threads that other work disturbed",
    )
    parser.add_argument("--quick", action="store_true", help="few values, data sets and rounds")
    parser.add_argument("--report", action="store_true", help="the page from saved rows")
    parser.add_argument("--out", type=Path, help="folder (docs; build/benchmarks for --quick)")
    options = parser.parse_args()
    folder = options.out or environment.ROOT / ("build/benchmarks" if options.quick else "docs")
    table = folder / "constants.csv"
    warnings.simplefilter("ignore")
    chosen = [c for c in CONSTANTS if not options.only or _matches(c, options.only)]
    order = [(constant.place.module, constant.place.name) for constant in CONSTANTS]
    rows = [row for row in read_rows(table, Outcome) if (row.module, row.constant) in order]
    if options.disturbed:
        late = (row for row in rows if row.load > QUIET and row.threads > 1)
        disturbed = {(row.module, row.constant) for row in late}
        chosen = [c for c in chosen if (c.place.module, c.place.name) in disturbed]
    begun = perf_counter()
    for constant in [] if options.report else chosen:
        key = constant.place.module, constant.place.name
        rows = [row for row in rows if (row.module, row.constant) != key]
        since = perf_counter()
        try:
            rows += measure(constant, options.quick)
        except GoneError as error:
            print(f"left out: {error}", file=sys.stderr)
        rows.sort(key=lambda row: order.index((row.module, row.constant)))
        write_rows(table, rows, Outcome)
        print(f"{constant.place}: {perf_counter() - since:.0f} s", file=sys.stderr)
    if not options.report:
        print(f"{perf_counter() - begun:.0f} s in all", file=sys.stderr)
    text = page.markdown(rows, order)
    (folder / "constants.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
