"""Packages that are not always there."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def need(module: str, what: str, extra: str = "files") -> Any:
    """An optional package, or a word on how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(f'{what} need {package}: pip install "seminmf[{extra}]"') from error
