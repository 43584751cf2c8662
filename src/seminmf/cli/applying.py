"""``seminmf transform`` and ``seminmf cluster``: a model meets samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._words import counted
from . import _options as o
from ._command import Stopped, app, command
from ._folder import (
    MODEL,
    RUN,
    Parts,
    check_apart,
    code_columns,
    keys,
    outlier_scores,
    read_run,
)
from ._talk import Talk
from .fitting import fit_watched

if TYPE_CHECKING:
    from ..io import Table

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="Folder of seminmf fit, or a model file.")
]


def load_model(path: str) -> tuple[Parts, dict[str, Any]]:
    """A model and the notes on it, from its file or the folder of its fit."""
    from ..models.persistence import load_with_notes

    place = Path(path)
    if place.is_dir():
        if not (place / MODEL).is_file():
            raise FileNotFoundError(f"{place} has no {MODEL}; give the folder of seminmf fit.")
        place = place / MODEL
    if not place.is_file():
        raise FileNotFoundError(f"{place}: no such model; seminmf fit writes one.")
    model, notes = load_with_notes(place)
    return Parts.of(model), notes


def read_for(
    talk: Talk, parts: Parts, notes: dict[str, Any], data: str, reading: o.Reading
) -> Table:
    """Samples with the features of the model, in its order where they have names."""
    if reading.max_memory is not None:
        parts.factorizer.set_params(max_memory=reading.max_memory)
    own = getattr(parts.model, "fill_", None)
    fills = own if own is not None else notes.get("medians")
    if own is not None and reading.missing == "error" and not reading.in_parts(data):
        reading = replace(reading, keeps_gaps=True)
    elif reading.missing == "median" and fills is None:
        raise ValueError(
            "--fill median needs the medians of the fit, which this model does not have; fit it "
            "again with --fill median, or leave out the rows with --drop-missing."
        )
    reading = reading.keeping_gaps()
    names = notes.get("feature_names") if notes.get("named") else None
    if names is None and hasattr(parts.model, "feature_names_in_"):
        names = list(parts.model.feature_names_in_)
    table = reading.read(data, names)
    if table.X.shape[1] != parts.model.n_features_in_:
        raise ValueError(
            f"{table.source} has {counted(table.X.shape[1], 'numeric column')}, but the model has "
            f"{counted(parts.model.n_features_in_, 'feature')}; give a table with the same "
            "columns, and say "
            "which are ids or labels with --id and --labels."
        )
    o.describe(talk, table, "the column in the fit")
    if own is None and fills is not None and table.record.gaps and reading.missing == "keep":
        from ..models.gaps import filled

        table = replace(table, X=filled(table.X, fills))
    return table


def deliver(talk: Talk, out: str, table: Table | None, columns: dict[str, Any]) -> None:
    """Write the columns where they were asked for."""
    from ..io import Format, write_table
    from ..io._write import written_format

    format = Format("csv", ".csv") if out == "-" else written_format(out)
    samples = {} if table is None else keys(table, format)
    if format.kind == "npy":
        samples = {}  # numbers alone
    everything = {**samples, **columns}
    if talk.as_json and out == "-":
        rows = list(zip(*(list(values) for values in everything.values()), strict=True))
        talk.result |= {"columns": list(everything), "rows": rows}
        return
    written = write_table(out, everything)
    talk.result["out"] = str(written)
    if out != "-":
        talk.say(f"Wrote {written}.")


@command(app, "seminmf transform result new-signals.csv --out codes.csv")
def transform(
    talk: Talk,
    model: ModelArgument,
    data: o.DataArgument,
    reading: o.Reading,
    out: o.OutFile = "-",
) -> None:
    """Compute the codes of new samples: how much of each part of a fitted model they have."""
    talk.data_on_stdout = talk.data_on_stdout or out == "-"
    _check_out(out, data)
    parts, notes = load_model(model)
    table = read_for(talk, parts, notes, data, reading)
    codes = parts.factorizer.transform(parts.standardized(table.X))
    deliver(talk, out, table, code_columns(codes))


def _check_out(out: str, *read: str) -> None:
    """Before any long work: whether the file can be written, and is none of those that are read."""
    from ..io._write import written_format

    written_format(out)
    if out != "-" and not Path(out).absolute().parent.is_dir():
        raise FileNotFoundError(
            f"--out {out}: {Path(out).parent} is not a folder; create it first."
        )
    check_apart(out, *read)


@command(app, "seminmf cluster signals.csv -k 10 --clusters 3 --out clusters.csv")
def cluster(
    talk: Talk,
    model_or_data: Annotated[
        str, typer.Argument(metavar="MODEL|DATA", help="A fitted model, or a table to fit first.")
    ],
    reading: o.Reading,
    choice: o.Choice,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="New samples, if a MODEL is given.")
    ] = None,
    components: Annotated[
        int | None, typer.Option("--components", "-k", min=1, help="Number of parts, for a table.")
    ] = None,
    out: o.OutFile = "-",
) -> None:
    """Cluster a table, or new samples by a fitted model, with outlier scores.

    With DATA alone a model is fitted and not kept (needs -k); seminmf fit keeps it.
    """
    talk.data_on_stdout = talk.data_on_stdout or out == "-"
    _check_out(out, model_or_data, *([] if data is None else [data]))
    if data is None and not o.is_model(model_or_data):
        if components is None:
            if model_or_data != "-" and not Path(model_or_data).exists():
                raise FileNotFoundError(f"{model_or_data}: no such file or folder.")
            raise ValueError("a table needs the number of parts, as in -k 10; see --help.")
        choice = choice.of_parts(components, reading)
        table = o.with_hint(reading.keeping_gaps().read(model_or_data), choice)
        o.describe(talk, table)
        fitted, stopped = fit_watched(talk, choice, table)
        if stopped:
            raise Stopped("Interrupted: nothing was written.")
        parts = Parts.of(fitted)
        scores = outlier_scores(talk, parts, table)
        _deliver_clusters(talk, out, table, parts.clusters.labels_, scores)
        return
    _refuse_fitting(
        {
            "-k": components, "--strength": choice.strength, "--alpha": choice.alpha,
            "--beta": choice.beta, "--clusters": choice.clusters,
            "--model": choice.model != o.Model.l21 or None,
            "--standardize": choice.standardize != o.Standardize.none or None,
        },
        model_or_data,
    )  # fmt: skip
    parts, notes = load_model(model_or_data)
    if not hasattr(parts.clusters, "labels_"):
        raise ValueError(
            f"{model_or_data} is a {type(parts.clusters).__name__} without clusters; save a "
            "FactorKMeans, or use seminmf fit."
        )
    if data is None:
        talk.say("A model alone has no outlier scores: give its DATA too for those.")
        found = parts.clusters.labels_
        deliver(talk, out, None, {**_own_keys(model_or_data, len(found)), "cluster": found})
        return
    table = read_for(talk, parts, notes, data, reading)
    found = parts.clusters.predict(parts.standardized(table.X))
    _deliver_clusters(talk, out, table, found, outlier_scores(talk, parts, table))


def _refuse_fitting(options: dict[str, Any], model: str) -> None:
    """Nothing is fitted where there is a model: what only a fit heeds would have no effect."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ValueError(
            f"{given[0]} is for a table that is fitted first, and {model} is a model; leave it "
            "out, or fit another with seminmf fit."
        )


def _own_keys(path: str, n_samples: int) -> dict[str, Any]:
    """What the fit called its samples, as far as its folder tells; else their rows."""
    import numpy as np

    from ..io import read_table

    rows = {"row": np.arange(1, n_samples + 1)}
    if not (Path(path) / RUN).is_file():
        return rows
    run = read_run(Path(path))
    name, file = run["data"]["id"] or "row", Path(path) / run["files"]["clusters"]
    if file.suffix == ".npy":
        other = run["files"].get("rows")
        return rows if other is None else {"row": np.load(Path(path) / other)}
    how: dict[str, Any] = {}
    if file.suffix != ".parquet":
        # Nothing is to be found out about a file of ours: ids may begin like comments.
        delimiter = run["data"]["arguments"].get("delimiter", ",")
        how = {"header": True, "comment": "", "delimiter": delimiter}
    ids = read_table(file, id=name, features=["cluster"], **how).ids
    assert ids is not None
    return {name: ids.astype(np.int64) if name == "row" else ids}


def _deliver_clusters(talk: Talk, out: str, table: Table, found: Any, scores: Any) -> None:
    if table.labels is not None:
        from ..metrics import majority_accuracy, nmi

        accuracy, shared = majority_accuracy(table.labels, found), nmi(table.labels, found)
        talk.result |= {"accuracy": accuracy, "nmi": shared}
        talk.say(
            f"Against {table.label_name!r}: {accuracy:.1%} of the samples are in a cluster of "
            f"their own class; normalised mutual information {shared:.3f}."
        )
    scored = {} if scores is None else {"outlier_score": scores}
    deliver(talk, out, table, {"cluster": found, **scored})
