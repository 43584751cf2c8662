"""Robust semi-non-negative matrix factorization."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .models.clustering import FactorKMeans
from .models.estimators import NMF, GraphSemiNMF, L21SemiNMF, SemiNMF
from .models.persistence import ModelFileError, load
from .models.preparation import Standardized

if TYPE_CHECKING:
    from .reporting import Report, report
    from .solve.loop import Progress

__version__ = "0.1.0"
__all__ = [
    "NMF",
    "FactorKMeans",
    "GraphSemiNMF",
    "L21SemiNMF",
    "ModelFileError",
    "Progress",
    "Report",
    "SemiNMF",
    "Standardized",
    "load",
    "report",
]

# What stands to the right of this module, or loads the compiler, is imported when asked for.
_LATER = {"Progress": ".solve.loop", "Report": ".reporting", "report": ".reporting"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
