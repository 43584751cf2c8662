"""The first fit of a new process, against the imports that it cannot do without.

Whole processes, from ``python`` to their end, with the compile cache warm: ours loads an array,
imports the package and fits it with default settings; the other imports scikit-learn's NMF and
numba and does nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from ..data import MissingDataError, load
from ..results import Goal, Result, cost
from ..row import Row
from ..timing import interleave, seconds

_NAME = "first-fit"
_IMPORTS = "from sklearn.decomposition import NMF; import numba"
_FIT = (
    "import sys; import numpy as np; from seminmf import L21SemiNMF; "
    "L21SemiNMF(5, random_state=0).fit(np.load(sys.argv[1]))"
)


def _measure(quick: bool) -> Iterator[Result]:
    try:
        case, X = "Ionosphere 351 × 34, k=5", load("ionosphere")
    except MissingDataError:
        from seminmf.datasets import make_waveform

        case, X = "made Waveform 351 × 21, k=5", make_waveform(351, random_state=0)[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        ours = [sys.executable, "-W", "ignore", "-c", _FIT, str(path)]
        imports = [sys.executable, "-c", _IMPORTS]

        def process(command: list[str]) -> float:
            return seconds(lambda: subprocess.run(command, check=True))

        process(ours)  # fills the compile cache
        process(imports)
        best = interleave(
            {"ours": partial(process, ours), "imports": partial(process, imports)},
            rounds=2 if quick else 9,
        )
    yield cost(
        _NAME, "first fit in a new process, compile cache warm", case,
        "imports of scikit-learn's NMF and numba", ours=best["ours"], reference=best["imports"],
        goal=Goal(1.5, at_least=False),
    )  # fmt: skip


ROWS = (Row(_NAME, "a whole process with one fit", _measure, threads=(2,)),)
