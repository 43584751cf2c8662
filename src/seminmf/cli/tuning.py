"""``seminmf tune``: how many parts, how strong, how sure; and ``-k auto`` of ``seminmf fit``."""

from __future__ import annotations

import shutil
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as o
from ._command import Stopped, app, command
from ._folder import (
    MODEL,
    Parts,
    check_target,
    folder,
    in_parts,
    notes_of,
    outlier_scores,
    run_of,
    with_fills,
    write_run,
    write_tables,
)
from ._talk import Talk
from ._watch import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..io import Table
    from ..selection import Step

PAGE = "tune.html"


def numbers_of(text: str) -> list[int]:
    """``2:30`` and ``4:24:2`` as numbers, with both ends; also ``3,5,8``."""
    try:
        if ":" in text:
            first, last, *step = (int(piece) for piece in text.split(":"))
            if len(step) > 1 or (step and step[0] < 1) or last < first:
                raise ValueError
            return list(range(first, last + 1, *step))
        return [int(piece) for piece in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--k must be as in 2:30, 4:24:2 (from, to, step) or 3,5,8, got {text!r}."
        ) from None


def _candidates(text: str | None) -> list[int] | None:
    numbers = None if text is None else numbers_of(text)
    if numbers is not None and len(set(numbers)) < 2:
        raise ValueError(
            f"--k {text} leaves nothing to choose from. Give several numbers of parts, such as "
            "2:12; to fit with one of them there is seminmf fit -k."
        )
    return numbers


@command(app, "seminmf tune signals.csv --k 2:30 --out tuned")
def tune(
    talk: Talk,
    data: o.DataArgument,
    output: o.Output,
    reading: o.Reading,
    k: Annotated[
        str | None, typer.Option("--k", "-k", help="Numbers of parts: 2:30, 4:24:2 or 3,5,8.")
    ] = None,
    by_labels: Annotated[
        bool, typer.Option("--by-labels", help="Choose by how well clusters agree with --labels.")
    ] = False,
    runs: Annotated[int, typer.Option(min=0, help="Fits to subsamples, for stability.")] = 10,
    jobs: Annotated[int, typer.Option(help="Processes; -1 means one per core.")] = -1,
    standardize: o.StandardizeOption = o.Standardize.none,
    neighbors: o.Neighbors = 5,
    seed: o.Seed = 0,
) -> None:
    """Find out how many parts a table supports; write curves, the chosen model and a page.

    A run that was interrupted goes on when the same command is given again.
    """
    numbers = _candidates(k)
    if by_labels and reading.labels is None:
        raise ValueError("--by-labels needs --labels COLUMN.")
    out, title = output.out, output.title
    check_target(out, output.force)
    table = reading.keeping_gaps().read(data)
    _check_whole(table, "seminmf tune")
    o.describe(talk, table)
    shape = o.image_shape_of(output.image_shape, table.X.shape[1])
    X = prepared(table.X, standardize.value, reading.fill and reading.fill.value)
    began = time.monotonic()
    try:
        found = _selected(
            talk, X, _known(table) if by_labels else None, neighbors, seed, candidates=numbers,
            n_runs=runs, n_jobs=jobs, checkpoint=unfinished(out),
        )  # fmt: skip
    except KeyboardInterrupt:
        raise Stopped(
            f"Interrupted: what is done is in {unfinished(out)}; the same command goes on from "
            "there."
        ) from None
    for sentence in (found.reason_, *found.doubts_):
        talk.say(sentence)
    best = found.best_params_
    choice = o.Choice(
        strength=best["strength"], standardize=standardize, neighbors=neighbors, seed=seed
    ).of_parts(best["n_components"], reading)
    fitted = choice.estimator().fit(table.X)
    table = with_fills(Parts.of(fitted), table)
    with folder(out, output.force) as scratch:
        files = _write(talk, scratch, fitted, found, table, X, shape, title)
        outcome = _outcome(found, time.monotonic() - began)
        run = run_of(table, reading, choice, shape, title, outcome, files)
        write_run(scratch, run)
    shutil.rmtree(unfinished(out), ignore_errors=True)
    talk.result = {"out": out, **run}
    talk.say(f"Wrote {out}: {', '.join(name for what, name in files.items() if what != 'page')}.")
    talk.say(f"Page: {out / PAGE}")


def unfinished(out: Path) -> Path:
    """Where the results so far are, until the folder is written."""
    return out.with_name(f"{out.name}.unfinished")


def _known(table: Table) -> Any:
    """The labels, with None for samples that have none."""
    from ..io._table import NO_LABEL

    assert table.labels is not None
    known = table.labels.astype(object)
    known[known == NO_LABEL] = None
    return known


def _check_whole(table: Table, what: str) -> None:
    if in_parts(table):
        raise ValueError(
            f"{what} needs all samples in memory, and {table.source} is read in parts. Give some "
            "thousand rows of it."
        )


def prepared(X: Any, how: Any, fill: Any) -> Any:
    """Samples as the factorization will see them."""
    if how == "none" and fill is None:
        return X
    from .. import SemiNMF, Standardized

    # Of the model nothing is used: columns are measured before it is fitted.
    return Standardized(SemiNMF(1, max_iter=1, tol=0), how, fill=fill).fit(X).standardize(X)


def _selected(talk: Talk, X: Any, labels: Any, neighbors: int, seed: int, **settings: Any) -> Any:
    import warnings

    from .. import L21SemiNMF
    from ..selection import SemiNMFSelector

    with watched(talk) as step, warnings.catch_warnings():
        # What it warns of are its doubts, which are said below.
        warnings.filterwarnings("ignore", "The evidence is weak", UserWarning)
        model = L21SemiNMF(n_neighbors=neighbors, random_state=seed)
        selector = SemiNMFSelector(model, random_state=seed, callback=step, **settings)
        return selector.fit(X, labels)


def chosen_parts(talk: Talk, table: Table, choice: o.Choice) -> tuple[o.Choice, dict[str, Any]]:
    """The choice with the number of parts that the data support, and what is said of it."""
    from ..selection import choose_components

    _check_whole(table, "-k auto")
    X = prepared(table.X, choice.standardize, choice.fill)
    with watched(talk) as step:
        found = choose_components(X, random_state=choice.seed, callback=step)
    low, high = found.interval
    talk.say(
        f"-k auto: {found.reason}"
        + (f" Anything from {low} to {high} does about as well." if high > low else "")
    )
    if found.warning:
        talk.warn(found.warning)
    said = {"n_components": found.n_components, "interval": found.interval, "reason": found.reason}
    return replace(choice, components=found.n_components), said


@contextmanager
def watched(talk: Talk) -> Iterator[Any]:
    """A callback that shows steps."""
    with Steps(talk) as steps:

        def show(step: Step) -> None:
            note = f"{step.done} of {step.total}"
            steps.show(step.what, step.done, step.total, note, step.seconds_left)

        yield show


def _write(
    talk: Talk, scratch: Path, fitted: Any, found: Any, table: Table, X: Any, shape: Any,
    title: str | None,
) -> dict[str, str]:  # fmt: skip
    from ..io import write_table
    from ..reporting.tuning import tuning_page

    parts = Parts.of(fitted)
    fitted.save(scratch / MODEL, notes=notes_of(parts, table, shape))
    files = {
        "model": MODEL,
        **write_tables(scratch, parts, table, outlier_scores(talk, parts, table)),
    }
    for what, columns in found.results_.items():
        path = write_table(scratch / f"tune-{what}.csv", columns)
        files[f"tuning of {what}"] = path.name
    tuning_page(found, X, image_shape=shape, title=title).save(scratch / PAGE)
    return {**files, "page": PAGE}


def _outcome(found: Any, seconds: float) -> dict[str, Any]:
    choice, steady = found.choice_, found.stability_
    return {
        **found.best_params_,
        "interval": None if choice is None else choice.interval,
        "score": found.best_score_,
        "reason": found.reason_,
        "doubts": found.doubts_,
        "agreement": None if steady is None else steady.agreement,
        "part_stability": None if steady is None else steady.part_stability,
        "seconds": round(seconds, 3),
    }
