"""Run cases: ``python -m fuzz [FIRST [COUNT]]`` in the folder of the tests; without a count one."""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from fuzz.cases import make
from fuzz.checks import FailureError, check


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
    for kind, numbers in examples.items():
        print(f"{kind}: {numbers[:40]}")
    return sum(map(len, examples.values()))


def _summary(outcomes: Counter[str], begin: float) -> None:
    total = sum(outcomes.values())
    print(f"{total:,} cases in {time.monotonic() - begin:.0f} s", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"  {count:7,}  {outcome}", flush=True)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]] or [0]
    sys.exit(run(numbers[0], numbers[1] if len(numbers) > 1 else 1) > 0)
