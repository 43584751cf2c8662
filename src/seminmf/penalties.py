"""Penalties on the codes for `seminmf.RobustSemiNMF`, and the class from which others derive.

>>> from seminmf import RobustSemiNMF
>>> from seminmf.penalties import L1
>>> RobustSemiNMF(3, codes_penalty=L1(1e-3))
RobustSemiNMF(codes_penalty=L1(strength=0.001), n_components=3)
"""

from .problem.penalties import L1, CodesPenalty

__all__ = ["L1", "CodesPenalty"]
