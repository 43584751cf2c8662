"""What a run has to stand before its end is called one: thawing, parts that are not needed, polish.

**Thawing.** A residual near zero gives its sample an enormous weight 1/residual, which holds it
where it is, whatever the penalties would gain elsewhere: a start that fits nearly exactly is
frozen, and a run from it seems to converge at once. So a run that ends with many such samples is
made again from thawed starts: the minimum with squares of all lengths, which have no weights, and
that with Huber's loss, whose weights are bounded by 1/scale, with scales that shrink from the size
of the samples, or from a tenth of it. Which is best depends on the data, so all are tried, and the
best end is kept. The runs to the starts do not count as iterations. ``solver="mu"`` is the paper's
iteration and is left alone.

**Parts.** The penalty on the basis makes vectors that are not needed shrink from iteration to
iteration, but they never become zero. At the end such parts are zero if that does not raise the
objective, and all are if nothing is better than nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..data import Space
from ..graph.prepared import NeighbourGraph
from ..problem.losses import Huber, Norm, SquaredNorm
from ..problem.objective import Objective
from ..problem.strength import Units, resolve, strength_of
from .descent import Descent, Scheme
from .loop import Callback, Solution, Status, Stopping, run
from .plan import ROUND_OFF
from .projection import solve_codes

# A fit is frozen where residuals below this share of a typical sample ...
_FROZEN = 1e-2
# ... are those of this share of the samples (benchmarks/frozen.py has what thawing brings there).
_NOTABLE = 0.1
# Scales of Huber's loss, as shares of a typical sample. The larger they are, the more can change;
# but the weaker is the loss against the penalties, so that parts may vanish which are needed later.
_SCALES = (0.3, 0.03, 0.003)
# With each scale a run ends when J falls by less than this share.
_STAGE_TOL = 1e-4
# Below this share of what it is for V = 0, an objective is zero, and so is what is fitted of the
# samples below this share of them.
_NOTHING_LEFT = 1e-9
# Parts with less than these shares of all that samples have of them are tried without.
_SLIGHT = (1e-3, 1e-6, 1e-9, 0.0)

Start = tuple[FloatArray, FloatArray]


def exact_codes(solution: Solution) -> tuple[FloatArray, FloatArray]:
    """The basis, and codes that are exactly optimal for it where there is no graph.

    Parts of which rounding alone is left, beside the longest and beside what samples have of
    others, are zero: codes that use them would be enormous.
    """
    engine = solution.space.engine
    lengths = np.linalg.norm(solution.basis.astype(np.float64), axis=0)
    used = lengths * solution.codes.max(axis=0)
    least = ROUND_OFF[solution.basis.itemsize]
    left = (lengths > least * lengths.max()) | (used > least * used.max())
    basis, codes = np.where(left, solution.basis, 0), np.where(left, solution.codes, 0)
    if codes.shape[1] > min(engine.n_samples, engine.n_features):
        # The solution is not unique: take the one that ``transform`` arrives at.
        codes[:] = 0
    solve_codes(engine, basis, solution.problem, codes)
    return basis, codes


@dataclass(frozen=True)
class Finish:
    """What a run was made of, to make another like it."""

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
        """The same run from a thawed start, if this one is frozen and that is better."""
        if solution.status in (Status.STOPPED, Status.NONFINITE) or not self._frozen(solution):
            return solution
        smooth = [replace(self.objective, loss=Huber(scale * self.length)) for scale in _SCALES]
        ways = [self._squared(len(solution.codes))], smooth, smooth[1:]
        ends = [solution, *(self._thawed(solution, stages, number) for stages in ways)]
        return min(ends, key=lambda end: end.rank)

    def _squared(self, n: int) -> Objective:
        """The same strength of penalties with squares of all lengths, as in `GraphSemiNMF`."""
        count = n if self.share is None else float(self.share.sum())
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

    def _frozen(self, solution: Solution) -> bool:
        if type(self.objective.loss) is not Norm:
            return False
        near = np.count_nonzero(solution.residuals <= _FROZEN * self.length)
        if near < _NOTABLE * len(solution.residuals):
            return False
        return solution.objective > _NOTHING_LEFT * self.nothing

    def drop_parts(self, solution: Solution) -> None:
        """Make parts zero that are not needed, in place."""
        for without in self._candidates(solution):
            basis, codes = (np.where(without, 0, f) for f in (solution.basis, solution.codes))
            changed: NDArray[np.bool_] = np.any(solution.codes[:, without], axis=1)
            residuals = solution.residuals.copy()
            residuals[changed] = solution.space.engine.residuals(basis, codes, changed)
            terms = self._terms_at(solution.problem, basis, codes, residuals)
            change = solution.problem.best_scale(*terms[1:])
            value = solution.problem.rescaled(change).total(*terms)
            if value <= self._most(solution):
                scale = basis.dtype.type(change)
                solution.basis, solution.codes = basis / scale, codes * scale
                solution.residuals, solution.history[-1] = residuals, value
                if without.all():
                    solution.status = Status.CONVERGED
                return

    def polish(self, solution: Solution) -> None:
        """Without a graph each sample's code is the solution of its own problem, which is what
        ``transform`` gives. Part of the last iteration.
        """
        engine, objective = solution.space.engine, solution.problem
        basis, codes = exact_codes(solution)
        residuals = engine.residuals(basis, codes)
        value = objective.total(*self._terms_at(objective, basis, codes, residuals))
        if objective.penalty is None and value > self._most(solution):
            # By round-off, and with an enormous weight even that counts.
            worse = residuals > solution.residuals
            before = np.where(basis.any(axis=0), solution.codes, 0)
            codes[worse], residuals[worse] = before[worse], solution.residuals[worse]
            value = objective.total(*self._terms_at(objective, basis, codes, residuals))
        if value <= self._most(solution):
            solution.basis, solution.codes, solution.residuals = basis, codes, residuals
            solution.history[-1] = value

    def _most(self, solution: Solution) -> float:
        """The objective that is not told from that of the solution."""
        return solution.objective + ROUND_OFF[solution.codes.itemsize] * self.nothing

    def _terms_at(
        self, objective: Objective, basis: FloatArray, codes: FloatArray, residuals: FloatArray
    ) -> tuple[float, float, float, float]:
        """Loss, graph penalty, codes penalty and basis penalty, as `Objective.total` takes them."""
        graph_penalty = 0.0
        if self.graph is not None:
            graph_penalty, _ = self.graph.measure(codes, objective.terms(codes.dtype, 0.0))
        return (
            objective.loss.total(residuals, self.share), graph_penalty,
            objective.codes_penalty(codes, self.share),
            float(np.linalg.norm(basis.astype(np.float64), axis=0).sum()),
        )  # fmt: skip

    def _candidates(self, solution: Solution) -> Iterator[NDArray[np.bool_]]:
        """Sets of parts to try without, the largest first."""
        lengths = np.linalg.norm(solution.basis.astype(np.float64), axis=0)
        codes = solution.codes
        weights = (np.ones(len(codes), codes.dtype) @ codes) * lengths
        # A run of a given number of iterations ends where it ends.
        if self.stopping.tol > 0 and not solution.objective < self.nothing:
            yield np.ones(len(weights), np.bool_)
        # Of samples that are not fitted at all, beside which all parts are slight, a share counts.
        size = _NOTHING_LEFT * len(solution.codes) * self.length
        shares = weights / (max(weights.sum(), size) or 1.0)
        tried = None
        for share in _SLIGHT:
            without = shares <= share
            if not without.any():
                return  # nor with smaller shares
            present = lengths[without].any() or solution.codes[:, without].any()
            if present and (tried is None or (without != tried).any()):
                yield without
            tried = without
