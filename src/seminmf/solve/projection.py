"""Codes of samples for a fixed basis: a convex problem for each sample, if its loss is convex."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._sparse import stored_like
from .._types import FloatArray, IntArray
from ..compiled.careful import careful_rows
from ..compiled.single import SHORTEST, nnls_rows, reweighted_rows
from ..compiled.state import Graph, Ties
from ..data import Engine, Visited, divided, in_parts, row_squares
from ..graph.index import NeighbourIndex
from ..problem.losses import Loss, SquaredNorm
from ..problem.objective import Objective
from ..problem.penalties import CodesPenalty

# Normal equations have half the digits: the careful solver is used where the residual is below this
# share of the terms that cancel in it.
_CANCELLED = 1e-4
# The most rounds of reweighting with a penalty.
_ROUNDS = 100
# Added to lengths, which may be zero.
_LEAST = 1e-150
# Landmarks are drawn with a fixed seed.
_SEED = 0


def nonnegative_codes(
    engine: Engine,
    basis: FloatArray,
    codes: FloatArray,
    stiffness: FloatArray | None = None,
    pull: Any = None,
) -> None:
    """Non-negative least squares for all samples, in place.

    ``codes`` gives the supports to start from. With ``stiffness`` c_i and ``pull`` p_i (given
    together), each sample minimises ‖x_i − Uv‖² + c_i ‖v‖² − 2 v·p_i.
    """
    if stiffness is not None:
        exact = basis.astype(np.float64, copy=False)
        omega = exact.T @ exact

        def visit_tied(rows: slice, _: Visited, phi: Any) -> None:
            nnls_rows(phi + pull[rows], omega, stiffness[rows], codes[rows])

        engine.map_rows(basis, visit_tied)
        return
    # Without stiffness the scale of a part may be anywhere between basis and codes. With a unit of
    # its own, a power of two, no product leaves the range of numbers. Products are in double
    # precision: nearly dependent directions make their round-off many times larger.
    units = np.ldexp(1.0, np.frexp(np.abs(basis).max(axis=0))[1])
    exact = basis.astype(np.float64) / units
    omega = exact.T @ exact
    lengths = np.sqrt(omega.diagonal())

    def visit(rows: slice, visited: Visited, phi: Any) -> None:
        found = codes[rows] * units
        doubtful = nnls_rows(phi, omega, np.zeros(len(found)), found)
        squares = engine.squares[rows] - np.einsum("ij,ij->i", found, phi)
        doubtful |= squares < (_CANCELLED * (found @ lengths)) ** 2
        if doubtful.any():
            orthonormal, factor = np.linalg.qr(exact)
            targets = visited.chosen(np.flatnonzero(doubtful)).times(orthonormal)
            again = np.empty((len(targets), len(units)))
            careful_rows(targets, factor, again)
            found[doubtful] = again
        np.divide(found, units, out=codes[rows])

    engine.map_rows(exact, visit)


def _reweighted_codes(
    engine: Engine,
    basis: FloatArray,
    objective: Objective,
    links: sp.csr_array,
    anchors: FloatArray,
    codes: FloatArray,
) -> FloatArray:
    """Solve each sample's problem for any loss and penalty, from ``codes`` and in place.

    Returns the objective of each sample there.
    """
    orthonormal, factor = np.linalg.qr(basis.astype(np.float64))
    if factor.shape[0] < factor.shape[1]:
        # More components than features: pad to the square factor that the kernel takes.
        factor = np.vstack([factor, np.zeros((factor.shape[1] - len(factor), factor.shape[1]))])
        orthonormal = np.hstack([orthonormal, np.zeros((len(basis), len(factor) - len(basis)))])
    directions = np.ascontiguousarray(orthonormal, engine.dtype)
    anchors = np.ascontiguousarray(anchors, np.float64)
    terms = objective.terms(np.float64, 0.0)
    nobody, numbers = np.zeros((0, 4), np.int32), np.zeros(0, np.int64)

    def visit(rows: slice, visited: Visited, targets: Any) -> FloatArray:
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
        values = reweighted_rows(ties, targets.astype(np.float64), factor, beyond, anchors, found)
        codes[rows] = found
        return np.asarray(values)

    return np.concatenate(engine.map_rows(directions, visit))


def solve_codes(
    engine: Engine,
    basis: FloatArray,
    objective: Objective,
    codes: FloatArray,
    links: sp.csr_array | None = None,
    anchors: FloatArray | None = None,
) -> None:
    """Minimise each sample's own terms of the objective, in place.

    ``links`` are weights w_ij to samples j whose codes are ``anchors``, a row for each sample.
    Non-zero ``codes`` are where non-negative least squares starts.
    """
    plain = objective.penalty is None
    if links is None or anchors is None:
        before = codes if plain else codes.copy()
        nonnegative_codes(engine, basis, codes)
        # A loss grows with the residual, so the shortest is best unless a penalty counts too.
        if not plain:
            _penalized_codes(engine, basis, objective, before, codes)
        return
    if plain and objective.loss.quadratic and objective.graph.quadratic:
        stiffness = objective.alpha * np.asarray(links.sum(axis=1)).ravel()
        nonnegative_codes(engine, basis, codes, stiffness, objective.alpha * (links @ anchors))
        return
    # Half the mean of the neighbours' codes: at a neighbour's code, or where all are the same, an
    # edge of length zero would hold the code.
    counts = np.maximum(np.diff(links.indptr), 1)
    ones = sp.csr_array((np.ones(links.nnz), links.indices, links.indptr), links.shape)
    codes[:] = 0.5 * (ones @ anchors) / counts[:, None]
    _reweighted_codes(engine, basis, objective, links, anchors, codes)


def _penalized_codes(
    engine: Engine, basis: FloatArray, objective: Objective, before: FloatArray, codes: FloatArray
) -> None:
    """Codes with a penalty, the best from several starts, in place.

    Least squares may fit exactly, and a residual of zero then holds the code whatever the penalty
    would gain; from codes from above, and from known codes, reweighting only improves.
    """
    nobody, nothing = sp.csr_array((engine.n_samples, 1)), np.zeros((1, basis.shape[1]))
    best = _reweighted_codes(engine, basis, objective, nobody, nothing, codes)
    others = [_codes_from_above(engine, basis, objective)]
    for found in [*others, before] if before.any() else others:
        values = _reweighted_codes(engine, basis, objective, nobody, nothing, found)
        better = values < best
        codes[better], best[better] = found[better], values[better]


def _codes_from_above(engine: Engine, basis: FloatArray, objective: Objective) -> FloatArray:
    """Codes with a penalty by reweighted least squares, with first weights as at V = 0.

    Each round solves a sample's weighted problem exactly, so residuals only become shorter, down to
    the minimum if the loss is convex.
    """
    assert objective.penalty is not None
    penalty, codes = objective.penalty, np.zeros((engine.n_samples, basis.shape[1]), engine.dtype)
    orthonormal, factor = np.linalg.qr(basis.astype(np.float64))
    omega = factor.T @ factor

    def visit(rows: slice, visited: Visited, targets: Any) -> None:
        phi, found = targets @ factor, np.zeros((len(targets), factor.shape[1]))
        beyond = visited.residuals(targets, orthonormal) ** 2
        length = np.sqrt(beyond + row_squares(targets)) + _LEAST
        shortest = SHORTEST * length
        for _ in range(_ROUNDS):
            half = 0.5 * objective.mu / objective.loss.weights(length, 0.0)
            shift = half[:, None] * penalty.measure(found)[1]
            nnls_rows(phi - shift, omega, half * penalty.curvature, found)
            before, misfit = length, targets - found @ factor.T
            length = np.sqrt(beyond + row_squares(misfit))
            length = np.maximum(length, shortest)
            if (np.abs(length - before) <= shortest).all():
                break
        codes[rows] = found

    engine.map_rows(orthonormal, visit)
    return codes


@dataclass(frozen=True)
class Placed:
    """Codes of new samples, and their places among the training samples."""

    codes: FloatArray
    known: IntArray
    """Number of the training sample that equals each sample, or −1."""
    links: sp.csr_array
    """A row for each sample that is not known, with a 1 for each training sample next to it."""

    @classmethod
    def joined(cls, parts: list[Placed]) -> Placed:
        """The same for all samples of these parts."""
        return cls(
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.known for part in parts]),
            sp.csr_array(sp.vstack([part.links for part in parts])),
        )


@dataclass(frozen=True)
class Projector:
    """Codes of new samples in a fitted model.

    Without a graph (``alpha`` zero) and without a penalty on the codes, non-negative least squares.
    With a graph, a new sample is tied to its nearest training samples j, as in the fit:
    min over v ≥ 0 of ρ(‖x − Uv‖) + α Σ_j ρ_g(‖v − v_j‖) + μ Σ_q π(v_q); a sample that equals a
    training sample gets its code. An index without samples ties it to none.
    """

    basis: FloatArray
    loss: Loss = field(default_factory=SquaredNorm)
    graph: Loss = field(default_factory=SquaredNorm)
    alpha: float = 0.0
    penalty: CodesPenalty | None = None
    mu: float = 0.0
    index: NeighbourIndex | None = None
    training_codes: FloatArray | None = None
    unit: float = 1.0
    """Samples are divided by it; basis, index and all lengths here are in this unit."""

    def __post_init__(self) -> None:
        """Refuse fields that do not fit each other: compiled loops would read beyond them."""
        m, k = self.basis.shape
        known = isinstance(self.loss, Loss) and isinstance(self.graph, Loss)
        if not known or (self.mu > 0 and not isinstance(self.penalty, CodesPenalty)):
            raise ValueError(f"loss {self.loss}, {self.graph} or penalty {self.penalty} is none")
        if self.index is None or self.training_codes is None:
            return
        n, count = len(self.index), self.index.n_neighbors
        samples, codes = (n, self.index.samples.shape[1]), self.training_codes.shape
        if samples != (n, m) or codes != (n, k):
            raise ValueError(
                f"training samples {samples} and codes {codes} do not fit a basis of shape "
                f"{self.basis.shape}"
            )
        if n and self.index.transformer is None and not 1 <= count <= n:
            raise ValueError(f"n_neighbors is {count}, with {n} training samples")

    @property
    def _objective(self) -> Objective:
        return Objective(self.loss, self.graph, alpha=self.alpha, penalty=self.penalty, mu=self.mu)

    @property
    def inside(self) -> Projector:
        """The same projector for samples already divided by the unit."""
        return replace(self, unit=1.0)

    def codes(self, X: Any) -> FloatArray:
        return self._solve(divided(X, self.unit)) if self.index is None else self.place(X).codes

    def place(self, X: Any) -> Placed:
        """Codes and neighbours of samples in a model with a graph."""
        parts = [self._place(rows) for rows in in_parts(divided(X, self.unit))]
        return parts[0] if len(parts) == 1 else Placed.joined(parts)

    def _place(self, X: Any) -> Placed:
        """`place` for samples in memory, in the unit of the fit."""
        index, trained = self.index, self.training_codes
        if index is None or trained is None:
            raise ValueError("a model without a graph has no neighbours")
        X = stored_like(X, index.samples)
        known = index.known(X)
        codes = np.empty((X.shape[0], self.basis.shape[1]), X.dtype)
        codes[known >= 0] = trained[known[known >= 0]]
        new = np.flatnonzero(known < 0)
        links = sp.csr_array((len(new), len(index)))
        if len(new) and len(index):
            links = index.query(X[new])
            codes[new] = self._solve(X[new], links, trained)
        elif len(new):
            codes[new] = self._solve(X[new])
        return Placed(codes, known, links)

    def landmarks(self, count: int) -> IntArray:
        """Numbers of ``count`` training samples, or of all if there are fewer."""
        n = 0 if self.index is None else len(self.index)
        return np.sort(np.random.RandomState(_SEED).permutation(n)[:count])

    def restricted(self, chosen: IntArray) -> Projector:
        """A projector with some of the training samples only."""
        if self.index is None or self.training_codes is None:
            return self
        codes = self.training_codes[chosen]
        return replace(self, index=self.index.restricted(chosen), training_codes=codes)

    def residuals(self, X: Any, codes: FloatArray) -> FloatArray:
        """‖x_i − U v_i‖ in the unit of X."""
        with Engine(divided(X, self.unit), self.basis.shape[1]) as engine:
            found = engine.residuals(self.basis.astype(X.dtype, copy=False), codes)
        return found * found.dtype.type(self.unit)

    def _solve(
        self, X: Any, links: sp.csr_array | None = None, anchors: FloatArray | None = None
    ) -> FloatArray:
        basis = self.basis.astype(X.dtype, copy=False)
        codes = np.zeros((X.shape[0], basis.shape[1]), X.dtype)
        with Engine(X, basis.shape[1]) as engine:
            solve_codes(engine, basis, self._objective, codes, links, anchors)
        return codes
