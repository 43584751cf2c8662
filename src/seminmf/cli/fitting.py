"""``seminmf fit``: from a table to a folder with model, tables and page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._words import counted
from . import _options as o
from ._command import Stopped, app, command
from ._folder import (
    MODEL,
    REPORT,
    Parts,
    check_target,
    folder,
    notes_of,
    outlier_scores,
    run_of,
    typed,
    with_fills,
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
    output: o.Output,
    reading: o.Reading,
    choice: o.Choice,
    training: o.TrainingOption = o.Training.all,
    checkpoint: o.Checkpoint = None,
) -> None:
    """Factorize a table; write the model, codes, parts, clusters, outlier scores and a report."""
    number = o.components_of(components)
    choice = choice.of_parts(number or 1, reading)
    out, title = output.out, output.title
    check_target(out, output.force)
    table = reading.keeping_gaps().read(data)
    table = o.with_hint(table, choice)
    o.describe(talk, table)
    shape = o.image_shape_of(output.image_shape, table.X.shape[1])
    automatic = None
    if number is None:
        choice, automatic = chosen_parts(talk, table, choice)
    began = time.monotonic()
    fitted, stopped = fit_watched(talk, choice, table, checkpoint)
    seconds = time.monotonic() - began
    parts = Parts.of(fitted)
    table = with_fills(parts, table)
    scores = outlier_scores(talk, parts, table)
    outcome = _outcome(parts, scores, seconds, stopped)
    for line in _sentences(parts, outcome):
        talk.say(line)
    with folder(out, output.force) as scratch:
        notes = notes_of(parts, table, shape)
        fitted.save(scratch / MODEL, training=training.value, notes=notes)
        files = {"model": MODEL, **write_tables(scratch, parts, table, scores)}
        try:
            write_report(scratch / REPORT, parts, table, shape, title, typed())
            files["report"] = REPORT
        except (ValueError, ImportError) as error:
            talk.warn(f"There is no report: {error}")
        outcome["automatic"] = automatic
        run = run_of(table, reading, choice, shape, title, outcome, files)
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
    least = counted(min(sizes), "sample")
    of = least if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,} samples"
    far = outcome["outliers"]
    outliers = "" if far is None else f"; {counted(far, 'outlier')}"
    return [
        f"{outcome['model']} with {counted(k, 'part')}{zero}: objective "
        f"{outcome['objective']:.6g} after {counted(outcome['n_iter'], 'iteration')} ({how}), "
        f"{duration(outcome['seconds'])}.",
        f"{counted(len(sizes), 'cluster')} of {of}{outliers}.",
    ]
