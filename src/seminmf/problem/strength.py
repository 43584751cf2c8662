"""α and β from one dimensionless number.

Scaling U down and V up changes nothing but the weights of the two penalties: only αβ matters to
L21SemiNMF, only αβ² to GraphSemiNMF (fact 2 of the theory page). Made dimensionless with the number
of samples n and a typical length s of a sample,

    L21SemiNMF    λ = αβ / (n s)              α = √λ s,   β = √λ n
    GraphSemiNMF  λ^{3/2} = αβ² / (n² s⁴)     α = √λ s²,  β = √λ n s

In both, the penalties are in proportion to √λ while they are small (the factor depends on the shape
of the data, the graph and k), and the codes come out of the order of one.
"""

from __future__ import annotations

from typing import Literal


def resolve(
    alpha: float | Literal["auto"],
    beta: float | Literal["auto"],
    strength: float,
    graph_power: int,
    n_samples: float,
    length: float,
) -> tuple[float, float]:
    """The numbers α and β; where one is zero an automatic other is zero too."""
    root = strength**0.5
    unit_alpha, unit_beta = length**graph_power, n_samples * length ** (graph_power - 1)
    if alpha == "auto" and beta == "auto":
        return root * unit_alpha, root * unit_beta
    if alpha == "auto":
        assert beta != "auto"
        share = beta / unit_beta if unit_beta > 0 else 0.0
        return (root * unit_alpha * (root / share) ** graph_power if share > 0 else 0.0), beta
    if beta == "auto":
        share = alpha / unit_alpha if unit_alpha > 0 else 0.0
        return alpha, (root * unit_beta * (root / share) ** (1 / graph_power) if share > 0 else 0.0)
    return alpha, beta
