"""What default clusters and outlier scores take beside the bare fit: ``--costs``."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import pandas as pd
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from seminmf import FactorKMeans, L21SemiNMF

from ..results import read_rows, write_rows
from .sets import NAMES, table

FILE = Path(__file__).parents[2] / "docs" / "panel-costs.csv"
# Each of the three is done so often, in turn, and the least time counts.
_ROUNDS = 25
# Beside fits of fewer seconds what clusters take of any data counts.
_SHORT = 0.01
_PAGE = """\
## What it costs

Compared with the bare fit, in processor seconds (medians over the sets):

- `FactorKMeans` takes {clusters:.2f} times as long (at most {most:.2f}, {where}); where a fit takes
  more than {short:g} ms, {long:.2f} times (at most {most_long:.2f}). To shorter fits it adds
  {fixed:.1f} ms.
- With outlier scores it takes {scores:.1f} times as long (at most {most_scores:.1f},
  {where_scores}).
- scikit-learn's `KMeans` with ten starts takes {peer:.1f} times as long as `FactorKMeans` without
  scores (at least {least:.1f}, {where_least}).

On one thread, all in turn, the fastest of {rounds} rounds (`python -m benchmarks.panel --costs`).
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
    kmeans: float
    """Of scikit-learn's k-means of the samples, with ten starts."""


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
        lambda: KMeans(k, n_init=10, random_state=0).fit(X),
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
    peer = rows["kmeans"] / rows["clusters"]
    is_long = rows["fit"] > _SHORT
    return _PAGE.format(
        clusters=clusters.median(), most=clusters.max(), where=clusters.idxmax(),
        long=clusters[is_long].median(), short=1e3 * _SHORT, most_long=clusters[is_long].max(),
        fixed=1e3 * (rows["clusters"] - rows["fit"])[~is_long].median(),
        scores=scores.median(), most_scores=scores.max(), where_scores=scores.idxmax(),
        peer=peer.median(), least=peer.min(), where_least=peer.idxmin(), rounds=_ROUNDS,
    )  # fmt: skip
