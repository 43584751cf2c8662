"""Clusters from a factorization: k-means on its codes."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray, IntArray
from ..embedding import far_fence
from .display import Displayed
from .persistence import Saveable
from .refinement import Averaged, Measured, refine
from .validation import check_in_memory, check_integer, check_samples, given

__all__ = ["FactorKMeans", "far_fence", "robust_kmeans"]


# Values of ``refinement_``.
_KINDS: dict[str, Any] = {"averaged": Averaged, "measured": Measured, "none": None}
_NAMES = {type(None) if kind is None else kind: name for name, kind in _KINDS.items()}

# A cluster of no more than this share of the samples, all of them far out, is none.
_TINY = 0.005


def _distances_from_middle(factorization: Any) -> FloatArray:
    """Of each sample from the middle of the data, by codes and residuals alone."""
    centred = factorization.codes_ - np.median(factorization.codes_, axis=0)
    products = factorization.components_ @ factorization.components_.T
    squares = np.einsum("ij,ij->i", centred @ products, centred) + factorization.residuals_**2
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def _ordinary(factorization: Any, distances: FloatArray, at_least: int) -> NDArray[np.bool_]:
    """Samples that are no far outliers by their residual, or all if those are too few.

    A residual is far out beyond the fence, if it is also longer than the typical distance of a
    sample from the middle of the data: a whole cluster that the parts miss is not.
    """
    residuals = factorization.residuals_
    inside = residuals <= max(far_fence(residuals), float(np.median(distances)))
    return np.asarray(inside if inside.sum() >= at_least else np.ones_like(inside))


def robust_kmeans(
    factorization: Any, codes: FloatArray, n_clusters: int, random_state: Any
) -> KMeans:
    """k-means of the codes, with centres that far outliers have no say in.

    Outliers that no part explains have a far residual. Outliers that have got a part of their own
    are far from the middle and make tiny clusters: those are dissolved, and k-means is done again.
    Nothing is known of a factorization that is not of this package.
    """
    search = KMeans(n_clusters=n_clusters, n_init=10, random_state=random_state)
    if not hasattr(factorization, "residuals_"):
        return search.fit(codes)
    distances = _distances_from_middle(factorization)
    inside = _ordinary(factorization, distances, n_clusters)
    far, tiny = distances > far_fence(distances), max(1, int(_TINY * len(codes)))
    while True:
        search.fit(codes[inside])
        sizes = np.bincount(search.labels_, minlength=n_clusters)
        stray = np.flatnonzero(inside)[sizes[search.labels_] <= tiny]
        stray = stray[far[stray]]
        if len(stray) == 0 or inside.sum() - len(stray) < n_clusters:
            return search
        inside[stray] = False


class FactorKMeans(Saveable, ClusterMixin, Displayed):
    """Factorize X ≈ V Uᵀ, then cluster the codes V by k-means.

    For a model that looks for neighbours itself (`GraphSemiNMF` or `L21SemiNMF`, unless ``graph``
    is a matrix) k-means sees codes that are refined by what the fit knows:

    - *averaged*: each sample's code is replaced by its mean with those of its neighbours, twice.
      This is done where neighbourhoods are sound: at most a tenth of the samples are next to
      nobody else (with p neighbours each, among those of fewer than p/5 others).
    - *measured*: where more of them are and some directions of the codes are noise, the codes are
      replaced by the coordinates of the samples themselves, as least squares gives them, along
      the directions in which they vary more than noise does, σ²(1 + √(n_features/n_samples))².
      Neighbours that noise has chosen then have no say.

    Otherwise, and where a neighbourhood is as large as a cluster, codes are taken as they are.

    Far outliers have no say in the centres, because they would take clusters for themselves. Those
    are samples whose residual is more than 6 deviations (1.4826 median absolute deviations) above
    the median and longer than the typical distance of a sample from the middle of the data; and
    samples as far above the median in that distance that share a cluster with at most 0.5 % of the
    samples. They are assigned to the nearest centre like all others. On data without such samples
    this is plain k-means.

    Parameters
    ----------
    factorizer : estimator
        A factorization such as `L21SemiNMF`; it is cloned, not changed.
    n_clusters : int or None, default=None
        Number of clusters; None takes the factorizer's ``n_components``, as the paper does.
    random_state : int, RandomState or None, default=None
        For k-means, and for the factorizer if it has no ``random_state`` of its own.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample.
    factorizer_ : estimator
        The fitted factorization.
    kmeans_ : sklearn.cluster.KMeans
        The fitted k-means.
    cluster_centers_ : ndarray of shape (n_clusters, n_components)
        Centres of the clusters, in the space of the codes: means of the refined codes. Where these
        are measured, entries may be negative.
    refinement_ : {"averaged", "measured", "none"}
        What was done with the codes before k-means.
    n_features_in_ : int
        Number of features seen in fit.

    Examples
    --------
    >>> from seminmf import FactorKMeans, L21SemiNMF
    >>> from seminmf.datasets import make_waveform
    >>> from seminmf.metrics import majority_accuracy
    >>> X, kind = make_waveform(500, random_state=0)
    >>> model = FactorKMeans(L21SemiNMF(n_components=10), random_state=0).fit(X)
    >>> majority_accuracy(kind, model.labels_) > 0.7
    True
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _remedies: ClassVar[dict[str, str]] = {
        "factorizer": "; use one of seminmf's own factorizations, such as L21SemiNMF",
    }

    def __init__(
        self, factorizer: Any, n_clusters: int | None = None, random_state: Any = None
    ) -> None:
        self.factorizer = factorizer
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorize X and cluster its codes.

        Parameters
        ----------
        X : array-like, CSR matrix or source of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self : object
        """
        if not hasattr(self.factorizer, "fit_transform"):
            raise ValueError(
                "factorizer must be an estimator with fit_transform, such as "
                f"seminmf.L21SemiNMF(n_components=10), got {self.factorizer!r}."
            )
        X = given(check_samples(self, X, getattr(self.factorizer, "max_memory", None)))
        rng = check_random_state(self.random_state)
        factorizer = clone(self.factorizer)
        if "random_state" in factorizer.get_params() and factorizer.random_state is None:
            factorizer.set_params(random_state=rng.randint(2**31 - 1))
        n_clusters = self.n_clusters
        if n_clusters is None:
            n_clusters = factorizer.get_params().get("n_components")
        n_clusters = check_integer("n_clusters", n_clusters, 1)
        if n_clusters > X.shape[0]:
            raise ValueError(
                f"n_clusters={n_clusters} is larger than the number of samples, "
                f"n_samples = {X.shape[0]}; choose fewer clusters."
            )
        codes = np.asarray(factorizer.fit_transform(X))
        refined = self._refine(factorizer, X, codes, n_clusters)
        self.kmeans_ = robust_kmeans(factorizer, refined, n_clusters, rng.randint(2**31 - 1))
        self.factorizer_ = factorizer
        self.labels_: IntArray = self.kmeans_.predict(refined)
        self.cluster_centers_: FloatArray = self.kmeans_.cluster_centers_
        return self

    def predict(self, X: Any) -> IntArray:
        """Clusters of new samples: the centre nearest to their codes, refined as in the fit.

        Samples of the training set get their clusters of the fit.

        Parameters
        ----------
        X : array-like, CSR matrix or source of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._codes_and_labels(X)[1]

    def outlier_scores(self, X: Any) -> FloatArray:
        """How far out samples are, by the factorization; see its ``outlier_scores``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is farther out.
        """
        check_is_fitted(self)
        if not hasattr(self.factorizer_, "outlier_scores"):
            raise AttributeError(
                f"{type(self.factorizer_).__name__} has no outlier scores; use one of seminmf's "
                "own factorizations, such as L21SemiNMF."
            )
        X = check_in_memory(self, X, "outlier_scores")
        scores: FloatArray = self.factorizer_.outlier_scores(X)
        return scores

    def _codes_and_labels(self, X: Any) -> tuple[FloatArray, IntArray]:
        """What the factorization's ``transform`` returns, and the clusters."""
        check_is_fitted(self)
        most = getattr(self.factorizer_, "max_memory", None)
        X = given(check_samples(self, X, most, reset=False))
        refinement = self._refinement
        if isinstance(refinement, Averaged):
            # Neighbours are those that the codes are tied to: they are looked for once.
            projector = self.factorizer_._projector
            placed = projector.place(X)
            codes, refined = placed.codes, refinement.codes(placed, projector.training_codes)
        else:
            codes = refined = np.asarray(self.factorizer_.transform(X))
            if isinstance(refinement, Measured):
                refined = refinement.codes(X)
        labels: IntArray = self.kmeans_.predict(refined)
        return codes, labels

    def _refine(self, factorizer: Any, X: Any, codes: FloatArray, n_clusters: int) -> FloatArray:
        """Find out how codes are to be refined, and do it for those of the fit."""
        self._refinement: Averaged | Measured | None = None
        if hasattr(factorizer, "residuals_"):
            distances = _distances_from_middle(factorizer)
            inside = _ordinary(factorizer, distances, n_clusters)
            self._refinement = refine(factorizer, X, inside, n_clusters)
        self.refinement_ = _NAMES[type(self._refinement)]
        if isinstance(self._refinement, Averaged):
            averages, member = self._refinement.rounds[-1], factorizer._member
            return averages if member is None else averages[member]
        return codes if self._refinement is None else self._refinement.codes(X)

    def _forget(self, landmarks: int) -> None:
        if isinstance(self._refinement, Averaged):
            chosen = self.factorizer_._projector.landmarks(landmarks)
            self._refinement = self._refinement.restricted(chosen)
        super()._forget(landmarks)

    def _saved_state(self) -> dict[str, Any]:
        state = super()._saved_state()
        kmeans = state.pop("kmeans_")
        del state["cluster_centers_"]  # those of k-means
        if self._refinement is not None:
            state["refined"] = {
                field.name: getattr(self._refinement, field.name)
                for field in fields(self._refinement)
            }
        found = ("cluster_centers_", "labels_", "inertia_", "n_iter_")
        state["kmeans"] = {
            "parameters": kmeans.get_params(),
            "found": {name: getattr(kmeans, name) for name in found},
        }
        return state

    def _restore_state(self, state: dict[str, Any]) -> None:
        stored = state.pop("kmeans")
        # Files from before there was a refinement have none.
        kind = _KINDS[state.setdefault("refinement_", _NAMES[type(None)])]
        refinement = None if kind is None else kind(**state.pop("refined"))
        super()._restore_state(state)
        centres = stored["found"]["cluster_centers_"]
        if centres.ndim != 2 or centres.shape[1] != self.factorizer_.components_.shape[0]:
            raise ValueError(f"cluster_centers_ {centres.shape} do not fit the codes")
        self._refinement = refinement
        self._check_refinement()
        # A fit to the centres themselves sets what scikit-learn keeps for itself; then come the
        # numbers of the fit that was saved.
        self.kmeans_ = KMeans(n_clusters=len(centres), init=centres, n_init=1, max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # centres may be equal
            self.kmeans_.fit(centres)
        self.kmeans_.set_params(**stored["parameters"])
        for name, value in stored["found"].items():
            setattr(self.kmeans_, name, value)
        self.cluster_centers_ = centres

    def _check_refinement(self) -> None:
        """Against the factorization of a model file."""
        refinement, (k, m) = self._refinement, self.factorizer_.components_.shape
        if isinstance(refinement, Measured) and refinement.slopes.shape != (m, k):
            raise ValueError(f"slopes {refinement.slopes.shape} do not fit the parts")
        if isinstance(refinement, Averaged):
            trained = self.factorizer_._projector.training_codes
            if trained is None or refinement.rounds.shape[1:] != trained.shape:
                raise ValueError(f"averages {refinement.rounds.shape} do not fit the codes")

    def _outcome(self) -> list[str]:
        if not hasattr(self, "labels_"):
            return []
        sizes = np.bincount(self.labels_)
        sizes = sizes[sizes > 0]
        clusters = f"{len(sizes):,} clusters of {sizes.min():,} to {sizes.max():,} samples"
        inner = self.factorizer_
        return [*(inner._outcome() if isinstance(inner, Displayed) else []), clusters]

    def _fall(self) -> FloatArray:
        return np.asarray(getattr(self.factorizer_, "objective_history_", []))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
