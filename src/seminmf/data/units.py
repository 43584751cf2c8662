"""The one number by which X is divided where its entries are so large or small that products of
them would leave the range of floating-point numbers.

It is a power of two, so that no digit changes, and one for data of ordinary size, which are then
used as they are. Who divides X multiplies lengths with it in the end: nobody between has to know.
"""

from __future__ import annotations

from math import frexp, ldexp
from typing import Any

import numpy as np
import scipy.sparse as sp

# Sizes of the largest entry, by the bytes of a number, whose fourth powers and their sums, and
# quotients of those, are in range by a wide margin. Beside smaller ones the paper's floors of 1e-10
# would not be small.
_ORDINARY = {8: (2.0**-20, 2.0**100), 4: (2.0**-20, 2.0**20)}


def unit_of(largest: float, dtype: Any) -> float:
    """For data with this largest absolute entry."""
    least, most = _ORDINARY[np.dtype(dtype).itemsize]
    return 1.0 if least <= largest <= most else power_of_two(largest)


def power_of_two(size: float) -> float:
    """The largest that is not above a size; one for a size of zero."""
    return ldexp(1.0, frexp(size)[1] - 1) if size > 0 else 1.0


def divided(X: Any, unit: float) -> Any:
    """What an engine takes, in this unit; itself if that is one."""
    if unit == 1:
        return X
    if sp.issparse(X):
        return sp.csr_array((X.data / X.dtype.type(unit), X.indices, X.indptr), shape=X.shape)
    # A stream divides when it reads.
    return X / X.dtype.type(unit)
