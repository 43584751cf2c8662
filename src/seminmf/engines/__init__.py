"""The only code that touches X."""

from ._blocks import Block, row_squares
from .compression import Compression, pays
from .memory import Engine

__all__ = ["Block", "Compression", "Engine", "pays", "row_squares"]
