"""Sources: tables of numbers outside of memory, read some rows at a time.

A source is anything with ``shape``, ``dtype`` and ``read(start, stop)``; what else it may have, see
`Source`. `open_source` makes one of a file or a folder, and ``fit`` takes them within
``max_memory``.
"""

from .adapters import (
    ArraySource,
    FileSource,
    MatrixSource,
    ParquetSource,
    SelectedRows,
    Source,
    check_table,
    is_number_type,
    parquet_schema,
)
from .opening import open_source, source_of

__all__ = [
    "ArraySource",
    "FileSource",
    "MatrixSource",
    "ParquetSource",
    "SelectedRows",
    "Source",
    "check_table",
    "is_number_type",
    "open_source",
    "parquet_schema",
    "source_of",
]
