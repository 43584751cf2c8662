"""The number of parts, their strength and their stability: what data can tell, and what not.

>>> from seminmf.datasets import make_waveform
>>> from seminmf.selection import choose_components
>>> X, _ = make_waveform(300, random_state=0)
>>> choose_components(X, range(2, 7), random_state=0).n_components
3
"""

from .components import choose_components
from .evidence import ComponentsChoice
from .path import RegularizationPath, regularization_path
from .selector import SemiNMFSelector
from .stability import Stability, stability
from .work import Step

__all__ = [
    "ComponentsChoice",
    "RegularizationPath",
    "SemiNMFSelector",
    "Stability",
    "Step",
    "choose_components",
    "regularization_path",
    "stability",
]
