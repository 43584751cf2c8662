"""fit, transform, cluster and report on real files, as a user meets them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from rich.console import Console
from typer.testing import CliRunner

import seminmf
from helpers import Array
from seminmf import cli
from seminmf.cli import _watch, applying
from seminmf.cli._talk import Talk, plain
from seminmf.datasets import add_outliers, make_waveform
from seminmf.io import read_table
from seminmf.models.persistence import load_with_notes

pd = pytest.importorskip("pandas")
h5py = pytest.importorskip("h5py")

runner = CliRunner()
N, M, K = 80, 21, 4


def waves() -> tuple[Array, list[str]]:
    X, kinds = make_waveform(N, random_state=0)
    return add_outliers(X, 0.1, random_state=0)[0], [f"kind {kind}" for kind in kinds]


def write(path: Path, X: Array | None = None) -> Path:
    """The signals in the format that the name stands for."""
    samples, kinds = waves()
    X = samples if X is None else X
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(X.shape[1])])
    frame.insert(0, "sample", [f"s{i}" for i in range(len(X))])
    frame["kind"] = (kinds * 2)[: len(X)]
    name = path.name
    if name.endswith((".csv", ".csv.gz")):
        frame.to_csv(path, index=False)
    elif name.endswith(".tsv"):
        frame.to_csv(path, index=False, sep="\t")
    elif name.endswith(".parquet"):
        frame.to_parquet(path)
    elif name.endswith(".npy"):
        np.save(path, X)
    elif name == "sparse.npz":
        sp.save_npz(path, sp.csr_array(X))
    elif name.endswith(".npz"):
        np.savez(path, X=X, kind=frame["kind"].to_numpy(dtype=str))
    elif name.endswith((".mtx", ".mtx.gz")):
        with gzip.open(path, "wb") if name.endswith(".gz") else path.open("wb") as stream:
            scipy.io.mmwrite(stream, sp.coo_array(X), precision=17)
    else:
        with h5py.File(path, "w") as file:
            file["X"] = X
            for what, names in (("obs", frame["sample"]), ("var", frame.columns[1:-1])):
                group = file.create_group(what)
                group.attrs["_index"] = "_index"
                group.create_dataset("_index", data=list(names), dtype=h5py.string_dtype())
            kinds_of = file["obs"]
            kinds_of.create_dataset("kind", data=list(frame["kind"]), dtype=h5py.string_dtype())
    return path


def invoke(*words: object, code: int = 0, **options: Any) -> Any:
    result = runner.invoke(cli.app, [str(word) for word in words], **options)
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result


def refused(*words: object, code: int = 2) -> str:
    """The one line of an error."""
    result = invoke(*words, code=code)
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in result.output
    return str(lines[0])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "signals.csv")


@pytest.fixture(scope="module")
def fitted(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fit") / "result"
    invoke("fit", table, "-k", K, "--labels", "kind", "--id", "sample", "--out", out, "-q")
    return out


# Every format, there and back.

SUFFIXES = {
    "t.csv": ".csv", "t.csv.gz": ".csv.gz", "t.tsv": ".tsv", "t.parquet": ".parquet",
    "t.npy": ".npy", "dense.npz": ".npy", "sparse.npz": ".npy", "t.mtx": ".csv",
    "t.mtx.gz": ".csv", "t.h5ad": ".csv",
}  # fmt: skip


@pytest.mark.parametrize("name", SUFFIXES)
def test_fit_transform_and_cluster_in_every_format(name: str, tmp_path: Path) -> None:
    data, out = write(tmp_path / name), tmp_path / "result"
    named = name.endswith((".csv", ".csv.gz", ".tsv", ".parquet"))
    options = ["--id", "sample", "--labels", "kind"] if named else []
    said = invoke("fit", data, "-k", K, "--out", out, *options).output
    assert f"{N} rows, {M} " in said
    assert said.splitlines()[-1] == f"Report: {out / 'report.html'}"
    suffix = SUFFIXES[name]
    written = {file.name for file in out.iterdir()}
    assert written == {
        "model.seminmf", "report.html", "run.json",
        *(what + suffix for what in ("codes", "basis", "clusters", "outliers")),
    } or (name == "t.h5ad" and len(written) == 7)  # fmt: skip
    model = seminmf.load(out / "model.seminmf")
    ids = {"id": "sample"} if named else {"id": "id"} if name == "t.h5ad" else {}
    codes = read_table(out / f"codes{suffix}", **ids)
    expected = model.factorizer_.codes_
    assert codes.X[:, -K:].tolist() == expected.tolist()  # to the last bit, also through text
    again = tmp_path / f"again{'.npy' if suffix == '.npy' else '.csv'}"
    invoke("transform", out, data, "--out", again, *options[:2])
    assert read_table(again, **ids).X[:, -K:].tolist() == expected.tolist()
    invoke("cluster", out, data, "--out", tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as columns:
        assert columns["cluster"].tolist() == model.labels_.tolist()
        samples = read_table(data, **({"id": "sample"} if named else {})).X[:, -M:]
        assert np.allclose(columns["outlier_score"], model.outlier_scores(samples))
    page = (out / "report.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")


def read_exactly(path: Path, **options: Any) -> Any:
    """Later versions of pandas always do, and warn of the option."""
    if int(pd.__version__.split(".")[0]) < 3:
        options["float_precision"] = "round_trip"
    return pd.read_csv(path, **options)


def test_what_a_fit_leaves(fitted: Path, table: Path) -> None:
    run = json.loads((fitted / "run.json").read_text("utf-8"))
    assert run["data"]["rows"] == N
    assert run["data"]["path"] == str(table)
    assert run["options"]["components"] == K
    assert run["outcome"]["interrupted"] is False
    assert sum(run["outcome"]["cluster_sizes"]) == N
    assert set(run["files"].values()) == {f.name for f in fitted.iterdir()} - {"run.json"}
    model, notes = load_with_notes(fitted / "model.seminmf")
    assert notes["feature_names"] == [f"t{i}" for i in range(M)]
    assert (notes["id"], notes["labels"]) == ("sample", "kind")
    outliers = pd.read_csv(fitted / "outliers.csv")
    exact = read_exactly(table)
    X = exact[[f"t{i}" for i in range(M)]].to_numpy()
    np.testing.assert_allclose(outliers["outlier_score"], model.outlier_scores(X), rtol=1e-12)
    assert outliers.sort_values("outlier_score", ascending=False)["rank"].tolist() == list(
        range(1, N + 1)
    )
    basis = read_exactly(fitted / "basis.csv", index_col="feature")
    assert basis.to_numpy().T.tolist() == model.factorizer_.components_.tolist()
    page = (fitted / "report.html").read_text("utf-8")
    assert "kind 1" in page
    assert "s17" in page


def test_what_was_read_is_told(tmp_path: Path) -> None:
    data = tmp_path / "t.csv"
    frame = pd.read_csv(write(tmp_path / "s.csv"))
    frame["when"] = "2020-01-01"
    frame.loc[3, "t0"] = None
    frame.to_csv(data, index=False)
    said = invoke(
        "fit", data, "-k", K, "--drop-missing", "--out", tmp_path / "a", env={"COLUMNS": "300"}
    ).output
    assert f"Read {data}: {N - 1} rows, {M} numeric columns." in said
    assert "Left out 1 row with missing values." in said
    assert "Columns not used: 'sample': it has text; 'kind': it has text; 'when': it has te" in said
    assert pd.read_csv(tmp_path / "a" / "codes.csv")["row"].tolist()[2:4] == [3, 5]
    filled = invoke("fit", data, "-k", K, "--fill", "median", "--out", tmp_path / "b").output
    assert "Filled 1 missing value with the median of the column." in filled
    np.save(tmp_path / "t.npy", np.where(np.arange(N)[:, None] == 3, np.nan, waves()[0]))
    invoke("fit", tmp_path / "t.npy", "-k", K, "--drop-missing", "--out", tmp_path / "c")
    assert np.load(tmp_path / "c" / "rows.npy").tolist()[2:4] == [3, 5]


@pytest.mark.parametrize("how", ["center", "scale", "robust"])
def test_standardization_goes_with_the_model(how: str, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    invoke("fit", table, "-k", K, "--standardize", how, "--out", out, "-q")
    invoke("transform", out, table, "--out", tmp_path / "codes.npy")
    model = seminmf.load(out / "model.seminmf")
    assert model.how == how
    assert np.array_equal(np.load(tmp_path / "codes.npy"), model.model_.factorizer_.codes_)
    assert invoke("report", out).output.strip() == f"Report: {out / 'report.html'}"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--model", "graph", "--strength", "0.001"], "GraphSemiNMF"),
        (["--model", "l21", "--alpha", "0.5", "--beta", "2.0"], "L21SemiNMF"),
        (["--model", "semi", "--solver", "mu", "--init", "random", "--n-init", "2"], "SemiNMF"),
    ],
)
@pytest.mark.parametrize("clusters", [None, 3])
def test_options_reach_the_model(
    options: list[str], name: str, clusters: int | None, table: Path, tmp_path: Path
) -> None:
    more = [] if clusters is None else ["--clusters", clusters]
    invoke("fit", table, "-k", K, *options, *more, "--tol", "0.01", "--seed", 7, "--out",
           tmp_path / "out", "-q")  # fmt: skip
    model = seminmf.load(tmp_path / "out" / "model.seminmf")
    factorizer = model.factorizer_
    assert type(factorizer).__name__ == name
    for option, value in zip(options[2::2], options[3::2], strict=True):
        assert str(getattr(factorizer, option[2:].replace("-", "_"))) == value
    assert factorizer.random_state == 7
    assert factorizer.tol == 0.01
    assert len(model.cluster_centers_) == (clusters or K)


def test_features_are_found_by_name(fitted: Path, tmp_path: Path) -> None:
    X, _ = waves()
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(M)])
    frame["extra"] = 1.0
    frame[sorted(frame.columns, reverse=True)].to_csv(tmp_path / "new.csv", index=False)
    invoke("transform", fitted, tmp_path / "new.csv", "--out", tmp_path / "c.npy")
    model = seminmf.load(fitted / "model.seminmf")
    assert np.array_equal(np.load(tmp_path / "c.npy"), model.factorizer_.codes_)
    frame.drop(columns="t3").to_csv(tmp_path / "new.csv", index=False)
    message = refused("transform", fitted, tmp_path / "new.csv")
    assert "does not have 1 of the 21 features of the model: 't3'" in message


def test_models_saved_in_python(table: Path, tmp_path: Path) -> None:
    X, _ = waves()
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(M)])
    model = seminmf.SemiNMF(K).fit(frame)
    model.save(tmp_path / "m.seminmf")
    invoke("transform", tmp_path / "m.seminmf", table, "--out", tmp_path / "c.npy")
    assert np.array_equal(np.load(tmp_path / "c.npy"), model.transform(frame))
    assert "SemiNMF without clusters" in refused("cluster", tmp_path / "m.seminmf", table)
    seminmf.SemiNMF(K).fit(X[:, :5]).save(tmp_path / "five")
    message = refused("transform", tmp_path / "five", table)
    assert "has 21 numeric columns, but the model has 5 features" in message


def test_cluster_in_three_ways(fitted: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.csv"
    said = invoke("cluster", table, "-k", K, "--labels", "kind", "--id", "sample", "-o", out).output
    assert "Against 'kind'" in said
    found = pd.read_csv(out)
    assert list(found.columns) == ["sample", "cluster", "outlier_score"]
    of_fit = pd.read_csv(fitted / "clusters.csv")
    assert found["cluster"].tolist() == of_fit["cluster"].tolist()
    invoke("cluster", fitted, "-o", out)  # its own samples
    assert pd.read_csv(out)["cluster"].tolist() == of_fit["cluster"].tolist()
    assert "needs the number of parts, as in -k 10" in refused("cluster", table)


def test_streams(fitted: Path, table: Path, tmp_path: Path) -> None:
    result = invoke("transform", fitted, "-", "--id", "sample", input=table.read_bytes())
    assert result.stdout == (fitted / "codes.csv").read_text("utf-8")
    assert "Read standard input" in result.stderr
    invoke("fit", "-", "-k", K, "--out", tmp_path / "out", input=table.read_bytes())
    assert "the fit read standard input" in refused("report", tmp_path / "out")
    invoke("report", tmp_path / "out", "--data", table, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").is_file()


def test_json_is_alone_on_the_output(fitted: Path, table: Path, tmp_path: Path) -> None:
    result = invoke("fit", table, "-k", K, "--out", tmp_path / "o", "--json", "--max-iter", 3)
    found = json.loads(result.stdout)
    assert found["outcome"]["n_iter"] == 3
    (warning,) = found["warnings"]
    assert "still falls by more than tol" in warning
    assert result.stderr.strip() == f"Warning: {warning}"
    found = json.loads(invoke("transform", fitted, table, "--json").stdout)
    assert found["columns"] == ["row", "part_0", "part_1", "part_2", "part_3"]
    assert len(found["rows"]) == N
    found = json.loads(invoke("cluster", fitted, table, "--labels", "kind", "--json").stdout)
    assert 0 <= found["nmi"] <= 1
    result = invoke("fit", table, "-k", 10**6, "--out", tmp_path / "p", "--json", code=2)
    assert json.loads(result.stdout)["exit_code"] == 2
    assert json.loads(invoke("datasets", "list", "--json").stdout)["datasets"]
    assert json.loads(invoke("reproduce", "--list", "--json").stdout)["experiments"]


def test_quiet_says_nothing(table: Path, tmp_path: Path) -> None:
    result = invoke("fit", table, "-k", K, "--out", tmp_path / "o", "--quiet")
    assert result.output == ""


def test_images(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((30, 16))
    np.save(tmp_path / "t.npy", X)
    words = ("fit", tmp_path / "t.npy", "-k", 2, "--model", "nmf", "--out", tmp_path / "o")
    assert "has 20 pixels, but the table has 16" in refused(*words, "--image-shape", "4x5")
    assert "must be as in 16x16" in refused(*words, "--image-shape", "four")
    invoke(*words, "--image-shape", "4x4", "-q", "--tol", "0.01")
    assert 'as an image"' in (tmp_path / "o" / "report.html").read_text("utf-8")
    invoke("report", tmp_path / "o", "--title", "<b>Pictures</b>")
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "&lt;b&gt;Pictures" in page


# Mistakes.


def bad(tmp_path: Path, text: str) -> Path:
    (tmp_path / "bad.csv").write_text(text, "utf-8")
    return tmp_path / "bad.csv"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\nx,y\nz,w\n", [], "has no numeric column"),
        ("a,b\n1,\n2,3\n", [], "1 value is missing or infinite, in 'b' (row 1)"),
        ("i,a,b\nx,1,2\nx,2,3\n", ["--id", "i"], "more than once, as 'x' in rows 1, 2"),
        ("a;b\n1;2\n2;3\n", ["--delimiter", ","], "use --delimiter ';'"),
        ("a,b\n", [], "has a header but no rows"),
        ("", [], "is empty"),
        ("a,b\n1,2\n3\n4,5\n", [], "line 3 has 1 value, but there are 2 columns"),
        ("a,b\n1,2\n3,4\n", ["--labels", "B"], "did you mean 'b'?"),
        ("a,b\n1,2\n3,4\n", ["-k", "50"], "-k 50 is more than there are rows, 2"),
        ("a,b\n1,-2\n3,4\n", ["--model", "nmf"], "Use SemiNMF or L21SemiNMF"),
        ("a,b\n1,2\n3,4\n", ["--model", "semi", "--alpha", "1"], "leave out --alpha"),
        ("a,b\n1,2\n3,4\n", ["--strength", "1", "--beta", "1"], "leave out --beta"),
        ("a,b\n1,2\n3,4\n", ["--drop-missing", "--fill", "median"], "exclude each other"),
        ("a,b\n1,2\n3,4\n", ["--model", "other"], "'other' is not one of"),
        ("a,b\n1,2\n3,4\n", ["-k", "0"], "-k must be a number of parts of at least 1"),
        ("a,b\n1,2\n3,4\n5,7\n", ["-k", "2"], "--neighbors 5 is too many for 3 rows"),
        ("a,b\n1,2\n3,4\n", ["--clusters", "9"], "--clusters 9 is more than there are rows"),
        ("a,b\n1,2\n3,4\n", ["--colour"], "No such option: --colour"),
    ],
)  # fmt: skip
def test_bad_input(text: str, options: list[str], message: str, tmp_path: Path) -> None:
    line = refused("fit", bad(tmp_path, text), "-k", 1, "--out", tmp_path / "out", *options)
    assert message in line
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.csv"]  # nothing was left


def test_files_that_are_not_there(fitted: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "no such file" in refused("fit", tmp_path / "no.csv", "-k", 2, "--out", out)
    assert "is a folder" in refused("fit", tmp_path, "-k", 2, "--out", out)
    assert "no such model" in refused("transform", tmp_path / "no", table)
    assert "has no model.seminmf" in refused("transform", tmp_path, table)
    assert "not a model file" in refused("transform", table, table)
    assert "has no run.json" in refused("report", tmp_path)
    assert "is not a folder" in refused("report", table)
    nowhere = tmp_path / "nowhere" / "c.csv"
    assert "create it first" in refused("transform", fitted, table, "--out", nowhere)
    assert "unknown kind of file" in refused("transform", fitted, table, "--out", tmp_path / "x.y")
    assert list(tmp_path.iterdir()) == []


def test_where_a_fit_may_be_written(table: Path, tmp_path: Path) -> None:
    out, words = tmp_path / "out", ("fit", table, "-k", 2, "-q", "--tol", "0.01")
    out.mkdir()
    invoke(*words, "--out", out)  # an empty folder is fine
    assert "is not empty" in refused(*words, "--out", out)
    (out / "mine.txt").write_text("keep")
    before = (out / "model.seminmf").read_bytes()
    invoke(*words, "--out", out, "--force", "--seed", 3, "--model", "semi")
    assert (out / "mine.txt").read_text() == "keep"
    assert (out / "model.seminmf").read_bytes() != before
    np.save(tmp_path / "t.npy", waves()[0])
    invoke("fit", tmp_path / "t.npy", "-k", 2, "-q", "--out", out, "--force")
    assert {f.name for f in out.iterdir() if f.suffix == ".csv"} == set()  # the old tables are gone
    (tmp_path / "file").write_text("")
    assert "is a file" in refused(*words, "--out", tmp_path / "file")
    assert "is a file, not a folder" in refused(*words, "--out", tmp_path / "file" / "x")
    other = tmp_path / "other"
    other.mkdir()
    (other / "x").write_text("")
    assert "--force replaces only these" in refused(*words, "--out", other, "--force")
    (out / "run.json").write_text("{")
    assert "run.json is damaged" in refused("report", out)


def test_no_permission_to_write(
    fitted: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, so that the refusal is put in place by hand."""

    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        line = refused("fit", table, "-k", 2, "--out", tmp_path / "out")
        assert f"cannot write in {tmp_path} (Permission denied)" in line
    real = Path.open

    def refuse_writing(self: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if "x" in mode:
            refuse(self)
        return real(self, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", refuse_writing)
    line = refused("transform", fitted, table, "-q", "--out", tmp_path / "c.csv")
    assert "Permission denied" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_may_not_be_written(table: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert "cannot write in" in refused("fit", table, "-k", 2, "--out", tmp_path / "out")


def test_a_full_disk_leaves_nothing(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "codes.csv")

    monkeypatch.setattr(cli.fitting, "write_tables", full)
    line = refused("fit", table, "-k", 2, "-q", "--out", tmp_path / "out", code=1)
    assert line == "Error: codes.csv: No space left on device."
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_made_does_not_cost_the_fit(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no ink")

    monkeypatch.setattr(cli.fitting, "write_report", fail)
    result = invoke("fit", table, "-k", 2, "--out", tmp_path / "out")
    assert "Warning: There is no report: no ink" in result.stderr
    assert "report" not in json.loads((tmp_path / "out" / "run.json").read_text())["files"]


def test_the_table_of_a_report_must_be_that_of_the_fit(tmp_path: Path) -> None:
    data, out = write(tmp_path / "t.csv"), tmp_path / "out"
    invoke("fit", data, "-k", 2, "-q", "--out", out)
    content = data.read_bytes()
    data.write_bytes(content + b"\n")
    assert "its content has changed" in refused("report", out)
    data.rename(tmp_path / "moved.csv")
    assert "is gone; say where with --data" in refused("report", out)
    (tmp_path / "moved.csv").write_bytes(content)
    invoke("report", out, "--data", tmp_path / "moved.csv")


def test_unexpected_errors(fitted: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(error: Exception) -> Any:
        def load(path: str) -> None:
            raise error

        return load

    monkeypatch.setattr(applying, "load_model", fail(RuntimeError("what is\nthis")))
    line = refused("transform", fitted, table, code=1)
    assert line == "Error: RuntimeError: what is this (--debug shows where)"
    shown = invoke("transform", fitted, table, "--debug", code=1).stderr
    assert "Traceback" in shown
    assert shown.splitlines()[-1] == line
    monkeypatch.setattr(applying, "load_model", fail(MemoryError()))
    assert "not enough memory" in refused("transform", fitted, table, code=1)
    monkeypatch.setattr(applying, "load_model", fail(ImportError('pip install "x"')))
    assert 'pip install "x"' in refused("transform", fitted, table, code=1)


# Ctrl-C.


def test_an_interruption_saves_what_there_is(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = _watch.Watch.step

    def step(self: _watch.Watch, progress: Any) -> bool:
        if progress.iteration == 5:
            signal.raise_signal(signal.SIGINT)
        return real(self, progress)

    monkeypatch.setattr(_watch.Watch, "step", step)
    before = signal.getsignal(signal.SIGINT)
    out = tmp_path / "out"
    words = ("fit", table, "-k", K, "--tol", 0, "--max-iter", 10**6, "--out", out)
    result = invoke(*words, code=130)
    assert signal.getsignal(signal.SIGINT) is before
    assert f"Interrupted: the best model so far is in {out}." in result.stderr
    assert len(list(out.iterdir())) == 7
    assert seminmf.load(out / "model.seminmf").factorizer_.n_iter_ == 5
    assert json.loads((out / "run.json").read_text())["outcome"]["interrupted"] is True
    result = invoke("cluster", table, "-k", K, "-o", tmp_path / "c.csv", code=130)
    assert "nothing was written" in result.stderr
    assert sorted(f.name for f in tmp_path.iterdir()) == ["out"]


def test_a_second_interruption_gives_up(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(self: _watch.Watch, progress: Any) -> bool:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return False

    monkeypatch.setattr(_watch.Watch, "step", step)
    result = invoke("fit", table, "-k", K, "--out", tmp_path / "out", code=130)
    assert "interrupted; nothing was written" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_fit_goes_on_from_its_checkpoint(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, kept, out = _watch.Watch.step, tmp_path / "kept", tmp_path / "out"
    words = ("fit", table, "-k", K, "--tol", 0, "--max-iter", 12, "--checkpoint", kept)
    invoke(*words, "--out", tmp_path / "whole")
    assert list(kept.iterdir()) == []

    def step(self: _watch.Watch, progress: Any) -> bool:
        if progress.iteration == 5:
            signal.raise_signal(signal.SIGINT)
        return real(self, progress)

    monkeypatch.setattr(_watch.Watch, "step", step)
    result = invoke(*words, "--out", out, code=130)
    assert f"The same command with --force goes on from {kept}." in " ".join(result.stderr.split())
    assert [file.name for file in kept.iterdir()] == ["state.npz"]
    assert "max_iter: 12 there, 13 here" in refused(
        *words, "--max-iter", 13, "--out", out, "--force"
    )
    invoke(*words, "--out", out, "--force")
    assert list(kept.iterdir()) == []
    again, whole = (
        seminmf.load(tmp_path / name / "model.seminmf").factorizer_ for name in ("out", "whole")
    )
    np.testing.assert_array_equal(again.codes_, whole.codes_)


def test_a_signal_from_outside(table: Path, tmp_path: Path) -> None:
    """The real thing: another process, and a signal once the fit has begun."""
    code = (
        "import sys; from seminmf.cli import _watch, main\n"
        "_watch.Watch.every = 0.0\n"  # a line for each iteration
        "sys.argv[0] = 'seminmf'; main()"
    )
    out = tmp_path / "out"
    words = ["fit", str(table), "-k", str(K), "--tol", "0", "--max-iter", "1000000"]
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code, *words, "--out", str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("iteration"):
            process.send_signal(signal.SIGINT)
            break
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Ctrl-C again to give up" in said
    assert "the best model so far is in" in said
    assert "Traceback" not in said
    assert seminmf.load(out / "model.seminmf").labels_.shape == (N,)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["out"]


# The installed entry point.


def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    script = Path(sys.executable).with_name("seminmf")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "seminmf"]
    return subprocess.run(
        [*command, *map(str, words)], capture_output=True, text=True, check=False, **options
    )


def test_the_installed_command(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("fit", table, "-k", K, "--out", out, "--labels", "kind")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout  # no colours where nobody looks
    assert done.stdout.splitlines()[-1] == f"Report: {out / 'report.html'}"
    piped = run("transform", out, "-", input=table.read_text())
    assert len(piped.stdout.splitlines()) == N + 1
    wrong = run("fit", tmp_path / "no.csv", "-k", 3, "--out", tmp_path / "x")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == f"Error: {tmp_path / 'no.csv'}: no such file.\n"


def test_a_reader_that_leaves_early(fitted: Path, table: Path) -> None:
    if shutil.which("head") is None:
        pytest.skip("there is no head on this computer")
    command = f'"{sys.executable}" -m seminmf transform "{fitted}" - -q | head -1'
    text = table.read_text()
    done = subprocess.run(
        command, shell=True, input=text, capture_output=True, text=True, check=True
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("row,part_0")


@pytest.mark.parametrize(
    "command",
    [[], ["fit"], ["transform"], ["cluster"], ["report"], ["demo"], ["reproduce"], ["results"],
     ["datasets"], ["datasets", "list"], ["datasets", "fetch"]],
)  # fmt: skip
def test_help_has_an_example(command: list[str]) -> None:
    said = invoke(*command, "--help", env={"COLUMNS": "200"}).output
    assert f"Example: seminmf {' '.join(command[:1])}" in said


def test_small_things() -> None:
    assert invoke("--version").output == f"seminmf {seminmf.__version__}\n"
    assert "fit --help." in refused("fit", "t.csv")


def test_without_arguments_there_is_help() -> None:
    assert "Usage" in invoke(code=2).output


def test_the_demonstration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from seminmf import demo

    findings = demo.explore(300)
    monkeypatch.setattr(demo, "explore", lambda: findings)
    said = invoke("demo", "--out", tmp_path / "d", env={"COLUMNS": "300"}).output.splitlines()
    assert said[-4:-1] == findings.sentences()
    assert said[-1] == f"Report: {tmp_path / 'd' / 'index.html'}"
    assert (tmp_path / "d" / "index.html").is_file()


# Small parts.


def test_the_forecast() -> None:
    falling = [100.0]
    for power in range(1, 10):
        falling.append(falling[-1] * (1 - 0.5**power))
    left = _watch.iterations_left(falling, 1e-4, 200)
    assert left == 5  # 2^-14 is the first below 1e-4
    assert _watch.iterations_left(falling, 0, 200) == 190
    assert _watch.iterations_left(falling[:2], 1e-4, 200) == 198
    assert _watch.iterations_left(falling, 0.1, 200) == 0
    growing = [100.0, 99.0, 97.0, 93.0, 85.0]
    assert _watch.iterations_left(growing, 1e-4, 200) == 195


def test_the_bar_shows_objective_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    from seminmf import Progress

    talk, stream = Talk(), io.StringIO()
    talk.errors = Console(file=stream, force_terminal=True, width=120)
    with _watch.Watch(talk, 1e-4, 200, 2) as watch:
        callback = watch.callback()
        for iteration, value in enumerate((10.0, 8.0, 7.5), 1):
            assert not callback(Progress(iteration, value, 1, lambda: (np.eye(1), np.eye(1))))
        watch.stopping = True
        assert callback(Progress(4, 7.4, 1, lambda: (np.eye(1), np.eye(1))))
    shown = stream.getvalue()
    assert "Start 2/2, iteration 4" in shown
    assert "objective 7.4 (−26.0%)" in shown
    assert "left" in shown


def test_the_time_left_does_not_count_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """After half a minute of preparation an iteration of a tenth of a second is none of minutes."""
    clock = [0.0]
    monkeypatch.setattr(_watch.time, "monotonic", lambda: clock[0])
    talk = Talk()
    said: list[str] = []
    monkeypatch.setattr(talk, "say", said.append)
    with _watch.Watch(talk, 0, 101, 1) as watch:
        watch.every = 0.0
        clock[0] = 30.0
        for iteration, value in enumerate((10.0, 8.0), 1):
            watch.step(seminmf.Progress(iteration, value, 0, lambda: (np.eye(1), np.eye(1))))
            clock[0] += 0.1
    assert said == [
        "iteration 1, objective 10 (−0.0%)",
        "iteration 2, objective 8 (−20.0%), 10 s left",
    ]


def test_values_for_machines() -> None:
    value = {"a": np.array([1.0, np.nan]), 1: (np.int64(3), Path("x")), "b": float("inf")}
    assert plain(value) == {"a": [1.0, None], "1": [3, "x"], "b": None}
