"""The picture: for each case how far it is beyond its target, or short of it."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .report import ratio
from .results import Goal, Result

# Okabe and Ito's blue and vermilion: told apart in every kind of colour vision.
_MET, _MISSED, _INK = "#0072B2", "#D55E00", "#333333"


def _bounded(score: float) -> float:
    return min(max(score, 0.05), 100.0)


def draw(results: list[Result], path: Path) -> None:
    """A bar per case for the most threads, from the target outwards; a ring for one thread."""
    measured = [result for result in results if not math.isnan(result.score)]
    if not measured:
        return
    cases: dict[tuple[str, str, str, str], dict[int, Result]] = {}
    for result in measured:
        key = (result.row, result.what, result.case, result.against)
        cases.setdefault(key, {})[result.threads] = result
    lines: list[tuple[float, str, dict[int, Result] | None]] = []
    height, previous = 0.0, None
    for (_, what, case, against), found in cases.items():
        if what != previous:
            height += 0.5
            lines.append((height, what.replace("`", ""), None))
            height, previous = height + 1, what
        label = f"{case} · {against}" if "SemiNMF`" in what else case
        lines.append((height, label, found))
        height += 1

    figure, axes = plt.subplots(figsize=(10, 0.24 * height + 1.2), layout="constrained")
    for y, label, by_threads in lines:
        if by_threads is None:
            axes.text(-0.01, y + 0.1, label, transform=axes.get_yaxis_transform(), ha="right",
                      va="center", fontsize=8.5, fontweight="bold", color=_INK)  # fmt: skip
            continue
        axes.text(-0.01, y, label, transform=axes.get_yaxis_transform(), ha="right", va="center",
                  fontsize=8.5, color=_INK)  # fmt: skip
        main = by_threads[max(by_threads)]
        score = _bounded(main.score)
        colour = _MET if main.met else _MISSED
        axes.barh(y, score - 1, left=1, height=0.72, color=colour, zorder=2)
        if 1 in by_threads and len(by_threads) > 1:
            axes.plot(_bounded(by_threads[1].score), y, "o", ms=5, mfc="white", mec=_INK, zorder=3)
        goal = Goal(main.goal, main.at_least)
        axes.text(1.01, y, f"{ratio(main)}  ({goal}×)", transform=axes.get_yaxis_transform(),
                  ha="left", va="center", fontsize=8.5, color=_INK)  # fmt: skip
    axes.axvline(1, color=_INK, lw=1.2, zorder=4)
    axes.set(xscale="log", ylim=(height, -0.2), yticks=[], xlabel="times better than the target")
    low = min(0.5, *(_bounded(result.score) for result in measured))
    high = max(2.0, *(_bounded(result.score) for result in measured))
    axes.set_xlim(low / 1.2, high * 1.2)
    ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color="#dddddd", lw=0.6, zorder=0)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.legend(
        handles=[
            Patch(color=_MET, label="target reached"),
            Patch(color=_MISSED, label="target missed"),
            Line2D([], [], ls="", marker="o", ms=5, mfc="white", mec=_INK, label="on one thread"),
        ],
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=8.5,
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
