"""How many parts, how strong, how sure: ``python -m benchmarks.selection [TABLE …]``.

What has a row in ``docs/selection.csv`` is not measured again; ``--again TABLE`` forgets the rows
of a table. The page ``docs/how-many.md`` is made from the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, silhouette_score
from threadpoolctl import threadpool_limits

from seminmf import FactorKMeans, L21SemiNMF, SemiNMF
from seminmf.datasets import add_outliers
from seminmf.metrics import majority_accuracy
from seminmf.selection import choose_components, regularization_path, stability
from seminmf.selection.growth import Growth
from seminmf.selection.path import STRENGTHS

from .panel.sets import NAMES, at_hand, subset, table
from .results import read_rows, write_rows

FILE = Path(__file__).parents[1] / "docs" / "selection.csv"
Values = dict[str, float]


@dataclass(frozen=True)
class Row:
    """One number of one case."""

    table: str
    case: str
    what: str
    value: float


# --- planted parts --------------------------------------------------------------------------------


def planted(kind: str, k: int, noise: float, outliers: bool, seed: int) -> Any:
    """Clusters around k centres, or sums of a few of k parts; noise is a share of the signal."""
    rng = np.random.RandomState(seed)
    n, m = int(rng.choice([200, 300, 500])), int(rng.choice([25, 40, 60]))
    parts = rng.standard_normal((k, m))
    if kind == "clusters":
        codes = np.eye(k)[rng.randint(k, size=n)]
    else:
        codes = rng.rand(n, k) * (rng.rand(n, k) < 0.3)
        codes[np.arange(n), rng.randint(k, size=n)] += rng.rand(n)
    signal = codes @ parts
    X = signal / signal.std() + noise * rng.standard_normal((n, m))
    return add_outliers(X, 0.1, random_state=seed)[0] if outliers else X


def _uneven(spread: float) -> Callable[[Any, int, int], Any]:
    """Noise that is louder in some features than in others, by factors that are lognormal."""

    def noise(rng: Any, n: int, m: int) -> Any:
        found = rng.standard_normal((n, m)) * np.exp(spread * rng.standard_normal(m))
        return found / found.std()

    return noise


def _heavy(rng: Any, n: int, m: int) -> Any:
    return rng.standard_t(2.5, (n, m)) / 5**0.5


def _of_neighbours(rng: Any, n: int, m: int) -> Any:
    apart = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    return rng.standard_normal((n, m)) @ np.linalg.cholesky(0.7**apart).T


def _in_common(rng: Any, n: int, m: int) -> Any:
    shared = rng.standard_normal((n, 3)) @ rng.standard_normal((3, m)) / 3**0.5
    return (rng.standard_normal((n, m)) + shared) / 2**0.5


_NOISES = {
    "louder in some features (factors with a logarithm of deviation 1)": _uneven(1.0),
    "far louder in some (deviation 2)": _uneven(2.0),
    "heavy tails (t with 2.5 degrees of freedom)": _heavy,
    "correlated between neighbouring features (0.7)": _of_neighbours,
    "half of it three random factors": _in_common,
}


def _noise_cases() -> Iterator[tuple[str, Callable[[], Values]]]:
    """Eight tables with each kind of noise, of which `planted` knows none."""

    def measure(noise: Callable[[Any, int, int], Any]) -> Values:
        cases = list(product(("clusters", "parts"), (3, 8), (0.3, 0.6)))
        right, covered = 0, 0
        for number, (kind, k, loudness) in enumerate(cases):
            rng = np.random.RandomState(2000 + number)
            signal = planted(kind, k, 0.0, False, 2000 + number)
            X = signal + loudness * noise(rng, *signal.shape)
            found = choose_components(X, range(1, 16), random_state=0)
            right += found.n_components == k
            covered += found.interval[0] <= k <= found.interval[1]
        return {"tables": len(cases), "right": right, "covered": covered}

    for name, noise in _NOISES.items():
        yield name, lambda noise=noise: measure(noise)


def _chosen(X: Any, true: int, candidates: Any) -> Values:
    began = time.process_time()
    found = choose_components(X, candidates, random_state=0)
    seconds = time.process_time() - began
    low, high = found.interval
    return {
        "true": true, "chosen": found.n_components, "low": low, "high": high, "seconds": seconds,
    }  # fmt: skip


def _planted_cases() -> Iterator[tuple[str, Callable[[], Values]]]:
    grid = product((False, True), ("clusters", "parts"), (3, 5, 8, 10, 12), (0.1, 0.3, 0.5))
    for number, (outliers, kind, k, noise) in enumerate(grid):
        given = kind, k, noise, outliers, 1000 + number
        name = f"{kind}, k = {k}, noise {noise:g}, {'outliers' if outliers else 'clean'}"
        yield name, lambda given=given: _chosen(planted(*given), given[1], range(2, 16))


def _of_any_kind(rng: Any) -> tuple[Any, int]:
    """A table of any size and its number of parts. Parts may be of very different lengths, share a
    direction, have no negative entries or few samples, and a sample may have one or several.
    """
    n, m = (int(np.exp(rng.uniform(*np.log(ends)))) for ends in ((80, 5_000), (12, 400)))
    k = rng.randint(2, min(13, max(3, m // 2), max(3, n // 14)))
    parts = rng.standard_normal((k, m))
    if rng.rand() < 0.3:
        parts = np.maximum(parts, 0)
    parts += rng.choice([0, 0.4]) * rng.standard_normal(m)
    parts *= np.exp(rng.choice([0, 0.3, 0.6]) * rng.standard_normal((k, 1)))
    sizes = 1 / np.arange(1, k + 1) ** rng.choice([0, 1])
    main = rng.choice(k, n, p=sizes / sizes.sum())
    codes = np.eye(k)[main] * (0.3 + rng.gamma(2, 0.5, (n, 1)))
    if rng.rand() < 0.5:
        codes += rng.gamma(1, 1, (n, k)) * (rng.rand(n, k) < 0.3)
    signal = codes @ parts
    loudness = rng.uniform(0.1, 0.5)
    return signal / signal.std() + loudness * rng.standard_normal((n, m)), k


_AS_THEY_ARE, _EACH = 24, 8
_WAYS: dict[str, Callable[[Any, int], Any]] = {
    "as they are": lambda X, seed: X,
    **{
        f"10 % of outliers, {kind}":
            lambda X, seed, kind=kind: add_outliers(X, 0.1, kind=kind, random_state=seed)[0]
        for kind in ("gross", "scaled", "noise", "swapped", "grouped")
    },
    "CSR, what is below 0.3 left out": lambda X, seed: sp.csr_array(X * (np.abs(X) >= 0.3)),
    "single precision": lambda X, seed: X.astype(np.float32),
}  # fmt: skip


def _other_cases() -> Iterator[tuple[str, Callable[[], Values]]]:
    seed = 5000
    for way, made in _WAYS.items():
        for number in range(_AS_THEY_ARE if way == "as they are" else _EACH):

            def measure(made: Any = made, seed: int = seed) -> Values:
                X, k = _of_any_kind(np.random.RandomState(seed))
                return _chosen(made(X, seed), k, None)

            yield f"{way}: {number}", measure
            seed += 1


def _wide() -> Values:
    """More samples and features than take part."""
    rng = np.random.RandomState(0)
    codes = rng.rand(6_000, 8) * (rng.rand(6_000, 8) < 0.3)
    signal = codes @ rng.standard_normal((8, 1_500))
    X = signal / signal.std() + 0.5 * rng.standard_normal(signal.shape)
    began = time.process_time()
    found = choose_components(X, range(2, 14), random_state=0)
    return {"true": 8, "chosen": found.n_components, "seconds": time.process_time() - began}


# --- speed ----------------------------------------------------------------------------------------

# Parts to fit. The first three sets are the paper's; the others are small, long or wide.
_SPEED = {
    "ionosphere": 5, "waveform": 10, "uspst": 16, "sonar": 8, "breast_cancer": 8, "segment": 7,
    "digits": 10, "coil20": 20, "orl": 20, "tox_171": 12,
}  # fmt: skip


_TIMES = 15


def _seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def _path_speed(name: str) -> Values:
    """A path of 20 strengths against one cold fit: the median of fits at all of them.

    Each is the best of several, in turns.
    """
    X, k = table(name)[0], _SPEED[name]
    regularization_path(X, k, STRENGTHS[:2])
    warm, cold, path, objectives = [], [], None, []
    for _ in range(_TIMES):
        seconds, path = _seconds(lambda: regularization_path(X, k))
        warm.append(seconds)
        fits = [
            _seconds(lambda s=strength: L21SemiNMF(k, strength=s, random_state=0).fit(X))
            for strength in STRENGTHS
        ]
        cold.append([seconds for seconds, _ in fits])
        objectives = [fit.objective_ for _, fit in fits]
    assert path is not None
    worse = path.table["objective"] / np.array(objectives)
    return {
        "path": min(warm), "cold fit": float(np.median(np.min(cold, axis=0))),
        "objective": float(np.median(worse)), "worst objective": float(worse.max()),
    }  # fmt: skip


def _growth_speed(name: str) -> Values:
    """One more part from the factorization with one less, against fits from their own starts.

    What is made ready once for all numbers of parts counts, too. Each is the best of several.
    """
    X, k = np.ascontiguousarray(table(name)[0], dtype=np.float64), _SPEED[name]
    starts = ("auto", "random")
    warm, cold = [], {start: [] for start in starts}
    lower: dict[str, float] = {}

    def all_grown() -> list[Any]:
        with Growth(X, k) as growth:
            return [growth.to(count) for count in range(2, k + 1)]

    def fitted(start: str) -> list[Any]:
        return [SemiNMF(count, init=start, random_state=0).fit(X) for count in range(3, k + 1)]

    all_grown()
    for _ in range(_TIMES):
        first, _ = _seconds(lambda: SemiNMF(2, random_state=0).fit(X))
        seconds, grown = _seconds(all_grown)
        warm.append(seconds - first)
        for start in starts:
            seconds, fits = _seconds(lambda s=start: fitted(s))
            cold[start].append(seconds)
            left = [np.square(X - codes @ basis.T).sum() for basis, codes in grown[1:]]
            lower[start] = float(np.median(left / np.array([fit.objective_ for fit in fits])))
    return {
        "grown": min(warm),
        **{f"cold {start}": min(cold[start]) for start in starts},
        **{f"objective {start}": lower[start] for start in starts},
    }


def _tune() -> Values:
    """The whole command, with its start and its page: seconds by the clock."""
    with tempfile.TemporaryDirectory() as folder:
        X, out = Path(folder) / "X.npy", Path(folder) / "out"
        np.save(X, table("uspst")[0])
        words = ["tune", str(X), "--k", "4:24:2", "--out", str(out), "--quiet"]
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "seminmf", *words], check=True)
        seconds = time.monotonic() - began
        outcome = json.loads((out / "run.json").read_text("utf-8"))["outcome"]
    return {
        "seconds": seconds, "cores": len(os.sched_getaffinity(0)),
        "chosen": outcome["n_components"],
    }  # fmt: skip


# --- the panel ------------------------------------------------------------------------------------

# Times the automatic strength, which is the default.
_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)
_FIXED = 1e-3
# Sets whose fits take a fraction of a second.
_SMALL = (
    "ionosphere", "iris", "wine", "breast_cancer", "blobs", "tox_171", "lung_small", "lymphoma",
    "banknote", "glass", "ecoli", "sonar",
)  # fmt: skip
_LARGER = ("waveform", "uspst", "digits")
_SEEDS, _RUNS = 10, 40


def _strengths(name: str) -> Values:
    """ACC around the automatic strength and at a fixed one, and what rules say without labels."""
    of = subset(name, 0)

    def fitted(strength: float | str) -> FactorKMeans:
        factorizer = L21SemiNMF(of.classes, strength=strength, random_state=0)
        return FactorKMeans(factorizer, random_state=0).fit(of.X)

    def accuracy(model: FactorKMeans) -> float:
        return 100 * majority_accuracy(of.y, model.labels_)

    automatic = fitted("auto").factorizer_.strength_
    found = {"automatic": automatic, f"fixed {_FIXED:g}": accuracy(fitted(_FIXED))}
    for factor in _FACTORS:
        model = fitted(factor * automatic)
        found[f"ACC {factor:g}"] = accuracy(model)
        several = len(np.unique(model.labels_)) > 1
        score = silhouette_score(of.X, model.labels_) if several else -1.0
        found[f"silhouette {factor:g}"] = score
        steady = stability(of.X, model, n_runs=4, random_state=0)
        found[f"agreement {factor:g}"] = steady.agreement
    return found


def _consensus(name: str) -> Values:
    """Single fits with several seeds, and consensus models with as many."""
    of = subset(name, 0)
    scores: dict[str, list[float]] = {}
    for seed in range(_SEEDS):
        one = FactorKMeans(L21SemiNMF(of.classes, random_state=seed), random_state=seed)
        together = stability(of.X, one, n_runs=_RUNS, random_state=seed).model
        for what, model in (("single", one.fit(of.X)), ("consensus", together)):
            for measure, score in (("ACC", majority_accuracy), ("ARI", adjusted_rand_score)):
                value = 100 * float(score(of.y, model.labels_))
                scores.setdefault(f"{what} {measure}", []).append(value)
    means = {f"{what} mean": float(np.mean(values)) for what, values in scores.items()}
    return means | {f"{what} spread": float(np.std(values)) for what, values in scores.items()}


def _real(name: str) -> Values:
    of = subset(name, 0)
    found = choose_components(of.X, random_state=0)
    return {
        "classes": of.classes, "chosen": found.n_components, "low": found.interval[0],
        "high": found.interval[1], "most": int(found.table["n_components"][-1]),
    }  # fmt: skip


def _of_sets(measure: Callable[[str], Values], names: Any) -> Iterator[Any]:
    for name in names:
        yield name, lambda name=name: measure(name)


TABLES: dict[str, Callable[[], Iterator[tuple[str, Callable[[], Values]]]]] = {
    "planted": _planted_cases,
    "other": _other_cases,
    "noise": _noise_cases,
    "wide": lambda: iter([("6,000 × 1,500", _wide)]),
    "path": lambda: _of_sets(_path_speed, _SPEED),
    "growth": lambda: _of_sets(_growth_speed, _SPEED),
    "tune": lambda: iter([("uspst, 4:24:2", _tune)]),
    "real": lambda: _of_sets(_real, filter(at_hand, (*_SMALL, *_LARGER))),
    "strength": lambda: _of_sets(_strengths, filter(at_hand, NAMES)),
    "consensus": lambda: _of_sets(_consensus, filter(at_hand, NAMES)),
}


def _rows() -> dict[tuple[str, str], Values]:
    found: dict[tuple[str, str], Values] = {}
    for row in read_rows(FILE, Row):
        found.setdefault((row.table, row.case), {})[row.what] = row.value
    return found


def _save(rows: dict[tuple[str, str], Values]) -> None:
    order = list(TABLES)
    keys = sorted(rows, key=lambda key: order.index(key[0]))
    flat = [Row(*key, what, round(value, 5)) for key in keys for what, value in rows[key].items()]
    write_rows(FILE, flat, Row)


def measured(tables: list[str], again: list[str]) -> dict[tuple[str, str], Values]:
    rows = {key: values for key, values in _rows().items() if key[0] not in again}
    for name in tables:
        for case, measure in TABLES[name]():
            if (name, case) not in rows:
                rows[name, case] = measure()
                # Others may have written in the meantime: several tables can be made at once.
                done = {key: rows[key] for key in rows if key[0] in tables}
                rows = {key: found for key, found in _rows().items() if key[0] not in tables} | done
                _save(rows)
                print(name, case, rows[name, case], flush=True)
    return rows


def main() -> None:
    from .selection_page import PAGE, page

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], default=[])
    parser.add_argument("--again", action="append", default=[], choices=list(TABLES))
    arguments = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = measured(arguments.tables or list(TABLES), arguments.again)
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
