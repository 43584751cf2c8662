"""The parameters of an estimator as checked values, and the plan of a fit that follows from them.

Imported when a fit begins, since it loads the numerics and their compiler.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import FloatArray
from ..data import Stream, divided, graph_size
from ..data.samples import typical_length
from ..problem.losses import Loss, loss_of
from ..problem.penalties import L1, CodesPenalty
from ..problem.strength import (
    STRENGTH_IF_ALL_IS_EXPLAINED,
    Units,
    automatic_strength,
    resolve,
    resolve_penalty,
)
from ..solve.loop import Callback, Progress, Stopping
from ..solve.plan import RELATIVE_FLOOR, Plan
from . import validation as check

# The most that a residual of round-off may count, as a share of a typical sample.
_HARDLY_COUNTS = 0.01


@dataclass(frozen=True)
class Settings:
    """An estimator's parameters, with loss and signs of its class, for one fit."""

    n_components: Any
    solver: Any
    init: Any
    n_init: Any
    max_iter: Any
    tol: Any
    callback: Callback | None
    checkpoint: Any
    random_state: Any
    max_memory: Any
    loss: Any
    graph_measure: Loss
    nonnegative: bool
    before: tuple[FloatArray, FloatArray] | None
    """Basis and codes of the last fit to continue from, or None."""
    # Parameters that not all models have.
    alpha: Any = 0.0
    beta: Any = 0.0
    strength: Any = 0.0
    graph: Any = "auto"
    n_neighbors: Any = 5
    l1: Any = 0.0
    codes_penalty: Any = None

    @classmethod
    def among(cls, known: dict[str, Any]) -> Settings:
        """The settings among all attributes of an estimator."""
        return cls(**{name: known[name] for name in NAMES if name in known})

    def checked(self, shape: tuple[int, int], dtype: Any) -> Settings:
        """The settings with every value checked against the shape of the data."""
        n, m = shape
        k = check.check_integer("n_components", self.n_components, 1)
        check.check_integer("n_neighbors", self.n_neighbors, 1)
        random_state = check.check_seed(self.random_state)
        check.check_callback(self.callback)
        check.check_sizes(shape, k, self.nonnegative)
        if isinstance(self.graph, str):
            check.check_choice("graph", self.graph, ("auto", "knn"))
        elif not sp.issparse(self.graph) and (
            isinstance(self.graph, type) or not hasattr(self.graph, "fit_transform")
        ):
            raise ValueError(
                'graph must be "auto", "knn", a sparse matrix of shape (n_samples, n_samples) or a '
                f"scikit-learn neighbours transformer, got {type(self.graph).__name__}."
            )
        return replace(
            self,
            n_components=k,
            alpha=check.check_number_or_auto("alpha", self.alpha, "`strength`"),
            beta=check.check_number_or_auto("beta", self.beta, "`strength`"),
            strength=check.check_number_or_auto(
                "strength", self.strength, "what of the data can be explained"
            ),
            codes_penalty=self._checked_penalty(),
            loss=loss_of(self.loss),
            solver=check.check_choice("solver", self.solver, check.SOLVERS),
            init=check.check_start(self.init, n, m, k, self.nonnegative, dtype),
            before=check.check_before(self.before, n, m, k, dtype),
            n_init=check.check_integer("n_init", self.n_init, 1) if self.before is None else 1,
            max_iter=check.check_integer("max_iter", self.max_iter, 1),
            tol=check.check_number("tol", self.tol),
            random_state=random_state,
        )

    def check_stream(self, X: Stream) -> None:
        """Refuse what cannot be done with rows of which only some are in memory."""
        if isinstance(self.init, str) and self.init == "kmeans":
            raise ValueError(
                'init="kmeans" needs all samples in memory at a time; for a source take "auto", '
                '"svd", "random" or "exemplar".'
            )
        searched = not sp.issparse(self.graph)
        if self.coupled and searched and not (isinstance(self.graph, str) and self.graph == "auto"):
            raise ValueError(
                f"graph={self.graph!r} needs all samples in memory at a time. For a source take "
                'graph="auto", which looks for neighbours in the leading directions of X, a sparse '
                "matrix of neighbours, or alpha=0 and beta=0 for a model without a graph."
            )
        if self.coupled:
            count = 2 * self.n_neighbors * X.shape[0] if searched else self.graph.nnz
            X = X.with_graph(graph_size(X, self.n_components, count))
        X.check_memory(self.n_components)

    @property
    def coupled(self) -> bool:
        """Whether there is a graph, as far as that is known before α is."""
        if self.alpha != "auto":
            return bool(self.alpha)
        return bool(self.beta != 0 and (self.strength == "auto" or self.strength > 0))

    def check_proportions(self, size: float, dtype: Any) -> None:
        """Check weights against an X whose largest entry has this size."""
        scale = size**self.loss.power
        check.check_proportion("alpha", self.alpha, scale, dtype)
        check.check_proportion("beta", self.beta, scale / size, dtype)
        if self.codes_penalty is not None:
            name = "l1" if self.l1 > 0 else "codes_penalty.strength"
            check.check_strength_of_penalty(name, self.codes_penalty.strength, dtype)
        check.check_start_proportion(self.init, size, dtype)

    def _check_loss(self, length: float, dtype: Any, given: Loss) -> None:
        """Check the loss against typical samples of this length; ``given`` is the user's loss.

        With a scale far below that length the loss depends on what is not told from zero: Cauchy's
        loss at a residual of round-off would be nearly as large as without a fit. With a scale far
        above it samples are worth nothing beside the penalties.
        """
        if not self.loss.is_resolved or not self.loss.parameters or not length > 0:
            return
        size = np.dtype(dtype).itemsize
        floor, worth = RELATIVE_FLOOR[size], check.MOST_APART[size][0] * length**self.loss.power
        numbers = self.loss.numbers()
        zero, least, whole = (self.loss.value(t * length, *numbers) for t in (0.0, floor, 1.0))
        fault = ""
        if not least - zero <= _HARDLY_COUNTS * (whole - zero):
            fault = "what round-off leaves of a sample would count nearly as much as the sample"
        elif not whole - zero > worth:
            fault = "beside its scale samples are as good as nothing"
        if fault:
            raise ValueError(
                f"loss={given!r} is out of all proportion to X: {fault}. Leave its scale at "
                '"auto", or choose one of the size of residuals.'
            )

    def in_units(self, unit: float) -> Settings:
        """The settings of the same fit for X / unit, whose objective is smaller by unitᵖ."""
        if unit == 1:
            return self
        scale, callback = unit**self.loss.power, self.callback
        factors: dict[str, Any] = {}
        for name in ("init", "before"):
            given = getattr(self, name)
            if isinstance(given, tuple):
                factors[name] = divided(given[0], unit), given[1]
        return replace(
            self,
            alpha=self.alpha if self.alpha == "auto" else self.alpha / scale,
            beta=self.beta if self.beta == "auto" else self.beta / (scale / unit),
            loss=self.loss.in_units(unit),
            callback=None if callback is None else _in_units_of_x(callback, unit, scale),
            **factors,
        )

    def _checked_penalty(self) -> CodesPenalty | None:
        """The penalty on the codes; None if its strength is zero."""
        l1, penalty = check.check_number("l1", self.l1), self.codes_penalty
        if penalty is None:
            return L1(l1) if l1 > 0 else None
        if l1 > 0:
            raise ValueError(
                f"l1={self.l1!r} and codes_penalty={penalty!r} cannot be combined: they are two "
                "penalties on the codes. Leave one of them at its default."
            )
        if not isinstance(penalty, CodesPenalty):
            raise ValueError(
                "codes_penalty must be None or an object of a class derived from "
                f"seminmf.penalties.CodesPenalty, got {penalty!r}."
            )
        if check.check_number("codes_penalty.strength", penalty.strength) == 0:
            return None
        penalty.check()
        return penalty

    def _weights(self, units: Units, strength: float) -> tuple[float, float, float]:
        """α, β and μ."""
        alpha, beta = resolve(self.alpha, self.beta, strength, units, self.graph_measure.power)
        if self.codes_penalty is None:
            return alpha, beta, 0.0
        given_as = f"l1={self.l1!r}" if self.l1 > 0 else f"codes_penalty={self.codes_penalty!r}"
        free = self.beta == "auto"
        mu, beta = resolve_penalty(self.codes_penalty, given_as, beta, free, units)
        return alpha, beta, mu

    def first_plan(self, squares: FloatArray, share: FloatArray | None, given: Loss) -> Plan:
        """`plan` for samples with these squared lengths and weights, with checks and warnings;
        ``given`` is the user's loss.
        """
        total = float(len(squares) if share is None else share.sum())
        units = Units(total, typical_length(squares, share), self.loss.power)
        self._check_loss(units.length, squares.dtype, given)
        plan = self.plan(units)
        check.warn_if_lopsided(plan.alpha, plan.beta, plan.mu)
        return plan

    def plan(self, units: Units) -> Plan:
        """The plan of the fit. If its strength depends on the data, α, β and μ are preliminary, as
        if parts could explain all, and ``weigh`` sets them by what parts can explain.
        """
        left_to_data = self.strength == "auto"
        strength = STRENGTH_IF_ALL_IS_EXPLAINED if left_to_data else self.strength
        alpha, beta, mu = self._weights(units, strength)
        weigh = None
        if left_to_data and alpha > 0 and "auto" in (self.alpha, self.beta):
            weigh = partial(self._weights_by_gain, units)
        return Plan(
            self.n_components, self.loss, self.graph_measure, alpha, beta, self.codes_penalty, mu,
            self.nonnegative, self.solver, self.before or self.init, self.n_init,
            Stopping(self.max_iter, self.tol), self.callback, units, self.checkpoint, weigh,
        )  # fmt: skip

    def _weights_by_gain(
        self, units: Units, loss: Loss, spread: float, residual: float
    ) -> tuple[float, float, float]:
        power = self.graph_measure.power
        return self._weights(units, automatic_strength(loss, units.length, spread, residual, power))


NAMES = tuple(field.name for field in fields(Settings))


def _in_units_of_x(callback: Callback, unit: float, scale: float) -> Callback:
    """A callback that sees a fit to X / unit as one to X."""

    def wrapped(progress: Progress) -> object:
        seen = progress.through(lambda basis, codes: (basis * basis.dtype.type(unit), codes))
        return callback(replace(seen, objective=scale * progress.objective))

    return wrapped
