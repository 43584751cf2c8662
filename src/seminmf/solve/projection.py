"""Codes of samples for a basis that is held fixed: each sample's own problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, IntArray
from ..compiled.single import nnls_rows, reweighted_rows
from ..compiled.state import Graph, Ties
from ..data import Engine, Visited
from ..data.samples import match_rows
from ..graph.neighbours import neighbour_pairs
from ..problem.losses import Loss, SquaredNorm
from ..problem.objective import Objective
from ..problem.penalties import CodesPenalty


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

    def visit(rows: slice, _: Visited, phi: Any) -> None:
        right = phi.astype(np.float64) if pull is None else phi + pull[rows]
        nnls_rows(right, omega, stiff[rows], codes[rows])

    engine.map_rows(basis, visit)


def _reweighted_codes(
    engine: Engine,
    basis: FloatArray,
    objective: Objective,
    links: sp.csr_array,
    anchors: FloatArray,
    codes: FloatArray,
) -> None:
    """The problem of each sample for any loss and penalty, from ``codes`` and in their place."""
    orthonormal, factor = np.linalg.qr(basis.astype(np.float64))
    if factor.shape[0] < factor.shape[1]:
        # More components than features: the kernel wants a square factor.
        factor = np.vstack([factor, np.zeros((factor.shape[1] - len(factor), factor.shape[1]))])
        orthonormal = np.hstack([orthonormal, np.zeros((len(basis), len(factor) - len(basis)))])
    directions = np.ascontiguousarray(orthonormal, engine.dtype)
    anchors = np.ascontiguousarray(anchors, np.float64)
    terms = objective.terms(np.float64, 0.0)
    nobody, numbers = np.zeros((0, 4), np.int32), np.zeros(0, np.int64)

    def visit(rows: slice, visited: Visited, targets: Any) -> None:
        beyond = visited.residuals(targets, directions).astype(np.float64) ** 2
        first, last = links.indptr[rows.start], links.indptr[rows.stop]
        indptr = (links.indptr[rows.start : rows.stop + 1] - first).astype(np.int64)
        graph = Graph(
            indptr=indptr, indices=links.indices[first:last].astype(np.int64),
            base=links.data[first:last], pairs=nobody, order=numbers, bounds=numbers,
            groups=numbers,
        )  # fmt: skip
        ties = Ties(
            graph=graph, terms=terms.structure, alpha=float(objective.alpha),
            penalty=float(objective.mu),
        )  # fmt: skip
        found = codes[rows].astype(np.float64)
        reweighted_rows(ties, targets.astype(np.float64), factor, beyond, anchors, found)
        codes[rows] = found

    engine.map_rows(directions, visit)


def solve_codes(
    engine: Engine,
    basis: FloatArray,
    objective: Objective,
    codes: FloatArray,
    links: sp.csr_array | None = None,
    anchors: FloatArray | None = None,
) -> None:
    """The minimiser of each sample's own part of the objective, in the place of ``codes``.

    ``links`` are weights w_ij to samples with codes ``anchors``, for each sample. Where ``codes``
    are not zero is where the search for non-negative least squares begins.
    """
    plain = objective.penalty is None
    if links is None or anchors is None:
        nonnegative_codes(engine, basis, codes)
        # Every loss grows, so that the shortest residual is the best, unless a penalty counts too.
        if plain:
            return
        links, anchors = sp.csr_array((engine.n_samples, 1)), np.zeros((1, basis.shape[1]))
    elif plain and objective.loss.quadratic and objective.graph.quadratic:
        stiffness = objective.alpha * np.asarray(links.sum(axis=1)).ravel()
        nonnegative_codes(engine, basis, codes, stiffness, objective.alpha * (links @ anchors))
        return
    else:
        counts = np.maximum(np.diff(links.indptr), 1)
        codes[:] = sp.csr_array(
            (np.ones(links.nnz), links.indices, links.indptr), links.shape
        ) @ anchors / counts[:, None]  # fmt: skip
    _reweighted_codes(engine, basis, objective, links, anchors, codes)


def _nearest_entries(distances: sp.csr_array, most: int) -> tuple[IntArray, IntArray]:
    """(indptr, indices) with the ``most`` smallest entries of each row, the nearest first."""
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

    Without a graph (``alpha`` zero) and without a penalty on the codes that is non-negative least
    squares. With one, a new sample is tied to its nearest training samples j, as in the fit:
    min over v ≥ 0 of ρ(‖x − Uv‖) + α Σ_j ρ_g(‖v − v_j‖) + μ Σ_q π(v_q); a sample that equals a
    training sample gets the code of that sample.
    """

    basis: FloatArray
    loss: Loss = field(default_factory=SquaredNorm)
    graph: Loss = field(default_factory=SquaredNorm)
    alpha: float = 0.0
    penalty: CodesPenalty | None = None
    mu: float = 0.0
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

    @property
    def _objective(self) -> Objective:
        return Objective(self.loss, self.graph, alpha=self.alpha, penalty=self.penalty, mu=self.mu)

    def codes(self, X: Any) -> FloatArray:
        if self.training_codes is None:
            return self._solve(X)
        return self.place(X).codes

    def place(self, X: Any) -> Placed:
        """Codes and neighbours in a model with a graph."""
        if self.training_codes is None:
            raise ValueError("a model without a graph has no neighbours")
        if sp.issparse(X) != sp.issparse(self.training):
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        known = match_rows(X, self.training)
        codes = np.empty((X.shape[0], self.basis.shape[1]), X.dtype)
        codes[known >= 0] = self.training_codes[known[known >= 0]]
        new, n = np.flatnonzero(known < 0), len(self.training_codes)
        links = sp.csr_array((len(new), n))
        if len(new):
            indptr, indices = self._neighbours(X[new])
            links = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(new), n))
            codes[new] = self._solve(X[new], links, self.training_codes)
        return Placed(codes, known, links)

    def residuals(self, X: Any, codes: FloatArray) -> FloatArray:
        """‖x_i − U v_i‖."""
        engine = Engine(X, self.basis.shape[1])
        with engine:
            return engine.residuals(self.basis.astype(X.dtype, copy=False), codes)

    def _solve(
        self, X: Any, links: sp.csr_array | None = None, anchors: FloatArray | None = None
    ) -> FloatArray:
        basis = self.basis.astype(X.dtype, copy=False)
        codes = np.zeros((X.shape[0], basis.shape[1]), X.dtype)
        with Engine(X, basis.shape[1]) as engine:
            solve_codes(engine, basis, self._objective, codes, links, anchors)
        return codes

    def _neighbours(self, X: Any) -> tuple[IntArray, IntArray]:
        """CSR rows (indptr, indices) of the training samples next to each new one."""
        if self.transformer is not None:
            found = sp.csr_array(self.transformer.transform(X))
            return _nearest_entries(found, self.n_neighbors)
        indices, _ = neighbour_pairs(X, self.training, self.n_neighbors, same=False)
        return np.arange(0, indices.size + 1, indices.shape[1]), indices.ravel()
