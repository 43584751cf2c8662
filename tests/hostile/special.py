"""Files that are hostile as they are: bombs, heads that lie, objects, other places."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROWS = 10**12
# MB that a bomb unpacks to: more than the process that opens it may have.
BOMB = 700


class Trap:
    """Leaves a file where a pickle of it is opened."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.mark,)


def _npy(shape: tuple[int, ...], descr: str = "<f8", body: bytes = b"") -> bytes:
    stream = io.BytesIO()
    head = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, head)
    return stream.getvalue() + body


def _zip(name: str, content: bytes, zeros: int = 0) -> bytes:
    """An archive of one member, with so many MB of zeros behind its content."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        member.write(content)
        for _ in range(zeros):
            member.write(b"\0" * 2**20)
    return stream.getvalue()


def _gzip(content: bytes, piece: bytes, count: int) -> bytes:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1) as file:
        file.write(content)
        for _ in range(count):
            file.write(piece)
    return stream.getvalue()


def _saved(**arrays: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _csr(indptr: list[int], indices: list[int], shape: list[int]) -> bytes:
    return _saved(
        format=b"csr", shape=np.array(shape), data=np.ones(len(indices)),
        indices=np.array(indices), indptr=np.array(indptr),
    )  # fmt: skip


def _objects(mark: Path) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([[Trap(mark)]], dtype=object), allow_pickle=True)
    return stream.getvalue()


def _h5ad(path: Path, how: str) -> bytes:
    import h5py

    with h5py.File(path, "w") as file:
        if how == "dense":  # nothing of it is stored: everything is the fill value
            file.create_dataset("X", (ROWS, 10), chunks=(1000, 10), dtype="f8")
        elif how == "linked":
            file["X"] = h5py.ExternalLink("/etc/passwd", "X")
        else:
            group = file.create_group("X")
            group.attrs.update({"encoding-type": "csr_matrix", "shape": (ROWS, 10)})
            group["data"], group["indices"] = np.ones(3), np.array([0, 10**6, -5])
            group["indptr"] = np.array([0, 3])
    return path.read_bytes()


def _parquet(path: Path) -> bytes:
    """Some kilobytes that are 100 million equal numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": np.zeros(2 * 10**6), "b": np.ones(2 * 10**6)})
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(25):
            writer.write_table(table)
    return path.read_bytes()


def special(folder: Path, mark: Path) -> dict[str, Callable[[], bytes]]:
    """Files by name. ``mark`` is what appears if code of a file is run."""
    zeros = b"\0" * 2**20
    coordinate = b"%%MatrixMarket matrix coordinate real general\n"
    dense = b"%%MatrixMarket matrix array real general\n"
    return {
        "pickle.npy": lambda: pickle.dumps(Trap(mark)),
        "pickle.model": lambda: pickle.dumps(Trap(mark)),
        "pickle.state": lambda: pickle.dumps(Trap(mark)),
        "objects.npy": lambda: _objects(mark),
        "objects.npz": lambda: _zip("X.npy", _objects(mark)),
        "objects.state": lambda: _zip("fit.npy", _objects(mark)),
        "lying.npy": lambda: _npy((ROWS, 10), body=zeros),
        "negative.npy": lambda: _npy((-5, 3), body=zeros),
        "records.npy": lambda: _npy((ROWS,), "|V0"),
        "lying.npz": lambda: _zip("X.npy", _npy((ROWS, 10)), 1),
        "lying.state": lambda: _zip("fit.npy", _npy((ROWS, 10)), 1),
        "bomb.npz": lambda: _zip("X.npy", _npy((BOMB, 2**17)), BOMB),
        "bomb.state": lambda: _zip("fit.npy", _npy((BOMB, 2**17)), BOMB),
        "bomb.csv.gz": lambda: _gzip(b"a,b\n", b"0.0,0.0\n" * 2**17, BOMB),
        "bomb.mtx.gz": lambda: _gzip(coordinate + b"3 3 1\n", zeros, BOMB),
        "outside.npz": lambda: _csr([0, 3], [0, 10**6, -5], [1, 10]),
        "backwards.npz": lambda: _csr([0, 10**9, 1], [0], [2, 10]),
        "huge.npz": lambda: _csr([0, 1], [0], [ROWS, ROWS]),
        "lying.mtx": lambda: coordinate + b"1000000000000 1000000000000 1\n1 1 1.0\n",
        "lying_array.mtx": lambda: dense + b"1000000000000 10\n1.0\n",
        "negative.mtx": lambda: coordinate + b"-3 3 1\n1 1 1.0\n",
        "dense.h5ad": lambda: _h5ad(folder / "dense.tmp", "dense"),
        "sparse.h5ad": lambda: _h5ad(folder / "sparse.tmp", "sparse"),
        "linked.h5ad": lambda: _h5ad(folder / "linked.tmp", "linked"),
        "bomb.parquet": lambda: _parquet(folder / "parquet.tmp"),
        "crash.csv": lambda: b"a,b\n1,0.052021e897425988651\n2,3\n",
        "digits.csv": lambda: b"a,b\n1," + b"9" * 40 + b"\n2,3\n",
        "crash.mtx": lambda: coordinate + b"3 3 1\n1 1 1.\x005\n",
        "exponent.mtx": lambda: coordinate + b"3 3 1\n1 1 0.052021e897425988651\n",
        "letters.mtx": lambda: coordinate + b"3 3 1\n1 1 0.5x\n",
        "wide.csv": lambda: b"," * 2**20 + b"\n" + b"1," * 2**20,
        "quoted.csv": lambda: b'a,b\n"' + b"1,2\n" * 10**6,
        "deep.jsonl": lambda: b'{"key": "a", "rows": ' + b"[" * 10**5 + b"\n",
        "other.jsonl": lambda: b'[1]\n{"key": 3}\n{"rows": []}\nnull\n{"key": "k", "rows": 7}\n',
    }
