"""Filling and scaling of columns before a factorization, as part of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray, IntArray
from ..sources.opening import source_of
from .gaps import column_medians, filled
from .persistence import Saveable
from .samples import check_in_memory, check_samples, or_as_before
from .validation import check_choice, check_estimator

STANDARDIZATIONS = ("none", "center", "scale", "robust")
FILLS = ("median",)
_Method = TypeVar("_Method")


def _measure(X: Any, how: str) -> tuple[FloatArray, FloatArray]:
    """(centre, scale) of each column; a constant column has scale 1."""
    centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if how == "none":
        return centre, scale
    # Powers of two, which change no digit, keep squares in the range of numbers.
    largest = np.asarray(abs(X).max(axis=0).toarray() if sp.issparse(X) else abs(X).max(axis=0))
    units = np.ldexp(1.0, np.frexp(largest.ravel())[1] - 1)
    X = _divided(X, units)
    if how == "robust":
        lower, centre, upper = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
        spread = upper - lower
    else:
        # In double precision: long sums in single precision would lose most of their digits.
        centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    if how == "center":
        return centre * units, scale
    if how == "scale" and sp.issparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0, dtype=np.float64)).ravel()
        spread = np.sqrt(np.maximum(squares - centre**2, 0))
        centre = np.zeros(X.shape[1])
    elif how == "scale":
        spread = np.asarray(X.std(axis=0, dtype=np.float64))
    # Round-off in a constant column is not a scale; the largest entries are about one here.
    return centre * units, np.where(spread <= 1e-12, scale, spread * units)


def _divided(X: Any, numbers: FloatArray) -> Any:
    """Each column divided by its number; sparse data stay sparse."""
    if not sp.issparse(X):
        return X / numbers.astype(X.dtype)
    found = sp.csr_array(X, copy=True)
    found.data /= numbers.astype(X.dtype)[found.indices]
    return found


def _has(method: str) -> Callable[[_Method], _Method]:
    """A decorator: the wrapper has a method if its model has it."""
    return available_if(lambda self: hasattr(self.model, method))


class Standardized(Saveable, BaseEstimator):
    """A model of standardized columns: (x − centre) / scale, with both learned in the fit.

    With columns in different units the largest numbers decide alone what a factorization sees. Gaps
    in the data can be filled with the medians of the columns. All of this is kept with the model,
    so that new samples, even a single one with a gap, are treated as the training samples were,
    also after saving and loading.

    Parameters
    ----------
    model : estimator
        A factorization or `FactorKMeans`; it is cloned, not changed.
    how : {"none", "center", "scale", "robust"}, default="scale"
        "center" subtracts the mean; "scale" also divides by the standard deviation; "robust"
        subtracts the median and divides by the interquartile range, which outliers do not move.
        Sparse data stay sparse: "scale" only divides, "center" and "robust" are refused. A column
        without spread is not divided.
    fill : {None, "median"}, default=None
        What replaces values that are missing (NaN) or infinite: the median of the column in the
        fit. None refuses them. ``how="none", fill="median"`` only fills.

    Attributes
    ----------
    model_ : estimator
        The fitted model of the standardized samples.
    center_, scale_ : ndarray of shape (n_features,)
    fill_ : ndarray of shape (n_features,) or None
        The medians, in the units of X; None without ``fill``.
    n_features_in_ : int
    """

    _remedies: ClassVar[dict[str, str]] = {
        "model": "; use one of seminmf's own models, such as L21SemiNMF",
    }

    def __init__(
        self,
        model: Any,
        how: Literal["none", "center", "scale", "robust"] = "scale",
        *,
        fill: Literal["median"] | None = None,
    ) -> None:
        self.model = model
        self.how = how
        self.fill = fill

    def fit(self, X: Any, y: Any = None) -> Self:
        """Measure the columns of X, then fit the model to the standardized samples.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self : object
        """
        check_estimator("model", self.model, "fit")
        how = check_choice("how", self.how, STANDARDIZATIONS)
        if self.fill is not None:
            check_choice("fill", self.fill, FILLS)
        if source_of(X, mapped=False) is not None:
            raise ValueError(
                "Standardized needs all samples in memory, and X is a source; bring its columns to "
                "one scale before, or fit the model without Standardized."
            )
        with or_as_before(self):
            X = check_samples(self, X, gaps=self.fill is not None)
            if sp.issparse(X) and how in ("center", "robust"):
                raise ValueError(
                    f'how="{how}" would fill the zeros of a sparse matrix; use "scale", which then '
                    'only divides, or "none", or pass X.toarray().'
                )
            self.fill_ = None if self.fill is None else self._medians(X)
            X = self._filled(X)
            self.center_, self.scale_ = _measure(X, how)
            self.model_ = clone(self.model).fit(self._standardize(X))
        return self

    def standardize(self, X: Any) -> Any:
        """Fill and standardize samples, as the model sees them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        samples : ndarray or CSR matrix of the same shape
        """
        check_is_fitted(self)
        X = check_in_memory(self, X, "Standardized", gaps=self.fill_ is not None)
        return self._standardize(self._filled(X))

    def _medians(self, X: Any) -> FloatArray:
        medians = column_medians(X)
        empty = np.flatnonzero(np.isnan(medians))
        if len(empty):
            names = getattr(self, "feature_names_in_", None)
            which = empty[0] if names is None else repr(names[empty[0]])
            raise ValueError(
                f"Column {which} of X has no finite value to take a median of; leave it out."
            )
        return medians

    def _filled(self, X: Any) -> Any:
        return X if self.fill_ is None else filled(X, self.fill_)

    def _standardize(self, X: Any) -> Any:
        if sp.issparse(X):
            if not (self.center_ != 0).any():
                return _divided(X, self.scale_)
            X = X.toarray()
        return _divided(X - self.center_.astype(X.dtype), self.scale_)

    @_has("transform")
    def transform(self, X: Any) -> FloatArray:
        """The model's ``transform`` of samples given in their original units."""
        samples = self.standardize(X)
        return self.model_.transform(samples)

    @_has("predict")
    def predict(self, X: Any) -> IntArray:
        """Clusters of samples given in their original units."""
        samples = self.standardize(X)
        return self.model_.predict(samples)

    @_has("outlier_scores")
    def outlier_scores(self, X: Any) -> FloatArray:
        """The model's outlier scores of samples given in their original units."""
        samples = self.standardize(X)
        return self.model_.outlier_scores(samples)

    def _restore_state(self, state: dict[str, Any]) -> None:
        state.setdefault("fill_", None)  # files from before gaps could be filled
        super()._restore_state(state)
        shape = (self.n_features_in_,)
        learned = [self.center_, self.scale_, *([] if self.fill_ is None else [self.fill_])]
        if any(values.shape != shape for values in learned):
            raise ValueError(f"center_, scale_ or fill_ do not fit {self.n_features_in_} features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.fill is not None
        return tags
