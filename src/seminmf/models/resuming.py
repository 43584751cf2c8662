"""Fits that can be resumed: the description of a fit by which its checkpoint is recognised.

Imported when a fit with a checkpoint begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..data import Stream
from ..data.samples import checksum
from ..solve.checkpoint import Checkpoint
from .persistence import package_version
from .settings import NAMES, Settings

# Settings that do not change the result, or are described separately.
_ASIDE = ("callback", "checkpoint", "random_state", "before")


@contextmanager
def resumable(
    model: str, settings: Settings, X: Any, weights: FloatArray | None
) -> Iterator[Settings]:
    """The settings with an open checkpoint, which is deleted when the fit has ended well."""
    folder = checked_folder(settings.checkpoint)
    checked = settings.checked(X.shape, X.dtype)
    fit = {
        "version of seminmf": package_version(),
        "model": model,
        **{name: told(getattr(checked, name)) for name in NAMES if name not in _ASIDE},
        "random_state": told(settings.random_state),
        "last fit to go on from": told(checked.before),
        "X": f"{'sparse' if sp.issparse(X) else 'dense'} {X.shape} {X.dtype}",
        "entries of X": told((X.survey.squares, X.survey.low) if isinstance(X, Stream) else X),
        "sample_weight": told(weights),
    }
    with Checkpoint(folder, fit) as checkpoint:
        yield replace(settings, checkpoint=checkpoint)


def checked_folder(folder: Any) -> Any:
    """``checkpoint``, or an error if it cannot be the path of a folder."""
    if not isinstance(folder, str | PathLike) or not fspath(folder):
        raise ValueError(f"checkpoint must be None or the path of a folder, got {folder!r}.")
    return folder


def told(value: Any) -> str:
    """A text for a value that is the same in the next process."""
    if isinstance(value, np.ndarray) or sp.issparse(value):
        return f"checksum {checksum(value.tocsr() if sp.issparse(value) else value)}"
    if isinstance(value, tuple):
        return f"({', '.join(told(item) for item in value)})"
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)["state"]
        return f"RandomState with {told(state['key'])} at {state['pos']}"
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False).items()
        inside = ", ".join(f"{name}={told(item)}" for name, item in parameters)
        return f"{type(value).__name__}({inside})"
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value)
    return str(getattr(value, "__qualname__", type(value).__name__))
