"""What compiled functions work on, with names. The arrays belong to Python."""

from __future__ import annotations

from struct import Struct

from .structures import Structure

_NUMBERS_OF_STEP = Struct("=2q6d")


class Samples(Structure):
    """X, and what never changes about its rows.

    ``entries``: all numbers of X in one line. Entry (i, j) of a dense X is number
    i·row_step + j·column_step; X is ``plain`` where these are its rows as they follow each other.
    A sparse X has ``indices`` and ``indptr`` as in CSR, and as many ``ones`` as a block has rows.
    Sample i is row ``numbering[i]`` of X; for a dense X this may be empty, and then it is row i.
    ``share``: sample weights, or empty.
    ``blas``: the address of a product of matrices.
    """

    fields = (
        "n_features", "entries", "row_step", "column_step", "plain", "sparse", "indices",
        "indptr", "ones", "numbering", "squares", "share", "blas",
    )  # fmt: skip


class Kernels(Structure):
    """Addresses of the functions that are compiled apart, for one type of numbers."""

    fields = ("times", "add_cross", "add_sparse_adjoint", "update_codes", "weigh_edges")


class Cuts(Structure):
    """Bounds of the blocks of rows, of the shards of blocks and of the chunks of shards.

    A call goes through the chunks from ``begin`` to ``end``: through all of them, or through those
    whose rows are in memory. The call with the first clears the sums, that with the last adds up.
    """

    fields = ("blocks", "shards", "chunks", "begin", "end")


class Graph(Structure):
    """CSR pattern with weights ``base``, edges as ``pairs``, and samples in ``order`` of colours.

    Colour c has the samples ``order[bounds[c]:bounds[c + 1]]``; those of chunk b are the colours
    from ``groups[b]`` on. All are empty where there is no graph.
    """

    fields = ("indptr", "indices", "base", "pairs", "order", "bounds", "groups")


class Terms(Structure):
    """What is minimised: addresses of loss, graph measure and penalty, parameters, floors.

    Address 0 stands for no penalty on the codes.
    """

    fields = (
        "loss", "loss_parameters", "graph", "graph_parameters", "penalty", "penalty_parameters",
        "curvature", "residual_floor", "edge_floor", "cancellation",
    )  # fmt: skip


class Basis(Structure):
    """``U`` with whole vectors of columns, ``omega`` = UᵀU, and the lengths of the vectors."""

    fields = ("U", "omega", "lengths")


class Point(Structure):
    """The codes of all samples with what follows from them: residuals, weights, edge weights.

    ``following`` receives the codes from which the next step starts, or is empty. ``basis`` is the
    one that the codes belong to.
    """

    fields = ("basis", "codes", "residuals", "weights", "edges", "following")


class Sums(Structure):
    """What leaves the rows: sums by shard and by item of edges, and in all.

    ``totals``: loss, graph penalty, codes penalty, and lengths of the basis if that was solved for.
    ``moment`` (m × k) and ``gram`` (k × k) are the sums of ``moments`` and ``grams``.
    """

    fields = ("losses", "penalties", "edges", "moments", "grams", "totals", "moment", "gram")


class Run(Structure):
    """Samples, where they are cut, what ties them, what is minimised, and where sums go.

    ``phi``: products of all samples with the basis, if they are kept. ``left``: ‖x − Uv‖², negative
    where it has to be computed from X.
    ``gathered``: rows of a chunk that do not follow each other in X, if they are kept.
    ``solving``: room to solve for a basis in.
    """

    fields = (
        "samples", "cuts", "graph", "terms", "sums", "kernels", "phi", "left", "gathered",
        "solving",
    )  # fmt: skip


class Step(Structure):
    """What to do in one call: rule, sweeps, α, weight of the penalty, extrapolation.

    If it ``solves``, the basis comes first, from the last sums, with weight β of its penalty.
    """

    fields = (
        "sweeps", "root", "rule", "solves", "alpha", "penalty", "start_eta", "eta", "beta", "floor",
    )  # fmt: skip

    def change(
        self, rule: int, alpha: float, penalty: float, start_eta: float = 0.0, eta: float = 0.0,
        beta: float = 0.0, floor: float = 0.0, *, solves: bool = False,
    ) -> None:  # fmt: skip
        """The numbers of the next call: the last eight fields, behind two of eight bytes."""
        _NUMBERS_OF_STEP.pack_into(
            self._slots, 16, rule, solves, alpha, penalty, start_eta, eta, beta, floor
        )


class Room(Structure):
    """What one thread needs for itself; the one who ``leads`` opens and closes a call.

    For a block: rows of X, φ, numbers of samples, next point, d∘Y. For a tile, see
    `codes.codes_update`; ``every`` counts its samples. ``fitted`` has room for a sample.
    """

    fields = (
        "leads", "rows", "spare", "phi", "numbers", "following", "weighted", "fitted",
        "tiles", "every", "sums", "sizes", "columns", "split", "lengths",
    )  # fmt: skip


class BasisRoom(Structure):
    """Room for `basis.solve_basis`, all of it in double precision; features are numbered from 0."""

    fields = (
        "diagonal", "negative", "tile", "solution", "products", "features", "blas", "add_cross",
        "solve",
    )  # fmt: skip


class Call(Structure):
    """One call that threads share: the bell that announces it, and counters of its phases."""

    fields = ("bell", "counters")


class Ties(Structure):
    """What ties the code of a single sample: neighbours and penalty, and their weights."""

    fields = ("graph", "terms", "alpha", "penalty")
