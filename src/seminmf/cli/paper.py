"""``seminmf reproduce`` and ``seminmf results``: the experiments of the paper."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._words import counted
from ._command import Stopped, app, command
from ._options import Solver
from ._talk import Talk
from ._watch import Steps

if TYPE_CHECKING:
    from rich.table import Table

    from ..experiments import Outcome, Run, Store

DEFAULT_OUT = Path("seminmf-results")


@command(app, "seminmf reproduce waveform --runs 5 --out seminmf-results")
def reproduce(
    talk: Talk,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Experiments to run, or all."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Repetitions of each setting.")] = 20,
    jobs: Annotated[int, typer.Option(help="Processes; -1 means one per core.")] = -1,
    quick: Annotated[bool, typer.Option(help="Everything at a tiny size, as a trial.")] = False,
    solver: Annotated[
        Solver, typer.Option(help="mu is the paper's algorithm, cd ours.")
    ] = Solver.mu,
    out: Annotated[
        Path, typer.Option(help="Folder for rows and page (its subfolder quick with --quick).")
    ] = DEFAULT_OUT,
    page: Annotated[bool, typer.Option(help="Write the results page afterwards.")] = True,
    show_list: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
) -> None:
    """Run the experiments of the paper that are not in the folder yet."""
    from .. import experiments

    if show_list:
        size = experiments.Size(runs, solver=solver.value)
        specs = experiments.SPECS.values()
        talk.result = {
            "experiments": [
                {"name": s.name, "title": s.title, "paper": s.source, "runs": len(s.plan(size))}
                for s in specs
            ]
        }
        talk.say(_experiments_table(talk.result["experiments"]))
        return
    if not names:
        raise ValueError("Name one or more experiments, or all; --list shows them.")
    planned = experiments.plan(names, experiments.Size(runs, quick, solver.value))
    folder = out / "quick" if quick else out
    store = experiments.Store(folder)
    try:
        done = _with_progress(planned, store, jobs, talk)
    except KeyboardInterrupt:
        left = counted(len(experiments.missing(planned, store)), "run")
        raise Stopped(
            f"Interrupted: what is done is in {folder}; the same command goes on, with {left} left."
        ) from None
    old = len(planned) - done
    were = "was" if old == 1 else "were"
    talk.say(f"{counted(done, 'run')} done, {old:,} {were} there already: {folder}")
    store.export(folder / "csv")
    talk.result = {"folder": str(folder), "done": done, "already_there": old}
    if page:
        _write_page(folder, talk)


def _experiments_table(rows: list[dict[str, object]]) -> Table:
    from rich.table import Table

    table = Table("name", "what is measured", "paper", "runs", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    return table


def _with_progress(planned: list[Run], store: Store, jobs: int, talk: Talk) -> int:
    """Execute the runs that are missing, telling how far it is and how long it will take."""
    from ..experiments import execute, missing, prepare

    todo = missing(planned, store)
    prepare(str(run.parameters.get("dataset", "")) for run in todo)
    with _Reporter(talk, sum(run.cost for run in todo)) as reporter:
        return execute(todo, store, jobs, reporter)


class _Reporter(Steps):
    """Shows runs that are done; the time left by the runs' cost."""

    def __init__(self, talk: Talk, cost: float) -> None:
        super().__init__(talk)
        self.cost, self.done_cost = cost, 0.0
        self.began = self.told

    def __call__(self, outcome: Outcome) -> None:
        self.done_cost += outcome.run.cost
        if outcome.done == outcome.total:
            self.told = -math.inf  # the last is told in any case
        each = (time.monotonic() - self.began) / max(self.done_cost, 1e-9)
        self.show(
            f"{outcome.done}/{outcome.total} runs, {outcome.run.experiment}", self.done_cost,
            self.cost, "", each * (self.cost - self.done_cost),
        )  # fmt: skip


def _write_page(folder: Path, talk: Talk) -> None:
    from ..experiments import read_rows

    try:
        from ..reporting import write_results

        (path,) = write_results(read_rows(folder), html=folder / "results.html")
    except ImportError as error:
        talk.warn(f"No results page: {error}")
        return
    talk.result["page"] = str(path)
    talk.say(f"Results page: {path}")


@command(app, "seminmf results seminmf-results --html results.html")
def results(
    talk: Talk,
    rows: Annotated[Path, typer.Argument(help="Folder with the rows of experiments.")],
    html: Annotated[Path | None, typer.Option(help="Write one HTML file.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write Markdown, with a folder images beside it.")
    ] = None,
) -> None:
    """Write the results page from saved rows."""
    from ..experiments import read_rows

    found = read_rows(rows)
    if not found:
        raise ValueError(f"{rows} has no rows of experiments (*.jsonl or *.csv).")
    if html is None and markdown is None:
        raise ValueError("Say what to write: --html FILE, --markdown FILE, or both.")
    from ..reporting import write_results

    written = write_results(found, html, markdown)
    talk.result = {"written": [str(path) for path in written]}
    for path in written:
        talk.say(str(path))
