"""The structures that compiled functions take. Their arrays belong to Python."""

from __future__ import annotations

from struct import Struct

from .structures import Structure

_NUMBERS_OF_STEP = Struct("=2q6d")


class Samples(Structure):
    """X, and what never changes about its rows.

    ``entries``: all numbers of X as one vector. Entry (i, j) of a dense X is number
    i·row_step + j·column_step; X is ``plain`` if its rows follow each other without gaps.
    A sparse X has ``indices`` and ``indptr`` as in CSR, and as many ``ones`` as a block has rows.
    Sample i is row ``numbering[i]`` of X, or row i of a dense X if ``numbering`` is empty.
    ``share``: sample weights, or empty.
    ``blas``: the address of ``gemm``.
    """

    fields = (
        "n_features", "entries", "row_step", "column_step", "plain", "sparse", "indices",
        "indptr", "ones", "numbering", "squares", "share", "blas",
    )  # fmt: skip


class Kernels(Structure):
    """Addresses of the functions that are compiled apart, for one type of numbers."""

    fields = ("times", "add_cross", "add_sparse_adjoint", "update_codes", "weigh_edges")


class Cuts(Structure):
    """Bounds of blocks (in rows), of shards (in blocks) and of chunks (in shards).

    A call visits the chunks from ``begin`` to ``end``: all of them, or those in memory. The call
    with the first chunk clears the sums, the one with the last adds them up.
    """

    fields = ("blocks", "shards", "chunks", "begin", "end")


class Graph(Structure):
    """A graph of the samples: CSR with weights ``base``, edges as ``pairs``, ``order`` by colour.

    Colour c has the samples ``order[bounds[c]:bounds[c + 1]]``; chunk b has the colours from
    ``groups[b]`` to ``groups[b + 1]``. All arrays are empty without a graph.
    """

    fields = ("indptr", "indices", "base", "pairs", "order", "bounds", "groups")


class Terms(Structure):
    """The objective: addresses and parameters of loss, graph loss and penalty, and floors.

    Address 0 means no penalty on the codes.
    """

    fields = (
        "loss", "loss_parameters", "graph", "graph_parameters", "penalty", "penalty_parameters",
        "curvature", "residual_floor", "edge_floor", "cancellation",
    )  # fmt: skip


class Basis(Structure):
    """``U``, padded to whole vectors, ``omega`` = UᵀU, and the lengths of the columns of U."""

    fields = ("U", "omega", "lengths")


class Point(Structure):
    """The codes of all samples, and the residuals, weights and edge weights at them.

    ``basis`` is the one that the codes belong to; ``following`` receives the codes from which the
    next step starts, or is empty.
    """

    fields = ("basis", "codes", "residuals", "weights", "edges", "following")


class Sums(Structure):
    """Sums over the rows: by shard, by item of edges, and in all.

    ``totals``: loss, graph penalty, codes penalty, and the summed lengths of the basis (−1 if its
    system was singular). ``moment`` (m × k) and ``gram`` (k × k) are the sums of ``moments`` and
    ``grams``.
    """

    fields = ("losses", "penalties", "edges", "moments", "grams", "totals", "moment", "gram")


class Run(Structure):
    """A run: samples and their cuts, graph, objective, sums, kernels, and room that threads share.

    ``phi``: products of all samples with the basis, if they are kept. ``left``: ‖x − Uv‖², negative
    where it has to be computed from X.
    ``gathered``: rows of a chunk that are not consecutive in X, if they are kept.
    ``solving``: room to solve for a basis.
    """

    fields = (
        "samples", "cuts", "graph", "terms", "sums", "kernels", "phi", "left", "gathered",
        "solving",
    )  # fmt: skip


class Step(Structure):
    """What one call does: rule, sweeps, α, weight of the penalty, extrapolation.

    A step that ``solves`` first computes the basis from the last sums, with penalty weight β.
    """

    fields = (
        "sweeps", "root", "rule", "solves", "alpha", "penalty", "start_eta", "eta", "beta", "floor",
    )  # fmt: skip

    def change(
        self, rule: int, alpha: float, penalty: float, start_eta: float = 0.0, eta: float = 0.0,
        beta: float = 0.0, floor: float = 0.0, *, solves: bool = False,
    ) -> None:  # fmt: skip
        """Set the numbers of the next call: all fields but the first two, of eight bytes each."""
        _NUMBERS_OF_STEP.pack_into(
            self._slots, 16, rule, solves, alpha, penalty, start_eta, eta, beta, floor
        )


class Room(Structure):
    """Working memory of one thread; the thread that ``leads`` opens and closes a call.

    For a block: rows of X, φ, numbers of samples, next point, d∘Y. For a tile: see
    `codes.codes_update`; ``every`` numbers its samples. ``fitted`` is room for one sample.
    """

    fields = (
        "leads", "rows", "spare", "phi", "numbers", "following", "weighted", "fitted",
        "tiles", "every", "sums", "sizes", "columns", "split", "lengths",
    )  # fmt: skip


class BasisRoom(Structure):
    """Room for `basis.solve_basis`, all in double precision; ``features`` are 0, 1, …, m − 1."""

    fields = (
        "diagonal", "negative", "tile", "solution", "products", "features", "blas", "add_cross",
        "solve",
    )  # fmt: skip


class Call(Structure):
    """A call that threads share: the bell that announces it, and the counters of its phases."""

    fields = ("bell", "counters")


class Ties(Structure):
    """What acts on the code of a sample besides the loss: neighbours and penalty, with weights."""

    fields = ("graph", "terms", "alpha", "penalty")
