"""How near ``solver="mu"`` is to the printed formulas: ``python -m benchmarks.exactness``.

On data without structure and with few samples the paper's algorithm comes to fit some samples
exactly; their weights then make the k × k system so ill-conditioned that round-off decides. The
last column shows it: the formulas with ``solve`` against the same formulas with ``inv``.
"""

from __future__ import annotations

import numpy as np

from seminmf import L21SemiNMF

SHAPES = ((60, 12, 4), (128, 1000, 16), (30, 80, 4), (40, 200, 3), (20, 150, 4), (12, 150, 4))
ITERATIONS = 50


def formulas(X: np.ndarray, U: np.ndarray, V: np.ndarray, invert: bool) -> np.ndarray:
    """U after the iterations of eq. l21snfsol without graph and sparsity."""
    for _ in range(ITERATIONS):
        d = 1 / np.maximum(np.linalg.norm(X - V @ U.T, axis=1), 1e-10)
        gram, moment = V.T @ (d[:, None] * V), X.T @ (d[:, None] * V)
        U = moment @ np.linalg.inv(gram) if invert else np.linalg.solve(gram, moment.T).T
        phi, omega = X @ U, U.T @ U
        above = np.maximum(phi, 0) + V @ np.maximum(-omega, 0)
        V = V * np.sqrt(above / (np.maximum(-phi, 0) + V @ np.maximum(omega, 0)))
    return U


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def main() -> None:
    print(f"{'n, m, k':>16}  ours - solve  inv - solve   (U after {ITERATIONS} iterations)")
    for n, m, k in SHAPES:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, m))
        start = rng.uniform(-1, 1, (m, k)), rng.uniform(0, 1, (n, k))
        expected = formulas(X, *start, invert=False)
        model = L21SemiNMF(
            k, alpha=0, beta=0, solver="mu", init=start, tol=0, max_iter=ITERATIONS
        ).fit(X)
        ours = difference(model.components_.T, expected)
        spread = difference(formulas(X, *start, invert=True), expected)
        print(f"{(n, m, k)!s:>16}  {ours:12.0e}  {spread:11.0e}")


if __name__ == "__main__":
    main()
