"""Specs of our own: outliers, the one-parameter path, and the two solvers against the clock."""

from __future__ import annotations

from .clustering_specs import ALPHAS, BETAS, ITERATIONS, cluster_run, pair
from .models import GR_SNF, KMEANS, L21_SNF, PAPER_K, PAPER_PAIRS, SNF, default_setting
from .paper import DATASETS
from .runs import Run, Size, Spec, Value

FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3)
STRENGTHS = (
    *(1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4),
    *(1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
)
OUTLIER_RUNS, PATH_RUNS, COLLAPSE_RUNS, CLOCK_RUNS = 10, 5, 2, 3


def _outliers(size: Size) -> list[Run]:
    """All models with their defaults; nobody has labels to tune on when data are spoilt."""
    return [
        cluster_run("outliers", size, number, dataset, model, PAPER_K[dataset], {
            "fraction": fraction, **default_setting(model),
        })
        for number in size.repeats(OUTLIER_RUNS)
        for dataset in DATASETS
        for fraction in size.pick(FRACTIONS)
        for model in (SNF, GR_SNF, L21_SNF, KMEANS)
    ]  # fmt: skip


def _strength(size: Size) -> list[Run]:
    """A path over λ for both graph models, and the grid of (α, β) by coordinate descent."""
    path = [
        cluster_run("strength", size, number, dataset, model, PAPER_K[dataset], {
            "part": "path", "strength": strength,
        })
        for number in size.repeats(PATH_RUNS)
        for dataset in (*DATASETS, "uspst_zip")
        for strength in size.pick(STRENGTHS, 3)
        for model in (L21_SNF, GR_SNF)
    ]  # fmt: skip
    collapse = [
        cluster_run("strength", size, number, dataset, L21_SNF, PAPER_K[dataset], {
            "part": "grid", "solver": "cd", **pair(alpha, beta),
        })
        for number in size.repeats(COLLAPSE_RUNS)
        for dataset in DATASETS
        for beta in size.pick(BETAS)
        for alpha in size.pick(ALPHAS)
    ]  # fmt: skip
    return path + collapse


def _solvers(size: Size) -> list[Run]:
    """Both from the same random start, with the paper's (α, β)."""

    def parameters(dataset: str, solver: str) -> dict[str, Value]:
        alpha, beta = PAPER_PAIRS[dataset]
        steps = size.iterations(ITERATIONS if solver == "mu" else 200)
        return {
            "dataset": dataset, "model": L21_SNF, "k": PAPER_K[dataset], **pair(alpha, beta),
            "solver": solver, "init": "random", "max_iter": steps, "tol": 0.0, **size.limits(),
        }  # fmt: skip

    return [
        Run(
            "solvers", "scores-in-time", parameters(dataset, solver), number,
            0.3 if size.quick else 4.0,
        )
        for number in size.repeats(CLOCK_RUNS)
        for dataset in DATASETS
        for solver in ("mu", "cd")
    ]  # fmt: skip


OWN_SPECS = [
    Spec("outliers", "Part of the samples moved far away", "ours", _outliers),
    Spec("strength", "One parameter instead of two", "ours", _strength),
    Spec("solvers", "J and ACC against time, mu and cd", "ours", _solvers),
]
