"""The container of model files: named arrays and one JSON object in a zip file, with checksums.

Everything is stored and nothing compressed, so that a file needs no more memory than its length.
The zip comment, the last bytes of the file, is a SHA-256 of all bytes before it: a file that was
cut, or changed in any byte, is refused before anything in it is read.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._files import PathLike, atomic

FORMAT = "seminmf-model"
# Version 2: models store how they search for neighbours.
FORMAT_VERSION = 2
HEADER = "seminmf-model.json"
_SEAL = b"seminmf-sha256:"
_SEAL_LENGTH = len(_SEAL) + 64
_ZIP_START = b"PK\x03\x04"
_NAME_AT = 30  # offset of the name of the first member in a zip file
_KINDS = "biufUS"  # real numbers and text, but no Python objects or records
_CHUNK = 2**20


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged or changed, or is of a newer format."""


class Arrays:
    """Arrays to store, each once however often it is added."""

    def __init__(self) -> None:
        self.members: dict[str, tuple[NDArray[Any], dict[str, Any]]] = {}

    def add(self, array: NDArray[Any]) -> str:
        """Add an array; returns the name under which it is stored."""
        array = np.asarray(array)
        if array.dtype.kind not in _KINDS:
            raise ValueError(f"An array of type {array.dtype} cannot be stored in a model file.")
        if not array.flags.forc:
            array = np.ascontiguousarray(array)
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        content = np.ascontiguousarray(array.T if fortran else array).reshape(-1)
        digest = hashlib.sha256(content.view(np.uint8).data).hexdigest()
        entry = {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "fortran_order": fortran,
            "sha256": digest,
        }
        for name, (_, known) in self.members.items():
            if known == entry:
                return name
        name = f"arrays/{len(self.members)}.npy"
        self.members[name] = (array, entry)
        return name


def write_container(path: PathLike, header: dict[str, Any], arrays: Arrays) -> None:
    """Write header and arrays; the file appears whole or not at all."""
    described = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **header,
        "arrays": {name: entry for name, (_, entry) in arrays.members.items()},
    }
    text = json.dumps(described, ensure_ascii=False, allow_nan=False, indent=1)
    # Names may have lone surrogates, which JSON can escape and UTF-8 cannot encode.
    content = text.encode("utf-8", "backslashreplace")
    with _told_of_no_room(path), atomic(path) as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = b" " * _SEAL_LENGTH
            archive.writestr(_member(HEADER), content)
            for name, (array, _) in arrays.members.items():
                with archive.open(_member(name), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, version=(2, 0), allow_pickle=False)
        stream.seek(-_SEAL_LENGTH, 2)
        end = stream.tell()
        stream.flush()
        with Path(stream.name).open("rb") as written:
            seal = _seal(written, end)
        stream.write(seal)


@contextmanager
def _told_of_no_room(path: PathLike) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        reason = f"{error.strerror}: the model is not saved, and what was there before is as it was"
        remedy = 'make room, write elsewhere, or save it with training="landmarks"'
        raise OSError(error.errno, f"{reason}; {remedy}", str(path)) from error


def _member(name: str) -> zipfile.ZipInfo:
    """A member without a time, so that the same model is the same file."""
    return zipfile.ZipInfo(name)


def _seal(stream: IO[bytes], length: int) -> bytes:
    digest = hashlib.sha256()
    while length > 0:
        piece = stream.read(min(_CHUNK, length))
        if not piece:
            break
        digest.update(piece)
        length -= len(piece)
    return _SEAL + digest.hexdigest().encode()


def read_container(path: PathLike) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file, after all checks."""
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(
            f"{file} is a folder; give a file in it: of seminmf fit that is model.seminmf."
        )
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        _check_start(file, stream.read(_NAME_AT + len(HEADER)))
        _check_seal(file, stream, size)
        stream.seek(0)
        try:
            with zipfile.ZipFile(stream) as archive:
                return _read_members(file, archive, size)
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:  # whatever a hostile file makes a reader raise
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise  # the disk; EINVAL is a seek before the beginning of the file
            raise ModelFileError(f"{file} is not a valid model file: {error}") from error


def _check_start(file: Path, start: bytes) -> None:
    if start[:4] == _ZIP_START and start[_NAME_AT:] == HEADER.encode():
        return
    ours = _ZIP_START + b"\0" * (_NAME_AT - 4) + HEADER.encode()
    if start and len(start) < len(ours) and start[:4] == ours[: len(start[:4])]:
        raise ModelFileError(_damaged(file))
    hint = ""
    if not start:
        hint = ": it is empty"
    elif start[:1] == b"\x80":
        hint = ": it looks like a pickle, which could run any code when opened and never is"
    raise ModelFileError(
        f"{file} is not a model file of seminmf{hint}. "
        "Give a file that estimator.save or seminmf fit wrote."
    )


def _damaged(file: Path) -> str:
    return (
        f"{file} is damaged: it was truncated, or changed after it was written. "
        "Copy it again from where it came, or fit and save the model again."
    )


def _check_seal(file: Path, stream: IO[bytes], size: int) -> None:
    if size < _SEAL_LENGTH:
        raise ModelFileError(_damaged(file))
    stream.seek(size - _SEAL_LENGTH)
    found = stream.read(_SEAL_LENGTH)
    stream.seek(0)
    if found != _seal(stream, size - _SEAL_LENGTH):
        raise ModelFileError(_damaged(file))


def _read_members(
    file: Path, archive: zipfile.ZipFile, size: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    members = {info.filename: info for info in archive.infolist()}
    stored = all(
        info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        for info in members.values()
    )
    total = sum(info.file_size for info in members.values())
    if HEADER not in members or len(members) != len(archive.infolist()):
        raise ValueError("it has no header, or a name twice.")
    if not stored or total > size:
        raise ValueError("its members claim more than the file holds.")
    header = _read_header(file, archive.read(HEADER))
    entries = header["arrays"]
    if set(entries) != set(members) - {HEADER}:
        odd = sorted(set(entries) ^ (set(members) - {HEADER}))[0]
        where = "is missing" if odd in entries else "does not belong there"
        raise ValueError(f"{odd!r} {where}.")
    arrays = {}
    for name, entry in entries.items():
        try:
            arrays[name] = _read_array(archive.read(name), entry)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
    return header, arrays


def _read_header(file: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
        if header["format"] != FORMAT:
            raise ValueError(f"format is {header['format']!r}")
        version = header["format_version"]
        if not isinstance(version, int):
            raise ValueError(f"format_version is {version!r}")
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"{file} has format version {version}, written by seminmf "
                f"{header.get('seminmf', '?')}; this version reads up to {FORMAT_VERSION}: "
                "upgrade seminmf."
            )
        if not isinstance(header["arrays"], dict):
            raise ValueError("arrays are not listed")
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its header: {type(error).__name__}: {error}") from error
    return dict(header)


def _read_array(content: bytes, entry: dict[str, Any]) -> NDArray[Any]:
    """An array, if its bytes and form are those that the header declares."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version != (2, 0):
        raise ValueError(f"version {version} of .npy is not used here")
    shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    declared = (tuple(entry["shape"]), entry["fortran_order"], entry["dtype"])
    if (shape, fortran, dtype.str) != declared:
        raise ValueError(f"is {dtype.str} {shape}, but the header says {declared[2]} {declared[0]}")
    if dtype.kind not in _KINDS:
        raise ValueError(f"arrays of type {dtype} are not opened")
    count = 1
    for length in shape:
        count *= length
    data = memoryview(content)[stream.tell() :]
    if len(data) != count * dtype.itemsize:
        raise ValueError(f"has {len(data)} bytes for shape {shape}")
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise ValueError("its checksum does not match")
    flat = np.frombuffer(data, dtype) if count else np.empty(0, dtype)
    order: Literal["F", "C"] = "F" if fortran else "C"
    native = dtype.newbyteorder("=")  # what compiled code takes
    return np.array(flat.reshape(shape, order=order), native, order="K", copy=True)
