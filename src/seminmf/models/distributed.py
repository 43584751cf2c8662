"""Fits of Dask arrays, and codes of them, which stay where they are until they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray, number_type
from .._words import counted
from ..data import unit_of
from ..distributed.dask import DaskTable, check_array, checked_rows
from ..distributed.factorize import factorize
from ..graph.index import NeighbourIndex, Recipe
from ..graph.neighbours import given_graph
from ..problem.strength import Units
from ..solve.plan import Plan
from ..solve.projection import Projector
from . import validation as check
from .persistence import LANDMARKS
from .settings import Settings
from .training import Trained, warn_of


def train_on_dask(X: Any, settings: Settings, weights: FloatArray | None) -> Trained:
    """Fit the model that the settings describe; codes and residuals are Dask arrays."""
    check_array(X)
    if X.shape[0] < 2:
        raise ValueError(f"X has {counted(X.shape[0], 'sample')}; at least 2 are needed.")
    dtype = number_type(X.dtype)
    settings = settings.checked(X.shape, dtype)
    graph = _checked(settings, X)
    share = None if weights is None else weights.astype(dtype)
    table = DaskTable(X, share, settings.n_components)

    def make_plan(length: float, total: float) -> Plan:
        settings.check_loss(length, dtype, settings.loss)
        plan = settings.plan(Units(total, length, settings.loss.power))
        check.warn_if_lopsided(plan.alpha, plan.beta, plan.mu)
        return plan

    def check_values(low: float, high: float) -> None:
        check.check_range(low, high, settings.nonnegative, dtype)
        unit = unit_of(max(-low, high), dtype)
        if unit != 1:
            raise ValueError(
                f"X has entries up to {max(-low, high):g} in absolute value, and a Dask array is "
                f"not brought to another size. Rescale X, for example X / {unit:g}."
            )

    fitted = factorize(
        table, check_values, make_plan, graph, settings.n_neighbors, LANDMARKS,
        settings.random_state,
    )  # fmt: skip
    solution, plan = fitted.solution, fitted.plan
    warn_of(solution, settings)
    problem = solution.problem
    index = codes = None
    if fitted.landmarks is not None:
        rows, codes = fitted.landmarks
        p = min(settings.n_neighbors, len(codes))
        recipe = Recipe(directions=fitted.directions)
        index = NeighbourIndex(rows, p, recipe, whole=len(codes) == X.shape[0])
    projector = Projector(
        solution.basis, problem.loss, problem.graph, plan.alpha, problem.penalty, plan.mu, index,
        codes,
    )  # fmt: skip
    return Trained(
        solution, plan.alpha, plan.beta, plan.mu, plan.strength, projector, None, None,
        fitted.graph,
    )  # fmt: skip


def _checked(settings: Settings, X: Any) -> str | sp.csr_array:
    """What there is not for Dask arrays is refused before any work; returns the graph."""
    if settings.checkpoint is not None:
        raise ValueError(
            "checkpoint is not offered for a Dask array: the rows of a worker that is lost are "
            "read again, and the fit goes on. Leave checkpoint at None."
        )
    if isinstance(settings.init, str) and settings.init == "kmeans":
        raise ValueError(
            'init="kmeans" is not offered for a Dask array. Use "auto", "svd", "exemplar", '
            '"random" or a tuple (U0, V0).'
        )
    if sp.issparse(settings.graph):
        return given_graph(settings.graph, X.shape[0])
    if not isinstance(settings.graph, str):
        raise ValueError(
            f"graph={type(settings.graph).__name__} is not offered for a Dask array: its samples "
            'lie on several workers. Use "auto", "knn" or a sparse matrix.'
        )
    check.check_neighbours(settings.n_neighbors, X.shape[0])
    return settings.graph


def _codes_of(block: Any, projector: Projector, dtype: Any) -> FloatArray:
    return projector.codes(checked_rows(block, 0, dtype))


def lazy_codes(X: Any, projector: Projector) -> Any:
    """Codes of a Dask array, as a Dask array that is calculated when it is asked for."""
    check_array(X)
    dtype = number_type(X.dtype)
    m, k = projector.basis.shape
    if X.shape[1] != m:
        raise ValueError(
            f"X has {counted(X.shape[1], 'feature')}, and the model was fitted to {m}."
        )
    return X.map_blocks(
        _codes_of, projector, dtype, dtype=dtype, chunks=(X.chunks[0], (k,)),
        meta=np.empty((0, 0), dtype),
    )  # fmt: skip
