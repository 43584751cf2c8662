"""What default clusters and outlier scores take beside the bare fit: ``--costs``."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import pandas as pd
from threadpoolctl import threadpool_limits

from seminmf import FactorKMeans, L21SemiNMF

from ..results import read_rows, write_rows
from .sets import NAMES, table

FILE = Path(__file__).parents[2] / "docs" / "panel-costs.csv"
# Each of the three is done so often, in turn, and the least time counts.
_ROUNDS = 5
# Fits of fewer seconds are about as long as what scikit-learn's k-means takes before it begins.
_SHORT = 0.01
_PAGE = """\
## What it costs

`FactorKMeans` takes {clusters:.2f} times the processor seconds of the bare fit (median over the
sets; largest {most:.2f}, {where}), {long:.2f} times where a fit takes more than {short:g} ms
(largest {most_long:.2f}); beside shorter fits it takes {fixed:.1f} ms, most of which is what
scikit-learn's k-means takes of any data. With outlier scores it is {scores:.1f} times (largest
{most_scores:.1f}, {where_scores}).
One thread, the three in turn, the least of {rounds} rounds (`python -m benchmarks.panel --costs`).
"""


@dataclass(frozen=True)
class Row:
    """Processor seconds on a whole set."""

    data: str
    samples: int
    features: int
    parts: int
    fit: float
    clusters: float
    """Of the fit and the clusters, ..."""
    scores: float
    """... and of the scores alone."""


def _timed(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def _row(name: str) -> Row:
    X, y = table(name)
    k = len(set(y.tolist()))
    bare = L21SemiNMF(k, random_state=0)
    search = FactorKMeans(L21SemiNMF(k, random_state=0), random_state=0)
    # A fit knows its scores after the first time, so that each round has one of its own.
    works = (
        lambda: bare.fit(X), lambda: search.fit(X), lambda: bare.outlier_scores(X),
    )  # fmt: skip
    for work in works:
        work()
    rounds = [[_timed(work) for work in works] for _ in range(_ROUNDS)]
    best = (round(min(times), 6) for times in zip(*rounds, strict=True))
    return Row(name, *X.shape, k, *best)


def measure() -> None:
    """All rows anew."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_rows(FILE, [_row(name) for name in NAMES], Row)


def section() -> str:
    """Of the page, from the rows."""
    rows = pd.DataFrame([dataclasses.asdict(row) for row in read_rows(FILE, Row)]).set_index("data")
    clusters = rows["clusters"] / rows["fit"]
    scores = (rows["clusters"] + rows["scores"]) / rows["fit"]
    is_long = rows["fit"] > _SHORT
    return _PAGE.format(
        clusters=clusters.median(), most=clusters.max(), where=clusters.idxmax(),
        long=clusters[is_long].median(), short=1e3 * _SHORT, most_long=clusters[is_long].max(),
        fixed=1e3 * (rows["clusters"] - rows["fit"])[~is_long].median(),
        scores=scores.median(), most_scores=scores.max(), where_scores=scores.idxmax(),
        rounds=_ROUNDS,
    )  # fmt: skip
