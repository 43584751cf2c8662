"""`docs/scale.md` from the rows of `benchmarks.scale`: growth, workers, and a model of the cost."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

Rows = list[dict[str, str]]

# What is assumed of a cluster: machines, cores of each, bytes per second between two of them.
MACHINES, CORES, NETWORK = 100, 2, 1.25e9
MANY = 10**9


def figures(rows: Rows, part: str, what: str) -> dict[tuple[int, int], dict[str, float]]:
    """By samples and workers, the figures of a part."""
    found: dict[tuple[int, int], dict[str, float]] = {}
    for row in rows:
        if row["part"] == part and row["what"] == what:
            place = int(row["n"]), int(row["workers"])
            found.setdefault(place, {})[row["figure"]] = float(row["value"])
    return found


def table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def growth(rows: Rows) -> str:
    found = {n: row for (n, _), row in sorted(figures(rows, "growth", "graph").items())}
    body = [
        [
            f"{n:,}", f"{row['default fit']:.2f} s", f"{row['iterations of it']:.0f}",
            f"{row['neighbours']:.2f} s", f"{row['before the first iteration']:.2f} s",
            f"{row['60 iterations']:.2f} s",
            f"{row['peak / X']:.1f}", f"{row['recall']:.3f}",
        ]
        for n, row in found.items()
    ]  # fmt: skip
    head = [
        "samples", "default fit", "iterations", "neighbours", "before the first", "60 iterations",
        "peak memory / X", "recall",
    ]  # fmt: skip
    whole, part = (f"{power(found, figure):.2f}" for figure in ("default fit", "60 iterations"))
    body.append(["power of n", whole, "", "", "", part, "", ""])
    return table(head, body)


def power(found: dict[int, dict[str, float]], figure: str) -> float:
    """Of a straight line through the logarithms."""
    line = np.polyfit(np.log(list(found)), np.log([row[figure] for row in found.values()]), 1)
    return float(line[0])


def only(rows: Rows, part: str, what: str) -> dict[str, float]:
    """The figures of what was measured for one size; not numbers if it was not."""
    return defaultdict(lambda: np.nan, *figures(rows, part, what).values())


def peers(rows: Rows) -> str:
    """What is compared with something else."""
    default, exact, theirs = (
        only(rows, "peers", what) for what in ("default", "exact neighbours", "k-means")
    )
    index = only(rows, "peers", "projecting")
    return (
        f"- A default fit of 60,000 × 784 numbers on 20 curved sheets, k = 20, neighbours "
        f"included (recall {default['recall']:.3f}): {default['fit']:.1f} s. With exact neighbours "
        f'(`graph="knn"`): {exact["fit"]:.1f} s. `KMeans(20, n_init=10)` of scikit-learn: '
        f"{theirs['fit']:.1f} s.\n"
        f"- `transform` of 10,000 new samples by a model of 100,000 × 50 with a graph: "
        f"{index['transform 10,000']:.2f} s by the index of the fit, "
        f'{index["by exact search"]:.2f} s with `graph="knn"`, which compares with all samples.'
    )


def storage(rows: Rows) -> str:
    """Files in parts, and sparse rows."""
    body = [
        [
            f"{n} × {m}, k = {k}{what.removeprefix('file')}",
            f"{row['iteration'] / row['iteration in memory']:.2f} ×",
            f"{row['fit'] / row['fit in memory']:.2f} ×", f"{row['peak / max_memory']:.2f}",
            f"{row['objectives apart']:.0e}",
        ]
        for what, (n, m, k), row in files(rows)
    ]  # fmt: skip
    head = [
        "a file of 3 × `max_memory`", "iteration", "whole fit", "peak / `max_memory`",
        "objectives apart",
    ]  # fmt: skip
    sparse, large = only(rows, "storage", "sparse"), only(rows, "storage", "large")
    told = "Relative to the same array in memory; the file is in the page cache.\n"
    lines = [f"{table(head, body)}\n\n{told}"]
    if sparse:
        lines.append(
            f"- Sparse, 100,000 × 1,000 with 1 % entries, k = 10: an iteration takes "
            f"{1000 * sparse['iteration']:.1f} ms, as a dense array "
            f"{1000 * sparse['iteration of dense']:.1f} ms; the objectives differ by "
            f"{sparse['objectives apart']:.0e}."
        )
    if large:
        lines.append(
            f"- Sparse, 1,000,000 × 20,000 with 0.1 % entries, k = 20: {large['fit']:.0f} s for "
            f"{large['iterations']:.0f} iterations of {large['iteration']:.2f} s, with "
            f"{large['peak beside X'] / 1e9:.1f} GB beside the "
            f"{large['bytes of X'] / 1e9:.1f} GB of X."
        )
    return "\n".join(lines)


def files(rows: Rows) -> list[tuple[str, tuple[str, ...], dict[str, float]]]:
    """(what, shape, figures) of each file."""
    found = {}
    for row in rows:
        if row["part"] == "storage" and row["what"].startswith("file"):
            shape = tuple(f"{int(row[name]):,}" for name in "nmk")
            found.setdefault((row["what"], shape), {})[row["figure"]] = float(row["value"])
    return [(what, shape, figures) for (what, shape), figures in found.items()]


def targets(rows: Rows, panel: Rows) -> str:
    """What was aimed at, and whether it is met; ratios of times measured one after the other."""
    grown = {n: row for (n, _), row in sorted(figures(rows, "growth", "graph").items())}
    largest, slope = grown[max(grown)], power(grown, "default fit")
    default, exact, theirs = (
        only(rows, "peers", what)["fit"] for what in ("default", "exact neighbours", "k-means")
    )
    index = only(rows, "peers", "projecting")
    recalls = [row["recall"] for row in grown.values()]
    recalls.append(only(rows, "peers", "default")["recall"])
    sets = [row for row in panel if row["table"] == "panel"]
    recalls += [float(row["recall"]) for row in sets]
    gain = np.mean(
        [float(row["ACC, directions"]) - float(row["ACC, all features"]) for row in sets]
    )
    plain, graph = (
        {count: row for (_, count), row in figures(rows, "dask", what).items()}
        for what in ("no graph", "graph")
    )
    per = [with_[2]["seconds per iteration"] / with_[0]["seconds per iteration"]
           for with_ in (plain, graph)]  # fmt: skip
    apart = max(abs(row["J"] / plain[0]["J"] - 1) for row in plain.values())
    higher = max(row["J"] / graph[0]["J"] - 1 for row in graph.values())
    longer = max(row["iterations"] / graph[0]["iterations"] for row in graph.values())
    rises = sum(row["rises"] for row in (*plain.values(), *graph.values()))
    file = [row for _, _, row in files(rows)]
    slower = max((row["fit"] / row["fit in memory"] for row in file), default=np.nan)
    peak = max((row["peak / max_memory"] for row in file), default=np.nan)
    sparse, large = only(rows, "storage", "sparse"), only(rows, "storage", "large")
    faster = sparse["iteration of dense"] / sparse["iteration"]
    before = largest["neighbours"] / largest["60 iterations"]
    lines = [
        ("default fit of 60,000 × 784, k = 20, against exact neighbours", "≤ 1/6",
         f"1/{exact / default:.1f}", default <= exact / 6),
        ("the same against `KMeans(20, n_init=10)`", "< 1", f"{default / theirs:.2f}",
         default < theirs),
        ("1,000,000 × 50, k = 10: neighbours against 60 iterations", "≤ 1", f"{before:.2f}",
         before <= 1),
        ("the same: peak memory / X", "≤ 6", f"{largest['peak / X']:.1f}",
         largest["peak / X"] <= 6),
        ("growth of the default fit from 10,000 to 1,000,000, power of n", "≤ 1.15",
         f"{slope:.2f}", slope <= 1.15),
        ("recall, the lowest measured here and on the panel", "≥ 0.95", f"{min(recalls):.3f}",
         min(recalls) >= 0.95),
        ("clusters of the panel against exact neighbours, points of accuracy", "≥ 0",
         f"{gain:+.1f}", gain >= 0),
        ("`transform` of 10,000, model of 100,000 × 50, against exact search", "≤ 1/5",
         f"1/{index['by exact search'] / index['transform 10,000']:.1f}",
         index["transform 10,000"] <= index["by exact search"] / 5),
        ("iteration on 2 workers against memory, no graph / graph", "≤ 1.3 / ≤ 2",
         f"{per[0]:.2f} / {per[1]:.2f}", per[0] <= 1.3 and per[1] <= 2),
        ("J on workers against memory, no graph", "1e-8", f"{apart:.0e}", apart <= 1e-8),
        ("the same with a graph, at most", "+0.1 %", f"{100 * higher:+.3f} %", higher <= 1e-3),
        ("iterations on workers against memory, with a graph", "≤ 1.3", f"{longer:.2f}",
         longer <= 1.3),
        ("iterations in which J rose", "0", f"{rises:.0f}", rises == 0),
        ("file of 3 × `max_memory`: whole fit against memory", "≤ 2", f"{slower:.2f}", slower <= 2),
        ("the same: peak / `max_memory`", "≤ 1.2", f"{peak:.2f}", peak <= 1.2),
        ("sparse 1,000,000 × 20,000 with 0.1 %, k = 20", "finishes", f"{large['fit']:.0f} s",
         True),
        ("sparse 100,000 × 1,000 with 1 % against dense, per iteration", "≥ 5 × faster",
         f"{faster:.1f} ×", faster >= 5),
        ("the same: objectives apart", "1e-8", f"{sparse['objectives apart']:.0e}",
         sparse["objectives apart"] <= 1e-8),
    ]  # fmt: skip
    body = []
    for what, target, measured, met in lines:
        verdict = "not measured" if "nan" in measured else "met" if met else "**missed**"
        body.append([what, target, measured, verdict])
    return table(["what", "target", "measured", ""], body)


def engines(rows: Rows, what: str) -> str:
    found = {count: row for (_, count), row in sorted(figures(rows, "dask", what).items())}
    memory = found[0]
    body = []
    for count, row in found.items():
        body.append([
            f"{count} worker{'s' * (count != 1)}" if count else "in memory, 2 threads",
            f"{1000 * row['seconds per iteration']:.0f} ms",
            f"{row['seconds per iteration'] / memory['seconds per iteration']:.2f} ×",
            f"{1000 * predicted(rows, what, count):.0f} ms",
            f"{row['before the first iteration']:.1f} s",
            f"{row['iterations']:.0f}",
            f"{100 * (row['J'] / memory['J'] - 1):+.4f} %",
            f"{row['rises']:.0f}",
            f"{row['crossing']:.1%}",
        ])  # fmt: skip
    head = [
        what, "iteration", "against memory", "model", "before the first", "iterations to tol",
        "J", "rises", "edges that cross",
    ]  # fmt: skip
    return table(head, body)


def predicted(rows: Rows, what: str, workers: int) -> float:
    """Of the cost model: the iteration in memory shared by the cores, and a round trip."""
    alone = figures(rows, "dask", what)
    iteration = next(row for (_, count), row in alone.items() if count == 0)
    busy = iteration["seconds per iteration"]
    if workers == 0:
        return busy
    machine: dict[str, float] = next(iter(figures(rows, "machine", "this").values()))
    return busy * 2 / min(workers, 2) + machine["round trip"] * workers


def many(rows: Rows, what: str) -> str:
    """What so many samples would take, with the arithmetic."""
    shape = next(row for row in rows if row["part"] == "dask")
    n, m, k = (int(shape[name]) for name in "nmk")
    alone = next(row for (_, c), row in figures(rows, "dask", what).items() if c == 0)
    machine: dict[str, float] = next(iter(figures(rows, "machine", "this").values()))
    core = 2 * alone["seconds per iteration"] / n
    compute = core * MANY / (MACHINES * CORES)
    sums = 8 * (2 * m * k + k * k) * MACHINES
    two = figures(rows, "dask", what)[n, 2]
    halo = 8 * k * 2 * two["crossing"] * MANY * 5 if what == "graph" else 0.0
    wire = (sums + halo) / NETWORK
    trips = machine["round trip"] * MACHINES
    whole = compute + trips + wire
    lines = [
        f"- **{what}**: {core * 1e9:.0f} ns of a core for each sample and iteration × {MANY:.0e} "
        f"samples / {MACHINES * CORES} cores = {compute:.1f} s; {MACHINES} round trips × "
        f"{1000 * machine['round trip']:.1f} ms = {trips:.2f} s; {(sums + halo) / 1e6:,.0f} MB "
        f"through the client at {NETWORK / 1e9:g} GB/s = {wire:.2f} s. Together "
        f"**{whole:.1f} s an iteration**, {50 * whole / 60:.0f} minutes for 50 of them.",
    ]
    return "\n".join(lines)


def page(rows: Rows, panel: Rows) -> str:
    machine: dict[str, Any] = next(iter(figures(rows, "machine", "this").values()))
    shape = next(row for row in rows if row["part"] == "dask")
    n, m, k = (int(shape[name]) for name in "nmk")
    memory = 8 * (m + 3 * k + 8) * MANY / MACHINES / 1e9
    return f"""# How fits grow

How time and memory grow with the number of samples: on one machine, beyond its memory, and on the
workers of a cluster. Made by `python -m benchmarks.scale growth peers storage dask page` on a
machine with two cores. Times are those of one run in a process of its own; compare them within a
table only.

## Targets

{targets(rows, panel)}

## More samples on one machine

`L21SemiNMF(10)` with its default settings on n × 50 numbers (20 clusters), neighbours included.

{growth(rows)}

*Before the first* is the time until the first iteration: the neighbours, the graph made of them,
and the start. *Power of n* is the slope of a straight line through the logarithms of the times.

## Against others

{peers(rows)}

## Beyond memory, and sparse

{storage(rows)}

## Workers of a Dask cluster

{n:,} × {m} numbers, k = {k}, from the same start; worker processes of one thread on the same
machine of two cores, so that more than two workers cannot be faster.

{engines(rows, "no graph")}

{engines(rows, "graph")}

*J* is the objective compared with that of the fit in memory; *rises* counts the iterations in which
it rose.

## A model of the cost

An iteration reads each row of X once and makes two products with it, 4·n·m·k operations, which the
cores share. Then U (m × k) goes to each worker and m × k + k × k sums come back: one round trip,
here {1000 * machine["round trip"]:.1f} ms for each worker. With a graph the codes of samples whose
neighbours are elsewhere go through the client as well, k numbers for each. So

    iteration = (iteration in memory × its cores) / cores + round trip × workers + bytes / network

The column *model* of the tables is this formula with the time in memory. It leaves out that workers
wait for the slowest of them.

For {MANY:.0e} samples × {m} on {MACHINES} machines of {CORES} cores like these, with
{NETWORK / 1e9:g} GB/s between them (arithmetic; there was no such cluster to measure on):

{many(rows, "no graph")}
{many(rows, "graph")}

Each machine would hold {memory:.0f} GB: {m} features and 3k + 8 = {3 * k + 8} numbers of state for
each of its {MANY // MACHINES:.0e} samples. There the first bottleneck would be the one client
through which all the codes that cross have to go.
"""
