"""Run cases: ``python -m fuzz [FIRST [COUNT]]`` in the folder of the tests; without a count one.

Cases are run in pieces of a thousand. Those of a run of whole pieces are noted in ``docs/fuzz.csv``
with the commit they are of, each as soon as it is through and in the place of what was noted of it
before: a run that is stopped goes on at the next piece, and a piece in which something failed is
run again when that is repaired. The page of promises is made from these rows.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from fuzz.cases import make
from fuzz.checks import FailureError
from fuzz.trial import check

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "docs" / "fuzz.csv"
COLUMNS = ("first", "commit", "outcome", "cases")
# Cases of a piece.
PIECE = 1000


def run(first: int, count: int) -> int:
    """Number of cases that failed."""
    whole = count % PIECE == 0
    total: Counter[str] = Counter()
    examples: dict[str, list[int]] = {}
    begin = time.monotonic()
    for start in range(first, first + count, PIECE):
        outcomes = _piece(start, min(PIECE, first + count - start), examples)
        total += outcomes
        _summary(total, begin)
        if whole:
            _note(start, outcomes)
    for kind, numbers in examples.items():
        print(f"{kind}: {numbers[:40]}")
    return sum(map(len, examples.values()))


def _piece(first: int, count: int, examples: dict[str, list[int]]) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            case = make(number, Path(folder))
            try:
                outcomes[check(case)] += 1
            except Exception as error:
                told = isinstance(error, FailureError)
                kind = error.kind if told else f"raised {type(error).__name__}"
                outcomes[f"FAILED: {kind}"] += 1
                examples.setdefault(kind, []).append(number)
                print(f"{case}\n    {type(error).__name__} {error}", flush=True)
                if not told:
                    traceback.print_exc()
    return outcomes


def _commit() -> str:
    """That of the code; with a mark if it was changed since."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src", "tests/fuzz"])
    return found.stdout.strip() + "+" * (changed.returncode != 0) if found.stdout else "unknown"


def _note(first: int, outcomes: Counter[str]) -> None:
    """One line for each outcome of a piece, in the place of those of an earlier run."""
    rows: list[list[str]] = []
    if ROWS.exists():
        with ROWS.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row[0] not in ("first", str(first))]
    commit = _commit()
    rows += [[str(first), commit, outcome, str(n)] for outcome, n in outcomes.most_common()]
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([list(COLUMNS), *rows])


def _summary(outcomes: Counter[str], begin: float) -> None:
    print(f"{sum(outcomes.values()):,} cases in {time.monotonic() - begin:.0f} s", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"  {count:7,}  {outcome}", flush=True)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]] or [0]
    sys.exit(run(numbers[0], numbers[1] if len(numbers) > 1 else 1) > 0)
