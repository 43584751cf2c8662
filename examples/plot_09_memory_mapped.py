"""
Data in a file: memory-mapped arrays
====================================

A memory-mapped array is read from its file block by block in each iteration and is never copied.
Single precision stays single precision, which halves the memory and the reading. Without a graph an
iteration is one pass over the file.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.linalg import subspace_angles

from seminmf import L21SemiNMF
from seminmf.plotting import plot_convergence, plot_parts

rng = np.random.default_rng(0)
n_samples, n_features, k = 100_000, 40, 4
points = np.arange(n_features)
truth = np.stack([np.exp(-0.5 * ((points - 8 * c - 7) / 3) ** 2) for c in range(k)])
truth -= 0.5 * np.roll(truth, 6, axis=1)  # parts of both signs

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "X.npy"
file = np.lib.format.open_memmap(path, "w+", np.float32, (n_samples, n_features))
for start in range(0, n_samples, 10_000):  # written in pieces, as measurements come in
    codes = rng.gamma(1.0, 1.0, (10_000, k)) * (rng.random((10_000, k)) < 0.4)
    file[start : start + 10_000] = codes @ truth + 0.05 * rng.normal(size=(10_000, n_features))
file.flush()
del file

# %%
# ``alpha=0, beta=0`` switches the graph off; nearest neighbours of 100,000 samples take longer than
# the factorization.

X = np.load(path, mmap_mode="r")
model = L21SemiNMF(k, alpha=0, beta=0, max_iter=500).fit(X)
print(f"{X.nbytes / 1e6:.0f} MB in the file, {X.dtype}, opened as {type(X).__name__}")
print(f"{model.n_iter_} iterations, converged: {model.converged_}")
print(f"codes: {model.codes_.dtype}, {model.codes_.nbytes / 1e6:.1f} MB")

# %%
# Only the noise is left over: the mean residual is close to the length that the noise has outside
# the four dimensions that the parts span.

print(f"mean residual {model.residuals_.mean():.4f}")
print(f"noise         {0.05 * np.sqrt(n_features - k):.4f}")

# %%
# The parts explain the data, but they need not be the ones that were used to make them: every basis
# whose non-negative sums include the samples fits as well. The space that they span is what the
# data determine; its largest angle to the space of the true parts is

angle = np.rad2deg(subspace_angles(truth.T, model.components_.T).max())
print(f"{angle:.2f} degrees")
plot_parts(model)

# %%
plot_convergence(model, relative=True)
plt.show()
del X
folder.cleanup()
