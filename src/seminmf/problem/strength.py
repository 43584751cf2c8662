"""α, β and μ from dimensionless strengths.

Scaling U down and V up changes nothing but the weights of the penalties: only αβ matters to
L21SemiNMF, only αβ² to GraphSemiNMF, and of a penalty on the codes of power p only μβᵖ (fact 2 of
the theory page). Made dimensionless with the number of samples n and a typical length s of a
sample,

    L21SemiNMF    λ = αβ / (n s)              α = √λ s,   β = √λ n
    GraphSemiNMF  λ^{3/2} = αβ² / (n² s⁴)     α = √λ s²,  β = √λ n s

In both, the penalties are proportional to √λ while they are small (the factor depends on the shape
of the data, the graph and k), and the codes are of the order of one. With the units a = sʳ of α and
b = n sʳ⁻¹ of β, r being the power of the loss, the strength of a penalty on the codes is

    κ = μ βᵖ / (a bᵖ)

for L1 with the robust loss μβ / (n s). If the graph is off, β = √κ b.

The strength that suits the data depends on what there is to gain. One code for all samples costs
nothing and leaves a typical sample at its distance d from their centre; codes of their own reduce
that to a residual r, and change its fit by f = √(d² − r²). In noisy data of many features the gain
g = ρ(d) − ρ(r) is a small share of ρ(s), and a λ that suits other data leaves no part; beside a
large constant it is small too, and all codes become one. Penalties proportional to the gain have
the units g for α and n g / f for β in place of a and b. In terms of λ, with p the power of the
graph penalty, the automatic strength is

    λ = λ₀ (g / ρ(s))² (s / f)^{2p / (1 + p)}

which for `L21SemiNMF`, samples around the origin (d = s) and a residual of r = t s is
λ₀ (1 − t)^{3/2} / (1 + t)^{1/2}.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from .losses import Loss
from .penalties import CodesPenalty

Weight = float | Literal["auto"]

# λ₀, chosen on labelled data sets by leaving sets out (docs/panel.md).
STRENGTH_IF_ALL_IS_EXPLAINED = 3e-3
# Larger residuals than this share of the spread count as this share, ...
_LARGEST_RESIDUAL = 0.99
# ... and a smaller spread than this share of a sample's length as this share.
_LEAST_SPREAD = 1e-3


@dataclass(frozen=True)
class Units:
    """The units of α and β for n samples of typical length s and a loss of this power."""

    n_samples: float
    length: float
    power: int

    @property
    def alpha(self) -> float:
        return self.length**self.power

    @property
    def beta(self) -> float:
        return self.n_samples * self.length ** (self.power - 1)


def automatic_strength(
    loss: Loss, length: float, spread: float, residual: float, graph_power: int
) -> float:
    """The λ proportional to what can be gained.

    A typical sample has this ``length`` and lies at the distance ``spread`` from the centre of all;
    as many directions as there are components leave it this ``residual``.
    """
    if length == 0:
        return STRENGTH_IF_ALL_IS_EXPLAINED
    spread = max(spread, _LEAST_SPREAD * length)
    residual = min(residual, _LARGEST_RESIDUAL * spread)
    left, one_code, nothing = (loss.total(np.array([t]), None) for t in (residual, spread, length))
    inverse_fit = length / sqrt(spread**2 - residual**2)
    power = 2 * graph_power / (1 + graph_power)
    gain = (one_code - left) / nothing
    return float(STRENGTH_IF_ALL_IS_EXPLAINED * gain**2 * inverse_fit**power)


def strength_of(alpha: float, beta: float, units: Units, graph_power: int) -> float:
    """The λ that α and β amount to."""
    if alpha * beta == 0 or units.alpha == 0:
        return 0.0
    product = (alpha / units.alpha) * (beta / units.beta) ** graph_power
    return float(product ** (2 / (1 + graph_power)))


def resolve(
    alpha: Weight, beta: Weight, strength: float, units: Units, graph_power: int
) -> tuple[float, float]:
    """α and β as numbers; if one of them is zero, an automatic other is zero too."""
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
    """μ and β as numbers; a free β that is still zero follows from the penalty."""
    if beta == 0 and beta_is_free:
        beta = penalty.strength**0.5 * units.beta
    if beta == 0:
        raise ValueError(
            f"{given_as} and beta=0 cannot be combined: without a penalty on the basis, scaling it "
            "up and the codes down makes a penalty on the codes as small as one likes. Leave beta "
            'at "auto", or give it a positive value.'
        )
    return penalty.strength * units.alpha * (units.beta / beta) ** penalty.power, beta
