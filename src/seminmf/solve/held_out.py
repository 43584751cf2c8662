"""What parts that have not seen a sample say of it: the samples are dealt into a few folds.

With codes and weights as the fit has left them, the best basis is a solution of normal equations,
which are sums over samples; without a fold they are the sums of the others. So the parts without
each fold take one product with X together, and no further iterations, but one where some samples
have no say at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..compiled.single import nnls_rows
from ..data import Engine, Visited
from ..data.distances import Errors
from ..problem.losses import Loss

_FOLDS = 5
# Folds are the same each time.
_SEED = 0
# Of the length of each part's codes: keeps the normal equations of parts that are used alike apart.
_RIDGE = 1e-6


@dataclass(frozen=True)
class Fitted:
    """What scores need of a fit."""

    basis: FloatArray
    codes: FloatArray
    residuals: FloatArray
    loss: Loss
    nonnegative: bool


def held_out(X: Any, fitted: Fitted, trusted: NDArray[np.bool_]) -> tuple[FloatArray, Errors]:
    """Parts of the samples that have a say, and errors of all by parts that have not seen them."""
    n, k = fitted.codes.shape
    folds = min(_FOLDS, n)
    fold = np.random.RandomState(_SEED).permutation(n) % folds
    basis, codes, residuals = fitted.basis, fitted.codes, fitted.residuals
    with Engine(X, folds * k) as engine:
        if not trusted.all():
            # What samples without a say have made of the codes of others is undone.
            equations = _Equations.of(engine, fitted, codes, residuals, trusted, 0 * fold)
            basis = equations.solved(slice(None))
            codes, _, residuals = _least_squares(engine, basis, codes, 0 * fold)
        equations = _Equations.of(engine, fitted, codes, residuals, trusted, fold)
        apart = [equations.solved(np.arange(folds) != number) for number in range(folds)]
        return basis, Errors(X, *_least_squares(engine, np.hstack(apart), codes, fold))


@dataclass(frozen=True)
class _Equations:
    """U·gram = sums, by folds."""

    sums: FloatArray
    grams: FloatArray
    nonnegative: bool

    @classmethod
    def of(
        cls, engine: Engine, fitted: Fitted, codes: FloatArray, residuals: FloatArray,
        trusted: NDArray[np.bool_], fold: IntArray,
    ) -> _Equations:  # fmt: skip
        (n, k), folds = codes.shape, int(fold.max()) + 1
        # Below a typical residual all samples weigh the same: one that is fitted exactly must not
        # hold its part fast.
        residuals = residuals.astype(np.float64, copy=False)
        floor = float(np.median(residuals)) or float(residuals.max()) or 1.0
        weights = fitted.loss.weights(residuals, floor, trusted.astype(np.float64))
        by_fold = (np.arange(folds) == fold[:, None]) * weights[:, None]
        weighted = (by_fold[:, :, None] * codes[:, None]).reshape(n, folds * k)
        sums = engine.adjoint_times(weighted.astype(engine.dtype, copy=False))
        grams = (weighted.T @ codes).reshape(folds, k, k)
        return cls(sums.reshape(-1, folds, k), grams, fitted.nonnegative)

    def solved(self, some: Any) -> FloatArray:
        """U for some of the folds; parts that none of them uses are zero.

        So are those that they use by no more than the rounding of what all use of them, and that
        would be as many times as long.
        """
        sums = self.sums[:, some].sum(axis=1, dtype=np.float64)
        gram = self.grams[some].sum(axis=0, dtype=np.float64)
        least = np.diagonal(self.grams.sum(axis=0)) * np.finfo(self.sums.dtype).eps ** 2
        return _basis(sums, gram, np.diagonal(gram) > least, self.nonnegative)


def _basis(
    sums: FloatArray, gram: FloatArray, used: NDArray[np.bool_], nonnegative: bool
) -> FloatArray:
    """U with U·gram = sums; parts that are not used are zero."""
    scale = np.zeros(len(gram))
    scale[used] = np.diagonal(gram)[used] ** -0.5
    unit, scaled = gram * scale * scale[:, None], sums * scale
    np.fill_diagonal(unit, 1 + _RIDGE)
    if not nonnegative:
        return np.asarray(np.linalg.solve(unit, scaled.T).T * scale)
    found = np.zeros_like(scaled)
    nnls_rows(np.ascontiguousarray(scaled), unit, np.zeros(len(found)), found)
    return found * scale


def by_parts(X: Any, basis: FloatArray) -> Errors:
    """Of samples by non-negative least squares."""
    n, k = X.shape[0], basis.shape[1]
    with Engine(X, k) as engine:
        found = _least_squares(engine, basis, np.zeros((n, k)), np.zeros(n, np.int64))
        return Errors(X, *found)


def _least_squares(
    engine: Engine, basis: FloatArray, codes: FloatArray, fold: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights of the parts, the parts, and residuals; each sample has the parts of its fold.

    ``basis`` has those of all folds side by side, and ``codes`` give the supports to start from.
    """
    basis, k = basis.astype(engine.dtype, copy=False), codes.shape[1]
    parts = [slice(first, first + k) for first in range(0, basis.shape[1], k)]
    omegas = [(basis[:, own].T @ basis[:, own]).astype(np.float64) for own in parts]
    weights = np.zeros((len(codes), basis.shape[1]), engine.dtype)

    def visit(rows: slice, visited: Visited, phi: Any) -> FloatArray:
        for number, (own, omega) in enumerate(zip(parts, omegas, strict=True)):
            chosen = rows.start + np.flatnonzero(fold[rows] == number)
            found = codes[chosen].astype(engine.dtype, copy=False)
            products = np.ascontiguousarray(phi[chosen - rows.start, own], np.float64)
            nnls_rows(products, omega, np.zeros(len(found)), found)
            weights[chosen, own] = found
        return visited.residuals(weights[rows], basis)

    lengths = np.concatenate(engine.map_rows(basis, visit)).astype(np.float64)
    return weights, basis.T, lengths
