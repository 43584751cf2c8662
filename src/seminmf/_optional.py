"""Optional packages."""

from __future__ import annotations

import sys
from typing import Any


def need(module: str, what: str, extra: str = "files") -> Any:
    """Import an optional package, or raise an error that says how to install it."""
    try:
        __import__(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(f'{what} need {package}: pip install "seminmf[{extra}]"') from error
    return sys.modules[module]
