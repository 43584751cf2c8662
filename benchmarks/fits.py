"""Fits that are timed as a whole, by name: for `constants` and `compare`.

They ask for public names alone, so that older versions of the package can make them too; where a
version cannot, the error says so. Graphs are given as matrices, but where the search for neighbours
is to be part of the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from .data import Floats, MissingDataError, load, low_rank, neighbour_graph, random_matrix

# Where only the speed of an iteration matters: as many for everybody.
_FIXED: dict[str, Any] = {"max_iter": 10, "tol": 0}
_NO_GRAPH: dict[str, Any] = {"alpha": 0.0, "beta": 0.0}
# The present default, said to all: earlier versions have another.
_GRAPH: dict[str, Any] = {"strength": 1e-3, "random_state": 0}


@dataclass(frozen=True)
class Fit:
    """An estimator and its data, both made by ``make``."""

    name: str
    title: str
    make: Callable[[], tuple[Any, Any]]

    @cached_property
    def prepared(self) -> tuple[Any, Any]:
        """Estimator and data, made once."""
        return self.make()


def nearest(X: Floats, p: int = 5) -> sp.csr_array:
    """Symmetrised p-nearest-neighbour graph with weights 1, as the models find it themselves."""
    links = sp.csr_array(kneighbors_graph(X, p))
    return sp.csr_array(links.maximum(links.T))


@cache
def _paper(name: str) -> tuple[Floats, sp.csr_array]:
    """A data set of the paper, or one made in its place, with its graph."""
    try:
        X = np.ascontiguousarray(load(name), dtype=np.float64)
    except MissingDataError:
        from seminmf.datasets import make_waveform

        samples = {"ionosphere": 351, "waveform": 5_000}
        X = (
            make_waveform(samples[name], random_state=0)[0]
            if name in samples
            else low_rank(2_007, 256, 16)
        )
    return X, nearest(X)


@cache
def _made(n: int, m: int, k: int) -> tuple[Floats, sp.csr_array]:
    """Low rank and noise; codes follow points in space, whose neighbours make up the graph."""
    rng = np.random.default_rng(3)
    points = rng.random((n, 3))
    codes = np.maximum(points @ rng.standard_normal((3, k)), 0)
    return low_rank(n, m, k, codes=codes), neighbour_graph(points)


@cache
def _decaying(n: int, m: int) -> Floats:
    """Principal directions of ever smaller variance, as pictures have them."""
    rng = np.random.default_rng(4)
    scores = rng.standard_normal((n, m)) / np.arange(1, m + 1) ** 0.7
    return np.ascontiguousarray(scores @ np.linalg.qr(rng.standard_normal((m, m)))[0])


@cache
def _positive(n: int, m: int, k: int) -> Floats:
    rng = np.random.default_rng(5)
    parts = rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, m))
    return parts + 0.1 * rng.random((n, m))


def _robust(make: Callable[[], tuple[Any, Any]], k: int, **settings: Any) -> tuple[Any, Any]:
    """`L21SemiNMF` with a graph."""
    from seminmf import L21SemiNMF

    X, graph = make()
    return L21SemiNMF(k, graph=graph, **_GRAPH, **settings), X


def _alone(
    make: Callable[[], Floats], k: int, model: str = "L21SemiNMF", **settings: Any
) -> tuple[Any, Any]:
    """A model without a graph."""
    import seminmf

    off = _NO_GRAPH if model == "L21SemiNMF" else {}
    return getattr(seminmf, model)(k, random_state=0, **{**off, **settings}), make()


def _whole(name: str, k: int) -> tuple[Any, Any]:
    """`L21SemiNMF` that looks for neighbours itself."""
    from seminmf import L21SemiNMF

    return L21SemiNMF(k, **_GRAPH), _data(name)


def _chain(n: int, m: int) -> tuple[Floats, sp.csr_array]:
    """Each sample is next to the one before and the one after."""
    ones = np.ones(n - 1)
    return _made(n, m, 10)[0], sp.csr_array(sp.diags_array([ones, ones], offsets=[-1, 1]))


def _sparse(n: int, m: int, density: float) -> sp.csr_array:
    return sp.csr_array(sp.random_array((n, m), density=density, format="csr", rng=0))


def _with_short_rows() -> tuple[Floats, sp.csr_array]:
    X = _paper("waveform")[0].copy()
    X[::10] *= 1e-4
    return X, nearest(X)


def _centred(n: int, m: int) -> tuple[Floats, sp.csr_array]:
    """Samples that depend on each other: their products with each other are singular."""
    X = _decaying(n, m)
    return X - X.mean(axis=0), nearest(X)


def _own_loss(**settings: Any) -> tuple[Any, Any]:
    """The pseudo-Huber loss, which no version has, as each version takes it."""
    from seminmf.datasets import make_waveform

    from .own_losses import robust_model

    X = make_waveform(400, random_state=0)[0]
    return robust_model(5, graph=nearest(X), **_GRAPH, **settings), X


def _fit(name: str, title: str, make: Callable[..., tuple[Any, Any]], *a: Any, **b: Any) -> Fit:
    return Fit(name, title, partial(make, *a, **b))


def _of(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return partial(function, *arguments)


def _data(name: str) -> Floats:
    return _paper(name)[0]


_ALL = (
    _fit("ionosphere", "Ionosphere 351 × 34, k=5", _robust, _of(_paper, "ionosphere"), 5),
    _fit("waveform", "Waveform 5,000 × 21, k=10", _robust, _of(_paper, "waveform"), 10),
    _fit("uspst", "USPST 2,007 × 256, k=16", _robust, _of(_paper, "uspst"), 16),
    _fit("ionosphere-mu", "Ionosphere, `mu`", _robust, _of(_paper, "ionosphere"), 5, solver="mu"),
    _fit(
        "ionosphere-mu-80", "Ionosphere, `mu`, 80 iterations", _robust, _of(_paper, "ionosphere"),
        5, solver="mu", max_iter=80, tol=0,
    ),
    _fit("waveform-mu", "Waveform, `mu`", _robust, _of(_paper, "waveform"), 10, solver="mu"),
    _fit("uspst-mu", "USPST, `mu`", _robust, _of(_paper, "uspst"), 16, solver="mu"),
    _fit("uspst-tol", "USPST, tol=1e-6", _robust, _of(_paper, "uspst"), 16, tol=1e-6, max_iter=500),
    _fit("ionosphere-alone", "Ionosphere without graph", _alone, _of(_data, "ionosphere"), 5),
    _fit("semi-waveform", "Waveform, SemiNMF", _alone, _of(_data, "waveform"), 10, "SemiNMF"),
    _fit("semi-uspst", "USPST, SemiNMF", _alone, _of(_data, "uspst"), 16, "SemiNMF"),
    _fit("ionosphere-whole", "Ionosphere, neighbours included", _whole, "ionosphere", 5),
    _fit("waveform-whole", "Waveform, neighbours included", _whole, "waveform", 10),
    _fit("short", "Waveform, a tenth of the samples near 0", _robust, _with_short_rows, 10),
    _fit("tall", "100,000 × 20, k=10", _alone, lambda: _made(100_000, 20, 10)[0], 10, **_FIXED),
    _fit(
        "tall-graph", "100,000 × 20, k=10, graph", _robust, _of(_made, 100_000, 20, 10), 10,
        **_FIXED,
    ),
    _fit("middle", "20,000 × 100, k=20", _alone, lambda: _made(20_000, 100, 20)[0], 20),
    _fit("middle-graph", "20,000 × 100, k=20, graph", _robust, _of(_made, 20_000, 100, 20), 20),
    _fit("small-graph", "500 × 100, k=5, graph", _robust, _of(_made, 500, 100, 5), 5),
    _fit("broad-graph", "8,000 × 600, k=10, graph", _robust, _of(_made, 8_000, 600, 10), 10),
    _fit("images", "3,000 × 784, k=20", _alone, _of(_decaying, 3_000, 784), 20),
    _fit("images-40", "3,000 × 784, k=40", _alone, _of(_decaying, 3_000, 784), 40),
    _fit(
        "semi-images", "3,000 × 784, SemiNMF, k=20", _alone, _of(_decaying, 3_000, 784), 20,
        "SemiNMF",
    ),
    _fit("positive", "2,000 × 50 positive, k=8", _alone, _of(_positive, 2_000, 50, 8), 8),
    _fit(
        "positive-semi", "2,000 × 50 positive, SemiNMF, k=8", _alone, _of(_positive, 2_000, 50, 8),
        8, "SemiNMF",
    ),
    _fit("random", "random 128 × 1,000, k=16", _alone, _of(random_matrix, 128, 1_000), 16),
    _fit("random-400", "random 400 × 200, k=16", _alone, _of(random_matrix, 400, 200), 16),
    _fit("wide", "400 × 2,000 centred, k=20, graph", _robust, _of(_centred, 400, 2_000), 20),
    _fit(
        "wide-full", "600 × 2,000, k=10, graph", _robust,
        lambda: (_decaying(600, 2_000), nearest(_decaying(600, 2_000))), 10,
    ),
    _fit("wide-alone", "600 × 2,000, k=10", _alone, _of(_decaying, 600, 2_000), 10),
    _fit("chain", "200,000 × 20, k=10, chain", _robust, _of(_chain, 200_000, 20), 10, **_FIXED),
    _fit("long", "200,000 × 20, k=10", _alone, lambda: _chain(200_000, 20)[0], 10, **_FIXED),
    _fit(
        "sparse", "sparse 20,000 × 1,000 with 1 %, k=10", _alone, _of(_sparse, 20_000, 1_000, 0.01),
        10, **_FIXED,
    ),
    _fit("nmf", "NMF 5,000 × 200, k=10", _alone, _of(_positive, 5_000, 200, 10), 10, "NMF"),
    _fit("own-loss", "400 × 21, k=5, a loss of one's own", _own_loss),
    _fit("own-loss-200", "the same, 200 iterations", _own_loss, max_iter=200, tol=0),
)  # fmt: skip
FITS: dict[str, Fit] = {fit.name: fit for fit in _ALL}
