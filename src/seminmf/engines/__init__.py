"""The only code that touches X."""

from ._blocks import Block, row_squares
from .compression import LazyCompression, Space
from .memory import Engine, Visitor

__all__ = ["Block", "Engine", "LazyCompression", "Space", "Visitor", "row_squares"]
