"""Fits that are killed in the middle, each in a process of its own, for `test_checkpoint`.

Run as a script it fits every case with a checkpoint in the folder given, and each fit kills itself.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from helpers import CLASSES, data, start
from seminmf import RobustSemiNMF
from seminmf.solve import checkpoint


@dataclass
class Case:
    """A fit, and the (start, iteration) after which it is killed."""

    name: str
    model: str
    parameters: dict[str, Any]
    samples: Callable[[], Any]
    at: tuple[int, int] = (0, 6)
    weights: Callable[[], Any] = field(default=lambda: None)

    def fit(self, **more: Any) -> Any:
        classes = {**CLASSES, "RobustSemiNMF": RobustSemiNMF}
        common = {"max_iter": 25, "tol": 0, "random_state": 0}
        model = classes[self.model](**{**common, **self.parameters, **more})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(self.samples(), sample_weight=self.weights())


def plain(nonnegative: bool = False) -> Any:
    return data(120, 15, nonnegative=nonnegative)


def _grid() -> list[Case]:
    """Models, with and without their penalties, and solvers."""
    cases = []
    for model in CLASSES:
        for penalised in (False, True) if model in ("GraphSemiNMF", "L21SemiNMF") else (False,):
            for solver in ("cd", "mu"):
                parameters: dict[str, Any] = {"n_components": 3, "solver": solver}
                if model in ("GraphSemiNMF", "L21SemiNMF") and not penalised:
                    parameters |= {"alpha": 0, "beta": 0}
                name = f"{model} {'with' if penalised else 'without'} graph, {solver}"
                nonnegative = model == "NMF"
                cases.append(Case(name, model, parameters, lambda n=nonnegative: plain(n)))
    return cases


def _many() -> Any:
    return data(1000, 800)


def _wide() -> Any:
    return data(60, 900)


def _dependent() -> Any:
    """More features than samples, and a Gram matrix that is too near to singular."""
    X = data(60, 900)
    X[1] = X[0] + 1e-9 * X[2]
    return X


def _doubled() -> Any:
    X = plain()
    return np.vstack([X, X[:40]])


def _half_zero() -> Any:
    weights = np.random.default_rng(1).uniform(0.5, 2, 160)
    weights[:20] = 0
    return weights


_FREE = {"alpha": 0, "beta": 0}
_DRAWN = {"init": "random"}
_LONG = {"n_components": 4, "tol": 1e-9, "strength": 3e-4}
CASES = [
    *_grid(),
    Case("in a subspace", "L21SemiNMF", {"n_components": 4}, _many, (0, 2)),
    Case("beyond a subspace", "L21SemiNMF", _LONG, _many, (0, 24)),
    Case("compressed at once", "L21SemiNMF", {"n_components": 3}, _wide),
    Case("before it is compressed", "SemiNMF", {"n_components": 3, **_DRAWN}, _wide, (0, 3)),
    Case("after that", "SemiNMF", {"n_components": 3, **_DRAWN}, _wide, (0, 12)),
    Case("reflections", "SemiNMF", {"n_components": 12, **_DRAWN}, _dependent, (0, 12)),
    Case("sparse", "L21SemiNMF", {"n_components": 3}, lambda: sp.csr_array(np.maximum(plain(), 0))),
    Case("second start", "L21SemiNMF", {"n_components": 3, "n_init": 3}, plain, (1, 9)),
    Case("third start", "SemiNMF", {"n_components": 3, "n_init": 3}, _wide, (2, 20)),
    Case("given start", "L21SemiNMF", {"n_components": 3, "init": start(120, 15, 3)}, plain),
    Case("weights", "L21SemiNMF", {"n_components": 3}, _doubled, weights=_half_zero),
    Case("single", "L21SemiNMF", {"n_components": 3}, lambda: plain().astype(np.float32)),
    Case("Huber, l1", "RobustSemiNMF", {"n_components": 3, "l1": 1e-3}, plain),
    Case("Cauchy", "RobustSemiNMF", {"n_components": 3, "loss": "cauchy", **_FREE}, plain),
    Case("until it converges", "L21SemiNMF", {"n_components": 3, "tol": 1e-4}, plain, (0, 2)),
]  # fmt: skip
NAMES = [case.name for case in CASES]


def fit_until_killed(case: Case, folder: Path) -> None:
    def kill(progress: Any) -> None:
        if (progress.start, progress.iteration) == case.at:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint._TIMES_AS_LONG = 0.0  # every state is written
    case.fit(callback=kill, checkpoint=folder)


def main(folder: Path) -> None:
    """Prints the names of the cases that were killed."""
    for number, case in enumerate(CASES):
        child = os.fork()  # no fit has been made here: there are no threads
        if child == 0:
            try:
                fit_until_killed(case, folder / str(number))
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            print(case.name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
