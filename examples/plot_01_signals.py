"""
Signals: parts and groups of corrupted waveforms
================================================

Breiman's waveform signals are mixtures of two of three triangular waves, with noise. Here one in
ten is spoilt: it is moved far away in a random direction. `L21SemiNMF` measures misfit by its
length, `SemiNMF` by its square, so a spoilt signal pulls much harder on the latter.
"""

import numpy as np
from matplotlib import pyplot as plt

from seminmf import FactorKMeans, L21SemiNMF, SemiNMF
from seminmf.datasets import add_outliers, make_waveform
from seminmf.metrics import majority_accuracy
from seminmf.plotting import plot_codes, plot_parts

clean, kind = make_waveform(2000, random_state=0)
X, spoilt = add_outliers(clean, fraction=0.1, random_state=0)

robust = FactorKMeans(L21SemiNMF(n_components=6), random_state=0).fit(X)
squares = FactorKMeans(SemiNMF(n_components=6), random_state=0).fit(X)

# %%
# What the data look like.

fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharex=True, layout="constrained")
points = np.arange(1, 22)
for number in range(3):
    axes[0].plot(points, clean[kind == number][:15].T, color=f"C{number}", alpha=0.4, lw=0.8)
axes[1].plot(points, X[spoilt][:8].T, color="0.4", lw=0.8)
axes[0].set(title="intact signals of three kinds", xlabel="position in the signal")
axes[1].set(title="spoilt signals", xlabel="position in the signal")

# %%
# How many of the intact signals are in a cluster in which their own kind is the most common, and
# how far their reconstructions are from them.

for name, model in (("L21SemiNMF", robust), ("SemiNMF", squares)):
    factorization = model.factorizer_
    fit = factorization.inverse_transform(factorization.codes_)
    error = np.linalg.norm(fit - clean, axis=1)[~spoilt].mean()
    accuracy = majority_accuracy(kind[~spoilt], model.labels_[~spoilt])
    print(f"{name:>10}: {accuracy:.1%} of the intact signals; mean error of a signal {error:.2f}")

# %%
# The parts. Each intact signal is nearly a sum of these, with weights that are never negative.

plot_parts(robust)

# %%
# A map of the samples, coloured by what they are. The window shows the samples that are not far
# out; triangles at its edge stand for those outside it.

names = np.array(["kind 1", "kind 2", "kind 3"])[kind].astype(object)
names[spoilt] = "spoilt"
plot_codes(robust, labels=names)
plt.show()
# sphinx_gallery_thumbnail_number = 3
