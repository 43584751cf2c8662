"""``seminmf datasets``: the data sets of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._command import app, command, group
from ._talk import Talk

datasets_app = group("datasets", "The data sets of the paper.", "seminmf datasets list")
app.add_typer(datasets_app, name="datasets")


@command(datasets_app, "seminmf datasets list", name="list")
def list_datasets(talk: Talk) -> None:
    """List the data sets and where their files are."""
    from rich.table import Table

    from ..datasets import available, dataset_info, locate

    table = Table("name", "samples", "features", "classes", "file", box=None, pad_edge=False)
    rows = []
    for name in available():
        info = dataset_info(name)
        found = locate(name)
        shape = (info.n_samples, info.n_features, len(info.class_names))
        table.add_row(name, *map(str, shape), "not here" if found is None else str(found))
        rows.append(
            {
                "name": name,
                "samples": info.n_samples,
                "features": info.n_features,
                "classes": len(info.class_names),
                "file": None if found is None else str(found),
            }
        )
    talk.result = {"datasets": rows}
    talk.say(table)


@command(datasets_app, "seminmf datasets fetch waveform", name="fetch")
def fetch_datasets(
    talk: Talk,
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Data sets, or all.")],
    data_home: Annotated[
        Path | None, typer.Option(help="Folder to look in and to download to.")
    ] = None,
) -> None:
    """Find or download data sets, and print where the files are."""
    from ..datasets import available, fetch

    files: dict[str, str] = {}
    for name in available() if "all" in names else names:
        files[name] = str(fetch(name, data_home))
        talk.say(f"{name} {files[name]}")
    talk.result = {"files": files}
