"""Codes of samples for a basis that is held fixed: each sample's own convex problem."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compiled import single as kernels
from .._types import FloatArray, IntArray
from ..data import Block, Engine
from ..graph.neighbours import neighbour_pairs
from ..data.samples import match_rows

# Reweighting stops when the objective of a sample falls by less than this share, or after so many
# rounds.
_ROBUST_TOL, _ROBUST_ROUNDS = 1e-13, 2000
# Lengths below this share of the sample's own are not told from zero.
_FLOOR = 1e-9


def nonnegative_codes(
    engine: Engine,
    basis: FloatArray,
    codes: FloatArray,
    stiffness: FloatArray | None = None,
    pull: FloatArray | None = None,
) -> None:
    """Non-negative least squares for all samples at once, in place.

    ``codes`` gives the supports to start from. With ``stiffness`` c_i and ``pull`` p_i each sample
    minimises ‖x_i − Uv‖² + c_i ‖v‖² − 2 v·p_i.
    """
    omega = (basis.T @ basis).astype(np.float64)
    stiff = np.zeros(engine.n_samples) if stiffness is None else stiffness

    def visit(rows: slice, block: Block, phi: FloatArray | None) -> tuple[None, None]:
        assert phi is not None
        right = phi.astype(np.float64) if pull is None else phi + pull[rows]
        kernels.nnls_rows(right, omega, stiff[rows], codes[rows])
        return None, None

    engine.sweep(basis, visit)


def robust_codes(
    engine: Engine,
    basis: FloatArray,
    anchors: FloatArray,
    indptr: IntArray,
    neighbours: IntArray,
    weights: FloatArray,
    alpha: float,
) -> FloatArray:
    """min over v ≥ 0 of ‖x − Uv‖ + α Σ_j w_j ‖v − v_j‖, with j over each sample's neighbours."""
    orthonormal, factor = np.linalg.qr(basis.astype(np.float64))
    if factor.shape[0] < factor.shape[1]:
        # More components than features: the kernel wants a square factor.
        factor = np.vstack([factor, np.zeros((factor.shape[1] - len(factor), factor.shape[1]))])
        orthonormal = np.hstack([orthonormal, np.zeros((len(basis), len(factor) - len(basis)))])
    directions = np.ascontiguousarray(orthonormal, engine.dtype)
    codes = np.zeros((engine.n_samples, basis.shape[1]))
    anchors = anchors.astype(np.float64)

    def visit(rows: slice, block: Block, targets: FloatArray | None) -> tuple[None, None]:
        assert targets is not None
        everything = np.arange(len(targets))
        beyond = block.exact_residuals(everything, targets, directions).astype(np.float64) ** 2
        first, last = indptr[rows.start], indptr[rows.stop]
        kernels.robust_rows(
            targets.astype(np.float64), factor, beyond, indptr[rows.start : rows.stop + 1] - first,
            neighbours[first:last], weights[first:last], anchors, alpha, _FLOOR, _ROBUST_ROUNDS,
            _ROBUST_TOL, codes[rows],
        )  # fmt: skip
        return None, None

    engine.sweep(directions, visit)
    return codes.astype(engine.dtype)


def _nearest_entries(distances: sp.csr_array, most: int) -> tuple[IntArray, IntArray]:
    """(indptr, indices) of at most so many entries in each row, those with the least values."""
    kept, counts = [], []
    for first, last in pairwise(distances.indptr):
        order = np.argsort(distances.data[first:last], kind="stable")[:most]
        kept.append(distances.indices[first:last][order])
        counts.append(len(order))
    return np.append(0, np.cumsum(counts)), np.concatenate(kept)


@dataclass(frozen=True)
class Placed:
    """New samples among those of the training set."""

    codes: FloatArray
    known: IntArray
    """Number of the training sample that a sample equals, or −1."""
    links: sp.csr_array
    """Ones in a row for each sample that is not known, for the training samples next to it."""


@dataclass(frozen=True)
class Projector:
    """Codes of new samples in a fitted model.

    Without a graph (``alpha`` zero) that is non-negative least squares. With one, a new sample is
    tied to its nearest training samples j, as in the fit:
    min over v ≥ 0 of ρ(‖x − Uv‖) + α Σ_j ρ(‖v − v_j‖); a sample that equals a training sample
    gets the code of that sample.
    """

    basis: FloatArray
    loss_power: int = 2
    alpha: float = 0.0
    training: Any = None
    training_codes: FloatArray | None = None
    n_neighbors: int = 0
    transformer: Any = None

    def __post_init__(self) -> None:
        """Shapes that do not fit would be read beyond their end by the compiled loops."""
        m, k = self.basis.shape
        if self.training_codes is None:
            return
        n = self.training_codes.shape[0]
        if self.training_codes.shape != (n, k) or self.training.shape != (n, m):
            raise ValueError(
                f"training samples {self.training.shape} and codes {self.training_codes.shape} do "
                f"not fit a basis of shape {self.basis.shape}"
            )
        if self.transformer is None and not 1 <= self.n_neighbors <= n:
            raise ValueError(f"n_neighbors is {self.n_neighbors}, with {n} training samples")

    def codes(self, X: Any) -> FloatArray:
        basis = self.basis.astype(X.dtype, copy=False)
        if self.training_codes is None:
            return self._free(X, basis)
        return self.place(X).codes

    def place(self, X: Any) -> Placed:
        """Codes and neighbours in a model with a graph."""
        if self.training_codes is None:
            raise ValueError("a model without a graph has no neighbours")
        basis = self.basis.astype(X.dtype, copy=False)
        if sp.issparse(X) != sp.issparse(self.training):
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        known = match_rows(X, self.training)
        codes = np.empty((X.shape[0], basis.shape[1]), X.dtype)
        codes[known >= 0] = self.training_codes[known[known >= 0]]
        new, n = np.flatnonzero(known < 0), len(self.training_codes)
        links = sp.csr_array((len(new), n))
        if len(new):
            indptr, indices = self._neighbours(X[new])
            links = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(new), n))
            codes[new] = self._tied(X[new], basis, self.training_codes, links)
        return Placed(codes, known, links)

    def residuals(self, X: Any, codes: FloatArray) -> FloatArray:
        """‖x_i − U v_i‖."""
        engine = Engine(X, self.basis.shape[1])
        with engine:
            return engine.residuals(self.basis.astype(X.dtype, copy=False), codes)

    def _free(self, X: Any, basis: FloatArray) -> FloatArray:
        codes = np.zeros((X.shape[0], basis.shape[1]), X.dtype)
        with Engine(X, basis.shape[1]) as engine:
            nonnegative_codes(engine, basis, codes)
        return codes

    def _neighbours(self, X: Any) -> tuple[IntArray, IntArray]:
        """CSR rows (indptr, indices) of the training samples next to each new one."""
        if self.transformer is not None:
            found = sp.csr_array(self.transformer.transform(X))
            return _nearest_entries(found, self.n_neighbors)
        indices, _ = neighbour_pairs(X, self.training, self.n_neighbors, same=False)
        return np.arange(0, indices.size + 1, indices.shape[1]), indices.ravel()

    def _tied(
        self, X: Any, basis: FloatArray, anchors: FloatArray, links: sp.csr_array
    ) -> FloatArray:
        with Engine(X, basis.shape[1]) as engine:
            if self.loss_power == 1:
                indptr, indices = (a.astype(np.int64) for a in (links.indptr, links.indices))
                return robust_codes(engine, basis, anchors, indptr, indices, links.data, self.alpha)
            codes = np.zeros((X.shape[0], basis.shape[1]), X.dtype)
            stiffness = self.alpha * np.diff(links.indptr)
            pull = self.alpha * (links @ anchors)
            nonnegative_codes(engine, basis, codes, stiffness, pull)
            return codes
