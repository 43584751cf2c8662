"""Tables: every format there and back, and every mistake in one line with its remedy."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from seminmf.io import Format, Record, Table, TableError, read_table, write_table

pd = pytest.importorskip("pandas")
h5py = pytest.importorskip("h5py")

NUMBERS = np.array([[1.5, -2.0, 1e-17], [0.1, 5.0, 3.0], [4.0, 0.0, -7.25], [1 / 3, 2.0, 9.0]])
IDS = ["s1", "s2", "s3", "s4"]
KINDS = ["a", "b", "a", "b"]
NAMES = ("length", "width", "odd")


def frame() -> Any:
    columns = dict(zip(NAMES, NUMBERS.T, strict=True))
    return pd.DataFrame({"sample": IDS, "kind": KINDS, **columns})


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def write_h5ad(path: Path, X: Any, *, obs: dict[str, Any] | None = None) -> Path:
    """As AnnData writes them: a group for each data frame, categories as codes."""
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        if sp.issparse(X):
            group = file.create_group("X")
            group.attrs.update({"encoding-type": f"{X.format}_matrix", "shape": X.shape})
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(X, name)
        else:
            file["X"] = X
        for what, names in (("obs", IDS), ("var", NAMES)):
            group = file.create_group(what)
            group.attrs.update({"_index": "_index", "encoding-type": "dataframe"})
            group.create_dataset("_index", data=list(names), dtype=text)
        kind = file["obs"].create_group("kind")
        kind.create_dataset("categories", data=["a", "b"], dtype=text)
        kind["codes"] = np.array([0, 1, 0, -1], dtype=np.int8)
        depth = file["obs"].create_group("depth")
        depth["values"], depth["mask"] = np.arange(4), np.array([False, False, True, False])
        for name, values in (obs or {}).items():
            file["obs"][name] = values
    return path


def stored(tmp_path: Path, name: str) -> Path:
    """The same numbers in the format that the name stands for."""
    path, table = tmp_path / name, frame()
    if name.endswith((".csv", ".csv.gz", ".txt")):
        table.to_csv(path, index=False)
    elif name.endswith((".tsv", ".tsv.gz", ".tab")):
        table.to_csv(path, index=False, sep="\t")
    elif name.endswith((".parquet", ".pq")):
        table.to_parquet(path)
    elif name.endswith(".npy"):
        np.save(path, NUMBERS)
    elif name == "dense.npz":
        np.savez(path, X=NUMBERS, sample=IDS, kind=KINDS, feature_names=list(NAMES))
    elif name == "sparse.npz":
        sp.save_npz(path, sp.csc_array(NUMBERS))
    elif name.endswith((".mtx", ".mtx.gz")):
        matrix = NUMBERS if name.startswith("dense") else sp.coo_array(NUMBERS)
        with gzip.open(path, "wb") if name.endswith(".gz") else path.open("wb") as stream:
            scipy.io.mmwrite(stream, matrix, precision=17)
    elif name == "dense.h5ad":
        write_h5ad(path, NUMBERS)
    elif name == "csr.h5ad":
        write_h5ad(path, sp.csr_array(NUMBERS))
    elif name == "csc.h5ad":
        write_h5ad(path, sp.csc_array(NUMBERS))
    else:
        raise AssertionError(name)
    return path


WITH_COLUMNS = ["t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "t.tab", "t.txt", "t.parquet", "t.pq"]
MATRICES = ["t.npy", "dense.npz", "sparse.npz", "sparse.mtx", "sparse.mtx.gz", "dense.mtx",
            "dense.h5ad", "csr.h5ad", "csc.h5ad"]  # fmt: skip
SPARSE = ("sparse", "cs")


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_tables_with_columns(name: str, tmp_path: Path) -> None:
    table = read_table(stored(tmp_path, name), id="sample", labels="kind")
    assert table.X.dtype == np.float64
    assert table.X.tolist() == NUMBERS.tolist()  # to the last bit
    assert table.feature_names == NAMES
    assert table.named
    assert table.ids is not None
    assert table.ids.tolist() == IDS
    assert table.labels is not None
    assert table.labels.tolist() == KINDS
    assert table.skipped == ()
    assert table.rows.tolist() == [0, 1, 2, 3]
    plain = read_table(stored(tmp_path, name))
    assert plain.ids is None
    assert {s.name: s.reason for s in plain.skipped} == {
        "sample": "it has text", "kind": "it has text"
    }  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, tmp_path: Path) -> None:
    table = read_table(stored(tmp_path, name))
    assert sp.issparse(table.X) == name.startswith(SPARSE)
    assert np.array_equal(table.X.toarray() if sp.issparse(table.X) else table.X, NUMBERS)
    named = name.endswith("h5ad") or name == "dense.npz"
    assert table.named == named
    assert table.feature_names == (NAMES if named else ("x0", "x1", "x2"))


@pytest.mark.parametrize("name", ["dense.h5ad", "csr.h5ad"])
def test_h5ad_has_names_and_notes(name: str, tmp_path: Path) -> None:
    path = stored(tmp_path, name)
    table = read_table(path, labels="kind")
    assert table.ids is not None
    assert table.ids.tolist() == IDS
    assert table.labels is not None
    assert table.labels.tolist() == ["a", "b", "a", "missing"]
    assert [s.name for s in table.skipped] == ["depth"]
    by_gene = read_table(path, labels="width")
    assert by_gene.labels is not None
    assert by_gene.labels.tolist() == ["-2", "5", "0", "2"]
    assert read_table(path, features=["odd", "length"]).feature_names == ("odd", "length")
    picked = read_table(path, features=["odd", "length"]).X
    assert np.array_equal(picked.toarray() if sp.issparse(picked) else picked, NUMBERS[:, [2, 0]])


def test_h5ad_of_older_versions(tmp_path: Path) -> None:
    path = tmp_path / "old.h5ad"
    records = np.array(
        [(name.encode(), i % 2) for i, name in enumerate(IDS)],
        dtype=[("index", "S4"), ("kind", "i1")],
    )
    with h5py.File(path, "w") as file:
        matrix = sp.csr_array(NUMBERS)
        group = file.create_group("X")
        group.attrs.update({"h5sparse_format": "csr", "h5sparse_shape": matrix.shape})
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(matrix, name)
        file["obs"] = records
        var = file.create_group("var")
        var.attrs["_index"] = "gene"
        var["gene"] = [name.encode() for name in NAMES]
        var["group"] = np.array([0, 1, -1])
        var.create_group("__categories")["group"] = [b"p", b"q"]
    table = read_table(path, labels="kind")
    assert table.ids is not None
    assert table.ids.tolist() == IDS
    assert table.feature_names == NAMES
    assert table.labels is not None
    assert table.labels.tolist() == ["0", "1", "0", "1"]


def test_a_file_that_anndata_wrote(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"n": np.arange(4)}, index=pd.Index(IDS, dtype=object))
    var = pd.DataFrame(index=pd.Index(NAMES, dtype=object))
    data = anndata.AnnData(X=sp.csr_matrix(NUMBERS), obs=obs, var=var)
    try:
        data.write_h5ad(tmp_path / "t.h5ad")
    except Exception as error:  # some versions cannot write the strings of newer pandas
        if "ArrowStringArray" not in str(error):
            raise
        pytest.skip("this anndata cannot write with this pandas")
    table = read_table(tmp_path / "t.h5ad", labels="n")
    assert table.feature_names == NAMES
    assert np.array_equal(table.X.toarray(), NUMBERS)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = frame().to_csv(index=False).encode()
    for content in (text, gzip.compress(text)):
        stream = io.TextIOWrapper(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", stream)
        table = read_table("-", id="sample")
        assert table.source == "standard input"
        assert table.X.tolist() == NUMBERS.tolist()


# Text in all its forms.

TEXTS = {
    "semicolons": ("a;b\n1;2\n3;4\n", ",.", ("a", "b"), [[1, 2], [3, 4]]),
    "decimal commas": ("a;b\n1,5;2\n-3,25;4\n", ";,", ("a", "b"), [[1.5, 2], [-3.25, 4]]),
    "tabs in csv": ("a\tb\n1\t2\n3\t4\n", "", ("a", "b"), [[1, 2], [3, 4]]),
    "pipes": ("a|b\n1|2\n3|4\n", "", ("a", "b"), [[1, 2], [3, 4]]),
    "spaces": ("a  b\n1   2\n 3 4\n", "", ("a", "b"), [[1, 2], [3, 4]]),
    "no header": ("1,2\n3,4\n", "", ("x0", "x1"), [[1, 2], [3, 4]]),
    "no header, text": ("1,2,p\n3,4,q\n", "", ("x0", "x1"), [[1, 2], [3, 4]]),
    "numbers as names": ("0,1\n5,2\n3,4\n", "", ("0", "1"), [[5, 2], [3, 4]]),
    "names of R": ("a b\nr1 1 2\nr2 3 4\n", "", ("a", "b"), [[1, 2], [3, 4]]),
    "index of pandas": (",a,b\n0,1,2\n1,3,4\n", "", ("a", "b"), [[1, 2], [3, 4]]),
    "quotes": ('"a;x","b"\n1,"2"\n3,4\n', "", ("a;x", "b"), [[1, 2], [3, 4]]),
    "mark of bytes": ("\ufeffa,b\n1,2\n3,4\n", "", ("a", "b"), [[1, 2], [3, 4]]),
    "line ends": ("a,b\r\n1,2\r\n\r\n3,4\r\n", "", ("a", "b"), [[1, 2], [3, 4]]),
    "names twice": ("a,a\n1,2\n3,4\n", "", ("a", "a.1"), [[1, 2], [3, 4]]),
    "ends with delimiter": ("a,b,\n1,2,\n3,4,\n", "", ("a", "b"), [[1, 2], [3, 4]]),
    "booleans": ("a,b\nTrue,2\nFALSE,4\n", "", ("a", "b"), [[1, 2], [0, 4]]),
    "constant": ("a,b\n7,2\n7,4\n", "", ("a", "b"), [[7, 2], [7, 4]]),
    "one column": ("a\n1\n2\n", "", ("a",), [[1], [2]]),
    "empty column": ("a,b,c\n1,,2\n3,,4\n", "", ("a", "c"), [[1, 2], [3, 4]]),
    "dates": ("a,b,c\n1,2020-01-01,2\n3,2020-01-02,4\n", "", ("a", "c"), [[1, 2], [3, 4]]),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_text(case: str, tmp_path: Path) -> None:
    text, _, names, numbers = TEXTS[case]
    table = read_table(write_text(tmp_path / "t.csv", text))
    assert table.feature_names == names
    assert table.X.tolist() == numbers


def test_named_rows_are_ids(tmp_path: Path) -> None:
    table = read_table(write_text(tmp_path / "t.txt", TEXTS["names of R"][0]))
    assert table.ids is not None
    assert table.ids.tolist() == ["r1", "r2"]
    indexed = frame().set_index("sample")
    indexed.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.ids is not None
    assert table.ids.tolist() == IDS
    assert table.id_name == "sample"
    assert table.feature_names == NAMES


def test_options_for_text(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "1:2\n3:4\n")
    assert read_table(path, delimiter=":").X.tolist() == [[1, 2], [3, 4]]
    assert read_table(path, delimiter=":", header=True).feature_names == ("1", "2")
    write_text(path, "a\tb\n1\t2\n")
    assert read_table(path, delimiter="tab").X.tolist() == [[1, 2]]
    latin = tmp_path / "l.csv"
    latin.write_bytes("größe,b\n1,2\n3,4\n".encode("latin-1"))
    assert read_table(latin, encoding="latin-1").feature_names == ("größe", "b")
    with pytest.raises(TableError, match=r"is not utf-8 text.*byte 0xf6.*--encoding latin-1"):
        read_table(latin)
    with pytest.raises(TableError, match="'klingon' is not the name of an encoding"):
        read_table(latin, encoding="klingon")
    latin.write_bytes("a,b\n1,2\n".encode("utf-16"))
    assert read_table(latin).feature_names == ("a", "b")
    late = b"a,b\n" + b"1,2\n" * 300_000 + "1,ö\n".encode("latin-1")
    latin.write_bytes(late)
    with pytest.raises(TableError, match="is not utf-8 text"):
        read_table(latin)


def test_ids_and_labels_stay_text(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "id,kind,a\n007,1,1\n7,2,2\n")
    table = read_table(path, id="id", labels="kind")
    assert table.ids is not None
    assert table.labels is not None
    assert table.ids.tolist() == ["007", "7"]
    assert table.labels.tolist() == ["1", "2"]
    assert table.feature_names == ("a",)


def test_text_among_numbers_is_told(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "a,b\n1,2\n3,4\n5,*\n")
    (skipped,) = read_table(path).skipped
    assert skipped.name == "b"
    assert skipped.reason == (
        "it has text in 1 row, the first '*' in row 3 (--na-values '*' if it stands for a missing "
        "value)"
    )


@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_numbers_come_back_from_text(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[list[float]], delimiter: str
) -> None:
    path = tmp_path_factory.mktemp("text") / "t.csv"
    lines = [delimiter.join(map(repr, row)) for row in numbers]
    write_text(path, delimiter.join("abc") + "\n" + "\n".join(lines) + "\n")
    table = read_table(path)
    assert table.X.tolist() == numbers
    written = write_table(path.with_name("u"), dict(zip("abc", table.X.T, strict=True)),
                          format=table.format)  # fmt: skip
    assert read_table(written).X.tolist() == numbers


# Mistakes.

BAD_TEXTS = [
    ("", "is empty"),
    ("\n\n", "is empty"),
    ("a,b\n", "has a header but no rows"),
    ("a,b\nx,y\nz,w\n", r"has no numeric column to factorize \('a': it has text"),
    ("a\nx:1\ny:2\n", r"no numeric column.*Is the delimiter right \(--delimiter\)"),
    ("a,b,c\n1,2,3\n4,5\n7,8,9\n", "line 3 has 2 values, but there are 3 columns"),
    ("a,b,c\n1,2,3\n4,5,6\n7,8,9,10\n", "line 4 has 4 values, but there are 3 columns"),
    ("a,b\n1,\n3,4\n", r"1 value is missing or infinite, in 'b' \(row 1\).*--drop-missing.*--fill"),
    ("a,b\n1,inf\n3,4\n", r"in 'b' \(row 1\)"),
    ('a,b\n1,"2\n3,4\n', "t.csv"),
]


@pytest.mark.parametrize(("text", "message"), BAD_TEXTS)
def test_mistakes_in_text(text: str, message: str, tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", text)
    with pytest.raises(TableError, match=message) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_wrong_delimiter_is_told(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "a;b\n1;2\n3;4\n")
    with pytest.raises(
        TableError, match=r"one column, but every line has ';'; use --delimiter ';'"
    ):
        read_table(path, delimiter=",")
    with pytest.raises(TableError, match="must be one character"):
        read_table(path, delimiter="::")


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = stored(tmp_path, "t.csv")
    with pytest.raises(TableError, match=r"no column 'knd' for --labels; did you mean 'kind'\?"):
        read_table(path, labels="knd")
    with pytest.raises(TableError, match=r"no column 'SAMPLE' for --id; did you mean 'sample'\?"):
        read_table(path, id="SAMPLE")
    with pytest.raises(TableError, match=r"for --id; there are 'sample', 'kind', 'length'"):
        read_table(path, id="zzz")
    with pytest.raises(TableError, match="there are none"):
        read_table(stored(tmp_path, "t.npy"), id="zzz")
    with pytest.raises(TableError, match=r"does not have 1 of the 2 features.*'lenght'; did you"):
        read_table(path, features=["lenght", "width"])
    with pytest.raises(TableError, match=r"column 'kind' is a feature of the model, but it has te"):
        read_table(path, features=["kind", "width"])
    with pytest.raises(TableError, match="has 3 columns, but the model has 2 features"):
        read_table(stored(tmp_path, "t.npy"), features=["a", "b"])
    table = read_table(path, features=["odd", "length"])
    assert table.X.tolist() == NUMBERS[:, [2, 0]].tolist()
    assert [s.reason for s in table.skipped] == ["not a feature of the model"] * 3
    assert read_table(stored(tmp_path, "t.npy"), features=["a", "b", "c"]).feature_names[2] == "c"


def test_ids_must_tell_samples_apart(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "id,a\nx,1\ny,2\nx,3\n")
    with pytest.raises(TableError, match=r"'id' has 1 value more than once, as 'x' in rows 1, 3"):
        read_table(path, id="id")
    write_text(path, "id,a\nx,1\n,2\n")
    with pytest.raises(TableError, match=r"'id' is empty in 1 row, the first row 2"):
        read_table(path, id="id")


def test_files_that_are_not_what_they_seem(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"no such file. did you mean 'real.csv'\?"):
        read_table(tmp_path / "rael.csv")
    with pytest.raises(TableError, match=r"no such file.$"):
        read_table(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    for name in ("t.xls", "t", "t.npy.gz"):
        (tmp_path / name).write_bytes(b"?")
        with pytest.raises(TableError, match=r"unknown kind of file; known are \.csv"):
            read_table(tmp_path / name)
    for name, message in {
        "t.parquet": "is not a Parquet file", "t.npy": "not an NPY file",
        "t.npz": "not an NPZ file", "t.mtx": "is not a Matrix Market file",
        "t.mtx.gz": "is not a Matrix Market file", "t.h5ad": "is not an H5AD file",
        "t.csv.gz": "ends in .gz but is not a gzip file",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(b"something else")
        with pytest.raises(TableError, match=message) as caught:
            read_table(tmp_path / name)
        assert "\n" not in str(caught.value)
    (tmp_path / "t.csv").write_bytes(b"PK\0\0a,b")
    with pytest.raises(TableError, match="is not a text file"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet", "t.npy", "dense.npz", "sparse.npz",
                                  "sparse.mtx", "sparse.mtx.gz", "csr.h5ad"])  # fmt: skip
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_files_that_were_cut(name: str, share: float, tmp_path: Path) -> None:
    path = stored(tmp_path, name)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_a_matrix_market_file_cut_anywhere(tmp_path: Path) -> None:
    """SciPy's reader ends the process where a number is cut in its exponent."""
    path = stored(tmp_path, "sparse.mtx")
    content = path.read_bytes()
    last = content.rstrip().rindex(b"\n") + 1
    for length in range(1, last):
        path.write_bytes(content[:length])
        with pytest.raises(TableError, match=r"t.*\.mtx is not a Matrix Market file"):
            read_table(path)
    for length in range(last, len(content)):  # within the last number anything may be meant
        path.write_bytes(content[:length])
        with contextlib.suppress(TableError):
            read_table(path)


def test_arrays_that_are_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    for array, message in (
        (np.arange(3.0), r"has 1 dimension, shape \(3,\).*samples as rows"),
        (np.zeros((2, 2, 2)), "has 3 dimensions"),
        (np.array([["a", "b"]]), "values of type <U1; numbers are needed"),
        (np.eye(2) * 1j, "complex128; numbers are needed"),
        (np.zeros((0, 3)), "has no rows"),
        (np.zeros((3, 0)), "has no columns"),
    ):
        np.save(path, array)
        with pytest.raises(TableError, match=message):
            read_table(path)
    np.save(path, np.array([[{}]]), allow_pickle=True)
    with pytest.raises(TableError, match="holds Python objects"):
        read_table(path)
    with path.open("wb") as stream:
        np.savez(stream, X=np.eye(2))
    with pytest.raises(TableError, match="rename it to"):
        read_table(path)
    np.savez(tmp_path / "t.npz", a=np.eye(2), b=np.eye(3))
    with pytest.raises(TableError, match=r"no matrix called X: it has a \(2, 2\), b \(3, 3\)"):
        read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", anything=np.eye(2), y=[0, 1])
    table = read_table(tmp_path / "t.npz", labels="y")
    assert table.labels is not None
    assert table.labels.tolist() == ["0", "1"]
    scipy.io.mmwrite(tmp_path / "t.mtx", sp.coo_array(np.eye(2) * 1j))
    with pytest.raises(TableError, match="complex"):
        read_table(tmp_path / "t.mtx")
    records = np.array([(1.0, "x", True), (2.0, "y", False)],
                       dtype=[("a", "f8"), ("b", "U1"), ("c", "?")])  # fmt: skip
    np.save(path, records)
    table = read_table(path, labels="b")
    assert table.X.tolist() == [[1, 1], [2, 0]]
    assert table.feature_names == ("a", "c")


def test_odd_columns_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame(
        {
            "when": pd.to_datetime(["2020-01-01", "2020-01-02"]), "list": [[1], [2]],
            "flag": [True, None], "many": pd.Categorical(["a", "b"]), "x": [1.0, 2.0],
            "text": ["1", "2"],
        }
    ).to_parquet(path)  # fmt: skip
    with pytest.raises(TableError, match=r"1 value is missing or infinite, in 'flag' \(row 2\)"):
        read_table(path)
    table = read_table(path, missing="median")
    assert table.feature_names == ("flag", "x", "text")
    assert {s.name: s.reason for s in table.skipped} == {
        "when": "it has dates or times",
        "list": "it has values of type ndarray (write them as columns)",
        "many": "it has categories",
    }


def test_offsets_beyond_the_text_of_a_feather_file(tmp_path: Path) -> None:
    """Arrow follows them: the interpreter crashed."""
    arrow, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    table = arrow.table({"a": [1.0, 2.0, 3.0], "name": arrow.array(["abc", "de", "f"])})
    path = tmp_path / "t.feather"
    feather.write_feather(table, path, compression="uncompressed")
    offsets, others = (np.array(o, "<i4").tobytes() for o in ([0, 3, 5, 6], [0, 3, 2**30, 6]))
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, others))
    with pytest.raises(TableError, match="is not a Feather file, or is damaged"):
        read_table(path)


def test_damaged_h5ad(tmp_path: Path) -> None:
    path = write_h5ad(tmp_path / "t.h5ad", NUMBERS[:3])
    with pytest.raises(TableError, match=r"X is \(3, 3\), but obs has 4 entries"):
        read_table(path)
    with h5py.File(path, "w") as file:
        file["obs"] = 1
    with pytest.raises(TableError, match="has no X"):
        read_table(path)
    write_h5ad(path, sp.csr_array(NUMBERS))
    with h5py.File(path, "r+") as file:
        file["X"]["indices"][0] = 99
    with pytest.raises(TableError, match="is damaged: X"):
        read_table(path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = stored(tmp_path, "t.csv")
    path.chmod(0)
    with pytest.raises(TableError, match="no permission to read"):
        read_table(path)


def test_no_permission_without_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(tmp_path, "t.csv")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(TableError, match="no permission to read"):
        read_table(path)


# Missing values.


def with_gaps(tmp_path: Path, sparse: bool) -> Path:
    numbers = NUMBERS.copy()
    numbers[1, 0] = numbers[1, 1] = numbers[3, 1] = np.nan
    if not sparse:
        np.save(tmp_path / "t.npy", numbers)
        return tmp_path / "t.npy"
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(numbers))
    return tmp_path / "t.npz"


def dense(table: Table) -> Any:
    return table.X.toarray() if sp.issparse(table.X) else table.X


@pytest.mark.parametrize("sparse", [False, True])
def test_missing_values(sparse: bool, tmp_path: Path) -> None:
    path = with_gaps(tmp_path, sparse)
    message = (
        r"3 values are missing or infinite, in 'x0' \(row 2\), 'x1' \(rows 2, 4\)\. .* the 2 rows"
    )
    with pytest.raises(TableError, match=message):
        read_table(path)
    dropped = read_table(path, missing="drop")
    assert dropped.rows.tolist() == [0, 2]
    assert dropped.n_dropped == 2
    assert np.array_equal(dense(dropped), NUMBERS[[0, 2]])
    filled = read_table(path, missing="median")
    assert filled.n_filled == 3
    expected = NUMBERS.copy()
    expected[1, 0] = np.median(NUMBERS[[0, 2, 3], 0])
    expected[[1, 3], 1] = np.median(NUMBERS[[0, 2], 1])
    assert np.array_equal(dense(filled), expected)
    with pytest.raises(ValueError, match="missing must be"):
        read_table(path, missing="zero")  # type: ignore[arg-type]


def test_nothing_but_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    np.save(path, np.array([[np.nan, 1.0], [np.nan, 2.0]]))
    with pytest.raises(TableError, match="every row has a missing value"):
        read_table(path, missing="drop")
    with pytest.raises(TableError, match="column 'x0' has no finite value"):
        read_table(path, missing="median")
    many = np.ones((9, 9))
    many[:, :5] = np.nan
    np.save(path, many)
    with pytest.raises(TableError, match=r"\(rows 1, 2, 3 …\).*and 2 more columns"):
        read_table(path)


def test_ids_and_labels_follow_their_rows(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "id,kind,a\nx,p,1\ny,q,\nz,,3\n")
    table = read_table(path, id="id", labels="kind", missing="drop")
    assert table.ids is not None
    assert table.labels is not None
    assert table.ids.tolist() == ["x", "z"]
    assert table.labels.tolist() == ["p", "missing"]


# The record of a reading.


def test_a_record_reads_the_same_table_again(tmp_path: Path) -> None:
    path = write_text(tmp_path / "t.csv", "id;kind;a;b\nx;p;1,5;2\ny;q;;2\nz;p;3,5;7\n")
    table = read_table(path, id="id", labels="kind", missing="median")
    record = table.record
    assert record.path == str(path)
    assert record.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (record.rows, record.columns, record.kind) == (3, 2, "csv")
    assert record.arguments == {
        "id": "id", "labels": "kind", "missing": "median", "header": True, "delimiter": ";",
        "decimal": ",", "encoding": "utf-8",
    }  # fmt: skip
    assert (record.gaps, record.fills, record.values_filled) == ({"a": 1}, {"a": 2.5}, 1)
    assert Record(**json.loads(json.dumps(asdict(record)))) == record
    again = eval(record.call(), {"read_table": read_table})
    assert np.array_equal(again.X, table.X)
    assert again.record == record


# Tables out.

COLUMNS = {"id": np.array(["a", "b"], dtype=object), "part_1": np.array([0.1, 1e-300])}
NUMERIC = {"part_1": np.array([0.1, 1e-300]), "part_2": np.array([1.0, 1 / 3])}


@pytest.mark.parametrize("name", [*WITH_COLUMNS, *MATRICES])
def test_tables_are_written_as_they_were_read(name: str, tmp_path: Path) -> None:
    format = read_table(stored(tmp_path, name)).format
    path = write_table(tmp_path / "out", NUMERIC, format=format)
    numeric = name.endswith(("npy", "npz"))
    if name in WITH_COLUMNS:
        assert path.name == "out." + name.partition(".")[2]
    else:
        assert path.name == ("out.npy" if numeric else "out.csv")
    table = read_table(path)
    assert table.X.tolist() == np.column_stack(list(NUMERIC.values())).tolist()
    text = write_table(tmp_path / "text", COLUMNS, format=format)
    assert text.suffix != ".npy"
    assert read_table(text, id="id").feature_names == ("part_1",)
    assert not list(tmp_path.glob(".*"))


def test_the_ending_says_how_to_write(tmp_path: Path, capfdbinary: Any) -> None:
    for name in ("a.csv", "a.tsv", "a.csv.gz", "a.parquet"):
        written = write_table(tmp_path / name, COLUMNS)
        assert written == tmp_path / name
        assert read_table(written, id="id").X.ravel().tolist() == [0.1, 1e-300]
    write_table(tmp_path / "a.npz", COLUMNS)
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["id"].tolist() == ["a", "b"]
    write_table(tmp_path / "one.npy", {"x": [1, 2]})
    assert np.load(tmp_path / "one.npy").tolist() == [1, 2]
    with pytest.raises(TableError, match="NPY holds numbers only"):
        write_table(tmp_path / "b.npy", COLUMNS)
    for name in ("b.mtx", "b.h5ad", "b.xlsx"):
        with pytest.raises(TableError, match=r"\.csv"):
            write_table(tmp_path / name, COLUMNS)
    assert not list(tmp_path.glob("b*"))
    assert write_table(tmp_path / "c", COLUMNS, format=Format("mtx", ".mtx")).suffix == ".csv"


def test_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write_table("-", {"a": [1, 2], "b": ["x", "y,z"]})
    assert capsysbinary.readouterr().out == b'a,b\n1,x\n2,"y,z"\n'


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = stored(tmp_path, "dense.h5ad")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r'H5AD files need h5py: pip install "seminmf\[files\]"'):
        read_table(path)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("columns", [11_000, 90_000])
def test_lines_longer_than_what_is_looked_at_first(
    tmp_path: Path, ending: str, columns: int
) -> None:
    """Names of 20,000 genes or 90,000 places on a genome, in one line."""
    delimiter = "\t" if ending == ".tsv" else ","
    names = [f"cg{i:010d}" for i in range(columns)]
    lines = [["sample", *names], *([f"s{row}", *[f"{row}.5"] * columns] for row in range(5))]
    content = "\n".join(map(delimiter.join, lines)).encode()
    path = tmp_path / f"wide{ending}"
    path.write_bytes(gzip.compress(content, 1) if ending.endswith(".gz") else content)
    table = read_table(str(path), id="sample")
    assert table.X.shape == (5, columns)
    assert table.feature_names == tuple(names)
    assert list(table.ids) == [f"s{row}" for row in range(5)]
    assert (np.arange(5.0)[:, None] + 0.5 == table.X).all()


def test_a_value_without_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "open.csv"
    path.write_text('"a,b\n' + "1,2\n" * 40_000)
    with pytest.raises(TableError, match="is every quotation mark closed"):
        read_table(str(path), delimiter=",")


@pytest.mark.parametrize("date", ["{:02d}.06.2024", "{}.6.24", "192.168.0.{}", "v1.{}.3", "{}.06."])
def test_dates_with_points_beside_decimal_commas(tmp_path: Path, date: str) -> None:
    lines = ["name;seen;value;count"]
    lines += [f"p{i};{date.format(i + 1)};{i},5;{i + 1}.234,50" for i in range(20)]
    path = write_text(tmp_path / "table.csv", "\n".join(lines))
    table = read_table(str(path))
    assert table.feature_names == ("value", "count")
    np.testing.assert_array_equal(table.X[:, 0], np.arange(20) + 0.5)
    np.testing.assert_array_equal(table.X[:, 1], 1000 * (np.arange(20) + 1) + 234.5)


def test_a_mark_for_nothing_is_told(tmp_path: Path) -> None:
    rows = "\n".join(f"{i},{'-' if i % 3 else i}" for i in (3, 1, 4, 2, 5, 8, 7))
    path = write_text(tmp_path / "table.csv", f"a,b\n{rows}\n")
    (left_out,) = read_table(str(path)).skipped
    assert "--na-values '-'" in left_out.reason
