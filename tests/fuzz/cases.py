"""What is fitted in a case: data, how they are stored, an estimator, weights.

Everything is drawn from a generator that is seeded with the number of the case. New kinds are added
at the end of their table, and numbers then stand for other cases: name the commit with a number.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

import seminmf
from seminmf import losses

Array = np.ndarray[Any, Any]

ESTIMATORS = ("NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF", "RobustSemiNMF")
SIZES = (2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100)
DATA = (
    "gauss", "clusters", "rank", "rank", "constant", "rows", "columns", "sparse", "copies",
    "integers", "outliers", "units", "single", "denormal", "ramp", "nearly",
)  # fmt: skip
STORAGE = (
    "C", "C", "C", "F", "every other", "backwards", "read only", "mapped", "float32",
    "float32", "float32 F", "float32 csr", "csr", "csr matrix", "csr 64", "csr zeros",
    "csr unsorted", "csc", "frame", "list", "integers", "big endian",
)  # fmt: skip
USES = ("nothing", "nothing", "goes on", "batches", "clusters", "outliers")
# Enough work for helpers in compiled code, one in so many cases.
LARGE, ONE_IN = (2_500, 24), 60


class Own(losses.Loss):
    """Huber's loss as a user would write it."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    @staticmethod
    def value(t: float, width: float) -> float:
        return t - width / 2 if t > width else t * t / (2 * width)

    @staticmethod
    def weight(t: float, width: float) -> float:
        return 0.5 / t if t > width else 0.5 / width


@dataclass
class Case:
    """A fit to be made; ``words`` say what it is."""

    number: int
    X: Any
    estimator: Any
    weights: Array | None = None
    words: list[str] = field(default_factory=list)
    set: tuple[str, ...] = ()
    """The parameters that were drawn."""
    use: str = "nothing"
    """What else is done with the model."""

    def __str__(self) -> str:
        parameters = self.estimator.get_params()
        if isinstance(parameters["init"], tuple):
            parameters["init"] = "given"
        told = ", ".join(
            f"{name}={value!r}" for name, value in parameters.items() if name in self.set
        )
        words = ", ".join(self.words)
        told = f"{type(self.estimator).__name__}({told})"
        return f"case {self.number}: {words}; {told}; {self.use}"

    @property
    def dense(self) -> Array:
        """X as the estimator sees its numbers, in double precision."""
        X = self.X.toarray() if sp.issparse(self.X) else np.asarray(self.X)
        return X.astype(np.float64)

    @property
    def single(self) -> bool:
        return getattr(self.X, "dtype", None) == np.float32


def _pick(rng: Any, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _size(rng: Any) -> float:
    """A number of any size."""
    return float(10 ** rng.uniform(-10, 10))


def _numbers(rng: Any, kind: str, n: int, m: int) -> Array:
    X = rng.normal(size=(n, m))
    if kind == "clusters":
        X = X * 0.3 + rng.normal(size=(4, m))[rng.integers(0, 4, n)] * 3
    elif kind == "rank":
        rank = int(rng.integers(0, min(n, m) + 1))
        X = rng.uniform(0, 1, (n, rank)) @ rng.normal(size=(rank, m))
    elif kind == "constant":
        X = np.full((n, m), rng.normal())
    elif kind == "rows":
        X[rng.random(n) < 0.4] = rng.normal()
        X[rng.random(n) < 0.3] = 0
    elif kind == "columns":
        X[:, rng.random(m) < 0.4] = rng.normal()
        X[:, rng.random(m) < 0.3] = 0
    elif kind == "sparse":
        X[rng.random((n, m)) < rng.choice([0.5, 0.9, 0.99])] = 0
    elif kind == "copies":
        X = X[rng.integers(0, max(1, n // int(_pick(rng, (2, 5, 50)))), n)]
    elif kind == "integers":
        X = rng.integers(-3, 4, (n, m)).astype(float)
    elif kind == "outliers":
        X[rng.integers(0, n, max(1, n // 10))] *= 10 ** rng.uniform(1, 8)
    elif kind == "units":
        X *= 10 ** rng.uniform(-8, 8, m)
    elif kind == "single":
        X[:] = 0
        X[rng.integers(n), rng.integers(m)] = rng.normal()
    elif kind == "denormal":
        X[rng.random((n, m)) < 0.5] *= 1e-310
    elif kind == "ramp":
        X = np.add.outer(np.arange(n), np.arange(m)).astype(float)
    elif kind == "nearly":
        X = np.outer(np.ones(n), rng.normal(size=m)) + 1e-9 * X
    return X


def _scale(rng: Any, single: bool) -> float:
    most = (15, 37) if single else (150, 300)
    kind = rng.random()
    if kind < 0.6:
        return 1.0
    return float(10 ** rng.uniform(-most[kind > 0.95], most[kind > 0.95]))


def _stored(rng: Any, X: Array, storage: str, folder: Path) -> Any:
    n, m = X.shape
    if storage.startswith("float32"):
        with np.errstate(over="ignore", under="ignore"):
            X = X.astype(np.float32)
    if storage.endswith("F"):
        return np.asfortranarray(X)
    if storage == "every other":
        wide = np.zeros((2 * n, 3 * m))
        wide[::2, ::3] = X
        return wide[::2, ::3]
    if storage == "backwards":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if storage == "read only":
        X.setflags(write=False)
        return X
    if storage == "mapped":
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".npy") as file:
            np.save(file, X)
            file.flush()
            return np.load(file.name, mmap_mode="r")  # stays readable without its name
    if storage == "frame":
        import pandas as pd

        return pd.DataFrame(X, columns=[f"feature {j}" for j in range(m)])
    if storage == "list":
        return X.tolist()
    if storage == "integers":
        with np.errstate(invalid="ignore"):
            return np.clip(np.nan_to_num(X), -1e9, 1e9).round().astype(np.int64)
    if storage == "big endian":
        return X.astype(">f8")
    if storage == "csc":
        return sp.csc_array(X)
    if "csr" in storage:
        return _csr(rng, X, storage)
    return X


def _csr(rng: Any, X: Array, storage: str) -> Any:
    found = sp.csr_matrix(X) if storage == "csr matrix" else sp.csr_array(X)
    if storage == "csr 64":
        found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    if storage == "csr zeros":
        i, j = np.nonzero(rng.random(X.shape) < 0.3)
        i, j = np.append(i, np.nonzero(X)[0]), np.append(j, np.nonzero(X)[1])
        values = np.where(np.arange(len(i)) < len(i) - found.nnz, 0, X[i, j])
        found = sp.csr_array(sp.coo_array((values, (i, j)), X.shape))
    if storage == "csr unsorted":
        for first, last in zip(found.indptr[:-1], found.indptr[1:], strict=True):
            order = first + rng.permutation(last - first)
            found.indices[first:last] = found.indices[order]
            found.data[first:last] = found.data[order]
        found.has_sorted_indices = False
    return found


def _graph(rng: Any, n: int) -> Any:
    kind = _pick(
        rng, ("auto", "auto", "knn", "ring", "random", "empty", "lopsided", "search", "radius")
    )
    if kind in ("auto", "knn"):
        return kind
    if kind == "ring":
        ties = sp.eye_array(n, k=1, format="csr") if n > 1 else sp.csr_array((n, n))
        return sp.csr_array(ties + ties.T)
    if kind == "random":
        ties = sp.random_array((n, n), density=0.2, rng=rng, format="csr")
        return sp.csr_array(ties + ties.T)
    if kind == "lopsided":
        return sp.random_array((n, n), density=0.2, rng=rng, format="csr")
    if kind == "empty":
        return sp.csr_array((n, n))
    if kind == "search":
        return KNeighborsTransformer(n_neighbors=max(1, min(3, n - 1)))
    return RadiusNeighborsTransformer(radius=float(10 ** rng.uniform(-1, 1)))


def _loss(rng: Any, unit: float) -> Any:
    kind = _pick(rng, ("norm", "squared", "huber", "cauchy", losses.Huber, losses.Cauchy, Own))
    return kind if isinstance(kind, str) else kind(float(unit * 10 ** rng.uniform(-3, 3)))


def _parameters(rng: Any, name: str, n: int, m: int, scale: float) -> dict[str, Any]:
    nonnegative = name == "NMF"
    most = min(n, m) if nonnegative else n
    k = int(_pick(rng, (1, 2, 3, most, max(1, most - 1), int(rng.integers(1, most + 1)))))
    k = min(k, most + (rng.random() < 0.03), 60)
    unit = min(max(scale, 1e-140), 1e140) if rng.random() < 0.9 else 1.0
    found: dict[str, Any] = {
        "n_components": k, "solver": _pick(rng, ("cd", "cd", "mu")),
        "init": _pick(rng, ("auto", "auto", "random", "svd", "kmeans", "exemplar", "given")),
        "max_iter": _pick(rng, (1, 2, 3, 10, 40)), "tol": _pick(rng, (0, 1e-4, 1e-2)),
        "n_init": _pick(rng, (1, 1, 1, 2)), "random_state": int(rng.integers(1000)),
    }  # fmt: skip
    if found["init"] == "given":
        V0 = rng.uniform(0, 1, (n, k)) * (rng.random((n, k)) < _pick(rng, (1, 0.5)))
        found["init"] = rng.uniform(-1 + nonnegative, 1, (m, k)) * unit, V0
    if name in ("NMF", "SemiNMF"):
        return found
    found.update(graph=_graph(rng, n), n_neighbors=int(_pick(rng, (1, 2, 5))))
    if name == "RobustSemiNMF":
        found["loss"] = _loss(rng, unit)
    square = name == "GraphSemiNMF" or found.get("loss") == "squared"
    alpha, beta = (unit**2, unit) if square else (unit, 1.0)
    kind = _pick(rng, ("auto", "auto", "off", "given", "one", "strength", "extreme"))
    if kind == "off":
        found.update(alpha=0, beta=0)
    elif kind == "given":
        found.update(alpha=alpha * 10 ** rng.uniform(-3, 3), beta=beta * 10 ** rng.uniform(-3, 3))
    elif kind == "one":
        name, size = _pick(rng, (("alpha", alpha), ("beta", beta)))
        found[name] = _pick(rng, (0, 1)) * size
    elif kind == "strength":
        found["strength"] = float(_pick(rng, (0, 1e-6, 0.1, 10, 1e4)))
    elif kind == "extreme":
        found.update(alpha=alpha * _size(rng), beta=beta * _size(rng))
    if rng.random() < 0.2:
        found["l1"] = float(10 ** rng.uniform(-6, 0))
        if rng.random() < 0.1:
            found["l1"] = _size(rng)
    return found


def _weights(rng: Any, n: int) -> Array | None:
    kind = _pick(rng, ("none", "none", "none", "uniform", "integers", "zeros", "sizes", "unit"))
    if kind == "none":
        return None
    if kind == "uniform":
        return np.asarray(rng.uniform(0.5, 2, n))
    if kind == "integers":
        return np.asarray(rng.integers(1, 4, n).astype(float))
    if kind == "zeros":
        return np.asarray(rng.uniform(0.5, 2, n) * (rng.random(n) < 0.7))
    if kind == "unit":
        return np.asarray(rng.uniform(0.5, 2, n) * _size(rng))
    return np.asarray(10 ** rng.uniform(-6, 6, n))


def make(number: int, folder: Path) -> Case:
    """The case of a number; ``folder`` is for files of numbers."""
    rng = np.random.default_rng(number)
    name, kind, storage = _pick(rng, ESTIMATORS), _pick(rng, DATA), _pick(rng, STORAGE)
    n, m = (int(_pick(rng, SIZES)) if rng.random() > 0.03 else 1 for _ in range(2))
    if rng.random() < 1 / ONE_IN:
        n, m = LARGE
    X = _numbers(rng, kind, n, m)
    if name == "NMF":
        X = np.abs(X)
    scale = _scale(rng, storage.startswith("float32"))
    parameters = _parameters(rng, name, n, m, scale)
    if n > max(SIZES):
        parameters.update(n_components=min(12, parameters["n_components"]), max_iter=3)
        if isinstance(parameters["init"], tuple):
            parameters["init"] = "random"
    weights = _weights(rng, n)
    with np.errstate(over="ignore", under="ignore"):
        X = _stored(rng, np.clip(X * scale, -1e307, 1e307), storage, folder)
    words = [kind, f"{n} × {m}", storage, f"scale {scale:.3g}"]
    if weights is not None:
        words.append("weights")
    estimator, use = getattr(seminmf, name)(**parameters), _pick(rng, USES)
    return Case(number, X, estimator, weights, words, tuple(parameters), use)
