"""Saved results → table and page. Nothing here measures anything."""

from __future__ import annotations

import math
from itertools import groupby
from pathlib import Path
from typing import Any

from .results import Goal, Result

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
_PAGE = f"""# Performance

Made by `make bench`; the numbers are in [performance.csv](performance.csv).

{BEGIN}
{END}
"""
QUIET = 0.1  # cores that other processes may keep busy without spoiling a measurement
_METHOD = """\
Each row runs in a process of its own for each number of threads (BLAS, OpenMP and numba are limited
to it). Within a row the contestants take turns for several rounds, and the best time of each
counts; everything is compiled beforehand. *plain.py* is `benchmarks/plain.py`, the paper's formulas
as a careful NumPy user would write them; before it is timed it is checked against `solver="mu"`: U,
V and J agree to 1e-8 after 20 iterations.

- *Per iteration*: plain.py's loop divided by its iterations; ours from the callback of the 2nd
  iteration to that of the last, which leaves out start-up and finishing, but not steps taken back.
- *Time to …*: from the call of `fit`, with all preparations and the default start, to the first
  callback that sees the value. The notes say when `fit` returned. Against plain.py all settings are
  the defaults; against peers and scikit-learn `tol=0`, so that only the value ends the run.
- *Peers* run in the same process as ours, from the paper's random start, without computing errors;
  our checks of their factors are not timed. tensorly is `non_negative_parafac_hals` with
  `nn_modes={0}`, proxmin accelerated `nmf` with `prox_id` for the basis, matrix-fact `SNMF`.
- *Disturbed* rows were measured while other processes kept more than 0.1 cores busy; they should be
  measured again (`python -m benchmarks --only ROW`).
"""


def number(value: float, unit: str) -> str:
    """A quantity for people."""
    if not math.isfinite(value):
        return "never" if value > 0 else "–"
    if unit == "s" and value < 1:
        return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"
    return f"{value:.0f} {unit}" if abs(value) >= 100 else f"{value:.3g} {unit}"


def ratio(result: Result) -> str:
    """The ratio; with a sign before it if the reference never arrived."""
    if math.isinf(result.ratio):
        return "∞"
    bound = "> " if "lower bound" in result.note else ""
    shown = f"{result.ratio:.0f}" if result.ratio >= 100 else f"{result.ratio:.3g}"
    return f"{bound}{shown}×"


def _verdict(result: Result) -> str:
    if result.status != "ok":
        return result.status
    return "yes" if result.met else "no"


def _cells(result: Result) -> list[str]:
    if result.status != "ok":
        return [result.case or result.row, str(result.threads), result.against, "", "", "", "",
                result.status]  # fmt: skip
    return [
        result.case,
        str(result.threads),
        result.against,
        number(result.reference, result.unit),
        number(result.ours, result.unit),
        ratio(result),
        f"{Goal(result.goal, result.at_least)}×",
        _verdict(result),
    ]


_HEADS = ["case", "threads", "against", "theirs", "ours", "ratio", "target", "reached"]


def line(result: Result) -> str:
    """One result for the terminal, while the others are still to come."""
    if result.status != "ok":
        return f"{result.row} ({result.threads} threads): {result.status}: {result.note}"
    cells = _cells(result)
    who = f"{result.row}: {result.case} against {result.against}, {result.threads} threads"
    return f"{who}: {cells[5]} ({cells[6]}), reached: {cells[7]}"


def text(results: list[Result]) -> str:
    """The table for a terminal."""
    table = [_HEADS, *(_cells(result) for result in results)]
    widths = [max(len(cells[i]) for cells in table) for i in range(len(_HEADS))]
    shown: list[str] = []
    what = None
    for result, cells in zip([None, *results], table, strict=True):
        if result is not None and result.what != what:
            what = result.what
            shown += ["", what.replace("`", "")]
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        shown.append("  " + "  ".join(padded).rstrip())
    reached = sum(result.met for result in results)
    measured = sum(result.status == "ok" for result in results)
    disturbed = sum(result.load > QUIET for result in results)
    last = f"{reached} of {measured} reached; {disturbed} disturbed by other work on the machine"
    return "\n".join([*shown, "", last])


def _disturbance(result: Result) -> str:
    if not result.load > QUIET:
        return ""
    return f"**disturbed**: others kept {result.load:.1f} cores busy"


def _table(results: list[Result]) -> list[str]:
    heads = [*_HEADS, "note"]
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join(["---"] * len(heads)) + " |"]
    for result in results:
        notes = [result.note.replace("|", "\\|"), _disturbance(result)]
        cells = [*_cells(result), "; ".join(filter(None, notes))]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def setting(results: list[Any]) -> str:
    """Where and when, with what varies between the results given as a range.

    Of rows that say it, as `Result` does.
    """

    def span(values: list[str]) -> str:
        distinct = sorted(set(values))
        return distinct[0] if len(distinct) == 1 else f"{distinct[0]} to {distinct[-1]}"

    loads = [result.load for result in results if not math.isnan(result.load)]
    versions = max((result.versions for result in results), key=len)
    return (
        f"{span([r.machine for r in results])}, {results[0].cores} cores; "
        f"Python {results[0].python}, {versions}; commit "
        f"{', '.join(sorted({r.commit for r in results}))}; {span([r.date for r in results])}; "
        f"{sum(load > QUIET for load in loads)} of {len(results)} lines disturbed by other work."
    )


def markdown(results: list[Result]) -> str:
    """The generated part of the page."""
    if not results:
        return "Nothing has been measured yet."
    parts = ["![Ratios against their targets](performance/speed.png)", "", setting(results), ""]
    for what, group in groupby(results, key=lambda result: result.what):
        parts += [f"## {what[0].upper()}{what[1:]}", "", *_table(list(group)), ""]
    return "\n".join([*parts, "## How it is measured", "", _METHOD.rstrip()])


def write(results: list[Result], folder: Path) -> None:
    """The page (its part between the two marks) and the plot."""
    page = folder / "performance.md"
    folder.mkdir(parents=True, exist_ok=True)
    present = page.read_text(encoding="utf-8") if page.exists() else _PAGE
    if BEGIN not in present or END not in present:
        present = present.rstrip() + f"\n\n{BEGIN}\n{END}\n"
    head, rest = present.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    page.write_text(f"{head}{BEGIN}\n{markdown(results)}\n{END}{tail}", encoding="utf-8")
    try:
        from .plot import draw
    except ImportError:
        print("no plot without matplotlib")
        return
    draw(results, folder / "performance" / "speed.png")
