"""Engines: the only code that reads entries of X, and the state of its rows in a run."""

from .compression import LazyCompression, Space
from .engine import Engine
from .rows import DESCEND, MULTIPLY, Rows, Rule, Statistics
from .storage import Visited, extremes, row_squares
from .subspace import Subspace, leading_subspace

__all__ = [
    "DESCEND",
    "MULTIPLY",
    "Engine",
    "LazyCompression",
    "Rows",
    "Rule",
    "Space",
    "Statistics",
    "Subspace",
    "Visited",
    "extremes",
    "leading_subspace",
    "row_squares",
]
