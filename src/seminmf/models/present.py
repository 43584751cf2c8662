"""The samples that take part in a fit, each of them once, and how they stand for all.

Imported when a fit begins: behind it are the numerics and their compiler.
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

# Up to this many entries looking for equal samples takes no time.
_SMALL = 2**20


def _merges(X: Any, settings: Settings) -> bool:
    """Whether equal samples are one. Without a graph copies make no difference but to the starts,
    and only with few samples.
    """
    given = sp.issparse(settings.graph) or isinstance(settings.init, tuple)
    small = X.shape[0] * X.shape[1] <= _SMALL
    able = settings.solver == "cd" and not given and not isinstance(X, Stream)
    return able and (settings.coupled or small)


@dataclass(frozen=True)
class Present:
    """Samples whose weight is not zero; equal ones may be one, which counts as often."""

    whole: Any
    """All samples."""
    rows: Any
    """Those that take part."""
    share: FloatArray | None
    member: IntArray | None
    """For each sample its number among ``rows``, −1 if its weight is zero; None if all are."""

    @classmethod
    def among(cls, X: Any, settings: Settings, weights: FloatArray | None) -> Present:
        """Equal samples stay apart if there would be fewer than components."""
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
        """Where each of those that take part comes first."""
        assert self.member is not None
        kept = np.flatnonzero(self.member >= 0)
        return kept[np.unique(self.member[kept], return_index=True)[1]]

    def graph(self, settings: Settings) -> Settings:
        """With the edges of a given graph between those that take part, who are not merged then."""
        if self.member is None or not sp.issparse(settings.graph):
            return settings
        matrix = given_graph(settings.graph, len(self.member))
        return replace(settings, graph=matrix[self._first][:, self._first])

    def settings(self, settings: Settings) -> Settings:
        """With starts for those that take part, and a callback that sees all."""
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
        """To all samples: copies share a code, absent samples are projected."""
        if self.member is None:
            return
        for name in ("codes", "residuals"):
            setattr(solution, name, getattr(solution, name).take(self.member, axis=0))
        absent = np.flatnonzero(self.member == -1)
        if len(absent):
            X = self.whole[absent]
            solution.codes[absent] = codes = projector.codes(X)
            solution.residuals[absent] = projector.residuals(X, codes)
