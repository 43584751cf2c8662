"""Do outlier scores find outliers? ``python -m benchmarks.panel_outliers``.

Labelled sets of many fields are spoilt in five ways (`seminmf.datasets.add_outliers`), and scores
are compared by the area under the ROC curve: those of `L21SemiNMF` with a graph and without, the
residuals of its fit, and what one would use instead. On the sets as they are, and on made data
without outliers, the share of samples beyond `outlier_threshold` is counted. Every measurement is a
row of ``docs/outliers.csv``; the page ``docs/outliers.md`` is made from the rows alone
(``--page-only``). After a change of the scores ``--ours`` measures those and keeps the rows of what
one would use instead. ``--fresh`` measures sets by which nothing of the scores was chosen, keeping
all other rows: the tables of KEEL (``keel``), or half of the collection (``A``, ``B``), where A may
be looked at by who wants to change something, and B is scored when that is done. Where these come
from is in `panel.sets` and `panel.collection`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from threadpoolctl import threadpool_limits

from seminmf import L21SemiNMF, outlier_threshold
from seminmf import outliers as rule
from seminmf.datasets import add_outliers

from .panel import collection
from .panel.sets import KEEL, table
from .sweeps.quality import labelled

DOCS = Path(__file__).parent.parent / "docs"
ROWS, PAGE = DOCS / "outliers.csv", DOCS / "outliers.md"
SHARES = (0.05, 0.1, 0.2, 0.4)
KINDS = {"gross": 5.0, "scaled": 4.0, "noise": 1.0, "swapped": 1.0, "grouped": 5.0}
TARGETS = {"gross": 0.99, "scaled": 0.98, "noise": 0.97, "swapped": 0.89}
MOST_SAMPLES = 800
OURS, ALONE, FIT = "outlier_scores", "the same without a graph", "residuals_ of the fit"
BASELINES = ("IsolationForest", "LOF", "PCA error", "distance from the median")
# How many times as many samples as expected lie beyond the threshold, and the degrees of freedom of
# the longest tail. The first is what `outlier_threshold` takes; all are counted where this share
# are outliers.
THRESHOLDS = ((5.0, 3.0), (3.0, 3.0), (10.0, 3.0), (5.0, 2.0), (5.0, 4.0), (5.0, 6.0), (10.0, 4.0),
              (10.0, 6.0), (20.0, 4.0), (20.0, 6.0))  # fmt: skip
COUNTED = 0.1
# Sets by which nothing was chosen, and the shares of outliers on them.
FRESH = {"keel": tuple(KEEL), **collection.NAMES}
FRESH_SHARES = {"keel": (COUNTED,), "A": SHARES, "B": SHARES}
# So many of the others may lie beyond a threshold that is chosen.
MOST_BEYOND = 0.01

Array = np.ndarray[Any, Any]


def baselines(X: Array, k: int) -> dict[str, Array]:
    """What one would use instead."""
    forest = IsolationForest(random_state=0).fit(X)
    local = LocalOutlierFactor(min(20, len(X) - 1)).fit(X)
    axes = PCA(min(k, *X.shape), random_state=0).fit(X)
    back = axes.inverse_transform(axes.transform(X))
    found = (
        -forest.score_samples(X),
        -local.negative_outlier_factor_,
        np.linalg.norm(X - back, axis=1),
        np.linalg.norm(X - np.median(X, axis=0), axis=1),
    )
    return dict(zip(BASELINES, found, strict=True))


def described(times: float, freedom: float) -> str:
    """A threshold."""
    return f"{times:g} times, {freedom:g} degrees"


def alone(X: Array, k: int) -> Array:
    """Scores of the model without a graph."""
    return L21SemiNMF(k, strength=0.0, random_state=0).fit(X).outlier_scores(X)


def beyond(scores: Array, odd: Array, method: str) -> Iterator[dict[str, object]]:
    """The shares of the outliers, if there are any, and of the others beyond the threshold."""
    found = scores > outlier_threshold(scores)
    for measure, chosen in (("outliers beyond", odd), ("others beyond", ~odd)):
        if chosen.any():
            yield {"measure": measure, "method": method, "value": found[chosen].mean()}


def counts(scores: Array, odd: Array) -> Iterator[dict[str, object]]:
    """The shares of the outliers, if there are any, and of the others beyond each threshold."""
    for times, freedom in THRESHOLDS:
        with patch.multiple(rule, _TIMES=times, _LONGEST_TAIL=freedom):
            beyond = scores > outlier_threshold(scores)
        method = described(times, freedom)
        for measure, chosen in (("outliers counted", odd), ("others counted", ~odd)):
            if chosen.any():
                yield {"measure": measure, "method": method, "value": beyond[chosen].mean()}


def sets(seed: int) -> Iterator[tuple[str, int, Array]]:
    """(name, k, X): labelled sets, with as many parts as classes."""
    for name, _, X, y in labelled(False):
        if name in KEEL:
            continue
        kept = np.random.default_rng(seed).permutation(len(X))[:MOST_SAMPLES]
        yield name, len(np.unique(y)), np.ascontiguousarray(X[np.sort(kept)], np.float64)


def prefix(group: str) -> str:
    """What the names of sets by which nothing was chosen begin with in the rows."""
    return "KEEL: " if group == "keel" else f"half {group}: "


def fresh(seed: int, group: str) -> Iterator[tuple[str, int, Array]]:
    """(name, k, X): sets by which nothing of the scores was chosen."""
    for name in FRESH[group]:
        X, y = table(name)
        kept = np.sort(np.random.default_rng(seed).permutation(len(X))[:MOST_SAMPLES])
        yield prefix(group) + name, len(np.unique(y)), np.ascontiguousarray(X[kept], np.float64)


def made(seed: int) -> Iterator[tuple[str, int, Array]]:
    """Data without outliers: noise of four distributions, with five parts in it and without."""
    rng = np.random.default_rng(seed)
    for n, m in ((500, 5), (500, 20), (300, 100), (200, 500)):
        noises = {
            "normal": rng.normal(size=(n, m)),
            "Laplace": rng.laplace(size=(n, m)),
            "t, 5 degrees": rng.standard_t(5, (n, m)),
            "t, 5 degrees, by samples": rng.normal(size=(n, m)) * rng.chisquare(5, (n, 1)) ** -0.5,
        }
        for name, noise in noises.items():
            codes = rng.gamma(1, 1, (n, 5)) * (rng.random((n, 5)) < 0.6)
            parts = codes @ rng.normal(size=(5, m))
            for strength in (0.0, 3.0):
                yield f"made: {name}", 5 if m > 5 else 3, noise + strength * noise.std() * parts


def numbers_of_parts(seed: int) -> Iterator[tuple[str, int, Array]]:
    """Normal noise, of which parts explain little or everything."""
    rng = np.random.default_rng(seed)
    for m in (3, 10, 30):
        X = rng.normal(size=(300, m))
        parts = {"one": 1, "one fewer than features": m - 1, "as many as features": m}
        for name, k in {**parts, "a third of the features": m // 3}.items():
            yield f"made: normal, parts: {name}", k, X


def planted(seed: int) -> Iterator[tuple[str, int, Array]]:
    """Sparse uses of five parts, with noise of some share of the spread of the rest."""
    rng = np.random.default_rng(seed)
    for share in (0.1, 0.5, 1.0):
        codes = rng.gamma(1, 1, (300, 5)) * (rng.random((300, 5)) < 0.4)
        X = codes @ rng.normal(size=(5, 50))
        yield f"parts, noise {share}", 5, X + share * X.std() * rng.normal(size=X.shape)


def measure(
    seed: int, tables: list[tuple[str, int, Array]], shares: tuple[float, ...], ours_alone: bool
) -> Iterator[dict[str, object]]:
    """One row for each number that was found, by the model with a graph or by all."""
    for name, k, X in tables:
        about = {"data": name, "samples": len(X), "features": X.shape[1], "parts": k}
        about["seed"] = seed
        clean = {**about, "kind": "none", "share": 0.0}
        nothing = np.zeros(len(X), np.bool_)
        if not ours_alone:
            yield from (clean | row for row in beyond(alone(X, k), nothing, ALONE))
        scores = L21SemiNMF(k, random_state=0).fit(X).outlier_scores(X)
        yield from (clean | row for row in beyond(scores, nothing, OURS))
        if name.startswith("made"):
            continue
        yield from (clean | row for row in counts(scores, nothing))
        for kind, scale in KINDS.items():
            for share in shares:
                case = {**about, "kind": kind, "share": share}
                bad, odd = add_outliers(X, share, scale, random_state=seed, kind=kind)
                yield from (case | row for row in found(bad, odd, k, share == COUNTED, ours_alone))
        print(seed, name, flush=True)


def found(
    X: Array, odd: Array, k: int, counted: bool, ours_alone: bool
) -> Iterator[dict[str, object]]:
    """All methods on one spoilt set."""
    model = L21SemiNMF(k, random_state=0).fit(X)
    scores = model.outlier_scores(X)
    by_method = {OURS: scores, FIT: model.residuals_}
    if not ours_alone:
        by_method |= {ALONE: alone(X, k)} | baselines(X, k)
    for method, values in by_method.items():
        yield {"measure": "auc", "method": method, "value": roc_auc_score(odd, values)}
    yield from beyond(scores, odd, OURS)
    if counted:
        if not ours_alone:
            yield from beyond(by_method[ALONE], odd, ALONE)
        yield from counts(scores, odd)


def cell(value: float, best: bool) -> str:
    return f"**{value:.3f}**" if best else f"{value:.3f}"


def is_fresh(rows: pd.DataFrame, *groups: str) -> Any:
    """Which rows are of sets by which nothing was chosen, of some groups of them or of all."""
    return rows["data"].str.startswith(tuple(map(prefix, groups or FRESH)))


def of_parts(rows: pd.DataFrame) -> Any:
    """Which rows are of data made of parts."""
    return rows["data"].str.startswith("parts")


def without_outliers(rows: pd.DataFrame, method: str = OURS) -> pd.DataFrame:
    """What lies beyond the threshold where there are no outliers."""
    return rows[(rows["kind"] == "none") & (rows["method"] == method)]


def auc_table(rows: pd.DataFrame, wanted: dict[str, float]) -> str:
    """Mean over sets, shares and seeds."""
    auc = rows[rows["measure"] == "auc"]
    means = auc.pivot_table(index="method", columns="kind", values="value")[list(KINDS)]
    means = means.loc[[OURS, ALONE, FIT, *BASELINES]]
    best = means.max()
    lines = ["| | " + " | ".join(KINDS) + " |", "| --- |" + " ---: |" * len(KINDS)]
    for method, row in means.iterrows():
        cells = [cell(row[kind], row[kind] >= best[kind] - 5e-4) for kind in KINDS]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    if wanted:
        cells = [f"{wanted[kind]:.2f}" if kind in wanted else "–" for kind in KINDS]
        lines.append("| *wanted* | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def shares_table(rows: pd.DataFrame) -> str:
    """The scores of the model by the share of outliers, and what lies beyond the threshold."""
    lines = [
        "| outliers | kind | AUC | best of the others | found | others beyond |",
        "| ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for share in SHARES:
        for kind in KINDS:
            here = rows[(rows["share"] == share) & (rows["kind"] == kind)]
            means = here.groupby(["measure", "method"])["value"].mean()
            rival = max(BASELINES, key=lambda name: means["auc", name])
            lines.append(
                f"| {share:.0%} | {kind} | {means['auc', OURS]:.3f} | {means['auc', rival]:.3f} "
                f"({rival}) | {means['outliers beyond', OURS]:.0%} | "
                f"{means['others beyond', OURS]:.1%} |"
            )
    return "\n".join(lines)


def sets_table(rows: pd.DataFrame) -> str:
    """By data set."""
    auc = rows[(rows["measure"] == "auc") & (rows["method"] == OURS)]
    means = auc.pivot_table(index="data", columns="kind", values="value", sort=False)
    clean = without_outliers(rows).groupby("data")["value"].mean()
    sizes = rows.groupby("data")[["samples", "features", "parts"]].first()
    lines = [
        "| data | n × m, k | " + " | ".join(KINDS) + " | beyond on clean data |",
        "| --- | --- |" + " ---: |" * (len(KINDS) + 1),
    ]
    for name, row in means.iterrows():
        n, m, k = sizes.loc[name]
        cells = " | ".join(f"{row[kind]:.3f}" for kind in KINDS)
        lines.append(f"| {name} | {n} × {m}, {k} | {cells} | {clean[name]:.1%} |")
    return "\n".join(lines)


def clean_table(rows: pd.DataFrame) -> str:
    """Samples beyond the threshold where there are no outliers, with a graph and without."""
    columns = pd.DataFrame({
        method: without_outliers(rows, method).groupby("data")["value"].mean()
        for method in (OURS, ALONE)
    })  # fmt: skip
    is_made = columns.index.str.startswith("made")
    real = columns[~is_made & ~columns.index.str.startswith("parts")]
    lines = ["| data without outliers | beyond the threshold | without a graph |"]
    lines.append("| --- | ---: | ---: |")
    lines += [row_of(name, values, "{:.2%}") for name, values in columns[is_made].iterrows()]
    lines.append(row_of("labelled sets, mean", real.mean(), "{:.2%}"))
    lines.append(row_of("labelled sets, median", real.median(), "{:.2%}"))
    most = [f"{real[method].max():.2%} ({real[method].idxmax()})" for method in columns]
    lines.append(row_of("labelled sets, most", most, "{}"))
    none = [f"{count} of {len(real)}" for count in (real == 0).sum()]
    lines.append(row_of("labelled sets without any beyond", none, "{}"))
    return "\n".join(lines)


def row_of(name: object, values: Iterable[Any], how: str) -> str:
    return f"| {name} | " + " | ".join(map(how.format, values)) + " |"


def found_alone(rows: pd.DataFrame) -> str:
    """Of the outliers, with a graph and without."""
    here = rows[(rows["share"] == COUNTED) & (rows["measure"] == "outliers beyond")]
    means = here.groupby(["method", "kind"])["value"].mean()
    return ", ".join(f"{means[ALONE, kind]:.0%} {kind} ({means[OURS, kind]:.0%})" for kind in KINDS)


def fresh_part(rows: pd.DataFrame, group: str) -> str:
    """How scores and threshold do on sets by which nothing was chosen."""
    rows = rows[is_fresh(rows, group)]
    beyond = without_outliers(rows).groupby("data")["value"].mean()
    counted = rows[rows["method"] == OURS]
    gross = counted[(counted["kind"] == "gross") & (counted["measure"] == "outliers beyond")]
    gross = gross[gross["share"] < SHARES[-1]]
    worst, found = beyond.idxmax().removeprefix(prefix(group)), gross["value"].mean()
    return f"""\
{auc_table(rows, {})}

Without outliers {beyond.mean():.1%} of the samples lie beyond the threshold (median
{beyond.median():.1%}; most in {worst}, {beyond.max():.1%}; none in {(beyond == 0).sum()} of the
{beyond.size} sets). Of gross outliers {found:.0%} do where they are at most a fifth.
"""


def halves(rows: pd.DataFrame) -> str:
    """The same for each half of the collection that has rows."""
    parts = [
        f"""\
Half {group} of [the collection](panel.md#held-out-sets), {here["data"].nunique()} sets,
{SHARES[0]:.0%} to {SHARES[-1]:.0%} of outliers:

{fresh_part(here, group)}"""
        for group in collection.NAMES
        if len(here := rows[is_fresh(rows, group)])
    ]
    return "\n".join(parts)


def left_out(rows: pd.DataFrame) -> str:
    """What the threshold is worth on sets that had no say in it."""
    beyond = rows[rows["kind"] == "none"].query("measure == 'others counted'")
    beyond = beyond.pivot_table(index="data", columns="method", values="value")
    counted = rows[rows["measure"] == "outliers counted"]
    by_kind = counted.pivot_table(index=["kind", "data"], columns="method", values="value")
    every = by_kind.groupby("data").mean()
    chosen = {}
    for name in beyond.index:
        others = beyond.drop(index=name).mean()
        few = others.index[others <= MOST_BEYOND]
        chosen[name] = every.drop(index=name)[few].mean().idxmax()

    def scored(picks: dict[Any, str]) -> str:
        false = np.mean([beyond.loc[name, how] for name, how in picks.items()])
        kinds = {
            kind: np.mean([by_kind.loc[(kind, name), how] for name, how in picks.items()])
            for kind in KINDS
        }
        shares = ", ".join(f"{value:.0%} {kind}" for kind, value in kinds.items())
        return f"{false:.1%} of the samples without outliers lie beyond, and of outliers {shares}"

    present = described(*THRESHOLDS[0])
    times = pd.Series(list(chosen.values())).value_counts()
    picks = "; ".join(f"{how} ({count} of {len(chosen)})" for how, count in times.items())
    return f"""\
The two numbers of the threshold (five times, three degrees) were chosen on these sets. To see how
much that flatters the results, each set was left out in turn: of {len(THRESHOLDS)} pairs that one
was taken which finds the most outliers on the other sets ({COUNTED:.0%} of each kind) with at most
{MOST_BEYOND:.1%} of the samples beyond without outliers, and scored on the set left out. With pairs
chosen like this {scored(chosen)}.
The pairs chosen were {picks}.
With the numbers as they are {scored(dict.fromkeys(chosen, present))}.
"""


def page(rows: pd.DataFrame) -> str:
    """The page from the rows."""
    unseen, rows = rows[is_fresh(rows)], rows[~is_fresh(rows)]
    every, rows = rows, rows[~of_parts(rows)]
    count = rows[rows["measure"] == "auc"]["data"].nunique()
    return f"""\
# Outliers

```python
from seminmf import L21SemiNMF, outlier_threshold
from seminmf.datasets import add_outliers, make_waveform

X, _ = make_waveform(500, random_state=0)
X, corrupted = add_outliers(X, fraction=0.1, random_state=0)
model = L21SemiNMF(n_components=6, random_state=0).fit(X)
scores = model.outlier_scores(X)  # higher is farther out
outliers = scores > outlier_threshold(scores)
```

Do not use `residuals_` for this. They tell how well samples are fitted, but with many parts and few
samples an outlier gets a part of its own, and then its residual is zero. `outlier_scores` predicts
each sample from the *others* and measures how far it is from the prediction.

## What to know before you use them

- **Groups** of outliers are found while they are fewer than half of the samples and farther away
  than the data are wide. A nearer group is not found, and a small class that lies far from all
  others is called outlying: from the data alone the two cannot be told apart.
- **New samples** are compared with the parts, or with the neighbours, of the training samples that
  are not too far out. A model with a graph recognizes each of its training samples; one without a
  graph recognizes them only if it is given all of them.
- **False alarms**: with normal, uniform or Laplace errors less than 1 % of the samples lie beyond
  the threshold, and less than 2 % of fewer than 100 samples (`tests/test_outliers.py`). Real data
  have long tails and small groups far from the others; which of these are outliers only their owner
  can say. The tables below show how many samples lie beyond the threshold in sets without outliers.
- **Mild outliers** (noise, swapped values) do not all lie apart from the other samples. Of 40 % of
  them few do, because then they are what is usual. In that case rank the samples by score, and
  look.

## How the scores are made

A sample can be predicted from the others in two ways:

- **by parts** that have not seen it. The samples are divided into five folds. With the codes and
  the weights of the fit, the best parts of the other four folds solve normal equations (all five
  from one product with X), and the samples left out get codes by non-negative least squares. (If
  some samples are not used for predictions, see below, this is done once before for all.)
- **by neighbours**: the mean of the nearest other samples, in a model with a graph. Up to 10,000
  samples these are the nearest in all features, because outliers may differ in directions that
  the graph, made in the leading ones, does not see.

Which of the two is used is decided once for a training set, by a trial. Copies of 50 of its samples
are spoilt, once by values from other samples, so that they no longer belong together, and once by
doubling them; the way whose scores separate them better from the samples is used. Where parts
describe the data well, samples lie nearer to them than to each other. With as many parts as
features, parts describe anything, and are not tried.

**With a graph** the model holds its samples, and so knows how the errors of such predictions
spread: little in some directions, widely in others. Its scores are Mahalanobis lengths: an error
counts more, the rarer it is in its direction. The scatter is Tyler's, of up to 200 samples, mixed
with a tenth of the identity, and leaves out what a sample has itself contributed; its trace is that
of the identity, so that scores keep the unit of the data. **Without a graph** a model knows neither
neighbours nor the errors of other samples: its scores are lengths of errors, by parts.

**Far samples** are scored like all others, but no sample is predicted from them, because outliers
that lie close together would otherwise predict each other, as parts and as neighbours. A sample is
far if its distance from the median of the data is three deviations more than is usual, estimated
from the shortest half of the distances, which 40 % of outliers hardly move.

## How the threshold is found

The threshold is the lowest score beyond which there are five times as many samples as expected
without outliers, so that at most about one in five of the samples beyond it is there by chance.
With one outlier the threshold is high, with many it is low.

What to expect follows from the cube roots of the scores, which are nearly symmetric. Their middle
and their spread are those of the shortest interval that holds half of them, which hardly moves
while less than half of the samples are outliers; their tails are taken to be those of Student's t.
Scores that sum up many directions are nearly alike and have short tails, scores of few directions
have long ones: t gets as many degrees of freedom as there would be normal numbers whose length
spreads like the scores, and at least three.

A higher threshold would let fewer ordinary samples through, but miss more of the outliers that lie
just outside: scores of data with long tails and those of mild outliers look the same.

## What was measured

The page is made by `python -m benchmarks.panel_outliers`; every number comes from the rows of
[outliers.csv](outliers.csv).

{count} labelled sets were used (at most {MOST_SAMPLES} samples, centred or standardized as
[the page of the panel](panel.md) says), with as many parts as classes and defaults otherwise.
Of the samples 5, 10, 20 and 40 % were made outliers by `seminmf.datasets.add_outliers`:

- *gross*: moved by 5 typical lengths in random directions
- *scaled*: multiplied by 4
- *noise*: noise as long as a typical sample is added
- *swapped*: the values of the sample change places among the features
- *grouped*: moved to one place

Area under the ROC curve (AUC), mean over sets, shares of outliers and seeds; *wanted* is our
target:

{auc_table(rows, TARGETS)}

On made data with known parts (300 samples of 50 features, each a sum of a few of five parts, noise
of 0.1, 0.5 and 1 of their spread):

{auc_table(every[of_parts(every)], {})}

Swapped values cannot be found in tables of a few features that are alike; see the sets below.

By the share of outliers. *Found* is the share of the outliers that lie beyond the threshold,
*others beyond* that of the other samples:

{shares_table(rows)}

Samples beyond the threshold where there are no outliers. The made data are noise of the
distributions named, without parts and with five parts whose codes have long tails, and normal noise
of 3, 10 and 30 features, factorized with the number of parts named:

{clean_table(rows)}

**Models without a graph** (a strength of zero here; `NMF` and `SemiNMF` in
`tests/test_outliers.py`). On normal noise less than 1 % of the samples lie beyond the threshold,
with any number of parts from one to as many as features. With as many parts as features, the
samples between the parts are predicted exactly; their scores are zero, and the threshold is
computed from the others. More is not promised: these scores know the parts alone. If there are
fewer parts than the data have, what is missing is part of the errors, and its long tails and small
groups lie beyond the threshold. With as many parts as features few outliers are found. Share of the
outliers beyond the threshold where {COUNTED:.0%} are outliers, and in brackets with a graph:
{found_alone(rows)}.
Requiring that samples are also far from the median, by the same threshold, gave fewer false alarms,
but missed half of the noise and nearly all swapped samples that are now found (in a trial that no
script of the repository repeats).

{left_out(rows)}
## Held-out sets

The {len(KEEL)} tables of KEEL were not used in the development of the scores, but forms of the
threshold were compared on them too. With {COUNTED:.0%} of outliers:

{fresh_part(unseen, "keel")}
{halves(unseen)}
IsolationForest is better at ranking samples that are merely longer. Where samples differ much in
length, like bursts in time series, a long one lies in a direction in which errors are common, and
such errors count less in our scores; that is also what finds noise and swapped values.

Other ways were tried on half A and the panel and not adopted (no script of the repository repeats
these trials). Ways that give more weight to length found more scaled samples and missed more noise
and swapped values: plain lengths, a scatter with more of the identity, the larger of two scores or
their mean, and errors away from the middle by their plain length. Counting copies of a sample among
its neighbours found more swapped values in tables of few different rows, and fewer scaled samples,
whose copies predict each other.

What scores cost beside the bare fit is on [the page of the panel](panel.md#what-it-costs).

## By data set

AUC of `outlier_scores`, mean over shares of outliers and seeds; in the last column the samples
beyond the threshold where there are no outliers:

{sets_table(every)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--ours", action="store_true")
    only.add_argument("--fresh", choices=FRESH)
    only.add_argument("--page-only", action="store_true")
    options = parser.parse_args()
    if not options.page_only:
        found: list[dict[str, object]] = []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for seed in range(options.seeds):
                if options.fresh:
                    tables, shares = list(fresh(seed, options.fresh)), FRESH_SHARES[options.fresh]
                    every = measure(seed, tables, shares, False)
                    # Other thresholds are not chosen by these either.
                    found += (row for row in every if "counted" not in str(row["measure"]))
                else:
                    known = [*sets(seed), *planted(seed), *made(seed), *numbers_of_parts(seed)]
                    found += measure(seed, known, SHARES, options.ours)
        before = pd.read_csv(ROWS)
        kept = ~is_fresh(before, options.fresh) if options.fresh else is_fresh(before)
        if options.ours:
            kept |= before["method"].isin([ALONE, *BASELINES])
        rows = pd.concat([pd.DataFrame(found), before[kept]])
        rows.to_csv(ROWS, index=False, float_format="%.6g")
    PAGE.write_text(page(pd.read_csv(ROWS)), encoding="utf-8")


if __name__ == "__main__":
    main()
