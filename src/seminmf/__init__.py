"""Robust semi-non-negative matrix factorization."""

from typing import TYPE_CHECKING, Any

from .clustering import FactorKMeans
from .estimators import NMF, GraphSemiNMF, L21SemiNMF, SemiNMF
from .persistence import ModelFileError, load
from .preparation import Standardized

if TYPE_CHECKING:
    from .solver import Progress

__version__ = "0.1.0"
__all__ = [
    "NMF",
    "FactorKMeans",
    "GraphSemiNMF",
    "L21SemiNMF",
    "ModelFileError",
    "Progress",
    "SemiNMF",
    "Standardized",
    "load",
]


def __getattr__(name: str) -> Any:
    # The solver loads the compiler, so that it is imported only when asked for.
    if name == "Progress":
        from .solver import Progress

        return Progress
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
