"""The page "How many parts?" from the rows of `benchmarks.selection`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "how-many.md"
Rows = dict[tuple[str, str], dict[str, float]]
Cases = dict[str, dict[str, float]]

_HEAD = """\
# How many parts?

Made by `python -m benchmarks.selection` from the rows in `docs/selection.csv`; times are processor
seconds of one thread.

```python
from seminmf.selection import choose_components

choice = choose_components(X, random_state=0)
choice.n_components, choice.interval, choice.reason
```

Blocks of samples × features are left out and foretold from the rest: a factorization of what
stays in gives the parts, least squares continues them to the features left out, and non-negative
least squares finds the codes of the samples left out. With too few parts something is missing;
with too many, codes follow the noise. Samples that nothing foretells are outliers and have no
say. The number is the smallest whose error is within one standard error of the best, and the
interval holds those within two. If nobody says which numbers to try (`range(2, 13)` as a second
argument does), they are 1 to 20, and go on to 60 as long as the interval reaches their end, or to
as many as the features can tell apart: two of three that stay in. `seminmf tune table.csv --k 2:30
--out tuned` draws the curve, `seminmf fit -k auto` takes the number.

`SemiNMFSelector` adds the strength and the stability, `regularization_path` fits with 20
strengths, `stability` fits to subsamples and makes the consensus a model.

**What not to expect.** Parts are not classes: a class may be a sum of several parts, and two
classes may share one. Where the error falls on and on, as for images, there is no number to find;
the choice then says that its number is the most that was tried, and that the data support more.
`score`, what new samples have
explained, rises with the number of parts whatever the data are, and falls with strength: choose
neither by it.
"""


def page(rows: Rows) -> str:
    sections = [_HEAD]
    for name, write in _SECTIONS.items():
        cases = {case: values for (table, case), values in rows.items() if table == name}
        if cases:
            sections.append(write(cases))
    return "\n".join(sections)


def _table(head: str, lines: list[str]) -> str:
    columns = head.count("|") + 1
    rule = "| --- |" + " ---: |" * (columns - 1)
    return "\n".join([f"| {head} |", rule, *(f"| {line} |" for line in lines)]) + "\n"


def _planted(cases: Cases) -> str:
    lines = []
    for kind in ("clusters", "parts"):
        for what in ("clean", "outliers"):
            those = [v for c, v in cases.items() if c.startswith(kind) and c.endswith(what)]
            lines.append(f"{kind}, {what} | {_hits(those)}")
    for what in ("clean", "outliers"):
        lines.append(f"all, {what} | {_hits([v for c, v in cases.items() if c.endswith(what)])}")
    seconds = np.median([values["seconds"] for values in cases.values()])
    return (
        f"## Planted parts\n\n{len(cases)} tables of 200 to 500 samples and 25 to 60 "
        "features: samples "
        "around k centres (clusters) or sums of a few of k parts, k from 3 to 12, noise of "
        "0.1 to 0.5 "
        "of the signal, half of them with 10 % gross outliers; candidates 2 to 15, median time "
        f"{seconds:.1f} s.\n\n"
        + _table("tables | right | within one | interval covers | mean width of it", lines)
    )


def _hits(cases: list[dict[str, float]]) -> str:
    off = np.array([values["chosen"] - values["true"] for values in cases])
    covered = sum(values["low"] <= values["true"] <= values["high"] for values in cases)
    width = np.mean([values["high"] - values["low"] for values in cases])
    n = len(cases)
    right, near = (off == 0).sum(), (abs(off) <= 1).sum()
    return f"{right} of {n} | {near} of {n} | {covered} of {n} | {width:.1f}"


def _wide(cases: Cases) -> str:
    lines = [
        f"{case} | {values['true']:.0f} | {values['chosen']:.0f} | {values['seconds']:.1f}"
        for case, values in cases.items()
    ]
    return (
        "Of large tables 4,000 samples take part, and features are added up in 400 groups "
        "with random "
        "signs:\n\n" + _table("table | true | chosen | seconds", lines)
    )


def _path(cases: Cases) -> str:
    lines = [
        f"{case} | {v['cold fit']:.3f} | {v['path']:.3f} | {v['path'] / v['cold fit']:.1f} | "
        f"{v['objective'] - 1:+.2%} | {v['worst objective'] - 1:+.2%}"
        for case, v in cases.items()
    ]
    return (
        "## Time\n\nA path of 20 strengths, each fit from the one before and all with one "
        "graph, against "
        "the median of 20 single fits; the objective against theirs, median and worst:\n\n"
        + _table("data | one fit, s | path, s | fits | objective | worst", lines)
    )


def _growth(cases: Cases) -> str:
    lines = [
        f"{case} | {v['grown'] / v['cold auto']:.2f} | {v['objective auto'] - 1:+.2%} | "
        f"{v['grown'] / v['cold random']:.2f} | {v['objective random'] - 1:+.2%}"
        for case, v in cases.items()
    ]
    return (
        "One more part from the factorization with one less, against a fit of `SemiNMF` with its "
        "usual start, and with a random one: time, and median objective (from 3 parts to 5, 10 and "
        "16):\n\n" + _table("data | time | objective | time, random | objective, random", lines)
    )


def _tune(cases: Cases) -> str:
    (values,) = cases.values()
    return (
        "`seminmf tune` on USPST (2,007 × 256), `--k 4:24:2`, the usual 20 strengths and 10 fits "
        f"to subsamples: {values['seconds']:.0f} s by the clock on {values['cores']:.0f} cores, "
        "page and all.\n"
    )


def _real(cases: Cases) -> str:
    lines = [
        f"{case} | {v['classes']:.0f} | {v['chosen']:.0f} | {v['low']:.0f} to {v['high']:.0f} | "
        f"{v['most']:.0f}"
        for case, v in cases.items()
    ]
    off = [abs(v["chosen"] - v["classes"]) for v in cases.values()]
    ends = [v["high"] == v["most"] for v in cases.values()]
    return (
        "## Real sets\n\nNumbers of parts beside numbers of classes, which are something "
        "else: they are "
        f"within one of each other on {sum(o <= 1 for o in off)} of {len(off)} sets. Nine "
        "tenths of each set; which numbers are tried is left to the data. On "
        f"{sum(ends)} sets the interval reaches the most that was tried, which is 60, or two "
        "thirds of the features that stay in where a fifth of them is left out.\n\n"
        + _table("data | classes | parts | interval | most tried", lines)
    )


def _strength(cases: Cases) -> str:
    strengths = [what.split()[1] for what in next(iter(cases.values())) if what.startswith("ACC")]
    names = list(cases)
    acc = np.array([[cases[name][f"ACC {s}"] for s in strengths] for name in names])
    behind = acc.max(axis=1, keepdims=True) - acc
    lines = [f"fixed {s} | {behind[:, i].mean():.1f}" for i, s in enumerate(strengths)]
    others = [np.delete(behind, i, axis=0).mean(axis=0).argmin() for i in range(len(names))]
    left_out = behind[np.arange(len(names)), others].mean()
    lines.append(f"the best of the other sets | {left_out:.1f}")
    for rule in ("silhouette", "agreement"):
        values = np.array([[cases[name][f"{rule} {s}"] for s in strengths] for name in names])
        picked = behind[np.arange(len(names)), values.argmax(axis=1)].mean()
        lines.append(f"largest {rule} | {picked:.1f}")
    return (
        f"## Strength without labels\n\nPoints of ACC behind each set's best of {len(strengths)} "
        f"strengths, mean over {len(names)} smaller sets of the panel ({', '.join(names)}). "
        "*Silhouette* is of the clusters in X, *agreement* that of `stability` with four runs. The "
        "default 0.001 stays unless a rule is below it here and on sets that it was not "
        "chosen on.\n\n" + _table("rule | points behind", lines)
    )


def _consensus(cases: Cases) -> str:
    def mean(what: str) -> float:
        return float(np.mean([values[what] for values in cases.values()]))

    lines = [
        f"{kind} | {mean(f'{kind} ACC mean'):.1f} | {mean(f'{kind} ARI mean'):.1f} | "
        f"{mean(f'{kind} ACC spread'):.2f} | {mean(f'{kind} ARI spread'):.2f}"
        for kind in ("single", "consensus")
    ]
    named = ", ".join(cases)
    return (
        "## Consensus\n\nSingle fits of `FactorKMeans(L21SemiNMF)` and consensus models of 20 fits "
        f"to subsamples, 5 seeds each, on {len(cases)} sets of the panel ({named}); spread "
        "is the standard deviation over seeds.\n\n"
        + _table("model | ACC | ARI | spread of ACC | of ARI", lines)
    )


_SECTIONS: dict[str, Callable[[Cases], Any]] = {
    "planted": _planted, "wide": _wide, "path": _path, "growth": _growth, "tune": _tune,
    "real": _real,
    "strength": _strength, "consensus": _consensus,
}  # fmt: skip
