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

# Lengths below this share of a typical one count as zero; by bytes per number.
RELATIVE_FLOOR = {8: 1e-10, 4: 1e-6}
# In the weights of the SVD start, samples shorter than this share of a typical one count as that
# long: in a sum of weights, a sample of zeros must not count for more than all others.
SHORTEST = 1e-3
# Differences of the objective below this share of its value at V = 0 mean nothing, and lengths
# below this share of a typical one have no digits; by bytes per number.
ROUND_OFF = {8: 1e-14, 4: 1e-6}
# From this many features per component on, a second sweep over the codes takes little beside the
# products with X. More than two sweeps bring nothing (docs/constants.md).
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
    """(loss, spread, residual) → α, β and μ, if those depend on the data; None if they are known.

    ``spread`` is the typical distance of a sample from the centre of all, ``residual`` what the
    leading directions typically leave of it.
    """

    @property
    def length(self) -> float:
        """Typical length of a sample."""
        return self.units.length

    @property
    def strength(self) -> float:
        """The dimensionless strength λ of α and β."""
        return strength_of(self.alpha, self.beta, self.units, self.graph_measure.power)


def scheme_of(plan: Plan, n_features: int) -> Scheme:
    """The rules of a plan; two sweeps if products with X or neighbours take most of the time."""
    if plan.solver == "mu":
        rule = Rule(MULTIPLY, root=not plan.nonnegative)
    else:
        two = plan.alpha > 0 or n_features >= _FEATURES_FOR_TWO_SWEEPS * plan.n_components
        rule = Rule(DESCEND, sweeps=2 if two else 1)
    basis = NonnegativeBasis(rule) if plan.nonnegative else LeastSquaresBasis()
    return Scheme(rule, basis, accelerate=plan.solver == "cd")


def looks_at_data(plan: Plan, number: int) -> bool:
    """Whether start ``number`` is computed from X. The SVD gives the same start each time, so that
    further starts of "auto" are random.
    """
    return isinstance(plan.init, str) and (
        plan.init in ("svd", "kmeans", "exemplar") or (plan.init == "auto" and number == 0)
    )


def random_size(plan: Plan, n_features: int) -> float:
    """The factor for a basis with entries drawn from [−1, 1], for codes from [0, 1].

    1 for the paper's start. Ours makes V Uᵀ as large as X: if samples were a thousand times as
    long, penalties would leave nothing of the parts.
    """
    if plan.solver == "mu":
        return 1.0
    return 3 * plan.length / (n_features * plan.n_components) ** 0.5 or 1.0


def with_weights(plan: Plan, weights: Weights) -> Plan:
    """The plan with known α, β and μ."""
    alpha, beta, mu = weights
    return replace(plan, alpha=alpha, beta=beta, mu=mu, weigh=None)


def code_square(codes: FloatArray) -> float:
    """Σ ‖v_i‖² in double precision, since it may leave the range of single precision."""
    if codes.itemsize == 8:
        return float(np.vdot(codes, codes))  # four times as fast for few samples
    return float(np.einsum("ij,ij->", codes, codes, dtype=np.float64))


def code_length(square: float, n_samples: int) -> float:
    """The root mean square length of codes, from the sum of their squares; 1 if all are zero."""
    return float(np.sqrt(square / n_samples)) or 1.0


def floors_for(plan: Plan, basis: FloatArray, code: float) -> Floors:
    """For the paper's algorithm its own floors, raised to the round-off of residuals; for ours,
    floors proportional to the data, where ``code`` is the typical length of a code.
    """
    paper, size = plan.solver == "mu", basis.dtype.itemsize
    share = (ROUND_OFF if paper else RELATIVE_FLOOR)[size]
    shortest = share * (plan.length or 1.0)
    if paper:
        return replace(PAPER_FLOORS, residual=max(shortest, PAPER_FLOORS.residual))
    vector = float(lengths_of(basis).mean()) or 1.0
    return Floors(shortest, share * code, share * vector)
