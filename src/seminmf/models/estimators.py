"""The factorizations as scikit-learn estimators: parameters, and the objective of each class.

Parameters are dataclass fields, from which ``__init__`` follows; scikit-learn reads its signature.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from ..problem.losses import Loss, Norm
from ..problem.penalties import CodesPenalty
from .docs import documented
from .streaming import _Streaming


@documented
class NMF(_Streaming):
    """Non-negative matrix factorization: the baseline for non-negative data.

    Minimises ‖X − V Uᵀ‖²_F over U ≥ 0, V ≥ 0, for X ≥ 0.
    """

    _parts: ClassVar[dict[str, Any]] = {**_Streaming._parts, "nonnegative": True}


@documented
class SemiNMF(_Streaming):
    """Semi-non-negative matrix factorization by least squares.

    Minimises ‖X − V Uᵀ‖²_F over U of any sign and V ≥ 0.
    """


@documented
@dataclass(eq=False, repr=False)
class GraphSemiNMF(_Streaming):
    """Semi-non-negative matrix factorization with a neighbour graph, by least squares.

    Minimises ‖X − V Uᵀ‖²_F + α Σ_{i<j} w_ij ‖v_i − v_j‖² + β Σ_j ‖u_j‖ + μ Σ_iq v_iq over U and
    V ≥ 0.
    """

    _: KW_ONLY
    alpha: float | Literal["auto"] = "auto"
    beta: float | Literal["auto"] = "auto"
    strength: float | Literal["auto"] = "auto"
    graph: Any = "auto"
    n_neighbors: int = 5
    l1: float = 0.0


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
@dataclass(eq=False, repr=False)
class RobustSemiNMF(L21SemiNMF):
    """`L21SemiNMF` with a loss of your choice.

    Minimises Σ_i ρ(‖x_i − U v_i‖) + α Σ_{i<j} w_ij ‖v_i − v_j‖ + β Σ_j ‖u_j‖ + μ Σ_iq π(v_iq) over
    U and V ≥ 0, with the loss ρ and the penalty π given.
    """

    _: KW_ONLY
    loss: str | Loss = "huber"
    codes_penalty: CodesPenalty | None = None
