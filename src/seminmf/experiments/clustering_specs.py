"""Specs that end in ACC and NMI: the paper's tables, its noise curves and its parameter grids."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from .models import (
    FIXED,
    GR_PAIRS,
    GR_SNF,
    KMEANS,
    L21_SNF,
    PAPER_K,
    PAPER_PAIRS,
    SNF,
    default_setting,
)
from .paper import DATASETS, paper_grid, paper_table
from .runs import Run, Size, Spec, Value

ALPHAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
BETAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
ITERATIONS = 500
SIGMAS = {
    "ionosphere": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    # Waveform already has noise of deviation 1, so that half of it changes little.
    "waveform": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 2.0),
    "uspst": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
}
# Most repetitions, where a whole grid has to be done.
NOISE_RUNS = 10
GRID_RUNS = {"ionosphere": 5, "waveform": 3, "uspst": 3}
TUNING_RUNS = {"ionosphere": 10, "waveform": 3, "uspst": 3}
# Seconds of 500 multiplicative iterations at PAPER_K, and of a fit with defaults.
_SECONDS = {"ionosphere": 0.2, "waveform": 1.0, "uspst": 1.6, "uspst_zip": 1.6}
_SHARE_CD, _SHARE_KMEANS = 0.15, 0.2


def algorithm(size: Size) -> dict[str, Value]:
    """How the paper's experiments are run: its algorithm as it is, or ours from the same start."""
    if size.solver == "mu":
        steps = size.iterations(ITERATIONS)
        return {"solver": "mu", "init": "random", "max_iter": steps, "tol": 0.0}
    return {"solver": "cd", "init": "random"}


def pair(alpha: float, beta: float) -> dict[str, Value]:
    return {"alpha": alpha, "beta": beta}


def paper_models(dataset: str) -> dict[str, dict[str, Value]]:
    """The three models with the (α, β) that suit the data set best."""
    return {
        SNF: {},
        GR_SNF: pair(*GR_PAIRS[dataset]),
        L21_SNF: pair(*PAPER_PAIRS[dataset]),
    }


def cluster_run(
    experiment: str,
    size: Size,
    number: int,
    dataset: str,
    model: str,
    k: int,
    setting: Mapping[str, Value],
) -> Run:
    """A run of the task "cluster" with a guess of its cost."""
    share = (
        _SHARE_KMEANS if model == KMEANS else 1.0 if setting.get("solver") == "mu" else _SHARE_CD
    )
    share *= 0.5 if model == SNF else 1.0
    cost = _SECONDS[dataset] * share * k / PAPER_K[dataset] + 0.02
    if size.quick:
        cost = 0.05
    parameters = {"dataset": dataset, "model": model, "k": k, **setting, **size.limits()}
    return Run(experiment, "cluster", parameters, number, cost)


def _table(dataset: str, size: Size) -> list[Run]:
    name = f"table-{dataset}"
    ks = size.pick(tuple(paper_table(dataset)))
    paper = [
        cluster_run(name, size, number, dataset, model, k, {
            "setting": "paper", **algorithm(size), **extra,
        })
        for k in ks
        for number in size.repeats()
        for model, extra in paper_models(dataset).items()
    ]  # fmt: skip
    ours = [
        cluster_run(name, size, number, dataset, model, k, default_setting(model))
        for k in ks
        for number in size.repeats()
        for model in (L21_SNF, GR_SNF, SNF, KMEANS)
    ]
    fixed = [
        cluster_run(name, size, number, dataset, model, k, {
            **default_setting(model), "setting": setting, "strength": strength,
        })
        for setting, strength in FIXED.items()
        for k in ks
        for number in size.repeats()
        for model in (L21_SNF, GR_SNF)
    ]  # fmt: skip
    return paper + ours + fixed


def _tuning(size: Size) -> list[Run]:
    """GR SNF over the whole grid, for the pair that the tables use."""
    return [
        cluster_run("grsnf-grid", size, number, dataset, GR_SNF, PAPER_K[dataset], {
            **algorithm(size), **pair(alpha, beta),
        })
        for dataset in DATASETS
        for number in size.repeats(TUNING_RUNS[dataset])
        for beta in size.pick(BETAS)
        for alpha in size.pick(ALPHAS)
    ]  # fmt: skip


def _noise(dataset: str, size: Size) -> list[Run]:
    return [
        cluster_run(f"noise-{dataset}", size, number, dataset, model, PAPER_K[dataset], {
            "sigma": sigma, **algorithm(size), **extra,
        })
        for number in size.repeats(NOISE_RUNS)
        for sigma in size.pick(SIGMAS[dataset], 3)
        for model, extra in paper_models(dataset).items()
    ]  # fmt: skip


def _grid(dataset: str, size: Size) -> list[Run]:
    points = size.pick(tuple(paper_grid(dataset)), 4)
    return [
        cluster_run(f"grid-{dataset}", size, number, dataset, L21_SNF, PAPER_K[dataset], {
            **algorithm(size), **pair(alpha, beta),
        })
        for number in size.repeats(GRID_RUNS[dataset])
        for alpha, beta in points
    ]  # fmt: skip


def _versions(size: Size) -> list[Run]:
    """The USPST table once more with the grey values of zip.test."""
    return [
        cluster_run("uspst-versions", size, number, "uspst_zip", model, k, {
            "setting": "paper", **algorithm(size), **paper_models("uspst")[model],
        })
        for k in size.pick(tuple(paper_table("uspst")))
        for number in size.repeats(NOISE_RUNS)
        for model in (SNF, L21_SNF)
    ]  # fmt: skip


CLUSTERING_SPECS = [
    *(
        Spec(f"table-{d}", f"Clustering performance on {t}", "Section 4.2", partial(_table, d))
        for d, t in DATASETS.items()
    ),
    Spec("grsnf-grid", "GR SNF's α and β by grid search", "Section 4.1", _tuning),
    *(
        Spec(f"noise-{d}", f"Gaussian noise on {t}", "Section 4.3", partial(_noise, d))
        for d, t in DATASETS.items()
    ),
    *(
        Spec(f"grid-{d}", f"L2,1 SNF's α and β on {t}", "Section 4.4", partial(_grid, d))
        for d, t in DATASETS.items()
    ),
    Spec("uspst-versions", "USPST table with the images of zip.test", "ours", _versions),
]
