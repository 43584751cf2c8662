"""Pages: the report of a fitted model, and the results of the experiments from their saved rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model import Report, report
    from .page import results_document, write_results

__all__ = ["Report", "report", "results_document", "write_results"]

# The results page needs the experiments; a report needs neither them nor what they import.
_HOMES = {
    "Report": ".model",
    "report": ".model",
    "results_document": ".page",
    "write_results": ".page",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
