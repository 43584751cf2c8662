"""Watching a fit: the user's callback, lines in the log, and a progress bar."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from .validation import check_flag, check_integer

if TYPE_CHECKING:
    from ..solve.loop import Callback, Progress

_log = logging.getLogger("seminmf")
_Show = Callable[["Progress"], None]


@contextmanager
def watched(estimator: Any) -> Iterator[Callback | None]:
    """The callback of a fit, which also logs and moves a bar if the estimator wants that."""
    callback, every = estimator.callback, estimator.verbose
    # True means every iteration.
    every = int(every) if isinstance(every, bool) else check_integer("verbose", every, 0)
    bar = check_flag("progress", estimator.progress)
    if not (every or bar) or (callback is not None and not callable(callback)):
        yield callback  # one that cannot be called is refused with the other parameters
        return
    with _bar(estimator) if bar else nullcontext() as show:

        def observe(progress: Progress) -> object:
            if every and progress.iteration % every == 0:
                _log.warning(
                    "%s start %d iteration %d objective %.8g",
                    type(estimator).__name__, progress.start, progress.iteration,
                    progress.objective,
                )  # fmt: skip
            if show is not None:
                show(progress)
            return None if callback is None else callback(progress)

        yield observe


@contextmanager
def _bar(estimator: Any) -> Iterator[_Show]:
    """A progress bar by tqdm, or by rich if only that is installed."""
    name = type(estimator).__name__
    most = estimator.max_iter if isinstance(estimator.max_iter, int) else None  # checked later
    try:
        from tqdm.auto import tqdm
    except ImportError:
        with _rich_bar(name, most) as show:
            yield show
        return
    with tqdm(total=most, desc=name, unit="it", leave=True) as bar:

        def show(progress: Progress) -> None:
            start = f"start {progress.start + 1}, " if progress.start else ""
            bar.set_postfix_str(f"{start}objective {progress.objective:.6g}", refresh=False)
            bar.n = progress.iteration
            bar.update(0)

        yield show


@contextmanager
def _rich_bar(name: str, most: int | None) -> Iterator[_Show]:
    try:
        from rich.progress import Progress as Bar
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm or rich: pip install tqdm, or leave progress=False."
        ) from error
    with Bar() as bar:
        task = bar.add_task(name, total=most)

        def show(progress: Progress) -> None:
            words = f"{name} start {progress.start + 1} objective {progress.objective:.6g}"
            bar.update(task, completed=progress.iteration, description=words)

        yield show
