"""One iteration in one compiled call, for X that is dense and small enough to be one block.

It is the iteration of `seminmf.descent`, step by step. There, one call from Python follows the
other; on a few hundred samples those calls take longer than the arithmetic.
"""

import numpy as np

from ._compile import compiled
from .kernels import (
    cd_codes,
    edge_weights,
    extrapolate,
    mu_codes,
    residual_lengths,
    solve_basis,
)


@compiled
def _exact_residuals(X, basis, codes, squares, cancellation, lengths):
    """‖x − Uv‖ by the explicit difference, for the rows where the short formula cancels."""
    m, k = basis.shape
    for i in range(X.shape[0]):
        if lengths[i] * lengths[i] < cancellation * squares[i]:
            total = 0.0
            for j in range(m):
                fitted = codes.dtype.type(0)
                for q in range(k):
                    fitted += basis[j, q] * codes[i, q]
                total += (X[i, j] - fitted) ** 2
            lengths[i] = np.sqrt(total)


@compiled
def _sample_weights(residuals, share, power, floor, weights):
    """Weights as in `objective.Norm` and `objective.SquaredNorm`; returns the loss."""
    loss = 0.0
    half, one = residuals.dtype.type(0.5), residuals.dtype.type(1)
    for i in range(residuals.shape[0]):
        length = residuals[i]
        weight = half / max(length, floor) if power == 1 else one
        measure = length if power == 1 else length * length
        if share.shape[0] > 0:
            weight *= share[i]
            measure *= share[i]
        weights[i] = weight
        loss += measure
    return loss


@compiled
def iteration(
    X, squares, share, rows, bounds, indptr, indices, base, pairs,
    sweeps, loss_power, graph_power, alpha, residual_floor, edge_floor,
    cancellation, eta, moment, gram, ridge, old_codes, old_weights, old_edges,
    basis, lengths, codes, residuals, weights, edges, point, weighted, phi, fit,
    next_moment, next_gram,
):  # fmt: skip
    """Basis, codes, residuals, weights, edges, and the moments for the next basis.

    Returns (done, loss, graph penalty). Not done means that the system for the basis is singular,
    and nothing has been written but ``basis``.
    """
    k = gram.shape[0]
    omega = np.empty((k, k), X.dtype)
    if not solve_basis(moment, gram, ridge, basis, omega):
        return False, 0.0, 0.0
    for q in range(k):
        lengths[q] = np.sqrt(omega[q, q])
    np.dot(X, basis, phi)
    if sweeps == 0:
        mu_codes(
            rows, phi, omega, old_codes, codes, old_weights, indptr, indices, old_edges, alpha,
            True, fit,
        )  # fmt: skip
    else:
        cd_codes(
            rows, bounds, phi, omega, codes, old_weights, indptr, indices, old_edges, alpha,
            sweeps, fit,
        )  # fmt: skip
    if residual_lengths(squares, fit, cancellation, residuals) > 0:
        _exact_residuals(X, basis, codes, squares, cancellation, residuals)
    loss = _sample_weights(residuals, share, loss_power, residual_floor, weights)
    extrapolate(codes, old_codes, eta, weights, point, weighted)
    np.dot(point.T, weighted, next_gram)
    np.dot(X.T, weighted, next_moment)
    penalty = 0.0
    if alpha > 0:
        penalty = edge_weights(
            0, pairs.shape[0], codes, pairs, base, graph_power == 2, edge_floor, edges,
        )  # fmt: skip
    return True, loss, penalty
