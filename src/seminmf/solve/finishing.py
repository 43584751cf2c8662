"""What happens after a run: thawing, dropping parts that are not needed, polishing.

**Thawing.** A residual near zero gives its sample an enormous weight 1/residual, which holds it in
place whatever the penalties would gain elsewhere: a start that fits nearly exactly is frozen, and a
run from it seems to converge at once. So a run that ends with many such samples is repeated from
thawed starts: the minimum with squares of all lengths, which have no weights, and minima with
Huber's loss, whose weights are bounded by 1/scale, with scales that shrink from about the size of
the samples, or from a tenth of that. Which is best depends on the data, so all are tried, and the
best end is kept. Runs to the starts do not count as iterations. ``solver="mu"`` is the paper's
iteration and is left alone.

**Dropping parts.** The penalty on the basis shrinks vectors that are not needed from iteration to
iteration, but they never become zero. At the end such parts are set to zero if that does not raise
the objective, and all parts are if U = V = 0 is not worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..data import Engine, Space
from ..data.cutting import pieces
from ..graph.prepared import NeighbourGraph
from ..problem.basis import lengths_of
from ..problem.losses import Huber, Norm, SquaredNorm
from ..problem.objective import Objective, within_range
from ..problem.strength import Units, resolve, strength_of
from .descent import Descent, Scheme
from .loop import Callback, Solution, Status, Stopping, run
from .plan import ROUND_OFF
from .projection import solve_codes

# A fit is frozen if residuals below this share of a typical sample's length ...
_FROZEN = 1e-2
# ... belong to this share of the samples (benchmarks/frozen.py has what thawing brings there).
_NOTABLE = 0.1
# Scales of Huber's loss, as shares of a typical length. Larger ones let more change, but weaken the
# loss against the penalties, so that parts may vanish that are needed later.
_SCALES = (0.3, 0.03, 0.003)
# With each scale a run ends when J falls by less than this share.
_STAGE_TOL = 1e-4
# An objective below this share of that of V = 0 counts as zero, and so does the fitted part of
# samples below this share of them.
_NOTHING_LEFT = 1e-9
# Samples handled together.
_PIECE = 2**14
# Limits on a part's share of all fitted lengths: parts up to each limit are tried to be dropped.
_SLIGHT = (1e-3, 1e-6, 1e-9, 0.0)

Start = tuple[FloatArray, FloatArray]


def exact_codes(solution: Solution) -> tuple[FloatArray, FloatArray]:
    """The basis, and codes that are exactly optimal for it if there is no graph.

    Parts that are only round-off, in length and in use, beside the largest are set to zero: codes
    that use them would be enormous.
    """
    engine = solution.space.engine
    lengths = lengths_of(solution.basis)
    used = lengths * _largest(engine, solution.codes)
    least = ROUND_OFF[solution.basis.itemsize]
    left = (lengths > least * lengths.max()) | (used > least * used.max())
    basis, codes = np.where(left, solution.basis, 0), engine.each(np.where, left, solution.codes, 0)
    if len(lengths) > min(engine.n_samples, engine.n_features):
        # The solution is not unique: take the one that ``transform`` finds.
        codes = engine.each(np.zeros_like, codes)
    return basis, engine.each(_solved, engine, basis, solution.problem, codes)


def _solved(engine: Engine, basis: FloatArray, problem: Objective, codes: FloatArray) -> FloatArray:
    solve_codes(engine, basis, problem, codes)
    return codes


def _largest(engine: Engine, codes: FloatArray) -> FloatArray:
    """The largest code of each part, over all samples."""
    found: FloatArray = reduce(np.maximum, engine.gather(_largest_entries, codes))
    return found


def _largest_entries(codes: FloatArray) -> FloatArray:
    """The maximum of each column, several times faster than along short rows."""
    parts = (codes[rows].T for rows in pieces(len(codes), _PIECE))
    return reduce(np.maximum, (np.ascontiguousarray(part).max(axis=1) for part in parts))


def _without(
    engine: Engine, basis: FloatArray, codes: FloatArray, before: FloatArray, residuals: FloatArray
) -> FloatArray:
    """The residuals of ``codes``, computed only where they differ from the codes ``before``."""
    changed: NDArray[np.bool_] = (codes != before).any(axis=1)
    residuals = residuals.copy()
    residuals[changed] = engine.residuals(basis, codes, changed)
    return residuals


def _chosen(which: NDArray[np.bool_], codes: FloatArray, others: FloatArray) -> FloatArray:
    return np.where(which[:, None], codes, others)


@dataclass(frozen=True)
class Finish:
    """The settings of a run, to make others like it, and what is done with its solution."""

    scheme: Scheme
    graph: NeighbourGraph | None
    share: FloatArray | None
    """Sample weights."""
    objective: Objective
    length: float
    """Typical length of a sample."""
    nothing: float
    """The objective of U = V = 0."""
    stopping: Stopping
    callback: Callback | None

    def _begin(self, space: Space, objective: Objective, start: Start) -> Descent:
        return Descent(space, objective, self.scheme, self.graph, self.share, start)

    def thaw(self, solution: Solution, number: int) -> Solution:
        """The best of a frozen run's end and of the ends from thawed starts."""
        smooth = [replace(self.objective, loss=Huber(scale * self.length)) for scale in _SCALES]
        ways = [self._squared(solution.space.engine)], smooth, smooth[1:]
        ends = [solution, *(self._thawed(solution, stages, number) for stages in ways)]
        return min(ends, key=lambda end: end.rank)

    def _squared(self, engine: Engine) -> Objective:
        """The objective with squared lengths, as in `GraphSemiNMF`, and penalties as strong."""
        shared = self.share is not None
        count = float(engine.summed(np.sum, self.share)) if shared else engine.n_samples
        now, then = (Units(count, self.length, power) for power in (1, 2))
        strength = strength_of(self.objective.alpha, self.objective.beta, now, 1)
        alpha, beta = resolve("auto", "auto", strength, then, 2)
        return replace(
            self.objective, loss=SquaredNorm(), graph=SquaredNorm(), alpha=alpha, beta=beta,
            mu=self.objective.mu * self.length,
        )  # fmt: skip

    def _thawed(self, solution: Solution, stages: list[Objective], number: int) -> Solution:
        space, start = solution.space, (solution.basis.copy(), solution.codes.copy())
        limits = replace(self.stopping, tol=max(self.stopping.tol, _STAGE_TOL))
        for objective in stages:
            stage = run(self._begin(space, objective, start), limits)
            space, start = stage.space, (stage.basis, stage.codes)
        return run(self._begin(space, self.objective, start), self.stopping, self.callback, number)

    def frozen(self, solution: Solution) -> bool:
        """Whether a run may have ended because its weights hold it."""
        broken_off = solution.status in (Status.STOPPED, Status.NONFINITE)
        if broken_off or type(self.objective.loss) is not Norm:
            return False
        engine, most = solution.space.engine, _FROZEN * self.length
        near = engine.summed(lambda own: np.count_nonzero(own <= most), solution.residuals)
        if near < _NOTABLE * engine.n_samples:
            return False
        return solution.objective > _NOTHING_LEFT * self.nothing

    def leaves(self, solution: Solution) -> bool:
        """Whether the solution will stay as it is, so that its KKT residual is already known."""
        return self.graph is not None and next(self._candidates(solution), None) is None

    def drop_parts(self, solution: Solution) -> None:
        """Set parts that are not needed to zero, in place."""
        engine = solution.space.engine
        for without in self._candidates(solution):
            basis = np.where(without, 0, solution.basis)
            codes = engine.each(np.where, without, 0, solution.codes)
            residuals = engine.each(
                _without, engine, basis, codes, solution.codes, solution.residuals
            )
            terms = self._terms_at(solution, basis, codes, residuals)
            change = solution.problem.best_scale(*terms[1:])
            change = within_range(change, 1.0, basis.itemsize)
            value = solution.problem.rescaled(change).total(*terms)
            if value <= self._most(solution):
                scale = basis.dtype.type(change)
                solution.basis, solution.codes = basis / scale, codes * scale
                solution.residuals, solution.history[-1] = residuals, value
                solution.kkt_residual = np.nan
                if without.all():
                    solution.status = Status.CONVERGED
                return

    def polish(self, solution: Solution) -> None:
        """Without a graph, solve each sample's own problem for its code, as ``transform`` does, in
        place. Counts as part of the last iteration.
        """
        engine, objective = solution.space.engine, solution.problem
        basis, codes = exact_codes(solution)
        residuals, before = engine.residuals(basis, codes), solution.residuals
        value = objective.total(*self._terms_at(solution, basis, codes, residuals))
        if objective.penalty is None and value > self._most(solution):
            # Worse by round-off, which an enormous weight makes count.
            worse = engine.each(np.greater, residuals, before)
            known = engine.each(np.where, basis.any(axis=0), solution.codes, 0)
            # A dropped part may have explained something of them.
            left = engine.each(_without, engine, basis, known, solution.codes, before)
            codes = engine.each(_chosen, worse, known, codes)
            residuals = engine.each(np.where, worse, left, residuals)
            value = objective.total(*self._terms_at(solution, basis, codes, residuals))
        if value <= self._most(solution):
            solution.basis, solution.codes, solution.residuals = basis, codes, residuals
            solution.history[-1], solution.kkt_residual = value, np.nan

    def _most(self, solution: Solution) -> float:
        """The largest objective that counts as equal to that of the solution.

        Lengths of residuals have no digits below round-off; their squares have more.
        """
        power, share = self.objective.loss.power, ROUND_OFF[solution.basis.itemsize]
        root = solution.objective ** (1 / power) + share * self.nothing ** (1 / power)
        return float(root**power)

    def _terms_at(
        self, solution: Solution, basis: FloatArray, codes: FloatArray, residuals: FloatArray
    ) -> tuple[float, float, float, float]:
        """Loss, graph penalty, codes penalty and basis penalty, as `Objective.total` takes them."""
        objective, engine, graph_penalty = solution.problem, solution.space.engine, 0.0
        if self.graph is not None:
            graph_penalty, _ = self.graph.measure(codes, objective)
        return (
            float(engine.summed(objective.loss.total, residuals, self.share)), graph_penalty,
            float(engine.summed(objective.codes_penalty, codes, self.share)),
            float(lengths_of(basis).sum()),
        )  # fmt: skip

    def _candidates(self, solution: Solution) -> Iterator[NDArray[np.bool_]]:
        """Sets of parts to try to drop, as masks, the largest first."""
        engine, lengths = solution.space.engine, lengths_of(solution.basis)
        amounts = engine.summed(lambda own: np.ones(len(own), own.dtype) @ own, solution.codes)
        weights, used = amounts * lengths, amounts + lengths > 0
        # Without ``tol`` a run ends where its iterations end.
        if self.stopping.tol > 0 and not solution.objective < self.nothing:
            yield np.ones(len(weights), np.bool_)
        # A floor for the sum, beside which all parts are slight if samples are not fitted at all.
        size = _NOTHING_LEFT * engine.n_samples * self.length
        shares = weights / (max(weights.sum(), size) or 1.0)
        tried = None
        for share in _SLIGHT:
            without = shares <= share
            if not without.any():
                return  # there are none with smaller shares either
            if used[without].any() and (tried is None or (without != tried).any()):
                yield without
            tried = without
