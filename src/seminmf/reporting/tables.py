"""Tables of the results page: the paper's numbers, ours, the difference and a verdict."""

from __future__ import annotations

from ..experiments.models import FIXED, LABELS, PAPER_K
from ..experiments.paper import noisy_uspst, paper_table
from .document import Cell, Table
from .figures import NAMES
from .summary import Comparison, Row, Spread, best_pair, compare, group, select, spread

MODELS = ("SNF", "GR SNF", "L21 SNF")
SCORES = ("ACC", "NMI")


def comparisons(
    rows: list[Row], dataset: str, **wanted: object
) -> dict[tuple[int, str, str], Comparison]:
    """By (k, model, score), where we have rows."""
    found = {}
    for k, by_score in paper_table(dataset).items():
        for model in MODELS:
            part = select(rows, k=k, model=model, **wanted)
            for score in SCORES:
                comparison = compare(part, score, by_score[score][model])
                if comparison is not None:
                    found[k, model, score] = comparison
    return found


def outside(rows: list[Row], dataset: str, **wanted: object) -> list[tuple[int, str, str]]:
    """Cells of the paper's table that we do not reach."""
    found = comparisons(rows, dataset, **wanted)
    return [key for key, comparison in found.items() if comparison.verdict == "outside"]


def performance_table(rows: list[Row], dataset: str, caption: str, **wanted: object) -> Table:
    """Per k and model: paper, ours, difference, verdict for ACC and for NMI."""
    found = comparisons(rows, dataset, **wanted)
    header = ["model", "k", "runs"]
    for score in SCORES:
        header += [f"{score} paper", f"{score} ours", "difference", "verdict"]
    lines = []
    for model in MODELS:
        for k in paper_table(dataset):
            cells = [found.get((k, model, score)) for score in SCORES]
            present = [cell for cell in cells if cell is not None]
            if not present:
                continue
            line = [Cell(LABELS[model]), Cell(str(k)), Cell(str(present[0].ours.count))]
            for cell in cells:
                line += _comparison_cells(cell)
            lines.append(line)
    return Table(caption, header, lines)


def _comparison_cells(cell: Comparison | None) -> list[Cell]:
    if cell is None:
        return [Cell("–")] * 4
    mean, sd = cell.paper
    return [
        Cell(f"{mean:.2f} ± {sd:.2f}"),
        Cell(str(cell.ours)),
        Cell(f"{cell.difference:+.2f}"),
        Cell(cell.verdict, cell.verdict),
    ]


def _text(value: Spread | None) -> str:
    return "–" if value is None else f"{value.mean:.1f}"


def _pair_text(rows: list[Row]) -> str:
    acc, nmi = spread(rows, "ACC"), spread(rows, "NMI")
    return "–" if acc is None else f"{_text(acc)} / {_text(nmi)}"


def defaults_table(rows: list[Row], dataset: str) -> Table:
    """Without any tuning: ours beside the paper's tuned L2,1 SNF and k-means."""
    columns: list[tuple[str, list[Row]]] = [
        ("L2,1 SNF, mu, paper's α β", select(rows, setting="paper", solver="mu", model="L21 SNF")),
        ("L2,1 SNF, cd, paper's α β", select(rows, setting="paper", solver="cd", model="L21 SNF")),
        *(
            (f"{LABELS[model]}, defaults", select(rows, setting="default", model=model))
            for model in ("L21 SNF", "GR SNF", "SNF")
        ),
        *(
            (f"{LABELS[model]}, strength {strength:g}", select(rows, setting=setting, model=model))
            for setting, strength in FIXED.items()
            for model in ("L21 SNF", "GR SNF")
        ),
        (LABELS["k-means"], select(rows, model="k-means")),
    ]
    columns = [(name, part) for name, part in columns if part]
    lines, printed = [], paper_table(dataset)
    for k, by_score in printed.items():
        paper = " / ".join(f"{by_score[score]['L21 SNF'][0]:.1f}" for score in SCORES)
        cells = [Cell(_pair_text(select(part, k=k))) for _, part in columns]
        lines.append([Cell(str(k)), Cell(paper), *cells])
    means = [
        sum(by_score[score]["L21 SNF"][0] for by_score in printed.values()) / len(printed)
        for score in SCORES
    ]
    average = [Cell(_mean_over_k(part, list(printed)), "best") for _, part in columns]
    paper = " / ".join(f"{mean:.1f}" for mean in means)
    lines.append([Cell("mean"), Cell(paper, "best"), *average])
    header = ["k", "L2,1 SNF, paper", *(name for name, _ in columns)]
    return Table("ACC / NMI in percent, means of the runs", header, lines)


def _mean_over_k(rows: list[Row], ks: list[int]) -> str:
    texts = []
    for score in SCORES:
        means = [s.mean for s in (spread(select(rows, k=k), score) for k in ks) if s is not None]
        texts.append(f"{sum(means) / len(means):.1f}" if means else "–")
    return " / ".join(texts)


def tuning_table(rows: list[Row]) -> Table:
    """The pair that the grid search finds for GR SNF, beside the paper's scores."""
    lines = []
    for (dataset,), part in group(rows, "dataset").items():
        pair = best_pair(part)
        k = PAPER_K[str(dataset)]
        if pair is None:
            continue
        found = select(part, alpha=pair[0], beta=pair[1])
        printed = paper_table(str(dataset))[k]
        paper = " / ".join(f"{printed[score]['GR SNF'][0]:.1f}" for score in SCORES)
        texts = (
            NAMES[str(dataset)],
            str(k),
            f"{pair[0]:g}",
            f"{pair[1]:g}",
            _pair_text(found),
            paper,
        )
        lines.append([Cell(text) for text in texts])
    header = ["data set", "k", "α", "β", "ACC / NMI", "paper's GR SNF"]
    return Table("The best pair of the grid by the mean of ACC and NMI", header, lines)


def noise_table(rows: list[Row], sigma: float) -> Table:
    """USPST with noise, where the paper prints numbers."""
    lines = []
    for model, printed in noisy_uspst().items():
        found = select(rows, model=model, sigma=sigma)
        if found:
            paper = f"{printed[0]:.1f} / {printed[1]:.1f}"
            lines.append([Cell(LABELS[model]), Cell(paper), Cell(_pair_text(found))])
    return Table(f"USPST with σ = {sigma:g}, k = 16: ACC / NMI", ["model", "paper", "ours"], lines)


def versions_table(libsvm: list[Row], zipped: list[Row]) -> Table:
    """USPST's two preparations."""
    lines = []
    for model in ("SNF", "L21 SNF"):
        for k, by_score in paper_table("uspst").items():
            pick = {"model": model, "k": k, "setting": "paper"}
            paper = " / ".join(f"{by_score[score][model][0]:.1f}" for score in SCORES)
            ours = [_pair_text(select(part, **pick)) for part in (libsvm, zipped)]
            lines.append([Cell(t) for t in (LABELS[model], str(k), paper, *ours)])
    header = ["model", "k", "paper", "usps.t (LIBSVM)", "zip.test"]
    return Table("ACC / NMI on the two preparations of the same images", header, lines)


def half_steps_table(rows: list[Row]) -> Table:
    """How often J rose."""
    lines = []
    for (dataset,), part in group(rows, "dataset").items():
        texts = [NAMES[str(dataset)], str(sum(row["n_iter"] for row in part))]
        texts += [str(sum(row[name] for row in part)) for name in
                  ("basis_rises", "codes_rises", "rises")]  # fmt: skip
        texts.append(f"{max(row['largest_codes_rise'] for row in part):.1e}")
        lines.append([Cell(text) for text in texts])
    header = ["data set", "iterations", "basis step raised J", "codes step raised J",
              "whole iteration raised J", "largest relative rise"]  # fmt: skip
    return Table("The paper's iteration, all runs together", header, lines)


def matrices_table(rows: list[Row], columns: tuple[str, ...]) -> Table:
    """The last point of each curve."""
    lines = []
    names = ("k", *columns, "model", "solver", "init")
    for key, part in group(rows, *names).items():
        last = [
            max(found, key=lambda row: row["iteration"]) for found in group(part, "run").values()
        ]
        error, exact = spread(last, "relative_error"), spread(last, "exact_samples")
        seconds = spread(last, "seconds")
        if error is None or exact is None or seconds is None:
            continue
        texts = [LABELS.get(str(value), str(value)) for value in key]
        iterations = str(max(row["iteration"] for row in last))
        texts += [iterations, f"{error.mean:.4g}", f"{exact.mean:.1f}", f"{seconds.mean:.2f}"]
        lines.append([Cell(text) for text in texts])
    header = [*names, "iterations", "relative error", "samples fitted exactly", "seconds"]
    return Table("At the end, means of the runs", header, lines)
