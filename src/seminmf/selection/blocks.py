"""Bi-cross-validation: a block of samples × features is left out and foretold from the rest.

With X cut into four blocks,

    A  samples and features that stay in      B  those samples, the features left out
    C  the samples left out, their features   D  what is to be foretold

a factorization A ≈ V Uᵀ gives the parts, least squares of B on V their continuation to the other
features, and non-negative least squares of C on U the codes of the other samples: D ≈ V_C U_Bᵀ.
Nothing of D takes part. With too few parts something of D is missing, and with too many the codes
follow the noise in C, and are wrong in D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._sparse import dense
from .._types import FloatArray, IntArray
from ..models.estimators import L21SemiNMF

# More samples are drawn from, and more features added up in groups: what the number of parts needs
# to be seen is in that many (`python -m benchmarks.selection wide`).
MOST_SAMPLES, MOST_FEATURES = 4_000, 400
# Blocks of samples and of features.
_USUAL = _ROW_FOLDS, _COLUMN_FOLDS = 4, 5
# With fewer features than so many per part in A, codes are so loose that more parts foretell better
# than the right ones; there are more, smaller blocks of features then, if there can be.
_FEATURES_PER_PART = 1.5
# Where noise is even, logarithms of typical errors differ by so much between features (standard
# deviation), beside the error of a median of n samples, whose square is so much over n.
_EVEN, _OF_MEDIAN = 0.2, 1.4
# No feature is taken for less noisy than this share of the typical one.
_LEAST_NOISE = 0.1
# Of the squares of the codes of a part; where parts coincide, least squares has no other answer.
_RIDGE = 1e-10


def condensed(X: Any, rng: np.random.RandomState) -> tuple[FloatArray, IntArray]:
    """(samples as an array of moderate size, which of them they are).

    Of many samples some are drawn. Many features are added up in groups, each with a sign of its
    own. Groups have nothing in common, so that what was noise in single features is noise of single
    groups, which no other group foretells.
    """
    n, m = X.shape
    rows = np.arange(n) if n <= MOST_SAMPLES else np.sort(rng.permutation(n)[:MOST_SAMPLES])
    X = X if len(rows) == n else X[rows]
    if m > MOST_FEATURES:
        groups, signs = rng.permutation(m) % MOST_FEATURES, rng.choice([-1.0, 1.0], m)
        X = X @ sp.csr_array((signs, (np.arange(m), groups)), shape=(m, MOST_FEATURES))
    return np.ascontiguousarray(dense(X), dtype=np.float64), rows


@dataclass(frozen=True)
class Blocks:
    """Into which blocks samples and features are dealt."""

    row_fold: IntArray
    column_fold: IntArray

    @classmethod
    def dealt(
        cls, shape: tuple[int, int], folds: tuple[int, int], rng: np.random.RandomState
    ) -> Blocks:
        n, m = shape
        return cls(rng.permutation(n) % folds[0], rng.permutation(m) % folds[1])

    @property
    def cells(self) -> list[tuple[int, int]]:
        rows, columns = int(self.row_fold.max()) + 1, int(self.column_fold.max()) + 1
        return [(i, j) for i in range(rows) for j in range(columns)]


def usual_folds(shape: tuple[int, int], most_parts: int) -> tuple[int, int]:
    """How many blocks of samples and of features there are if nobody says."""
    n, m = shape
    spare = m - min(_FEATURES_PER_PART * most_parts, m - 1)
    return min(_ROW_FOLDS, n), min(max(_COLUMN_FOLDS, int(np.ceil(m / spare))), m)


def taking_part(shape: tuple[int, int]) -> tuple[int, int]:
    """How many samples and features of a table `condensed` leaves."""
    return min(shape[0], MOST_SAMPLES), min(shape[1], MOST_FEATURES)


def comfortable_parts(shape: tuple[int, int]) -> int:
    """So many can be told apart with the usual blocks of what takes part, at least two."""
    n, m = (size - -(-size // f) for size, f in zip(taking_part(shape), _USUAL, strict=True))
    return max(2, min(n, int(m / _FEATURES_PER_PART)))


def most_parts(shape: tuple[int, int], folds: tuple[int, int]) -> int:
    """More cannot be told apart in the smallest block that stays in."""
    n, m = shape
    return min(n + -n // folds[0], m + -m // folds[1])


def evened(X: FloatArray, screen: Blocks, screened: list[dict[str, Any]]) -> FloatArray:
    """X with features scaled by how far off they were foretold in a ``screen``.

    A feature with far more noise than others spoils the codes that the others give, and one more
    part that takes its noise away foretells those better: numbers of parts would be too large.
    What differs between features by chance alone does not count.
    """
    typical = np.zeros((screen.cells[-1][0] + 1, X.shape[1]))
    for (row, column), found in zip(screen.cells, screened, strict=True):
        typical[row, screen.column_fold == column] = found["typical"]
    noise = typical.mean(axis=0)
    least = _LEAST_NOISE * float(np.median(noise))
    if least == 0:
        return X
    loud = np.log(np.maximum(noise, least))
    chance = _EVEN**2 + _OF_MEDIAN / len(X)
    share = max(0.0, 1 - chance / max(float(loud.var()), chance))
    return X / np.exp(share * (loud - loud.mean()))


@dataclass(frozen=True)
class _Cut:
    """The four blocks of X, see above."""

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray

    @classmethod
    def made(cls, X: FloatArray, blocks: Blocks, cell: tuple[int, int]) -> _Cut:
        inside, across = blocks.row_fold != cell[0], blocks.column_fold != cell[1]
        A, C = (np.ascontiguousarray(X[rows][:, across]) for rows in (inside, ~inside))
        if A.min() == A.max():
            raise ValueError(
                "X is constant where a block of samples and features is left out: there is nothing "
                "to predict it from. Leave out features that are constant or nearly so, or take "
                "fewer folds."
            )
        return cls(A, X[inside][:, ~across], C, X[~inside][:, ~across])

    def missed(self, basis: FloatArray, codes: FloatArray, weights: FloatArray) -> FloatArray:
        """What A ≈ V Uᵀ does not foretell of D."""
        from ..compiled.threads.cores import AtWork
        from ..solve.projection import Projector

        with AtWork():
            weighted = codes.T * weights
            gram = weighted @ codes
            gram[np.diag_indices_from(gram)] += _RIDGE * (np.trace(gram) or 1.0)
            continued = np.linalg.solve(gram, weighted @ self.B)
            foretold = Projector(basis).codes(self.C) @ continued
        return np.asarray(self.D - foretold)


def foretold(
    X: FloatArray, blocks: Blocks, cell: tuple[int, int], candidates: list[int],
    last: dict[str, FloatArray] | None = None, keep: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """For each sample left out and each number of parts how far from the truth it is foretold, and
    how far it is from nothing.

    By least squares, each fit from the one with fewer parts, the first from the ``last`` factors
    of a call with candidates before these. Those of the last one are kept for a call to come if
    told so.
    """
    from .growth import Growth

    cut = _Cut.made(X, blocks, cell)
    even, errors = np.ones(len(cut.A)), []
    before = None if last is None else (last["basis"], last["codes"])
    with Growth(cut.A, candidates[-1], before) as growth:
        for k in candidates:
            basis, codes = growth.to(k)
            errors.append(np.linalg.norm(cut.missed(basis, codes, even), axis=1))
    found: dict[str, Any] = {
        "errors": np.stack(errors, axis=1),
        "nothing": np.linalg.norm(cut.D, axis=1, keepdims=True),
    }
    return {**found, "factors": {"basis": basis, "codes": codes}} if keep else found


def foretold_robustly(
    X: FloatArray, blocks: Blocks, cell: tuple[int, int], k: int
) -> dict[str, FloatArray]:
    """The same for one number of parts, by a fit that outliers have little say in; and for each
    feature left out how far off it typically is.
    """
    cut = _Cut.made(X, blocks, cell)
    model = L21SemiNMF(k, alpha=0, beta=0, random_state=0).fit(cut.A)
    # Samples that are fitted better than half of the others weigh no more than those.
    typical = max(float(np.median(model.residuals_)), float(np.finfo(np.float64).tiny))
    weights = 1 / np.maximum(model.residuals_ / typical, 1.0)
    missed = cut.missed(model.components_.T, model.codes_, weights)
    return {
        "errors": np.linalg.norm(missed, axis=1, keepdims=True),
        "typical": np.median(np.abs(missed), axis=0),
    }
