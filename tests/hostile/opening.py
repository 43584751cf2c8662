"""Opening one file, and what may come of it."""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .changes import changed, forged
from .good import samples

SECONDS = 60
# What a process may have beyond what it has when the package has been loaded and has worked once.
MEMORY = 2**29
GOOD = ("loaded", "refused")


class SlowError(BaseException):
    """It took too long."""


def _late(*_: Any) -> None:
    raise SlowError


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def draw(folder: Path, seed: int, case: int) -> tuple[str, str, bytes]:
    """File, change and new content of a case. Every second case is a model."""
    rng = np.random.default_rng([seed, case])
    models = sorted(folder.glob("*.model"))
    others = sorted(set(folder.iterdir()) - set(models))
    file = models[rng.integers(len(models))] if case % 2 else others[rng.integers(len(others))]
    content = file.read_bytes()
    forge = case % 2 and rng.random() < 0.7
    change, new = (forged if forge else changed)(content, rng)
    return file.name, change if new != content else "the same", new


def opened(name: str, change: str, content: bytes) -> str:
    """What comes of a file: ``loaded``, ``refused``, or a word about what went wrong."""
    signal.signal(signal.SIGALRM, _late)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(scratch) / ("state.npz" if name.endswith(".state") else name)
        path.write_bytes(content)
        signal.alarm(SECONDS)
        try:
            return _open(path, name, change)
        except SlowError:
            return f"slow: more than {SECONDS} s"
        except BaseException as error:  # whatever it is, it is an outcome
            return f"raised {type(error).__name__}: {str(error)[:200]!r}"
        finally:
            signal.alarm(0)


def _open(path: Path, name: str, change: str) -> str:
    kind = name.rpartition(".")[2]
    if kind == "model":
        return _open_model(path, change)
    if kind == "state":
        return _open_state(path)
    if kind == "jsonl":
        return _open_rows(path)
    from seminmf.io import TableError, read_table

    try:
        table = read_table(path)
    except TableError as error:
        return _one_line(error)
    assert np.ndim(table.X) == 2 or table.X.ndim == 2
    return "loaded"


def _one_line(error: Exception) -> str:
    return "refused" if "\n" not in str(error) else f"a message of several lines: {error}"


def _open_model(path: Path, change: str) -> str:
    import seminmf

    try:
        model = seminmf.load(path)
    except seminmf.ModelFileError as error:
        return _one_line(error)
    if not change.startswith(("forged", "sealed", "the same", "as it is")):
        return "loaded what was damaged"
    for use in (
        lambda: model.transform(samples()),
        lambda: model.predict(samples()),
        lambda: model.inverse_transform(model.transform(samples())),
        lambda: model.outlier_scores(samples()),
        lambda: model.save(path.with_name("again")),
        lambda: model.without_training(3).transform(samples()),
        lambda: repr(model),
    ):
        try:
            use()
        except (ValueError, AttributeError, TypeError) as error:
            # What a method cannot do with such numbers it may refuse.
            if isinstance(error, MemoryError):
                raise
    return "loaded"


def _open_state(path: Path) -> str:
    from seminmf import L21SemiNMF
    from seminmf.solve.checkpoint import CheckpointError

    model = L21SemiNMF(2, random_state=0, max_iter=6, tol=0, checkpoint=path.parent)
    try:
        model.fit(samples())
    except CheckpointError as error:
        return _one_line(error)
    return "loaded"


def _open_rows(path: Path) -> str:
    from seminmf.experiments.store import read_rows

    for rows in read_rows(path.parent).values():
        assert all(isinstance(row, dict) for row in rows)
    return "loaded"


def main(folder: Path, seed: int, first: int, last: int) -> None:
    """Open cases; says before and after each, for whoever looks when this process has died.

    With a negative seed these are the files themselves, in the order of their names.
    """
    from seminmf import FactorKMeans, L21SemiNMF
    from seminmf.graph.index import NeighbourIndex, Recipe

    # What compiles does so before the limit: a compiler without memory ends the process.
    NeighbourIndex(samples(), 3, Recipe(approximate=True)).nearest(samples() + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FactorKMeans(L21SemiNMF(2, max_iter=3)).fit(samples()).predict(samples() + 1)
    # So do libraries that read tables: some set aside more than the limit when they first work.
    for file in sorted(folder.iterdir()) if seed >= 0 else ():
        opened(file.name, "as it is", file.read_bytes())
    limit_memory()
    for case in range(first, last):
        if seed < 0:
            file = sorted(folder.iterdir())[case]
            name, change, content = file.name, "as it is", file.read_bytes()
        else:
            name, change, content = draw(folder, seed, case)
        print(case, name, change, "", sep="\t", end="", flush=True)
        print(opened(name, change, content).replace("\n", " "), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
