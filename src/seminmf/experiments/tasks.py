"""The work of a run, by name: parameters and the number of the repetition in, results out.

A task returns a list of small dicts, each of which becomes one tidy row. It draws every random
number from `seed_for`, so that it can be done again at any time, in any process, in any order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import FactorKMeans
from .._types import FloatArray, IntArray
from ..datasets import add_gaussian_noise, add_outliers
from .data import seed_for, subset
from .models import FIXED, KMEANS, make_estimator
from .runs import Value
from .scoring import clusters_of, scores_of
from .traces import error_curve, half_steps, objective_curve, scores_in_time

Parameters = Mapping[str, Value]
Results = list[dict[str, Any]]


def _samples(
    parameters: Parameters, number: int
) -> tuple[FloatArray, IntArray, FloatArray, np.ndarray[Any, Any]]:
    """(X as the model sees it, y, X before it was spoilt, which samples are outliers)."""
    dataset = str(parameters["dataset"])
    clean, y = subset(dataset, number, int(parameters.get("samples", 0)))
    X, outlier = clean, np.zeros(len(clean), dtype=bool)
    if parameters.get("sigma"):
        seed = seed_for(dataset, number, "noise")
        X = add_gaussian_noise(X, float(parameters["sigma"]), random_state=seed)
    if "fraction" in parameters:
        seed = seed_for(dataset, number, "outliers")
        X, outlier = add_outliers(X, float(parameters["fraction"]), random_state=seed)
    return X, y, clean, outlier


def cluster(parameters: Parameters, number: int) -> Results:
    """Factorize a random 90 % of a data set, cluster the codes, compare with the classes.

    With defaults the clusters are those of `FactorKMeans`, as a user would have them; in the
    paper's setting, and as ``ACC_plain`` and ``NMI_plain``, those of k-means on all codes. Outliers
    take part in the clustering, but the scores are of the other samples.
    """
    dataset, k = str(parameters["dataset"]), int(parameters["k"])
    X, y, _, outlier = _samples(parameters, number)
    seed, kmeans_seed = (seed_for(dataset, number, purpose) for purpose in ("start", "k-means"))
    kept = ~outlier
    if parameters["model"] == KMEANS:
        clusters = clusters_of(X, k, kmeans_seed)
        return [{"seed": seed, **scores_of(clusters[kept], y[kept])}]
    model = make_estimator(parameters, seed)
    plain: dict[str, float] = {}
    began = time.perf_counter()
    if parameters.get("setting") in ("default", *FIXED):
        clustering = FactorKMeans(model, random_state=kmeans_seed).fit(X)
        seconds = time.perf_counter() - began
        model, clusters = clustering.factorizer_, clustering.labels_
        others = scores_of(clusters_of(model.codes_, k, kmeans_seed)[kept], y[kept])
        plain = {f"{name}_plain": value for name, value in others.items()}
    else:
        model.fit(X)
        seconds = time.perf_counter() - began
        clusters = clusters_of(model.codes_, k, kmeans_seed)
    result = {
        "seed": seed,
        "seconds": seconds,
        "J": model.objective_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "alpha": model.alpha_,
        "beta": model.beta_,
        **scores_of(clusters[kept], y[kept]),
        **plain,
    }
    if "fraction" in parameters:
        lengths = np.linalg.norm(X[kept], axis=1)
        result["clean_error"] = model.residuals_[kept].sum() / lengths.sum()
    return [result]


def reconstruct(parameters: Parameters, number: int) -> Results:
    """Images as the three models give them back, beside what they were made from.

    ``pixels`` are the 8-bit grey values in hexadecimal, −1 → 00 and 1 → ff.
    """
    dataset, shown = str(parameters["dataset"]), int(parameters["images"])
    X, y, clean, _ = _samples(parameters, number)
    rng = np.random.default_rng(seed_for(dataset, number, "images"))
    chosen = np.sort(rng.permutation(len(X))[:shown])
    model_name = str(parameters["model"])
    if model_name == "noisy":
        images = X
    elif model_name == "original":
        images = clean
    else:
        model = make_estimator(parameters, seed_for(dataset, number, "start")).fit(X)
        images = model.codes_ @ model.components_
    error = np.linalg.norm(images - clean, axis=1).sum() / np.linalg.norm(clean, axis=1).sum()
    grey = np.clip(np.round((images[chosen] + 1) * 127.5), 0, 255).astype(np.uint8)
    return [
        {"image": place, "digit": int(y[i]), "error_to_clean": error, "pixels": g.tobytes().hex()}
        for place, (i, g) in enumerate(zip(chosen, grey, strict=True))
    ]


TASKS: dict[str, Callable[[Parameters, int], Results]] = {
    "cluster": cluster,
    "reconstruct": reconstruct,
    "objective-curve": objective_curve,
    "error-curve": error_curve,
    "half-steps": half_steps,
    "scores-in-time": scores_in_time,
}
