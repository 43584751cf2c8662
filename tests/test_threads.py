"""The same digits for any number of threads, however late they come, and for two fits at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from numba.core.compiler_lock import global_compiler_lock
from threadpoolctl import (
    OpenBLASController,
    ThreadpoolController,
    threadpool_info,
    threadpool_limits,
)

from helpers import Array, data, start
from seminmf import NMF, FactorKMeans, GraphSemiNMF, L21SemiNMF, RobustSemiNMF, SemiNMF
from seminmf._once import once
from seminmf.compiled.threads import cores, crew, turns
from seminmf.compiled.threads.crew import Crew
from seminmf.compiled.threads.scikit_learn import ScikitLearn
from seminmf.data import Engine
from seminmf.losses import Cauchy, Huber

# Large enough for helpers in compiled code, also if half of the entries are zero.
N, M, K = 6_000, 40, 8


def blas_threads() -> list[int]:
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@contextmanager
def threads(count: int) -> Iterator[None]:
    # From version 3.8 on only the first thread that has set the number may do so again.
    getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)(force=True)
    with threadpool_limits(count, user_api="blas"):
        if max(blas_threads()) != count:
            pytest.skip("BLAS has a fixed number of threads here")
        yield


def is_helper() -> bool:
    return threading.current_thread().name == "seminmf"


def ring(n: int) -> Any:
    """Neighbours are near, but two of them a little farther."""
    ties = sp.eye_array(n, k=1, format="csr") + sp.eye_array(n, k=5, format="csr")
    return sp.csr_array(ties + ties.T)


def stored(X: Array, form: str, folder: Path) -> Any:
    if form == "columns":
        return np.asfortranarray(X)
    if form == "sparse":
        return sp.csr_array(X)
    if form == "single":
        return X.astype(np.float32)
    if form == "mapped":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    return X


def digits(fitted: Any) -> dict[str, bytes]:
    names = ("codes_", "components_", "objective_history_", "residuals_")
    return {name: getattr(fitted, name).tobytes() for name in names}


def rule(name: str, graph: Any, **parameters: Any) -> Any:
    parameters = {"max_iter": 5, "tol": 0, "random_state": 0, **parameters}
    alone = {"alpha": 0, "beta": 0, **parameters}
    tied = {"graph": graph, **parameters}
    return {
        "NMF": lambda: NMF(K, **parameters),
        "SemiNMF": lambda: SemiNMF(K, **parameters),
        "GraphSemiNMF": lambda: GraphSemiNMF(K, **tied),
        "L21SemiNMF": lambda: L21SemiNMF(K, **tied),
        "L21SemiNMF alone": lambda: L21SemiNMF(K, **alone),
        "L21SemiNMF l1": lambda: L21SemiNMF(K, l1=1e-4, **tied),
        "Huber": lambda: RobustSemiNMF(K, loss=Huber(), **tied),
        "Cauchy l1 alone": lambda: RobustSemiNMF(
            K, loss=Cauchy(5.0), l1=1e-5, **{**parameters, "alpha": 0}
        ),
    }[name]()


RULES = (
    "NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF", "L21SemiNMF alone", "L21SemiNMF l1", "Huber",
    "Cauchy l1 alone",
)  # fmt: skip


@pytest.mark.parametrize("form", ["rows", "columns", "sparse", "single", "mapped"])
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("name", RULES)
def test_same_digits_for_any_number(name: str, solver: str, form: str, tmp_path: Path) -> None:
    X = data(N, M, nonnegative=name == "NMF")
    X[np.abs(X) < 0.7] = 0
    X = stored(X, form, tmp_path)
    weights = np.random.default_rng(0).uniform(0.5, 2, N)
    found, crews = [], []
    for count in (1, 2, 3):
        with threads(count):
            crews.append(Engine(X, K).team.crew.helpers)
            fitted = rule(name, ring(N), solver=solver).fit(X, sample_weight=weights)
            found.append(digits(fitted))
    assert crews == [0, 1, 2]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_same_digits_of_few_wide_samples(solver: str) -> None:
    """They are one shard, of which BLAS makes the products: it never has more than one thread."""
    X, found = data(60, 20_000), []
    for count in (1, 2, 3):
        with threads(count):
            engine = Engine(X, 25)
            assert engine.cuts.most_shards == 1
            with engine:
                assert set(blas_threads()) == {1}
            found.append(digits(SemiNMF(25, solver=solver, max_iter=3, tol=0).fit(X)))
    assert found[0] == found[1] == found[2]


def test_same_digits_after_a_fit() -> None:
    X, found = data(12_000, 20), []
    for count in (1, 2, 3):
        with threads(count):
            fitted = L21SemiNMF(K, max_iter=5, tol=0, random_state=0).fit(X)
            clusters = FactorKMeans(fitted, random_state=0).fit(X[:2_000])
            arrays = (
                fitted.outlier_scores(X[:300] + 0.01), fitted.inverse_transform(fitted.codes_),
                clusters.cluster_centers_, clusters.transform(X[2_000:3_000]),
            )  # fmt: skip
            found.append([fitted.reconstruction_err_, *(array.tobytes() for array in arrays)])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("form", ["rows", "sparse"])
def test_same_digits_in_transform(form: str, tmp_path: Path) -> None:
    X = data(N, M)
    X[np.abs(X) < 0.7] = 0
    fitted = rule("L21SemiNMF l1", ring(N)).fit(X)
    new = stored(X[:500] + 0.01, form, tmp_path)
    found = []
    for count in (1, 2, 3):
        with threads(count):
            found.append(fitted.transform(new).tobytes())
    assert found[0] == found[1] == found[2]


# --- threads that are late ------------------------------------------------------------------------


def late(monkeypatch: pytest.MonkeyPatch, pause: Callable[[], float]) -> list[str]:
    """Have each helper wait before it enters a call; returns who did, call by call."""
    came: list[str] = []
    call = Crew.call

    def delayed_call(self: Crew, function: Any, *arguments: Any) -> None:
        def delayed(*given: Any) -> Any:
            if is_helper():
                came.append("helper")
                time.sleep(pause())
            return function(*given)

        call(self, delayed, *arguments)

    monkeypatch.setattr(Crew, "call", delayed_call)
    return came


def test_helpers_that_come_late_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a call is over before they come, as with a basis system that is singular."""
    n, m, k = 6_000, 40, 10
    X, (U0, V0) = data(n, m), start(n, m, k)
    V0[:, 1] = V0[:, 0]

    def fit() -> dict[str, bytes]:
        return digits(SemiNMF(k, init=(U0, V0), tol=0, max_iter=30).fit(X))

    with threads(1):
        alone = fit()
    came = late(monkeypatch, lambda: 5e-4)
    with threads(2):
        for _ in range(40):
            assert fit() == alone
    assert came


@pytest.mark.parametrize("name", ["NMF", "SemiNMF", "L21SemiNMF", "L21SemiNMF l1"])
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("form", ["rows", "sparse"])
def test_helpers_that_come_at_any_time(
    name: str, solver: str, form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X = data(N, M, nonnegative=name == "NMF")
    X[np.abs(X) < 0.7] = 0
    X = stored(X, form, tmp_path)
    with threads(1):
        alone = digits(rule(name, ring(N), solver=solver).fit(X))
    rng = np.random.default_rng(0)
    came = late(monkeypatch, lambda: float(rng.choice([0, 1e-4, 1e-3, 5e-3])))
    with threads(3):
        for _ in range(4):
            assert digits(rule(name, ring(N), solver=solver).fit(X)) == alone
    assert came


def test_helpers_go_home_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that are late, and the next fit has all it needs."""

    def fail(progress: Any) -> None:
        raise RuntimeError("stop here")

    X = data(N, M)
    late(monkeypatch, lambda: 2e-3)
    with threads(2):
        expected = digits(rule("SemiNMF", None).fit(X))
        for _ in range(5):
            with pytest.raises(RuntimeError, match="stop here"):
                rule("SemiNMF", None, callback=fail).fit(X)
            assert not [t for t in threading.enumerate() if t.name == "seminmf"]
            assert digits(rule("SemiNMF", None).fit(X)) == expected


def test_a_helper_who_comes_early_is_not_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor sent to sleep for the whole of the call: the leader has not opened it yet."""
    monkeypatch.setattr(crew, "_OFFERS", 10**9)  # as long as it takes
    opened: list[int] = []

    def function(call: Any, number: int, leads: bool) -> int:
        if not leads:
            opened.append(int(call.bell[0]))
            return 0
        time.sleep(0.05)
        call.bell[0] = number
        while not opened:
            time.sleep(1e-3)
        return 0

    both = Crew(1)
    for number in (1, 2):
        both.call(function, [True, False], (), 1, 1)
        assert opened.pop() == number
    both.close()


# --- several fits at once -------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_two_fits_at_once(name: str) -> None:
    """In two threads of Python, each with the digits that it has alone."""
    inputs = [data(N, M, seed, nonnegative=name == "NMF") for seed in (0, 1)]
    graph = ring(N)
    with threads(2):
        before = blas_threads()
        alone = [digits(rule(name, graph).fit(X)) for X in inputs]
        found: dict[int, list[Any]] = {0: [], 1: []}
        together = threading.Barrier(2)

        def work(place: int) -> None:
            for _ in range(3):
                together.wait()
                try:
                    found[place].append(digits(rule(name, graph).fit(inputs[place])))
                except Exception as error:
                    found[place].append(error)

        workers = [threading.Thread(target=work, args=(place,)) for place in (0, 1)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert blas_threads() == before
    for place in (0, 1):
        assert len(found[place]) == 3
        for result in found[place]:
            assert result == alone[place]


def test_a_fit_inside_the_callback_of_another() -> None:
    X, inner = data(N, M), []

    def watch(progress: Any) -> None:
        inner.append(digits(rule("SemiNMF", None).fit(X)))

    with threads(2):
        plain = digits(rule("SemiNMF", None).fit(X))
        outer = digits(rule("SemiNMF", None, callback=watch).fit(X))
    assert outer == plain
    assert len(inner) == 5
    assert all(found == plain for found in inner)


def test_small_fits_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 60.0)
    X, seen = data(100, 10), []
    together = threading.Barrier(3)

    def work(place: int) -> None:
        def watch(progress: Any) -> None:
            seen.append(place)
            time.sleep(1e-3)  # lets the others have the interpreter

        together.wait()
        L21SemiNMF(3, max_iter=5, tol=0, callback=watch).fit(X)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert len(seen) == 15
    assert all(len(set(seen[first : first + 5])) == 1 for first in (0, 5, 10)), seen


def test_nobody_has_to_wait_for_a_turn() -> None:
    X, inner = data(100, 10), []

    def watch(progress: Any) -> None:
        with ThreadPoolExecutor(1) as pool:  # of which the fit that has the turn waits for the end
            inner.append(pool.submit(lambda: SemiNMF(3).fit(X).objective_).result(timeout=60))

    L21SemiNMF(3, max_iter=2, tol=0, callback=watch).fit(X)
    assert inner == [SemiNMF(3).fit(X).objective_] * 2


def test_a_turn_that_was_not_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 1e-3)
    thread = threading.Thread(target=turns.Turn(1).__enter__)
    thread.start()
    thread.join()
    without, after = turns.Turn(1), turns.Turn(1)
    with without, after:
        assert without._taken is None
        assert after._taken is turns.Turn._present
    large = turns.Turn(1e9)
    with large:
        assert large._taken is None


# --- memory ---------------------------------------------------------------------------------------


def test_no_memory_is_used_after_it_was_freed() -> None:
    """With freed memory overwritten, and new memory filled, every digit is the same."""
    code = (
        "import hashlib, sys\n"
        "import numpy as np\n"
        "import seminmf\n"
        "from scipy.sparse import csr_array\n"
        "seen = hashlib.sha256()\n"
        "for name in ('NMF', 'SemiNMF', 'GraphSemiNMF', 'L21SemiNMF', 'RobustSemiNMF'):\n"
        "    l1 = {'l1': 1e-4} if name.endswith('21SemiNMF') else {}\n"
        "    for n, m, k in ((5, 3, 1), (20, 4, 2), (30, 6, 3), (200, 30, 9)):\n"
        "        for dtype in (np.float64, np.float32):\n"
        "            X = np.random.default_rng(n).random((n, m)).astype(dtype)\n"
        "            for solver in ('cd', 'mu'):\n"
        "                model = getattr(seminmf, name)(\n"
        "                    k, solver=solver, tol=0, max_iter=4, random_state=0, **l1\n"
        "                )\n"
        "                if hasattr(model, 'n_neighbors'):\n"
        "                    model.set_params(n_neighbors=2)\n"
        "                for form in (X, np.asfortranarray(X), csr_array(X)):\n"
        "                    seen.update(model.fit(form).codes_.tobytes())\n"
        "                    seen.update(model.components_.tobytes())\n"
        "                    seen.update(model.objective_history_.tobytes())\n"
        "                    seen.update(model.transform(X + dtype(0.01)).tobytes())\n"
        "print(seen.hexdigest())\n"
    )
    found = []
    for byte in (0, 165, 255):
        # Read by the C library of Linux; elsewhere it makes no difference.
        environment = {**os.environ, "MALLOC_PERTURB_": str(byte), "OMP_NUM_THREADS": "1"}
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment
        )
        assert run.returncode == 0, run.stderr[-2000:]
        found.append(run.stdout)
    assert found[0] == found[1] == found[2]


def test_little_work_of_scikit_learn_is_not_shared() -> None:
    """Threads of OpenMP as they were afterwards, also after an error."""
    libraries = ThreadpoolController().select(user_api="openmp").lib_controllers
    assert libraries

    def counts() -> list[int]:
        return [library.get_num_threads() for library in libraries]

    with threadpool_limits(3, user_api="openmp"):
        with ScikitLearn(1e3):
            assert counts() == [1] * len(libraries)
        with ScikitLearn(1e12):
            assert counts() == [3] * len(libraries)
        with pytest.raises(ValueError, match="in between"), ScikitLearn(1e3):
            raise ValueError("in between")
        assert counts() == [3] * len(libraries)


# --- thread counts of the whole process -----------------------------------------------------------


def in_a_thread(function: Callable[[], Any]) -> Any:
    """What it returns in a thread of Python that is not the main one; or its error."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_blas_is_held_in_any_thread() -> None:
    """Also after another thread has held it, which for threadpoolctl owns it from then on."""
    X, seen = data(N, M), []

    def watch(progress: Any) -> None:
        seen.append(blas_threads())

    with threads(2):
        before = blas_threads()
        rule("SemiNMF", None).fit(X)
        in_a_thread(lambda: rule("SemiNMF", None, callback=watch).fit(X))
        assert seen == [[1] * len(before)] * 5
        assert blas_threads() == before


def test_others_may_set_their_threads_after_a_fit() -> None:
    """Threads that do not fit are not kept from threadpoolctl by one that does."""

    def limited() -> list[int]:
        with threadpool_limits(1, user_api="blas"):
            return blas_threads()

    with threads(2):
        in_use = blas_threads()
    rule("SemiNMF", None).fit(data(N, M))
    assert in_a_thread(limited) == [1] * len(in_use)


def test_clusters_at_once_leave_blas_as_it_was() -> None:
    """scikit-learn gives back what it found, which may be what another fit had set."""
    inputs = [data(600, 12, seed) for seed in range(4)]

    def fit(X: Array) -> None:
        model = L21SemiNMF(4, tol=0, max_iter=5, random_state=0)
        FactorKMeans(model, random_state=0).fit(X).predict(X)

    fit(inputs[0])
    with threads(2), ThreadPoolExecutor(4) as pool:
        # From version 3.8 on only one thread may set the number, which is this one up to here.
        getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)(force=True)
        before = blas_threads()
        for _ in range(10):
            list(pool.map(fit, inputs))
            assert blas_threads() == before


def test_each_thread_gets_its_own_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a BLAS where each thread has a number of its own, as one that is built on OpenMP."""
    numbers = threading.local()

    def set_number(count: int) -> None:
        numbers.now = count

    library = cores.Library(lambda: getattr(numbers, "now", 5), set_number)
    monkeypatch.setattr(cores, "libraries", lambda: cores._Libraries([], [library], []))
    together, found = threading.Barrier(2), []

    def work(first: bool) -> None:
        with cores.AtWork():
            together.wait()
            found.append(library.read())
            together.wait()
            if not first:
                together.wait()
        found.append(library.read())
        if first:
            together.wait()

    workers = [threading.Thread(target=work, args=(first,)) for first in (True, False)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [1, 1, 5, 5]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_fork_while_threads_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library has a lock for that, which in the child nobody would ever give back."""
    own, inside = threading.Lock(), threading.Event()

    def set_number(count: int) -> None:
        if not own.acquire(timeout=10):
            os._exit(1)
        inside.set()
        time.sleep(0.2)
        own.release()

    library = cores.Library(lambda: 2, set_number)
    monkeypatch.setattr(cores, "libraries", lambda: cores._Libraries([library], [], []))

    def work() -> None:
        with cores.AtWork():
            pass

    worker = threading.Thread(target=work)
    worker.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        os._exit(int(own.locked() or bool(cores.cores._at_work)))
    status = os.waitpid(child, 0)[1]
    worker.join()
    assert status == 0


@contextmanager
def another_thread(work: Callable[[threading.Event], object]) -> Iterator[None]:
    """It has told that it is in the midst of its work, for which it takes 0.2 seconds."""
    inside = threading.Event()
    thread = threading.Thread(target=work, args=(inside,), daemon=True)
    thread.start()
    assert inside.wait(10)
    yield
    thread.join(10)


def fork(function: Callable[[], object]) -> int:
    """How a child ends that calls a function; if it waits for ever, by its alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(0 if function() else 1)
    return os.waitpid(child, 0)[1]


class Slow:
    """With a property that takes its time in the process that was there first."""

    def __init__(self, inside: threading.Event) -> None:
        self._inside, self._parent = inside, os.getpid()

    @once
    def number(self) -> int:
        self._inside.set()
        time.sleep(0.2 if os.getpid() == self._parent else 0)
        return 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_a_property_is_computed() -> None:
    """That of `functools` has a lock in Python 3.11, for which the child would wait for ever."""
    with another_thread(lambda inside: Slow(inside).number):
        assert fork(lambda: Slow(threading.Event()).number == 1) == 0


def test_of_two_threads_that_compute_a_property_the_first_decides() -> None:
    class Twice:
        @once
        def values(self) -> list[int]:
            """A list."""
            if not started.is_set():
                with another_thread(first):
                    pass
            return [0]

    def first(inside: threading.Event) -> None:
        started.set()
        seen.append(shared.values)
        inside.set()

    shared, started, seen = Twice(), threading.Event(), list[list[int]]()
    assert shared.values is seen[0] is shared.values
    assert Twice.values.__doc__ == "A list."


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_fork_while_a_thread_compiles() -> None:
    def compile_something(inside: threading.Event) -> None:
        with global_compiler_lock:
            inside.set()
            time.sleep(0.2)

    def compiles() -> bool:
        return njit(lambda x: x + 1)(1) == 2

    with another_thread(compile_something):
        assert fork(compiles) == 0
    with another_thread(lambda inside: (inside.set(), compiles())):
        pass  # the parent has given the compiler back


@pytest.mark.parametrize("name", ["SemiNMF", "L21SemiNMF"])
def test_threads_that_cannot_be_started(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at a limit of processes: the fit goes on without them."""
    X, refused = data(N, M), []
    start_thread = threading.Thread.start

    def start(self: threading.Thread) -> None:
        if self.name.startswith("seminmf"):
            refused.append(self.name)
            raise RuntimeError("can't start new thread")
        start_thread(self)

    with threads(2):
        expected = digits(rule(name, "knn").fit(X))
        monkeypatch.setattr(threading.Thread, "start", start)
        assert digits(rule(name, "knn").fit(X)) == expected
    assert set(refused) == ({"seminmf"} if name == "SemiNMF" else {"seminmf", "seminmf rows"})


# --- threads that wait wherever they hand over, forks, and fits inside joblib ---------------------


def run_script(*arguments: str, seconds: float = 300) -> None:
    """A script of this folder in a process of its own; one that hangs is ended, and has failed."""
    command = [sys.executable, *arguments]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, cwd=Path(__file__).parent
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]


@pytest.mark.skipif(os.name != "posix", reason="sleeps by a function of POSIX")
def test_pauses_at_every_hand_over(request: pytest.FixtureRequest) -> None:
    """Some hundred fits here, thousands by ``make threads``."""
    run_script("pauses.py", "150", "--folder", str(request.config.cache.mkdir("pauses")))


# What is made once for all fits is made by each of several threads that ask at the same time.
MADE_TWICE = """
import numpy as np
from seminmf import L21SemiNMF
from seminmf.compiled.rooms import basis_room_for, no_basis_room
from seminmf.data import rows

def find(*arguments, find_iteration=rows.find_iteration):
    for made in (basis_room_for, no_basis_room):
        made.cache_clear()
    return find_iteration(*arguments)

rows.find_iteration = find
L21SemiNMF(3).fit(np.random.default_rng(0).normal(size=(100, 10)))
"""


def test_first_fits_in_several_threads_at_once() -> None:
    """The basis was solved for by a function that nobody had looked for, which ends a process."""
    run_script("-c", MADE_TWICE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_and_joblib_while_others_fit() -> None:
    run_script("nested.py")
