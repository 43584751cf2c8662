"""Array types used throughout, and the number type of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


def number_type(dtype: Any) -> np.dtype[Any]:
    """The number type in which data of a type are processed: single precision stays single."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)
