"""The folder of a fit: model, tables, page and what was done, written whole or not at all."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import atomic, beside
from ._talk import Talk, to_json

if TYPE_CHECKING:
    from ..io import Format, Table

MODEL, RUN, REPORT = "model.seminmf", "run.json", "report.html"
RUN_FORMAT = "seminmf-run"


@dataclass(frozen=True)
class Parts:
    """A model taken apart: the standardization around it, if any, and the factorization in it."""

    model: Any
    clusters: Any
    factorizer: Any

    @classmethod
    def of(cls, model: Any) -> Parts:
        inner = getattr(model, "model_", model)
        return cls(model, inner, getattr(inner, "factorizer_", inner))

    def standardized(self, X: Any) -> Any:
        """Samples as the factorization sees them."""
        return X if self.model is self.clusters else self.model.standardize(X)


def check_target(out: Path, force: bool) -> None:
    """Before any long work: whether the folder can be written."""
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"--out {out} is a file; name a folder.")
    if out.is_dir() and any(out.iterdir()):
        if not force:
            raise FileExistsError(
                f"--out {out} is not empty; choose another folder, or --force to replace a fit."
            )
        if not (out / RUN).is_file():
            raise FileExistsError(
                f"--out {out} is not the folder of a fit; --force replaces only these."
            )
    place = out
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(f"--out {out}: {place} is a file, not a folder.")
    try:
        probe = beside(place / "probe")
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise PermissionError(f"--out {out}: cannot write in {place} ({error.strerror}).") from None


def check_apart(out: str | Path, *read: str | Path) -> None:
    """Before any long work: that a file to be written takes the place of none that is read."""
    place = Path(out)
    for path in map(Path, read):
        if place.exists() and path.exists() and place.samefile(path):
            raise FileExistsError(f"--out {out} is read, and would be lost; give another name.")


@contextmanager
def folder(out: Path, force: bool) -> Iterator[Path]:
    """A folder to write to, whose files come to stand in ``out`` at the end.

    A new folder appears by one renaming; if another fit was faster, this one writes nothing. With
    ``force`` each file of an earlier fit is replaced in one step, `RUN` last; what it left and this
    one does not write is removed, and what is not from a fit stays.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = beside(out.absolute())
    scratch.mkdir()
    try:
        yield scratch
        if not (out / RUN).is_file():
            _appear(scratch, out)
            return
        if not force:
            raise FileExistsError(
                f"--out {out} was written by another fit meanwhile, and stays as it is; choose "
                "another folder."
            )
        old = set(_files_of(out))
        names = sorted((file.name for file in scratch.iterdir()), key=lambda name: name == RUN)
        for name in names:
            (scratch / name).replace(out / name)
        for name in old - set(names):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error.filename, str):  # as it would have been called
            error.filename = error.filename.replace(str(scratch), str(out))
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _appear(scratch: Path, out: Path) -> None:
    """Rename a folder to one that is not there, or is empty; no other can come between."""
    try:
        scratch.replace(out)
    except OSError as error:
        if not out.is_dir():
            raise
        raise FileExistsError(
            f"--out {out} is not empty any more: another program has written there meanwhile "
            f"({error.strerror}). Choose another folder."
        ) from None


def _files_of(out: Path) -> list[str]:
    """The files that the fit in a folder wrote."""
    if not (out / RUN).is_file():
        return []
    names = read_run(out)["files"]
    return [name for name in names.values() if Path(name).name == name]


def read_run(out: Path) -> dict[str, Any]:
    """What was done in the folder of a fit."""
    path = out / RUN
    if not out.is_dir():
        raise FileNotFoundError(f"{out} is not a folder; give the --out folder of seminmf fit.")
    if not path.is_file():
        raise FileNotFoundError(f"{out} has no {RUN}; give the --out folder of seminmf fit.")
    try:
        run = json.loads(path.read_bytes())
        if run["format"] != RUN_FORMAT or not isinstance(run["files"], dict):
            raise ValueError("another format")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); fit again with --force.") from None
    return dict(run)


def typed() -> list[str]:
    """The command that was given."""
    return ["seminmf", *sys.argv[1:]]


def run_of(
    table: Table, reading: Any, choice: Any, shape: Any, title: str | None,
    outcome: dict[str, Any], files: dict[str, str],
) -> dict[str, Any]:  # fmt: skip
    """What was done, for `RUN`."""
    return {
        "format": RUN_FORMAT,
        "version": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": typed(),
        "data": asdict(table.record),
        "reading": reading.told(),
        "options": asdict(choice),
        "image_shape": shape,
        "title": title,
        "outcome": outcome,
        "files": files,
    }


def notes_of(parts: Parts, table: Table, shape: Any) -> dict[str, Any]:
    """What a model file says of the table."""
    return {
        "feature_names": list(table.feature_names), "named": table.named, "id": table.id_name,
        "labels": table.label_name, "image_shape": shape, "medians": medians_of(parts, table),
    }  # fmt: skip


def write_run(scratch: Path, run: dict[str, Any]) -> None:
    with atomic(scratch / RUN) as stream:
        stream.write((to_json(run, indent=1) + "\n").encode("utf-8", "backslashreplace"))


def in_parts(table: Table) -> bool:
    """Whether a table is read in parts."""
    from ..sources import Source

    return isinstance(table.X, Source)


def outlier_scores(talk: Talk, parts: Parts, table: Table) -> Any:
    """Scores of all samples; none, and a word about it, for a table that is read in parts."""
    if in_parts(table):
        talk.say(
            f"No outlier scores: they need all samples in memory, and {table.source} is read in "
            "parts."
        )
        return None
    return parts.clusters.outlier_scores(parts.standardized(table.X))


def with_fills(parts: Parts, table: Table) -> Table:
    """The table with a record of what its model puts in place of missing values."""
    fills = getattr(parts.model, "fill_", None)
    record = table.record
    if fills is None or not record.gaps:
        return table
    by_name = dict(zip(table.feature_names, fills.tolist(), strict=True))
    found = {name: by_name[name] for name in record.gaps}
    arguments = {**record.arguments, "missing": "keep"}
    filled = sum(record.gaps.values())
    return replace(
        table, record=replace(record, arguments=arguments, fills=found, values_filled=filled)
    )


def medians_of(parts: Parts, table: Table) -> Any:
    """For gaps in new samples of a model that did not have to fill any; None where it does."""
    import numpy as np

    from ..models.gaps import column_medians

    if getattr(parts.model, "fill_", None) is not None or not isinstance(table.X, np.ndarray):
        return None
    return column_medians(table.X)


def keys(table: Table, format: Format) -> dict[str, Any]:
    """Columns that say which sample a row is; none where a file holds numbers alone."""
    if table.ids is not None:
        return {table.id_name or "id": table.ids}
    if format.kind in ("npy", "npz"):
        return {}
    return {"row": table.rows + 1}


def code_columns(codes: Any) -> dict[str, Any]:
    return {f"part_{j}": codes[:, j] for j in range(codes.shape[1])}


def write_tables(scratch: Path, parts: Parts, table: Table, scores: Any) -> dict[str, str]:
    """Codes, basis, clusters and outliers (without scores none) in the format of the input.

    Returns their files by what they hold.
    """
    import numpy as np

    from ..io import write_table
    from ..outliers import outlier_threshold

    factorizer = parts.factorizer
    samples = keys(table, table.format)
    basis = code_columns(factorizer.components_.T)
    if table.named or table.format.kind not in ("npy", "npz"):
        basis = {"feature": np.array(table.feature_names, dtype=object), **basis}
    tables = {
        "codes": {**samples, **code_columns(factorizer.codes_)},
        "basis": basis,
        "clusters": {**samples, "cluster": parts.clusters.labels_},
    }
    if scores is not None:
        rank = np.empty(len(scores), dtype=np.int64)
        rank[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        tables["outliers"] = {
            **samples,
            "outlier_score": scores,
            "rank": rank,
            "outlier": scores > outlier_threshold(scores),
        }
    if not samples and table.n_dropped:
        tables["rows"] = {"row": table.rows + 1}
    return {
        what: write_table(scratch / what, columns, format=table.format).name
        for what, columns in tables.items()
    }


def write_report(
    path: Path,
    parts: Parts,
    table: Table,
    image_shape: tuple[int, int] | None,
    title: str | None,
    command: list[str],
) -> None:
    """The page about a fit."""
    from ..reporting import report

    if in_parts(table):
        raise ValueError(
            f"it would show samples, and {table.source} is read in parts. Fit to a part of it that "
            "fits in memory to see one."
        )
    report(
        parts.model, table, image_shape=image_shape, title=title, command=shlex.join(command)
    ).save(path)
