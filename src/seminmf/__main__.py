"""``python -m seminmf`` is the command ``seminmf``."""

from .cli import main

main()
