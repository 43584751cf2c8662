"""The samples that take part in a fit, equal ones once, and the way back to all samples.

Imported when a fit begins, since it loads the numerics and their compiler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._once import once
from .._types import FloatArray, IntArray
from ..data import Stream, entry_range
from ..data.samples import distinct_rows
from ..graph.neighbours import given_graph
from ..solve.loop import Solution
from ..solve.projection import Projector
from . import validation as check
from .settings import Settings

# Up to this many entries, searching for equal samples takes no time.
_SMALL = 2**20


def _merges(X: Any, settings: Settings) -> bool:
    """Whether equal samples become one. Without a graph copies affect only the starts, and only
    with few samples.
    """
    given = sp.issparse(settings.graph) or isinstance(settings.init, tuple)
    small = X.shape[0] * X.shape[1] <= _SMALL
    able = settings.solver == "cd" and not given and not isinstance(X, Stream)
    return able and (settings.coupled or small)


@dataclass(frozen=True)
class Present:
    """Samples of positive weight; equal ones may be merged into one with their summed weight."""

    whole: Any
    """All samples."""
    rows: Any
    """Samples that take part."""
    share: FloatArray | None
    member: IntArray | None
    """The number of each sample among ``rows``, −1 for weight zero; None if all take part."""

    @classmethod
    def among(cls, X: Any, settings: Settings, weights: FloatArray | None) -> Present:
        """Samples and weights for a fit; not merged if fewer than components would be left."""
        n = X.shape[0]
        chosen, member, merged = np.arange(n), np.arange(n), False
        if _merges(X, settings):
            distinct = distinct_rows(X)
            merged = len(distinct[0]) >= settings.n_components
            chosen, member = distinct if merged else (chosen, member)
        if weights is None and len(chosen) == n:
            return cls(X, X, None, None)
        share = np.bincount(member, weights=weights)
        kept = share > 0
        if kept.all() and len(chosen) == n and not merged:
            return cls(X, X, share.astype(X.dtype), None)
        member = np.where(kept, np.cumsum(kept) - 1, -1)[member]
        found = cls(X, X[chosen[kept]], share[kept].astype(X.dtype), member)
        which = "" if weights is None else " of positive sample_weight"
        check.check_sizes(found.rows.shape, settings.n_components, settings.nonnegative, which)
        check.check_range(*entry_range(found.rows), settings.nonnegative, X.dtype)
        return found

    @once
    def _first(self) -> IntArray:
        """The first sample that each of ``rows`` stands for."""
        assert self.member is not None
        kept = np.flatnonzero(self.member >= 0)
        return kept[np.unique(self.member[kept], return_index=True)[1]]

    def graph(self, settings: Settings) -> Settings:
        """The settings, with a given graph restricted to ``rows``, which are then not merged."""
        if self.member is None or not sp.issparse(settings.graph):
            return settings
        matrix = given_graph(settings.graph, len(self.member))
        return replace(settings, graph=matrix[self._first][:, self._first])

    def settings(self, settings: Settings) -> Settings:
        """The settings, with starts restricted to ``rows`` and a callback that sees all samples."""
        if self.member is None:
            return settings
        changed: dict[str, Any] = {}
        for name in ("init", "before"):
            given = getattr(settings, name)
            if isinstance(given, tuple):
                changed[name] = given[0], np.ascontiguousarray(given[1][self._first])
        callback = settings.callback
        if callback is not None:
            changed["callback"] = lambda progress: callback(progress.through(self._seen))
        return replace(settings, **changed)

    def _seen(self, basis: FloatArray, codes: FloatArray) -> tuple[FloatArray, FloatArray]:
        codes, absent = codes[self.member], np.flatnonzero(self.member == -1)
        if len(absent):
            codes[absent] = Projector(basis).codes(self.whole[absent])
        return basis, codes

    def expand(self, solution: Solution, projector: Projector) -> None:
        """Expand codes and residuals to all samples; absent samples are projected."""
        if self.member is None:
            return
        for name in ("codes", "residuals"):
            setattr(solution, name, getattr(solution, name).take(self.member, axis=0))
        absent = np.flatnonzero(self.member == -1)
        if len(absent):
            X = self.whole[absent]
            solution.codes[absent] = codes = projector.codes(X)
            solution.residuals[absent] = projector.residuals(X, codes)
