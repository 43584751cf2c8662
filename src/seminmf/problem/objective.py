"""What is minimised: a loss and two penalties as small frozen values.

J(U, V) = Σ_i ω_i ρ(‖x_i − U v_i‖) + α Σ_{i<j} w_ij ρ_g(‖v_i − v_j‖) + β Σ_j ‖u_j‖

with ρ(t) = t (`Norm`) or t² (`SquaredNorm`). Each measure ρ knows its value and its half-quadratic
weight ρ'(t) / 2t: the function with all weights held fixed is the quadratic that the updates
minimise, it touches J at the present point and lies above it elsewhere (fact 1 of the theory page).

=========  ======================================================
symbol     name in the code
=========  ======================================================
d_i        sample weights, ``Objective.sample_weights``
W_ij       edge weights, written by ``graph_kernels.edge_weights``
b_j        basis weights, ``Objective.basis_weights``
=========  ======================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._types import FloatArray


class Measure(Protocol):
    """How a length enters the objective."""

    @property
    def power(self) -> int:
        """p in ρ(c·t) = c^p ρ(t)."""

    def value(self, lengths: FloatArray, share: FloatArray | None = None) -> float:
        """Σ share · ρ(length)."""

    def weights(self, lengths: FloatArray, floor: float) -> FloatArray:
        """ρ'(t) / 2t for each length t, with t not below ``floor``."""


@dataclass(frozen=True)
class Norm:
    """ρ(t) = t: robust, an outlier counts by its distance."""

    power: int = 1

    def value(self, lengths: FloatArray, share: FloatArray | None = None) -> float:
        total = lengths if share is None else lengths * share
        return float(total.sum(dtype=np.float64))

    def weights(self, lengths: FloatArray, floor: float) -> FloatArray:
        weights: FloatArray = 0.5 / np.maximum(lengths, lengths.dtype.type(floor))
        return weights


@dataclass(frozen=True)
class SquaredNorm:
    """ρ(t) = t²: least squares, an outlier counts by the square of its distance."""

    power: int = 2

    def value(self, lengths: FloatArray, share: FloatArray | None = None) -> float:
        squares = lengths * lengths
        return float((squares if share is None else squares * share).sum(dtype=np.float64))

    def weights(self, lengths: FloatArray, floor: float) -> FloatArray:
        return np.ones_like(lengths)


@dataclass(frozen=True)
class Floors:
    """The smallest lengths that the weights 1/length distinguish from zero.

    The paper takes 1e-10 for all three whatever the data are (`PAPER_FLOORS`); `seminmf.factorize`
    scales them with the data, so that the unit of measurement does not matter.
    """

    residual: float
    edge: float
    basis: float


PAPER_FLOORS = Floors(1e-10, 1e-10, 1e-10)


@dataclass(frozen=True)
class Objective:
    """The whole of J; see the module's docstring."""

    loss: Measure
    graph: Measure
    alpha: float = 0.0
    beta: float = 0.0
    floors: Floors = PAPER_FLOORS

    @property
    def rescalable(self) -> bool:
        """Whether the scale of V against U matters to J and has a best value."""
        return self.alpha > 0 and self.beta > 0

    def total(self, loss: float, graph_penalty: float, basis_penalty: float) -> float:
        return loss + self.alpha * graph_penalty + self.beta * basis_penalty

    def sample_weights(self, residuals: FloatArray, share: FloatArray | None) -> FloatArray:
        weights = self.loss.weights(residuals, self.floors.residual)
        return weights if share is None else weights * share

    def basis_weights(self, basis_lengths: FloatArray) -> FloatArray:
        return Norm().weights(basis_lengths, self.floors.basis)

    def best_scale(self, graph_penalty: float, basis_penalty: float) -> float:
        """The c that minimises J(U/c, cV): α c^p P + β Q / c, with p the graph's power."""
        if not self.rescalable:
            return 1.0
        p = self.graph.power
        ratio = self.beta * basis_penalty / (p * self.alpha * graph_penalty or np.inf)
        return float(ratio ** (1 / (p + 1))) if ratio > 0 else 1.0

    def rescaled(self, scale: float) -> Objective:
        """The objective J' with J'(U, V) = J(U/c, cV): only α and β change."""
        alpha = self.alpha * scale**self.graph.power
        return Objective(self.loss, self.graph, alpha, self.beta / scale, self.floors)
