"""The base of all factorizations: fitting, codes of new samples, scores, saving.

X (n × m) ≈ V Uᵀ with codes V (n × k) ≥ 0 and basis U (m × k); ``components_`` is Uᵀ. No arithmetic
is done here: `training` is imported when a fit begins, and with it the compiler.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._files import PathLike
from .._types import FloatArray
from .._words import counted
from ..problem.losses import Norm, SquaredNorm
from .display import Displayed
from .persistence import REMEDY, Saveable
from .samples import check_in_memory, check_samples, check_weights, is_dask_array, or_as_before
from .validation import DTYPES, check_flag, check_integer, check_number, drawn_seed
from .watching import watched

if TYPE_CHECKING:
    from ..solve.loop import Callback
    from .settings import Settings
    from .training import Trained

_LOSS_OF_POWER = {1: Norm, 2: SquaredNorm}


def _graph_words(graph: dict[str, Any] | None) -> list[str]:
    if graph is None:
        return []
    found = f"{graph['search']} neighbours" if "recall" in graph else f"graph: {graph['search']}"
    if "recall" in graph:
        found += f" in {graph['features']:,} features, recall {graph['recall']:.3g}"
    return [found]


@dataclass(eq=False, repr=False)
class _Factorization(Saveable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Displayed):
    """The base of all factorizations, with the parameters that all have."""

    n_components: int = 2
    _: KW_ONLY
    solver: Literal["cd", "mu"] = "cd"
    init: Any = "auto"
    n_init: int = 1
    max_iter: int = 200
    tol: float = 1e-4
    callback: Callback | None = None
    checkpoint: PathLike | None = None
    warm_start: bool = False
    forgetting: float = 1.0
    verbose: int | bool = 0
    progress: bool = False
    random_state: Any = None
    max_memory: int | str | None = None

    # The objective of the class, as fields of `Settings`.
    _parts: ClassVar[dict[str, Any]] = {
        "loss": SquaredNorm(), "graph_measure": SquaredNorm(), "nonnegative": False,
    }  # fmt: skip

    _remedies: ClassVar[dict[str, str]] = {"graph": REMEDY}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Factorize X.

        Parameters
        ----------
        X : array-like, CSR matrix or source of shape (n_samples, n_features)
            Used as it is, without a copy, if it is float64 or float32. A source
            (`seminmf.sources`), or an array of Zarr or HDF5, is read in parts, within
            ``max_memory``.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is as having it twice, 0 as not having it at all.

        Returns
        -------
        self : object
        """
        with or_as_before(self):
            X = check_samples(self, X, self.max_memory, lazy=True)
            weights = check_weights(sample_weight, X)
            with watched(self) as callback:
                settings, seed = self._seeded(self._settings(callback))
                trained = self._trained(X, settings, weights)
            self._keep(trained, weights)
            self.seed_ = seed
            return self

    def _trained(self, X: Any, settings: Settings, weights: FloatArray | None) -> Trained:
        if is_dask_array(X):
            from .distributed import train_on_dask as train
        else:
            from .training import train

        if self.checkpoint is None or is_dask_array(X):
            return train(X, settings, weights)
        from .resuming import resumable

        with resumable(type(self).__name__, settings, X, weights) as settings:
            return train(X, settings, weights)

    def _seeded(self, settings: Settings) -> tuple[Settings, int | None]:
        """The settings with a known seed, if possible, and that seed."""
        # A fit that may be resumed continues with the generator that it began with.
        seed = drawn_seed(self.random_state) if self.checkpoint is None else None
        known = self.random_state is None and seed is not None
        return replace(settings, random_state=seed) if known else settings, seed

    def _settings(self, callback: Callback | None = None) -> Settings:
        from .settings import Settings

        before = None
        if check_flag("warm_start", self.warm_start) and hasattr(self, "codes_"):
            before = self.components_.T, self.codes_
        # Not by get_params, which would read the signature of __init__ each time.
        known = {**self._parts, **vars(self), "callback": callback, "before": before}
        return Settings.among(known)

    def _keep(self, trained: Trained, weights: FloatArray | None) -> None:
        solution = trained.solution
        self.components_ = np.ascontiguousarray(solution.basis.T)
        self.codes_ = np.add(solution.codes, 0, out=solution.codes)  # no −0.0
        # A product: a sum or `any` along the columns of the codes takes several times as long.
        used = np.ones(len(self.codes_), self.codes_.dtype) @ self.codes_ > 0
        self.n_active_ = int(np.count_nonzero(self.components_.any(axis=1) & used))
        self.residuals_ = solution.residuals
        self.objective_history_ = np.array(solution.history)
        self.objective_ = solution.objective
        self.n_iter_ = len(solution.history)
        self.kkt_residual_ = solution.kkt_residual
        self.converged_ = solution.status.name == "CONVERGED"
        plan, self.strength_ = trained.plan, trained.strength
        self.alpha_, self.beta_, self.l1_ = plan.alpha, plan.beta, plan.mu
        self.loss_ = solution.problem.loss
        self._projector = trained.projector
        self._links, self._member = trained.links, trained.member
        self.graph_ = trained.graph
        self._sample_weight = weights
        self._outlier_reference = None
        if hasattr(self, "stability_"):
            del self.stability_  # of another fit

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> FloatArray:
        """Factorize X and return the codes V; the same as ``fit(X).codes_``.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, sample_weight=sample_weight).codes_

    def transform(self, X: Any) -> FloatArray:
        """Codes of samples in the fitted model: the solution of each sample's own problem.

        Without a graph that is non-negative least squares, min ‖x − Uv‖ over v ≥ 0. With one, the
        sample is tied to its nearest training samples as in the fit. Samples of the training set
        get their codes of the fit. A model of a source keeps no training samples: with a graph,
        its new samples are not tied to anything.

        Parameters
        ----------
        X : array-like, CSR matrix or source of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = check_samples(self, X, self.max_memory, reset=False, lazy=True)
        if is_dask_array(X):
            from .distributed import lazy_codes

            return lazy_codes(X, self._projector)
        return self._projector.codes(X)

    def outlier_scores(self, X: Any) -> FloatArray:
        """How far out samples are: their distances from what the other samples say of them.

        Each sample is foretold by the others alone: by parts that have not seen it (of five folds,
        with the codes of the fit), or, in a model with a graph, by the mean of its nearest
        neighbours, if that tells spoilt copies of samples better from the samples. Samples far from
        the middle of the data have no say in this, so that a group of outliers does not vouch for
        itself.

        Scores are lengths in the units of X; in a model with a graph an error counts the more, the
        rarer it is in its direction. Rank by them; `seminmf.outlier_threshold` says from
        which score on a sample is an outlier.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The training set, or other samples. A model with a graph knows its training samples one
            by one; one without has to be given all of them, in their order, and takes anything else
            for new samples, which no fit has seen. Weights of samples do not count.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is farther out.
        """
        check_is_fitted(self)
        X = check_in_memory(self, X, "outlier_scores")
        from .outliers import outlier_scores

        return outlier_scores(self, X)

    def score(self, X: Any, y: Any = None) -> float:
        """Which share of samples the model explains: 1 − Σ ρ(‖x − Uv‖) / Σ ρ(‖x‖), by its own loss.

        So searches such as scikit-learn's ``GridSearchCV`` work without a scorer. It rises with the
        number of parts, and with less strength, whatever the data are: codes of new samples see all
        of their features. Compare models with as many parts by it, or losses; for the number of
        parts take `seminmf.selection.choose_components`, and never choose the strength by it.

        Parameters
        ----------
        X : array-like, CSR matrix or source of shape (n_samples, n_features)
            New samples, as a rule.
        y : ignored

        Returns
        -------
        score : float
            1 if all is explained, 0 if nothing is.
        """
        codes = self.transform(X)
        X = check_in_memory(self, X, "score")
        from ..data import squares_of

        nothing = self.loss_.total(np.sqrt(squares_of(X)), None)
        left = self.loss_.total(self._projector.residuals(X, np.asarray(codes)), None)
        return float(1 - left / nothing) if nothing > 0 else 0.0

    def certify(self, X: Any, n_runs: int = 5, random_state: Any = None) -> Self:
        """Find out which parts come back from other starts; sets ``stability_``.

        The model is fitted again from random starts, with all other parameters as they are, and
        the parts of each fit are matched with the present ones, one to one. A part that the data
        demand is found again from everywhere; one that the start has chosen is not, and another fit
        would explain the same samples by others.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The training set.
        n_runs : int, default=5
            Number of fits. Together they take so many times the time of one from a random start.
        random_state : int, RandomState or None, default=None
            For the starts.

        Returns
        -------
        self : object
            With ``stability_`` of shape (n_components,): the mean cosine of each part with its
            partners, from 0 (never found again) to 1 (always); NaN for parts that are zero.
        """
        check_is_fitted(self)
        check_integer("n_runs", n_runs, 1)
        X = check_in_memory(self, X, "certify")
        from .certificate import stability_of

        self.stability_ = stability_of(self, X, n_runs, random_state)
        return self

    def inverse_transform(self, X: Any) -> FloatArray:
        """Samples from codes: V Uᵀ.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes, as `transform` returns them.

        Returns
        -------
        samples : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        codes = X if is_dask_array(X) else check_array(X, dtype=DTYPES, input_name="codes")
        if codes.shape[1] != self.components_.shape[0]:
            raise ValueError(
                f"X has {counted(codes.shape[1], 'column')}, but the codes of this model have "
                f"{self.components_.shape[0]}; pass what transform returned."
            )
        from ..compiled.threads.cores import AtWork

        with AtWork():
            samples: FloatArray = codes @ self.components_.astype(codes.dtype, copy=False)
        return samples

    def _forget(self, landmarks: int) -> None:
        chosen = self._projector.landmarks(landmarks)
        self._projector = self._projector.restricted(chosen)
        self._links = self._member = None

    def _saved_state(self) -> dict[str, Any]:
        """The fitted attributes, with the basis and, with a graph, training samples and codes."""
        found = self._projector
        projector = {field.name: getattr(found, field.name) for field in fields(found)}
        index = projector.pop("index")
        if index is not None:
            projector.update(index.described())
        return {**super()._saved_state(), "projector": projector}

    def _restore_state(self, state: dict[str, Any]) -> None:
        from ..graph.index import NeighbourIndex
        from ..solve.projection import Projector

        projector = state.pop("projector")
        if "loss_power" in projector:
            # A file from before losses could be chosen has a power instead.
            loss = _LOSS_OF_POWER[projector.pop("loss_power")]()
            projector.update(loss=loss, graph=loss)
            state.update(l1_=0.0, loss_=self._parts["loss"])
        state.setdefault("graph_", None)  # files from before there was an index
        state.setdefault("seed_", None)  # from before drawn seeds were stored
        state.setdefault("strength_", None)  # from before strengths came from the data
        if "n_active_" not in state:  # from before parts were counted
            used = state["components_"].any(axis=1) & state["codes_"].any(axis=0)
            state["n_active_"] = int(used.sum())
        for name in ("alpha", "mu"):
            check_number(name, projector.get(name, 0.0))
        for name in ("basis", "training_codes", "components_", "codes_", "residuals_"):
            factor = {**state, **projector}.get(name)
            if factor is not None and not (factor.dtype in DTYPES and np.isfinite(factor).all()):
                raise ValueError(f"{name} is not made of finite numbers")
        index = NeighbourIndex.taken_from(projector)
        if index is not None:
            check_flag("approximate", index.recipe.approximate)
        self._projector = Projector(**projector, index=index)
        super()._restore_state(state)
        m, k = self._projector.basis.shape
        if self.components_.shape != (k, m) or self.n_features_in_ != m:
            raise ValueError(f"components_ {self.components_.shape} do not fit {m} features")
        if self.codes_.shape != (len(self.residuals_), k):
            raise ValueError(f"codes_ {self.codes_.shape} do not fit {k} components")

    @property
    def _unit(self) -> float | None:
        """X is divided by it in the fit; None before a fit."""
        return self._projector.unit if hasattr(self, "_projector") else None

    @property
    def n_components_(self) -> int:
        """Number of parts, including those that are zero."""
        return len(self.components_)

    @property
    def reconstruction_err_(self) -> float:
        """‖X − V Uᵀ‖, the Frobenius norm; not by BLAS, whose digits depend on its threads."""
        return float(np.sqrt(np.square(self.residuals_).sum()))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _outcome(self) -> list[str]:
        if not hasattr(self, "codes_"):
            return []
        n, (k, m) = len(self.codes_), self.components_.shape
        shape = f"{counted(n, 'sample')} × {counted(m, 'feature')}"
        off = k - self.n_active_
        zero = f", {off:,} of them zero" if off else ""
        return [
            f"{shape} in {counted(k, 'part')}{zero}",
            f"{counted(self.n_iter_, 'iteration')}, {'' if self.converged_ else 'not '}converged",
            f"objective {self.objective_:.6g}",
            f"distance from optimality {self.kkt_residual_:.2g}",
            *_graph_words(self.graph_),
        ]

    def _fall(self) -> FloatArray:
        return self.objective_history_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._parts["nonnegative"]
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
