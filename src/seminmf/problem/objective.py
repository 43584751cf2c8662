"""The objective: a loss and three penalties as one value.

J(U, V) = Σ_i ω_i ρ(‖x_i − U v_i‖) + α Σ_{i<j} w_ij ρ_g(‖v_i − v_j‖) + μ Σ_i ω_i Σ_q π(v_iq)
          + β Σ_j ‖u_j‖

=========  ======================================================
symbol     name in the code
=========  ======================================================
ρ, ρ_g     ``Objective.loss``, ``Objective.graph``
π, μ       ``Objective.penalty``, ``Objective.mu``
ω_i        sample weights, ``share``
d_i        weights of the loss, ``Loss.weights``
W_ij       edge weights, written by ``compiled.edges``
β b_j      ``Basis.ridge``
=========  ======================================================
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np

from .._types import FloatArray
from ..data import power_of_two
from .losses import Loss
from .penalties import CodesPenalty

# Range of the largest entry of a factor, by bytes per number, in which squares are representable by
# a wide margin.
_ORDINARY = {8: (2.0**-200, 2.0**200), 4: (2.0**-30, 2.0**30)}
# The largest scale between the factors, by bytes per number.
_MOST_SCALE = {8: 1e100, 4: 1e30}


@dataclass(frozen=True)
class Floors:
    """The smallest lengths that enter the weights 1/length.

    The paper takes 1e-10 for all three whatever the data (`PAPER_FLOORS`); `solve.factorize` scales
    them with the data, so that the unit of measurement does not matter.
    """

    residual: float
    edge: float
    basis: float


PAPER_FLOORS = Floors(1e-10, 1e-10, 1e-10)


@dataclass(frozen=True)
class Terms:
    """An objective for compiled code.

    It holds addresses, so a copy in another process is made anew from the objective.
    """

    objective: Objective
    dtype: Any
    cancellation: float
    structure: Any
    keeps: Any
    """Must live as long as the addresses."""

    def __reduce__(self) -> Any:
        return Objective.terms, (self.objective, self.dtype, self.cancellation)


@dataclass(slots=True)
class Objective:
    """The whole of J; see the module's docstring. Not to be changed once made.

    (Not frozen, because making a frozen one takes as long as a small pass over the rows.)
    """

    loss: Loss
    graph: Loss
    alpha: float = 0.0
    beta: float = 0.0
    penalty: CodesPenalty | None = None
    mu: float = 0.0
    floors: Floors = PAPER_FLOORS

    def total(
        self, loss: float, graph_penalty: float, codes_penalty: float, basis_penalty: float
    ) -> float:
        return (
            loss + self.alpha * graph_penalty + self.mu * codes_penalty + self.beta * basis_penalty
        )

    def codes_penalty(self, codes: FloatArray, share: FloatArray | None) -> float:
        """Σ_i ω_i Σ_q π(v_iq)."""
        return 0.0 if self.penalty is None else self.penalty.measure(codes, share)[0]

    def best_scale(self, graph_penalty: float, codes_penalty: float, basis_penalty: float) -> float:
        """The c that minimises J(U/c, cV) = const + α cᵖ P + μ cᵠ S + β Q / c."""
        pull, opposite = self.alpha * graph_penalty, self.beta * basis_penalty
        if self.penalty is None:
            power = self.graph.power
            ratio = opposite / (power * pull) if pull > 0 else 0.0
            return ratio ** (1 / (power + 1)) if 0 < ratio < inf else 1.0
        terms: list[tuple[float, float]] = [
            (pull, self.graph.power), (self.mu * codes_penalty, self.penalty.power),
        ]  # fmt: skip
        return _balance(terms, opposite)

    def rescaled(self, scale: float, floors: Floors | None = None) -> Objective:
        """J' with J'(U, V) = J(U/c, cV): other α, μ and β, and ``floors`` if given."""
        power = 0 if self.penalty is None else self.penalty.power
        return Objective(
            self.loss, self.graph, self.alpha * scale**self.graph.power, self.beta / scale,
            self.penalty, self.mu * scale**power, floors or self.floors,
        )  # fmt: skip

    def with_ordinary(
        self, basis: FloatArray, codes: FloatArray
    ) -> tuple[Objective, FloatArray, FloatArray, float]:
        """(J', U·c, V/c, c) with J'(U·c, V/c) = J(U, V), and c = 1 for factors of ordinary size.

        With an α far from the size of X, the scale between the factors may be so extreme that
        squares of one leave the range of numbers. c is a power of two, so that no digit changes,
        and makes the two factors equally large. Codes on other sites are taken to be ordinary.
        """
        largest = float(np.abs(basis).max())
        code = float(codes.max()) if isinstance(codes, np.ndarray) else 0.0
        least, most = _ORDINARY[basis.itemsize]
        if largest == 0 or all(least <= size <= most for size in (largest, code or 1.0)):
            return self, basis, codes, 1.0
        unit = sqrt(largest / code) if code > 0 else largest
        unit = power_of_two(within_range(unit, 1.0, basis.itemsize))
        floors, scale = self.floors, 1 / unit
        floors = Floors(floors.residual, floors.edge * unit, floors.basis / unit)
        number = basis.dtype.type(unit)
        return self.rescaled(scale, floors), basis / number, codes * number, scale

    def has_terms_of(self, other: Objective) -> bool:
        """Whether the two differ in the weights of the penalties alone."""
        same = self.loss is other.loss and self.graph is other.graph
        return same and self.penalty is other.penalty and self.floors == other.floors

    def state(self) -> dict[str, Any]:
        """The numbers that change in a run."""
        return {
            "alpha": self.alpha, "beta": self.beta, "mu": self.mu, "floors": asdict(self.floors),
        }  # fmt: skip

    def restored(self, state: dict[str, Any]) -> Objective:
        """The same loss and penalties with the numbers of a `state`."""
        return replace(self, **{**state, "floors": Floors(**state["floors"])})

    def terms(self, dtype: Any, cancellation: float) -> Terms:
        """For compiled code; residuals² below ``cancellation`` · ‖x‖² are computed directly."""
        from ..compiled.state import Terms as Structure  # loads the compiler

        loss, graph = self.loss.block(dtype), self.graph.block(dtype)
        penalty = None if self.penalty is None else self.penalty.block(dtype)
        structure = Structure(
            loss=loss.address,
            loss_parameters=loss.parameters,
            graph=graph.address,
            graph_parameters=graph.parameters,
            penalty=0 if penalty is None else penalty.address,
            penalty_parameters=(loss if penalty is None else penalty).parameters,
            curvature=0.0 if self.penalty is None else float(self.penalty.curvature),
            residual_floor=float(self.floors.residual),
            edge_floor=float(self.floors.edge),
            cancellation=float(cancellation),
        )
        return Terms(self, dtype, cancellation, structure, (loss, graph, penalty))


def within_range(change: float, before: float, itemsize: int) -> float:
    """A change of scale, or as much of it as keeps factors that were scaled by ``before`` in range;
    penalties very far from each other ask for more.
    """
    most = _MOST_SCALE[itemsize]
    return min(max(1 / most, before * change), most) / before


def _balance(terms: list[tuple[float, float]], opposite: float) -> float:
    """The c > 0 with Σ p a c^(p+1) = b, for (a, p) in ``terms`` and b = ``opposite``."""
    terms = [(p * a, p + 1) for a, p in terms if a > 0]
    if not terms or not opposite > 0:
        return 1.0
    if all(power == terms[0][1] for _, power in terms):
        return float((opposite / sum(a for a, _ in terms)) ** (1 / terms[0][1]))
    # Newton's method on log c: the sum is convex in it, and begins above its root.
    c = min((opposite / a) ** (1 / power) for a, power in terms)
    for _ in range(50):
        total = sum(a * c**power for a, power in terms)
        step = np.log(total / opposite) * total / sum(power * a * c**power for a, power in terms)
        c *= np.exp(-step)
        if abs(step) < 1e-14:
            break
    return float(c)
