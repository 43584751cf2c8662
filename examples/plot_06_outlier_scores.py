"""
Residuals and outlier scores
============================

``residuals_`` says how far each sample is from what the parts can explain. That finds outliers only
as long as no part explains them: the fit must not bend towards them, and there must be no part to
spare. ``outlier_scores`` predicts each sample from the others instead. This is a hard case: a
quarter of the samples share a direction of their own, which every fit is tempted to explain; the
others are sums of four parts.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from seminmf import L21SemiNMF, SemiNMF, outlier_threshold
from seminmf.plotting import plot_outliers

rng = np.random.default_rng(0)
codes = rng.gamma(1.0, 1.0, (800, 4)) * (rng.random((800, 4)) < 0.6)
X = codes @ rng.normal(size=(4, 25)) + 0.3 * rng.normal(size=(800, 25))
odd = np.zeros(800, dtype=bool)
odd[:200] = True
direction = rng.normal(size=25)
X[odd] += np.outer(rng.uniform(4, 12, 200), direction / np.linalg.norm(direction))
names = np.array([f"odd {i}" if flag else f"ordinary {i}" for i, flag in enumerate(odd)])

# %%
# How well the residual separates odd from ordinary samples (area under the ROC curve; 0.5 is
# chance), with the score of an isolation forest beside it.

sizes = range(2, 8)
areas = {
    kind.__name__: [
        roc_auc_score(odd, kind(k, random_state=0, max_iter=1000).fit(X).residuals_) for k in sizes
    ]
    for kind in (L21SemiNMF, SemiNMF)
}
forest = roc_auc_score(odd, -IsolationForest(random_state=0).fit(X).score_samples(X))

print("parts           " + "".join(f"{k:>7}" for k in sizes))
for name, values in areas.items():
    print(f"{name:<16}" + "".join(f"{value:>7.3f}" for value in values))
print(f"IsolationForest {forest:>7.3f}")

fig, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
for (name, values), style in zip(areas.items(), ("o-", "s--"), strict=True):
    axis.plot(sizes, values, style, label=name)
axis.axhline(forest, color="0.4", ls=":", label="IsolationForest")
axis.set(xlabel="number of parts", ylabel="area under the ROC curve", ylim=(0.4, 1.03))
axis.legend()

# %%
# With four parts the robust fit keeps to the ordinary samples. With a fifth it has one to spare for
# the odd ones, and their residuals are like all others: the model must not be larger than the
# structure that you call ordinary.
#
# Outlier scores do not change that here, where a quarter of the samples are odd in the same way:
# parts that have not seen one of them have seen the others, and in a model with a graph they are
# each other's neighbours. Without a graph and with four parts they are found. The picture shows the
# largest scores, and the threshold beyond which a report calls samples outliers:

model = L21SemiNMF(4, strength=0, random_state=0).fit(X)
scores = model.outlier_scores(X)
beyond = scores > outlier_threshold(scores)
print(f"area under the ROC curve {roc_auc_score(odd, scores):.3f}")
print(f"beyond the threshold: {beyond[odd].sum()} odd and {beyond[~odd].sum()} ordinary samples")
plot_outliers(model, X, ids=names, top=15)
plt.show()
# sphinx_gallery_thumbnail_number = 1
