"""Sources: tables of numbers outside of memory, read some rows at a time.

A source is anything with ``shape``, ``dtype`` and ``read(start, stop)``; `Source` lists what else
it may have. `open_source` makes one from a file or a folder, and ``fit`` reads them within
``max_memory``.

>>> import numpy as np
>>> from seminmf import SemiNMF
>>> from seminmf.sources import open_source
>>> X = np.random.default_rng(0).random((1000, 20))
>>> with open("x.npy", "wb") as stream:
...     np.save(stream, X)
>>> model = SemiNMF(3, max_memory="1GB").fit(open_source("x.npy"))
>>> model.codes_.shape
(1000, 3)
"""

from .adapters import ArraySource, FileSource, MatrixSource, ParquetSource, Source
from .opening import open_source

__all__ = [
    "ArraySource",
    "FileSource",
    "MatrixSource",
    "ParquetSource",
    "Source",
    "open_source",
]
