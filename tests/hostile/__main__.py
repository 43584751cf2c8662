"""Many cases in processes of their own, and a row for each kind of file and outcome."""

from __future__ import annotations

import argparse
import select
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .good import make_models, make_tables
from .opening import GOOD, SECONDS

# A library that is caught in a loop does not hear of the alarm; loading takes some time.
_SILENT = SECONDS + 20

Case = tuple[int, str, str, str]


def make_good(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that did not converge
        make_models(folder)
        make_tables(folder)


def cases(folder: Path, seed: int, first: int, last: int) -> Iterator[Case]:
    """Number, file, change and outcome of each case."""
    while first < last:
        command = [sys.executable, "-m", "hostile.opening", folder, seed, first, last]
        with tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(
                list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, bufsize=0
            )
            begun = b""
            for line in _pieces(child):
                begun = line if not line.endswith(b"\n") else b""
                if not begun:
                    case = _parsed(line)
                    yield case
                    first = case[0] + 1
            assert child.stdout is not None
            child.stdout.close()
            ended = child.wait()
            if begun:
                number, name, change, _ = _parsed(begun)
                hang = ended == -signal.SIGKILL
                yield number, name, change, "hang" if hang else f"crash: ended with {ended}"
                first = number + 1
            elif ended:
                errors.seek(0)
                raise RuntimeError(f"a process that opens files failed: {errors.read()}")
            else:
                return


def _parsed(line: bytes) -> Case:
    number, name, change, outcome = line.decode().rstrip("\n").split("\t", 3)
    return int(number), name, change, outcome


def _pieces(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Lines of a process, the last one perhaps unfinished; it is killed when it says nothing."""
    assert child.stdout is not None
    text = b""
    while True:
        if not select.select([child.stdout], [], [], _SILENT)[0]:
            child.kill()
        piece = child.stdout.read(2**16)
        *lines, text = (text + piece).split(b"\n")
        yield from (line + b"\n" for line in lines)
        if not piece:
            if text:
                yield text
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="one case, by its number")
    parser.add_argument("--rows", type=Path, help="CSV file for the counts")
    arguments = parser.parse_args()
    first, last = arguments.first, arguments.first + arguments.cases
    if arguments.only is not None:
        first, last = arguments.only, arguments.only + 1
    counts: Counter[tuple[str, str]] = Counter()
    bad: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        make_good(Path(folder))
        for number, name, change, outcome in cases(Path(folder), arguments.seed, first, last):
            kind = name.partition(".")[2]
            counts[kind, outcome if outcome in GOOD else "bad"] += 1
            if outcome not in GOOD:
                bad[f"{kind}: {outcome[:80]}"] += 1
                if bad[f"{kind}: {outcome[:80]}"] <= 3:
                    print(f"case {number}: {name}: {change}: {outcome}", flush=True)
    for (kind, outcome), count in sorted(counts.items()):
        print(f"{kind:10} {outcome:8} {count:7}")
    for what, count in bad.most_common():
        print(f"{count:6}  {what}")
    if arguments.rows is not None:
        lines = [f"{k},{o},{arguments.seed},{n}\n" for (k, o), n in sorted(counts.items())]
        arguments.rows.write_text("kind,outcome,seed,cases\n" + "".join(lines), encoding="utf-8")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
