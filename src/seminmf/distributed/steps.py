"""What shards do in a fit beside its iterations: functions of a shard, see `shards`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import FloatArray
from ..data import Engine
from ..data.features import equal_weights
from ..problem.objective import Objective
from ..problem.stationarity import stationarity_sums
from ..solve.projection import solve_codes
from .shards import Shard


def squares(shard: Shard) -> tuple[FloatArray, FloatArray | None]:
    return np.asarray(shard.engine.squares), shard.share


def entry_range(shard: Shard) -> tuple[float, float]:
    return shard.engine.range


def size(shard: Shard) -> int:
    return shard.engine.n_samples


def weigh_equally(shard: Shard, length: float) -> None:
    """Keep the weights by which directions are looked for."""
    shard.weights = equal_weights(shard.engine.squares, length).astype(shard.engine.dtype)


def set_features(shard: Shard, directions: FloatArray | None) -> None:
    """Features by which neighbours are found: those of X itself without directions."""
    engine = shard.engine
    shard.features = engine.all_rows() if directions is None else engine.times(directions)


def add_subspace(shard: Shard, directions: FloatArray) -> None:
    """A space of the coordinates along some directions."""
    engine = shard.engine
    features = engine.times(directions)
    small = Engine(features, shard.n_components, squares=engine.squares, team=engine.team)
    shard.spaces["leading"] = small


def keep(shard: Shard, scale: float) -> None:
    """Codes and residuals of the best run so far."""
    factor = shard.engine.dtype.type(scale)
    shard.kept = shard.rows.codes * factor, shard.rows.residuals.copy()


def graph_of(shard: Shard) -> tuple[int, float]:
    """Edges within the shard, and the share of the neighbours that were found."""
    return len(shard.graph.inner.pairs), shard.recall


def some_samples(shard: Shard, share: float) -> tuple[Any, FloatArray]:
    """About that share of the samples, and their codes."""
    chosen = np.linspace(0, len(shard.codes), round(share * len(shard.codes)), endpoint=False)
    return shard.engine.chosen_rows(chosen.astype(int)), shard.codes[chosen.astype(int)]


def take_kept(shard: Shard) -> None:
    (shard.codes, shard.residuals), shard.rows = shard.kept, None
    shard.kept = None


def project(shard: Shard, basis: FloatArray, objective: Objective) -> None:
    """Codes that are best for the basis, without regard to neighbours."""
    codes = np.zeros((shard.engine.n_samples, basis.shape[1]), shard.engine.dtype)
    solve_codes(shard.engine, basis, objective, codes)
    shard.codes, shard.rows = codes, None


def try_polish(shard: Shard, basis: FloatArray, objective: Objective) -> FloatArray:
    """See `solve.factorize`: returns loss and penalty of polished codes, and the loss of none."""
    engine = shard.engine
    codes = shard.codes.copy()
    solve_codes(engine, basis, objective, codes)
    residuals = engine.residuals(basis, codes)
    shard.kept = codes, residuals
    return np.array([
        objective.loss.total(residuals, shard.share),
        objective.codes_penalty(codes, shard.share),
        objective.loss.total(np.sqrt(engine.squares), shard.share),
    ])  # fmt: skip


def shown_codes(shard: Shard) -> FloatArray:
    return np.asarray(shard.codes[shard.graph.crossing.shown])


def stationarity(
    shard: Shard, objective: Objective, basis: FloatArray, elsewhere: FloatArray | None
) -> Any:
    codes = shard.codes if elsewhere is None else np.concatenate([shard.codes, elsewhere])
    return stationarity_sums(
        objective, shard.engine, shard.graph, shard.share, (basis, codes), shard.residuals
    )


def numbered(shard: Shard, what: str) -> tuple[Any, FloatArray]:
    return shard.numbers, getattr(shard.rows, what)
