"""The tables of the clusters, from the rows alone."""

from __future__ import annotations

import dataclasses

import pandas as pd
from scipy.stats import wilcoxon

from . import collection
from .clusters import BASELINES, CHOICES, FRACTION, KMEANS, OTHERS, OURS, SPOILT, UNSEEN
from .rows import Row
from .sets import CLEAN, KINDS

SCORES = ["ACC", "NMI", "ARI"]
# Two methods are level on a set if their ACC differs by less.
_LEVEL = 1.0
_SMOOTHING = "smoothing"
_READING = "reconstructions, refined"
# What is a large loss of ACC.
_LARGE = 3.0
_INTRO = """\
## Clusters

{sets} data sets, {runs} random subsets of 90 % each, as many clusters as classes; all scores in
percent, means over sets.

- *ACC* uses the labels that clusters get by majority vote, *matched* the best one-to-one match of
  clusters and classes. *NMI* is divided by the larger entropy.
- *Against* a baseline: sets won, tied and lost by ACC (a tie is less than {level:g} point), and p
  of Wilcoxon's signed-rank test over sets of ACC + NMI + ARI.
- *Worst* is the largest loss of ACC to k-means of X on any set.
- *Smoothing* averages each sample of X with its 5 nearest, twice, and then runs k-means; with a
  *fence*, samples farther from the median than so many deviations are left out of the averages and
  centres.
- scikit-learn's NMF is given features shifted to a minimum of zero; Gaussian mixtures are given as
  many leading directions as there are samples for.
"""
_OUTLIERS = """\
## Clusters of data with outliers

{share:.0f} % of the samples are made outliers: {kinds}.

ACC of the other samples, means over sets:
"""
_CHOICES = """\
## Strength and metric

How much depends on the strength, and on what k-means is applied to. ACC / NMI / ARI, means over
the clean sets, and in brackets the largest loss of ACC to k-means of X on any set. *Codes* is
k-means of V (the paper's procedure); *reconstructions* is k-means of V(UᵀU)^½, which is the same as
that of V Uᵀ; *refined* is `refine=True`. Strength *auto* is in proportion to what can be explained
of a set, *× 2* is twice that. The default is auto, reconstructions, refined.
"""
_COLLECTION = """\
## Held-out sets

Labelled sets from packages of Python and R: genes, spectra, time series, speech, texts and small
tables (`benchmarks/panel/collection.py` lists them and says how to install them). They were
collected after all choices had been made, and split in two by their names, not by their content:
half A may be used to try changes; half B is scored when a change is done.

{runs} subsets of each; the first of them also with outliers as above, where ACC is that of the
other samples. *Lost* counts and names the sets with more than {large:g} points of ACC less than
k-means of X.

One change was tried: to cluster the samples as they are, drawn in beyond 1.5 times the
usual distance, instead of reconstructions with what neighbours share of the rest. It was better on
half A, mostly because of one set, but neither on half B nor on the panel, and worse with outliers.
It was not adopted.
"""
_LEFT_OUT = """\
Leaving sets out: for each set, the choice with the largest ACC + NMI + ARI on the other sets is
scored on this one.
"""


def section(rows: list[Row]) -> str:
    """All tables, as Markdown."""
    table = pd.DataFrame([dataclasses.asdict(row) for row in rows])
    means = table.groupby(["kind", "method", "data"])[[*SCORES, "matched"]].mean()
    clean = means.loc[CLEAN]
    parts = [
        _INTRO.format(sets=table["data"].nunique(), runs=table["run"].nunique(), level=_LEVEL),
        _comparison(clean),
        _OUTLIERS.format(
            share=100 * FRACTION, kinds="; ".join(f"*{k}*: {KINDS[k]}" for k in SPOILT)
        ),
        _spoilt(means),
        _CHOICES,
        _choices(clean),
        _LEFT_OUT,
        *(
            _left_out(clean, model, reading)
            for model in ("L21SemiNMF", "GraphSemiNMF")
            for reading in (_READING, "")
        ),
        "\n## ACC on each set\n",
        _sets(clean),
    ]
    return "\n".join(parts)


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _head(*names: str) -> list[str]:
    return [_line(*names), "| --- |" + " ---: |" * (len(names) - 1)]


def _triple(scores: pd.Series) -> str:
    return " / ".join(f"{scores[name]:.1f}" for name in SCORES)


def _against(one: pd.DataFrame, other: pd.DataFrame) -> str:
    difference = one["ACC"] - other["ACC"]
    wins, losses = int((difference >= _LEVEL).sum()), int((difference <= -_LEVEL).sum())
    p = wilcoxon((one[SCORES] - other[SCORES]).sum(axis=1)).pvalue
    return f"{wins}/{len(difference) - wins - losses}/{losses}, p = {p:.2g}"


def _comparison(clean: pd.DataFrame) -> str:
    lines = _head(
        "method", "ACC / NMI / ARI", "their sum", "matched", "against k-means",
        "against smoothing", "worst",
    )  # fmt: skip
    raw, smooth = clean.loc[KMEANS], clean.loc[_SMOOTHING]
    for method in (OURS, *OTHERS, *BASELINES):
        scores = clean.loc[method]
        mean = scores.mean()
        lines.append(
            _line(
                f"**{method}**" if method == OURS else method,
                _triple(mean),
                f"{mean[SCORES].sum():.1f}",
                f"{mean['matched']:.1f}",
                "" if method == KMEANS else _against(scores, raw),
                "" if method == _SMOOTHING else _against(scores, smooth),
                f"{(scores['ACC'] - raw['ACC']).min():.1f}",
            )
        )
    return "\n".join(lines) + "\n"


def _spoilt(means: pd.DataFrame) -> str:
    lines = _head("method", *SPOILT, "mean")
    for method in (OURS, *OTHERS, *BASELINES):
        acc = [means.loc[(kind, method), "ACC"].mean() for kind in SPOILT]
        cells = (f"{value:.1f}" for value in (*acc, sum(acc) / len(acc)))
        lines.append(_line(f"**{method}**" if method == OURS else method, *cells))
    return "\n".join(lines) + "\n"


def _choices(clean: pd.DataFrame) -> str:
    names = pd.DataFrame(
        [name.split(", ", 2) for name in CHOICES], columns=["model", "strength", "reading"]
    )
    readings = list(names["reading"].unique())
    lines = _head("model, strength", *readings)
    for model, strength in names[["model", "strength"]].drop_duplicates().itertuples(index=False):
        names_of = [f"{model}, {strength}, {reading}" for reading in readings]
        cells = (_with_loss(clean, name) if name in CHOICES else "" for name in names_of)
        lines.append(_line(f"{model}, {strength}", *cells))
    return "\n".join(lines) + "\n"


def _with_loss(clean: pd.DataFrame, method: str) -> str:
    """Mean scores, and the largest loss to k-means."""
    scores = clean.loc[method]
    loss = (scores["ACC"] - clean.loc[KMEANS, "ACC"]).min()
    return f"{_triple(scores.mean())} ({loss:.1f})"


def _left_out(clean: pd.DataFrame, model: str, reading: str) -> str:
    """What is chosen without a set, scored on it; of all readings if none is given."""
    candidates = [name for name in CHOICES if name.startswith(model) and name.endswith(reading)]
    by_set = clean.loc[candidates, SCORES]
    total = by_set.sum(axis=1).unstack("method")[candidates]
    chosen = {name: total.drop(index=name).mean().idxmax() for name in total.index}
    scored = pd.DataFrame([by_set.loc[method, name] for name, method in chosen.items()])
    counts = pd.Series(list(chosen.values())).value_counts()
    picks = "; ".join(
        f"{name.removeprefix(f'{model}, ').removesuffix(f', {reading}')} ({count} of {len(chosen)})"
        for name, count in counts.items()
    )
    what = f"strength, for {reading}" if reading else "strength and metric"
    return f"- `{model}`, {what}: {_triple(scored.mean())}; chosen were {picks}."


def _sets(clean: pd.DataFrame) -> str:
    methods = (OURS, *OTHERS, *BASELINES)
    lines = _head("data", *methods)
    acc = clean["ACC"].unstack("method")
    for name in acc.index:
        lines.append(_line(name, *(f"{acc.loc[name, method]:.1f}" for method in methods)))
    return "\n".join(lines) + "\n"


def unseen(rows: list[Row]) -> str:
    """The tables of the collection, of the halves that have rows."""
    table = pd.DataFrame([dataclasses.asdict(row) for row in rows])
    parts = [_COLLECTION.format(runs=table["run"].nunique(), large=_LARGE)]
    for half, names in collection.NAMES.items():
        mine = table[table["data"].isin(names)]
        if mine.empty:
            continue
        means = mine.groupby(["kind", "method", "data"])[[*SCORES, "matched"]].mean()
        parts += [f"\n### Half {half}: {mine['data'].nunique()} sets\n", _half(means)]
    return "\n".join(parts) + "\n"


def _half(means: pd.DataFrame) -> str:
    clean = means.loc[CLEAN]
    lines = _head(
        "method", "ACC / NMI / ARI", "their sum", "against k-means", "against smoothing", *SPOILT,
        "lost",
    )  # fmt: skip
    for method in UNSEEN:
        scores = clean.loc[method]
        difference = scores["ACC"] - clean.loc[KMEANS, "ACC"]
        lost = difference[difference < -_LARGE].sort_values()
        spoilt = [
            f"{means.loc[(kind, method), 'ACC'].mean():.1f}" if kind in means.index else ""
            for kind in SPOILT
        ]
        lines.append(
            _line(
                f"**{method}**" if method == OURS else method,
                _triple(scores.mean()),
                f"{scores[SCORES].mean().sum():.1f}",
                "" if method == KMEANS else _against(scores, clean.loc[KMEANS]),
                "" if method == _SMOOTHING else _against(scores, clean.loc[_SMOOTHING]),
                *spoilt,
                f"{len(lost)}: " + ", ".join(f"{name} {loss:.1f}" for name, loss in lost.items())
                if len(lost)
                else "0",
            )
        )
    return "\n".join(lines)
