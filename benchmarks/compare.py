"""Two versions of the package side by side: ``python -m benchmarks.compare OLD_SRC``.

OLD_SRC is the ``src`` folder of another checkout, for example of one made by ``git worktree add``.
Each version has a process of its own for each number of threads. They make the same fits in turn,
one waiting while the other works, for several rounds, and the best of each counts; the first fit,
which compiles, does not. Seconds on one thread are those of the processor, so that other work on
the machine hardly counts. A ratio below 1 says that the present version is faster.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import environment
from .fits import FITS, Fit
from .remote import Answer, Remote, python_path
from .report import number
from .timing import interleave

CHOSEN = (
    "ionosphere", "ionosphere-mu", "ionosphere-mu-80", "ionosphere-whole", "waveform",
    "waveform-mu", "waveform-whole", "uspst", "uspst-mu", "long", "chain", "middle", "middle-graph",
    "sparse", "nmf", "images", "images-40", "own-loss", "own-loss-200",
)  # fmt: skip
_ROUNDS, _SECONDS = 15, 8.0


@dataclass(frozen=True)
class Line:
    """A fit by both versions, the best of each."""

    fit: Fit
    threads: int
    old: Answer
    new: Answer

    @property
    def cells(self) -> tuple[str, ...]:
        """Fit, threads, seconds of both, ratio, iterations of both, ratio of the objectives."""
        old, new = self.old, self.new
        cells = [self.fit.title, str(self.threads)]
        cells += [answer.error or number(answer.seconds, "s") for answer in (old, new)]
        if old.error or new.error:
            return (*cells, "–", "–", "–")
        iterations = f"{old.iterations} → {new.iterations}"
        objective = f"{new.objective / old.objective:.5f}"
        return (*cells, f"{new.seconds / old.seconds:.2f}", iterations, objective)


def compare(fit: Fit, threads: int, versions: dict[str, Remote], rounds: int) -> Line:
    """Both versions take turns with a fit."""
    found = {name: [remote.fit(fit.name)] for name, remote in versions.items()}
    able = [name for name, (answer,) in found.items() if not answer.error]

    def again(name: str) -> float:
        found[name].append(versions[name].fit(fit.name))
        return found[name][-1].seconds

    if able:
        interleave({name: partial(again, name) for name in able}, rounds, _SECONDS)
    # The first fit of a version has its compiling in it.
    best = {
        name: min(answers[1:] or answers, key=lambda answer: answer.seconds)
        for name, answers in found.items()
    }
    return Line(fit, threads, best["old"], best["new"])


_HEADS = ("fit", "threads", "old", "new", "new / old", "iterations", "objective, new / old")


def main() -> None:
    """Compare and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("old", type=Path, metavar="OLD_SRC", help="sources of the other version")
    parser.add_argument("--only", nargs="+", default=CHOSEN, choices=list(FITS), metavar="FIT")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    options = parser.parse_args()
    if not (options.old / "seminmf").is_dir():
        parser.error(f"there is no package seminmf in {options.old}")
    others = environment.Others()
    print(f"| {' | '.join(_HEADS)} |\n|{' --- |' * len(_HEADS)}")
    for threads in options.threads:
        sources = {"old": options.old, "new": environment.ROOT / "src"}
        with (
            Remote(threads, variables=python_path(sources["old"])) as old,
            Remote(threads, variables=python_path(sources["new"])) as new,
        ):
            for name in options.only:
                line = compare(FITS[name], threads, {"old": old, "new": new}, options.rounds)
                print(f"| {' | '.join(line.cells)} |", flush=True)
    print(f"\nOther processes kept {others.load():.2f} cores busy.")


if __name__ == "__main__":
    main()
