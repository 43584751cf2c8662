"""The paper's formulas as plain NumPy, with samples as rows: slow, and meant to be obviously right.

X (n × m) ≈ V Uᵀ, codes V (n × k) ≥ 0, basis U (m × k); the paper's X is our Xᵀ. One iteration takes
the weights d, b, W from (U(t), V(t)), then makes the U step and the V step with them.
Nothing here is shared with the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

EPS = 1e-10
MODELS = ("NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Problem:
    """One of the four models on given data; ``W`` is the symmetric matrix of edge weights w_ij."""

    model: str
    X: Array
    W: Array | None = None
    alpha: float = 0.0
    beta: float = 0.0


def plus(A: Array) -> Array:
    return (np.abs(A) + A) / 2


def minus(A: Array) -> Array:
    return (np.abs(A) - A) / 2


def residuals(X: Array, U: Array, V: Array) -> Array:
    """‖x_i − U v_i‖ for each sample."""
    return np.sqrt(((X - V @ U.T) ** 2).sum(axis=1))


def distances(V: Array) -> Array:
    """‖v_i − v_j‖ for all pairs."""
    difference = V[:, None, :] - V[None, :, :]
    return np.sqrt((difference**2).sum(axis=2))


def objective(p: Problem, U: Array, V: Array) -> float:
    """J(U, V) of the model."""
    r = residuals(p.X, U, V)
    if p.model in ("NMF", "SemiNMF"):
        return float((r**2).sum())
    pairs = np.zeros((len(V), len(V))) if p.W is None else p.W
    upper = np.triu(np.ones_like(pairs), 1)
    spread = distances(V)
    lengths = np.linalg.norm(U, axis=0).sum()
    if p.model == "GraphSemiNMF":
        graph = (upper * pairs * spread**2).sum()
        return float((r**2).sum() + p.alpha * graph + p.beta * lengths)
    graph = (upper * pairs * spread).sum()
    return float(r.sum() + p.alpha * graph + p.beta * lengths)


def weights(p: Problem, U: Array, V: Array, eps: float = EPS) -> tuple[Array, Array, Array]:
    """(d, b, W) of the model at (U, V): per sample, per component, per pair of samples."""
    n, k = V.shape
    base = np.zeros((n, n)) if p.W is None else p.W
    lengths = np.maximum(np.linalg.norm(U, axis=0), eps)
    if p.model in ("NMF", "SemiNMF"):
        return np.ones(n), np.zeros(k), np.zeros((n, n))
    if p.model == "GraphSemiNMF":
        return np.ones(n), 0.5 / lengths, base
    d = 1 / np.maximum(residuals(p.X, U, V), eps)
    return d, 1 / lengths, base / np.maximum(distances(V), eps)


def nmf_step(X: Array, U: Array, V: Array) -> tuple[Array, Array]:
    """Eq. nmfsol."""
    U = U * (X.T @ V) / (U @ (V.T @ V))
    V = V * (X @ U) / (V @ (U.T @ U))
    return U, V


def step(p: Problem, U: Array, V: Array) -> tuple[Array, Array]:
    """Eqs. nmfsol, snfsol, grsnfsol and l21snfsol: (U(t), V(t)) → (U(t+1), V(t+1))."""
    if p.model == "NMF":
        return nmf_step(p.X, U, V)
    d, b, W = weights(p, U, V)
    D, B, S = np.diag(d), np.diag(b), np.diag(W.sum(axis=1))
    U = p.X.T @ D @ V @ np.linalg.inv(p.beta * B + V.T @ D @ V)
    phi, omega = p.X @ U, U.T @ U
    numerator = D @ plus(phi) + D @ V @ minus(omega) + p.alpha * W @ V
    denominator = D @ minus(phi) + D @ V @ plus(omega) + p.alpha * S @ V
    # A zero denominator is met only at v = 0, which the rule cannot leave, or with u = 0.
    empty = denominator == 0
    ratio = np.where(empty, 1, numerator / np.where(empty, 1, denominator))
    return U, V * np.sqrt(ratio)


def iterates(p: Problem, U: Array, V: Array, count: int) -> list[tuple[Array, Array]]:
    """(U(t), V(t)) for t = 1 … count."""
    found = []
    for _ in range(count):
        U, V = step(p, U, V)
        found.append((U, V))
    return found


def gradients(p: Problem, U: Array, V: Array, eps: float = EPS) -> tuple[Array, Array]:
    """(∂J/∂U, ∂J/∂V), written out per sample and per edge."""
    power = 2 if p.model in ("NMF", "SemiNMF", "GraphSemiNMF") else 1
    g_U, g_V = np.zeros_like(U), np.zeros_like(V)
    for i, (x, v) in enumerate(zip(p.X, V, strict=True)):
        error = U @ v - x
        factor = 2.0 if power == 2 else 1 / max(np.linalg.norm(error), eps)
        g_U += factor * np.outer(error, v)
        g_V[i] += factor * (U.T @ error)
    if p.model in ("NMF", "SemiNMF"):
        return g_U, g_V
    for j in range(U.shape[1]):
        g_U[:, j] += p.beta * U[:, j] / max(np.linalg.norm(U[:, j]), eps)
    if p.W is not None:
        for i, j in zip(*np.nonzero(p.W), strict=True):
            difference = V[i] - V[j]
            factor = 2.0 if power == 2 else 1 / max(np.linalg.norm(difference), eps)
            g_V[i] += p.alpha * p.W[i, j] * factor * difference
    return g_U, g_V


def kkt(p: Problem, U: Array, V: Array, eps: float = EPS) -> float:
    """Largest violation of the first-order conditions, relative to J.

    For v ≥ 0: g ≥ 0 where v = 0 and g = 0 where v > 0, that is v = max(0, v − g); the steps are
    multiplied with the typical size of the factor so that they are changes of J.
    """
    g_U, g_V = gradients(p, U, V, eps)

    def violation(factor: Array, gradient: Array, bounded: bool) -> float:
        size = float(np.abs(factor).max())
        if not bounded:
            return float(np.abs(gradient).max()) * size
        inside = np.abs(factor * gradient).max()
        outside = np.maximum(-gradient, 0).max() * size
        return float(max(inside, outside))

    nonnegative = p.model == "NMF"
    worst = max(violation(U, g_U, nonnegative), violation(V, g_V, True))
    return worst / objective(p, U, V)


def neighbour_graph(X: Array, n_neighbors: int) -> Array:
    """w_ij = 1 if j is among the p nearest of i or i among the p nearest of j, by brute force."""
    n = len(X)
    W = np.zeros((n, n))
    for i in range(n):
        order = sorted((float(np.linalg.norm(X[i] - X[j])), j) for j in range(n) if j != i)
        for _, j in order[:n_neighbors]:
            W[i, j] = W[j, i] = 1
    return W


def transform_objective(
    model: str, x: Array, U: Array, v: Array, anchors: Array, alpha: float
) -> float:
    """What `transform` minimises for one new sample; ``anchors`` are its neighbours' codes."""
    power = 1 if model == "L21SemiNMF" else 2
    ties = sum(float(np.linalg.norm(v - a)) ** power for a in anchors)
    return float(np.linalg.norm(x - U @ v)) ** power + alpha * ties
