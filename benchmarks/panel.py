"""The panel of labelled sets in ``SEMINMF_DATA/panel``, prepared as a user would do first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

# What is done with a set: "center" its columns, "log" of the numbers first, nothing, or else
# columns without spread are left out and the others standardized.
_TREATMENT = {
    "coil20": "center", "orl": "center", "warppie10p": "center", "msra": "center",
    "tox_171": "log", "lung_small": "none", "lymphoma": "none", "ionosphere": "none",
    "waveform": "none", "uspst": "none",
}  # fmt: skip


def panel() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(name, X, labels) of each set of the panel, and of the paper's three."""
    home = Path(os.environ["SEMINMF_DATA"])
    own = [home / f"{name}.npz" for name in ("ionosphere", "waveform", "uspst")]
    for path in [*sorted((home / "panel").glob("*.npz")), *own]:
        with np.load(path, allow_pickle=True) as file:
            X, y = np.asarray(file["X"], dtype=np.float64), np.asarray(file["y"])
        treatment = _TREATMENT.get(path.stem, "scale")
        if treatment == "log":
            X = np.log2(np.maximum(X, 1))
        if treatment != "none":
            X = X - X.mean(axis=0)
        if treatment == "scale":
            X = X[:, X.std(axis=0) > 0]
            X = X / X.std(axis=0)
        yield path.stem, X, np.unique(y, return_inverse=True)[1]
