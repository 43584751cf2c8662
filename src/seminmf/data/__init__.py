"""The only code that touches X."""

from .blocks import Block, row_squares
from .compression import LazyCompression, Space
from .engine import Engine, Visitor
from .subspace import Subspace, leading_subspace

__all__ = [
    "Block",
    "Engine",
    "LazyCompression",
    "Space",
    "Subspace",
    "Visitor",
    "leading_subspace",
    "row_squares",
]
