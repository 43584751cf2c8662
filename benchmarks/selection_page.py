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

`choose_components` finds the number of parts that the data support, with an interval and the
reason in words:

```python
from seminmf.datasets import make_waveform
from seminmf.selection import choose_components

X, _ = make_waveform(500, random_state=0)
choice = choose_components(X, random_state=0)
choice.n_components, choice.interval, choice.reason
```

`seminmf tune table.csv --k 2:30 --out tuned` does the same from the shell and draws the curve;
`seminmf fit -k auto` uses the number straight away. `SemiNMFSelector` also chooses the strength
and checks stability, `regularization_path` fits with 20 strengths, and `stability` fits to
subsamples and combines the fits into a consensus model.

**How it works.** Blocks of samples × features are left out and predicted from the rest. A
factorization of what remains gives the parts, least squares extends them to the features left
out, and non-negative least squares finds the codes of the samples left out. With too few parts
something is missing; with too many, the codes follow the noise. The number chosen is the smallest
whose error is within one standard error of the best; the interval holds those within two.

Samples that no number of parts predicts are outliers and are ignored. Features that are predicted
far worse than others are scaled down, and those predicted far better are scaled up, so the noise
may differ between features.

You can say which numbers to try: `range(2, 13)` as second argument. Otherwise 1 to 20 are tried,
and more as long as the interval reaches the largest: up to 60, or up to two parts for every three
features that stay in, because that is as many as they can tell apart.

**What not to expect**

- Parts are not classes: a class may be a sum of several parts, and two classes may share one.
- Where the error keeps falling, as for images, there is no number to find. The reason then says
  that the number is the largest tried, and how few parts achieve most of the gain.
- Whatever predicts features from others counts as a part: noise that features have in common,
  copies of features, and a constant added to sums of parts.
- In the fit itself, features with much more noise than others claim parts for themselves:
  standardize them.
- `score`, the share of new samples that is explained, rises with the number of parts and falls
  with strength whatever the data are: do not choose either by it.

The rest of this page is measurements. They are made by `python -m benchmarks.selection`, with all
rows in `docs/selection.csv`; times are processor seconds of one thread.
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
        f"## When the true number is known\n\n{len(cases)} tables of 200 to 500 samples and 25 "
        "to 60 features: samples around k centres (clusters) or sums of a few of k parts, k from 3 "
        "to 12, noise of 0.1 to 0.5 of the signal, half of the tables with 10 % gross outliers. "
        f"Candidates are 2 to 15; the median time is {seconds:.1f} s.\n\n"
        + _table("tables | right | within one | interval covers it | mean width", lines)
    )


def _other(cases: Cases) -> str:
    ways: dict[str, list[dict[str, float]]] = {}
    for case, values in cases.items():
        ways.setdefault(case.rpartition(":")[0], []).append(values)
    lines = [f"{way} | {_hits(those)}" for way, those in ways.items()]
    return (
        "More varied tables: 80 to 5,000 samples, 12 to 400 features, parts of even or uneven "
        "lengths and numbers of samples, with or without a common direction or entries of one "
        "sign, noise of 0.1 to 0.5; no candidates are given. Grouped outliers, which all lie in "
        "one direction, count as one more part, because the data cannot tell them from one:\n\n"
        + _table("tables | right | within one | interval covers it | mean width", lines)
    )


def _hits(cases: list[dict[str, float]]) -> str:
    off = np.array([values["chosen"] - values["true"] for values in cases])
    covered = sum(values["low"] <= values["true"] <= values["high"] for values in cases)
    width = np.mean([values["high"] - values["low"] for values in cases])
    n = len(cases)
    right, near = (off == 0).sum(), (abs(off) <= 1).sum()
    return f"{right} of {n} | {near} of {n} | {covered} of {n} | {width:.1f}"


def _noise(cases: Cases) -> str:
    lines = [
        f"{case} | {v['right']:.0f} of {v['tables']:.0f} | {v['covered']:.0f} of {v['tables']:.0f}"
        for case, v in cases.items()
    ]
    return (
        "Tables like the first ones with other kinds of noise, of 0.3 and 0.6 of the signal, k = 3 "
        "and 8, candidates 1 to 15. Noise that features have in common is predicted like a part, "
        "so the true number is not found in such tables:\n\n"
        + _table("noise | right | interval covers it", lines)
    )


def _wide(cases: Cases) -> str:
    lines = [
        f"{case} | {values['true']:.0f} | {values['chosen']:.0f} | {values['seconds']:.1f}"
        for case, values in cases.items()
    ]
    return (
        "Of a large table 4,000 samples are used, and features are added up with random signs in "
        "400 groups:\n\n" + _table("table | true | chosen | seconds", lines)
    )


def _path(cases: Cases) -> str:
    lines = [
        f"{case} | {v['cold fit']:.3f} | {v['path']:.3f} | {v['path'] / v['cold fit']:.1f} | "
        f"{v['objective'] - 1:+.2%} | {v['worst objective'] - 1:+.2%}"
        for case, v in cases.items()
    ]
    return (
        "## Time\n\nA path of 20 strengths, in which each fit starts from the one before and all "
        "share one graph, against 20 separate fits. *Fits* is the time of the path divided by the "
        "median time of a separate fit; *objective* and *worst* compare the objectives (median and "
        "worst). The first three sets are the paper's; the others are small, long or wide:\n\n"
        + _table("data | one fit, s | path, s | fits | objective | worst", lines)
    )


def _growth(cases: Cases) -> str:
    ratios = [v["grown"] / v["cold auto"] for v in cases.values()]
    lines = [
        f"{case} | {v['grown'] / v['cold auto']:.2f} | {v['objective auto'] - 1:+.2%} | "
        f"{v['grown'] / v['cold random']:.2f} | {v['objective random'] - 1:+.2%}"
        for case, v in cases.items()
    ]
    return (
        "Adding one part to an existing factorization, against a new fit of `SemiNMF` from its "
        "usual start and from a random one: time, and median objective, from 3 parts to as many as "
        f"the paths have. The median time is {np.median(ratios):.2f} of a new fit. Where the usual "
        "start is nearly the end, as on waveform and digits, that fit has one to three iterations, "
        "and growing costs nearly as much:\n\n"
        + _table("data | time | objective | time, random | objective, random", lines)
    )


def _tune(cases: Cases) -> str:
    (values,) = cases.values()
    return (
        "`seminmf tune` on USPST (2,007 × 256), `--k 4:24:2`, the usual 20 strengths and 10 fits "
        f"to subsamples: {values['seconds']:.0f} s of wall-clock time on {values['cores']:.0f} "
        "cores, the page included.\n"
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
        "## Real data sets\n\nThe number of parts is not the number of classes: they are within "
        f"one of each other on {sum(o <= 1 for o in off)} of {len(off)} sets. Nine tenths of each "
        f"set are used, and no candidates are given. On {sum(ends)} sets the interval reaches the "
        "largest number tried, which is 60, or two thirds of the features that stay in when a "
        "fifth of them is left out.\n\n"
        + _table("data | classes | parts | interval | largest tried", lines)
    )


_DEFAULT = "automatic, the default"


def _strength(cases: Cases) -> str:
    first = next(iter(cases.values()))
    factors = [what.split()[1] for what in first if what.startswith("ACC")]
    (fixed,) = (what for what in first if what.startswith("fixed"))
    sets = list(cases.values())
    acc = np.array([[values[f"ACC {factor}"] for factor in factors] for values in sets])
    best = acc.max(axis=1, keepdims=True)
    behind = best - acc
    each = np.arange(len(sets))
    others = [np.delete(behind, i, axis=0).mean(axis=0).argmin() for i in each]
    picked = {
        **{
            f"{factor} × automatic" if factor != "1" else _DEFAULT: behind[:, i]
            for i, factor in enumerate(factors)
        },
        fixed: best[:, 0] - [values[fixed] for values in sets],
        "the factor that is best on the other sets": behind[each, others],
    }
    for rule in ("silhouette", "agreement"):
        said = np.array([[values[f"{rule} {factor}"] for factor in factors] for values in sets])
        picked[f"largest {rule}"] = behind[each, said.argmax(axis=1)]
    default = picked[_DEFAULT]
    lines, better = [], []
    for rule, points in picked.items():
        more = points - default
        mean, error = more.mean(), more.std(ddof=1) / len(more) ** 0.5
        sure = f"{mean:+.1f} ± {error:.1f}" if rule != _DEFAULT else ""
        lines.append(f"{rule} | {points.mean():.1f} | {sure}")
        better += [rule] if mean < -2 * error else []
    verdict = ", ".join(better) or "none"
    low, high = (f([values["automatic"] for values in sets]) for f in (min, max))
    return (
        "## Strength without labels\n\nCan a rule without labels choose a better strength than "
        "the default? The table has the points of ACC that each rule stays behind the best of "
        f"{len(factors)} strengths, and the difference from the default with its standard error. "
        f"Rules that beat the default by more than two standard errors: {verdict}.\n\n"
        f"Means over {len(sets)} sets of the panel ({', '.join(cases)}). The strengths are "
        "multiples of the automatic one, which is in proportion to what as many parts as classes "
        f"can explain: from {low:.2g} to {high:.2g} on these sets. *Silhouette* is that of the "
        "clusters in X, *agreement* that of `stability` with four runs.\n\n"
        + _table("rule | points behind the best | difference from the default", lines)
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
        "## Consensus\n\nSingle fits of `FactorKMeans(L21SemiNMF)` against consensus models of 40 "
        f"fits to subsamples, 10 seeds each, on {len(cases)} sets of the panel ({named}). Spread "
        "is the standard deviation over seeds.\n\n"
        + _table("model | ACC | ARI | spread of ACC | spread of ARI", lines)
    )


_SECTIONS: dict[str, Callable[[Cases], Any]] = {
    "planted": _planted, "other": _other, "noise": _noise, "wide": _wide, "path": _path,
    "growth": _growth, "tune": _tune, "real": _real, "strength": _strength, "consensus": _consensus,
}  # fmt: skip
