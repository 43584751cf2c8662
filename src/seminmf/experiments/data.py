"""Data of the runs: sets, subsets and matrices, each a function of names and numbers alone."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..datasets import fetch, load_cifar10_test, load_ionosphere, load_uspst, load_waveform

SHARE = 0.9  # of the samples that a run sees, as in the paper

LOADERS: dict[str, Callable[[], tuple[Any, IntArray]]] = {
    "ionosphere": lambda: load_ionosphere(return_X_y=True),
    "waveform": lambda: load_waveform(return_X_y=True),
    "uspst": lambda: load_uspst(return_X_y=True),
    "uspst_zip": lambda: load_uspst("zip", return_X_y=True),
    "cifar10": lambda: load_cifar10_test(as_float=True, return_X_y=True),
}


# Name in `seminmf.datasets`, where it is another one.
_FILES = {"cifar10": "cifar10_test"}


def prepare(names: Iterable[str]) -> None:
    """See to it that the files of data sets are here, before many processes need them at once.

    Raises FileNotFoundError, with advice, where that is not possible. Names of matrices that are
    drawn at random need no file.
    """
    for name in sorted(set(names) & set(LOADERS)):
        fetch(_FILES.get(name, name))


def _tag(text: str) -> int:
    return zlib.crc32(text.encode())


def seed_for(dataset: str, number: int, purpose: str) -> int:
    """A seed that depends on the data set, the repetition and the purpose, and on nothing else.

    All models of one repetition share it: they see the same subset, starts drawn from the same
    numbers, and the same seed of k-means.
    """
    sequence = np.random.SeedSequence([_tag(dataset), number, _tag(purpose)])
    return int(sequence.generate_state(1)[0] >> 1)


@lru_cache(maxsize=2)
def table(dataset: str, samples: int = 0) -> tuple[FloatArray, IntArray]:
    """(X, y) of a data set; with ``samples`` only so many of them, always the same ones."""
    X, y = LOADERS[dataset]()
    if 0 < samples < len(X):
        rng = np.random.default_rng(_tag(dataset))
        kept = np.sort(rng.permutation(len(X))[:samples])
        X, y = X[kept], y[kept]
    return X, y


def subset(dataset: str, number: int, samples: int = 0) -> tuple[FloatArray, IntArray]:
    """The random 90 % of a data set that belong to a repetition."""
    X, y = table(dataset, samples)
    rng = np.random.default_rng(seed_for(dataset, number, "subset"))
    kept = np.sort(rng.permutation(len(X))[: round(SHARE * len(X))])
    return np.ascontiguousarray(X[kept]), y[kept]


def uniform_matrix(n_samples: int, n_features: int, number: int) -> FloatArray:
    """Independent entries, uniform in [−1, 1]."""
    rng = np.random.default_rng(seed_for("uniform", number, f"{n_samples}x{n_features}"))
    return rng.uniform(-1, 1, (n_samples, n_features))


def low_rank_matrix(
    n_samples: int, n_features: int, k: int, sigma: float, number: int
) -> FloatArray:
    """V Uᵀ with U uniform in [−1, 1], V uniform in [0, 1], plus noise of deviation ``sigma``."""
    rng = np.random.default_rng(seed_for("low rank", number, f"{n_samples}x{n_features}x{k}"))
    basis = rng.uniform(-1, 1, (n_features, k))
    codes = rng.uniform(0, 1, (n_samples, k))
    noise = rng.standard_normal((n_samples, n_features))
    return codes @ basis.T + sigma * noise
