"""The only code that touches X."""

from ._blocks import Block, row_squares
from .compression import Compression, LazyCompression
from .memory import Engine

__all__ = ["Block", "Compression", "Engine", "LazyCompression", "row_squares"]
