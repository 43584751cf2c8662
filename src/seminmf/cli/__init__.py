"""The command ``seminmf``: arguments, progress and words, nothing else.

A module here holds a group of commands and registers them with `app` by `command`, which gives
each the common options, one-line errors and an example. What only a running command needs, it
imports itself, so that the help is there at once.
"""

from __future__ import annotations

# The order in which the modules are imported is that of the commands in the help.
from . import applying, datasets, fitting, pages, paper, tuning
from ._command import app

__all__ = ["app", "applying", "datasets", "fitting", "main", "pages", "paper", "tuning"]


def main() -> None:
    """Entry point of the command."""
    app()
