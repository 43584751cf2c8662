"""What to fit and how: the parameters as checked values, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._types import FloatArray
from ..data import DESCEND, MULTIPLY, Rule
from ..problem.basis import LeastSquaresBasis, NonnegativeBasis, lengths_of
from ..problem.losses import Loss
from ..problem.objective import PAPER_FLOORS, Floors
from ..problem.penalties import CodesPenalty
from ..problem.strength import Units, strength_of
from .checkpoint import Checkpoint
from .descent import Scheme
from .loop import Callback, Stopping

# Lengths below this share of a typical one are not told from zero, keyed by bytes per number.
RELATIVE_FLOOR = {8: 1e-10, 4: 1e-6}
# Shorter samples than this share of a typical one count as so long in the weights of the SVD start:
# where weights are summed up, a sample of zeros must not count for more than all others.
SHORTEST = 1e-3
# Differences of the objective below this share of what it is for V = 0 mean nothing, and lengths
# below this share of a typical one have no digits; keyed by bytes per number.
ROUND_OFF = {8: 1e-14, 4: 1e-6}
# With so many features per component a second sweep over the codes takes little beside the products
# with X. More than two bring nothing (docs/constants.md).
_FEATURES_FOR_TWO_SWEEPS = 12

Weights = tuple[float, float, float]
"""α, β and μ."""


@dataclass(frozen=True)
class Plan:
    """What to fit and how, with every parameter a checked value."""

    n_components: int
    loss: Loss
    graph_measure: Loss
    alpha: float
    beta: float
    penalty: CodesPenalty | None
    mu: float
    nonnegative: bool
    solver: str
    init: str | tuple[FloatArray, FloatArray]
    n_init: int
    stopping: Stopping
    callback: Callback | None
    units: Units
    checkpoint: Checkpoint | None = None
    weigh: Callable[[Loss, float, float], Weights] | None = None
    """α, β and μ for data whose typical sample is so far from their centre, and of which such a
    residual is left, if they are to depend on that; None if they are known.
    """

    @property
    def length(self) -> float:
        """Typical length of a sample."""
        return self.units.length

    @property
    def strength(self) -> float:
        """The dimensionless strength of α and β."""
        return strength_of(self.alpha, self.beta, self.units, self.graph_measure.power)


def scheme_of(plan: Plan, n_features: int) -> Scheme:
    """A second sweep pays where products with X or visits to neighbours take most of the time."""
    if plan.solver == "mu":
        rule = Rule(MULTIPLY, root=not plan.nonnegative)
    else:
        two = plan.alpha > 0 or n_features >= _FEATURES_FOR_TWO_SWEEPS * plan.n_components
        rule = Rule(DESCEND, sweeps=2 if two else 1)
    basis = NonnegativeBasis(rule) if plan.nonnegative else LeastSquaresBasis()
    return Scheme(rule, basis, accelerate=plan.solver == "cd")


def looks_at_data(plan: Plan, number: int) -> bool:
    """Whether the start depends on X. The SVD gives the same one each time, so that further
    starts of "auto" are random.
    """
    return isinstance(plan.init, str) and (
        plan.init in ("svd", "kmeans", "exemplar") or (plan.init == "auto" and number == 0)
    )


def random_size(plan: Plan, n_features: int) -> float:
    """What a basis is multiplied by whose entries are drawn from [−1, 1], with codes from [0, 1].

    The paper's start is as it is. Ours gives sums as long as typical samples: beside samples that
    are a thousand times as long, penalties would leave nothing of the parts.
    """
    if plan.solver == "mu":
        return 1.0
    return 3 * plan.length / (n_features * plan.n_components) ** 0.5 or 1.0


def with_weights(plan: Plan, weights: Weights) -> Plan:
    """With known α, β and μ."""
    alpha, beta, mu = weights
    return replace(plan, alpha=alpha, beta=beta, mu=mu, weigh=None)


def code_square(codes: FloatArray) -> float:
    """Σ ‖v_i‖², in double precision: squares of codes may be beyond the range of single."""
    if codes.itemsize == 8:
        return float(np.vdot(codes, codes))  # four times as fast for few samples
    return float(np.einsum("ij,ij->", codes, codes, dtype=np.float64))


def code_length(square: float, n_samples: int) -> float:
    """The typical length of a code where their squares sum up to this; one if all are zero."""
    return float(np.sqrt(square / n_samples)) or 1.0


def floors_for(plan: Plan, basis: FloatArray, code: float) -> Floors:
    """The paper's floors for its algorithm, unless residuals have larger round-off; in proportion
    to the data for ours.

    ``code`` is the typical length of a code.
    """
    paper, size = plan.solver == "mu", basis.dtype.itemsize
    share = (ROUND_OFF if paper else RELATIVE_FLOOR)[size]
    shortest = share * (plan.length or 1.0)
    if paper:
        return replace(PAPER_FLOORS, residual=max(shortest, PAPER_FLOORS.residual))
    vector = float(lengths_of(basis).mean()) or 1.0
    return Floors(shortest, share * code, share * vector)
