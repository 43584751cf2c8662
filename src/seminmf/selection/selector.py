"""k and strength chosen, with the reasons, in the way of scikit-learn's searches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from hashlib import sha256
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._files import PathLike
from ..models.clustering import FactorKMeans
from ..models.samples import or_as_before
from ..models.validation import check_integer, check_neighbours
from .checks import check_array, check_candidates, drawn_seed, told_of
from .components import ForetellingPlan, usual_candidates
from .evidence import ComponentsChoice
from .grid import check_labels, check_scorer, search
from .path import FACTORS, check_estimator, check_strength, check_strengths, followed
from .stability import check_clusters, check_subsamples, steadiness
from .work import Step, Work, working

# Share of the samples in each fit of the stability.
_SUBSAMPLE = 0.8
# Runs that agree less than this, or parts that are found again less, are no firm ground.
_AGREE, _RECUR = 0.5, 0.8


def _around(strength: float) -> list[float]:
    return [factor * strength for factor in FACTORS]


def _fingerprint(y: Any) -> str:
    return sha256(repr(None if y is None else np.asarray(y).tolist()).encode()).hexdigest()


@dataclass(eq=False, repr=False)
class SemiNMFSelector(TransformerMixin, MetaEstimatorMixin, BaseEstimator):
    """Chooses the number of parts and the strength of a model, and says why.

    Without labels the number of parts is that of `choose_components`. The strength stays what the
    estimator has: no rule that was tried comes nearer to the best than the default does by more
    than chance (see the page "How many parts?"); the path shows what others would give. With labels
    of some samples both are chosen by their score: on a coarse grid, then on a finer one around its
    best.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A model with a ``strength``; None is `L21SemiNMF`. With labels also a `FactorKMeans` of one;
        it has as many clusters as there are classes if it does not say otherwise.
    candidates : iterable of int or None, default=None
        Numbers of parts to choose from; None is from 1 to 20, or to as many as can be told apart.
        Without labels it goes on from there as in `choose_components`.
    strengths : iterable of float or None, default=None
        None is 20 of them, from a hundredth of the estimator's own strength, which for as many
        parts may be automatic, to fifteen times it.
    scoring : str or callable, default="adjusted_rand_score"
        With labels: a scorer of scikit-learn, called with the fitted `FactorKMeans`, the samples
        with labels and the labels.
    n_runs : int, default=10
        Fits to subsamples that tell how stable the result is; 0 for none.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Processes; None is one, −1 is one for each core.
    callback : callable, default=None
        Called with a `Step` after each piece of work.
    checkpoint : path or None, default=None
        Folder in which results are kept as they come: the same fit with the same folder goes on
        where one was ended by force. The path, which takes the time of a few fits, is followed
        anew.

    Attributes
    ----------
    best_params_ : dict
        "n_components" and "strength".
    best_estimator_ : estimator
        Fitted to all samples with these.
    best_score_ : float or None
        With labels: their score.
    results_ : dict of str to dict of arrays
        Tables: "components" (the curve of `choose_components`), "path" (with the strengths), and
        with labels "grid" (parts, strengths and their scores).
    choice_ : ComponentsChoice or None
        Without labels: the number of parts with its interval.
    path_ : RegularizationPath
        Fits with the chosen number of parts and all strengths.
    stability_ : Stability or None
        Of the chosen model; None with ``n_runs=0``.
    reason_ : str
        Why, in words.
    doubts_ : list of str
        What speaks against it; the same is warned of.

    Examples
    --------
    >>> from seminmf.datasets import make_waveform
    >>> from seminmf.selection import SemiNMFSelector
    >>> X, _ = make_waveform(300, random_state=0)
    >>> found = SemiNMFSelector(candidates=range(2, 7), n_runs=3, random_state=0).fit(X)
    >>> found.best_params_["n_components"]
    3
    """

    estimator: Any = None
    _: KW_ONLY
    candidates: Any = None
    strengths: Any = None
    scoring: Any = "adjusted_rand_score"
    n_runs: int = 10
    random_state: Any = None
    n_jobs: int | None = None
    callback: Callable[[Step], object] | None = None
    checkpoint: PathLike | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels of some samples; −1, NaN or None for the others.

        Returns
        -------
        self : object
        """
        clusters = self.estimator if isinstance(self.estimator, FactorKMeans) else None
        model = check_estimator(self.estimator if clusters is None else clusters.factorizer)
        if model.strength != "auto":
            check_strength("strength of the estimator", model.strength)
        strengths = None
        if self.strengths is not None:
            strengths = check_strengths("strengths", self.strengths)
        if check_integer("n_runs", self.n_runs, 0) == 1:
            raise ValueError("n_runs=1 has nothing to compare with; take 0, or at least 2.")
        if self.n_runs:
            check_subsamples(model, "n_runs=0")
        table, X = X, check_array(X, "SemiNMFSelector")
        given = usual_candidates(X.shape) if self.candidates is None else self.candidates
        candidates = check_candidates("candidates", given)
        labels = None if y is None else check_labels(y, X.shape[0])
        scorer = check_scorer(self.scoring)
        plan = None if y is not None else ForetellingPlan.checked(X.shape, self.candidates)
        if candidates[-1] > X.shape[0]:
            raise ValueError(
                f"candidates go up to {candidates[-1]}, and X has {X.shape[0]} samples. Choose "
                "fewer parts than samples."
            )

        # What the last fits would not take is refused before the first.
        clone(model).set_params(n_components=candidates[0])._settings().checked(X.shape, X.dtype)
        if isinstance(model.graph, str):
            count, fewest = check_neighbours(model.n_neighbors, X.shape[0]), X.shape[0]
            fewest = round(_SUBSAMPLE * fewest) if self.n_runs else fewest
            if count >= fewest:
                raise ValueError(
                    f"n_neighbors={count} of the estimator must be smaller than the number of "
                    f"samples, and fits to subsamples have {fewest} of {X.shape[0]}. Choose "
                    f"n_neighbors <= {fewest - 1}, or n_runs=0."
                )

        wanted = str(candidates) if plan is None else plan.described

        def described() -> Any:
            return told_of(
                X, estimator=self.estimator, candidates=wanted, strengths=str(strengths),
                n_runs=self.n_runs, scoring=str(self.scoring), y=_fingerprint(y),
                random_state=self.random_state,
            )  # fmt: skip

        going = working(self.n_jobs, self.callback, self.checkpoint, described)
        with or_as_before(self), going as work:
            seed = work.once("seed of all", lambda: drawn_seed(self.random_state))
            self.choice_: ComponentsChoice | None = None
            self.best_score_: float | None = None
            self.results_: dict[str, dict[str, Any]] = {}
            if plan is not None:
                self._choose(X, model, plan, work, seed)
            else:
                assert labels is not None
                self._search(X, clusters, model, labels, candidates, strengths, scorer, work)
            best = clone(model).set_params(**self.best_params_)
            self.best_estimator_ = best.fit(table)  # which may have names of features
            self.best_params_["strength"] = best.strength_  # a number, also if it was left open
            along = sorted({*(strengths or _around(best.strength_)), best.strength_})
            self.path_ = followed(table, best, along, work)
            self.results_["path"] = {"strength": self.path_.strengths, **self.path_.table}
            self.stability_ = None
            if self.n_runs:
                subject = check_clusters(best)
                self.stability_ = steadiness(X, subject, self.n_runs, _SUBSAMPLE, work, seed)
        self.n_features_in_ = X.shape[1]
        self._conclude()
        return self

    def _choose(self, X: Any, model: Any, plan: ForetellingPlan, work: Work, seed: int) -> None:
        choice = plan.carried_out(X, work, seed)
        self.choice_ = choice
        self.best_params_ = {"n_components": choice.n_components, "strength": model.strength}
        self.results_["components"] = choice.table

    def _search(
        self, X: Any, clusters: Any, model: Any, labels: Any, candidates: list[int],
        strengths: list[float] | None, scorer: Any, work: Work,
    ) -> None:  # fmt: skip
        classes = len(np.unique(labels[1]))
        subject = FactorKMeans(model, random_state=0) if clusters is None else clone(clusters)
        if subject.n_clusters is None:
            subject.set_params(n_clusters=classes)
        grid = search(X, subject, labels, candidates, strengths, scorer, work)
        self.best_score_ = float(grid["score"].max())
        # Of equals the fewest parts, and the strength in the middle: on either side there is room.
        equal = np.flatnonzero(grid["score"] == self.best_score_)
        equal = equal[grid["n_components"][equal] == grid["n_components"][equal[0]]]
        place = equal[len(equal) // 2]
        self.best_params_ = {
            "n_components": int(grid["n_components"][place]),
            "strength": float(grid["strength"][place]),
        }
        self.results_["grid"] = grid

    def _conclude(self) -> None:
        """The reasons in words, and a warning where they are weak or contradict each other."""
        best, doubts = self.best_estimator_, []
        k, strength = self.best_params_["n_components"], self.best_params_["strength"]
        if self.choice_ is not None:
            low, high = self.choice_.interval
            sure = f" (anything from {low} to {high} does about as well)" if high > low else ""
            words = [f"{self.choice_.reason[:-1]}{sure}."]
            left_open = best.strength == "auto"
            came = "follows from what these parts can explain" if left_open else "is the one given"
            words.append(
                f"Strength {strength:.3g} {came}: without labels no rule is known that reliably "
                "does better."
            )
            if self.choice_.warning:
                doubts.append(self.choice_.warning)
        else:
            words = [
                f"{k} parts and strength {strength:.3g} score best by the labels: "
                f"{self.best_score_:.3g}."
            ]
        if best.n_active_ < k:
            doubts.append(
                f"With strength {strength:.3g} only {best.n_active_} of {k} parts are used."
            )
        if self.stability_ is not None:
            agreed, steady = self.stability_.agreement, self.stability_.part_stability
            recur = int((steady >= _RECUR).sum())
            words.append(
                f"The clusters of {len(self.stability_.labels)} fits to subsamples agree by "
                f"{agreed:.2f} (adjusted Rand index), and {recur} of {k} parts are found again."
            )
            if agreed < _AGREE:
                doubts.append(f"The clusters of subsamples agree little ({agreed:.2f}).")
        self.reason_ = " ".join(words)
        self.doubts_ = doubts
        if doubts:
            warnings.warn("The evidence is weak: " + " ".join(doubts), UserWarning, stacklevel=3)

    def transform(self, X: Any) -> Any:
        """Codes of samples in the chosen model; see its ``transform``."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of `transform`: those of the chosen model."""
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)
