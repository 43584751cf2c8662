"""Data, models and small tools that several test modules share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import reference
from seminmf import NMF, GraphSemiNMF, L21SemiNMF, SemiNMF
from seminmf.losses import Cauchy, Huber, Norm, SquaredNorm

CLASSES = {"NMF": NMF, "SemiNMF": SemiNMF, "GraphSemiNMF": GraphSemiNMF, "L21SemiNMF": L21SemiNMF}
GRAPH_MODELS = ("GraphSemiNMF", "L21SemiNMF")
# Model and whether its penalties are on: all that can be fitted without a warning.
KINDS = (
    ("NMF", False),
    ("SemiNMF", False),
    ("GraphSemiNMF", False),
    ("GraphSemiNMF", True),
    ("L21SemiNMF", False),
    ("L21SemiNMF", True),
)

# As the reference calls them.
LOSS_NAMES = {Norm: "norm", SquaredNorm: "squared", Huber: "huber", Cauchy: "cauchy"}

Array = np.ndarray[Any, Any]


def data(
    n: int, m: int, seed: int = 0, *, nonnegative: bool = False, rank: int | None = None
) -> Array:
    """Mixed-sign (or non-negative) data with some structure; of exact ``rank`` if given."""
    rng = np.random.default_rng(seed)
    if rank is not None:
        left = rng.uniform(0, 1, (n, rank))
        right = rng.uniform(0 if nonnegative else -1, 1, (rank, m))
        return left @ right
    centres = rng.normal(size=(4, m)) * 2
    X = centres[rng.integers(0, 4, n)] + rng.normal(size=(n, m))
    return np.abs(X) if nonnegative else X


def cone(
    n: int, m: int, k: int, seed: int = 0, *, nonnegative: bool = False, noise: float = 0.05
) -> Array:
    """Noisy samples of a cone with k rays, most of them on its faces: one factorization fits."""
    rng = np.random.default_rng(seed)
    V = (0.2 + rng.gamma(1, 1, (n, k))) * (rng.random((n, k)) < 0.35)
    V[V.sum(axis=1) == 0, 0] = 1
    U = rng.uniform(0 if nonnegative else -1, 1, (m, k))
    X = V @ U.T + noise * rng.normal(size=(n, m))
    return np.abs(X) if nonnegative else X


def start(
    n: int, m: int, k: int, seed: int = 1, *, nonnegative: bool = False
) -> tuple[Array, Array]:
    """(U0, V0) as the paper draws them."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0 if nonnegative else -1, 1, (m, k)), rng.uniform(0, 1, (n, k))


def make(model: str, k: int, *, penalised: bool | None = None, **parameters: Any) -> Any:
    """An estimator; ``penalised=False`` switches α and β of a graph model off."""
    if model in GRAPH_MODELS and penalised is False:
        parameters = {"alpha": 0, "beta": 0, **parameters}
    return CLASSES[model](k, **parameters)


def problem(model: Any, X: Any, W: Any = None, n_neighbors: int = 5) -> reference.Problem:
    """The reference's view of a fitted model; its graph by brute force unless given, in the
    directions in which the model has compared samples."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    if W is None and model.alpha_ > 0:
        directions = model._projector.index.recipe.directions
        W = reference.neighbour_graph(
            dense if directions is None else dense @ directions, n_neighbors
        )
    if sp.issparse(W):
        W = W.toarray()
    return reference.Problem(
        type(model).__name__, dense, W, model.alpha_, model.beta_, model.l1_,
        LOSS_NAMES[type(model.loss_)], getattr(model.loss_, "scale", 1.0),
    )  # fmt: skip


def value(model: Any, X: Any, W: Any = None) -> float:
    """J recomputed from components_ and codes_."""
    return reference.objective(problem(model, X, W), model.components_.T, model.codes_)


def difference(a: Any, b: Any) -> float:
    """Largest difference relative to the largest entry of ``b``."""
    return float(np.abs(a - b).max() / np.abs(b).max())


@contextmanager
def converging_or_not() -> Iterator[None]:
    """For fits of which it does not matter whether they end by ``tol``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@contextmanager
def lopsided() -> Iterator[None]:
    """For fits with exactly one of α and β zero."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*penalty as small as one likes", category=UserWarning
        )
        yield
