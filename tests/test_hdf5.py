"""HDF5's library works in a process of its own, which may crash or come to no end."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seminmf import SemiNMF, _hdf5
from seminmf.io import TableError, read_table
from seminmf.sources import open_source

h5py = pytest.importorskip("h5py")
X = np.random.default_rng(0).normal(size=(500, 6))
# What the other process does at the start of its work: it dies, or holds Python's lock for ever, as
# libhdf5 does in its loops.
ENDS = {
    "crash": "import os; {what} = lambda *_: os.abort()",
    "hang": "import ctypes; {what} = lambda *_: ctypes.PyDLL(None).sleep(100)",
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["X"] = X
    return tmp_path / "x.h5ad"


def broken(monkeypatch: pytest.MonkeyPatch, how: str, what: str) -> None:
    """From now on, HDF5's library does not survive."""
    body = ENDS[how].format(what=what)
    begin = "from seminmf._hdf5_apart import serve"
    start = f"import seminmf._hdf5_apart as apart, h5py; apart.SECONDS = 1; {body}; {begin}"
    replaced = _hdf5._START.replace(begin, start)
    assert replaced != _hdf5._START
    monkeypatch.setattr(_hdf5, "_START", replaced)


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("what", ["h5py.File", "h5py.Dataset.__getitem__"])
def test_a_library_that_does_not_survive(
    how: str, what: str, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "hang" and sys.platform == "win32":
        pytest.skip("sleep is not in Windows' library")
    broken(monkeypatch, how, what)
    words = "HDF5's library crashed over x.h5ad, or came to no end"
    with pytest.raises(TableError, match=words) as error:
        read_table(table)
    assert "\n" not in str(error.value)
    if what == "h5py.File":
        with pytest.raises(ValueError, match=words):
            open_source(table)
    else:
        source = open_source(table)
        with pytest.raises(OSError, match=words):
            SemiNMF(2, random_state=0, max_memory="1GB").fit(source)


def test_values_and_types_are_those_of_h5py(tmp_path: Path) -> None:
    path, text = tmp_path / "x.h5", h5py.string_dtype()
    records = np.array(
        [(1, 2.5, b"x", [1, 2]), (3, 4.5, b"yy", [3, 4])],
        dtype=[("a", "i4"), ("b", ">f8"), ("c", "S3"), ("d", "f4", 2)],
    )
    with h5py.File(path, "w") as file:
        file["X"], file["none"], file["number"], file["word"] = X, X[:0], 3.5, "word"
        file["texts"], file["bytes"] = ["a", "é", ""], np.array([b"a", b"bcd"])
        file["yes"], file["records"] = np.array([True, False]), records
        file.create_dataset("packed", data=X, chunks=(7, 3), compression="gzip")
        mixed = np.array([(b"ab", 3)], dtype=[("t", text), ("i", "i8")])
        file.create_dataset("mixed", data=mixed)
        file["nothing"], file["nowhere"] = h5py.Empty("f8"), h5py.SoftLink("/none/at/all")
        file["g/x"], file["soft"] = 1, h5py.SoftLink("/X")
        file["g"].attrs.update({"shape": (3, 4), "kind": "csr", "old": b"csr", "one": 1})
    with h5py.File(path) as known, _hdf5.File(path) as file:
        assert list(file) == list(known)
        for name in set(known) - {"nothing", "nowhere", "g"}:
            values, expected = file[name][()], known[name][()]
            np.testing.assert_array_equal(values, expected)
            assert np.asarray(values).dtype == np.asarray(expected).dtype
            assert isinstance(values, type(expected))
        np.testing.assert_array_equal(file["X"][3:9], X[3:9])
        assert file["packed"].chunks == (7, 3)
        assert len(file["X"]) == len(X)
        assert file["nothing"][()].shape == (0,)
        assert "nowhere" not in file
        assert file.get("nowhere") is None
        with pytest.raises(KeyError, match="no 'nowhere'"):
            file["nowhere"]
        attributes = file["g"].attrs
        assert [attributes.get(name, 0) for name in ("shape", "kind", "old", "one", "other")] == [
            [3, 4], "csr", "csr", 1, 0,
        ]  # fmt: skip
        assert file["g"]["x"][()] == 1


def test_a_link_that_leads_nowhere_is_no_table(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"] = X, h5py.ExternalLink("gone.h5", "/x")
    assert open_source(tmp_path / "x.h5").shape == X.shape


def test_arrays_are_read_in_pieces(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hdf5, "_PIECE", 1000)
    with _hdf5.File(table) as file:
        np.testing.assert_array_equal(file["X"][()], X)
        np.testing.assert_array_equal(file["X"][17:401], X[17:401])


def test_more_than_there_is_memory_for(tmp_path: Path) -> None:
    path = tmp_path / "x.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = X
        file.create_dataset("obs/a", shape=(10**12,), dtype="f8", chunks=(1000,))
        file["obs"].attrs["_index"] = "a"
    with pytest.raises(TableError, match="does not fit in memory; is it damaged"):
        read_table(path)
    with h5py.File(path, "w") as file:
        file.create_group("X").attrs.update({"encoding-type": "csr_matrix", "shape": (10**12, 3)})
        for name in ("data", "indices", "indptr"):
            file["X"].create_dataset(name, shape=(10**12 + 1,), dtype="i8", chunks=(1000,))
    with pytest.raises(ValueError, match="GB of /X/indptr do not fit in memory"):
        open_source(path)


def test_who_breaks_off_leaves_nothing_and_may_ask_again(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _hdf5.File(table)
    array, before = file["X"], file._reader._process

    def interrupted(self: Any, values: Any) -> Any:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(_hdf5._Reader, "_filled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        array[()]
    assert before.returncode is not None
    np.testing.assert_array_equal(array[()], X)
    after = file._reader._process
    file.__exit__()
    assert after.returncode is not None


@pytest.mark.skipif(sys.platform == "win32", reason="processes are looked for by signals")
def test_it_ends_with_the_process_that_asks(table: Path) -> None:
    program = (
        "import sys; from seminmf import _hdf5; file = _hdf5.File(sys.argv[1]); "
        "print(file._reader._process.pid, flush=True); import os, signal; "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    told = subprocess.run([sys.executable, "-c", program, table], capture_output=True, check=False)
    pid = int(told.stdout)
    for _ in range(100):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat")
            if state.exists() and state.read_text().split()[2] == "Z":
                return  # it has ended, and nobody has asked how
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("it goes on")


def _sum_of(source: Any) -> float:
    return float(source.read(0, source.shape[0]).sum())


def _in_a_fork(source: Any) -> float:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return sum(pool.map(_sum_of, [source] * 4)) / 4


def _inherited(source: Any) -> float:
    ends, begins = multiprocessing.Pipe(duplex=False)

    def read() -> None:
        found = _sum_of(source)
        begins.send((found, source._array._file._reader.owner == os.getpid()))

    child = multiprocessing.get_context("fork").Process(target=read)
    child.start()
    found: float
    found, by_itself = ends.recv()
    child.join()
    assert by_itself, "two who ask one process may get each other's answers"
    return found


def _in_threads(source: Any) -> float:
    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(_sum_of, [source] * 20)) / 20


@pytest.mark.parametrize("way", [_in_a_fork, _inherited, _in_threads])
def test_who_else_reads(way: Callable[[Any], float], table: Path) -> None:
    """Threads, and processes that were forked or that were sent the source."""
    if way is not _in_threads and sys.platform != "linux":
        pytest.skip("processes are forked")
    source = open_source(table)
    assert way(source) == pytest.approx(X.sum())
    assert _sum_of(source) == pytest.approx(X.sum())
    assert _sum_of(pickle.loads(pickle.dumps(source))) == pytest.approx(X.sum())
