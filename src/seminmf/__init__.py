"""Robust semi-non-negative matrix factorization."""

# As in `typing`, which takes longer to load than all else here; until the command has loaded, a
# Ctrl-C is answered by Python.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .models.clustering import FactorKMeans
    from .models.container import ModelFileError
    from .models.estimators import NMF, GraphSemiNMF, L21SemiNMF, RobustSemiNMF, SemiNMF
    from .models.persistence import load
    from .models.preparation import Standardized
    from .reporting import Report, report
    from .solve.checkpoint import CheckpointError
    from .solve.loop import Progress

__version__ = "0.1.0"
__all__ = [
    "NMF",
    "CheckpointError",
    "FactorKMeans",
    "GraphSemiNMF",
    "L21SemiNMF",
    "ModelFileError",
    "Progress",
    "Report",
    "RobustSemiNMF",
    "SemiNMF",
    "Standardized",
    "load",
    "outlier_threshold",
    "report",
]

# Where the names are defined. They are imported on first use: scikit-learn takes seconds, and the
# help of the command line, or a single module, should not wait for it.
_LATER = {
    "NMF": ".models.estimators",
    "CheckpointError": ".solve.checkpoint",
    "FactorKMeans": ".models.clustering",
    "GraphSemiNMF": ".models.estimators",
    "L21SemiNMF": ".models.estimators",
    "ModelFileError": ".models.container",
    "Progress": ".solve.loop",
    "Report": ".reporting",
    "RobustSemiNMF": ".models.estimators",
    "SemiNMF": ".models.estimators",
    "Standardized": ".models.preparation",
    "load": ".models.persistence",
    "outlier_threshold": ".outliers",
    "report": ".reporting",
}


def __getattr__(name: str) -> "Any":
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_LATER[name], __name__), name)
    globals()[name] = value  # found at once from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
