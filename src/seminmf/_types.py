"""Names for the array types used throughout, and which type of numbers they have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


def number_type(dtype: Any) -> np.dtype[Any]:
    """In which numbers of a type are calculated with: single precision stays so."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)
