"""Losses as a user writes them, outside of the package."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np


def robust_model(n_components: int, scale: float = 2.0, **settings: Any) -> Any:
    """A model with the pseudo-Huber loss ρ(t) = √(t² + c²) − c, as the present version takes it."""
    try:
        from seminmf import RobustSemiNMF
    except ImportError:
        return _earlier_model(scale)(n_components, **settings)
    return RobustSemiNMF(n_components, loss=_pseudo_huber()(scale), **settings)


def _pseudo_huber() -> Any:
    from seminmf.losses import Loss

    class PseudoHuber(Loss):
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @staticmethod
        def value(t: float, scale: float) -> float:
            return sqrt(t * t + scale * scale) - scale

        @staticmethod
        def weight(t: float, scale: float) -> float:
            return 0.5 / sqrt(t * t + scale * scale)

    return PseudoHuber


def _earlier_model(scale: float) -> Any:
    """For versions whose losses were functions of arrays."""
    from seminmf import L21SemiNMF

    @dataclass(frozen=True)
    class Measure:
        power: int = 1

        def value(self, lengths: Any, share: Any = None) -> float:
            values = np.sqrt(lengths**2 + scale**2) - scale
            return float((values if share is None else values * share).sum(dtype=np.float64))

        def weights(self, lengths: Any, floor: float) -> Any:
            return 0.5 / np.sqrt(lengths**2 + scale**2)

    class Model(L21SemiNMF):
        _loss = Measure()

    return Model


def norm() -> Any:
    """The formulas of `seminmf.losses.Norm` in a class of one's own."""
    from seminmf.losses import Loss

    class OwnNorm(Loss):
        @staticmethod
        def value(t: float) -> float:
            return t

        @staticmethod
        def weight(t: float) -> float:
            return 0.5 / t

    return OwnNorm()
