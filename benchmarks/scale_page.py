"""`docs/scale.md` from the rows of `benchmarks.scale`: growth, workers, and a model of the cost."""

from __future__ import annotations

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
            f"{row['before the first iteration']:.2f} s", f"{row['60 iterations']:.2f} s",
            f"{row['peak / X']:.1f}", f"{row['recall']:.3f}",
        ]
        for n, row in found.items()
    ]  # fmt: skip
    head = [
        "samples", "default fit", "iterations", "before the first", "60 iterations",
        "peak memory / X", "recall",
    ]  # fmt: skip
    powers = {
        figure: np.polyfit(np.log(list(found)), np.log([row[figure] for row in found.values()]), 1)
        for figure in ("default fit", "60 iterations")
    }
    whole, part = (f"{power[0]:.2f}" for power in powers.values())
    body.append(["power of n", whole, "", "", part, "", ""])
    return table(head, body)


def peers(rows: Rows) -> str:
    """What is compared with something else in one process."""
    kmeans = figures(rows, "peers", "against k-means")[60_000, 0]
    index = figures(rows, "peers", "projecting")[100_000, 0]
    ours, theirs = kmeans["default fit"], kmeans["KMeans(20, n_init=10)"]
    return (
        f"- A default fit of 60,000 × 784 numbers on 20 curved sheets, k = 20, neighbours "
        f"included (recall {kmeans['recall']:.3f}): {ours:.1f} s. `KMeans(20, n_init=10)` of "
        f"scikit-learn: {theirs:.1f} s, {theirs / ours:.2f} times as long.\n"
        f"- `transform` of 10,000 new samples by a model of 100,000 × 50 with a graph: "
        f"{index['transform 10,000']:.2f} s by the index of the fit, "
        f'{index["by exact search"]:.2f} s with `graph="knn"`, which compares with all samples.'
    )


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


def page(rows: Rows) -> str:
    machine: dict[str, Any] = next(iter(figures(rows, "machine", "this").values()))
    shape = next(row for row in rows if row["part"] == "dask")
    n, m, k = (int(shape[name]) for name in "nmk")
    memory = 8 * (m + 3 * k + 8) * MANY / MACHINES / 1e9
    return f"""# How fits grow

Made by `python -m benchmarks.scale growth peers dask page` on a machine with two cores. Times are
those of one run in a process of its own; compare them within a table.

## More samples on one machine

`L21SemiNMF(10)` with its default settings on n × 50 numbers (20 clusters), neighbours included.

{growth(rows)}

"Before the first" iteration are the neighbours and the start. The power of n is that of a straight
line through the logarithms of the times.

## Against others

{peers(rows)}

## Workers of a Dask cluster

{n:,} × {m} numbers, k = {k}, from the same start; worker processes of one thread on the same
machine of two cores, so that more than two of them have nothing to win.

{engines(rows, "no graph")}

{engines(rows, "graph")}

J is compared with that of the fit in memory; "rises" counts iterations in which it rose.

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
each of its {MANY // MACHINES:.0e} samples. That all codes which cross go through one client is the
first thing that would have to change there.
"""
