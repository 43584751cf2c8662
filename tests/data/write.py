"""Write the model files of this folder with the version of seminmf that Python finds.

    git worktree add ../before 9b0fcd6
    PYTHONPATH=../before/src python tests/data/write.py tests/data

For each model a file `….seminmf`, and in `expected.npz` new samples and what the models make of
them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from seminmf import NMF, FactorKMeans, GraphSemiNMF, L21SemiNMF, SemiNMF, Standardized


def samples(n: int, m: int = 5, k: int = 2, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    # Few digits, so that the numbers of another machine are the same.
    V, U = rng.integers(0, 9, (n, k)), rng.integers(0, 9, (m, k))
    return (V @ U.T + rng.integers(0, 4, (n, m))) / 8.0


X, NEW = samples(12), samples(6, seed=1)
quick: dict[str, Any] = {"tol": 0, "max_iter": 20, "random_state": 0}
MODELS: dict[str, tuple[Any, Any]] = {
    "nmf": (NMF(2, **quick), X),
    "semi": (SemiNMF(2, **quick), X),
    "graph": (GraphSemiNMF(2, n_neighbors=3, **quick), X),
    "graph-alone": (GraphSemiNMF(2, alpha=0, beta=0, **quick), X),
    "l21": (L21SemiNMF(2, n_neighbors=3, **quick), X),
    "l21-alone": (L21SemiNMF(2, alpha=0, beta=0, **quick), X),
    "l21-sparse": (L21SemiNMF(2, n_neighbors=3, **quick), sp.csr_array(X)),
    "l21-single": (L21SemiNMF(2, n_neighbors=3, **quick), X.astype(np.float32)),
    "clusters": (FactorKMeans(L21SemiNMF(2, n_neighbors=3, **quick), 3, random_state=0), X),
    "standardized": (Standardized(L21SemiNMF(2, n_neighbors=3, **quick), "scale"), X),
}


def main(folder: Path) -> None:
    expected: dict[str, Any] = {"new": NEW}
    for name, (model, data) in MODELS.items():
        model.fit(data).save(folder / f"{name}.seminmf")
        for method in ("transform", "predict"):
            if hasattr(model, method):
                expected[f"{name}/{method}"] = getattr(model, method)(NEW)
    np.savez_compressed(folder / "expected.npz", **expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
