"""Losses for `seminmf.RobustSemiNMF`, and the class from which new ones are derived.

>>> from seminmf import RobustSemiNMF
>>> from seminmf.losses import Cauchy
>>> RobustSemiNMF(3, loss=Cauchy(scale=0.5))
RobustSemiNMF(loss=Cauchy(scale=0.5), n_components=3)
"""

from .problem.losses import Cauchy, Huber, Loss, Norm, SquaredNorm

__all__ = ["Cauchy", "Huber", "Loss", "Norm", "SquaredNorm"]
