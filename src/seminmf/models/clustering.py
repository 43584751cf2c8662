"""Clusters from a factorization: k-means of samples as the factorization sees them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._once import once
from .._types import FloatArray, IntArray
from .._words import counted
from .display import Displayed
from .persistence import Saveable
from .reading import CODES, METRICS, RECONSTRUCTION, Middle, Reading, checked_codes, metric_root
from .samples import check_in_memory, check_samples, given, or_as_before
from .validation import check_choice, check_estimator, check_integer, check_seed, drawn_seed

if TYPE_CHECKING:
    from ..compiled.kmeans import Partition

__all__ = ["Clusters", "FactorKMeans", "find_clusters"]

_AVERAGED, _NONE = "averaged", "none"  # values of ``refinement_``
# Starts of k-means, of which the best is continued. More find slightly tighter clusters, and none
# that are nearer to the classes (`benchmarks.panel.starts`).
_STARTS = 5
# The fields of `Partition` by scikit-learn's names.
_FOUND = ("cluster_centers_", "labels_", "inertia_", "n_iter_")


class Clusters(NamedTuple):
    """Clusters of the samples of a fit."""

    partition: Partition
    """The clusters, in the coordinates of k-means."""
    centres: FloatArray
    """Mean codes of each cluster."""
    reading: Reading


def find_clusters(
    factorizer: Any,
    codes: FloatArray,
    n_clusters: int,
    seed: int,
    metric: str = RECONSTRUCTION,
    refine: bool = True,
    start: IntArray | None = None,
) -> Clusters:
    """k-means of the codes of a fitted factorization, from the clusters ``start`` if given."""
    from ..compiled.kmeans import kmeans, squared_distances
    from ..compiled.threads.cores import AtWork
    from .averages import means_by_label

    with AtWork():
        reading, (places, shares) = Reading.of(factorizer, codes, n_clusters, metric, refine)
    means = None
    if start is not None:
        means = np.array([places[start == label].mean(axis=0) for label in range(n_clusters)])
    found = kmeans(places, n_clusters, seed, _STARTS, centres=means)
    # Samples that were drawn in count less.
    centres, weights = means_by_label(codes, shares[:, 0], found.labels, n_clusters)
    if not weights.all():
        empty = np.flatnonzero(weights == 0)
        told = f"Only {n_clusters - len(empty)} distinct clusters are found: choose fewer."
        warnings.warn(told, ConvergenceWarning, stacklevel=4)
        # Empty clusters get a centre all the same.
        centres[empty] = codes[squared_distances(places, found.centres[empty]).argmin(axis=0)]
    return Clusters(found, centres, reading)


def _reading_of_before(state: dict[str, Any], centres: FloatArray) -> dict[str, Any]:
    """The reading in files from before it was stored: codes as they are, or averaged."""
    kind, refined = state.setdefault("refinement_", _NONE), state.pop("refined", None)
    if kind not in (_AVERAGED, _NONE):
        raise ValueError(f"refinement_ {kind!r} is not known any more; fit the model again")
    state["cluster_centers_"] = centres
    rounds = None
    if refined is not None:
        rounds = np.stack([state["factorizer_"]._projector.training_codes, *refined["rounds"]])
    return {"metric": CODES, "middle": None, "radius": None, "rounds": rounds}


def _reading_of_codes(stored: dict[str, Any], factorizer: Any, k: int) -> dict[str, Any]:
    """The reading in files from before it was one of places: codes were drawn in and averaged, and
    parts were not refined.
    """
    root = np.eye(k) if stored["metric"] == CODES else metric_root(factorizer, k, even=False)
    middle, rounds = (None if x is None else x @ root for x in (stored["middle"], stored["rounds"]))
    if middle is not None:
        middle = {"place": middle, "home": middle, "radius": stored["radius"], "power": 1 / 3}
    return {"metric": stored["metric"], "root": root, "middle": middle, "rounds": rounds}


class FactorKMeans(
    Saveable, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, Displayed
):
    """Factorize X ≈ V Uᵀ, then cluster the samples by k-means, as the factorization sees them.

    Scales and angles of codes mean nothing by themselves, because V and U can share them in many
    ways. So the distance of two samples is that of their reconstructions, ‖U(v_i − v_j)‖, for every
    factorizer (``metric="reconstruction"``; it is computed as k-means of V(UᵀU)^½). With
    ``refine=True`` neighbours have a say, if the model has found them itself (`GraphSemiNMF` or
    `L21SemiNMF`, unless ``graph`` is a matrix): the nearest of them, at most half as many as there
    are samples per cluster.

    - *What the parts leave out* is added along the leading directions in which neighbours were
      searched, as much of it as neighbours have in common: k parts around the origin describe k − 1
      directions, and may miss one that separates clusters.
    - *Drawn in*: a sample that is c times as far from the middle of the data as is usual, and also
      far from its neighbours, is moved in to c^(1/5) times, so that no outlier gets a cluster of
      its own. A group stays where it is, however far out.
    - *Averaged*: each sample is replaced by its mean with its neighbours, twice.

    Without neighbours, samples are drawn in by their distance from the middle alone.

    Classes that have hardly more samples than that are blurred by averages, beside larger ones: use
    ``refine=False``. The paper's procedure, k-means of V, is ``metric="codes", refine=False``.

    Parameters
    ----------
    factorizer : estimator
        A factorization such as `L21SemiNMF`; it is cloned, not changed. One that has no
        ``components_`` is clustered by its codes.
    n_clusters : int or None, default=None
        Number of clusters; None means the factorizer's ``n_components``, as in the paper.
    random_state : int, RandomState or None, default=None
        For k-means, and for the factorizer if it has no ``random_state`` of its own.
    metric : {"reconstruction", "codes"}, default="reconstruction"
        Which distances k-means sees: those of the reconstructions, or those of the codes.
    refine : bool, default=True
        Whether neighbours have a say, and samples are drawn in, before k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample.
    factorizer_ : estimator
        The fitted factorization.
    kmeans_ : sklearn.cluster.KMeans
        The fitted k-means, in coordinates whose distances are those of ``metric``.
    cluster_centers_ : ndarray of shape (n_clusters, n_components)
        Centres of the clusters as codes: means of the codes of their samples, in which samples
        that were drawn in count less.
    refinement_ : {"averaged", "none"}
        Whether samples were averaged over neighbours.
    seed_ : int or None
        The seed that was given, or drawn if none was; as ``random_state`` it repeats the fit. None
        if ``random_state`` is a RandomState.
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
        self,
        factorizer: Any,
        n_clusters: int | None = None,
        random_state: Any = None,
        *,
        metric: str = RECONSTRUCTION,
        refine: bool = True,
    ) -> None:
        self.factorizer = factorizer
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.metric = metric
        self.refine = refine

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
        check_estimator("factorizer", self.factorizer, "fit_transform")
        check_choice("metric", self.metric, METRICS)
        if not isinstance(self.refine, bool | np.bool_):
            raise ValueError(f"refine must be True or False, got {self.refine!r}.")
        with or_as_before(self):
            X = given(check_samples(self, X, getattr(self.factorizer, "max_memory", None)))
            self.seed_ = drawn_seed(self.random_state)
            rng = check_seed(self.random_state if self.seed_ is None else self.seed_)
            seed = rng.randint(2**31 - 1) if self.seed_ is None else self.seed_
            factorizer = clone(self.factorizer)
            if getattr(factorizer, "random_state", 0) is None:
                factorizer.set_params(random_state=seed)
            n_clusters = self.n_clusters
            if n_clusters is None:
                n_clusters = getattr(factorizer, "n_components", None)
                if n_clusters is None:
                    raise ValueError(
                        f"n_clusters=None takes the factorizer's n_components, and a "
                        f"{type(factorizer).__name__} has none: say how many clusters."
                    )
            n_clusters = check_integer("n_clusters", n_clusters, 1)
            if n_clusters > X.shape[0]:
                raise ValueError(
                    f"n_clusters={n_clusters} is larger than the number of samples, "
                    f"n_samples = {X.shape[0]}; choose fewer clusters."
                )
            from ..compiled.threads.turns import Turn

            with Turn(X.shape[0] * X.shape[1] * n_clusters):
                codes = checked_codes(factorizer, factorizer.fit_transform(X), X.shape[0])
                if n_clusters > 1 and getattr(factorizer, "n_active_", 1) == 0:
                    warnings.warn(
                        "No part is in use, because the penalties cost more than parts explain, "
                        "so all codes are zero and say nothing about clusters. Choose a smaller "
                        "strength.",
                        ConvergenceWarning,
                        stacklevel=2,
                    )
                self._cluster(factorizer, codes, n_clusters, seed)
            return self

    @once
    def kmeans_(self) -> KMeans:
        """The clusters as a scikit-learn estimator."""
        check_is_fitted(self)
        # Fitting the centres sets scikit-learn's private attributes; the result then replaces it.
        model = KMeans(n_clusters=len(self._centres), init=self._centres, n_init=1, max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # centres may be equal
            model.fit(self._centres)
        model.set_params(**self._kmeans["parameters"]).__dict__.update(self._kmeans["found"])
        return model

    def _cluster(
        self, factorizer: Any, codes: FloatArray, n_clusters: int, seed: int, start: Any = None
    ) -> None:
        """Cluster the codes of a fitted factorization, which becomes that of this model."""
        refine = bool(self.refine)
        found = find_clusters(factorizer, codes, n_clusters, seed, self.metric, refine, start)
        self.factorizer_ = factorizer
        partition, self.cluster_centers_, self._reading = found
        self.labels_ = partition.labels
        self._kmeans: dict[str, Any] = {
            "parameters": {"n_clusters": n_clusters, "n_init": _STARTS, "random_state": seed},
            "found": dict(zip(_FOUND, partition, strict=True)),
        }
        self.__dict__.pop("kmeans_", None)  # cached from the fit before
        self.refinement_ = _NONE if found.reading.rounds is None else _AVERAGED

    def predict(self, X: Any) -> IntArray:
        """Clusters of new samples: the centre nearest to them, seen as in the fit.

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

    def transform(self, X: Any) -> FloatArray:
        """Distances of samples to the centres, in the metric of the clusters.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return np.asarray(np.sqrt(self._codes_and_squares(X)[1]))

    @property
    def _centres(self) -> Any:
        """The centres in the coordinates of k-means."""
        return self._kmeans["found"]["cluster_centers_"]

    @property
    def _unit(self) -> float | None:
        return getattr(getattr(self, "factorizer_", None), "_unit", None)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _codes_and_labels(self, X: Any) -> tuple[FloatArray, IntArray]:
        """(codes by the factorization's ``transform``, clusters)."""
        codes, squares = self._codes_and_squares(X)
        return codes, squares.argmin(axis=1).astype(np.int32)

    def _codes_and_squares(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """(codes by the factorization's ``transform``, squared distances to the centres)."""
        check_is_fitted(self)
        most = getattr(self.factorizer_, "max_memory", None)
        X = check_samples(self, X, most, reset=False)
        from ..compiled.kmeans import squared_distances
        from ..compiled.threads.cores import AtWork

        with AtWork():
            codes, seen = self._reading.seen(self.factorizer_, X)
        return codes, squared_distances(seen, self._centres)

    def _forget(self, landmarks: int) -> None:
        if self._reading.rounds is not None:
            chosen = self.factorizer_._projector.landmarks(landmarks)
            self._reading = self._reading.restricted(chosen)
        super()._forget(landmarks)

    def _saved_state(self) -> dict[str, Any]:
        state = super()._saved_state()
        state.pop("kmeans_", None)  # all of it is in what follows
        reading, middle = self._reading, self._reading.middle
        state["reading"] = {**vars(reading), "middle": None if middle is None else vars(middle)}
        state["kmeans"] = self._kmeans
        return state

    def _restore_state(self, state: dict[str, Any]) -> None:
        self._kmeans = state.pop("kmeans")
        state.setdefault("seed_", None)  # files from before it was stored
        centres = self._centres
        reading = state.pop("reading") if "reading" in state else _reading_of_before(state, centres)
        super()._restore_state(state)
        check_choice("metric", reading["metric"], METRICS)
        k = self.factorizer_.components_.shape[0]
        if "root" not in reading:
            reading = _reading_of_codes(reading, self.factorizer_, k)
        middle = reading["middle"] and Middle(**reading["middle"])
        self._reading = Reading(**{**reading, "middle": middle})
        self.metric, shape = self._reading.metric, (k, centres.shape[-1])
        if centres.ndim != 2 or self._reading.root.shape != shape:
            raise ValueError(f"cluster_centers_ {centres.shape} do not fit the codes")
        if self._reading.rounds is not None:
            trained = self.factorizer_._projector.training_codes
            if trained is None or self._reading.rounds.shape[1] != len(trained):
                raise ValueError(f"averages {self._reading.rounds.shape} do not fit the codes")

    def _outcome(self) -> list[str]:
        if not hasattr(self, "labels_"):
            return []
        sizes = np.bincount(self.labels_)
        sizes = sizes[sizes > 0]
        clusters = f"{counted(len(sizes), 'cluster')} of {sizes.min():,} to {sizes.max():,} samples"
        inner = self.factorizer_
        return [*(inner._outcome() if isinstance(inner, Displayed) else []), clusters]

    def _fall(self) -> FloatArray:
        return np.asarray(getattr(self.factorizer_, "objective_history_", []))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
