"""What compiled functions work on, as structures with names.

Each structure is made once for a run, by a function ``make_…``, and passed as one argument. Their
arrays belong to Python: the state of a run is what the arrays hold.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.experimental import structref

from .jit import compiled


def _structure(kind: Any, name: str, fields: tuple[str, ...]) -> Any:
    """The class by which compiled code makes a structure of this kind, and Python holds it."""
    holder = type(name, (structref.StructRefProxy,), {"__doc__": kind.__doc__})
    structref.define_constructor(holder, kind, fields)
    structref.define_boxing(kind, holder)
    return holder


class _Structure(types.StructRef):
    def preprocess_fields(self, fields: Any) -> Any:
        """A field has the type of its value, not the value itself."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


@structref.register
class SamplesType(_Structure):
    """X, and what never changes about its rows.

    ``entries``: all numbers of X in one line. Entry (i, j) of a dense X is number
    i·row_step + j·column_step; X is ``plain`` where these are its rows as they follow each other.
    A sparse X has ``indices`` and ``indptr`` as in CSR, and as many ``ones`` as a block has rows.
    Sample i is row ``numbering[i]`` of X; for a dense X this may be empty, and then it is row i.
    ``lower``: X has only zeros right of its diagonal. ``share``: sample weights, or empty.
    """


@structref.register
class CutsType(_Structure):
    """Bounds of the blocks of rows, of the shards of blocks and of the chunks of shards."""


@structref.register
class GraphType(_Structure):
    """CSR pattern with weights ``base``, edges as ``pairs``, and samples in ``order`` of colours.

    Colour c has the samples ``order[bounds[c]:bounds[c + 1]]``; those of chunk b are the colours
    from ``groups[b]`` on. All are empty where there is no graph.
    """


@structref.register
class TermsType(_Structure):
    """What is minimised: addresses of loss, graph measure and penalty, parameters, floors.

    Address 0 stands for no penalty on the codes.
    """


@structref.register
class PointType(_Structure):
    """The codes of all samples with what follows from them: residuals, weights, edge weights.

    ``following`` receives the codes from which the next step starts, or is empty.
    """


@structref.register
class SumsType(_Structure):
    """What leaves the rows: sums by shard and by item of edges, and in all.

    ``totals``: loss, graph penalty, codes penalty.
    """


@structref.register
class ScratchType(_Structure):
    """Room for products and fits of samples, and for the gathered rows of a chunk if those are kept."""


@structref.register
class BasisType(_Structure):
    """``U`` with whole vectors of columns, and ``omega`` = UᵀU."""


@structref.register
class RoomType(_Structure):
    """Room of one thread for a block: rows of X, φ, numbers of samples, next point, d∘Y."""


@structref.register
class RunType(_Structure):
    """All of these together but the points."""


@structref.register
class TiesType(_Structure):
    """What ties the code of a sample, beside the sample itself: neighbours and penalty."""


@structref.register
class StepType(_Structure):
    """What to do in one call: rule, sweeps, α, weight of the penalty, extrapolation."""


@structref.register
class CallType(_Structure):
    """One call that threads share: its number on the bell, and counters of its phases."""


_SAMPLES = (
    "n_features", "entries", "row_step", "column_step", "plain", "sparse", "lower", "indices",
    "indptr", "ones", "numbering", "squares", "share",
)  # fmt: skip
_TERMS = (
    "loss", "loss_parameters", "graph", "graph_parameters", "penalty", "penalty_parameters",
    "curvature", "residual_floor", "edge_floor", "cancellation",
)  # fmt: skip
Samples = _structure(SamplesType, "Samples", _SAMPLES)
Cuts = _structure(CutsType, "Cuts", ("blocks", "shards", "chunks"))
Graph = _structure(
    GraphType, "Graph", ("indptr", "indices", "base", "pairs", "order", "bounds", "groups")
)
Terms = _structure(TermsType, "Terms", _TERMS)
Point = _structure(PointType, "Point", ("codes", "residuals", "weights", "edges", "following"))
Sums = _structure(
    SumsType, "Sums", ("losses", "penalties", "edges", "moments", "grams", "totals")
)
Scratch = _structure(ScratchType, "Scratch", ("phi", "fit", "gathered"))
Basis = _structure(BasisType, "Basis", ("U", "omega"))
Room = _structure(RoomType, "Room", ("rows", "phi", "numbers", "bounds", "following", "weighted"))
Run = _structure(RunType, "Run", ("samples", "cuts", "graph", "terms", "sums", "scratch"))
Ties = _structure(TiesType, "Ties", ("graph", "terms", "alpha", "penalty"))
Step = _structure(
    StepType, "Step", ("rule", "sweeps", "root", "alpha", "penalty", "start_eta", "eta")
)
Call = _structure(CallType, "Call", ("bell", "number", "counters"))


@compiled
def make_dense(entries, steps, plain, lower, nobody, numbering, squares, share, n_features):
    return Samples(
        n_features, entries, steps[0], steps[1], plain, False, lower, nobody, nobody, share,
        numbering, squares, share,
    )  # fmt: skip


@compiled
def make_sparse(data, indices, indptr, ones, numbering, squares, share, n_features):
    return Samples(
        n_features, data, 0, 0, False, True, False, indices, indptr, ones, numbering, squares, share
    )


@compiled
def make_cuts(blocks, shards, chunks):
    return Cuts(blocks, shards, chunks)


@compiled
def make_graph(indptr, indices, base, pairs, order, bounds, groups):
    return Graph(indptr, indices, base, pairs, order, bounds, groups)


@compiled
def make_terms(loss, graph, penalty, parameters, curvature, floors):
    """``parameters``: a row for each of the three; ``floors``: residual, edge, cancellation."""
    return Terms(
        loss, parameters[0], graph, parameters[1], penalty, parameters[2], curvature, floors[0],
        floors[1], floors[2],
    )  # fmt: skip


@compiled
def make_point(codes, residuals, weights, edges, following):
    return Point(codes, residuals, weights, edges, following)


@compiled
def make_sums(losses, penalties, edges, moments, grams, totals):
    return Sums(losses, penalties, edges, moments, grams, totals)


@compiled
def make_scratch(phi, fit, gathered):
    return Scratch(phi, fit, gathered)


@compiled
def make_basis(U, omega):
    return Basis(U, omega)


@compiled
def make_run(samples, cuts, graph, terms, sums, scratch):
    return Run(samples, cuts, graph, terms, sums, scratch)


@compiled
def make_ties(graph, terms, alpha, penalty):
    return Ties(graph, terms, alpha, penalty)


@compiled
def make_step(rule, sweeps, root, alpha, penalty, start_eta, eta):
    return Step(rule, sweeps, root, alpha, penalty, start_eta, eta)


@compiled
def make_call(bell, number, counters):
    return Call(bell, number, counters)
