"""The factorizations as scikit-learn estimators: parameters, and which parts they stand for.

X (n × m) ≈ V Uᵀ with codes V (n × k) ≥ 0 and basis U (m × k); ``components_`` is Uᵀ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .._files import PathLike
from ..problem.losses import Loss, Norm
from ..problem.penalties import CodesPenalty
from .docs import documented
from .factorization import _Factorization

if TYPE_CHECKING:
    from ..solve.loop import Callback


class _PlainFactorization(_Factorization):
    """Parameters that all models have."""

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
        checkpoint: PathLike | None = None,
        warm_start: bool = False,
        forgetting: float = 1.0,
        verbose: int | bool = 0,
        progress: bool = False,
        random_state: Any = None,
        max_memory: int | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.forgetting = forgetting
        self.verbose = verbose
        self.progress = progress
        self.random_state = random_state
        self.max_memory = max_memory


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
class GraphSemiNMF(_PlainFactorization):
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
        strength: float | Literal["auto"] = "auto",
        graph: Any = "auto",
        n_neighbors: int = 5,
        l1: float = 0.0,
        solver: Literal["cd", "mu"] = "cd",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        callback: Callback | None = None,
        checkpoint: PathLike | None = None,
        warm_start: bool = False,
        forgetting: float = 1.0,
        verbose: int | bool = 0,
        progress: bool = False,
        random_state: Any = None,
        max_memory: int | str | None = None,
    ) -> None:
        super().__init__(
            n_components, solver=solver, init=init, n_init=n_init, max_iter=max_iter, tol=tol,
            callback=callback, checkpoint=checkpoint, warm_start=warm_start, forgetting=forgetting,
            verbose=verbose, progress=progress, random_state=random_state, max_memory=max_memory,
        )  # fmt: skip
        self.alpha = alpha
        self.beta = beta
        self.strength = strength
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.l1 = l1


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
        strength: float | Literal["auto"] = "auto",
        graph: Any = "auto",
        n_neighbors: int = 5,
        l1: float = 0.0,
        codes_penalty: CodesPenalty | None = None,
        solver: Literal["cd", "mu"] = "cd",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        callback: Callback | None = None,
        checkpoint: PathLike | None = None,
        warm_start: bool = False,
        forgetting: float = 1.0,
        verbose: int | bool = 0,
        progress: bool = False,
        random_state: Any = None,
        max_memory: int | str | None = None,
    ) -> None:
        super().__init__(
            n_components, alpha=alpha, beta=beta, strength=strength, graph=graph,
            n_neighbors=n_neighbors, l1=l1, solver=solver, init=init, n_init=n_init,
            max_iter=max_iter, tol=tol, callback=callback, checkpoint=checkpoint,
            warm_start=warm_start, forgetting=forgetting, verbose=verbose,
            progress=progress, random_state=random_state, max_memory=max_memory,
        )  # fmt: skip
        self.loss = loss
        self.codes_penalty = codes_penalty
