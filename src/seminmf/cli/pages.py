"""``seminmf report`` and ``seminmf demo``: pages to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._command import app, command
from ._folder import REPORT, RUN, check_apart, read_run, with_fills, write_report
from ._options import Reading, Title
from ._talk import Talk
from .applying import load_model


@command(app, "seminmf report result")
def report(
    talk: Talk,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of seminmf fit.")],
    data: Annotated[str | None, typer.Option(help="The table of the fit, if it has moved.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; by default DIR/report.html.")
    ] = None,
    title: Title = None,
) -> None:
    """Write the report of a fit again, from its folder and its table."""
    from ..io import sha256_of

    run = read_run(folder)
    parts, notes = load_model(str(folder))
    path = run["data"]["path"] if data is None else data
    if path is None:
        raise ValueError(
            f"{folder}: the fit read standard input; give the same table with --data FILE."
        )
    if not Path(path).exists():
        raise FileNotFoundError(
            f"{path}: the table of the fit is gone; say where with --data FILE."
        )
    target = folder / REPORT if out is None else out
    own = [folder / name for what, name in run["files"].items() if what != "report"]
    check_apart(target, path, folder / RUN, *own)
    known = run["data"]["sha256"]
    if known is not None and sha256_of(path) != known:
        raise ValueError(
            f"{path} is not the table of the fit any more: its content has changed. Give the "
            "original with --data FILE, or fit again."
        )
    reading = Reading.restored(run["reading"])
    if getattr(parts.model, "fill_", None) is not None:
        reading = reading.keeping_gaps()
    table = reading.read(path, list(notes["feature_names"]) if notes["named"] else None)
    table, shape = with_fills(parts, table), run["image_shape"]
    write_report(
        target, parts, table, None if shape is None else tuple(shape), title or run["title"],
        run["command"],
    )  # fmt: skip
    talk.result = {"report": str(target)}
    talk.say(f"Report: {target}")


@command(app, "seminmf demo --out demo-report")
def demo(
    talk: Talk,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = Path(
        "demo-report"
    ),
) -> None:
    """Show the package at work on signals of three kinds, a tenth of them corrupted."""
    from .. import demo as demonstration

    demonstration.check_folder(out)
    talk.say(
        "Fitting a model to 2,000 signals (the first fit compiles, which takes some seconds) …"
    )
    findings = demonstration.explore()
    page = demonstration.write(findings, out)
    for sentence in findings.sentences():
        talk.say(sentence)
    talk.result = {"sentences": findings.sentences(), "report": str(page)}
    talk.say(f"Report: {page}")
