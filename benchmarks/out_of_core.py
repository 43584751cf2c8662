"""Rows that are read in parts, and sparse rows: ``python -m benchmarks.out_of_core [part …]``.

``file``: a file of three times ``max_memory``, in the page cache, against the same array in memory:
time per iteration and of the fit, and the peak of the memory that the fit adds, as a share of
``max_memory``; once with a graph, which takes about 900 bytes for each sample, so that it fits into
a third of X where samples are long. ``sparse``: time per iteration of 100,000 × 1,000 numbers with
1 % entries against the same as a dense array, and how far the results are apart. ``large``: a fit
of a sparse 1,000,000 × 20,000 with 0.1 % entries (20 million), from its start to its end.

Every measurement has a process of its own; what is compared takes turns, and the best of
``REPEATS`` counts. The first fit of a process, to some rows, loads the compiled code.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from seminmf import L21SemiNMF
from seminmf.sources import open_source

REPEATS, ITERATIONS = 3, 20
# Samples, features, parts, and whether with a graph.
SHAPES = (
    (200_000, 256, 10, False),
    (60_000, 784, 20, False),
    (400_000, 128, 10, False),
    (60_000, 1_500, 10, True),
)
SPARSE, LARGE = (100_000, 1_000, 10, 0.01), (1_000_000, 20_000, 20, 0.001)


def make_file(path: Path, n: int, m: int, k: int) -> None:
    """Noisy samples of a cone, block by block."""
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(k, m))
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, m))
    for start in range(0, n, 10_000):
        rows = min(10_000, n - start)
        codes = rng.gamma(1, 1, (rows, k)) * (rng.random((rows, k)) < 0.4)
        table[start : start + rows] = codes @ basis + rng.normal(size=(rows, m))


def make_sparse(n: int, m: int, k: int, density: float) -> Any:
    """CSR rows with entries of k kinds: those of a kind prefer its own part of the columns."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(density * m, n)
    indptr = np.append(0, np.cumsum(counts))
    total = int(indptr[-1])
    kinds = np.repeat(rng.integers(0, k, n), counts)
    part = m // k
    own = rng.random(total) < 0.7
    columns = np.where(own, kinds * part + rng.integers(0, part, total), rng.integers(0, m, total))
    values = rng.random(total) + 0.1
    matrix = sp.csr_array((values, columns.astype(np.int32), indptr), shape=(n, m))
    matrix.sum_duplicates()
    return matrix


def _memory(what: str) -> int:
    with Path("/proc/self/status").open() as lines:
        return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024


def model(k: int, graph: bool, **settings: Any) -> L21SemiNMF:
    weights = {} if graph else {"alpha": 0, "beta": 0}
    return L21SemiNMF(k, tol=0, random_state=0, **weights, **settings)


def timed(X: Any, k: int, most: int | None, graph: bool = False) -> dict[str, Any]:
    """A fit: seconds, seconds per iteration, and bytes that it added at most."""
    times: list[float] = []

    def note(_: Any) -> None:
        times.append(time.perf_counter())

    fitted = model(k, graph, max_iter=ITERATIONS, max_memory=most, callback=note)
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    began = time.perf_counter()
    fitted.fit(X)
    return {
        "seconds": time.perf_counter() - began,
        "iteration": float(np.median(np.diff(times))),
        "peak": _memory("VmHWM") - before,
        "objective": fitted.objective_,
        "codes": float(np.abs(fitted.codes_).sum()),
    }


def child(kind: str, path: str, k: int, graph: bool) -> dict[str, Any]:
    """One measurement: the file in memory or in parts, CSR or dense."""
    warnings.simplefilter("ignore")
    if kind in ("memory", "parts"):
        table = np.load(path, mmap_mode="r")
        warm = np.array(table[:3000])
        X = np.array(table) if kind == "memory" else open_source(path)
        most = None if kind == "memory" else table.nbytes // 3
    else:
        X, most = sp.csr_array(sp.load_npz(path)), None
        X = X.toarray() if kind == "dense" else X
        warm = X[:3000]
    if kind == "parts":
        np.save(path + ".warm.npy", warm)
        warm = open_source(path + ".warm.npy")
    model(k, graph, max_iter=3).fit(warm)
    return timed(X, k, most, graph)


def best(kinds: tuple[str, str], path: Path, k: int, graph: bool = False) -> list[dict[str, Any]]:
    """Both kinds in turn; of each the least of every number."""
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(REPEATS):
        for kind in kinds:
            words = [
                sys.executable,
                "-m",
                "benchmarks.out_of_core",
                "--child",
                kind,
                str(path),
                str(k),
            ]
            words.append(str(int(graph)))
            out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            found[kind].append(json.loads(out))
    return [
        {name: min(row[name] for row in found[kind]) for name in found[kind][0]} for kind in kinds
    ]


def of_file(folder: Path, n: int, m: int, k: int, graph: bool) -> dict[str, float]:
    """A file in parts against the same in memory."""
    path = folder / "x.npy"
    make_file(path, n, m, k)
    memory, parts = best(("memory", "parts"), path, k, graph)
    return {
        "iteration in memory": memory["iteration"], "iteration": parts["iteration"],
        "fit in memory": memory["seconds"], "fit": parts["seconds"],
        "peak / max_memory": parts["peak"] / (n * m * 8 / 3),
        "objectives apart": abs(parts["objective"] / memory["objective"] - 1),
    }  # fmt: skip


def of_sparse(folder: Path) -> dict[str, float]:
    """Sparse rows against the same as a dense array."""
    *shape, k, density = SPARSE
    sp.save_npz(folder / "x.npz", make_sparse(*shape, k, density))
    sparse, dense = best(("sparse", "dense"), folder / "x.npz", k)
    return {
        "iteration": sparse["iteration"], "iteration of dense": dense["iteration"],
        "objectives apart": abs(sparse["objective"] / dense["objective"] - 1),
        "sums of codes apart": abs(sparse["codes"] / dense["codes"] - 1),
    }  # fmt: skip


def of_large() -> dict[str, float]:
    """Very many sparse rows, in this process."""
    *shape, k, density = LARGE
    X = make_sparse(*shape, k, density)
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    model(k, False, max_iter=3).fit(X[:3000])
    found = timed(X, k, None)
    return {
        "fit": found["seconds"], "iteration": found["iteration"], "iterations": ITERATIONS,
        "peak beside X": found["peak"], "bytes of X": held,
    }  # fmt: skip


def _show(what: str, found: dict[str, float]) -> None:
    print(
        f"{what}: {', '.join(f'{name} {value:.3g}' for name, value in found.items())}", flush=True
    )


def file_part(folder: Path) -> None:
    for n, m, k, graph in SHAPES:
        _show(f"{n:,} × {m}, k = {k}{', graph' * graph}", of_file(folder, n, m, k, graph))


def sparse_part(folder: Path) -> None:
    _show(f"{SPARSE[0]:,} × {SPARSE[1]:,} with {SPARSE[3]:.0%} entries", of_sparse(folder))


def large_part(folder: Path) -> None:
    _show(f"{LARGE[0]:,} × {LARGE[1]:,} with {LARGE[3]:.1%} entries", of_large())


PARTS = {"file": file_part, "sparse": sparse_part, "large": large_part}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help="file, sparse or large")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, path, k, graph = options.child
        print(json.dumps(child(kind, path, int(k), graph == "1")))
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in options.parts or ["file", "sparse"]:
            PARTS[name](Path(folder))


if __name__ == "__main__":
    main()
