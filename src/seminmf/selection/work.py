"""Long work in pieces: run by several processes, kept on disk as it comes, with progress."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import ConvergenceWarning

from .._files import PathLike
from ..models.validation import check_callback

if TYPE_CHECKING:
    from ..solve.checkpoint import Checkpoint

Piece = Callable[..., dict[str, Any]]
"""A function of the arguments of one job that returns arrays and numbers by name."""


@dataclass(frozen=True)
class Step:
    """What a callback receives after each piece of work."""

    what: str
    """What is being done, in words."""
    done: int
    total: int
    seconds_left: float
    """If the remaining pieces of this kind take as long as those that are done."""


@dataclass
class Work:
    """Runs jobs, except those whose results are known from an earlier run.

    Parameters
    ----------
    n_jobs : int or None
        Processes, as scikit-learn counts them; None is one, this process.
    callback : callable or None
        Called with a `Step` after each job.
    checkpoint : Checkpoint or None
        Keeps results until all work is done.
    """

    n_jobs: int | None = None
    callback: Callable[[Step], object] | None = None
    checkpoint: Checkpoint | None = None

    def __post_init__(self) -> None:
        found = None if self.checkpoint is None else self.checkpoint.found
        self._known: dict[str, dict[str, Any]] = found or {}

    def keep(self, what: str, name: str, result: dict[str, Any]) -> None:
        """Remember a result, also on disk if there is a checkpoint and it is time."""
        self._known.setdefault(what, {})[name] = result
        if self.checkpoint is not None:
            self.checkpoint.keep(lambda: self._known)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """A number that stays the same when the work is resumed."""
        if name not in self._known:
            self.keep(name, "value", {"value": make()})
        return self._known[name]["value"]["value"]

    def run(self, what: str, piece: Piece, jobs: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        """The results of all jobs, in their order."""
        done = self._known.get(what, {})
        missing = [number for number in range(len(jobs)) if str(number) not in done]
        tell = self.teller(what, len(jobs), len(jobs) - len(missing))
        for number, result in self._results(piece, [(n, jobs[n]) for n in missing]):
            self.keep(what, str(number), result)
            tell()
        return [self._known[what][str(number)] for number in range(len(jobs))]

    def teller(self, what: str, total: int, done: int = 0) -> Callable[[], None]:
        """A function to call after each of ``total`` pieces, of which some were done before."""
        began, before = time.monotonic(), done

        def tell() -> None:
            nonlocal done
            done += 1
            if self.callback is not None:
                each = (time.monotonic() - began) / (done - before)
                self.callback(Step(what, done, total, each * (total - done)))

        return tell

    def _results(
        self, piece: Piece, jobs: list[tuple[int, tuple[Any, ...]]]
    ) -> Iterable[tuple[int, dict[str, Any]]]:
        if self.n_jobs in (None, 1) or len(jobs) < 2:
            return (_numbered(piece, number, job) for number, job in jobs)
        from joblib import Parallel, delayed, parallel_config

        settings = parallel_config(backend="loky", n_jobs=self.n_jobs, inner_max_num_threads=1)
        with settings, _deaf_to_interrupts():
            parallel = Parallel(return_as="generator_unordered", batch_size=1)
            results: Iterable[tuple[int, dict[str, Any]]] = parallel(
                delayed(_elsewhere)(piece, number, job) for number, job in jobs
            )
        return results

    def send_home(self) -> None:
        """End the worker processes at once, whatever they are doing."""
        if self.n_jobs not in (None, 1):
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor(reuse=True).shutdown(kill_workers=True)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started here ignore Ctrl-C and leave it to this one."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # only the main thread may
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


def _elsewhere(piece: Piece, number: int, job: tuple[Any, ...]) -> tuple[int, dict[str, Any]]:
    """Run a piece in a worker, which may have been started by others without ignoring Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _numbered(piece, number, job)


def _numbered(piece: Piece, number: int, job: tuple[Any, ...]) -> tuple[int, dict[str, Any]]:
    with quiet():
        return number, piece(*job)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence convergence warnings: one unconverged fit among many is no news to the caller."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@contextmanager
def working(
    n_jobs: Any,
    callback: Any,
    checkpoint: PathLike | None,
    described: Callable[[], Mapping[str, str]],
) -> Iterator[Work]:
    """A `Work`, which with a checkpoint folder resumes work that was killed."""
    check_callback(callback)
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or not n_jobs
    ):
        raise ValueError(
            f"n_jobs must be None, a number of processes, or −1 for all, got {n_jobs!r}."
        )
    if checkpoint is None:
        yield Work(n_jobs, callback)
        return
    from ..models.resuming import checked_folder
    from ..solve.checkpoint import Checkpoint

    with Checkpoint(checked_folder(checkpoint), described()) as kept:
        work = Work(n_jobs, callback, kept)
        try:
            yield work
        except KeyboardInterrupt:
            kept.stop(lambda: work._known)
            work.send_home()
            raise
