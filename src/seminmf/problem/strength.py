"""α, β and μ from dimensionless numbers.

Scaling U down and V up changes nothing but the weights of the penalties: only αβ matters to
L21SemiNMF, only αβ² to GraphSemiNMF, and of a penalty on the codes of power p only μβᵖ (fact 2 of
the theory page). Made dimensionless with the number of samples n and a typical length s of a
sample,

    L21SemiNMF    λ = αβ / (n s)              α = √λ s,   β = √λ n
    GraphSemiNMF  λ^{3/2} = αβ² / (n² s⁴)     α = √λ s²,  β = √λ n s

In both, the penalties are in proportion to √λ while they are small (the factor depends on the shape
of the data, the graph and k), and the codes come out of the order of one. With the units a = sʳ
of α and b = n sʳ⁻¹ of β, r being the power of the loss, the strength of a penalty on the codes is

    κ = μ βᵖ / (a bᵖ)

for L1 with the robust loss μβ / (n s). If the graph is off, β = √κ b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .penalties import CodesPenalty

Weight = float | Literal["auto"]


@dataclass(frozen=True)
class Units:
    """What α and β are measured in: n samples of typical length s, and the power of the loss."""

    n_samples: float
    length: float
    power: int

    @property
    def alpha(self) -> float:
        return self.length**self.power

    @property
    def beta(self) -> float:
        return self.n_samples * self.length ** (self.power - 1)


def resolve(
    alpha: Weight, beta: Weight, strength: float, units: Units, graph_power: int
) -> tuple[float, float]:
    """The numbers α and β; where one is zero an automatic other is zero too."""
    root, power = strength**0.5, graph_power
    if alpha == "auto" and beta == "auto":
        return root * units.alpha, root * units.beta
    if alpha == "auto":
        assert beta != "auto"
        share = beta / units.beta if units.beta > 0 else 0.0
        return (root * units.alpha * (root / share) ** power if share > 0 else 0.0), beta
    if beta == "auto":
        share = alpha / units.alpha if units.alpha > 0 else 0.0
        return alpha, (root * units.beta * (root / share) ** (1 / power) if share > 0 else 0.0)
    return alpha, beta


def resolve_penalty(
    penalty: CodesPenalty, given_as: str, beta: float, beta_is_free: bool, units: Units
) -> tuple[float, float]:
    """The numbers μ and β; a β that is free and zero so far follows from the penalty."""
    if beta == 0 and beta_is_free:
        beta = penalty.strength**0.5 * units.beta
    if beta == 0:
        raise ValueError(
            f"{given_as} and beta=0 cannot be combined: without a penalty on the basis, scaling it "
            "up and the codes down makes a penalty on the codes as small as one likes. Leave beta "
            'at "auto", or give it a positive value.'
        )
    return penalty.strength * units.alpha * (units.beta / beta) ** penalty.power, beta
