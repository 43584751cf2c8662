"""Fits that were ended by force go on, and come to the same result; checkpoints that do not fit."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

import killed
import seminmf
from helpers import converging_or_not, data
from seminmf import CheckpointError, FactorKMeans, L21SemiNMF, SemiNMF
from seminmf.data import Engine, LazyCompression
from seminmf.solve import checkpoint

PACKAGE = Path(seminmf.__file__).parents[1]
STATE = "state.npz"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each case, left behind by a process that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    paths = os.pathsep.join([str(PACKAGE), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-W", "error", killed.__file__, str(folder)],
        env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == killed.NAMES
    return folder


@pytest.mark.parametrize("number", range(len(killed.CASES)), ids=killed.NAMES)
def test_a_killed_fit_goes_on_to_the_same_result(number: int, folders: Path) -> None:
    case, folder = killed.CASES[number], folders / str(number)
    assert (folder / STATE).exists()
    seen: list[tuple[int, int]] = []
    again = case.fit(
        checkpoint=folder, callback=lambda p: seen.append((p.start, p.iteration)) or False
    )
    whole = case.fit()
    begun, made = case.at
    assert seen[0] == (begun, made + 1)
    np.testing.assert_allclose(again.components_, whole.components_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(again.codes_, whole.codes_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(again.residuals_, whole.residuals_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(again.objective_history_, whole.objective_history_, rtol=1e-12)
    assert again.n_iter_ == whole.n_iter_
    assert again.converged_ == whole.converged_
    assert list(folder.iterdir()) == []


def test_the_cases_are_where_they_say() -> None:
    """In and beyond a subspace, before and after compression by both ways."""

    def descent(name: str, iteration: int) -> Any:
        found: list[Any] = []

        def watch(progress: Any) -> None:
            if progress.iteration == iteration:
                found.append(progress.factors.__self__)
                found.append(progress.factors.__self__.state())

        killed.CASES[killed.NAMES.index(name)].fit(callback=watch)
        return found[1]

    inside = descent("in a subspace", 2)
    assert inside["confined"]
    beyond = descent("beyond a subspace", 24)
    assert not beyond["confined"]
    assert not descent("before it is compressed", 3)["compressed"]
    assert descent("after that", 12)["compressed"]
    assert descent("reflections", 12)["compressed"]
    assert descent("compressed at once", 6)["compressed"]


def test_a_compression_is_made_again_by_the_way_it_was_made() -> None:
    X = killed._dependent()
    first, second = (LazyCompression(Engine(X, 12), 12) for _ in range(2))
    while first.due() is None:
        pass
    assert first.state()["left"] == 0  # the cheap way failed
    second.restore(first.state())
    assert second.space is not None
    assert first.space is not None
    assert type(second.space.compression) is type(first.space.compression)
    np.testing.assert_array_equal(
        second.space.compression.L,
        first.space.compression.L,  # type: ignore[union-attr]
    )
    assert second.state() == first.state()


def few(**parameters: Any) -> L21SemiNMF:
    common: dict[str, Any] = {"n_components": 3, "tol": 0, "max_iter": 12, "random_state": 0}
    return L21SemiNMF(**{**common, **parameters})


class BrokenError(Exception):
    """Raised in the middle of a fit."""


def break_at(iteration: int) -> Any:
    def callback(progress: Any) -> None:
        if progress.iteration == iteration:
            raise BrokenError

    return callback


def left_behind(folder: Path, X: Any, iteration: int = 5, **parameters: Any) -> None:
    """A checkpoint of `few` after so many iterations."""
    with pytest.raises(BrokenError):
        few(checkpoint=folder, callback=break_at(iteration), **parameters).fit(X)
    assert [file.name for file in folder.iterdir()] == [STATE]


@pytest.mark.parametrize("often", [0.0, np.inf])
def test_digits_do_not_depend_on_it(
    often: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_TIMES_AS_LONG", often)
    X = data(100, 12)
    kept, plain = few(checkpoint=tmp_path / "new" / "folder").fit(X), few().fit(X)
    np.testing.assert_array_equal(kept.codes_, plain.codes_)
    np.testing.assert_array_equal(kept.objective_history_, plain.objective_history_)
    assert list((tmp_path / "new" / "folder").iterdir()) == []


def test_how_often_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first iteration, and then when 30 times as long has passed as that took."""
    clock = iter(np.arange(0.0, 1e4))
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: float(next(clock)))
    written: list[int] = []
    with checkpoint.Checkpoint(tmp_path, {}) as kept:
        for iteration in range(1, 101):
            kept.keep(lambda iteration=iteration: written.append(iteration) or {"at": iteration})
    # The clock moves by one each time it is asked: a state takes one unit to write.
    assert written == [1, 31, 61, 91]


def test_an_error_of_the_callback_loses_nothing(tmp_path: Path) -> None:
    X = data(100, 12)
    left_behind(tmp_path, X)
    seen: list[int] = []
    again = few(checkpoint=tmp_path, callback=lambda p: seen.append(p.iteration)).fit(X)
    assert seen == list(range(6, 13))
    np.testing.assert_array_equal(again.codes_, few().fit(X).codes_)


def test_a_fit_that_is_stopped_can_go_on(tmp_path: Path) -> None:
    X = data(100, 12)
    stopped = few(checkpoint=tmp_path, n_init=2, callback=lambda p: p.iteration == 4).fit(X)
    assert stopped.n_iter_ == 4
    again = few(checkpoint=tmp_path, n_init=2).fit(X)
    np.testing.assert_array_equal(again.codes_, few(n_init=2).fit(X).codes_)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_the_state(tmp_path: Path) -> None:
    X = data(100, 12)
    before = signal.getsignal(signal.SIGINT)

    def press(progress: Any) -> None:
        if progress.iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        few(checkpoint=tmp_path, callback=press).fit(X)
    assert signal.getsignal(signal.SIGINT) is before
    seen: list[int] = []
    again = few(checkpoint=tmp_path, callback=lambda p: seen.append(p.iteration)).fit(X)
    assert seen[0] == 5  # the iteration at hand was finished
    np.testing.assert_array_equal(again.codes_, few().fit(X).codes_)


def test_ctrl_c_in_the_last_iteration_and_pressed_twice(tmp_path: Path) -> None:
    X = data(100, 12)

    def press(last: int, times: int) -> Any:
        def callback(progress: Any) -> None:
            if progress.iteration == last:
                for _ in range(times):
                    os.kill(os.getpid(), signal.SIGINT)

        return callback

    for last, times in ((12, 1), (3, 2)):
        folder = tmp_path / str(last)
        with pytest.raises(KeyboardInterrupt):
            few(checkpoint=folder, callback=press(last, times)).fit(X)
        assert (folder / STATE).exists()
        np.testing.assert_array_equal(few(checkpoint=folder).fit(X).codes_, few().fit(X).codes_)


def test_fits_in_other_threads_do_without_ctrl_c(tmp_path: Path) -> None:
    X, found = data(100, 12), []
    thread = threading.Thread(target=lambda: found.append(few(checkpoint=tmp_path).fit(X)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0].codes_, few().fit(X).codes_)


def test_random_numbers_go_on(tmp_path: Path) -> None:
    """Also those of a RandomState that the user goes on with."""
    X = data(100, 12)
    parameters: dict[str, Any] = {"init": "random", "n_init": 3}
    mine, other = np.random.RandomState(5), np.random.RandomState(5)
    left_behind(tmp_path, X, random_state=np.random.RandomState(5), **parameters)
    again = few(checkpoint=tmp_path, random_state=mine, **parameters).fit(X)
    whole = few(random_state=other, **parameters).fit(X)
    np.testing.assert_array_equal(again.codes_, whole.codes_)
    assert mine.uniform() == other.uniform()
    # Without a seed the draws of the killed fit go on.
    left_behind(tmp_path, X, random_state=None, **parameters)
    few(checkpoint=tmp_path, random_state=None, **parameters).fit(X)


def test_clusters_and_models_in_files(tmp_path: Path) -> None:
    X = data(100, 12)
    folder = tmp_path / "folder"
    left_behind(folder, X)
    clusters = FactorKMeans(few(checkpoint=folder), random_state=0).fit(X)
    plain = FactorKMeans(few(), random_state=0).fit(X)
    np.testing.assert_array_equal(clusters.labels_, plain.labels_)
    clusters.save(tmp_path / "model.seminmf")
    assert seminmf.load(tmp_path / "model.seminmf").factorizer.checkpoint is None


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"max_iter": 13}, r"max_iter: 12 there, 13 here"),
        ({"strength": 1e-2}, r"strength: 'auto' there, 0.01 here"),
        ({"n_components": 4}, r"n_components: 3 there, 4 here"),
        ({"random_state": 1}, r"random_state: 0 there, 1 here"),
        ({"solver": "mu"}, r"solver: 'cd' there, 'mu' here"),
        ({"init": "random"}, r"init: 'auto' there, 'random' here"),
        ({"graph": KNeighborsTransformer(n_neighbors=4)}, r"KNeighborsTransformer\(.*n_neighbors"),
    ],
)
def test_other_parameters(parameters: dict[str, Any], told: str, tmp_path: Path) -> None:
    X = data(100, 12)
    left_behind(tmp_path, X)
    with pytest.raises(CheckpointError, match=f"of another fit .*{told}.*Give another folder"):
        few(checkpoint=tmp_path, **parameters).fit(X)
    # Nothing is lost by that.
    np.testing.assert_array_equal(few(checkpoint=tmp_path).fit(X).codes_, few().fit(X).codes_)


def test_other_data(tmp_path: Path) -> None:
    X = data(100, 12)
    left_behind(tmp_path, X)
    other = X.copy()
    other[50, 3] += 1e-9
    with pytest.raises(CheckpointError, match=r"fit \(entries of X: checksum \w+ there, .*here\)"):
        few(checkpoint=tmp_path).fit(other)
    with pytest.raises(CheckpointError, match=r"X: dense \(100, 12\) float64 there, .*\(99, 12\)"):
        few(checkpoint=tmp_path).fit(X[:99])
    with pytest.raises(CheckpointError, match=r"X: dense .* there, sparse"):
        few(checkpoint=tmp_path).fit(sp.csr_array(X))
    with pytest.raises(CheckpointError, match=r"float64 there, .*float32 here"):
        few(checkpoint=tmp_path).fit(X.astype(np.float32))
    with pytest.raises(CheckpointError, match=r"sample_weight: None there, checksum .* here"):
        few(checkpoint=tmp_path).fit(X, sample_weight=np.full(100, 2.0))
    with pytest.raises(CheckpointError, match="model: L21SemiNMF there, SemiNMF here"):
        SemiNMF(3, tol=0, max_iter=12, random_state=0, checkpoint=tmp_path).fit(X)
    # The same numbers in another order in memory are the same data.
    again = few(checkpoint=tmp_path).fit(np.asfortranarray(X))
    np.testing.assert_allclose(again.codes_, few().fit(X).codes_, rtol=1e-12, atol=1e-12)


class Drawn(KNeighborsTransformer):
    """A search that is different each time."""

    calls = 0

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        type(self).calls += 1
        self.n_neighbors = 2 + self.calls
        found = super().fit_transform(X)
        self.n_neighbors = 5
        return found


def city_block(x: Any, y: Any) -> float:
    return float(np.abs(x - y).sum())


def test_a_distance_of_ones_own(tmp_path: Path) -> None:
    X = data(60, 5)
    search = KNeighborsTransformer(n_neighbors=4, metric=city_block)
    left_behind(tmp_path, X, graph=search)
    with pytest.raises(CheckpointError, match=r"metric=city_block.* there, .*metric='manhattan'"):
        few(
            checkpoint=tmp_path, graph=KNeighborsTransformer(n_neighbors=4, metric="manhattan")
        ).fit(X)
    again = few(checkpoint=tmp_path, graph=search).fit(X)
    np.testing.assert_array_equal(again.codes_, few(graph=search).fit(X).codes_)


def test_neighbours_that_are_found_otherwise(tmp_path: Path) -> None:
    X = data(100, 12)
    left_behind(tmp_path, X, graph=Drawn())
    with pytest.raises(CheckpointError, match=r"neighbours as they were found .*wants a seed"):
        few(checkpoint=tmp_path, graph=Drawn()).fit(X)


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "other"])
def test_a_damaged_file(damage: str, tmp_path: Path) -> None:
    X = data(100, 12)
    left_behind(tmp_path, X)
    file = tmp_path / STATE
    content = bytearray(file.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "empty":
        content = bytearray()
    elif damage == "changed":
        # Among the codes: a bit of a header may mean nothing.
        content[content.index(b"rows/codes.npy") + 500] ^= 1
    else:
        content = bytearray(b"something else")
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"state\.npz is damaged .*Delete it to begin again"):
        few(checkpoint=tmp_path).fit(X)
    assert file.read_bytes() == content
    file.unlink()
    np.testing.assert_array_equal(few(checkpoint=tmp_path).fit(X).codes_, few().fit(X).codes_)


def test_a_file_that_was_being_written(tmp_path: Path) -> None:
    X = data(100, 12)
    left_behind(tmp_path, X)
    (tmp_path / f".{STATE}.00.tmp").write_bytes(b"half")
    few(checkpoint=tmp_path).fit(X)
    assert list(tmp_path.iterdir()) == []


def limited(most: int) -> Any:
    """No file of this process may grow beyond so many bytes, from a callback on."""

    def callback(progress: Any) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    return callback


@pytest.fixture
def no_limit() -> Any:
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def test_no_room(tmp_path: Path, no_limit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_TIMES_AS_LONG", 0.0)
    X = data(100, 12)
    limited(5000)(None)
    with pytest.raises(OSError, match=r"cannot be written: File too large\. It takes .* MB.*room"):
        few(checkpoint=tmp_path / "at once").fit(X)
    assert list((tmp_path / "at once").iterdir()) == []
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    later = tmp_path / "later"
    with pytest.raises(OSError, match=r"is whole and still there.*state\.npz"):
        few(checkpoint=later, callback=limited(5000)).fit(X)
    assert [file.name for file in later.iterdir()] == [STATE]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    np.testing.assert_array_equal(few(checkpoint=later).fit(X).codes_, few().fit(X).codes_)


def test_a_folder_that_cannot_be_one(tmp_path: Path) -> None:
    X = data(100, 12)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match=r"checkpoint cannot be written.*give a folder.*file"):
        few(checkpoint=tmp_path / "file").fit(X)
    with pytest.raises(OSError, match="checkpoint cannot be written"):
        few(checkpoint=tmp_path / "file" / "below").fit(X)
    assert (tmp_path / "file").read_text() == "mine"
    for bad in (3, "", True):
        with pytest.raises(ValueError, match="checkpoint must be None or the path of a folder"):
            few(checkpoint=bad).fit(X)
    # Wrong parameters are told before a folder is made.
    with pytest.raises(ValueError, match="max_iter must be"):
        few(checkpoint=tmp_path / "new", max_iter=0).fit(X)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_TIMES_AS_LONG", 0.0)
    folder = tmp_path / "folder"

    def remove(progress: Any) -> None:
        if progress.iteration == 3:
            shutil.rmtree(folder)

    with pytest.raises(FileNotFoundError, match=r"cannot be written: .*folder is not a folder"):
        few(checkpoint=folder, callback=remove).fit(data(100, 12))


def test_two_fits_at_once(tmp_path: Path) -> None:
    X = data(100, 12)
    errors: list[str] = []

    def second(progress: Any) -> None:
        if progress.iteration == 3:
            with pytest.raises(CheckpointError) as caught:
                few(checkpoint=tmp_path).fit(X)
            errors.append(str(caught.value))

    first = few(checkpoint=tmp_path, callback=second).fit(X)
    assert f"in use by another fit (process {os.getpid()})" in errors[0]
    assert "a folder of its own" in errors[0]
    np.testing.assert_array_equal(first.codes_, few().fit(X).codes_)


def test_a_lock_that_was_left_behind(tmp_path: Path) -> None:
    """It is not the file that locks, but its being held open: a process that died holds nothing."""
    (tmp_path / "lock").write_text(f"{os.getpid()}\n")
    few(checkpoint=tmp_path).fit(data(100, 12))
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_taken_away_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first fit ends between the second's opening of the file and its locking of it."""
    lock = checkpoint._try_to_lock
    gone: list[bool] = []

    def late(stream: Any) -> None:
        if not gone:
            gone.append(True)
            (tmp_path / "lock").unlink()
        lock(stream)

    monkeypatch.setattr(checkpoint, "_try_to_lock", late)
    with checkpoint.Checkpoint(tmp_path, {}):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    with converging_or_not():
        few(checkpoint=tmp_path).fit(data(100, 12))
