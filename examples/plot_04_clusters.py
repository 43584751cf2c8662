"""
Clusters of data with outliers: FactorKMeans and k-means
========================================================

Five groups of samples in 30 dimensions, of which more and more are moved far away. k-means
minimises squared distances, so far samples get clusters to themselves and groups of intact samples
have to share one. `FactorKMeans` clusters what a robust factorization finds, and first draws in
samples that are far from the middle.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from seminmf import FactorKMeans, L21SemiNMF
from seminmf.datasets import add_outliers
from seminmf.metrics import matched_accuracy
from seminmf.plotting import plot_codes

clean, group = make_blobs(600, n_features=30, centers=5, cluster_std=3.0, random_state=0)
shares = (0.0, 0.02, 0.05, 0.1, 0.2)
scores: dict[str, list[float]] = {"FactorKMeans": [], "KMeans": []}
for share in shares:
    X, moved = add_outliers(clean, share, random_state=0)
    found = {
        "FactorKMeans": FactorKMeans(L21SemiNMF(5), random_state=0).fit(X),
        "KMeans": KMeans(5, n_init=10, random_state=0).fit(X),
    }
    for name, model in found.items():
        scores[name].append(matched_accuracy(group[~moved], model.labels_[~moved]))

print("outliers      " + "".join(f"{share:>8.0%}" for share in shares))
for name, values in scores.items():
    print(f"{name:<14}" + "".join(f"{value:>8.1%}" for value in values))

# %%
# The share of intact samples in the cluster of their group, under the best one-to-one match.

fig, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
for (name, values), marker in zip(scores.items(), "os", strict=True):
    axis.plot(100 * np.array(shares), values, marker + "-", label=name)
axis.set(xlabel="outliers (% of samples)", ylabel="matched accuracy", ylim=(0, 1.05))
axis.legend()

# %%
# The map at 20 % outliers.

plot_codes(found["FactorKMeans"])
plt.show()
# sphinx_gallery_thumbnail_number = 2
