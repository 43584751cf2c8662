"""Constants of the package by name: what they are, and setting them to something else."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_PACKAGE = "seminmf"


class GoneError(LookupError):
    """The package has no such constant (any more)."""


@dataclass(frozen=True)
class Place:
    """A constant of a module of the package, or of a class in it (``Huber.typical``)."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def _owner(self) -> tuple[Any, str]:
        *classes, name = self.name.split(".")
        try:
            owner = import_module(f"{_PACKAGE}.{self.module}")
            for part in classes:
                owner = getattr(owner, part)
            getattr(owner, name)
        except (ImportError, AttributeError) as error:
            raise GoneError(f"{self}: {error}") from error
        return owner, name

    @property
    def value(self) -> Any:
        """What it is now."""
        owner, name = self._owner
        return getattr(owner, name)

    def assign(self, value: Any) -> None:
        """Set it, also in the modules that import it from there if its name is public."""
        import_module(f"{_PACKAGE}.models.training")  # and with it all others
        owner, name = self._owner
        setattr(owner, name, value)
        if name.startswith("_") or "." in self.name:
            return
        for title, module in list(sys.modules.items()):
            if title.startswith(f"{_PACKAGE}.") and name in vars(module):
                setattr(module, name, value)

    @contextmanager
    def set_to(self, value: Any) -> Iterator[None]:
        """Another value for a while."""
        present = self.value
        self.assign(value)
        try:
            yield
        finally:
            self.assign(present)


def parse(text: str) -> tuple[Place, Any]:
    """``module:name=value``."""
    place, value = text.split("=", 1)
    return Place(*place.split(":")), ast.literal_eval(value)
