"""Readers of the files in which the data sets are published, and of ``.npz`` copies of them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from ._registry import DatasetInfo

Table = tuple[NDArray[Any], NDArray[Any]]

# What the standard library and NumPy raise on damaged files.
_DAMAGE = (
    *(ValueError, KeyError, OSError, EOFError, RuntimeError),
    *(zlib.error, zipfile.BadZipFile, tarfile.TarError),
)


def read_dataset(info: DatasetInfo, path: Path) -> Table:
    """Read one file of a data set and check that it holds what it should.

    Parameters
    ----------
    info : DatasetInfo
        Which data set it is.
    path : Path
        A file in one of the accepted formats (``info.files``).

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Samples as rows, C-contiguous, of type ``info.dtype``.
    y : ndarray of shape (n_samples,), int64
        Classes 0, 1, ...

    Raises
    ------
    ValueError
        If the file is damaged or holds other data. The message names the file.
    """
    try:
        with path.open("rb") as stream:
            return read_stream(info, path.name, stream)
    except ValueError as error:
        raise ValueError(
            f"{path} is not a complete file of the data set {info.name!r}: {error}. "
            f"Delete or replace it; the original is at {info.urls[0]}"
        ) from error


def read_stream(info: DatasetInfo, name: str, stream: BinaryIO) -> Table:
    """Read and check an open file called `name`; whatever is wrong with it is a ValueError."""
    try:
        if name.endswith(".npz"):
            X, y = _read_npz(stream)
        else:
            X, y = _PARSERS[info.format](unpack(name, stream, info.original), info)
    except _DAMAGE as error:
        raise ValueError(str(error)) from error
    return _checked(X, y, info)


def content_sha256(X: NDArray[Any], y: NDArray[Any]) -> str:
    """Return the checksum of the numbers of a data set, whatever file they came from.

    It is the SHA-256 of the entries of `X` row by row (little-endian, minus zero taken as zero),
    followed by those of `y` as 64-bit integers.
    """
    digest = hashlib.sha256()
    digest.update(np.ascontiguousarray(X + 0, dtype=X.dtype.newbyteorder("<")).tobytes())
    digest.update(np.ascontiguousarray(y, dtype="<i8").tobytes())
    return digest.hexdigest()


def unpack(name: str, stream: BinaryIO, member: str) -> bytes:
    """Return the plain content of the file `member`, however it is wrapped.

    Parameters
    ----------
    name : str
        Name of the file being read; its ending tells what wraps the content.
    stream : binary file
        The file.
    member : str
        Name of the data file inside an archive, itself perhaps compressed (``member + ".Z"``).
    """
    if name.endswith(".zip"):
        with zipfile.ZipFile(stream) as archive:
            for inner in archive.namelist():
                if _is_member(inner, member):
                    return unpack(inner, io.BytesIO(archive.read(inner)), member)
        raise ValueError(f"the archive has no {member}")
    if name.endswith((".tar.gz", ".tgz")):
        with gzip.open(stream) as plain, tarfile.open(fileobj=plain, mode="r:") as tar:
            for entry in tar:
                file = tar.extractfile(entry) if _is_member(entry.name, member) else None
                if file is not None:
                    content = file.read()
                    while plain.read(2**20):  # gzip compares its checksum only at the very end
                        pass
                    return content
        raise ValueError(f"the archive has no {member}")
    if name.endswith(".gz"):
        return gzip.decompress(stream.read())
    if name.endswith(".bz2"):
        return bz2.decompress(stream.read())
    if name.endswith(".Z"):
        return unlzw(stream.read())
    return stream.read()


def _is_member(name: str, wanted: str) -> bool:
    """Tell whether a file of an archive, in whatever folder, is the one that is wanted."""
    return PurePosixPath(name).name in (wanted, f"{wanted}.Z")


def unlzw(data: bytes) -> bytes:
    """Expand the output of the Unix program ``compress`` (``.Z``), which is LZW coded.

    Codes are 9 bits wide at first, lowest bit first. Each code but the first adds an entry to the
    table, and when the table outgrows the width, codes get one bit wider. The program writes codes
    in groups of eight, so whenever the width changes the rest of the group is to be skipped.
    """
    if data[:2] != b"\x1f\x9d" or len(data) < 3:
        raise ValueError("it does not begin like a .Z file")
    clears = bool(data[2] & 0x80)  # code 256 empties the table
    max_width = max(data[2] & 0x1F, 10)  # a limit of 9 is not kept by the program itself
    if max_width > 16 or data[2] & 0x60:
        raise ValueError(f"it uses unknown .Z options {data[2]:#x}")
    letters = [bytes([i]) for i in range(256)] + ([b""] if clears else [])
    table, previous = letters.copy(), b""
    pieces: list[bytes] = []
    start, n_read, width = 3, 0, 9  # byte where codes of this width begin; how many are read
    while True:
        if len(table) >= 1 << width and width < max_width:
            start, n_read, width = start + width * -(-n_read // 8), 0, width + 1
        n_bits = (n_read + 1) * width
        if start + (n_bits + 7) // 8 > len(data):
            return b"".join(pieces)
        offset, shift = divmod(n_bits - width, 8)
        window = int.from_bytes(data[start + offset : start + offset + 3], "little")
        code = window >> shift & (1 << width) - 1
        n_read += 1
        if clears and code == 256:
            start, n_read, width = start + width * -(-n_read // 8), 0, 9
            table, previous = letters.copy(), b""
            continue
        if code < len(table):
            piece = table[code]
        elif code == len(table) and previous:
            piece = previous + previous[:1]  # the entry that this very code completes
        else:
            raise ValueError(f"it has an impossible .Z code {code}")
        pieces.append(piece)
        if previous and len(table) < 1 << max_width:
            table.append(previous + piece[:1])
        previous = piece


def _read_npz(stream: BinaryIO) -> Table:
    if not zipfile.is_zipfile(stream):
        raise ValueError("it is not a .npz archive")
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as arrays:
        return arrays["X"], arrays["y"]


def _parse_delimited(content: bytes, info: DatasetInfo) -> Table:
    """Comma-separated numbers, then the label, on each line."""
    lines = [line.strip() for line in content.decode("ascii").splitlines() if line.strip()]
    if not lines:
        raise ValueError("it is empty")
    numbers, _, labels = zip(*(line.rpartition(",") for line in lines), strict=True)
    codes = {label: code for code, label in enumerate(info.class_names)}
    strange = sorted({label.strip() for label in labels} - codes.keys())
    if strange:
        raise ValueError(
            f"its last column has the label {strange[0]!r}, expected {', '.join(info.class_names)}"
        )
    y = np.array([codes[label.strip()] for label in labels], dtype=np.int64)
    return np.loadtxt(numbers, delimiter=",", ndmin=2, dtype=np.float64), y


def _parse_digits(content: bytes, _: DatasetInfo) -> Table:
    """Digit, then the grey values, separated by blanks, on each line."""
    if not content.strip():
        raise ValueError("it is empty")
    table = np.loadtxt(io.BytesIO(content), ndmin=2, dtype=np.float64)
    return table[:, 1:], table[:, 0]


def _parse_libsvm(content: bytes, info: DatasetInfo) -> Table:
    """LIBSVM text; its labels are 1, 2, ..."""
    X, y = load_svmlight_file(io.BytesIO(content), n_features=info.n_features, zero_based=False)
    return X.toarray(), y - 1


def _parse_cifar(content: bytes, info: DatasetInfo) -> Table:
    """One byte for the label and 3072 for the image, without separators."""
    width = 1 + info.n_features
    if len(content) % width:
        raise ValueError(f"its {len(content)} bytes are not a multiple of {width}")
    table = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
    return table[:, 1:], table[:, 0]


_PARSERS: dict[str, Callable[[bytes, DatasetInfo], Table]] = {
    "delimited": _parse_delimited,
    "digits": _parse_digits,
    "libsvm": _parse_libsvm,
    "cifar": _parse_cifar,
}


def _checked(X: NDArray[Any], y: NDArray[Any], info: DatasetInfo) -> Table:
    """Check shape, types, values and class counts; return `X`, `y` in their final types."""
    if X.shape != info.shape or y.shape != (info.n_samples,):
        raise ValueError(
            f"X has shape {X.shape} and y {y.shape}, expected {info.shape} and ({info.n_samples},)"
        )
    kinds = "u" if info.dtype == "uint8" else "fiu"
    if X.dtype.kind not in kinds or (info.dtype == "uint8" and X.dtype != np.uint8):
        raise ValueError(f"X is of type {X.dtype}, expected {info.dtype}")
    if not np.isfinite(X).all():
        raise ValueError("X has NaN or infinite entries, expected none")
    if y.dtype.kind not in "fiu" or not np.isin(y, np.arange(len(info.class_counts))).all():
        raise ValueError(f"y has labels other than 0 to {len(info.class_counts) - 1}")
    y = y.astype(np.int64)
    counts = tuple(np.bincount(y, minlength=len(info.class_counts)).tolist())
    if counts != info.class_counts:
        raise ValueError(f"its classes have {counts} samples, expected {info.class_counts}")
    return np.ascontiguousarray(X, dtype=info.dtype), y
