"""How far out a sample is: its distance from what the other samples say that it should be.

A sample that took part in a fit may have got a part of its own, and then its residual says nothing
about it. So each sample is foretold by the others alone, in one of two ways:

- by parts: of a fit that has not seen it. The samples are dealt into a few folds, and the fit to
  all but one of them begins at the basis of the whole fit, so that few iterations are enough;
- by neighbours, where the model has a graph: the mean of the nearest other samples.

Which way is taken is decided once for a training set, by a trial: copies of some samples are spoilt
(`data.distances.spoilt_copies`), and the way whose scores tell those better from the samples is
taken. Where there are as many parts as features, they foretell nothing; samples of a wide cone lie
nearer to its parts than to each other.

Samples far from the middle of the data do not vouch for each other: they are scored like all, but
have no say in the parts and are nobody's neighbours. So outliers that form a group are found while
they are fewer than half, and farther from the middle than the others spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..compiled.single import nnls_rows
from ..data import DESCEND, Engine, LazyCompression, Rule, Space, Visited
from ..data.distances import distances_from_means, distances_from_middle, spoilt_copies
from ..graph.index import NeighbourIndex
from ..outliers import shortest_half
from ..problem.basis import LeastSquaresBasis, NonnegativeBasis
from ..problem.losses import Loss
from ..problem.objective import Floors, Objective
from .descent import Descent, Scheme

# Samples so many deviations farther from the middle than is usual do not vouch for others. In
# trials on small tables, groups of outliers went unseen with 3.5, and with 2.5 more ordinary ones
# lost their neighbours; no script of the repository measures this.
_FAR = 3.0
# Folds, and iterations of each; in trials two did as well as eight.
_FOLDS, _ITERATIONS = 5, 3
# Samples whose copies are spoilt to try both ways.
_TRIED = 300
# Folds and copies are the same each time.
_SEED = 0


@dataclass(frozen=True)
class Reference:
    """A training set, and how samples are foretold from it."""

    trusted: NDArray[np.bool_]
    """Samples that have a say."""
    scores: FloatArray
    """Of the training samples, each by the others alone."""
    basis: FloatArray
    """Parts of the samples that have a say."""
    index: NeighbourIndex | None
    """Of the samples that have a say, if neighbours foretell a sample; None if parts do."""

    def score(self, X: Any) -> FloatArray:
        """Scores of samples that are not in the training set."""
        return _by_parts(X, self.basis) if self.index is None else _by_neighbours(X, self.index)


def _by_parts(X: Any, basis: FloatArray) -> FloatArray:
    with Engine(X, basis.shape[1]) as engine:
        return residuals_of(engine, basis.astype(X.dtype, copy=False))


def _by_neighbours(X: Any, index: NeighbourIndex) -> FloatArray:
    return distances_from_means(X, index.samples, index.nearest(X))


def residuals_of(engine: Engine, basis: FloatArray) -> FloatArray:
    """Of non-negative least squares."""
    codes = np.zeros((engine.n_samples, basis.shape[1]), engine.dtype)
    return _foretold_by_parts(engine, basis, codes, np.ones(engine.n_samples, np.bool_))


@dataclass(frozen=True)
class Fitted:
    """What scores need of a fit."""

    basis: FloatArray
    codes: FloatArray
    residuals: FloatArray
    loss: Loss
    nonnegative: bool
    index: NeighbourIndex | None = None
    """Of all samples; None without a graph."""
    links: sp.csr_array | None = None
    """The neighbours that the fit found, if they are known."""


def refer(X: Any, fitted: Fitted) -> Reference:
    """Score all samples of a training set, which are different from each other."""
    trusted = _near_the_middle(X)
    with Engine(X, fitted.basis.shape[1]) as engine:
        parts = _Parts(engine, fitted, trusted)
        scores = parts.held_out()
        basis = fitted.basis if trusted.all() else parts.fit(trusted)
    if fitted.index is not None and fitted.index.n_neighbors > 0 and trusted.sum() > 1:
        index = _index_of(fitted.index, trusted)
        distances = distances_from_means(X, X, _neighbours(X, trusted, index, fitted.links))
        if _tell_better(X, trusted, (distances, index), (scores, basis)):
            return Reference(trusted, distances, basis, index)
    return Reference(trusted, scores, basis, None)


def _index_of(index: NeighbourIndex, trusted: NDArray[np.bool_]) -> NeighbourIndex:
    """The index of the samples that have a say."""
    if trusted.all():
        return index
    count = min(index.n_neighbors, int(trusted.sum()) - 1)
    return NeighbourIndex(index.samples[trusted], count, index.recipe)


def _tell_better(
    X: Any, trusted: NDArray[np.bool_], neighbours: tuple[FloatArray, NeighbourIndex],
    parts: tuple[FloatArray, FloatArray],
) -> bool:  # fmt: skip
    """Whether neighbours tell spoilt copies from samples at least as well as parts do."""
    rng = np.random.RandomState(_SEED)
    tried = rng.permutation(np.flatnonzero(trusted))[:_TRIED]
    advantage = 0.0
    for copies in spoilt_copies(X[tried], rng):
        advantage += _told_apart(neighbours[0][tried], _by_neighbours(copies, neighbours[1]))
        advantage -= _told_apart(parts[0][tried], _by_parts(copies, parts[1]))
    return advantage >= 0


def _told_apart(low: FloatArray, high: FloatArray) -> float:
    """How often one of ``high`` is above one of ``low``; equal ones count half."""
    ordered = np.sort(low)
    below, not_above = (np.searchsorted(ordered, high, side) for side in ("left", "right"))
    return float((below + not_above).mean()) / (2 * len(low))


def _near_the_middle(X: Any) -> NDArray[np.bool_]:
    """Samples that are not much farther from the median of all than is usual."""
    distances = distances_from_middle(X)
    usual, deviation = shortest_half(distances)
    near: NDArray[np.bool_] = distances <= usual + _FAR * deviation
    # Where half of the samples are the same, nothing is known of the others.
    return near if deviation > 0 else np.ones_like(near)


class _Parts:
    """Fits to some of the samples, all from the same start."""

    def __init__(self, engine: Engine, fitted: Fitted, trusted: NDArray[np.bool_]) -> None:
        self._trusted, self._codes = trusted, fitted.codes.astype(engine.dtype, copy=False)
        self._space = Space(engine)
        basis, k = fitted.basis.astype(engine.dtype), fitted.basis.shape[1]
        if not fitted.nonnegative:
            most = _ITERATIONS * (_FOLDS + 1)
            self._space = LazyCompression(engine, k).at_once(most) or self._space
        compression = self._space.compression
        self._basis = basis if compression is None else compression.lower(basis)
        rule = Rule(DESCEND, sweeps=2)
        step = NonnegativeBasis(rule) if fitted.nonnegative else LeastSquaresBasis()
        self._scheme = Scheme(rule, step, accelerate=True)
        # Below a typical residual all samples weigh the same: one that is fitted exactly must not
        # hold its part fast.
        lengths = np.sqrt(engine.squares)
        smallest = np.finfo(engine.dtype).eps * float(np.median(lengths)) or 1.0
        floor = max(float(np.median(fitted.residuals)), smallest)
        self._objective = Objective(fitted.loss, fitted.loss, floors=Floors(floor, 1.0, 1.0))

    def _fit(self, taking_part: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Basis, in the features of the space, and codes of all."""
        dtype = self._space.engine.dtype
        start = self._basis.copy(), self._codes.copy()
        share = taking_part.astype(dtype)
        descent = Descent(self._space, self._objective, self._scheme, None, share, start)
        eta = descent.first_eta
        for _ in range(_ITERATIONS):
            _, eta = descent.iterate(eta)
        basis, codes = descent.factors()
        # A part that nobody here uses is as the samples left out have made it.
        unused = ~(codes[taking_part] > 0).any(axis=0)
        basis[:, unused] = 0
        codes[:, unused] = 0
        return basis, codes

    def fit(self, taking_part: NDArray[np.bool_]) -> FloatArray:
        """The basis in the features of X."""
        return self._space.lift(self._fit(taking_part)[0])

    def held_out(self) -> FloatArray:
        """Residual of each sample by parts that have not seen it."""
        n = self._space.engine.n_samples
        folds = min(_FOLDS, n)
        fold = np.random.RandomState(_SEED).permutation(n) % folds
        residuals = np.empty(n)
        for number in range(folds):
            held = fold == number
            taking_part = self._trusted & ~held
            if not taking_part.any():
                taking_part = ~held
            basis, codes = self._fit(taking_part)
            residuals[held] = _foretold_by_parts(self._space.engine, basis, codes, held)[held]
        return residuals


def _foretold_by_parts(
    engine: Engine, basis: FloatArray, codes: FloatArray, wanted: NDArray[np.bool_]
) -> FloatArray:
    """Residuals of non-negative least squares for the ``wanted`` samples; others have any number.

    ``codes`` give the supports to start from.
    """
    omega = (basis.T @ basis).astype(np.float64)

    def visit(rows: slice, visited: Visited, phi: Any) -> FloatArray:
        chosen, found = wanted[rows], codes[rows].copy()
        own = np.ascontiguousarray(found[chosen])
        nnls_rows(phi[chosen].astype(np.float64), omega, np.zeros(len(own)), own)
        found[chosen] = own
        return visited.residuals(found, basis)

    return np.concatenate(engine.map_rows(basis, visit)).astype(np.float64)


def _neighbours(
    X: Any, trusted: NDArray[np.bool_], index: NeighbourIndex, links: sp.csr_array | None
) -> IntArray:
    """For each sample the nearest others that have a say, whose ``index`` this is.

    ``links`` are the nearest of all; they are looked for again where some of those have none.
    """
    n, count = X.shape[0], min(index.n_neighbors, len(index) - 1)
    near, rows = np.empty((n, count), np.int64), np.arange(n)
    if links is not None and (np.diff(links.indptr) == count).all():
        near[:] = links.indices.reshape(n, count)
        rows = np.flatnonzero(~trusted[near].all(axis=1))
    if len(rows):
        found = np.flatnonzero(trusted)[index.nearest(X[rows], count + 1)]
        # Itself, if it is there, goes to the end, and the last is left out.
        order = np.argsort(found == rows[:, None], axis=1, kind="stable")
        near[rows] = np.take_along_axis(found, order, axis=1)[:, :count]
    return near
