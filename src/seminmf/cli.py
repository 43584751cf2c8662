"""The command ``seminmf``: arguments and progress, nothing else.

Commands are functions of `app`; a group of them is a Typer of its own, added to `app`.
"""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Table
except ImportError as error:  # pragma: no cover
    raise SystemExit('The command line needs: pip install "seminmf[cli]"') from error

if TYPE_CHECKING:
    from .experiments import Outcome, Run, Store

app = typer.Typer(
    name="seminmf",
    help="Robust semi-non-negative matrix factorization.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
datasets_app = typer.Typer(help="The data sets of the paper.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")

DEFAULT_OUT = Path("seminmf-results")


class Solver(StrEnum):
    mu = "mu"
    cd = "cd"


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def _fail(message: str) -> typer.Exit:
    Console(file=sys.stderr, highlight=False, soft_wrap=True).print(message, markup=False)
    return typer.Exit(2)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments to run; all for every one.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Repetitions of each setting.")] = 20,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = -1,
    quick: Annotated[bool, typer.Option(help="Everything at a tiny size.")] = False,
    solver: Annotated[
        Solver, typer.Option(help="mu is the paper's algorithm, cd is ours.")
    ] = Solver.mu,
    out: Annotated[
        Path, typer.Option(help="Folder for rows and page (quick: its subfolder quick).")
    ] = DEFAULT_OUT,
    page: Annotated[bool, typer.Option(help="Write the results page afterwards.")] = True,
    show_list: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
) -> None:
    """Run experiments of the paper; what is already in the folder is not run again."""
    from . import experiments

    console = _console()
    if show_list:
        console.print(_experiments_table(runs, solver))
        return
    if not names:
        raise _fail("Name one or more experiments, or all; --list shows them.")
    size = experiments.Size(runs, quick, solver.value)
    try:
        planned = experiments.plan(names, size)
    except ValueError as error:
        raise _fail(str(error)) from error
    folder = out / "quick" if quick else out
    store = experiments.Store(folder)
    try:
        done = _with_progress(planned, store, jobs, console)
    except FileNotFoundError as error:
        raise _fail(str(error)) from error
    console.print(f"{done} runs done, {len(planned) - done} were there already: {folder}")
    store.export(folder / "csv")
    if page:
        _write_page(folder, console)


def _experiments_table(runs: int, solver: Solver) -> Table:
    from .experiments import SPECS, Size

    table = Table("name", "what is measured", "paper", "runs", box=None, pad_edge=False)
    size = Size(runs, solver=solver.value)
    for spec in SPECS.values():
        table.add_row(spec.name, spec.title, spec.source, str(len(spec.plan(size))))
    return table


def _with_progress(planned: list[Run], store: Store, jobs: int, console: Console) -> int:
    """Execute the runs that are missing, telling how far it is and how long it will take."""
    from .experiments import execute, missing, prepare

    todo = missing(planned, store)
    prepare(str(run.parameters.get("dataset", "")) for run in todo)
    with _Reporter(console, sum(run.cost for run in todo)) as reporter:
        return execute(todo, store, jobs, reporter)


class _Reporter:
    """A bar on a terminal, a plain line now and then elsewhere; time left by the runs' cost."""

    every = 15.0  # seconds between two plain lines

    def __init__(self, console: Console, cost: float) -> None:
        self.console = console
        self.cost, self.done_cost = cost, 0.0
        self.began = self.told = time.monotonic()
        self.bar: Progress | None = None
        if console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %  {task.fields[counts]}"),
                TextColumn("{task.fields[left]}"),
            )
            self.bar = Progress(*columns, console=console)

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task("…", total=self.cost, counts="", left="")
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, outcome: Outcome) -> None:
        self.done_cost += outcome.run.cost
        now = time.monotonic()
        left = (now - self.began) * (self.cost - self.done_cost) / max(self.done_cost, 1e-9)
        counts, left_text = f"{outcome.done}/{outcome.total} runs", f"{_duration(left)} left"
        name = outcome.run.experiment
        if self.bar is not None:
            self.bar.update(
                self.task, description=name, completed=self.done_cost, counts=counts, left=left_text
            )
        elif now - self.told >= self.every or outcome.done == outcome.total:
            self.told = now
            self.console.print(f"{counts}, {name}, {left_text}", markup=False)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _write_page(folder: Path, console: Console) -> None:
    from .experiments import read_rows

    try:
        from .reporting import write_results

        (path,) = write_results(read_rows(folder), html=folder / "results.html")
    except ImportError as error:
        console.print(f"No results page: {error}", markup=False)
        return
    console.print(f"Results page: {path}", markup=False)


@app.command()
def results(
    rows: Annotated[Path, typer.Argument(help="Folder with the rows of experiments.")],
    html: Annotated[Path | None, typer.Option(help="Write one HTML file.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write Markdown, with a folder images beside it.")
    ] = None,
) -> None:
    """Make the results page from rows that were saved before."""
    from .experiments import read_rows

    found = read_rows(rows)
    if not found:
        raise _fail(f"{rows} has no rows of experiments (*.jsonl or *.csv).")
    if html is None and markdown is None:
        raise _fail("Say what to write: --html FILE, --markdown FILE, or both.")
    try:
        from .reporting import write_results

        written = write_results(found, html, markdown)
    except ImportError as error:
        raise _fail(str(error)) from error
    for path in written:
        _console().print(str(path), markup=False)


@datasets_app.command("list")
def list_datasets() -> None:
    """Show the data sets and where their files are."""
    from .datasets import available, dataset_info, locate

    table = Table("name", "samples", "features", "classes", "file", box=None, pad_edge=False)
    for name in available():
        info = dataset_info(name)
        found = locate(name)
        where = "not here" if found is None else str(found)
        shape = (str(info.n_samples), str(info.n_features), str(len(info.class_names)))
        table.add_row(name, *shape, where)
    _console().print(table)


@datasets_app.command("fetch")
def fetch_datasets(
    names: Annotated[list[str], typer.Argument(help="Data sets, or all.")],
    data_home: Annotated[
        Path | None, typer.Option(help="Folder to look in and to download to.")
    ] = None,
) -> None:
    """Find or download data sets, and print where they are."""
    from .datasets import available, fetch

    wanted = list(available()) if "all" in names else names
    for name in wanted:
        try:
            path = fetch(name, data_home)
        except (ValueError, FileNotFoundError) as error:
            raise _fail(str(error)) from error
        _console().print(f"{name} {path}", markup=False)


def main() -> None:
    """Entry point of the command."""
    app()
