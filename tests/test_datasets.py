"""Data sets: file formats, search order, downloads, generators, corruption.

The formats are tested on a small invented data set, written in each of them, and on the real
files where the environment variable SEMINMF_DATA names a folder that has them.
"""

from __future__ import annotations

import ast
import bz2
import dataclasses
import doctest
import gzip
import hashlib
import io
import pickle
import sys
import tarfile
import threading
import zipfile
from base64 import b64decode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seminmf import datasets
from seminmf.datasets import (
    DatasetInfo,
    Source,
    add_gaussian_noise,
    add_outliers,
    available,
    cache_folder,
    dataset_info,
    fetch,
    load_cifar10_test,
    load_ionosphere,
    load_uspst,
    load_waveform,
    locate,
    make_waveform,
)
from seminmf.datasets import _fetch as fetching
from seminmf.datasets import _registry as registry
from seminmf.datasets._formats import content_sha256, read_dataset, read_stream, unlzw
from seminmf.datasets._generators import base_waves

PACKAGE = Path(datasets.__file__).parent


# --- fixtures: folders, a small data set in every format, a server -------------------------------


@pytest.fixture
def data_folder() -> Path:
    """The folder with the real data sets."""
    folder = locate("ionosphere")
    if folder is None:
        pytest.skip("the real data sets are not here; set SEMINMF_DATA to a folder that has them")
    return folder.parent


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and no SEMINMF_DATA; returns the cache."""
    monkeypatch.delenv("SEMINMF_DATA", raising=False)
    cache = tmp_path / "cache" / "seminmf"
    monkeypatch.setattr(fetching, "cache_folder", lambda: cache)
    return cache


def small_table(kind: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(5)
    y = np.array([0, 1, 1, 2, 0, 1])
    if kind == "cifar":
        return rng.integers(0, 256, (6, 4), dtype=np.uint8), y
    return np.round(rng.normal(size=(6, 4)), 3), y


def small_info(kind: Any) -> DatasetInfo:
    """Describe the invented data set, published in the format `kind`."""
    return DatasetInfo(
        name="small",
        description="Invented.",
        n_samples=6,
        n_features=4,
        class_names=("p", "q", "r") if kind == "delimited" else ("0", "1", "2"),
        class_counts=(2, 3, 1),
        format=kind,
        files=("small.npz", "small.data", "small.data.gz", "small.data.bz2", "small.zip"),
        sources=(Source("http://nowhere.invalid/small.data", "small.data"),),
        original="small.data",
        sha256="",
        content_sha256=content_sha256(*small_table(kind)),
        licence="none",
        homepage="http://nowhere.invalid",
        dtype="uint8" if kind == "cifar" else "float64",
    )


def original_bytes(kind: str, X: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bytes:
    """Write data in one of the original formats."""
    if kind == "cifar":
        return bytes(np.c_[y.astype(np.uint8), X].tobytes())
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        if kind == "delimited":
            lines.append(",".join(f"{v:.3f}" for v in row) + f",{'pqr'[label]}")
        elif kind == "digits":
            lines.append(f"{label} " + " ".join(f"{v:g}" for v in row) + " ")
        else:
            lines.append(f"{label + 1} " + " ".join(f"{j}:{v:.6f}" for j, v in enumerate(row, 1)))
    return ("\n".join(lines) + "\n").encode()


KINDS = ("delimited", "digits", "libsvm", "cifar")


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return buffer.getvalue()


def tarred(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        folder = tarfile.TarInfo(name)  # a folder of that name is not the file
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        entry = tarfile.TarInfo(f"{name}/{name}")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


class Server:
    """A web server on this computer whose answers are set by the test."""

    def __init__(self) -> None:
        self.answers: dict[str, list[bytes | int]] = {}  # path -> answers, the last one repeated
        self.cut = 0  # how many bytes of an answer are promised and do not come
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(self.path)
                answers = outer.answers.get(self.path, [404])
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if isinstance(answer, int):
                    self.send_error(answer)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer) + outer.cut))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch.core.time, "sleep", lambda seconds: None)
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Callable[..., DatasetInfo]:
    """Enter the small data set, with other sources, into the list of data sets."""

    def enter(kind: str = "delimited", **changes: Any) -> DatasetInfo:
        info = dataclasses.replace(small_info(kind), **changes)
        monkeypatch.setitem(registry.DATASETS, "small", info)
        return info

    return enter


# --- the list of data sets ------------------------------------------------------------------------


def test_the_list_of_data_sets_is_consistent() -> None:
    assert available() == ("ionosphere", "waveform", "uspst", "uspst_zip", "cifar10_test")
    for name in available():
        info = dataset_info(name)
        assert info.name == name
        assert sum(info.class_counts) == info.n_samples == info.shape[0]
        assert len(info.class_counts) == len(info.class_names)
        assert info.files[0] == f"{name}.npz"
        assert {source.filename for source in info.sources} <= set(info.files)
        assert {url.rpartition("/")[2] for url in info.urls} <= set(info.files)
        assert all(url.startswith("https://") for url in info.urls)
        assert pickle.loads(pickle.dumps(info)) == info
        assert dataclasses.asdict(info)["sha256"] == info.sha256


def test_unknown_names_and_variants() -> None:
    with pytest.raises(ValueError, match="name='iris' is not a known data set; use one of: iono"):
        fetch("iris")
    with pytest.raises(ValueError, match="variant='mnist' is unknown; use 'libsvm' or 'zip'"):
        load_uspst("mnist")  # type: ignore[call-overload]


def test_modules_import_only_what_they_may() -> None:
    allowed = {"numpy", "scipy", "sklearn"} | sys.stdlib_module_names
    for file in PACKAGE.glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [str(node.module).split(".")[0]]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 1, f"{file.name} imports from outside its folder"
            optional = {"pooch"} if node not in tree.body else set()
            assert set(names) <= allowed | optional, file.name


def test_examples_in_the_documentation() -> None:
    for module in (datasets, datasets._generators, datasets._corruption):
        results = doctest.testmod(module)
        assert results.failed == 0
        assert results.attempted > 0


# --- file formats ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_original_format_round_trip(kind: str, tmp_path: Path) -> None:
    X, y = small_table(kind)
    path = tmp_path / "small.data"
    path.write_bytes(original_bytes(kind, X, y))
    read_X, read_y = read_dataset(small_info(kind), path)
    np.testing.assert_array_equal(read_X, X)
    np.testing.assert_array_equal(read_y, y)
    assert read_X.dtype == X.dtype
    assert read_y.dtype == np.int64
    assert read_X.flags.c_contiguous
    assert read_X.flags.writeable


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        ("small.data.gz", gzip.compress),
        ("small.data.bz2", bz2.compress),
        ("small.zip", lambda raw: zipped(Index=b"", inner__small_data=raw)),
        ("small.tar.gz", lambda raw: tarred("small.data", raw)),
    ],
)
def test_wrapped_formats(
    kind: str, name: str, wrap: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    X, y = small_table(kind)
    path = tmp_path / name
    path.write_bytes(wrap(original_bytes(kind, X, y)))
    read_X, _ = read_dataset(small_info(kind), path)
    np.testing.assert_array_equal(read_X, X)


@pytest.mark.parametrize("kind", KINDS)
def test_npz_round_trip(kind: str, tmp_path: Path) -> None:
    X, y = small_table(kind)
    path = tmp_path / "small.npz"
    np.savez_compressed(path, X=np.asfortranarray(X), y=y.astype(np.int16), names=["a", "b", "c"])
    read_X, read_y = read_dataset(small_info(kind), path)
    np.testing.assert_array_equal(read_X, X)
    np.testing.assert_array_equal(read_y, y)
    assert read_X.flags.c_contiguous
    assert read_y.dtype == np.int64


def test_other_line_endings_and_number_formats_are_the_same_data(tmp_path: Path) -> None:
    X, y = small_table("delimited")
    info = small_info("delimited")
    path = tmp_path / "small.data"
    text = original_bytes("delimited", X, y).replace(b"\n", b"\r\n").replace(b",p", b"000 , p")
    path.write_bytes(b"\r\n" + text + b"\r\n\r\n")
    assert content_sha256(*read_dataset(info, path)) == info.content_sha256


def test_content_checksum_sees_every_change_but_not_the_sign_of_zero() -> None:
    X, y = small_table("digits")
    X[0, 0] = 0.0
    digest = content_sha256(X, y)
    X[0, 0] = -0.0
    assert content_sha256(np.asfortranarray(X), y.astype(np.int8)) == digest
    X[0, 0] = 1e-300
    assert content_sha256(X, y) != digest
    X[0, 0] = 0.0
    assert content_sha256(X, y[::-1]) != digest


def damage(kind: str, how: str) -> tuple[str, bytes]:
    """Return name and content of a file with something wrong."""
    X, y = small_table(kind)
    raw = original_bytes(kind, X, y)
    buffer = io.BytesIO()
    if how == "half a line":
        return "small.data", raw[: len(raw) - 12]
    if how == "empty":
        return "small.data", b""
    if how == "fewer rows":
        return "small.data", original_bytes(kind, X[:-1], y[:-1])
    if how == "other class counts":
        return "small.data", original_bytes(kind, X, y[::-1] * 0)
    if how == "cut gzip":
        return "small.data.gz", gzip.compress(raw)[:-12]
    if how == "not bzip2":
        return "small.data.bz2", raw
    if how == "not a zip":
        return "small.zip", b"<html>Please log in</html>"
    if how == "zip of something else":
        return "small.zip", zipped(readme_txt=b"hello")
    if how == "tar of something else":
        return "small.tar.gz", tarred("readme", b"hello")
    if how == "npz that is text":
        return "small.npz", raw
    if how == "npz without y":
        np.savez(buffer, X=X)
    elif how == "npz with NaN":
        np.savez(buffer, X=np.where(X > 1, np.nan, X.astype(float)), y=y)
    elif how == "npz of text":
        np.savez(buffer, X=X.astype(str), y=y)
    elif how == "npz with text labels":
        np.savez(buffer, X=X, y=y.astype(str))
    elif how == "npz with half labels":
        np.savez(buffer, X=X, y=y + 0.5)
    return "small.npz", buffer.getvalue()


@pytest.mark.parametrize(
    ("kind", "how", "message"),
    [
        ("delimited", "half a line", r"last column has the label '.*', expected p, q, r"),
        ("delimited", "empty", r"it is empty"),
        ("delimited", "fewer rows", r"\(5, 4\) and y \(5,\), expected \(6, 4\) and \(6,\)"),
        ("delimited", "other class counts", r"\(6, 0, 0\) samples, expected \(2, 3, 1\)"),
        ("digits", "half a line", r"columns"),
        ("digits", "empty", r"it is empty"),
        ("libsvm", "empty", r"expected \(6, 4\)"),
        ("libsvm", "fewer rows", r"expected \(6, 4\)"),
        ("libsvm", "other class counts", r"\(6, 0, 0\) samples"),
        ("cifar", "half a line", r"its 18 bytes are not a multiple of 5"),
        ("cifar", "fewer rows", r"expected \(6, 4\)"),
        ("digits", "cut gzip", r"ended before"),
        ("digits", "not bzip2", r"Invalid data stream"),
        ("digits", "not a zip", r"not a zip file"),
        ("digits", "zip of something else", r"the archive has no small\.data"),
        ("digits", "tar of something else", r"the archive has no small\.data"),
        ("digits", "npz that is text", r"not a \.npz archive"),
        ("digits", "npz without y", r"y is not a file"),
        ("digits", "npz with NaN", r"NaN or infinite"),
        ("digits", "npz of text", r"of type <U\d+, expected float64"),
        ("cifar", "npz with NaN", r"of type float64, expected uint8"),
        ("digits", "npz with text labels", r"labels other than 0 to 2"),
        ("digits", "npz with half labels", r"labels other than 0 to 2"),
    ],
)
def test_damaged_files_are_named(kind: str, how: str, message: str, tmp_path: Path) -> None:
    name, content = damage(kind, how)
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_dataset(small_info(kind), path)
    assert str(path) in str(caught.value)
    assert "http://nowhere.invalid/small.data" in str(caught.value)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(["small.data.gz", "small.data.bz2", "small.zip", "small.tar.gz"]), st.data())
def test_cut_or_altered_archives_never_give_other_data(name: str, data: Any) -> None:
    X, y = small_table("cifar")
    raw = original_bytes("cifar", X, y)
    wrap: dict[str, Callable[[bytes], bytes]] = {
        "small.data.gz": gzip.compress,
        "small.data.bz2": bz2.compress,
        "small.zip": lambda content: zipped(small_data=content),
        "small.tar.gz": lambda content: tarred("small.data", content),
    }
    content = bytearray(wrap[name](raw))
    position = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans(), label="cut"):
        del content[position:]
    else:
        content[position] ^= data.draw(st.integers(1, 255))
    try:
        read_X, read_y = read_stream(small_info("cifar"), name, io.BytesIO(content))
    except ValueError:
        return
    np.testing.assert_array_equal(read_X, X)
    np.testing.assert_array_equal(read_y, y)


def test_libsvm_text_with_too_large_an_index_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.data"
    path.write_text("1 5:0.5\n" * 6)
    with pytest.raises(ValueError, match=r"small\.data is not a complete file"):
        read_dataset(small_info("libsvm"), path)


# --- the .Z format --------------------------------------------------------------------------------


def compress(data: bytes, max_width: int = 16, clear_every: int = 0, block: bool = True) -> bytes:
    """Write data as the Unix program does (slowly); `clear_every` codes the table is emptied."""
    out = bytearray([0x1F, 0x9D, max_width | (0x80 if block else 0)])
    letters = {bytes([i]): i for i in range(256)}
    table, free, width = dict(letters), 256 + block, 9
    group: list[int] = []
    since = 0

    def flush(whole_groups: bool) -> None:
        bits = sum(code << i * width for i, code in enumerate(group))
        size = width * -(-len(group) // 8) if whole_groups else -(-len(group) * width // 8)
        out.extend(bits.to_bytes(size, "little"))
        group.clear()

    prefix = b""
    for letter in (data[i : i + 1] for i in range(len(data))):
        if prefix + letter in table:
            prefix += letter
            continue
        group.append(table[prefix])
        since += 1
        if free >= 1 << width and width < max(max_width, 10):
            flush(True)
            width += 1
        if free < 1 << max_width:
            table[prefix + letter] = free
            free += 1
        if since == clear_every:
            group.append(256)
            flush(True)
            table, free, width, since = dict(letters), 257, 9, 0
        prefix = letter
    if prefix:
        group.append(table[prefix])
    flush(False)
    return bytes(out)


# Expanded by gzip 1.12 to b"to be or not to be " * 3, to b"z" * 40, and to "0 1 2 ... 159".
Z_FILES = {
    b"to be or not to be " * 3: "H52QdN6AEFMGxBs5INy8oQMi4MCCDgkaRKiQYUSIAiUeTLiwYcaC",
    b"z" * 40: "H52QegIKHEiwoMGDAwE=",
    " ".join(map(str, range(160))).encode(): (
        "H52QMEDEACEDxAwQNEDUAGEDxA0QOEDkEBgwxsAYBWMcjJEwxsIYDWM8jBExxkQZAWUMlFFQxkEZCWUslNFQxk"
        "MZEWVMnBFwxsAZBWccnJFwxsIZDWc8nBFxxkQaAWkMpFGQxkEaCWkspNGQxkMaEWlMrBGwxsAaBWscrJGwxsIa"
        "DWs8rBGxxkQbAW0MtFHQxkEbCW0stNHQxkMbEW1MvBHwxsAbBW8cvJHwxsIbDW88vBHxxkQcAXEMxFEQx0EcCX"
        "EsxNEQx0McEXFMzBEwx8AcBXMczJEwx8IcDXM8zBExx8QYMCrCuAgjI4yNMDrC+AgjJIyRMErCOI5coEXvGTV6"
        "7+jRe0iR3kuaFIiS/UWW7DfCZP+RJvuRONkf5ynQZ/+MQvXXkVH9haRUfyU5JRBUC15E1YIbYbXgR1wtOBJYCx"
        "5HlkBmcZiRWhx25BaHIcnFYUl2AQ=="
    ),
}


@pytest.mark.parametrize("expected", list(Z_FILES))
def test_unlzw_on_known_files(expected: bytes) -> None:
    assert unlzw(b64decode(Z_FILES[expected])) == expected


@settings(deadline=None, max_examples=60)
@given(
    st.binary(max_size=300) | st.text("ab", max_size=3000).map(str.encode),
    st.sampled_from([9, 10, 12, 16]),
    st.sampled_from([0, 3, 8, 300]),
)
def test_unlzw_round_trip(data: bytes, max_width: int, clear_every: int) -> None:
    assert unlzw(compress(data, max_width, clear_every)) == data


@pytest.mark.parametrize("max_width", [9, 10, 11, 16])
@pytest.mark.parametrize("clear_every", [0, 777])
def test_unlzw_over_many_widths(max_width: int, clear_every: int) -> None:
    data = np.random.default_rng(0).integers(0, 256, 6000).astype(np.uint8).tobytes()
    assert unlzw(compress(data, max_width, clear_every)) == data


def test_unlzw_without_clear_codes() -> None:
    data = bytes(range(256)) * 8
    assert unlzw(compress(data, 12, block=False)) == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not begin like a .Z file"),
        (b"\x1f\x8b\x08", "does not begin like a .Z file"),
        (b"\x1f\x9d\x94\x00\x00", "unknown .Z options 0x94"),
        (b"\x1f\x9d\xf0\x00\x00", "unknown .Z options 0xf0"),
        (b"\x1f\x9d\x90\xff\xff", "impossible .Z code 511"),
        (b"\x1f\x9d\x90\x01\x03", "impossible .Z code 257"),
    ],
)
def test_unlzw_refuses_nonsense(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unlzw(data)


# --- search order and downloads -------------------------------------------------------------------


def test_search_order(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, publish: Any
) -> None:
    publish()
    raw = original_bytes("delimited", *small_table("delimited"))
    home, named = tmp_path / "home", tmp_path / "named"
    monkeypatch.setenv("SEMINMF_DATA", str(named))
    assert locate("small", home) is None
    for folder in (alone, named, home):  # the later, the sooner searched
        folder.mkdir(parents=True)
        (folder / "small.data").write_bytes(raw)
        assert locate("small", home) == folder / "small.data"
        assert fetch("small", str(home)) == folder / "small.data"
    assert fetch("small") == named / "small.data"
    (home / "small.npz").write_bytes(b"")
    assert fetch("small", home) == home / "small.npz"


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    expected = {
        "linux": "home/.cache/seminmf",
        "darwin": "home/Library/Caches/seminmf",
        "win32": "home/AppData/Local/seminmf/seminmf/Cache",
    }
    for platform, folder in expected.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == Path(folder)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "seminmf"


def test_cache_folder_is_that_of_pooch() -> None:
    pooch = pytest.importorskip("pooch")
    assert cache_folder() == Path(pooch.os_cache("seminmf"))


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


RAW = original_bytes("delimited", *small_table("delimited"))
ARCHIVES = {
    "small.data": RAW,
    "small.zip": zipped(Index=b"", small_data=RAW),
    "plus+sign.zip": zipped(small_data_Z=compress(RAW)),
    "small.tar.gz": tarred("small.data", RAW),
    "small.data.Z": compress(RAW),
}


@pytest.mark.parametrize("hashed", [True, False])
@pytest.mark.parametrize("archive", list(ARCHIVES))
def test_download(
    archive: str, hashed: bool, server: Server, publish: Any, alone: Path, tmp_path: Path
) -> None:
    content = ARCHIVES[archive]
    server.answers[f"/{archive}"] = [content]
    known_hash = sha256(content) if hashed else None
    publish(sources=(Source(f"{server.url}/{archive}", "small.data", known_hash, unpack=True),))
    home = tmp_path / "new" / "folder"
    path = fetch("small", home)
    assert path == home / "small.data"
    assert path.read_bytes() == RAW
    assert list(home.iterdir()) == [path], "nothing else is left behind"
    if sys.platform != "win32":
        assert path.stat().st_mode == (tmp_path / "new").stat().st_mode & 0o666 | 0o100000
    assert fetch("small", home) == path
    assert server.requests == [f"/{archive}"], "downloaded once"
    assert not alone.exists()


def test_download_goes_to_the_cache_as_it_is(server: Server, publish: Any, alone: Path) -> None:
    content = gzip.compress(RAW)
    server.answers["/small.data.gz"] = [content]
    publish(sources=(Source(f"{server.url}/small.data.gz", "small.data.gz"),))
    assert fetch("small") == alone / "small.data.gz"
    assert (alone / "small.data.gz").read_bytes() == content


@pytest.mark.parametrize("hashed", [True, False])
@pytest.mark.parametrize("first", [RAW.replace(b"0.", b"1.", 1), RAW[:40], 503])
def test_download_is_tried_again(
    first: bytes | int, hashed: bool, server: Server, publish: Any, alone: Path
) -> None:
    server.answers["/small.data"] = [first, RAW]
    known_hash = sha256(RAW) if hashed else None
    publish(sources=(Source(f"{server.url}/small.data", "small.data", known_hash),))
    assert fetch("small").read_bytes() == RAW
    assert len(server.requests) == 2


@pytest.mark.parametrize("hashed", [True, False])
def test_a_connection_that_breaks_off_leaves_nothing(
    hashed: bool, server: Server, publish: Any, alone: Path
) -> None:
    server.answers["/small.data"] = [RAW[: len(RAW) // 2]]
    server.cut = len(RAW) - len(RAW) // 2
    known_hash = sha256(RAW) if hashed else None
    publish(sources=(Source(f"{server.url}/small.data", "small.data", known_hash),))
    with pytest.raises(FileNotFoundError, match=r"small\.data"):
        fetch("small")
    assert list(alone.iterdir()) == []
    server.answers["/small.data"], server.cut = [RAW], 0
    assert fetch("small").read_bytes() == RAW


def test_next_address_is_tried(server: Server, publish: Any, alone: Path) -> None:
    server.answers["/mirror/small.data"] = [RAW]
    publish(
        sources=(
            Source(f"{server.url}/small.zip", "small.data", unpack=True),
            Source(f"{server.url}/mirror/small.data", "small.data", sha256(RAW)),
        )
    )
    assert fetch("small").read_bytes() == RAW
    assert server.requests == ["/small.zip"] * 3 + ["/mirror/small.data"]


def test_wrong_checksums_are_refused(server: Server, publish: Any, alone: Path) -> None:
    wrong = RAW.replace(b"0.", b"1.", 1)
    server.answers["/a/small.data"] = server.answers["/b/small.data"] = [wrong]
    info = publish(
        sources=(
            Source(f"{server.url}/a/small.data", "small.data", sha256(RAW)),
            Source(f"{server.url}/b/small.data", "small.data"),
        )
    )
    with pytest.raises(FileNotFoundError) as caught:
        fetch("small")
    message = str(caught.value)
    assert sha256(RAW).removeprefix("sha256:") in message
    assert f"expected {info.content_sha256}" in message
    assert len(server.requests) == 6, "two further attempts each"
    assert list(alone.iterdir()) == []


def test_offline_error_says_which_file_to_put_where(
    server: Server, publish: Any, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = server.url  # a port where nobody answers
    server.http.shutdown()
    server.http.server_close()
    publish(sources=(Source(f"{closed}/small.data", "small.data"),))
    monkeypatch.setenv("SEMINMF_DATA", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError) as caught:
        fetch("small", tmp_path / "home")
    message = str(caught.value)
    for part in (
        "'small'",
        "SEMINMF_DATA",
        "data_home",
        "small.npz, small.data, small.data.gz",
        f"get {closed}/small.data",
        f"{tmp_path / 'missing'}  (does not exist)",
        str(tmp_path / "home"),
        str(alone),
        "Connection refused" if sys.platform == "linux" else closed,
    ):
        assert part in message


def test_without_pooch(publish: Any, alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish()
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r'pip install "seminmf\[data\]"') as caught:
        fetch("small")
    assert "SEMINMF_DATA" in str(caught.value)
    assert isinstance(caught.value.__cause__, ImportError)
    alone.mkdir(parents=True)
    (alone / "small.data").write_bytes(RAW)
    assert fetch("small") == alone / "small.data"


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_bar_only_on_a_terminal(
    terminal: bool, server: Server, publish: Any, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tqdm")
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    server.answers["/small.data"] = [RAW]
    publish(sources=(Source(f"{server.url}/small.data", "small.data"),))
    fetch("small")
    assert ("100%" in stream.getvalue()) == terminal


# --- the real data sets ---------------------------------------------------------------------------

REAL: dict[str, tuple[Callable[..., Any], tuple[int, int], list[int]]] = {
    "ionosphere": (load_ionosphere, (351, 34), [126, 225]),
    "waveform": (load_waveform, (5000, 21), [1657, 1647, 1696]),
    "uspst": (load_uspst, (2007, 256), [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]),
    "uspst_zip": (
        lambda **options: load_uspst("zip", **options),
        (2007, 256),
        [359, 264, 198, 166, 200, 160, 170, 147, 166, 177],
    ),
    "cifar10_test": (load_cifar10_test, (10000, 3072), [1000] * 10),
}


def real_file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        pytest.skip(f"{name} is not in the data folder")
    return folder / name


@pytest.mark.parametrize("name", list(REAL))
def test_loaders(name: str, data_folder: Path) -> None:
    real_file(data_folder, f"{name}.npz")
    load, shape, counts = REAL[name]
    bunch = load()
    assert bunch.name == name
    assert bunch.data.shape == shape
    assert bunch.data.dtype == (np.uint8 if name == "cifar10_test" else np.float64)
    assert bunch.data.flags.c_contiguous
    assert bunch.target.dtype == np.int64
    assert np.bincount(bunch.target).tolist() == counts
    assert len(bunch.feature_names) == len(set(bunch.feature_names)) == shape[1]
    assert len(bunch.target_names) == len(counts)
    assert bunch.filename in bunch.DESCR
    assert f"{shape[0]} samples" in bunch.DESCR
    X, y = load(data_home=data_folder, return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)
    assert content_sha256(X, y) == dataset_info(name).content_sha256


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("ionosphere", "ionosphere.data"),
        ("waveform", "waveform.data"),
        ("uspst", "usps.t.bz2"),
        ("uspst_zip", "zip.test.gz"),
    ],
)
def test_original_files_hold_the_same_numbers(name: str, file: str, data_folder: Path) -> None:
    path = real_file(data_folder, file)
    info = dataset_info(name)
    content = path.read_bytes()
    if file == "zip.test.gz":
        content = gzip.decompress(content)
    assert hashlib.sha256(content).hexdigest() == info.sha256
    X, y = read_dataset(info, path)
    assert content_sha256(X, y) == info.content_sha256


def test_cifar_binary_round_trip(data_folder: Path, tmp_path: Path) -> None:
    real_file(data_folder, "cifar10_test.npz")
    X, y = load_cifar10_test(data_home=data_folder, return_X_y=True)
    path = tmp_path / "cifar-10-batches-bin" / "test_batch.bin"
    path.parent.mkdir()
    np.c_[y.astype(np.uint8), X].tofile(path)
    assert hashlib.md5(path.read_bytes()).hexdigest() == "803d5f7f4d78ea53de84dbe85f74fb6d"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == dataset_info("cifar10_test").sha256
    bunch = load_cifar10_test(data_home=tmp_path)
    assert bunch.filename == str(path)
    np.testing.assert_array_equal(bunch.data, X)
    np.testing.assert_array_equal(bunch.target, y)


def test_cifar_as_float(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = small_table("cifar")
    info = dataclasses.replace(small_info("cifar"), name="cifar10_test", files=("small.npz",))
    monkeypatch.setitem(registry.DATASETS, "cifar10_test", info)
    alone.mkdir(parents=True)
    np.savez(alone / "small.npz", X=X, y=y)
    floats, _ = load_cifar10_test(as_float=True, return_X_y=True)
    assert floats.dtype == np.float64
    np.testing.assert_array_equal(floats, X / 255)
    assert load_cifar10_test().data.dtype == np.uint8


def test_waveform_from_a_copy_of_the_uci_archive(
    data_folder: Path, server: Server, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = real_file(data_folder, "waveform.data").read_bytes()
    info = dataset_info("waveform")
    archive = zipped(Index=b"", waveform_data_Z=compress(raw), waveform_names=b"")
    name = info.urls[0].rpartition("/")[2]
    server.answers[f"/{name}"] = [archive]
    source = dataclasses.replace(info.sources[0], url=f"{server.url}/{name}")
    monkeypatch.setitem(registry.DATASETS, "waveform", dataclasses.replace(info, sources=(source,)))
    X, y = load_waveform(return_X_y=True)
    assert content_sha256(X, y) == info.content_sha256
    assert (alone / "waveform.data").read_bytes() == raw


# --- generator ------------------------------------------------------------------------------------

PAIRS = {0: (1, 2), 1: (0, 2), 2: (0, 1)}


def test_base_waves() -> None:
    waves = base_waves()
    assert waves.shape == (3, 21)
    assert waves.max(axis=1).tolist() == [6.0, 6.0, 6.0]
    assert (waves.argmax(axis=1) + 1).tolist() == [11, 15, 7]
    assert waves.sum(axis=1).tolist() == [36.0, 36.0, 36.0]


def check_moments(X: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    """Compare mean and covariance of each class with those of the definition."""
    for label, (a, b) in PAIRS.items():
        first, second = base_waves()[[a, b]]
        members = X[y == label]
        n = len(members)
        covariance = np.eye(21) + np.outer(first - second, first - second) / 12
        errors = (members.mean(axis=0) - (first + second) / 2) / np.sqrt(np.diag(covariance) / n)
        assert np.abs(errors).max() < 4.5
        spread = np.sqrt((covariance**2 + np.outer(*2 * [np.diag(covariance)])) / n)
        assert np.abs((np.cov(members.T) - covariance) / spread).max() < 5
        for other in PAIRS.keys() - {label}:
            mean = base_waves()[list(PAIRS[other])].mean(axis=0)
            far = np.abs(members.mean(axis=0) - mean) / np.sqrt(np.diag(covariance) / n)
            assert far.max() > 50, "another numbering of the classes would not do"


def test_made_waveform_has_the_moments_of_its_definition() -> None:
    X, y = make_waveform(20_000, 3)
    check_moments(X, y)
    assert np.abs(np.bincount(y) / len(y) - 1 / 3).max() < 0.015


def test_real_waveform_has_the_moments_of_the_definition(data_folder: Path) -> None:
    real_file(data_folder, "waveform.npz")
    check_moments(*load_waveform(return_X_y=True))


def test_make_waveform_arguments() -> None:
    X, y = make_waveform(random_state=0)
    assert X.shape == (5000, 21)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.dtype == np.int64
    again, _ = make_waveform(5000, np.random.RandomState(0))
    np.testing.assert_array_equal(X, again)
    assert not np.array_equal(X, make_waveform(5000, 1)[0])
    one: Any = np.int64(1)
    assert make_waveform(one)[0].shape == (1, 21)


@pytest.mark.parametrize("n_samples", [0, -3, 2.5, "many", True])
def test_make_waveform_refuses(n_samples: Any) -> None:
    with pytest.raises(ValueError, match=r"n_samples=.* must be a whole number of at least 1"):
        make_waveform(n_samples)


# --- corruption -----------------------------------------------------------------------------------


def test_gaussian_noise() -> None:
    X = np.arange(60_000.0).reshape(300, 200)
    before = X.copy()
    noise = add_gaussian_noise(X, 0.3, random_state=0) - X
    np.testing.assert_array_equal(X, before)
    assert noise.std() == pytest.approx(0.3, rel=0.02)
    assert abs(noise.mean()) < 0.01
    again = add_gaussian_noise(X, 0.6, 0) - X
    np.testing.assert_allclose(again, 2 * noise, atol=1e-9)
    copy = add_gaussian_noise(X, 0.0)
    np.testing.assert_array_equal(copy, X)
    assert not np.shares_memory(copy, X)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float32, np.float32), (np.float64, np.float64), (np.uint8, np.float64)],
)
def test_corrupted_types(dtype: Any, expected: Any) -> None:
    X = np.ones((4, 3), dtype=dtype)
    assert add_gaussian_noise(X, 0.1).dtype == expected
    assert add_outliers(X, 0.5)[0].dtype == expected


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 40), st.floats(0, 1), st.floats(0, 20), st.integers(0, 99))
def test_outliers_move_by_a_multiple_of_the_typical_norm(
    n: int, fraction: float, scale: float, seed: int
) -> None:
    X = np.random.default_rng(seed).normal(size=(n, 5))
    before = X.copy()
    moved, mask = add_outliers(X, fraction, scale, seed)
    np.testing.assert_array_equal(X, before)
    assert mask.dtype == np.bool_
    assert mask.sum() == round(fraction * n)
    np.testing.assert_array_equal(moved[~mask], X[~mask])
    distance = np.linalg.norm(moved - X, axis=1)[mask]
    np.testing.assert_allclose(distance, scale * np.median(np.linalg.norm(X, axis=1)), atol=1e-9)
    more = add_outliers(X, min(1.0, fraction + 0.1), scale, seed)[1]
    assert np.all(more[mask])


def test_outliers_go_in_all_directions() -> None:
    X = np.tile([3.0, 4.0], (4000, 1))
    moved, mask = add_outliers(X, 1.0, scale=2.0, random_state=0)
    steps = (moved - X)[mask] / 10.0
    np.testing.assert_allclose(np.linalg.norm(steps, axis=1), 1.0)
    assert np.abs(steps.mean(axis=0)).max() < 0.05
    np.testing.assert_allclose(np.cov(steps.T), np.eye(2) / 2, atol=0.03)


@pytest.mark.parametrize("sigma", [-0.1, np.nan, np.inf, "much", None])
def test_sigma_is_checked(sigma: Any) -> None:
    with pytest.raises(ValueError, match=r"sigma=.* must be a standard deviation: .* at least 0"):
        add_gaussian_noise(np.ones((2, 2)), sigma)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, np.nan, "half"])
def test_fraction_is_checked(fraction: Any) -> None:
    with pytest.raises(ValueError, match=r"fraction=.* must be a share .* from 0 to 1"):
        add_outliers(np.ones((2, 2)), fraction)


def test_scale_and_size_are_checked() -> None:
    with pytest.raises(ValueError, match="scale=-1 must be a multiple of the median row norm"):
        add_outliers(np.ones((2, 2)), 0.5, -1)
    X = np.eye(5)[:, :2]
    with pytest.raises(ValueError, match="median row norm of X is 0"):
        add_outliers(X, 0.5)
    assert not add_outliers(X, 0.0)[1].any()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan]], "Input X contains NaN"),
        ([[1.0, np.inf]], "Input X contains infinity"),
        ([1.0, 2.0], "Expected 2D array"),
        ([["a", "b"]], "could not convert string"),
    ],
)
def test_data_to_be_corrupted_are_checked(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        add_gaussian_noise(X, 0.1)
    with pytest.raises(ValueError, match=message):
        add_outliers(X, 0.1)
