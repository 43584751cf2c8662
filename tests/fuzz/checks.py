"""What has to hold for every fit that is not refused: of its factors and of its own samples."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import reference
from fuzz.cases import SIZES, Array, Case, Own
from helpers import LOSS_NAMES
from seminmf.data import CANCELLATION

# What a fit may say while it works.
_TOLD = re.compile(
    r"makes the \w+ penalty as small as one likes|graph is not symmetric"
    r"|All outlier scores are rounding"
)
# Why a fit may be refused: each says what is wrong and what to do.
REFUSALS = {
    "constant": r"X is constant",
    "range": r"[Rr]escale X|must be between 1e-150|NaN or infinity",
    "components": r"n_components=\d+ is larger than",
    "neighbours": r"n_neighbors=\d+ must be smaller|Expected n_neighbors",
    "samples": r"minimum of 2 is required|Found array with 1 sample",
    "l1": r"l1=.* and beta=0 cannot be combined",
    "proportion": r"is out of all proportion",
    "weights": r"[Ss]ample weights must contain at least one non-zero|of positive sample_weight",
}
# How exactly a length ‖a − b‖ is known, in units of the round-off of ‖a‖ + ‖b‖, or its square in
# those of (‖a‖ + ‖b‖)²; and J beside that.
_UNITS, _SQUARE_UNITS, _RELATIVE = 200, 20, 1e-9
# Residuals below this share of a sample are not told from their squares; by the bytes of a number.
_CANCELLED = {size: share**0.5 for size, share in CANCELLATION.items()}
# Squares of lengths below this share of the largest entry leave the range of numbers; by the bytes
# of a number.
_VANISHING = {8: 1e-140, 4: 1e-13}
# Floors of ``mu``: the paper's, for data that are not divided by their size, and by the bytes of a
# number the share of a typical sample, which is no longer than the longest, below which none is.
_PAPER, _FLOOR = 1e-10, {8: 1e-14, 4: 1e-6}
# Normal equations have half the digits: a solver of a sample's problem may stop this much above its
# minimum.
_SOLVED = 1e-7


class FailureError(AssertionError):
    """A promise that was not kept: its name, and the figures."""

    def __init__(self, kind: str, told: str = "") -> None:
        super().__init__(f"{kind}: {told}")
        self.kind = kind


@contextmanager
def listening() -> Iterator[None]:
    """Fail where somebody is warned of what users are not told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not issubclass(warning.category, ConvergenceWarning) and not (
            warning.category is UserWarning and _TOLD.search(str(warning.message))
        ):
            where = f"{warning.filename.rsplit('/', 1)[-1]}:{warning.lineno}"
            raise FailureError(
                "warning", f"{warning.category.__name__} {warning.message} at {where}"
            )


def refusal(case: Case, error: Exception) -> str:
    """The reason of a documented refusal; anything else is a failure."""
    if isinstance(error, ValueError):
        for reason, words in REFUSALS.items():
            if re.search(words, str(error)):
                return reason
    raise FailureError(f"error {type(error).__name__}", str(error)[:200]) from error


class Fitted:
    """A fitted model with what it was fitted to, in units in which nothing overflows."""

    def __init__(self, case: Case, model: Any, samples: Array | None = None) -> None:
        """With other ``samples`` for their codes."""
        self.case, self.model = case, model
        self.unit = float(np.abs(case.dense).max())
        X = case.dense if samples is None else samples
        self.X, self.U = X / self.unit, model.components_.T.astype(np.float64) / self.unit
        self.V = model.codes_.astype(np.float64)
        self.eps = float(np.finfo(model.codes_.dtype).eps)
        self.power = model.loss_.power
        self.loss = {**LOSS_NAMES, Own: "huber"}[type(model.loss_)]
        self.scale = max(model.loss_.numbers(), default=1.0) / self.unit
        self.member = np.arange(len(X)) if model._member is None else model._member
        self.sizes = np.linalg.norm(self.U, axis=0)

    def residuals(self, V: Array) -> tuple[Array, Array]:
        """‖x − Uv‖ and how exactly it is known: its square, where it is not too small for that."""
        own, r = np.linalg.norm(self.X, axis=1), reference.residuals(self.X, self.U, V)
        size, lengths = self.model.codes_.itemsize, own + V @ self.sizes
        by_square = np.where(r > _CANCELLED[size] * own, r, np.inf)
        known = np.maximum(_UNITS * lengths, _SQUARE_UNITS * lengths**2 / by_square)
        return r, self.eps * known + _VANISHING[size]

    def rho(self, t: Array) -> Array:
        return np.asarray(reference.rho(self.loss, t, self.scale))

    def samples(self) -> tuple[Array, Array]:
        """The first of each sample that takes part, and the weights of all like it."""
        weights = self.case.weights
        given = np.ones(len(self.X)) if weights is None else weights
        present = np.flatnonzero((self.member >= 0) & (given > 0))
        member, first = np.unique(self.member[present], return_index=True)
        share = np.bincount(self.member[present], given[present])[member]
        return present[first], share

    def edges(self, first: Array) -> tuple[Array, Array, Array]:
        """Pairs of samples i < j (numbers in X) that are neighbours, and the weights of edges."""
        model, graph = self.model, self.case.estimator.graph
        if sp.issparse(graph):
            ties = sp.csr_array(graph.maximum(graph.T))[first][:, first]
        else:
            ties = sp.csr_array(model._links.maximum(model._links.T))
        pairs = sp.triu(ties, 1).tocoo()
        return first[pairs.row], first[pairs.col], pairs.data

    def terms(self) -> tuple[float, float]:
        """J and how exactly it is known, in units of X."""
        model, (first, share) = self.model, self.samples()
        r, error = self.residuals(self.V)
        found = share @ self.rho(r[first])
        doubt = share @ (self.rho(r[first] + error[first]) - self.rho(r[first]))
        unit = self.unit**self.power
        if getattr(model, "alpha_", 0) > 0:
            i, j, w = self.edges(first)
            t = np.linalg.norm(self.V[i] - self.V[j], axis=1)
            size = np.linalg.norm(self.V[i], axis=1) + np.linalg.norm(self.V[j], axis=1)
            power = model._parts["graph_measure"].power
            alpha = model.alpha_ / unit
            found += alpha * (w @ t**power)
            doubt += alpha * (w @ ((t + _UNITS * self.eps * size) ** power - t**power))
        found += model.l1_ / unit * (share @ self.V[first].sum(axis=1))
        found += model.beta_ / unit * self.unit * self.sizes.sum()
        return float(found), float(doubt + _UNITS * self.eps * abs(found))

    @property
    def rises_of_mu(self) -> float:
        """By how much J may rise by ``mu``.

        What it lowers is J with lengths t below a floor ε as (t²/ε + ε)/2, by steps of which sums
        of weights 1/t times squares are known to round-off: with lengths at the floor few digits
        are left of the rest.
        """
        model, (first, share) = self.model, self.samples()
        lengths, unit = np.linalg.norm(self.X, axis=1), self.unit**self.power
        paper = _PAPER * max(2.0, 1 / self.unit if self.unit >= 2.0**-20 else 0.0)
        floor, digits = max(paper, _FLOOR[model.codes_.itemsize] * lengths.max()), _UNITS * self.eps
        sizes = lengths + self.V @ self.sizes
        # A floor may also be below the round-off of a residual.
        r = np.maximum(self.residuals(self.V)[0], self.eps * sizes)
        d = reference.slope_per_length(self.loss, r, self.scale, np.finfo(np.float64).tiny)
        found = share @ (self.rho(floor) + digits * d * sizes**2)[first]
        found += model.beta_ / unit * self.unit * len(self.sizes) * floor
        if getattr(model, "alpha_", 0) > 0:
            i, j, w = self.edges(first)
            t = np.linalg.norm(self.V[i] - self.V[j], axis=1)
            size = np.linalg.norm(self.V[i], axis=1) + np.linalg.norm(self.V[j], axis=1)
            weights = digits / np.maximum(t, _PAPER) * size**2
            found += model.alpha_ / unit * (w @ (_PAPER + weights))
        return float(found)

    @property
    def round_off(self) -> float:
        """Differences of J that mean nothing: those of residuals that differ by round-off."""
        found, share = self.terms()[0], _UNITS * self.eps
        root = found ** (1 / self.power) + share * self.nothing ** (1 / self.power)
        return float(root**self.power - found)

    @property
    def nothing(self) -> float:
        """J of U = V = 0."""
        first, share = self.samples()
        return float(share @ self.rho(np.linalg.norm(self.X[first], axis=1)))

    def of_sample(self, V: Array) -> tuple[Array, Array]:
        """What each sample's own problem is at V, without a graph, and how exactly."""
        r, error = self.residuals(V)
        penalty = self.model.l1_ / self.unit**self.power * V.sum(axis=1)
        solved = _SOLVED * self.rho(np.linalg.norm(self.X, axis=1))
        doubt = self.rho(r + error) - self.rho(r) + _UNITS * self.eps * penalty + solved
        return self.rho(r) + penalty, doubt


def _factors(model: Any) -> None:
    for name in ("components_", "codes_", "residuals_", "objective_history_", "kkt_residual_"):
        if not np.isfinite(getattr(model, name)).all():
            raise FailureError(f"not finite: {name}")
    if model.codes_.min() < 0:
        raise FailureError("negative codes", f"{model.codes_.min():g}")
    if type(model).__name__ == "NMF" and model.components_.min() < 0:
        raise FailureError("negative basis", f"{model.components_.min():g}")


def _value(fitted: Fitted) -> None:
    model = fitted.model
    found, doubt = fitted.terms()
    told = model.objective_ / fitted.unit**fitted.power
    if not abs(told - found) <= doubt + _RELATIVE * abs(found):
        raise FailureError("objective", f"{told:.10g} told, {found:.10g} found")
    r, error = fitted.residuals(fitted.V)
    error += np.finfo(model.residuals_.dtype).smallest_subnormal / fitted.unit
    off = np.abs(model.residuals_.astype(np.float64) / fitted.unit - r) - error
    if not off.max() <= 0:
        i = int(off.argmax())
        raise FailureError(
            "residuals", f"{model.residuals_[i] / fitted.unit:g} told, {r[i]:g} found"
        )


def _descent(fitted: Fitted) -> None:
    """No rise but by round-off, of which ``mu`` has more."""
    history = fitted.model.objective_history_
    rises = np.diff(history, prepend=history[0])
    _, doubt = fitted.terms()
    worst = rises / fitted.unit**fitted.power - doubt - fitted.round_off
    if fitted.model.solver == "mu":
        worst -= fitted.rises_of_mu
    for t in np.flatnonzero(worst > 0):
        # A step loses digits where it begins, which may be far from the end.
        if fitted.model.solver == "mu":
            begun = _when(fitted, history[t - 1])
            if worst[t] <= begun.terms()[1] + begun.rises_of_mu:
                continue
        told = f"{history[t - 1]:.10g} to {history[t]:.10g}"
        raise FailureError(f"rise by {fitted.model.solver}", told)


def _when(fitted: Fitted, objective: float) -> Fitted:
    """The fit as it was when its objective was this."""
    seen: list[tuple[Array, Array]] = []

    def watch(progress: Any) -> None:
        if progress.objective == objective:
            seen.append(progress.factors())

    case, model = fitted.case, copy(fitted.model)
    clone(case.estimator).set_params(callback=watch).fit(case.X, sample_weight=case.weights)
    basis, model.codes_ = seen[0]
    model.components_ = basis.T
    return Fitted(case, model)


def _training_samples(fitted: Fitted) -> None:
    model, case = fitted.model, fitted.case
    codes = model.transform(case.X)
    if not (np.isfinite(codes).all() and codes.min() >= 0):
        raise FailureError("transform not finite")
    if getattr(model, "alpha_", 0) > 0:
        # Copies that were not made one may have other codes than the first of them.
        known = np.flatnonzero(fitted.member >= 0)
        if len(np.unique(fitted.member[known])) == len(known):
            known = known[np.unique(fitted.X[known], axis=0, return_index=True)[1]]
        if not np.array_equal(codes[known], model.codes_[known]):
            raise FailureError("transform of training samples")
        return
    there, doubt = fitted.of_sample(codes.astype(np.float64))
    here, error = fitted.of_sample(fitted.V)
    size = fitted.rho(np.linalg.norm(fitted.X, axis=1)).max()
    # Below this share of the largest loss differences mean nothing (`solve.factorize.ROUND_OFF`).
    slack = doubt + error + 1e-14 * size
    worse = there - here - slack
    if worse.max() > 0:
        raise FailureError("transform worse than codes", f"by {worse.max() / size:.2g}")
    better = here - there - slack
    if better.max() > 0 and model.solver == "cd":
        raise FailureError("codes worse than transform", f"by {better.max() / size:.2g}")


def again(case: Case, model: Any) -> None:
    digits = [getattr(model, name).tobytes() for name in ("codes_", "components_", "residuals_")]
    for count in (1, 3) if case.dense.shape[0] > max(SIZES) else (None,):
        with threadpool_limits(count, user_api="blas"):
            other = clone(case.estimator)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other.fit(case.X, sample_weight=case.weights)
        found = [getattr(other, name).tobytes() for name in ("codes_", "components_", "residuals_")]
        if found != digits:
            raise FailureError("other digits", f"with {count} threads")


def hold(fitted: Fitted) -> None:
    """What holds of a fit and its own samples."""
    _factors(fitted.model)
    _value(fitted)
    _descent(fitted)
    _training_samples(fitted)
