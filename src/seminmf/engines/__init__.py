"""The only code that touches X."""

from .compression import Compression, pays
from .memory import Engine

__all__ = ["Compression", "Engine", "pays"]
