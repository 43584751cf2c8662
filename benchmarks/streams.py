"""How near does `partial_fit` come to `fit`? ``python -m benchmarks.streams`` writes a page on it.

Samples of a noisy cone with outliers come in batches, in random order, once or twice. The objective
of the basis that results, with the best code for every sample, is compared with that of `fit`,
which sees all samples in every iteration.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import seminmf
from seminmf.losses import Huber

PAGE = Path(__file__).parent.parent / "docs" / "streams.md"
FEATURES, PARTS = 50, 10
# Name on the page, class, parameters that switch off what `partial_fit` does not have, signs of X.
MODELS: tuple[tuple[str, str, dict[str, Any], bool], ...] = (
    ("`L21SemiNMF`", "L21SemiNMF", {"alpha": 0, "beta": 0}, False),
    ("`RobustSemiNMF`, Huber", "RobustSemiNMF", {"alpha": 0, "beta": 0, "loss": Huber(2.0)}, False),
    ("`L21SemiNMF(l1=1e-3)`", "L21SemiNMF", {"alpha": 0, "l1": 1e-3}, False),
    ("`SemiNMF`", "SemiNMF", {}, False),
    ("`NMF`", "NMF", {}, True),
)
BATCHES = (20, 100, 300, 1000, 5000)
FORGETTING = (1.0, 0.95, 0.8, 0.5)


def samples(
    n: int, seed: int, outliers: float = 0.05, nonnegative: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """(X, whether a sample is an outlier): sums of some of the parts, and noise."""
    rng = np.random.default_rng(seed)
    codes = (0.2 + rng.gamma(1, 1, (n, PARTS))) * (rng.random((n, PARTS)) < 0.35)
    basis = rng.uniform(0 if nonnegative else -1, 1, (PARTS, FEATURES))
    X = codes @ basis + 0.3 * rng.normal(size=(n, FEATURES))
    far = rng.random(n) < outliers
    X[far] = 10 * rng.normal(size=(int(far.sum()), FEATURES))
    return (np.abs(X) if nonnegative else X), far


def batches(X: np.ndarray, size: int, passes: int, seed: int = 0) -> Iterator[list[np.ndarray]]:
    """The batches of each pass over the samples."""
    rng = np.random.default_rng(seed)
    for _ in range(passes):
        order = rng.permutation(len(X))
        yield [X[order[low : low + size]] for low in range(0, len(X), size)]


def objective(model: Any, X: np.ndarray, judge: Any) -> float:
    """J of the model's basis, in the units of the ``judge``'s α, β and loss."""
    codes = model.transform(X)
    residuals = np.linalg.norm(X - codes @ model.components_, axis=1)
    lengths = np.linalg.norm(model.components_, axis=1)
    return float(
        judge.loss_.total(residuals) + judge.l1_ * codes.sum() + judge.beta_ * lengths.sum()
    )


def make(name: str, parameters: dict[str, Any], **more: Any) -> Any:
    return getattr(seminmf, name)(PARTS, **parameters, **more)


def against_fit(n: int, size: int = 1000) -> list[list[str]]:
    """A row for each model: J after the first batch, one pass and two, and the times."""
    rows = []
    for title, name, parameters, nonnegative in MODELS:
        quadratic = name in ("SemiNMF", "NMF")
        X, _ = samples(n, 0, 0.0 if quadratic else 0.05, nonnegative)
        make(name, parameters).fit(X[:size])  # compiles
        began = perf_counter()
        whole = make(name, parameters).fit(X)
        seconds = perf_counter() - began
        lowest = objective(whole, X, whole)
        model, spent, found = make(name, parameters), 0.0, []
        for number, several in enumerate(batches(X, size, 2)):
            for batch in several:
                began = perf_counter()
                model.partial_fit(batch)
                spent += perf_counter() - began
                if number == 0 and not found:
                    found.append(objective(model, X, whole))
            found.append(objective(model, X, whole))
        excess = [f"{100 * (value / lowest - 1):+.2f} %" for value in found]
        rows.append([title, *excess, f"{spent / 2 / seconds:.2f}"])
        print(rows[-1], flush=True)
    return rows


def by_size(n: int) -> list[list[str]]:
    """A row for each size of a batch: excess of J, and of its part of the ordinary samples."""
    X, far = samples(n, 0)
    whole = make("L21SemiNMF", MODELS[0][2], tol=1e-6, max_iter=2000).fit(X)
    lowest = [objective(whole, part, whole) for part in (X, X[~far])]
    rows = []
    for size in BATCHES:
        model = make("L21SemiNMF", MODELS[0][2])
        row = [f"{size:,}"]
        for several in batches(X, size, 2):
            for batch in several:
                model.partial_fit(batch)
            for part, value in zip((X, X[~far]), lowest, strict=True):
                row.append(f"{100 * (objective(model, part, whole) / value - 1):+.2f} %")
        rows.append(row)
        print(row, flush=True)
    return rows


def after_a_change(n: int) -> list[list[str]]:
    """A row for each factor: excess of J on samples of other parts that come later."""
    before, after = (samples(n, seed)[0] for seed in (1, 2))
    whole = make("L21SemiNMF", MODELS[0][2]).fit(after)
    lowest = objective(whole, after, whole)
    rows = []
    for factor in FORGETTING:
        model = make("L21SemiNMF", MODELS[0][2], forgetting=factor)
        for batch in next(batches(before, 1000, 1)):
            model.partial_fit(batch)
        row = [f"{factor:g}"]
        for number, batch in enumerate(next(batches(after, 1000, 1)), start=1):
            model.partial_fit(batch)
            if number in (5, n // 1000):
                row.append(f"{100 * (objective(model, after, whole) / lowest - 1):+.1f} %")
        rows.append(row)
        print(row, flush=True)
    return rows


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(n: int, few: int) -> str:
    models = table(
        ["model", "first batch alone", "one pass", "two passes", "time of a pass / fit"],
        against_fit(n),
    )
    sizes = table(
        ["samples in a batch", "one pass", "ordinary samples", "two passes", "ordinary samples"],
        by_size(few),
    )
    change = table(["`forgetting`", "5 batches later", f"{few // 1000} batches later"],
                   after_a_change(few))  # fmt: skip
    return f"""# Streams

`partial_fit` learns from samples batch by batch and does not keep them:

```python
import numpy as np
from seminmf import L21SemiNMF

rng = np.random.default_rng(0)
model = L21SemiNMF(n_components=3)
for _ in range(20):
    batch = rng.gamma(1, 1, (500, 3)) @ np.eye(3, 8) + 0.1 * rng.normal(size=(500, 8))
    model.partial_fit(batch)
model.components_, model.n_samples_seen_  # of all batches
model.codes_, model.residuals_  # of the last one
codes = model.transform(batch)
```

**What you get**

- It needs memory for one batch, and the time for a batch does not depend on how many came before.
- After a pass or two over samples in random order the objective is near that of `fit` without a
  graph (tables below).
- The loss weights each sample, so outliers in a batch count as little as in a fit.
- Models with a basis ≥ 0 keep it so. Equal batches in equal order give equal digits. A saved model
  can go on after `load`.
- After `fit`, `partial_fit` goes on from there: the samples of the fit count as if they had come
  before.

**What to keep in mind**

- Make the first batch large, and like the others: early batches are summed up with the basis of
  that time, and this is never done again.
- There is no graph: `alpha` counts as zero, and `beta` too unless there is a penalty on the codes
  (`l1`), because one penalty without the other only changes the scale; `alpha_` and `beta_` show
  it.
- `callback` and `checkpoint` are not used.

**Forgetting.** If the parts change with time, use for example `forgetting=0.95`: with each batch
all that came before counts 5 % less. The past is then worth about 20 batches, and the basis follows
the change.

**How it works.** The first batch is fitted as by `fit`, to the end. Of each batch only the sums
Xᵀ(d∘V) and Vᵀ(d∘V) are kept, m × k + k × k numbers for the whole past, with the codes V that are
best for the basis at that time and the weights d of the loss; the basis is the best one for these
sums (Mairal et al., *Online Learning for Matrix Factorization and Sparse Coding*, 2010). A basis
fits the samples that it was made of better than others, k of them exactly. So that those samples do
not hold it for ever, residuals shorter than the typical one of samples that it has not seen count
as that in the weights.

The tables are made by `python -m benchmarks.streams`.

## Against fit

{n:,} samples × {FEATURES} features, k = {PARTS}, batches of 1,000; 5 % of the samples are
outliers for the robust models, none for least squares. The columns say how far the objective, with
the best code for each sample, is above that of `fit` with its defaults (negative: below it), and
how long a pass takes compared with `fit`.

{models}

## Size of a batch

{few:,} samples, `L21SemiNMF`: how far the objective is above that of a fit to `tol=1e-6`, of all
samples and of the ordinary ones alone, which are no outliers.

{sizes}

## Streams that change

{few:,} samples of some parts, then as many of others, in batches of 1,000. How far the
objective of the later samples is above that of `fit` to them:

{change}
"""


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few samples; prints the page")
    quick = parser.parse_args().quick
    text = page(5_000, 5_000) if quick else page(100_000, 20_000)
    if quick:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
