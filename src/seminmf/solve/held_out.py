"""What fits that have not seen a sample say of it: the samples are dealt into a few folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._types import FloatArray
from ..compiled.single import nnls_rows
from ..data import DESCEND, Engine, LazyCompression, Rule, Space, Visited
from ..data.distances import Errors
from ..problem.basis import LeastSquaresBasis, NonnegativeBasis
from ..problem.losses import Loss
from ..problem.objective import Floors, Objective
from .descent import Descent, Scheme

# Folds, and iterations of each; in trials two did as well as eight.
_FOLDS, _ITERATIONS = 5, 3
# Folds are the same each time.
_SEED = 0


class Refits:
    """Fits to some of the samples, all from the same start."""

    def __init__(
        self, engine: Engine, basis: FloatArray, codes: FloatArray, loss: Loss, usual: float,
        nonnegative: bool, trusted: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        """``usual`` is a typical residual."""
        self._trusted, self._codes = trusted, codes.astype(engine.dtype, copy=False)
        self._space = Space(engine)
        basis, k = basis.astype(engine.dtype), basis.shape[1]
        if not nonnegative:
            most = _ITERATIONS * (_FOLDS + 1)
            self._space = LazyCompression(engine, k).at_once(most) or self._space
        compression = self._space.compression
        self._basis = basis if compression is None else compression.lower(basis)
        rule = Rule(DESCEND, sweeps=2)
        step = NonnegativeBasis(rule) if nonnegative else LeastSquaresBasis()
        self._scheme = Scheme(rule, step, accelerate=True)
        # Below a typical residual all samples weigh the same: one that is fitted exactly must not
        # hold its part fast.
        lengths = np.sqrt(engine.squares)
        smallest = np.finfo(engine.dtype).eps * float(np.median(lengths)) or 1.0
        floor = max(usual, smallest)
        self._objective = Objective(loss, loss, floors=Floors(floor, 1.0, 1.0))

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

    def held_out(self, X: Any) -> Errors:
        """Of each sample by parts that have not seen it; X is what the engine holds."""
        n, k = self._codes.shape
        folds = min(_FOLDS, n)
        fold = np.random.RandomState(_SEED).permutation(n) % folds
        residuals, own, told = np.empty(n), np.empty((n, k)), []
        for number in range(folds):
            held = fold == number
            taking_part = self._trusted & ~held
            if not taking_part.any():
                taking_part = ~held
            basis, codes = self._fit(taking_part)
            found = _least_squares(self._space.engine, basis, codes, held)
            own[held], residuals[held] = codes[held], found[held]
            told.append(self._space.lift(basis).T)
        # Each sample has the parts of its own fold.
        places = k * fold[:, None] + np.arange(k)
        weights = own.ravel(), places.ravel(), np.arange(0, n * k + 1, k)
        return Errors(X, sp.csr_array(weights, shape=(n, folds * k)), np.vstack(told), residuals)


def by_parts(X: Any, basis: FloatArray) -> Errors:
    """Of samples by non-negative least squares."""
    basis = basis.astype(X.dtype, copy=False)
    codes = np.zeros((X.shape[0], basis.shape[1]), X.dtype)
    with Engine(X, basis.shape[1]) as engine:
        residuals = _least_squares(engine, basis, codes, np.ones(len(codes), np.bool_))
    return Errors(X, codes, basis.T, residuals)


def _least_squares(
    engine: Engine, basis: FloatArray, codes: FloatArray, wanted: NDArray[np.bool_]
) -> FloatArray:
    """Residuals of non-negative least squares for the ``wanted`` samples; others have any number.

    Its codes take the place of theirs in ``codes``, which give the supports to start from.
    """
    omega = (basis.T @ basis).astype(np.float64)

    def visit(rows: slice, visited: Visited, phi: Any) -> FloatArray:
        chosen, found = wanted[rows], codes[rows]
        own = np.ascontiguousarray(found[chosen])
        nnls_rows(phi[chosen].astype(np.float64), omega, np.zeros(len(own)), own)
        found[chosen] = own
        return visited.residuals(found, basis)

    return np.concatenate(engine.map_rows(basis, visit)).astype(np.float64)
