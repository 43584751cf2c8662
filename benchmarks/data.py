"""The arrays that are measured on. Everywhere a row is a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]


class MissingDataError(RuntimeError):
    """A data set that is not on this computer; the benchmark downloads nothing."""


@dataclass(frozen=True)
class Problem:
    """Data with the paper's parameters, and its random start."""

    name: str
    X: Floats
    n_components: int
    alpha: float = 0.0
    beta: float = 0.0
    graph: Any = None

    @property
    def penalties(self) -> dict[str, Any]:
        """Arguments of the plain formulas."""
        return {"alpha": self.alpha, "beta": self.beta, "graph": self.graph}

    @property
    def parameters(self) -> dict[str, Any]:
        """Arguments of the estimators with a graph."""
        graph = "knn" if self.graph is None else self.graph
        return {"alpha": self.alpha, "beta": self.beta, "graph": graph}

    def start(self, seed: int = 0) -> tuple[Floats, Floats]:
        """U in [−1, 1] and V in [0, 1]."""
        return random_start(self.X.shape, self.n_components, seed)


def random_start(shape: tuple[int, ...], k: int, seed: int = 0) -> tuple[Floats, Floats]:
    """The paper's start: U in [−1, 1] and V in [0, 1]."""
    n, m = shape
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (m, k)), rng.uniform(0, 1, (n, k))


def random_matrix(n: int, m: int, seed: int = 1) -> Floats:
    """Uniform in [−1, 1], the paper's random mixed-sign matrices."""
    return np.random.default_rng(seed).uniform(-1, 1, (n, m))


def low_rank(n: int, m: int, k: int, seed: int = 2, codes: Floats | None = None) -> Floats:
    """V Uᵀ plus noise, made block by block so that nothing but the result needs memory."""
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((k, m))
    X = np.empty((n, m))
    for first in range(0, n, 2_000):
        block = X[first : first + 2_000]
        rng.standard_normal(out=block)
        rows = slice(first, first + len(block))
        block += (rng.random((len(block), k)) if codes is None else codes[rows]) @ basis
    return X


def neighbour_graph(points: Floats, p: int = 5) -> sp.csr_array:
    """Symmetrised p-nearest-neighbour graph with weights 1, by a tree (for few dimensions)."""
    n = len(points)
    _, nearest = cKDTree(points).query(points, p + 1, workers=-1)
    pattern = sp.csr_array(
        (np.ones(n * p), nearest[:, 1:].ravel(), np.arange(0, n * p + 1, p)), shape=(n, n)
    )
    result = sp.csr_array(pattern.maximum(pattern.T))
    result.setdiag(0)
    result.eliminate_zeros()
    return result


def load(name: str) -> Any:
    """A data set from the folder named by SEMINMF_DATA or from the cache."""
    from seminmf import datasets

    if datasets.locate(name) is None:
        raise MissingDataError(f"data set {name} not found; name its folder in SEMINMF_DATA")
    return getattr(datasets, f"load_{name}")(return_X_y=True)[0]


def cifar(quick: bool) -> Floats:
    """The test images of CIFAR-10, 10,000 × 3,072 in [0, 1]."""
    images = load("cifar10_test")
    return (images[::20] if quick else images) / 255.0


# The paper's k, α and β.
_PAPER = {
    "ionosphere": ("Ionosphere 351 × 34", 5, 0.1, 2.25),
    "waveform": ("Waveform 5,000 × 21", 10, 0.1, 100.0),
    "uspst": ("USPST 2,007 × 256", 16, 1.0, 15.0),
}


def paper_problem(name: str) -> Problem:
    """A data set of the paper with its best parameters and the exact p = 5 graph.

    Waveform is generated where it cannot be found: it is a made data set to begin with.
    """
    from seminmf.graph.neighbours import knn_graph

    title, k, alpha, beta = _PAPER[name]
    try:
        X = np.ascontiguousarray(load(name), dtype=np.float64)
    except MissingDataError:
        if name != "waveform":
            raise
        from seminmf.datasets import make_waveform

        X = make_waveform(5000, random_state=0)[0]
    return Problem(f"{title}, k={k}", X, k, alpha, beta, knn_graph(X, 5))


def wide_problem(k: int, quick: bool) -> Problem:
    """The paper's random matrix: 128 samples of 10,000 features, α = β = 0."""
    m = 1_000 if quick else 10_000
    return Problem(f"random 128 × {m:,}, k={k}", random_matrix(128, m), k)
