"""The unit that X is divided by if its entries are so large or small that products would overflow.

It is a power of two, so that no digit changes, and 1 for data of ordinary size. Who divides X
multiplies the resulting lengths by it at the end; nothing between has to know.
"""

from __future__ import annotations

from math import frexp, ldexp
from typing import Any

import numpy as np
import scipy.sparse as sp

# Range of the largest entry, by bytes per number, in which fourth powers, their sums and quotients
# stay representable by a wide margin, and the paper's floors of 1e-10 are small beside the data.
_ORDINARY = {8: (2.0**-20, 2.0**100), 4: (2.0**-20, 2.0**20)}


def unit_of(largest: float, dtype: Any) -> float:
    """The unit for data with this largest absolute entry."""
    least, most = _ORDINARY[np.dtype(dtype).itemsize]
    return 1.0 if least <= largest <= most else power_of_two(largest)


def power_of_two(size: float) -> float:
    """The largest power of two not above ``size``; 1 for a size of zero."""
    return ldexp(1.0, frexp(size)[1] - 1) if size > 0 else 1.0


def divided(X: Any, unit: float) -> Any:
    """An array, CSR array or Stream in this unit; the same object if it is 1."""
    if unit == 1:
        return X
    if sp.issparse(X):
        return sp.csr_array((X.data / X.dtype.type(unit), X.indices, X.indptr), shape=X.shape)
    # A stream divides when it reads.
    return X / X.dtype.type(unit)
