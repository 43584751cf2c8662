"""``partial_fit``: factorizations of samples that come in batches."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._types import FloatArray
from .._words import counted
from .factorization import _Factorization
from .samples import check_in_memory, check_samples, check_weights, or_as_before
from .validation import check_batch, check_integer, check_range_of_parts, check_share

if TYPE_CHECKING:
    from ..solve.streams import Memory
    from .training import Trained

# The fit of the first batch, which is small and which all others build on, is thorough.
_FIRST_TOL, _FIRST_ITERATIONS = 1e-6, 1000


class _Streaming(_Factorization):
    """A factorization that can also be fitted batch by batch."""

    _memory: Memory | None = None

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples in the last `fit` and in all batches after it."""
        return len(self.codes_) if self._memory is None else self._memory.n_samples

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with a batch, of which only its part in two small sums is kept.

        The first batch is fitted as by `fit`, but without a graph. For each further one codes are
        found for the present basis, the batch is added to the sums Xᵀ(d∘V) and Vᵀ(d∘V) of all
        batches, and the basis follows from these (online matrix factorization with the weights d
        of the loss). After `fit` it continues from that fit. The time for a batch does not depend
        on how many there were.

        It needs memory for one batch, is as robust as `fit`, sample by sample, and after one or two
        passes over the samples in random order its objective is near that of `fit` without a graph
        (figures: page "Streams"). Batches have to be alike, and the first one should be large (100
        samples per component), since what came early was summed up with the basis of that time.
        There is no graph term: ``alpha`` counts as zero, and so does ``beta`` unless there is a
        penalty on the codes, since one without the other only changes the scale. ``callback`` and
        ``checkpoint`` are not used.

        Afterwards ``components_`` are those of all batches; ``codes_``, ``residuals_`` and
        ``objective_`` are those of the last batch, and ``n_samples_seen_`` counts all samples.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The first batch needs at least ``n_components`` samples.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        self : object
        """
        forgetting = check_share("forgetting", self.forgetting)
        if not hasattr(self, "components_"):
            with or_as_before(self):
                return self._begin(X, sample_weight)
        k = check_integer("n_components", self.n_components, 1)
        if k != len(self.components_):
            raise ValueError(
                f"n_components is {k}, and partial_fit goes on with {len(self.components_)} parts. "
                "Set it back, or begin anew with a clone of the model."
            )
        from ..data import entry_range

        X = check_in_memory(self, X, "partial_fit")
        low, high = entry_range(X)
        check_batch(low, high, self._parts["nonnegative"], X.dtype, self._projector.unit)
        weights = check_weights(sample_weight, X)
        share = None if weights is None else weights.astype(X.dtype)
        with or_as_before(self):
            return self._go_on(X, share, forgetting)

    def _begin(self, X: Any, sample_weight: Any) -> Self:
        """Fit the first batch."""
        from .training import train

        k = check_integer("n_components", self.n_components, 1)
        X = check_samples(self, X)
        if X.shape[0] < k:
            raise ValueError(
                f"The first batch has {counted(X.shape[0], 'sample')}, fewer than "
                f"n_components={k}: collect "
                "at least so many, better 100 times as many, before the first partial_fit."
            )
        weights = check_weights(sample_weight, X)
        settings = self._settings()
        checked = settings.checked(X.shape, X.dtype)
        settings = replace(
            settings, alpha=0.0, beta=settings.beta if checked.codes_penalty else 0.0,
            graph="knn", callback=None, checkpoint=None, before=None,
            tol=min(checked.tol, _FIRST_TOL), max_iter=max(checked.max_iter, _FIRST_ITERATIONS),
        )  # fmt: skip
        # Whether it converged does not matter: the next batches continue.
        self._keep(train(X, settings, weights, complain=False), weights)
        self.converged_ = False  # perhaps on this batch, but not on the stream
        return self

    def _go_on(self, X: Any, share: FloatArray | None, forgetting: float) -> Self:
        from ..data import divided
        from ..problem.objective import Objective
        from ..solve.projection import Projector
        from ..solve.streams import Past, absorb, basis_rule

        now = self._projector
        unit, scale = now.unit, now.unit**now.loss.power
        past = self._memory or Past(self.codes_, self.residuals_ / unit, self._sample_weight)
        beta = 0.0 if now.penalty is None else self.beta_ * (unit / scale) / past.weight
        objective = Objective(now.loss, now.graph, 0.0, beta, now.penalty, now.mu)
        rule = basis_rule(self._parts["nonnegative"])
        found = absorb(divided(X, unit), share, now.basis, past, objective, rule, forgetting)
        basis = found.basis.astype(X.dtype)
        check_range_of_parts(basis, unit)
        self._memory, self._sample_weight = found.memory, None
        self._links = self._member = None
        self._projector = Projector(
            basis, now.loss, now.graph, penalty=now.penalty, mu=now.mu, unit=unit
        )  # fmt: skip
        number, value = basis.dtype.type(unit), found.objective * scale
        self.components_ = np.ascontiguousarray(basis.T) * number
        self.codes_, self.residuals_ = found.codes, found.residuals * number
        self.objective_, self.objective_history_ = value, np.array([value])
        self.n_iter_, self.converged_, self.kkt_residual_ = 1, False, np.nan
        self.alpha_, self.beta_ = 0.0, beta * (scale / unit) * found.memory.weight
        self.strength_ = 0.0
        return self

    def _keep(self, trained: Trained, weights: FloatArray | None) -> None:
        super()._keep(trained, weights)
        self._memory = None

    def _saved_state(self) -> dict[str, Any]:
        """The fitted attributes, with what `partial_fit` needs to continue."""
        memory = None if self._memory is None else asdict(self._memory)
        stream = {"memory": memory, "sample_weight": self._sample_weight}
        return {**super()._saved_state(), "stream": stream}

    def _restore_state(self, state: dict[str, Any]) -> None:
        from ..solve.streams import Memory

        # Files from before there were streams lack it.
        stream = state.pop("stream", {"memory": None, "sample_weight": None})
        self._memory = None if stream["memory"] is None else Memory(**stream["memory"])
        self._sample_weight = weights = stream["sample_weight"]
        super()._restore_state(state)
        (k, m), memory = self.components_.shape, self._memory
        if memory is not None and (memory.gram.shape, memory.moment.shape) != ((k, k), (m, k)):
            raise ValueError(f"the memory of a stream does not fit components_ {(k, m)}")
        if weights is not None and weights.shape != self.residuals_.shape:
            raise ValueError(f"sample_weight {weights.shape} does not fit the samples")
