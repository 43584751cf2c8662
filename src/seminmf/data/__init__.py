"""Engines, the only code that reads entries of X, and the state of its rows during a run."""

from .compression import TOGETHER, LazyCompression, Space
from .engine import Engine, entry_range, in_parts, squares_of
from .rows import DESCEND, MULTIPLY, Rows, Rule, Statistics
from .storage import CANCELLATION, Visited, row_squares
from .stream import Stream
from .subspace import Subspace, graph_size, leading_subspace
from .units import divided, power_of_two, unit_of

__all__ = [
    "CANCELLATION",
    "DESCEND",
    "MULTIPLY",
    "TOGETHER",
    "Engine",
    "LazyCompression",
    "Rows",
    "Rule",
    "Space",
    "Statistics",
    "Stream",
    "Subspace",
    "Visited",
    "divided",
    "entry_range",
    "graph_size",
    "in_parts",
    "leading_subspace",
    "power_of_two",
    "row_squares",
    "squares_of",
    "unit_of",
]
