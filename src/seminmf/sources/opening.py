"""Sources from paths and from objects of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _hdf5
from .._optional import need
from .adapters import ArraySource, FileSource, MatrixSource, ParquetSource, Source


def open_source(path: Any, key: str | None = None) -> Source:
    """Open what is stored in a file or a folder as a source.

    Parameters
    ----------
    path : path or object
        A file ``.npy``, ``.parquet``, ``.h5`` (``.hdf5``) or ``.h5ad``, a folder ``.zarr`` or a
        folder of Parquet files; or an object that `fit` would take as a source, which is returned
        as one.
    key : str, optional
        Name of the array in an HDF5 file or a Zarr group; needed if there are several.

    Returns
    -------
    source : Source
        Files stay open as long as it lives.
    """
    found = source_of(path, mapped=True)
    if found is not None:
        return found
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"{path}: no such file or folder.")
    suffix = place.suffix.lower()
    if place.is_dir() and (suffix == ".zarr" or _is_zarr(place)):
        zarr = need("zarr", "Zarr folders", "zarr")
        return _of_group(str(path), zarr.open(str(place), mode="r"), key)
    if place.is_dir() or suffix in (".parquet", ".pq"):
        return ParquetSource(place)
    if suffix == ".npy":
        return FileSource.of_npy(place)
    if suffix in (".h5", ".hdf5", ".h5ad"):
        key = "X" if suffix == ".h5ad" and key is None else key
        try:
            return _of_group(str(path), _hdf5.File(place), key)
        except (OSError, MemoryError, KeyError, IndexError, TypeError) as error:
            raise ValueError(f"{path} is not an HDF5 file, or is damaged: {error}") from None
    raise ValueError(
        f"{path}: unknown kind of file; known are .npy, .parquet, .h5, .hdf5, .h5ad, and folders "
        "of Zarr or of Parquet files. Others are read as a whole, without max_memory."
    )


def _is_zarr(place: Path) -> bool:
    return any((place / name).exists() for name in ("zarr.json", ".zarray", ".zgroup"))


def _of_group(path: str, node: Any, key: str | None) -> Source:
    """The array ``key`` of a file or group, or its only one."""
    names = None
    if not hasattr(node, "dtype"):
        tables = [name for name in node if _is_table(node.get(name))]
        if key is None and len(tables) != 1:
            known = ", ".join(map(repr, tables)) or "none"
            raise ValueError(f"{path} has {len(tables)} tables; say which with key: {known}.")
        chosen = tables[0] if key is None else key
        if chosen not in node:
            raise ValueError(f"{path} has no {chosen!r}; it has {', '.join(map(repr, node))}.")
        names = _feature_names(node) if chosen == "X" else None
        return _of_node(f"{path}[{chosen!r}]", node[chosen], names)
    if key is not None:
        raise ValueError(f"{path} is one array: leave key={key!r} out.")
    return _of_node(path, node)


def _of_node(what: str, node: Any, names: Any = None) -> Source:
    """A source of an array, or of CSR as AnnData stores it."""
    if hasattr(node, "dtype"):
        return ArraySource(node, what, names)
    kind, shape = stored_as(node)
    if not kind.startswith("csr"):
        raise ValueError(
            f"{what} is no table of numbers that is stored by rows ({kind or 'a group'}); save it "
            "as a dense or a CSR matrix."
        )
    return MatrixSource((node["data"], node["indices"], node["indptr"]), shape, what, names)


def stored_as(node: Any) -> tuple[str, Any]:
    """Kind and shape of a sparse matrix as AnnData stores it now, or did in early versions."""
    kind = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", ""))
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    return kind, tuple(node.attrs.get("shape", node.attrs.get("h5sparse_shape", ())))


def _is_table(node: Any) -> bool:
    if node is None:  # a link that leads nowhere
        return False
    if hasattr(node, "dtype"):
        return len(node.shape) == 2
    return stored_as(node)[0].startswith("csr")


def _feature_names(group: Any) -> Any:
    """The index of AnnData's ``var``, or None."""
    if "var" not in group or hasattr(group["var"], "dtype"):
        return None
    var = group["var"]
    index = var.attrs.get("_index", "_index")
    if index not in var:
        return None
    values = var[index][:]
    return np.array([v.decode() if isinstance(v, bytes) else str(v) for v in values], dtype=object)


def source_of(X: Any, *, mapped: bool) -> Source | None:
    """X itself if it is a source, a source of an array of Zarr or HDF5, or None for data in memory.

    A mapped array becomes a source if ``mapped``.
    """
    if isinstance(X, np.memmap):
        return FileSource.of_mapped(X) if mapped else None
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return None
    library = type(X).__module__.split(".")[0]
    if library in ("zarr", "h5py") and hasattr(X, "dtype"):
        return ArraySource(X, f"the array of {library}")
    if library == "anndata" and hasattr(X, "format") and hasattr(X, "group"):
        return _of_node("the matrix of anndata", X.group)
    return X if isinstance(X, Source) else None
