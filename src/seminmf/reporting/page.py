"""The results page: a pure function of the rows of the experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from .._files import atomic
from ..experiments.models import GR_PAIRS
from ..experiments.paper import DATASETS, SIGMA_USPST, paper_grid
from . import figures, images, tables
from .document import Document, Drawing, Section, Table
from .figures import NAMES
from .html import to_html
from .markdown import to_markdown
from .summary import Row, select

Rows = dict[str, list[Row]]

_OTHER_K = (
    "GR SNF is outside only at a k other than the one at which its α and β were chosen. With the "
    "default strength (the table of defaults below) it is not outside, so the pair is the reason."
)
_CLOSER_FIT = (
    "By coordinate descent SNF fits better (a lower J on average) and clusters worse: without a "
    "graph a closer fit is not a better clustering, and 500 multiplicative iterations stop early."
)
# What was found out about cells that do not agree with the paper, by solver, data set and model;
# more in docs/reproduction.md.
REASONS: dict[tuple[str, str, str], str] = {
    ("mu", "ionosphere", "GR SNF"): _OTHER_K,
    ("cd", "ionosphere", "GR SNF"): _OTHER_K,
    ("cd", "waveform", "SNF"): _CLOSER_FIT,
    ("cd", "uspst", "SNF"): _CLOSER_FIT,
}


def results_document(rows: Rows) -> Document:
    """The page from the rows of each experiment; what has no rows is left out."""
    sections = [section for make in _SECTIONS for section in make(rows)]
    return Document(
        "seminmf: the paper's experiments, repeated",
        [
            "Every table and figure of Section 4 of “Graph Regularized Sparse L2,1 "
            "Semi-Nonnegative Matrix Factorization for Data Reduction” (Rhodes, Jiang, Jiang), "
            "run again, and some experiments of our own. Scores are in percent, means ± standard "
            "deviations over runs on a random 90 % of the samples.",
            "Verdicts: “within” means at most max(2 SD of the paper, 1.5 points) away from the "
            "paper's mean, “better” means above that, “outside” below. "
            "This page is made from saved rows alone; seminmf reproduce all makes them again.",
        ],
        sections,
    )


def write_results(rows: Rows, html: Path | None = None, markdown: Path | None = None) -> list[Path]:
    """Write the page as one HTML file and/or as Markdown with ``images/`` beside it."""
    document = results_document(rows)
    written = []
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        _write(html, to_html(document))
        written.append(html)
    if markdown is not None:
        folder = markdown.parent / "images"
        text = to_markdown(document, folder, "images")
        _write(markdown, text)
        written.append(markdown)
    return written


def _write(path: Path, text: str) -> None:
    with atomic(path) as stream:
        stream.write(text.encode("utf-8"))


def _by_dataset(rows: Rows, experiment: str) -> list[tuple[str, list[Row]]]:
    """The data sets of which an experiment has rows, with these."""
    found = [(dataset, rows.get(f"{experiment}-{dataset}", [])) for dataset in DATASETS]
    return [(dataset, own) for dataset, own in found if own]


def _tables(rows: Rows) -> list[Section]:
    made = []
    for dataset, found in _by_dataset(rows, "table"):
        title = f"Clustering performance on {NAMES[dataset]}"
        items: list[str | Table | Drawing] = []
        for solver, text in (
            ("mu", "The paper's algorithm: 500 multiplicative iterations from a random start"),
            ("cd", "Our coordinate descent from the same starts, with the same α and β"),
        ):
            part = select(found, solver=solver, setting="paper")
            if part:
                items.append(tables.performance_table(part, dataset, text))
                items += _reasons(part, dataset, solver)
        if select(found, setting="default"):
            items.append(
                "With defaults: no α or β given, nothing chosen with the labels. Averages over k "
                "in the last line."
            )
            items.append(tables.defaults_table(found, dataset))
        pair = GR_PAIRS[dataset]
        items.append(f"GR SNF uses α = {pair[0]:g}, β = {pair[1]:g} (grid search, see below).")
        made.append(Section(title, f"table-{dataset}", items))
    return made


def _reasons(rows: list[Row], dataset: str, solver: str) -> list[str | Table | Drawing]:
    models = sorted({model for _, model, _ in tables.outside(rows, dataset)})
    keys = [(solver, dataset, model) for model in models]
    return [REASONS[key] for key in keys if key in REASONS]


def _tuning(rows: Rows) -> list[Section]:
    found = rows.get("grsnf-grid")
    if not found:
        return []
    text = (
        "The paper chooses GR SNF's α and β by grid search but does not print the pair. Ours is "
        "the best of α from 0.001 to 100 and β from 0.001 to 1000."
    )
    items: list[str | Table | Drawing] = [text, tables.tuning_table(found)]
    return [Section("GR SNF's parameters", "grsnf-grid", items)]


def _noise(rows: Rows) -> list[Section]:
    made = []
    for dataset, found in _by_dataset(rows, "noise"):
        caption = f"{NAMES[dataset]} with Gaussian noise: means and standard deviations"
        items: list[str | Table | Drawing] = [
            Drawing(f"noise-{dataset}", caption, partial(figures.noise, found))
        ]
        if dataset == "uspst" and select(found, sigma=SIGMA_USPST):
            items.append(tables.noise_table(found, SIGMA_USPST))
        made.append(Section(f"Noise on {NAMES[dataset]}", f"noise-{dataset}", items))
    return made


def _grids(rows: Rows) -> list[Section]:
    made = []
    for dataset, found in _by_dataset(rows, "grid"):
        caption = f"ACC of L2,1 SNF on {NAMES[dataset]} over α and β; the best cell in bold"
        drawing = Drawing(
            f"grid-{dataset}", caption, partial(images.grid, found, paper_grid(dataset))
        )
        made.append(Section(f"α and β on {NAMES[dataset]}", f"grid-{dataset}", [drawing]))
    return made


def _drawn(
    name: str,
    title: str,
    caption: str,
    draw: Callable[..., object],
    *,
    table: Callable[[list[Row]], Table] | None = None,
) -> Callable[[Rows], list[Section]]:
    """A section of one figure, and perhaps a table, from the rows of one experiment."""

    def make(rows: Rows) -> list[Section]:
        found = rows.get(name)
        if not found:
            return []
        items: list[str | Table | Drawing] = [Drawing(name, caption, partial(draw, found))]
        if table is not None:
            items.append(table(found))
        return [Section(title, name, items)]

    return make


def _convergence(rows: Rows) -> list[Section]:
    found = [row for _, part in _by_dataset(rows, "convergence") for row in part]
    items: list[str | Table | Drawing] = []
    if found:
        caption = "J of L2,1 SNF after each iteration, from the same random starts"
        items.append(Drawing("convergence", caption, partial(figures.convergence, found)))
    if rows.get("half-steps"):
        items.append(tables.half_steps_table(rows["half-steps"]))
    return [Section("Convergence", "convergence", items)] if items else []


def _versions(rows: Rows) -> list[Section]:
    libsvm, zipped = rows.get("table-uspst", []), rows.get("uspst-versions", [])
    if not zipped:
        return []
    libsvm = select(libsvm, solver="mu")
    zipped = select(zipped, solver="mu")
    table = tables.versions_table(libsvm, zipped)
    return [Section("Two versions of USPST", "uspst-versions", [table])]


def _strength(rows: Rows) -> list[Section]:
    found = rows.get("strength", [])
    along = [row for row in found if row.get("part") == "path"]
    items: list[str | Table | Drawing] = []
    if along:
        caption = "Scores along the strength λ"
        items.append(Drawing("strength", caption, partial(figures.path, along)))
    paper = [row for _, part in _by_dataset(rows, "grid") for row in part]
    by_solver = {
        "mu, 500 iterations": select(paper, solver="mu"),
        "cd": [row for row in found if row.get("part") == "grid"],
    }
    by_solver = {name: part for name, part in by_solver.items() if part}
    if by_solver:
        caption = (
            "Every pair of the grid by its product αβ (colour: α, dark small, bright large). "
            "Where the solver has converged, the points lie on one curve"
        )
        items.append(Drawing("collapse", caption, partial(images.collapse, by_solver)))
    return [Section("One parameter instead of two", "strength", items)] if items else []


_SECTIONS: tuple[Callable[[Rows], list[Section]], ...] = (
    _tables,
    _tuning,
    _versions,
    _noise,
    _drawn(
        "digits-uspst",
        "Reconstructed digits",
        "15 digits of USPST with noise of deviation 0.30, as three models reconstruct them",
        images.digits,
    ),
    _grids,
    _convergence,
    _drawn(
        "random-matrices",
        "Random matrices",
        "10,000 features × 128 samples, uniform in [−1, 1]: relative error per iteration",
        figures.errors,
        table=lambda rows: tables.matrices_table(rows, ()),
    ),
    _drawn(
        "exact-matrices",
        "Matrices with an exact solution",
        "V Uᵀ plus noise of deviation σ: relative error per iteration",
        figures.noisy_errors,
        table=lambda rows: tables.matrices_table(rows, ("sigma",)),
    ),
    _drawn(
        "cifar10",
        "CIFAR-10",
        "10,000 test images: relative error per iteration",
        figures.errors,
        table=lambda rows: tables.matrices_table(rows, ()),
    ),
    _drawn(
        "outliers",
        "Outliers",
        "A share of the samples moved by five typical lengths; all models with their defaults",
        figures.outliers,
    ),
    _strength,
    _drawn(
        "solvers",
        "The two solvers against the clock",
        "J and ACC of L2,1 SNF against the seconds of a fit on one thread, from the same starts",
        figures.solvers,
    ),
)
