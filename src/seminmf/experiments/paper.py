"""The numbers printed in the paper, in percent."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any

# By what people call them.
DATASETS = {"ionosphere": "Ionosphere", "waveform": "Waveform", "uspst": "USPST"}
SIGMA_USPST = 0.3

Cell = tuple[float, float]


@lru_cache(maxsize=1)
def _numbers() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("paper.json").read_text("utf-8")
    return json.loads(text)


def paper_table(dataset: str) -> dict[int, dict[str, dict[str, Cell]]]:
    """Mean and standard deviation by k, score ("ACC", "NMI") and model."""
    return {
        int(k): {
            score: {model: (cell[0], cell[1]) for model, cell in models.items()}
            for score, models in by_score.items()
        }
        for k, by_score in _numbers()[dataset]["table"].items()
    }


def paper_grid(dataset: str) -> dict[tuple[float, float], Cell]:
    """(ACC, NMI) of L2,1 SNF by (α, β)."""
    return {(a, b): (acc, nmi) for a, b, acc, nmi in _numbers()[dataset]["grid"]}


def noisy_uspst() -> dict[str, Cell]:
    """(ACC, NMI) by model on USPST with noise of deviation 0.30, k = 16."""
    return {model: (cell[0], cell[1]) for model, cell in _numbers()["uspst_noise_0.30"].items()}
