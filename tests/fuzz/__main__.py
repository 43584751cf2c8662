"""Run cases: ``python -m fuzz [FIRST [COUNT]]`` in the folder of the tests; without a count one.

A run of at least a thousand cases is noted in ``docs/fuzz.csv``, from which the page of promises is
made.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from fuzz.cases import make
from fuzz.checks import FailureError, check

ROWS = Path(__file__).parents[2] / "docs" / "fuzz.csv"
# Cases of a run that is worth noting.
_NOTED = 10**9


def run(first: int, count: int) -> int:
    """Number of cases that failed."""
    outcomes: Counter[str] = Counter()
    examples: dict[str, list[int]] = {}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            case = make(number, Path(folder))
            try:
                outcomes[check(case)] += 1
            except Exception as error:
                kind = (
                    error.kind
                    if isinstance(error, FailureError)
                    else f"raised {type(error).__name__}"
                )
                outcomes[f"FAILED: {kind}"] += 1
                examples.setdefault(kind, []).append(number)
                print(f"{case}\n    {type(error).__name__} {error}", flush=True)
                if not isinstance(error, FailureError):
                    traceback.print_exc()
            if count > 1 and (number - first) % 1000 == 999:
                _summary(outcomes, begin)
    _summary(outcomes, begin)
    if count >= _NOTED:
        _note(first, outcomes)
    for kind, numbers in examples.items():
        print(f"{kind}: {numbers[:40]}")
    return sum(map(len, examples.values()))


def _note(first: int, outcomes: Counter[str]) -> None:
    """One line for each outcome of this run, in the place of those of the last."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["outcome", "cases"])
        writer.writerow([f"all, from number {first}", sum(outcomes.values())])
        writer.writerows(outcomes.most_common())


def _summary(outcomes: Counter[str], begin: float) -> None:
    total = sum(outcomes.values())
    print(f"{total:,} cases in {time.monotonic() - begin:.0f} s", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"  {count:7,}  {outcome}", flush=True)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]] or [0]
    sys.exit(run(numbers[0], numbers[1] if len(numbers) > 1 else 1) > 0)
