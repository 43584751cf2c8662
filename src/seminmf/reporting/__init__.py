"""Pages and figures from saved rows."""

from .page import results_document, write_results

__all__ = ["results_document", "write_results"]
