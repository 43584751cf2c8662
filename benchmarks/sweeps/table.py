"""What is varied: the constants that steer speed or results, and the fits that show it.

Fits are chosen so that the constant is at work in them: a threshold is tried on data at both sides
of it. The values are tried beside the present one, whatever that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..setting import Place

OBJECTIVE, ACCURACY, ERROR = "objective", "accuracy", "error"
# Accuracies and errors are means over so many seeds, of k-means and of the outliers.
SEEDS = 3


@dataclass(frozen=True)
class Constant:
    """A constant, the values to try, the fits to try them on, and what they are judged by."""

    place: Place
    values: tuple[Any, ...]
    fits: tuple[str, ...] = ()
    threads: tuple[int, ...] = (1,)
    measure: str = OBJECTIVE
    compiled: bool = False
    """Whether compiled code is made with it, so that each value needs a process of its own."""

    def others(self) -> tuple[Any, ...]:
        """The values that are not the present one."""
        present = self.place.value
        return tuple(value for value in self.values if value != present)


def _row(module: str, name: str, values: tuple[Any, ...], fits: str = "", **how: Any) -> Constant:
    return Constant(Place(module, name), values, tuple(fits.split()), **how)


_BOTH: dict[str, Any] = {"threads": (1, 2)}
_TWO: dict[str, Any] = {"threads": (2,)}
_DESCENT = "ionosphere waveform uspst middle-graph nmf"
_FLOORS = tuple({8: share, 4: 1e4 * share} for share in (1e-14, 1e-12, 1e-10, 1e-8, 1e-6))

CONSTANTS = (
    # How a run goes down.
    _row("solve.descent", "_ETA_START", (0.0, 0.4, 0.7, 0.9), _DESCENT),
    _row("solve.descent", "_ETA_GROWTH", (1.0, 1.02, 1.05, 1.1, 1.2), _DESCENT),
    _row("solve.descent", "_ETA_MOST", (0.8, 0.9, 0.95, 0.99), _DESCENT),
    _row(
        "solve.loop", "_AT_REST", (1e-5, 1e-4, 3e-4, 1e-3, 1e-2),
        "uspst uspst-tol middle-graph broad-graph",
    ),
    _row(
        "solve.plan", "_FEATURES_FOR_TWO_SWEEPS", (0, 6, 12, 24, 1000),
        "uspst images wide-alone semi-images nmf",
    ),
    _row(
        "solve.factorize", "_FEW_SAMPLES", (0, 10, 20, 40, 80),
        "random random-400 ionosphere-alone positive",
    ),
    _row("solve.plan", "SHORTEST", (1e-6, 1e-4, 1e-3, 1e-2, 0.1), "short uspst positive"),
    _row(
        "solve.plan", "RELATIVE_FLOOR", _FLOORS,
        "random random-400 ionosphere ionosphere-alone waveform",
    ),
    # Where it starts.
    _row(
        "data.axes", "EXACT_SIZE", (100, 200, 300, 500, 1_000),
        "semi-uspst images semi-images wide wide-alone",
    ),
    _row(
        "data.axes", "OVERSAMPLING", (0, 3, 6, 12, 24),
        "semi-uspst images images-40 semi-images",
    ),
    _row("data.axes", "POWER_PASSES", (1, 2, 3, 4), "images images-40 semi-images"),
    _row("solve.starts", "ROUNDS", (1, 2, 3, 5), "semi-waveform semi-uspst semi-images"),
    _row("solve.starts", "NEAR_ORIGIN", (0.0, 0.05, 0.2, 0.4, 0.8), "positive positive-semi"),
    # Where X is cut.
    _row(
        "data.cutting", "_OWN_BLOCK",
        ((2**13, 64), (2**15, 64), (2**17, 64), (2**15, 16), (2**15, 256)),
        "waveform uspst middle tall tall-graph", **_BOTH,
    ),
    _row(
        "data.cutting", "_BLAS_BLOCK",
        ((2**16, 64), (2**17, 128), (2**18, 256), (2**19, 512)), "images-40 wide-alone", **_BOTH,
    ),
    _row(
        "data.cutting", "_FEWEST_BLOCKS", (2, 4, 8, 16, 32),
        "random-400 waveform uspst images-40", **_BOTH,
    ),
    _row(
        "data.cutting", "_SMALL", (0, 2**13, 2**15, 2**17, 2**19),
        "ionosphere small-graph random-400 waveform", **_BOTH,
    ),
    _row("data.cutting", "_MOST_SHARDS", (4, 8, 16, 32, 64), "waveform uspst tall-graph", **_BOTH),
    _row(
        "data.cutting", "_MOST_FEATURES_FOR_CHUNKS", (0, 64, 256, 512, 2_048),
        "waveform middle-graph broad-graph", **_BOTH,
    ),
    _row(
        "data.cutting", "_VISITED", (2**13, 2**15, 2**17, 2**19),
        "semi-uspst middle tall images", **_BOTH,
    ),
    # Other features for X.
    _row(
        "data.subspace", "OVERSAMPLING", (1, 3, 6, 12, 24), "uspst middle-graph broad-graph"
    ),
    _row(
        "data.subspace", "_WORTH_MAKING", (1e5, 1e6, 1e7, 1e8, 1e9),
        "small-graph uspst middle-graph broad-graph",
    ),
    _row("data.compression", "_SLOWDOWN", (0.25, 1.0, 2.5, 5.0, 20.0), "wide"),
    # Compiled code.
    _row(
        "compiled.products", "SKINNY", (10_000, 20_000, 40_000, 80_000),
        "uspst images images-40 wide-alone", compiled=True,
    ),
    _row(
        "compiled.products", "STRIP", (16, 64, 256, 2**30),
        "waveform uspst middle tall", compiled=True,
    ),
    _row(
        "compiled.products", "_ROWS_AHEAD", (0, 4, 16), "middle-graph tall-graph", compiled=True
    ),
    _row(
        "compiled.iteration", "_SAMPLES_PER_ITEM", (16, 64, 256),
        "waveform uspst middle-graph tall-graph", compiled=True, **_TWO,
    ),
    _row(
        "compiled.iteration", "EDGES_PER_ITEM", (512, 2_048, 8_192),
        "waveform uspst tall-graph", compiled=True, **_TWO,
    ),
    _row(
        "compiled.edges", "EDGES_AT_ONCE", (128, 512, 2_048), "waveform uspst tall-graph",
        compiled=True,
    ),
    _row(
        "compiled.threads.team", "WORTH_SHARING", (1e6, 1e7, 1e8, 1e9),
        "waveform uspst middle images tall", **_TWO,
    ),
    _row(
        "compiled.threads.team", "_WORTH_HELPING", (1e5, 1e6, 4e6, 2e7, 1e8),
        "ionosphere small-graph waveform uspst middle", **_TWO,
    ),
    # What codes k-means sees, and how often it starts.
    _row("models.reading", "_POWER", (0.0, 0.2, 1 / 3, 0.5, 1.0), measure=ACCURACY),
    _row("models.reading", "_ROUNDS", (0, 1, 2, 3), measure=ACCURACY),
    _row("models.reading", "_STEPS", (1, 3, 10, 30), measure=ACCURACY),
    _row("models.clustering", "_STARTS", (1, 3, 10), measure=ACCURACY),
    # The scale of a loss that is left to the data.
    _row("problem.losses", "Huber.typical", (0.5, 1.0, 2.0, 4.0), measure=ERROR),
    _row("problem.losses", "Cauchy.typical", (0.5, 1.0, 2.0, 4.0), measure=ERROR),
)  # fmt: skip
