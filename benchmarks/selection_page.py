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
say; features that are foretold far worse than others are scaled down, those far better up, so
that noise may be uneven. The number is the smallest whose error is within one standard error of
the best, and the interval holds those within two. If nobody says which numbers to try (`range(2,
13)` as a second argument does), they are 1 to 20, and go on to 60 as long as the interval reaches
their end, or to as many as the features can tell apart: two of three that stay in. `seminmf tune
table.csv --k 2:30 --out tuned` draws the curve, `seminmf fit -k auto` takes the number.

`SemiNMFSelector` adds the strength and the stability, `regularization_path` fits with 20
strengths, `stability` fits to subsamples and makes the consensus a model.

**What not to expect.** Parts are not classes: a class may be a sum of several parts, and two
classes may share one. Where the error falls on and on, as for images, there is no number to find;
the choice then says that its number is the most that was tried, and how few parts have most of
it. Whatever foretells features from others counts as a part: noise that features have in common,
copies of features, and a constant beside sums of parts. In the fit itself, features with much
more noise than others take parts for themselves: standardize them. `score`, what new samples have
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


def _other(cases: Cases) -> str:
    ways: dict[str, list[dict[str, float]]] = {}
    for case, values in cases.items():
        ways.setdefault(case.rpartition(":")[0], []).append(values)
    lines = [f"{way} | {_hits(those)}" for way, those in ways.items()]
    return (
        "Tables of any kind: 80 to 5,000 samples, 12 to 400 features, parts of even or uneven "
        "lengths and numbers of samples, with or without a direction in common or entries of one "
        "sign, noise of 0.1 to 0.5; what there is to choose from is left to the data. Outliers "
        "that lie in one direction are one part more, as they would be if they were meant:\n\n"
        + _table("tables | right | within one | interval covers | mean width of it", lines)
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
        "Tables as the first ones with other noise, of 0.3 and 0.6 of the signal, k 3 and 8, "
        "candidates 1 to 15. What features have in common is foretold like a part, and no number "
        "of parts is found "
        "where noise is like that:\n\n" + _table("noise | right | interval covers", lines)
    )


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
        "the median of 20 single fits; the objective against theirs, median and worst. The first "
        "three sets are the paper's, the others small, long or wide:\n\n"
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
        "One more part from the factorization with one less, against a fit of `SemiNMF` with its "
        "usual start, and with a random one: time, and median objective (from 3 parts to as many "
        "as the paths have). Where the usual start is nearly the end, as on digits, it has one "
        f"iteration, and growing costs as much; the median is {np.median(ratios):.2f}:\n\n"
        + _table("data | time | objective | time, random | objective, random", lines)
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
        "## Strength without labels\n\nPoints of ACC behind each set's best of "
        f"{len(factors)} strengths, mean over {len(sets)} sets of the panel ({', '.join(cases)}). "
        "The strengths are factors of the automatic one, which is in proportion to what as many "
        f"parts as classes can explain: from {low:.2g} to {high:.2g} on these sets. "
        "*Silhouette* is of the clusters in X, *agreement* that of `stability` with four runs. "
        "Beside it is the difference from the default with its standard error. Rules that are "
        f"below the default by more than two of these: {verdict}.\n\n"
        + _table("rule | points behind | more than the default", lines)
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
        "## Consensus\n\nSingle fits of `FactorKMeans(L21SemiNMF)` and consensus models of 40 fits "
        f"to subsamples, 10 seeds each, on {len(cases)} sets of the panel ({named}); spread "
        "is the standard deviation over seeds.\n\n"
        + _table("model | ACC | ARI | spread of ACC | of ARI", lines)
    )


_SECTIONS: dict[str, Callable[[Cases], Any]] = {
    "planted": _planted, "other": _other, "noise": _noise, "wide": _wide, "path": _path,
    "growth": _growth, "tune": _tune, "real": _real, "strength": _strength, "consensus": _consensus,
}  # fmt: skip
