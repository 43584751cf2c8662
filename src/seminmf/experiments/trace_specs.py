"""Specs that follow a fit: convergence, random and exact matrices, CIFAR-10, digits."""

from __future__ import annotations

from functools import partial

from .clustering_specs import ITERATIONS, algorithm, paper_models
from .models import GR_SNF, L21_SNF, PAPER_K, PAPER_PAIRS, PLAIN_NMF, SNF
from .paper import DATASETS, SIGMA_USPST
from .runs import Run, Size, Spec, Value

MATRIX_RANKS = (32, 16)
NOISE_LEVELS = (0.0, 0.02, 0.04)
CIFAR_RANKS, CIFAR_ITERATIONS = (15, 30), 200
CURVE_RUNS = 3
IMAGES = 15
# What is compared with the paper's algorithm on matrices: ours, from two kinds of start.
_OURS: tuple[dict[str, Value], ...] = (
    {"solver": "cd", "init": "random"},
    {"solver": "cd", "init": "exemplar"},
)


def _steps(size: Size, solver: str, count: int = ITERATIONS) -> dict[str, Value]:
    """A fixed number of iterations; ours needs far fewer."""
    return {"max_iter": size.iterations(count if solver == "mu" else count // 2), "tol": 0.0}


def _convergence(dataset: str, size: Size) -> list[Run]:
    alpha, beta = PAPER_PAIRS[dataset]
    return [
        Run(
            f"convergence-{dataset}", "objective-curve",
            {"dataset": dataset, "model": L21_SNF, "k": PAPER_K[dataset], "alpha": alpha,
             "beta": beta, "solver": solver, "init": "random", **_steps(size, solver),
             **size.limits()},
            number, 0.1 if size.quick else 1.5,
        )
        for number in size.repeats(CURVE_RUNS)
        for solver in ("mu", "cd")
    ]  # fmt: skip


def _half_steps(size: Size) -> list[Run]:
    """On the data sets, and on many problems so small that weights change much in a step."""
    tiny: dict[str, Value] = {
        "dataset": "uniform", "n_samples": 3, "n_features": 2, "k": 1, "alpha": 0.1, "beta": 0.1,
        "max_iter": 8, "trials": 20 if size.quick else 1000,
    }  # fmt: skip
    cases: list[dict[str, Value]] = [
        {
            "dataset": dataset, "k": PAPER_K[dataset], "alpha": PAPER_PAIRS[dataset][0],
            "beta": PAPER_PAIRS[dataset][1], "max_iter": size.iterations(200), **size.limits(),
        }
        for dataset in DATASETS
    ]  # fmt: skip
    return [
        Run(
            "half-steps", "half-steps", {"model": L21_SNF, **case}, number,
            0.1 if size.quick else 5.0,
        )
        for case in [*cases, tiny]
        for number in size.repeats(CURVE_RUNS)
    ]  # fmt: skip


def _shape(size: Size) -> dict[str, Value]:
    """The paper's matrices: 128 samples of 10,000 features."""
    if size.quick:
        return {"n_samples": 48, "n_features": 300}
    return {"n_samples": 128, "n_features": 10_000}


_MU: dict[str, Value] = {"solver": "mu", "init": "random"}


def _matrix_run(
    experiment: str, size: Size, number: int, model: str, how: dict[str, Value], count: int,
    **matrix: Value,
) -> Run:  # fmt: skip
    parameters = {
        "model": model, **matrix, **_shape(size), **how, **_no_penalty(model),
        **_steps(size, str(how["solver"]), count),
    }  # fmt: skip
    return Run(experiment, "error-curve", parameters, number, 0.1 if size.quick else 2.0)


def _random(size: Size) -> list[Run]:
    cases = [(SNF, _MU), (L21_SNF, _MU), *((L21_SNF, ours) for ours in _OURS)]
    return [
        _matrix_run("random-matrices", size, number, *case, ITERATIONS, dataset="uniform", k=k)
        for number in size.repeats(CURVE_RUNS)
        for k in MATRIX_RANKS
        for case in cases
    ]


def _exact(size: Size) -> list[Run]:
    cases = [(SNF, _MU), (L21_SNF, _MU), (L21_SNF, _OURS[0])]
    cases.append((L21_SNF, {"solver": "cd", "init": "auto"}))
    return [
        _matrix_run(
            "exact-matrices", size, number, *case, 1000, dataset="low rank", k=k, sigma=sigma
        )
        for number in size.repeats(CURVE_RUNS)
        for k in MATRIX_RANKS
        for sigma in NOISE_LEVELS
        for case in cases
    ]


def _no_penalty(model: str) -> dict[str, Value]:
    return {"alpha": 0.0, "beta": 0.0} if model == L21_SNF else {}


def _cifar(size: Size) -> list[Run]:
    return [
        Run(
            "cifar10", "error-curve",
            {"dataset": "cifar10", "model": model, "k": k, "solver": "mu", "init": "positive",
             **_no_penalty(model), **_steps(size, "mu", CIFAR_ITERATIONS), **size.limits()},
            0, 0.5 if size.quick else 40.0,
        )
        for k in CIFAR_RANKS
        for model in (PLAIN_NMF, SNF, L21_SNF)
    ]  # fmt: skip


def _digits(size: Size) -> list[Run]:
    fits = paper_models("uspst")
    shown: dict[str, dict[str, Value]] = {"original": {}, "noisy": {}}
    shown |= {model: {**algorithm(size), **fits[model]} for model in (SNF, GR_SNF, L21_SNF)}
    return [
        Run(
            "digits-uspst", "reconstruct",
            {"dataset": "uspst", "model": model, "k": PAPER_K["uspst"], "sigma": SIGMA_USPST,
             "images": IMAGES, **how, **size.limits()},
            0, 0.1 if size.quick else 2.0,
        )
        for model, how in shown.items()
    ]  # fmt: skip


TRACE_SPECS = [
    Spec("digits-uspst", "Noisy digits, reconstructed by three models", "Section 4.3", _digits),
    *(
        Spec(f"convergence-{d}", f"J per iteration on {t}", "Section 4.5", partial(_convergence, d))
        for d, t in DATASETS.items()
    ),
    Spec("random-matrices", "Relative error on random matrices", "Section 4.6", _random),
    Spec("exact-matrices", "Relative error on matrices V Uᵀ plus noise", "Section 4.6", _exact),
    Spec("cifar10", "Relative error on the CIFAR-10 test images", "Section 4.7", _cifar),
    Spec("half-steps", "J after each half of the paper's iteration", "ours", _half_steps),
]
