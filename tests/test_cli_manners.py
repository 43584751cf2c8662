"""How the command behaves at its edges: two at once, Ctrl-C, machines, full disks, terminals."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import seminmf.__main__ as command
from seminmf import _files, cli
from seminmf.cli import _folder, fitting
from seminmf.datasets import make_waveform
from seminmf.io import read_table
from seminmf.reporting import Report, write_results

pd = pytest.importorskip("pandas")
runner = CliRunner()
N = 60


def invoke(*words: object, code: int = 0) -> Any:
    result = runner.invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "400"})
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "signals.csv"
    frame = pd.DataFrame(make_waveform(N, random_state=0)[0], columns=[f"t{i}" for i in range(21)])
    frame.insert(0, "name", [f"wave {i}" for i in range(N)])
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
def test_clusters_of_a_fit_keep_its_ids(suffix: str, table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table)
    data, out = tmp_path / f"t{suffix}", tmp_path / "out"
    frame.loc[3, "t0"] = np.nan
    if suffix == ".csv":
        frame.to_csv(data, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(data)
    else:
        np.save(data, frame.drop(columns="name").to_numpy())
    named = [] if suffix == ".npy" else ["--id", "name"]
    invoke("fit", data, "-k", 3, *named, "--drop-missing", "--model", "semi", "--out", out, "-q")
    invoke("cluster", out, "--out", tmp_path / "clusters.csv", "-q")
    found = pd.read_csv(tmp_path / "clusters.csv")
    kept = [i for i in range(N) if i != 3]
    if named:
        assert found["name"].tolist() == [f"wave {i}" for i in kept]
    else:
        assert found["row"].tolist() == [i + 1 for i in kept]
    rows = invoke("cluster", out / "model.seminmf", "--json").stdout
    assert json.loads(rows)["columns"] == ["row", "cluster"]


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_command_names_them(package: str) -> None:
    program = (
        f"import sys; sys.modules['{package}'] = None; from seminmf.__main__ import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"Error: the command needs {package}: pip install '.[cli]'")


def test_ids_of_a_fit_may_look_like_comments(table: Path, tmp_path: Path) -> None:
    """What a fit wrote is read as it was written, not guessed at."""
    frame = pd.read_csv(table).assign(name=[f"#{i}" for i in range(N)])
    frame.to_csv(tmp_path / "t.csv", index=False, sep="^")
    how = ["--id", "name", "--comment", "", "--delimiter", "^"]
    out = tmp_path / "out"
    invoke("fit", tmp_path / "t.csv", "-k", 3, *how, "--model", "semi", "--out", out, "-q")
    invoke("cluster", out, "--out", tmp_path / "clusters.csv", "-q")
    found = pd.read_csv(tmp_path / "clusters.csv")
    assert found["name"].tolist() == [f"#{i}" for i in range(N)]


def test_rows_of_a_fit_without_ids(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table).drop(columns="name")
    frame.loc[3, "t0"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out"
    invoke("fit", tmp_path / "t.csv", "-k", 3, "--drop-missing", "-m", "semi", "--out", out, "-q")
    invoke("cluster", out, "--out", tmp_path / "clusters.csv", "-q")
    assert pd.read_csv(tmp_path / "clusters.csv")["row"].tolist()[2:4] == [3, 5]


@pytest.mark.parametrize(
    "options", [("-k", "4"), ("--clusters", "2"), ("--model", "semi"), ("--standardize", "scale")]
)
def test_what_only_a_fit_heeds_is_refused_beside_a_model(
    options: tuple[str, str], table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    invoke("fit", table, "-k", 3, "-m", "semi", "--out", out, "-q")
    for words in ([out], [out, table]):
        error = invoke("cluster", *words, *options, code=2).stderr
        assert f"{options[0]} is for a table that is fitted first, and {out} is a model" in error


def test_the_second_of_two_fits_writes_nothing(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    scores = fitting.outlier_scores

    def while_another_writes(*words: Any) -> Any:
        monkeypatch.setattr(fitting, "outlier_scores", scores)
        invoke("fit", table, "-k", 2, "-m", "semi", "--out", out, "-q")
        return scores(*words)

    monkeypatch.setattr(fitting, "outlier_scores", while_another_writes)
    error = invoke("fit", table, "-k", 3, "-m", "semi", "--out", out, "-q", code=2).stderr
    assert "was written by another fit meanwhile" in error
    run = json.loads((out / "run.json").read_text())
    assert run["outcome"]["n_components"] == 2
    assert [place.name for place in tmp_path.iterdir()] == ["out"]
    invoke("fit", table, "-k", 3, "-m", "semi", "--out", out, "-q", "--force")


def test_a_folder_that_fills_up_meanwhile_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with (  # noqa: PT012 - the error comes when the folder closes
        pytest.raises(FileExistsError, match="is not empty any more"),
        _folder.folder(out, force=False) as scratch,
    ):
        (scratch / "run.json").write_text("{}")
        out.mkdir()
        (out / "letter.txt").write_text("dear")
    assert [place.name for place in out.iterdir()] == ["letter.txt"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def test_ctrl_c_while_the_command_loads(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(
        "import sys, time\nsys.stderr.write('loading')\nsys.stderr.flush()\ntime.sleep(60)\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-m", "seminmf", "--version"], env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.read(7) == b"loading"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    said, complaint = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == complaint == b""


def test_little_loads_before_ctrl_c_is_met() -> None:
    code = (
        "import sys; before = set(sys.modules); import seminmf.__main__; "
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment(), capture_output=True, text=True
    )
    ours = {"seminmf", "seminmf.__main__", "__future__", "signal", "os"}
    # What the module signal itself needs.
    theirs = set(subprocess.run(
        [sys.executable, "-S", "-c", code.replace("seminmf.__main__", "signal, os")],
        capture_output=True, text=True, check=True,
    ).stdout.split())  # fmt: skip
    assert set(loaded.stdout.split()) <= ours | theirs


def test_ctrl_c_before_a_command_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("seminmf.cli._command.Talk", interrupted)
    result = invoke("datasets", "list", code=130)
    assert result.output == ""


@pytest.mark.parametrize(
    "words",
    [("fit", "--json"), ("fit", "t.csv", "-k", "none", "--out", "o", "--json"), ("sing", "--json"),
     ("fit", "t.csv", "-k", "2", "--out", "o", "--strange", "--json"),
     ("fit", "nowhere.csv", "-k", "2", "--out", "o", "--json")],
)  # fmt: skip
def test_errors_are_objects_for_machines(words: tuple[str, ...]) -> None:
    result = invoke(*words, code=2)
    found = json.loads(result.stdout)
    assert found["exit_code"] == 2
    assert found["error"]


def test_a_full_disk_names_the_file(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    out = tmp_path / "out"
    error = invoke("fit", table, "-k", 2, "-m", "semi", "--out", out, code=1).stderr
    assert f"Error: {out / 'model.seminmf'}: No space left on device" in error
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="only 3 written") as caught, _files.atomic(tmp_path / "a"):
        raise OSError("10 requested and only 3 written")  # as numpy says it
    assert caught.value.filename == str(tmp_path / "a")


def test_words_on_an_ascii_terminal(tmp_path: Path) -> None:
    program = (
        "from seminmf._terminal import speak_plainly\nspeak_plainly()\n"
        f"print({'wait … 3 × 4 −5 größe'!a})\n"
    )
    plain = environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    said = subprocess.run(
        [sys.executable, "-c", program], env=plain, capture_output=True, check=True
    )
    assert said.stdout.decode("ascii").strip() == "wait ... 3 x 4 -5 gr??e"
    done = subprocess.run(
        [sys.executable, "-m", "seminmf", "demo", "--out", tmp_path / "demo"],
        env=plain, capture_output=True, check=True,
    )  # fmt: skip
    assert "takes some seconds) ..." in done.stdout.decode("ascii")
    assert (tmp_path / "demo" / "index.html").is_file()


@pytest.mark.parametrize(
    "words", [("fit",), ("cluster",), ("transform",), ("datasets", "list"), ()]
)
def test_flags_have_no_type_in_the_help(words: tuple[str, ...]) -> None:
    said = invoke(*words, "--help").output
    assert "bool" not in said.lower()
    assert "--help" in said


def test_transform_reads_as_the_options_say(table: Path, tmp_path: Path) -> None:
    """All commands have the same options for reading."""
    out = tmp_path / "out"
    invoke("fit", table, "-k", 3, "-m", "semi", "--out", out, "-q")
    frame = pd.read_csv(table)
    text = frame.to_csv(index=False, sep=";", decimal=",").replace("wave 3;", "wave 3;")
    (tmp_path / "t.csv").write_text("% note\n" + text)
    words = ("transform", out, tmp_path / "t.csv", "--comment", "%", "--id", "name", "-q")
    invoke(*words, "--out", tmp_path / "codes.csv")
    codes = read_table(out / "codes.csv", features=["part_0", "part_1", "part_2"]).X
    again = pd.read_csv(tmp_path / "codes.csv")
    assert again["name"].tolist() == frame["name"].tolist()
    assert np.allclose(again.drop(columns="name").to_numpy(), codes, atol=1e-6)


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(130)])
def test_whatever_is_interrupted_ends_with_130(
    end: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the signal, which is how Python ends if the interrupt passed through an exec."""
    ended: list[int] = []

    def leave(code: int) -> None:
        ended.append(code)

    def run() -> None:
        raise end

    monkeypatch.setattr("seminmf.cli.main", run)
    monkeypatch.setattr(os, "_exit", leave)
    before = signal.getsignal(signal.SIGINT)
    command.main()
    assert ended == [130]
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.setattr("seminmf.cli.main", lambda: sys.exit(2))
    with pytest.raises(SystemExit) as caught:
        command.main()
    assert caught.value.code == 2


def test_the_demo_replaces_no_page_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seminmf import demo

    findings = demo.explore(200)
    (tmp_path / "index.html").write_text("my own", encoding="utf-8")
    monkeypatch.setattr(demo, "explore", lambda: pytest.fail("this takes long"))
    assert "is a file; name a folder" in invoke("demo", "--out", __file__, code=2).stderr
    error = invoke("demo", "--out", tmp_path, code=2).stderr
    assert "index.html is not a page of seminmf; choose another folder" in error
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == "my own"
    monkeypatch.setattr(demo, "explore", lambda: findings)
    for _ in range(2):
        invoke("demo", "--out", tmp_path / "page")


def test_a_page_that_does_not_fit_on_the_disk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    page = tmp_path / "report.html"
    page.write_text("before", encoding="utf-8")
    with pytest.raises(OSError, match="No space left") as raised:
        Report("<p>after</p>").save(page)
    assert raised.value.filename == str(page)
    with pytest.raises(OSError, match="No space left"):
        write_results({}, html=page)
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == ["before"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("", "is a folder; give the name of a file in it"), ("codes.xlsx", "tables are written as"),
     ("codes.xyz", "tables are written as .csv, .tsv, .parquet")],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_before_anything_is_read(
    name: str, error: str, table: Path, tmp_path: Path
) -> None:
    result = invoke("transform", tmp_path / "no model", table, "--out", tmp_path / name, code=2)
    assert error in result.stderr


def test_nothing_that_is_read_is_lost(tmp_path: Path) -> None:
    """The codes of a table took its place, and a report that of its model."""
    data, out = tmp_path / "t.csv", tmp_path / "out"
    frame = pd.DataFrame(make_waveform(N, random_state=0)[0], columns=[f"t{i}" for i in range(21)])
    frame.to_csv(data, index=False)
    invoke("fit", data, "-k", 2, "-q", "--out", out)
    before = {file: file.read_bytes() for file in (data, *out.iterdir())}
    for words in (
        ("transform", out, data, "--out", data),
        ("cluster", data, "-k", 2, "--out", data),
        ("cluster", out, data, "--out", tmp_path / "out" / ".." / "t.csv"),
        ("report", out, "--out", out / "model.seminmf"),
        ("report", out, "--out", out / "run.json"),
        ("report", out, "--out", out / "codes.csv"),
        ("report", out, "--out", data),
    ):
        assert "is read, and would be lost; give another name" in invoke(*words, code=2).stderr
    assert {file: file.read_bytes() for file in before} == before
    invoke("report", out, "--out", out / "report.html")


def test_a_table_to_cluster_that_is_not_there(tmp_path: Path) -> None:
    """It asked for the number of parts."""
    assert "nowhere.csv: no such file" in invoke("cluster", tmp_path / "nowhere.csv", code=2).stderr


def test_tune_takes_the_short_option_of_fit(table: Path, tmp_path: Path) -> None:
    error = invoke("tune", table, "-k", "2:x", "--out", tmp_path / "out", code=2).stderr
    assert "2:x" in error


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are characters there")
def test_names_of_files_that_are_no_characters(table: Path, tmp_path: Path) -> None:
    """The fit was made, and lost where its name was written down."""
    data, out = (tmp_path / os.fsdecode(name) for name in (b"caf\xe9.csv", b"out\xe9"))
    data.write_bytes(table.read_bytes())
    said = invoke("fit", data, "-k", 2, "-m", "semi", "--out", out).stdout
    assert r"caf\udce9.csv: 60 rows" in said
    told = json.loads(
        invoke("fit", data, "-k", 2, "-m", "semi", "--out", out, "--force", "--json").stdout
    )
    assert told["data"]["path"] == str(data)
    for words in (("transform", out, data, "--out", tmp_path / "codes.csv"), ("report", out)):
        invoke(*words, "-q")
    assert "caf\ufffd.csv" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", ["0", "1"])
def test_terminals_without_room_are_none(columns: str) -> None:
    """Nothing was said."""
    said = runner.invoke(cli.app, ["--help"], env={"COLUMNS": columns}).stdout
    assert "Usage: " in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    "words", [("--help",), ("datasets", "list"), ("datasets", "list", "--json")]
)
def test_an_output_without_room_is_named(words: tuple[str, ...]) -> None:
    """The help ended in a traceback."""
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "seminmf", *words], stdout=full, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
    assert ended.returncode == 1
    assert ended.stderr == "Error: standard output cannot be written: No space left on device.\n"


def test_a_standard_input_that_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="standard input is closed; give it a table"):
        read_table("-")


def test_numbers_of_parts_from_more_to_less(table: Path, tmp_path: Path) -> None:
    error = invoke("tune", table, "--k", "5:2", "--out", tmp_path / "out", code=2).stderr
    assert "--k must be as in 2:30" in error
