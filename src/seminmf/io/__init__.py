"""Tables in and out: CSV and TSV, Excel, JSON lines, Parquet, Feather, NPY, NPZ, MTX, H5AD, 10x.

`read_table` turns a file into numbers and says what it did not take as numbers and why, in a
`Record` from which the same table can be read again;
`open_table` opens one that is read in parts; `write_table` writes columns in the format of the
input. Every mistake in a file is a `TableError` of one line that names the file, the column or row,
and the remedy.
"""

from ._columns import scale_hint
from ._read import read_table
from ._record import Record, sha256_of
from ._sources import open_table
from ._table import Format, Skipped, Table, TableError
from ._write import write_table

__all__ = [
    "Format",
    "Record",
    "Skipped",
    "Table",
    "TableError",
    "open_table",
    "read_table",
    "scale_hint",
    "sha256_of",
    "write_table",
]
