"""Options that several commands have, and what they stand for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._words import counted
from ._talk import Talk

if TYPE_CHECKING:
    from ..io import Table
    from ..solve.loop import Callback


class Model(StrEnum):
    l21 = "l21"
    graph = "graph"
    semi = "semi"
    nmf = "nmf"


class Solver(StrEnum):
    cd = "cd"
    mu = "mu"


class Init(StrEnum):
    auto = "auto"
    random = "random"
    svd = "svd"
    kmeans = "kmeans"
    exemplar = "exemplar"


class Standardize(StrEnum):
    none = "none"
    mean = "center"
    scale = "scale"
    robust = "robust"


class Training(StrEnum):
    all = "all"
    landmarks = "landmarks"
    none = "none"


class Fill(StrEnum):
    median = "median"


_FORMATS = (
    "CSV or TSV (also .gz), Excel, JSON lines, Parquet, Feather, NPY, NPZ, Matrix Market, H5AD, or "
    "a 10x folder. - reads CSV from stdin. HDF5, and folders of Zarr or Parquet, are read in parts."
)
# Options by what they are about, so that the help is no list of forty.
_table = partial(typer.Option, rich_help_panel="How the table is read")
_model = partial(typer.Option, rich_help_panel="The model")

DataArgument = Annotated[str, typer.Argument(metavar="DATA", help=f"Table: {_FORMATS}")]
Components = Annotated[
    str,
    typer.Option(
        "--components", "-k", metavar="INTEGER|auto", help="Number of parts; auto finds it."
    ),
]
StandardizeOption = Annotated[
    Standardize,
    _model(help="Columns: subtract the mean; divide by the deviation too; or use quartiles."),
]
Neighbors = Annotated[int, _model(min=1, help="Neighbours of each sample in the graph.")]
TrainingOption = Annotated[
    Training, _model(help="Which samples to keep in model.seminmf: all, some, none.")
]
Checkpoint = Annotated[
    Path | None,
    _model(help="Folder for the state of the fit; the same command resumes from it."),
]
Seed = Annotated[int, _model(min=0, help="The same seed gives the same result.")]

Title = Annotated[str | None, typer.Option(help="Heading of the page.")]

OutFile = Annotated[
    str,
    typer.Option("--out", "-o", help="File to write; its ending sets the format. - is stdout."),
]


@dataclass(frozen=True)
class Output:
    """A folder with a page; a command with a parameter of this type has the options for it."""

    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")]
    image_shape: Annotated[
        str | None, typer.Option(help="Samples are images of this height and width, e.g. 16x16.")
    ] = None
    title: Title = None
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier result in the folder.")
    ] = False


@dataclass(frozen=True)
class Reading:
    """How to read a table; a command with a parameter of this type has the options for it."""

    id: Annotated[str | None, _table("--id", help="Column that names the samples.")] = None
    labels: Annotated[str | None, _table(help="Column with known classes, for comparison.")] = None
    drop_missing: Annotated[
        bool, _table("--drop-missing", help="Leave out rows that have missing values.")
    ] = False
    fill: Annotated[Fill | None, _table(help="Fill missing values, column by column.")] = None
    delimiter: Annotated[
        str | None, _table(help="Of a text file: a character, tab or space; guessed by default.")
    ] = None
    header: Annotated[
        bool | None, _table(help="Whether line 1 of a text file is a header; guessed by default.")
    ] = None
    encoding: Annotated[str, _table(help="Of a text file.")] = "utf-8"
    max_memory: Annotated[
        str | None,
        _table(metavar="SIZE", help="Read the table in parts and use this much at most, e.g. 2GB."),
    ] = None
    key: Annotated[
        str | None, _table(help="Sheet of an Excel file, or array of an HDF5 or Zarr file.")
    ] = None
    keep: Annotated[
        list[str] | None,
        _table(metavar="COLUMN", help="Use as a feature, though it looks like an id; repeatable."),
    ] = None
    transpose: Annotated[
        bool, _table("--transpose", help="Columns are the samples, e.g. when each row is a gene.")
    ] = False
    decimal: Annotated[str | None, _table(help="Decimal mark, . or , (guessed by default).")] = None
    comment: Annotated[str, _table(help="Skip lines that begin with this; '' skips none.")] = "#"
    na_values: Annotated[
        list[str] | None,
        _table(metavar="TEXT", help="Text or number that means a missing value; repeatable."),
    ] = None
    # No option of its own.
    keeps_gaps: bool = False
    """For a model that fills gaps itself, with what it learned in its fit."""

    def __post_init__(self) -> None:
        if self.drop_missing and self.fill is not None:
            raise ValueError("--drop-missing and --fill exclude each other; choose one.")

    @property
    def missing(self) -> str:
        """What becomes of missing values, as `seminmf.io.read_table` takes it."""
        if self.keeps_gaps:
            return "keep"
        return "drop" if self.drop_missing else "error" if self.fill is None else self.fill.value

    def keeping_gaps(self) -> Reading:
        """The same where the model fills gaps."""
        return self if self.fill is None else replace(self, keeps_gaps=True)

    def told(self) -> dict[str, Any]:
        """Arguments for tables, as `RUN` has them."""
        own = ("drop_missing", "fill", "keeps_gaps")
        known = {name: value for name, value in asdict(self).items() if name not in own}
        return {
            **known, "missing": self.missing, "keep": self.keep or [],
            "na_values": self.na_values or [],
        }  # fmt: skip

    @classmethod
    def restored(cls, told: dict[str, Any]) -> Reading:
        """The inverse of `told`."""
        known = {name: value for name, value in told.items() if name != "missing"}
        fill = Fill.median if told["missing"] == Fill.median else None
        return cls(**known, drop_missing=told["missing"] == "drop", fill=fill)

    def in_parts(self, path: str) -> bool:
        """Whether the table at a path will be read in parts."""
        from ..io._sources import is_in_parts

        named = self.key is not None and not path.lower().endswith(".xlsx")
        return self.max_memory is not None or named or is_in_parts(path)

    def read(self, path: str, features: Any = None) -> Table:
        from ..io import open_table, read_table, sha256_of

        options = {k: v for k, v in self.told().items() if k != "max_memory"}
        if not self.in_parts(path):
            return read_table(path, features=features, **options)
        for name, default in Reading().told().items():
            if name not in ("max_memory", "key", "keep") and options[name] != default:
                flag = {"missing": "drop-missing and --fill", "na_values": "na-values"}.get(
                    name, name
                )
                raise ValueError(
                    f"--{flag} is not for tables that are read in parts, as {path} is; leave it "
                    "out, or give a table that is read as a whole (without --max-memory)."
                )
        table = open_table(path, key=self.key, features=features, keep=self.keep or ())
        return replace(table, record=replace(table.record, sha256=sha256_of(path)))


def describe(talk: Talk, table: Table, of_whom: str = "the column") -> None:
    """Say what was read, what was skipped, and why; and whose median stands where none was."""
    import numpy as np
    import scipy.sparse as sp

    n, m = table.X.shape
    sparse = sp.issparse(table.X) or getattr(table.X, "indptr", None) is not None
    kind = "sparse matrix" if sparse else "numeric"
    parts = [counted(n, "row"), counted(m, f"{kind} column")]
    if table.id_name is not None:
        parts.append(f"ids from {table.id_name!r}")
    if table.label_name is not None:
        parts.append(f"labels from {table.label_name!r}")
    verb = "Read" if isinstance(table.X, np.ndarray) or sp.issparse(table.X) else "Opened"
    talk.say(f"{verb} {table.source}: {', '.join(parts)}.")
    if table.n_dropped:
        talk.say(f"Left out {counted(table.n_dropped, 'row')} with missing values.")
    gaps = sum(table.record.gaps.values())
    if gaps and not table.n_dropped:
        talk.say(f"Filled {counted(gaps, 'missing value')} with the median of {of_whom}.")
    shown = table.skipped[:8]
    if shown:
        listed = "; ".join(f"{column.name!r}: {column.reason}" for column in shown)
        more = f"; and {len(table.skipped) - 8} more" if len(table.skipped) > 8 else ""
        talk.say(f"Columns not used: {listed}{more}.")
    for remark in table.record.remarks:
        talk.say(f"{remark[0].upper()}{remark[1:]}.")


@dataclass(frozen=True)
class Choice:
    """Which model to fit; a command with a parameter of this type has the options for it."""

    model: Annotated[
        Model, _model("--model", "-m", help="l21 is robust; graph, semi and nmf: least squares.")
    ] = Model.l21
    strength: Annotated[
        float | None, _model(min=0, help="Strength of both penalties; by default from the data.")
    ] = None
    alpha: Annotated[float | None, _model(min=0, help="Weight of the graph penalty.")] = None
    beta: Annotated[float | None, _model(min=0, help="Weight of the penalty on the parts.")] = None
    clusters: Annotated[
        int | None,
        _model("--clusters", "-c", min=1, help="Number of clusters; by default that of parts."),
    ] = None
    standardize: StandardizeOption = Standardize.none
    solver: Annotated[Solver, _model(help="cd is fast; mu is the paper's algorithm.")] = Solver.cd
    init: Annotated[Init, _model(help="How to start.")] = Init.auto
    n_init: Annotated[int, _model(min=1, help="Number of starts; the best result is kept.")] = 1
    max_iter: Annotated[int, _model(min=1, help="Most iterations per start.")] = 200
    tol: Annotated[
        float, _model(min=0, help="Stop when the objective falls by a smaller share.")
    ] = 1e-4
    neighbors: Neighbors = 5
    seed: Seed = 0
    # No options of their own.
    components: int = 1
    max_memory: str | None = None
    fill: Fill | None = None

    def __post_init__(self) -> None:
        penalties = {"--strength": self.strength, "--alpha": self.alpha, "--beta": self.beta}
        given = [name for name, value in penalties.items() if value is not None]
        if given and self.model in ("semi", "nmf"):
            raise ValueError(
                f"--model {self.model} has no penalties: leave out {' and '.join(given)}, or "
                "choose --model l21 or --model graph."
            )
        if self.strength is not None and len(given) > 1:
            raise ValueError(
                f"--strength stands for --alpha and --beta together: leave out {given[1]}, or "
                "leave out --strength."
            )

    def of_parts(self, components: int, reading: Reading) -> Choice:
        """The same for so many parts, and for a table that is read like that."""
        return replace(
            self, components=components, max_memory=reading.max_memory, fill=reading.fill
        )

    def check(self, n_samples: int) -> None:
        """Whether there are samples for so many parts and clusters; in words of the options."""
        for option, count in (("-k", self.components), ("--clusters", self.clusters)):
            if count is not None and count > n_samples:
                raise ValueError(
                    f"{option} {count} is more than there are rows, {n_samples:,}; choose fewer."
                )
        has_graph = self.model in ("l21", "graph") and 0 not in (self.alpha, self.strength)
        if has_graph and self.neighbors >= n_samples:
            most = f"choose --neighbors {n_samples - 1}, or " if n_samples > 1 else ""
            raise ValueError(
                f"--neighbors {self.neighbors} is too many for {counted(n_samples, 'row')}; {most}"
                "--alpha 0 --beta 0 for a fit without a graph."
            )

    def estimator(self, callback: Callback | None = None, checkpoint: Path | None = None) -> Any:
        """The estimator, not fitted; with standardization around it if there is any."""
        from .. import NMF, FactorKMeans, GraphSemiNMF, L21SemiNMF, SemiNMF, Standardized

        classes = {"l21": L21SemiNMF, "graph": GraphSemiNMF, "semi": SemiNMF, "nmf": NMF}
        options: dict[str, Any] = {
            "solver": self.solver.value, "init": self.init.value, "n_init": self.n_init,
            "max_iter": self.max_iter, "tol": self.tol, "random_state": self.seed,
            "callback": callback, "checkpoint": checkpoint, "max_memory": self.max_memory,
        }  # fmt: skip
        if self.model in ("l21", "graph"):
            options["n_neighbors"] = self.neighbors
            for name in ("strength", "alpha", "beta"):
                if getattr(self, name) is not None:
                    options[name] = getattr(self, name)
        factorizer = classes[self.model](self.components, **options)
        clusters = FactorKMeans(factorizer, n_clusters=self.clusters, random_state=self.seed)
        if self.standardize == "none" and self.fill is None:
            return clusters
        how: Any = self.standardize.value
        return Standardized(clusters, how, fill=self.fill and self.fill.value)  # type: ignore[arg-type]


def with_hint(table: Table, choice: Choice) -> Table:
    """The table with a word on its scales, if they are not to be brought to one."""
    from ..io import scale_hint

    hint = scale_hint(table.X, table.feature_names) if choice.standardize == "none" else None
    if hint is None:
        return table
    record = replace(table.record, remarks=[*table.record.remarks, hint])
    return replace(table, record=record)


def components_of(text: str) -> int | None:
    """The number of parts that ``-k`` says; None if the data are to say it."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"-k must be a number of parts of at least 1, or auto, got {text!r}.")
    return int(text)


def image_shape_of(text: str | None, n_features: int) -> tuple[int, int] | None:
    """``16x16`` as numbers, if there are so many features."""
    if text is None:
        return None
    height, _, width = text.lower().replace("×", "x").partition("x")
    if not (height.isdecimal() and width.isdecimal()):
        raise ValueError(f"--image-shape must be as in 16x16, height and width, got {text!r}.")
    shape = int(height), int(width)
    if shape[0] * shape[1] != n_features:
        raise ValueError(
            f"--image-shape {text} has {counted(shape[0] * shape[1], 'pixel')}, but the table has "
            f"{counted(n_features, 'numeric column')}; use --id and --labels for columns that "
            "are no pixels."
        )
    return shape


def is_model(path: str) -> bool:
    """Whether a path is that of a model: a folder of a fit, or a file that says it is one."""
    place = Path(path)
    if place.is_dir():
        return True
    if place.suffix == ".seminmf":
        return True
    if not place.is_file():
        return False
    from ..models.container import HEADER

    with place.open("rb") as stream:
        return HEADER.encode() in stream.read(64)
