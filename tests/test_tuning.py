"""``seminmf tune``, its page, and ``fit -k auto``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
from sklearn.cluster import KMeans
from typer.testing import CliRunner

from seminmf import cli, load
from seminmf.cli.tuning import numbers_of
from seminmf.reporting.curves import Curve, curve
from seminmf.reporting.tuning import _some, tuning_page
from seminmf.selection import SemiNMFSelector, components, selector


@pytest.fixture(scope="module")
def table() -> Any:
    rng = np.random.RandomState(0)
    centres = rng.standard_normal((3, 20))
    return centres[rng.randint(3, size=90)] + 0.2 * rng.standard_normal((90, 20))


@pytest.fixture(scope="module")
def found(table: Any) -> Any:
    with pytest.warns(UserWarning, match="may be more parts"):
        return SemiNMFSelector(
            candidates=[2, 3], strengths=[1e-5, 1e-4, 1e-3], n_runs=2, random_state=0
        ).fit(table)


def run(*words: Any) -> Any:
    return CliRunner().invoke(cli.app, [str(word) for word in words])


def test_tune_writes_model_curves_and_page(table: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", table)
    out = tmp_path / "tuned"
    words = ("tune", tmp_path / "X.npy", "--k", "2:5", "--jobs", 1, "--runs", 2, "--out", out)
    result = run(*words, "--standardize", "center")
    assert result.exit_code == 0, result.output
    assert "parts predict" in result.output
    outcome = json.loads((out / "run.json").read_text("utf-8"))
    # Around their mean three centres lie in a plane, and are still three parts.
    assert outcome["outcome"]["n_components"] == 3
    assert load(out / "model.seminmf").predict(table).shape == (90,)
    curve_of_parts = (out / "tune-components.csv").read_text("utf-8").splitlines()
    assert curve_of_parts[0] == "n_components,error,excess,standard_error"
    assert len(curve_of_parts) == 5
    assert (out / "tune.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert not (tmp_path / "tuned.unfinished").exists()
    again = run(*words)
    assert again.exit_code == 2
    assert "is not empty" in again.output


def test_an_interrupted_run_says_how_to_go_on(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "X.npy", table)
    out = tmp_path / "tuned"
    words = ("tune", tmp_path / "X.npy", "--k", "2:4", "--jobs", 1, "--runs", 2, "--out", out)
    followed = selector.followed

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(selector, "followed", interrupted)
    result = run(*words)
    assert result.exit_code == 130
    assert "the same command goes on from there" in " ".join(result.output.split())
    assert not out.exists()
    assert (tmp_path / "tuned.unfinished").is_dir()
    monkeypatch.setattr(selector, "followed", followed)
    monkeypatch.setattr(components, "foretold", interrupted)  # that is done
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "tuned.unfinished").exists()


def test_samples_without_a_label_have_no_say(table: Any, tmp_path: Path) -> None:
    """They were taken for a class of their own."""
    kinds = KMeans(3, n_init=5, random_state=0).fit_predict(table)
    lines = [",".join([*map(str, x), "" if i % 3 else f"kind {kind}"])
             for i, (x, kind) in enumerate(zip(table, kinds, strict=True))]  # fmt: skip
    head = ",".join([*(f"f{i}" for i in range(20)), "kind"])
    (tmp_path / "X.csv").write_text("\n".join([head, *lines]))
    out = tmp_path / "tuned"
    words = "--labels", "kind", "--by-labels", "--k", "2:4", "--jobs", 1, "--runs", 0
    result = run("tune", tmp_path / "X.csv", *words, "--out", out)
    assert result.exit_code == 0, result.output
    score = json.loads((out / "run.json").read_text("utf-8"))["outcome"]["score"]
    assert score == 1


def test_fit_takes_as_many_parts_as_there_are(table: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", table)
    result = run("fit", tmp_path / "X.npy", "-k", "auto", "--out", tmp_path / "fit")
    assert result.exit_code == 0, result.output
    assert "-k auto: 3 parts" in result.output
    said = json.loads((tmp_path / "fit" / "run.json").read_text("utf-8"))
    assert said["outcome"]["automatic"]["n_components"] == 3
    assert said["options"]["components"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "-k", "many"), "-k must be a number of parts"),
        (("fit", "-k", "0"), "-k must be a number of parts"),
        (("tune", "--k", "2-5"), "--k must be as in 2:30"),
        (("tune", "--k", "3:3"), "--k 3:3 leaves nothing to choose from"),
        (("tune", "--k", "2:70"), "candidates go up to 70"),
        (("tune", "--k", "2:4", "--by-labels"), "--by-labels needs --labels"),
    ],
)
def test_bad_words_are_refused(
    words: tuple[str, ...], message: str, table: Any, tmp_path: Path
) -> None:
    np.save(tmp_path / "X.npy", table)
    command, *rest = words
    result = run(command, tmp_path / "X.npy", *rest, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


def test_numbers_of_parts_as_people_write_them() -> None:
    assert numbers_of("2:5") == [2, 3, 4, 5]
    assert numbers_of("4:24:10") == [4, 14, 24]
    assert numbers_of("3,5,8") == [3, 5, 8]
    with pytest.raises(ValueError, match="2:30"):
        numbers_of("2:5:0")


def test_the_page_is_made_of_the_findings(found: Any, table: Any) -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    page = tuning_page(found, table, title="<b>Mine</b>", when=when).html
    assert page == tuning_page(found, table, title="<b>Mine</b>", when=when).html
    assert "<b>Mine" not in page
    assert "default-src 'none'" in page
    for name in ("parts", "strength", "growing", "stable"):
        assert f'<section id="{name}"' in page
    assert page.count("<svg") >= 3
    images = tuning_page(found, table, image_shape=(4, 5)).html
    assert 'class="pixels"' in images


@pytest.mark.filterwarnings("ignore:The evidence is weak")
def test_the_page_of_a_choice_by_labels(table: Any) -> None:
    labels = np.arange(90) % 3
    chosen = SemiNMFSelector(
        candidates=range(2, 5), strengths=[1e-4, 1e-3], n_runs=0, random_state=0
    ).fit(table, labels)
    page = tuning_page(chosen, table).html
    assert "The best of the grid" in page
    assert 'id="stable"' not in page


def test_curves_are_drawn_where_they_are() -> None:
    about = Curve(
        np.array([2.0, 3.0, 4.0]), np.array([5.0, 1.0, 2.0]), ["2", "3", "4"], "parts", "error",
        band=np.array([0.5, 0.0, 0.5]), chosen=3, span=(3, 4),
    )  # fmt: skip
    drawn = curve(about)
    assert drawn.count('class="dot"') == 3
    assert 'class="pos area"' in drawn
    assert "from 5.00 to 2.00; chosen is the place with 1.00" in drawn
    assert 'class="fence"' not in curve(Curve(about.x, about.y, about.names, "parts", "error"))


def test_rows_of_parts_are_around_the_chosen_number() -> None:
    assert _some([2, 3, 4, 5, 6, 7, 8, 9], 5) == [2, 4, 5, 6, 9]
    assert _some([2, 3], 2) == [2, 3]
