"""What it costs that HDF5's library works in a process of its own: ``python -m benchmarks.hdf5``.

Processor seconds of both processes, the least of several rounds in turns with h5py in one process.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from seminmf import _hdf5

ROUNDS, MEGABYTES = 15, (0.01, 1, 16, 256)


def _apart(path: Path) -> None:
    with _hdf5.File(path) as file:
        file["X"][()]


def _here(path: Path) -> None:
    with h5py.File(path) as file:
        file["X"][()]


def _seconds(work: Callable[[Path], None], path: Path) -> float:
    def used() -> float:
        both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(one.ru_utime + one.ru_stime for one in both)

    begin = used()
    work(path)
    return used() - begin


def main() -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.h5"
        for size in MEGABYTES:
            with h5py.File(path, "w") as file:
                file["X"] = rng.random((int(size * 2**20 / 8 / 32), 32))
            rounds = [(_seconds(_apart, path), _seconds(_here, path)) for _ in range(ROUNDS)]
            apart, here = map(min, zip(*rounds, strict=True))
            print(f"{size:8} MB: {apart:.3f} s, in one process {here:.3f} s")


if __name__ == "__main__":
    main()
