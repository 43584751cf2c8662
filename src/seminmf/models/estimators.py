"""The four factorizations as scikit-learn estimators: parameters, and which parts they stand for.

X (n × m) ≈ V Uᵀ with codes V (n × k) ≥ 0 and basis U (m × k); ``components_`` is Uᵀ. There is no
arithmetic here: `training` is imported when a fit begins, and with it the compiler.
"""

from __future__ import annotations

import logging
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._types import FloatArray
from ..problem.losses import Loss, Norm, SquaredNorm
from ..problem.penalties import CodesPenalty
from . import searches
from .display import Displayed
from .docs import documented
from .persistence import Saveable
from .validation import DTYPES, check_integer, check_samples

if TYPE_CHECKING:
    from ..solve.loop import Callback, Progress

_log = logging.getLogger("seminmf")

_LOSS_OF_POWER = {1: Norm, 2: SquaredNorm}


class _Factorization(Saveable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Displayed):
    """What the four have in common."""

    # What the class stands for, and what stands in for parameters that it does not have.
    _parts: ClassVar[dict[str, Any]] = {
        "loss": SquaredNorm(), "graph_measure": SquaredNorm(), "nonnegative": False,
        "alpha": 0.0, "beta": 0.0, "strength": 0.0, "graph": "knn", "n_neighbors": 5, "l1": 0.0,
        "codes_penalty": None,
    }  # fmt: skip

    _remedies: ClassVar[dict[str, str]] = {"graph": searches.REMEDY}

    n_components: int
    callback: Callback | None
    verbose: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Factorize X.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Used as it is, without a copy, if it is float64 or float32.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the sample twice, 0 as not
            having it at all.

        Returns
        -------
        self : object
        """
        X = check_samples(self, X)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        check_integer("verbose", self.verbose, 0)
        from .training import PARAMETERS, Settings, train

        # scikit-learn's get_params would read the signature of __init__ each time.
        known = {**self._parts, **vars(self), "callback": self._observer()}
        settings = Settings(**{name: known[name] for name in PARAMETERS})
        trained = train(X, settings, weights)
        solution = trained.solution
        self.components_ = np.ascontiguousarray(solution.basis.T)
        self.codes_ = solution.codes + solution.codes.dtype.type(0)  # no −0.0
        self.residuals_ = solution.residuals
        self.objective_history_ = np.array(solution.history)
        self.objective_ = solution.objective
        self.n_iter_ = len(solution.history)
        self.kkt_residual_ = solution.kkt_residual
        self.converged_ = solution.status.name == "CONVERGED"
        self.alpha_, self.beta_, self.l1_ = trained.alpha, trained.beta, trained.mu
        self.loss_ = solution.problem.loss
        self._projector = trained.projector
        self._links, self._member = trained.links, trained.member
        return self

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
        get their codes of the fit.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)
        codes: FloatArray = self._projector.codes(X)
        return codes

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
        codes = check_array(X, dtype=DTYPES, input_name="codes")
        if codes.shape[1] != self.components_.shape[0]:
            raise ValueError(
                f"X has {codes.shape[1]} columns, but the codes of this model have "
                f"{self.components_.shape[0]}; pass what transform returned."
            )
        samples: FloatArray = codes @ self.components_.astype(codes.dtype, copy=False)
        return samples

    def _saved_state(self) -> dict[str, Any]:
        """With what `transform` needs: the basis and, with a graph, training samples and codes."""
        projector = {
            field.name: getattr(self._projector, field.name) for field in fields(self._projector)
        }
        return {**super()._saved_state(), "projector": projector}

    def _restore_state(self, state: dict[str, Any]) -> None:
        from ..solve.projection import Projector

        projector = state.pop("projector")
        if "loss_power" in projector:
            # A file from before there were losses to choose: a power stands in their place.
            loss = _LOSS_OF_POWER[projector.pop("loss_power")]()
            projector.update(loss=loss, graph=loss)
            state.update(l1_=0.0, loss_=self._parts["loss"])
        self._projector = Projector(**projector)
        super()._restore_state(state)
        m, k = self._projector.basis.shape
        if self.components_.shape != (k, m) or self.n_features_in_ != m:
            raise ValueError(f"components_ {self.components_.shape} do not fit {m} features")
        if self.codes_.shape != (len(self.residuals_), k):
            raise ValueError(f"codes_ {self.codes_.shape} do not fit {k} components")

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _observer(self) -> Callback | None:
        """The user's callback, with a line in the log every ``verbose`` iterations."""
        callback, every = self.callback, self.verbose
        if not every:
            return callback

        def observe(progress: Progress) -> object:
            if progress.iteration % every == 0:
                _log.warning(
                    "%s start %d iteration %d objective %.8g",
                    type(self).__name__, progress.start, progress.iteration, progress.objective,
                )  # fmt: skip
            return callback(progress) if callable(callback) else None

        return observe

    def _outcome(self) -> list[str]:
        if not hasattr(self, "codes_"):
            return []
        shape = f"{len(self.codes_):,} samples × {self.components_.shape[1]:,} features"
        ended = "converged" if self.converged_ else "not converged"
        return [
            f"{shape} in {len(self.components_):,} parts",
            f"{self.n_iter_:,} iterations, {ended}",
            f"objective {self.objective_:.6g}",
            f"distance from optimality {self.kkt_residual_:.2g}",
        ]

    def _fall(self) -> FloatArray:
        return self.objective_history_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._parts["nonnegative"]
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _PlainFactorization(_Factorization):
    """Parameters of the models without penalties."""

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: Literal["cd", "mu"] = "cd",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        callback: Callback | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state


@documented
class NMF(_PlainFactorization):
    """Non-negative matrix factorization: the baseline for non-negative data.

    Minimises ‖X − V Uᵀ‖²_F over U ≥ 0, V ≥ 0, for X ≥ 0.
    """

    _parts: ClassVar[dict[str, Any]] = {**_Factorization._parts, "nonnegative": True}


@documented
class SemiNMF(_PlainFactorization):
    """Semi-non-negative matrix factorization by least squares.

    Minimises ‖X − V Uᵀ‖²_F over U of any sign and V ≥ 0.
    """


@documented
class GraphSemiNMF(_Factorization):
    """Semi-non-negative matrix factorization with a neighbour graph, by least squares.

    Minimises ‖X − V Uᵀ‖²_F + α Σ_{i<j} w_ij ‖v_i − v_j‖² + β Σ_j ‖u_j‖ + μ Σ_iq v_iq over U and
    V ≥ 0.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float | Literal["auto"] = "auto",
        beta: float | Literal["auto"] = "auto",
        strength: float = 1e-3,
        graph: Any = "knn",
        n_neighbors: int = 5,
        l1: float = 0.0,
        solver: Literal["cd", "mu"] = "cd",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        callback: Callback | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta
        self.strength = strength
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.l1 = l1
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state


@documented
class L21SemiNMF(GraphSemiNMF):
    """Robust semi-non-negative matrix factorization with a re-weighted neighbour graph.

    Minimises Σ_i ‖x_i − U v_i‖ + α Σ_{i<j} w_ij ‖v_i − v_j‖ + β Σ_j ‖u_j‖ + μ Σ_iq v_iq over U and
    V ≥ 0: norms, not their squares, so that an outlier counts by its distance and not by the square
    of it.
    """

    _parts: ClassVar[dict[str, Any]] = {
        **GraphSemiNMF._parts, "loss": Norm(), "graph_measure": Norm(),
    }  # fmt: skip


@documented
class RobustSemiNMF(L21SemiNMF):
    """`L21SemiNMF` with a loss of your choice.

    Minimises Σ_i ρ(‖x_i − U v_i‖) + α Σ_{i<j} w_ij ‖v_i − v_j‖ + β Σ_j ‖u_j‖ + μ Σ_iq π(v_iq) over
    U and V ≥ 0, with the loss ρ and the penalty π given.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        loss: str | Loss = "huber",
        alpha: float | Literal["auto"] = "auto",
        beta: float | Literal["auto"] = "auto",
        strength: float = 1e-3,
        graph: Any = "knn",
        n_neighbors: int = 5,
        l1: float = 0.0,
        codes_penalty: CodesPenalty | None = None,
        solver: Literal["cd", "mu"] = "cd",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        callback: Callback | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components, alpha=alpha, beta=beta, strength=strength, graph=graph,
            n_neighbors=n_neighbors, l1=l1, solver=solver, init=init, n_init=n_init,
            max_iter=max_iter, tol=tol, callback=callback, verbose=verbose,
            random_state=random_state,
        )  # fmt: skip
        self.loss = loss
        self.codes_penalty = codes_penalty
