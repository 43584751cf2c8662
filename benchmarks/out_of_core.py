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
            words = [sys.executable, "-m", __spec__.name, "--child", kind, str(path), str(k)]
            words.append(str(int(graph)))
            out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            found[kind].append(json.loads(out))
    return [
        {name: min(row[name] for row in found[kind]) for name in found[kind][0]} for kind in kinds
    ]


def file_part(folder: Path) -> None:
    for n, m, k, graph in SHAPES:
        path = folder / "x.npy"
        make_file(path, n, m, k)
        memory, parts = best(("memory", "parts"), path, k, graph)
        most = n * m * 8 / 3
        times = {name: parts[name] / memory[name] for name in ("iteration", "seconds", "objective")}
        print(
            f"{n:,} × {m}, k = {k}{', graph' * graph}: iteration "
            f"{memory['iteration'] * 1e3:.0f} ms in memory, {parts['iteration'] * 1e3:.0f} in "
            f"parts ({times['iteration']:.2f}), fit {memory['seconds']:.1f} s and "
            f"{parts['seconds']:.1f} ({times['seconds']:.2f}); peak {parts['peak'] / most:.2f} of "
            f"max_memory; objectives differ by {abs(times['objective'] - 1):.0e}"
        )


def sparse_part(folder: Path) -> None:
    *shape, k, density = SPARSE
    sp.save_npz(folder / "x.npz", make_sparse(*shape, k, density))
    sparse, dense = best(("sparse", "dense"), folder / "x.npz", k)
    print(
        f"{shape[0]:,} × {shape[1]:,} with {density:.0%} entries, k = {k}: iteration "
        f"{sparse['iteration'] * 1e3:.1f} ms sparse, {dense['iteration'] * 1e3:.1f} dense "
        f"({dense['iteration'] / sparse['iteration']:.1f} times); objectives differ by "
        f"{abs(sparse['objective'] / dense['objective'] - 1):.0e}, sums of codes by "
        f"{abs(sparse['codes'] / dense['codes'] - 1):.0e}"
    )


def large_part(folder: Path) -> None:
    *shape, k, density = LARGE
    X = make_sparse(*shape, k, density)
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    model(k, False, max_iter=3).fit(X[:3000])
    found = timed(X, k, None)
    print(
        f"{shape[0]:,} × {shape[1]:,} with {density:.1%} entries, k = {k}: "
        f"{found['seconds']:.0f} s for {ITERATIONS} iterations of {found['iteration']:.2f} s; peak "
        f"beside X {found['peak'] / 1e9:.1f} GB, X {held / 1e9:.1f} GB"
    )


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
