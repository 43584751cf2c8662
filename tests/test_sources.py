"""Sources: rows that are read in parts give the fit that rows in memory give."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import cone, data
from seminmf import NMF, FactorKMeans, L21SemiNMF, SemiNMF, Standardized, load
from seminmf.data import Engine, Stream, cutting
from seminmf.graph.neighbours import knn_graph
from seminmf.sources import (
    ArraySource,
    FileSource,
    MatrixSource,
    ParquetSource,
    Source,
    open_source,
)
from seminmf.sources.adapters import SelectedRows

N, M, K = 1_503, 24, 3
X = cone(N, M, K, seed=3)
SPARSE = sp.csr_array(X * (np.random.default_rng(4).random((N, M)) < 0.2))
# Enough for all rows at a time.
AMPLE = "1GB"

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of some 128 samples, so that little memory holds a few of them."""
    monkeypatch.setattr(cutting, "_OWN_BLOCK", (1, 8))


def windows(source: Any, most: int | None, k: int = K) -> int:
    engine = Engine(Stream(source, most), k)
    count = sum(1 for _ in engine.storage.windows())
    engine.storage.close()
    return count


def least(model: Any, source: Any) -> str:
    """As little memory as a fit can do with: one chunk is in use while the next is read."""
    with pytest.raises(ValueError, match="is too little") as error:
        model.set_params(max_memory=1).fit(source)
    return str(error.value).split('max_memory="')[1].split('"')[0]


def scant(model: Any, source: Any) -> Any:
    """The model with that much."""
    return model.set_params(max_memory=least(model, source))


def source_of(table: Any) -> Any:
    if sp.issparse(table):
        return MatrixSource((table.data, table.indices, table.indptr), table.shape)
    return ArraySource(table)


class Counted:
    """A source that a user might write, which counts the rows that were read."""

    def __init__(self, array: Any) -> None:
        self.array, self.rows = array, 0
        self.shape, self.dtype = array.shape, array.dtype

    def read(self, start: int, stop: int) -> Any:
        self.rows += stop - start
        return self.array[start:stop]


def as_npy(folder: Path, table: Array = X, name: str = "x.npy") -> Path:
    np.save(folder / name, table)
    return folder / name


def npy(folder: Path) -> Any:
    return open_source(as_npy(folder))


def npy_by_columns(folder: Path) -> Any:
    return open_source(as_npy(folder, np.asfortranarray(X)))


def mapped(folder: Path) -> Any:
    return np.load(as_npy(folder), mmap_mode="r")


def rows_of_mapped(folder: Path) -> Any:
    more = np.vstack([np.full((7, M), np.nan), X, np.full((5, M), np.nan)])
    return np.load(as_npy(folder, more), mmap_mode="r")[7:-5]


def zarr_folder(folder: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(str(folder / "x.zarr"), shape=X.shape, chunks=(97, 10), dtype="f8")
    stored[:] = X
    return open_source(folder / "x.zarr")


def zarr_array(folder: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    zarr_folder(folder)
    return zarr.open(str(folder / "x.zarr"), mode="r")


def hdf5(folder: Path) -> Any:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("samples", data=X, chunks=(101, 7))
        file.create_dataset("kinds", data=np.arange(N))
    return open_source(folder / "x.h5")


def hdf5_dataset(folder: Path) -> Any:
    h5py = pytest.importorskip("h5py")
    hdf5(folder)
    return h5py.File(folder / "x.h5")["samples"]


def write_parquet(folder: Path, more: dict[str, Any] | None = None) -> Path:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (folder / "x").mkdir()
    for number, start in enumerate(range(0, N, 600)):
        rows = slice(start, min(start + 600, N))
        columns = {f"f{j}": X[rows, j] for j in range(M)}
        columns |= {name: values[rows] for name, values in (more or {}).items()}
        path = folder / "x" / f"{number}.parquet"
        parquet.write_table(arrow.table(columns), path, row_group_size=111)
    return folder / "x"


def parquet_folder(folder: Path) -> Any:
    return open_source(write_parquet(folder))


def own(folder: Path) -> Any:
    return Counted(X)


SOURCES = (
    npy, npy_by_columns, mapped, rows_of_mapped, zarr_folder, zarr_array, hdf5, hdf5_dataset,
    parquet_folder, own,
)  # fmt: skip


@pytest.mark.parametrize("make", SOURCES)
def test_every_source_gives_the_fit_of_the_array(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    source = make(tmp_path)
    there = SemiNMF(K).fit(X)
    whole = SemiNMF(K, max_memory=AMPLE).fit(ArraySource(X))
    parts = scant(SemiNMF(K), source).fit(source)
    np.testing.assert_array_equal(parts.codes_, whole.codes_)
    np.testing.assert_array_equal(parts.components_, whole.components_)
    np.testing.assert_array_equal(parts.residuals_, whole.residuals_)
    assert parts.objective_history_.tolist() == whole.objective_history_.tolist()
    np.testing.assert_allclose(parts.codes_, there.codes_, atol=1e-8)
    assert parts.n_iter_ == there.n_iter_
    np.testing.assert_allclose(parts.transform(source), there.transform(X), atol=1e-8)


@pytest.mark.parametrize("table", [X, SPARSE])
def test_samples_of_a_source_among_those_of_a_graph(table: Any) -> None:
    """They ended in a TypeError."""
    source = source_of(table)
    half = table[: N // 2]
    model = FactorKMeans(L21SemiNMF(K, max_iter=5, tol=0), random_state=0).fit(half)
    known = model.factorizer_.set_params(max_memory=least(SemiNMF(K), source))
    assert windows(source, int(float(known.max_memory[:-2]) * 1000), 1) > 1
    codes = known.transform(source)
    np.testing.assert_array_equal(codes, known.set_params(max_memory=AMPLE).transform(source))
    # BLAS has other last digits for other numbers of rows.
    np.testing.assert_allclose(codes, known.transform(table), atol=1e-12)
    np.testing.assert_array_equal(model.predict(source), model.predict(table))
    weights = np.arange(N) % 3.0
    some = [
        L21SemiNMF(K, graph=knn_graph(table, 5), max_iter=5, tol=0, random_state=0)
        .fit(rows, sample_weight=weights)
        for rows in (table, source)
    ]  # fmt: skip
    assert some[1].objective_ == pytest.approx(some[0].objective_, rel=1e-2)
    assert np.isfinite(some[1].codes_).all()


@pytest.mark.parametrize("table", [X, SPARSE])
def test_parts_of_a_source_are_cut_in_the_same_places_whatever_the_memory(table: Any) -> None:
    """They were as many rows as there was memory for, and codes had other last digits with it."""
    source = source_of(table)
    memory = int(float(least(SemiNMF(1), source)[:-2]) * 1000)
    assert windows(source, memory, 1) > windows(source, None, 1) == 1
    parts = [[part.copy() for part in Stream(source, most).chunks()] for most in (memory, None)]
    assert len(parts[0]) > 2
    assert [part.shape for part in parts[0]] == [part.shape for part in parts[1]]
    for some in parts:
        dense = [part.toarray() if sp.issparse(part) else part for part in some]
        np.testing.assert_array_equal(
            np.vstack(dense), table.toarray() if sp.issparse(table) else table
        )


@pytest.mark.parametrize("make", SOURCES)
def test_any_rows_of_a_source(make: Callable[[Path], Any], tmp_path: Path) -> None:
    source = open_source(make(tmp_path))
    for start, stop in ((0, N), (1, 2), (130, 700), (N - 3, N)):
        np.testing.assert_array_equal(source.read(start, stop), X[start:stop])


@pytest.mark.parametrize("place", [0, N // 2, N - 1])
def test_the_range_of_all_rows(place: int) -> None:
    table = X.copy()
    table[place, 1], table[place, 2] = -1e3, 1e3
    most = int(float(least(SemiNMF(K), ArraySource(table))[:-2]) * 1000)
    survey = Stream(ArraySource(table), most).survey
    assert (survey.low, survey.high) == (-1e3, 1e3)


def test_there_are_windows() -> None:
    """What the other tests are about: little memory holds some of the rows only."""
    few = least(SemiNMF(K), ArraySource(X))
    assert windows(ArraySource(X), int(float(few[:-2]) * 1000)) == 12
    assert windows(ArraySource(X), 10**9) == 1
    assert windows(ArraySource(X), None) == 1


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize(
    "model",
    [NMF(K), L21SemiNMF(K, alpha=0, beta=0), L21SemiNMF(K, strength=1e-3, graph=knn_graph(X, 5))],
)
def test_models(model: Any, solver: str) -> None:
    samples = abs(X)
    model.set_params(solver=solver, max_iter=25, tol=0)
    there = model.set_params(max_memory=None).fit(samples)
    wanted, codes = there.objective_, there.codes_
    whole = model.set_params(max_memory=AMPLE).fit(ArraySource(samples)).codes_
    parts = scant(model, ArraySource(samples)).fit(ArraySource(samples))
    np.testing.assert_array_equal(parts.codes_, whole)
    assert (np.diff(parts.objective_history_) <= 1e-9 * wanted).all()
    if getattr(model, "alpha_", 0) > 0 and solver == "cd":
        # Neighbours of other chunks are seen at other times.
        assert parts.objective_ == pytest.approx(wanted, rel=1e-3)
    else:
        np.testing.assert_allclose(parts.codes_, codes, atol=1e-8)


def test_few_samples_with_many_features() -> None:
    """In memory they would be compressed, which takes all of them."""
    wide = cone(60, 700, K, seed=1)
    there = SemiNMF(K, tol=1e-9, max_iter=500).fit(wide)
    parts = SemiNMF(K, tol=1e-9, max_iter=500, random_state=0).fit(ArraySource(wide))
    assert parts.objective_ == pytest.approx(there.objective_, rel=1e-5)


@pytest.mark.parametrize("init", ["svd", "random", "exemplar"])
def test_starts(init: str) -> None:
    model = L21SemiNMF(K, alpha=0, beta=0, init=init, random_state=1, max_iter=5, tol=0)
    there = model.fit(X).codes_
    parts = scant(model, ArraySource(X)).fit(ArraySource(X)).codes_
    np.testing.assert_allclose(parts, there, atol=1e-8)


def test_neighbours_are_looked_for_in_leading_directions() -> None:
    wide = data(900, 80, seed=2)
    # Beyond a plateau on which J falls by less than the usual tol: where a source is cut into
    # chunks, samples are not renumbered, and the two take different ways.
    given: dict[str, Any] = {"strength": 1e-3, "tol": 1e-6, "max_iter": 2000}
    model = L21SemiNMF(4, max_memory="20MB", **given).fit(ArraySource(wide))
    exact = L21SemiNMF(4, **given).fit(wide)
    assert model.converged_
    assert model.alpha_ == pytest.approx(exact.alpha_)
    assert model.objective_ == pytest.approx(exact.objective_, rel=0.02)
    # Some samples are kept, and new ones are tied to those.
    kept = model._projector.landmarks(10_000)
    assert not model._projector.index.whole
    assert len(kept) == 500
    assert np.median(np.abs(model.transform(wide) - model.codes_)) < 0.1 * model.codes_.mean()


def test_single_precision() -> None:
    single = X.astype(np.float32)
    parts = scant(SemiNMF(K), ArraySource(single)).fit(ArraySource(single))
    assert parts.codes_.dtype == np.float32
    assert parts.objective_ == pytest.approx(SemiNMF(K).fit(single).objective_, rel=1e-5)


def test_other_numbers_are_converted() -> None:
    whole = np.round(3 * X).astype(np.int16)
    parts = scant(SemiNMF(K), ArraySource(whole)).fit(ArraySource(whole))
    there = SemiNMF(K).fit(whole)
    np.testing.assert_allclose(parts.codes_, there.codes_, atol=1e-8)
    swapped = X.astype(">f8")
    np.testing.assert_array_equal(
        SemiNMF(K, max_memory="400kB").fit(ArraySource(swapped)).codes_,
        SemiNMF(K, max_memory="400kB").fit(ArraySource(X)).codes_,
    )


# --- sparse rows ----------------------------------------------------------------------------------


def write_h5ad(path: Path, matrix: Any) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        if sp.issparse(matrix):
            group = file.create_group("X")
            group.attrs.update({"encoding-type": "csr_matrix", "shape": matrix.shape})
            for name in ("data", "indices", "indptr"):
                group.create_dataset(name, data=getattr(matrix, name))
        else:
            file.create_dataset("X", data=matrix)
        var = file.create_group("var")
        var.attrs["_index"] = "gene"
        var.create_dataset("gene", data=[f"g{j}".encode() for j in range(matrix.shape[1])])
    return path


@pytest.mark.parametrize("penalised", [False, True])
def test_backed_h5ad(tmp_path: Path, penalised: bool) -> None:
    source = open_source(write_h5ad(tmp_path / "x.h5ad", SPARSE))
    graph = {"graph": knn_graph(SPARSE.toarray(), 5)} if penalised else {"alpha": 0, "beta": 0}
    model = L21SemiNMF(K, max_iter=15, tol=0, **graph)
    there = model.fit(SPARSE)
    wanted, codes = there.objective_, there.codes_
    whole = model.set_params(max_memory=AMPLE).fit(source).codes_
    parts = scant(model, source).fit(source)
    assert penalised or windows(source, int(float(parts.max_memory[:-2]) * 1000)) > 1
    np.testing.assert_array_equal(parts.codes_, whole)
    assert parts.objective_ == pytest.approx(wanted, rel=1e-3 if penalised else 1e-10)
    if not penalised:
        np.testing.assert_allclose(parts.codes_, codes, atol=1e-8)
        np.testing.assert_allclose(parts.transform(source), codes, atol=1e-8)
    assert list(parts.feature_names_in_) == [f"g{j}" for j in range(M)]


def test_backed_h5ad_of_anndata(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    names = [pandas.Index([f"{i}" for i in range(count)], dtype=object) for count in (N, M)]
    frames = [pandas.DataFrame(index=index) for index in names]
    for matrix in (sp.csr_matrix(SPARSE), X):
        anndata.AnnData(matrix, *frames).write_h5ad(tmp_path / "a.h5ad")
        backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
        parts = SemiNMF(K, max_memory="1MB").fit(backed.X)
        there = SemiNMF(K).fit(SPARSE if sp.issparse(matrix) else X)
        np.testing.assert_allclose(parts.codes_, there.codes_, atol=1e-8)
        backed.file.close()


# --- reading --------------------------------------------------------------------------------------


def test_each_row_is_read_once_per_iteration() -> None:
    def rows_read(iterations: int) -> int:
        source = Counted(X)
        model = L21SemiNMF(K, alpha=0, beta=0, solver="mu", init="random", random_state=0)
        model.set_params(max_iter=iterations, tol=0, max_memory="400kB").fit(source)
        return source.rows

    assert rows_read(9) - rows_read(4) == 5 * N


def test_what_fits_is_read_once(tmp_path: Path) -> None:
    source = Counted(X)
    SemiNMF(K, max_memory=AMPLE).fit(source)
    # For the first look and for the fit.
    assert source.rows == 2 * N


def test_stored_blocks_are_read_as_they_are() -> None:
    class Stored(Counted):
        bounds = np.append(np.arange(0, N, 50), N)

        def read(self, start: int, stop: int) -> Any:
            assert {start, stop} <= set(self.bounds.tolist())
            return super().read(start, stop)

    source = Stored(X)
    parts = SemiNMF(K, max_memory="400kB", init="random", random_state=0).fit(source)
    passes = source.rows / N
    assert passes == pytest.approx(round(passes), abs=0.5)
    np.testing.assert_array_equal(
        parts.codes_,
        SemiNMF(K, max_memory=AMPLE, init="random", random_state=0).fit(Counted(X)).codes_,
    )


def test_weights() -> None:
    share = np.random.default_rng(0).integers(0, 3, N).astype(float)
    for table in (X, SPARSE):
        parts = SemiNMF(K, max_memory="400kB").fit(_wrapped(table), sample_weight=share)
        there = SemiNMF(K).fit(table, sample_weight=share)
        np.testing.assert_allclose(parts.codes_, there.codes_, atol=1e-7)
        np.testing.assert_allclose(parts.residuals_, there.residuals_, atol=1e-7)


def _wrapped(table: Any) -> Any:
    if sp.issparse(table):
        return MatrixSource((table.data, table.indices, table.indptr), table.shape)
    return ArraySource(table)


def test_selected_rows() -> None:
    numbers = np.array([0, 1, 2, 4, 9, 10, 700])
    for table in (X, SPARSE):
        found = SelectedRows(_wrapped(table), numbers).read(1, 7)
        found = found.toarray() if sp.issparse(found) else found
        wanted = table[numbers[1:7]]
        np.testing.assert_array_equal(found, wanted.toarray() if sp.issparse(wanted) else wanted)


# --- other estimators -----------------------------------------------------------------------------


def test_clusters() -> None:
    model = FactorKMeans(SemiNMF(K, max_memory="400kB"), random_state=0).fit(ArraySource(X))
    there = FactorKMeans(SemiNMF(K), random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, there.labels_)
    np.testing.assert_array_equal(model.predict(ArraySource(X)), model.labels_)
    tied = FactorKMeans(L21SemiNMF(K, graph="auto"), random_state=0).fit(ArraySource(X))
    assert tied.refinement_ == "none"
    assert (tied.predict(X) == tied.labels_).mean() > 0.8


def test_a_model_of_a_source_is_saved(tmp_path: Path) -> None:
    model = L21SemiNMF(K, graph="auto", max_memory="3MB").fit(ArraySource(X))
    model.save(tmp_path / "m.seminmf")
    again = load(tmp_path / "m.seminmf")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.max_memory == "3MB"
    assert (tmp_path / "m.seminmf").stat().st_size < 0.7 * X.nbytes


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "size"), [("2GB", 2 * 10**9), ("1.5 MiB", 3 * 2**19), ("7e0", None), (5, 5)]
)
def test_sizes(value: Any, size: int | None) -> None:
    from seminmf.models.validation import check_memory

    if size is None:
        with pytest.raises(ValueError, match="max_memory must be None, a number of bytes"):
            check_memory(value)
    else:
        assert check_memory(value) == size


@pytest.mark.parametrize("value", ["", "GB", "1.2.3MB", "2 lots", -1, 0, True, 1e30, [3]])
def test_no_sizes(value: Any) -> None:
    with pytest.raises(ValueError, match=r"max_memory must be .* got"):
        SemiNMF(2, max_memory=value).fit(X)


def test_too_little_memory() -> None:
    with pytest.raises(ValueError, match="max_memory=20kB is too little for 1,503 × 24") as error:
        SemiNMF(K, max_memory="20kB").fit(Counted(X))
    enough = str(error.value).split('max_memory="')[1].split('"')[0]
    SemiNMF(K, max_memory=enough).fit(Counted(X))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_missing_numbers(bad: float, sparse: bool) -> None:
    holed = X.copy()
    holed[1_000, 5] = bad
    table = sp.csr_array(holed) if sparse else holed
    message = rf"contains {bad} in row 1000, column 5, counted from 0; the first of 1 such"
    with pytest.raises(ValueError, match=message):
        SemiNMF(K, max_memory="1MB").fit(_wrapped(table))
    fitted = SemiNMF(K).fit(X)
    with pytest.raises(ValueError, match=message):
        fitted.transform(_wrapped(table))


def test_missing_numbers_of_named_columns(tmp_path: Path) -> None:
    write_parquet(tmp_path, {"g": np.where(np.arange(N) == 900, np.nan, 1.0)})
    with pytest.raises(ValueError, match=r"nan in row 900, column 24 \('g'\)"):
        SemiNMF(K).fit(open_source(tmp_path / "x"))


class Shrinking(Counted):
    """Fewer rows, or other ones, after a while."""

    def __init__(self, array: Any, how: str) -> None:
        super().__init__(array)
        self.how = how

    def read(self, start: int, stop: int) -> Any:
        rows = super().read(start, stop)
        if self.rows > 3 * N and self.how == "shape":
            self.shape = (N - 10, M)
        if self.rows > 3 * N and self.how == "rows":
            return rows[:-1]
        if self.how == "complex":
            return rows + 0j
        return sp.csr_array(rows) if self.how == "kind" else rows


@pytest.mark.parametrize(
    ("how", "told"),
    [("shape", "its shape was"), ("rows", "and are ndarray"), ("kind", "and are csr_array of"),
     ("complex", "of real numbers, .* and are ndarray of complex128")],
)  # fmt: skip
def test_sources_that_change(how: str, told: str) -> None:
    with pytest.raises(ValueError, match=f"X has changed while it was in use.*{told}"):
        SemiNMF(K, max_memory="400kB").fit(Shrinking(X, how))


@pytest.mark.parametrize("column", [M, -1, 2**30])
def test_columns_of_sparse_rows_that_point_outside(column: int) -> None:
    """Compiled code read and wrote there, which ended the interpreter."""
    indices = SPARSE.indices.copy()
    indices[-1] = column
    source = MatrixSource((SPARSE.data, indices, SPARSE.indptr), SPARSE.shape)
    model = SemiNMF(K, random_state=0)
    with pytest.raises(ValueError, match="X is a damaged sparse matrix: its indices point outside"):
        model.fit(source)
    with pytest.raises(ValueError, match="X is a damaged sparse matrix: its indices point outside"):
        model.fit(SPARSE).transform(source)


def test_columns_are_no_rows() -> None:
    class Columns(Counted):
        indptr = SPARSE.indptr

        def read(self, start: int, stop: int) -> Any:
            return self.array[start:stop].tocsc()

    with pytest.raises(ValueError, match=r"should be CSR .* and are csc_array of float64"):
        SemiNMF(K).fit(Columns(SPARSE))


@pytest.mark.parametrize("array", [X.tolist(), SPARSE])
def test_what_is_no_array_is_no_source_of_one(array: Any) -> None:
    with pytest.raises(ValueError, match=r"X is a \w+, and not an array of NumPy, Zarr or HDF5"):
        ArraySource(array)


def test_a_file_that_becomes_shorter(tmp_path: Path) -> None:
    path = as_npy(tmp_path)

    def cut(progress: Any) -> None:
        with path.open("r+b") as stream:
            stream.truncate(path.stat().st_size // 2)

    model = SemiNMF(K, max_memory="400kB", init="random", random_state=0, callback=cut)
    with pytest.raises(ValueError, match=r"changed while it was in use|has become shorter"):
        model.fit(open_source(path))


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_a_file_that_has_become_shorter_are_gone(order: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    with path.open("wb") as stream:
        np.save(stream, np.asarray(X, order=order))
    source = open_source(path)
    assert source.shape == X.shape
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size - X.nbytes // 2)
    assert source.shape == (N // 2, M)


def test_blocks_begin_where_stored_blocks_do(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(70, 3))
    assert open_source(tmp_path / "x.h5").bounds.tolist() == [*range(0, N, 70), N]


def test_an_error_of_the_source_is_told() -> None:
    class Broken(Counted):
        def read(self, start: int, stop: int) -> Any:
            if self.rows > 2 * N:
                raise OSError("the disk is gone")
            return super().read(start, stop)

    with pytest.raises(OSError, match="the disk is gone"):
        SemiNMF(K, max_memory="400kB").fit(Broken(X))


def test_dimensions_and_kinds_of_numbers(tmp_path: Path) -> None:
    for table, message in (
        (np.zeros(5), r"1 dimension, shape \(5,\); two are needed"),
        (np.zeros((2, 3, 4)), "3 dimensions"),
        (np.zeros((5, 2), complex), "values of type complex128; real numbers"),
        (np.array([["a", "b"]] * 3), "values of type <U1; real numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            open_source(as_npy(tmp_path, table))
        if table.ndim != 2:
            with pytest.raises(ValueError, match=message):
                SemiNMF(1).fit(Counted(table))
    with pytest.raises(ValueError, match="1 sample and 24 features; at least 2"):
        SemiNMF(1).fit(Counted(X[:1]))


def test_other_features(tmp_path: Path) -> None:
    model = SemiNMF(K).fit(open_source(write_parquet(tmp_path)))
    assert list(model.feature_names_in_)[:2] == ["f0", "f1"]
    with pytest.raises(ValueError, match="X has 23 features, but SemiNMF is expecting 24"):
        model.transform(ArraySource(X[:, 1:]))
    other = ParquetSource(tmp_path / "x", [f"f{j}" for j in reversed(range(M))])
    with pytest.raises(ValueError, match="column 0 is 'f23', and was 'f0'"):
        model.transform(other)
    assert not hasattr(model.fit(ArraySource(X)), "feature_names_in_")


def test_what_needs_all_samples_is_refused() -> None:
    with pytest.raises(ValueError, match='init="kmeans" needs all samples in memory'):
        SemiNMF(K, init="kmeans").fit(ArraySource(X))
    with pytest.raises(ValueError, match=r"graph='knn' needs all samples .*graph=\"auto\""):
        L21SemiNMF(K, graph="knn").fit(ArraySource(X))
    with pytest.raises(ValueError, match="Standardized needs all samples"):
        Standardized(SemiNMF(K)).fit(ArraySource(X))
    with pytest.raises(ValueError, match="max_memory=200kB is too little"):
        L21SemiNMF(K, graph="auto", max_memory="200kB").fit(ArraySource(X))


def test_mapped_arrays_that_are_no_file(tmp_path: Path) -> None:
    path = as_npy(tmp_path)
    for array in (np.load(path, mmap_mode="r")[:, ::2], np.load(path, mmap_mode="c")):
        with pytest.raises(ValueError, match="a mapped array can be read within max_memory where"):
            SemiNMF(K, max_memory=AMPLE).fit(array)
        assert SemiNMF(K).fit(array).converged_


def test_paths(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        open_source(tmp_path / "none.npy")
    (tmp_path / "x.csv").write_text("1,2\n")
    with pytest.raises(ValueError, match=r"unknown kind of file; known are.*without max_memory"):
        open_source(tmp_path / "x.csv")
    with pytest.raises(ValueError, match="is a folder without files"):
        open_source(tmp_path)
    for kind, called in (("npy", "an NPY"), ("h5", "an HDF5"), ("parquet", "a Parquet")):
        path = tmp_path / f"x.{kind}"
        path.write_bytes(b"nothing at all, or nearly")
        with pytest.raises(ValueError, match=f"is not {called} file"):
            open_source(path)
    with (tmp_path / "z.npy").open("wb") as stream:
        np.savez(stream, X)
    with pytest.raises(ValueError, match="is an NPZ archive"):
        open_source(tmp_path / "z.npy")
    assert isinstance(open_source(ArraySource(X)), Source)
    assert isinstance(open_source(as_npy(tmp_path)), FileSource)


def test_files_with_several_tables(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"], file["y"] = X, X[:10], np.arange(3)
        file.create_group("g")
    path = tmp_path / "x.h5"
    with pytest.raises(ValueError, match="has 2 tables; say which with key: 'a', 'b'"):
        open_source(path)
    assert open_source(path, key="b").shape == (10, M)
    with pytest.raises(ValueError, match="has no 'c'; it has 'a', 'b', 'g', 'y'"):
        open_source(path, key="c")
    with pytest.raises(ValueError, match=r"\['y'\] has 1 dimension"):
        open_source(path, key="y")
    with pytest.raises(ValueError, match=r"\['g'\] is no table of numbers"):
        open_source(path, key="g")
    zarr_folder(tmp_path)
    with pytest.raises(ValueError, match="is one array: leave key='a' out"):
        open_source(tmp_path / "x.zarr", key="a")


def test_parquet_columns(tmp_path: Path) -> None:
    path = write_parquet(tmp_path, {"name": np.array(["a"] * N)})
    with pytest.raises(ValueError, match="column 'name' has values of type string; name the"):
        open_source(path)
    source = ParquetSource(path, ["f3", "f1"])
    np.testing.assert_array_equal(source.read(100, 900), X[100:900, [3, 1]])
    with pytest.raises(ValueError, match="has no column 'g'"):
        ParquetSource(path, ["g"])
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"f0": [1.0]}), path / "9.parquet")
    with pytest.raises(ValueError, match=r"9\.parquet has other columns, or other types, than"):
        open_source(path)


def test_damaged_rows_of_a_sparse_matrix() -> None:
    for indptr in (SPARSE.indptr[:-1], SPARSE.indptr[::-1], SPARSE.indptr + 1):
        with pytest.raises(ValueError, match="damaged: its rows do not fit"):
            MatrixSource((SPARSE.data, SPARSE.indices, indptr), SPARSE.shape)


# --- the command line -----------------------------------------------------------------------------


def command(*words: Any) -> Any:
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from seminmf import cli

    return CliRunner().invoke(cli.app, [str(word) for word in words])


def test_commands_take_tables_in_parts(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    write_parquet(tmp_path, {"name": np.array(["a"] * N)})
    hdf5(tmp_path)
    zarr_folder(tmp_path)
    wanted = FactorKMeans(SemiNMF(K, random_state=0), random_state=0).fit(X)
    for name, more in (("x", ()), ("x.zarr", ()), ("x.h5", ("--key", "samples"))):
        out = tmp_path / f"{name}-fit"
        found = command("fit", tmp_path / name, "-k", K, "-m", "semi", *more, "--out", out)
        assert found.exit_code == 0, found.output
        assert "Opened" in found.output
        assert "There is no report" in found.output
        assert ("'name': it has values of type string" in found.output) == (name == "x")
        codes = pandas.read_parquet(out / "codes.parquet")
        parts = codes[[f"part_{q}" for q in range(K)]].to_numpy()
        np.testing.assert_allclose(parts, wanted.factorizer_.codes_, atol=1e-8)
        again = tmp_path / f"{name}.again.parquet"
        found = command("cluster", out, tmp_path / name, *more, "--out", again)
        assert found.exit_code == 0, found.output
        clusters = pandas.read_parquet(again)
        np.testing.assert_array_equal(clusters["cluster"], wanted.labels_)
        assert "outlier_score" not in clusters
        assert "No outlier scores" in found.output
        assert command("report", out).exit_code == 2


def test_commands_refuse_what_needs_all_samples(tmp_path: Path) -> None:
    path, out = as_npy(tmp_path), tmp_path / "out"
    for words, message in (
        (
            ("--max-memory", "1GB", "--id", "sample"),
            "--id is not for tables that are read in parts",
        ),
        (("--max-memory", "1GB", "--fill", "median"), "--drop-missing and --fill is not for"),
        (("--max-memory", "1GB", "--standardize", "scale"), "Standardized needs all samples"),
        (("--max-memory", "20kB", "-m", "semi"), "max_memory=20kB is too little"),
        (("--max-memory", "much", "-m", "semi"), "max_memory must be None"),
    ):
        found = command("fit", path, "-k", K, *words, "--out", out)
        assert found.exit_code == 2
        assert message in " ".join(found.output.split())
        assert not out.exists()
    (tmp_path / "x.csv").write_text("1,2\n")
    found = command("fit", tmp_path / "x.csv", "-k", K, "--max-memory", "1GB", "--out", out)
    assert "unknown kind of file" in " ".join(found.output.split())


# --- memory ---------------------------------------------------------------------------------------

PEAK = """
import sys
import numpy as np
from seminmf import L21SemiNMF
from seminmf.sources import open_source

def status(name):
    with open("/proc/self/status") as lines:
        return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024

path, most = sys.argv[1], int(sys.argv[2])
model = L21SemiNMF(6, alpha=0, beta=0, max_iter=6, tol=0, max_memory=most)
np.save(path + "small.npy", np.random.default_rng(0).normal(size=(3000, 300)))
model.fit(open_source(path + "small.npy"))
before = status("VmRSS")
model.fit(open_source(path))
print((status("VmHWM") - before) / most)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_memory(tmp_path: Path) -> None:
    path, rows = tmp_path / "large.npy", 125_000
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(rows, 300))
    block = cone(2_500, 300, 6)
    for start in range(0, rows, len(block)):
        table[start : start + len(block)] = block
    del table
    words = [sys.executable, "-c", PEAK, str(path), str(10**8)]
    found = subprocess.run(words, check=True, capture_output=True, text=True)
    assert float(found.stdout) <= 1.2
