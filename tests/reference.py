"""The paper's formulas as plain NumPy, with samples as rows: slow, and meant to be obviously right.

X (n × m) ≈ V Uᵀ, codes V (n × k) ≥ 0, basis U (m × k); the paper's X is our Xᵀ. One iteration takes
the weights d, b, W from (U(t), V(t)), then makes the U step and the V step with them.
Nothing here is shared with the package.

Beside the paper's models there is RobustSemiNMF, which is its L21SemiNMF with another loss ρ of the
residuals, and all but NMF and SemiNMF may have the penalty μ Σ_iq v_iq on the codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

EPS = 1e-10
MODELS = ("NMF", "SemiNMF", "GraphSemiNMF", "L21SemiNMF", "RobustSemiNMF")
LOSSES = ("norm", "squared", "huber", "cauchy")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Problem:
    """One of the models on given data; ``W`` is the symmetric matrix of edge weights w_ij.

    ``loss`` and its ``scale`` c are looked at for RobustSemiNMF alone; ``mu`` is the weight of the
    sum of all codes.
    """

    model: str
    X: Array
    W: Array | None = None
    alpha: float = 0.0
    beta: float = 0.0
    mu: float = 0.0
    loss: str = "norm"
    scale: float = 1.0

    @property
    def residual_loss(self) -> str:
        """How the length of a residual counts."""
        if self.model == "RobustSemiNMF":
            return self.loss
        return "norm" if self.model == "L21SemiNMF" else "squared"

    @property
    def edge_loss(self) -> str:
        """How the length of an edge counts."""
        return "norm" if self.model in ("L21SemiNMF", "RobustSemiNMF") else "squared"

    @property
    def share(self) -> float:
        """The share of the gradient that the formulas write down.

        Those of the models with squares leave out the factor 2 that all their terms have.
        """
        return 1.0 if self.model in ("L21SemiNMF", "RobustSemiNMF") else 0.5


def rho(loss: str, t: Any, scale: float) -> Any:
    """ρ(t)."""
    if loss == "norm":
        return t
    if loss == "squared":
        return t**2
    if loss == "huber":
        return np.where(t < scale, t**2 / (2 * scale), t - scale / 2)
    return scale / 2 * np.log1p(t**2 / scale**2)


def slope_per_length(loss: str, t: Any, scale: float, eps: float = EPS) -> Any:
    """ρ'(t) / t, with t not below ``eps``."""
    t = np.maximum(t, eps)
    if loss == "norm":
        return 1 / t
    if loss == "squared":
        return 2.0 * np.ones_like(t)
    if loss == "huber":
        return np.where(t < scale, 1 / scale, 1 / t)
    return scale / (scale**2 + t**2)


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
    J = rho(p.residual_loss, residuals(p.X, U, V), p.scale).sum()
    if p.model in ("NMF", "SemiNMF"):
        return float(J)
    pairs = np.zeros((len(V), len(V))) if p.W is None else p.W
    graph = (np.triu(pairs, 1) * rho(p.edge_loss, distances(V), p.scale)).sum()
    lengths = np.linalg.norm(U, axis=0).sum()
    return float(J + p.alpha * graph + p.beta * lengths + p.mu * V.sum())


def weights(p: Problem, U: Array, V: Array, eps: float = EPS) -> tuple[Array, Array, Array]:
    """(d, b, W) of the model at (U, V): per sample, per component, per pair of samples.

    Each is the ``share`` of slope by length.
    """
    n, k = V.shape
    d = p.share * slope_per_length(p.residual_loss, residuals(p.X, U, V), p.scale, eps)
    if p.model in ("NMF", "SemiNMF"):
        return d, np.zeros(k), np.zeros((n, n))
    base = np.zeros((n, n)) if p.W is None else p.W
    b = p.share * slope_per_length("norm", np.linalg.norm(U, axis=0), p.scale, eps)
    return d, b, p.share * base * slope_per_length(p.edge_loss, distances(V), p.scale, eps)


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
    denominator = D @ minus(phi) + D @ V @ plus(omega) + p.alpha * S @ V + p.share * p.mu
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
    g_U, g_V = np.zeros_like(U), np.zeros_like(V)
    for i, (x, v) in enumerate(zip(p.X, V, strict=True)):
        error = U @ v - x
        factor = slope_per_length(p.residual_loss, np.linalg.norm(error), p.scale, eps)
        g_U += factor * np.outer(error, v)
        g_V[i] += factor * (U.T @ error)
    if p.model in ("NMF", "SemiNMF"):
        return g_U, g_V
    for j in range(U.shape[1]):
        g_U[:, j] += p.beta * U[:, j] / max(np.linalg.norm(U[:, j]), eps)
    if p.W is not None:
        for i, j in zip(*np.nonzero(p.W), strict=True):
            difference = V[i] - V[j]
            factor = slope_per_length(p.edge_loss, np.linalg.norm(difference), p.scale, eps)
            g_V[i] += p.alpha * p.W[i, j] * factor * difference
    return g_U, g_V + p.mu


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


def stationarity(p: Problem, U: Array, V: Array) -> float:
    """The steps to the minimum of the quadratic that touches J, in its norm and relative to U, V.

    One coordinate of V at a time, and U at once; for bases of any sign.
    """
    d, b, W = weights(p, U, V)
    degree = W.sum(axis=1)
    gradient = d[:, None] * (V @ (U.T @ U) - p.X @ U) + p.alpha * (degree[:, None] * V - W @ V)
    gradient = gradient + p.share * p.mu
    curvature = d[:, None] * (U.T @ U).diagonal() + p.alpha * degree[:, None]
    step = V - np.maximum(V - gradient / curvature, 0)
    system = V.T @ (d[:, None] * V) + p.beta * np.diag(b)
    change = U - np.linalg.solve(system, (p.X.T @ (d[:, None] * V)).T).T
    of_codes = (curvature * step**2).sum() / (curvature * V**2).sum()
    of_basis = ((change @ system) * change).sum() / ((U @ system) * U).sum()
    return float(np.sqrt(max(of_codes, of_basis)))


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
    model: str, x: Array, U: Array, v: Array, anchors: Array, alpha: float, *, mu: float = 0.0,
    loss: str = "norm", scale: float = 1.0,
) -> float:  # fmt: skip
    """What `transform` minimises for one new sample; ``anchors`` are its neighbours' codes."""
    p = Problem(model, x[None], alpha=alpha, mu=mu, loss=loss, scale=scale)
    ties = sum(float(rho(p.edge_loss, np.linalg.norm(v - a), scale)) for a in anchors)
    residual = rho(p.residual_loss, np.linalg.norm(x - U @ v), scale)
    return float(residual) + alpha * ties + mu * float(v.sum())
