"""``seminmf fit``: from a table to a folder with model, tables and page."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as o
from ._command import Stopped, app, command
from ._folder import (
    MODEL,
    REPORT,
    RUN_FORMAT,
    Parts,
    check_target,
    folder,
    outlier_scores,
    sha256,
    write_report,
    write_run,
    write_tables,
)
from ._talk import Talk
from ._watch import Watch, duration, stoppable
from .tuning import chosen_parts

if TYPE_CHECKING:
    from ..io import Table


@command(app, "seminmf fit signals.csv -k 10 --labels kind --id sample --out result")
def fit(
    talk: Talk,
    data: o.DataArgument,
    components: o.Components,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    model: o.ModelOption = o.Model.l21,
    strength: o.Strength = None,
    alpha: o.Alpha = None,
    beta: o.Beta = None,
    clusters: o.Clusters = None,
    labels: o.LabelsOption = None,
    id: o.IdOption = None,
    standardize: o.StandardizeOption = o.Standardize.none,
    solver: o.SolverOption = o.Solver.cd,
    init: o.InitOption = o.Init.auto,
    n_init: o.NInit = 1,
    max_iter: o.MaxIter = 200,
    tol: o.Tol = 1e-4,
    neighbors: o.Neighbors = 5,
    seed: o.Seed = 0,
    training: o.TrainingOption = o.Training.all,
    checkpoint: o.Checkpoint = None,
    image_shape: Annotated[
        str | None, typer.Option(help="Samples are images, as in 16x16 (height, width).")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the report.")] = None,
    drop_missing: o.DropMissing = False,
    fill: o.FillOption = None,
    delimiter: o.Delimiter = None,
    header: o.Header = None,
    encoding: o.Encoding = "utf-8",
    max_memory: o.MaxMemory = None,
    key: o.Key = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier fit in the folder.")
    ] = False,
) -> None:
    """Factorize a table: writes model, codes, basis, clusters, outlier scores and a report."""
    number = o.components_of(components)
    choice = o.Choice(
        model.value, number or 1, strength, alpha, beta, clusters, standardize.value,
        solver.value, init.value, n_init, max_iter, tol, neighbors, seed, max_memory,
    )  # fmt: skip
    reading = o.Reading.chosen(
        id, labels, drop_missing, fill, delimiter, header, encoding, max_memory, key
    )
    check_target(out, force)
    table = reading.read(data)
    o.describe(talk, table)
    shape = o.image_shape_of(image_shape, table.X.shape[1])
    automatic = None
    if number is None:
        choice, automatic = chosen_parts(talk, table, choice)
    began = time.monotonic()
    fitted, stopped = fit_watched(talk, choice, table, checkpoint)
    seconds = time.monotonic() - began
    parts = Parts.of(fitted)
    scores = outlier_scores(talk, parts, table)
    outcome = _outcome(parts, scores, seconds, stopped)
    for line in _sentences(parts, outcome):
        talk.say(line)
    notes = {
        "feature_names": list(table.feature_names), "named": table.named, "id": table.id_name,
        "labels": table.label_name, "image_shape": shape,
    }  # fmt: skip
    with folder(out) as scratch:
        fitted.save(scratch / MODEL, training=training.value, notes=notes)
        files = {"model": MODEL, **write_tables(scratch, parts, table, scores)}
        try:
            write_report(scratch / REPORT, parts, table, shape, title)
            files["report"] = REPORT
        except (ValueError, ImportError) as error:
            talk.warn(f"There is no report: {error}")
        run = {
            "format": RUN_FORMAT,
            "version": 1,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": ["seminmf", *sys.argv[1:]],
            "data": _data(data, table),
            "reading": asdict(reading),
            "options": asdict(choice),
            "image_shape": shape,
            "title": title,
            "outcome": {**outcome, "automatic": automatic},
            "files": files,
        }
        write_run(scratch, run)
    talk.result = {"out": out, **run}
    names = ", ".join(name for what, name in files.items() if what != "report")
    talk.say(f"Wrote {out}: {names}.")
    if "report" in files:
        talk.say(f"Report: {out / REPORT}")
    if stopped:
        on = f" The same command with --force goes on from {checkpoint}." if checkpoint else ""
        raise Stopped(f"Interrupted: the best model so far is in {out}.{on}")


def fit_watched(
    talk: Talk, choice: o.Choice, table: Table, checkpoint: Path | None = None
) -> tuple[Any, bool]:
    """(fitted model, whether Ctrl-C ended it)."""
    choice.check(table.X.shape[0])
    watch = Watch(talk, choice.tol, choice.max_iter, choice.n_init)
    with stoppable(watch), watch:
        fitted = choice.estimator(watch.callback(), checkpoint).fit(table.X)
    return fitted, watch.stopping


def _data(path: str, table: Table) -> dict[str, Any]:
    stdin = path == "-"
    return {
        "path": None if stdin else str(Path(path).absolute()),
        "sha256": None if stdin or Path(path).is_dir() else sha256(path),
        "kind": table.format.kind,
        "rows": table.X.shape[0],
        "columns": table.X.shape[1],
        "skipped": {column.name: column.reason for column in table.skipped},
        "rows_dropped": table.n_dropped,
        "values_filled": table.n_filled,
        "id": table.id_name,
        "labels": table.label_name,
    }


def _outcome(parts: Parts, scores: Any, seconds: float, stopped: bool) -> dict[str, Any]:
    import numpy as np

    from ..outliers import outlier_threshold

    found = parts.factorizer
    return {
        "model": type(found).__name__,
        "n_components": found.components_.shape[0],
        "n_active": found.n_active_,
        "objective": found.objective_,
        "n_iter": found.n_iter_,
        "converged": found.converged_,
        "alpha": found.alpha_,
        "beta": found.beta_,
        "kkt_residual": found.kkt_residual_,
        "cluster_sizes": np.bincount(
            parts.clusters.labels_, minlength=len(parts.clusters.cluster_centers_)
        ),
        "outliers": None if scores is None else int((scores > outlier_threshold(scores)).sum()),
        "seconds": round(seconds, 3),
        "interrupted": stopped,
    }


def _sentences(parts: Parts, outcome: dict[str, Any]) -> list[str]:
    how = "converged" if outcome["converged"] else "not converged"
    sizes = outcome["cluster_sizes"]
    k, off = outcome["n_components"], outcome["n_components"] - outcome["n_active"]
    zero = f" ({off} of them zero)" if off else ""
    far = outcome["outliers"]
    counted = "" if far is None else f"; {far:,} outlier{'s' * (far != 1)}"
    return [
        f"{outcome['model']} with {k} part{'s' * (k != 1)}{zero}: objective "
        f"{outcome['objective']:.6g} after {outcome['n_iter']} iterations ({how}), "
        f"{duration(outcome['seconds'])}.",
        f"{len(sizes)} cluster{'s' * (len(sizes) != 1)} of {sizes.min():,} to {sizes.max():,} "
        f"samples{counted}.",
    ]
