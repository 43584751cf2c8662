"""Does thawing lower exact fits, and when are parts switched off? ``python -m benchmarks.frozen``.

Tables of few features are fitted with as many parts as classes and with about as many as features,
with thawing (`seminmf.solve.finishing`) and without; planted parts with more parts than there are.
The tables go to ``docs/parts.md``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from seminmf import GraphSemiNMF, L21SemiNMF
from seminmf.solve import finishing

from .sweeps.quality import labelled

PAGE = Path(__file__).parent.parent / "docs" / "parts.md"
MOST_FEATURES, MOST_SAMPLES = 60, 1000
STRENGTHS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, "auto")
NOISES = (0.1, 0.5, 1.0)
TRUE, GIVEN, SEEDS = 5, 15, 3


def fit(X: Any, k: int, thawing: bool) -> Any:
    notable = finishing._NOTABLE if thawing else 2.0
    with patch.object(finishing, "_NOTABLE", notable):
        return L21SemiNMF(k, max_iter=500, random_state=0).fit(X)


def fits() -> Iterator[str]:
    """Rows of the first table."""
    for name, _, X, y in labelled(False):
        m = X.shape[1]
        if m > MOST_FEATURES:
            continue
        X = X[:MOST_SAMPLES]
        for k in sorted({len(np.unique(y)), m - 1, m, m + 1}):
            plain, thawed = fit(X, k, False), fit(X, k, True)
            near = finishing._FROZEN * np.median(np.linalg.norm(X, axis=1))
            frozen = (plain.residuals_ <= near).mean()
            yield (
                f"| {name} | {len(X)} × {m}, {k} | {frozen:.0%} | {plain.n_iter_} | "
                f"{thawed.objective_ / plain.objective_ - 1:+.1%} |"
            )


def planted(noise: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    codes = rng.gamma(1, 1, (500, TRUE)) * (rng.random((500, TRUE)) < 0.6)
    return codes @ rng.normal(size=(TRUE, 40)) + noise * rng.normal(size=(500, 40))


def switched_off() -> Iterator[str]:
    """Rows of the second table: parts in use, mean over seeds."""
    for model in (L21SemiNMF, GraphSemiNMF):
        for noise in NOISES:
            cells = []
            for strength in STRENGTHS:
                used = [
                    model(GIVEN, strength=strength, max_iter=1000, random_state=0)
                    .fit(planted(noise, seed))
                    .n_active_
                    for seed in range(SEEDS)
                ]
                cells.append(f"{np.mean(used):.1f}")
            yield f"| {model.__name__} | {noise:g} | " + " | ".join(cells) + " |"


def page() -> str:
    first, second = "\n".join(fits()), "\n".join(switched_off())
    heads = " | ".join(str(strength) for strength in STRENGTHS)
    return f"""\
# Exact fits, and parts that are not needed

What happens when there are more parts than the data need. Made by `python -m benchmarks.frozen`.

## Exact fits

If a start fits samples nearly exactly, as with as many parts as features or without noise, their
weights of 1/residual are so large that they no longer move, and a run seems to converge at once.
`solver="cd"` repeats such a run from better starts and keeps the lowest objective; `n_iter_` and
the history are those of the run that was kept. `solver="mu"` is the paper's iteration and does not.

A run is repeated if a tenth of the samples or more end with residuals below a hundredth of a
typical sample. The other starts are the minimum with squares of all lengths, as in `GraphSemiNMF`,
and minima with Huber's loss, whose scale shrinks (0.3, 0.03, 0.003 of a typical sample, or from
0.03 on). A run that may end by `tol` never ends with an objective above that of U = V = 0: then all
parts are zero.

`L21SemiNMF` with its defaults. *Frozen* is the share of samples with such residuals if no run is
repeated, *iterations* those of that one run, and *J* how much repeating changes the objective:

| data | n × m, k | frozen | iterations | J |
| --- | --- | ---: | ---: | ---: |
{first}

## Parts that are not needed

Under the penalty on the basis, parts that are not needed shrink from iteration to iteration. At the
end they are set to exactly zero if that does not raise the objective; `n_active_` counts the
others. How strong the penalty must be for that depends on the noise. {TRUE} true parts,
{GIVEN} given, 500 × 40; parts in use at each strength, mean over {SEEDS} seeds:

| model | noise | {heads} |
| --- | ---: |{" ---: |" * len(STRENGTHS)}
{second}

## Are the parts those of the data?

`model.certify(X)` fits again from random starts and sets `stability_`, the mean cosine of each part
with its partner in those fits; the report shows it.
"""


def main() -> None:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
