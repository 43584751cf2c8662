"""
Starting points
===============

The problem is not convex: where a run ends depends on where it starts. ``init="auto"`` starts from
the singular value decomposition; ``n_init`` makes several runs and keeps the best; and you can pass
factors of your own.
"""

import numpy as np
from matplotlib import pyplot as plt

from seminmf import L21SemiNMF, SemiNMF
from seminmf.datasets import make_waveform
from seminmf.plotting import plot_convergence

X, _ = make_waveform(1000, random_state=0)
models = {
    init: L21SemiNMF(8, init=init, random_state=0, max_iter=500).fit(X)
    for init in ("svd", "random", "kmeans", "exemplar")
}

# %%
# Objective after each iteration, and where each run ended.

axes = plot_convergence(models)
axes.set(xscale="log", yscale="log")
for init, model in models.items():
    print(f"{init:<9} J = {model.objective_:.2f} after {model.n_iter_} iterations")

# %%
# Several random starts: how much their ends differ, and the best of them.

ends = [L21SemiNMF(8, init="random", random_state=s, max_iter=500).fit(X) for s in range(8)]
values = np.array([model.objective_ for model in ends])
print(f"eight random starts: J from {values.min():.2f} to {values.max():.2f}")
best = L21SemiNMF(8, init="random", n_init=8, random_state=0, max_iter=500).fit(X)
print(f"n_init=8: J = {best.objective_:.2f}")

# %%
# One model can start from the factors of another: here least squares first, then the robust loss.

first = SemiNMF(8, random_state=0).fit(X)
second = L21SemiNMF(8, init=(first.components_.T, first.codes_), max_iter=500).fit(X)
print(f"from SemiNMF: J = {second.objective_:.2f} after {second.n_iter_} iterations")

fig, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.plot(np.sort(values), "o", label="random starts")
axis.axhline(models["svd"].objective_, ls="--", color="C1", label='init="svd"')
axis.axhline(second.objective_, ls=":", color="C2", label="from SemiNMF")
axis.set(xlabel="start, sorted by where it ends", ylabel="objective J")
axis.legend()
plt.show()
