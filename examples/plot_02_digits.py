"""
Images: digits with corrupted pixels
====================================

The images of digits that come with scikit-learn, 8 × 8 pixels. The median of each pixel is
subtracted: what is left has both signs, which is what semi-non-negative factorization is for. In a
tenth of the images a random half of the pixels is far too dark or far too bright.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from seminmf import L21SemiNMF, SemiNMF
from seminmf.plotting import plot_parts

digits = load_digits()
rng = np.random.default_rng(0)
clean = digits.data / 16
X = clean.copy()
spoilt = np.zeros(len(X), dtype=bool)
spoilt[rng.permutation(len(X))[: len(X) // 10]] = True
broken = spoilt[:, None] & (rng.random(X.shape) < 0.5)
X[broken] = 8 * rng.integers(0, 2, broken.sum()) - 4.0
mean = np.median(X, axis=0)

robust = L21SemiNMF(24, alpha=0, beta=0, random_state=0, max_iter=500).fit(X - mean)
squares = SemiNMF(24, random_state=0, max_iter=500).fit(X - mean)

# %%
# The parts, as images: green adds light, purple takes it away.

axes = plot_parts(robust, image_shape=(8, 8), parts=range(16))
axes[0].figure.suptitle("L21SemiNMF")
axes = plot_parts(squares, image_shape=(8, 8), parts=range(16))
axes[0].figure.suptitle("SemiNMF")

# %%
# How well are the intact images reconstructed?

pictures = {}
for name, model in (("L21SemiNMF", robust), ("SemiNMF", squares)):
    pictures[name] = model.inverse_transform(model.codes_) + mean
    error = np.linalg.norm((pictures[name] - clean)[~spoilt], axis=1)
    size = np.linalg.norm((clean - mean)[~spoilt], axis=1)
    print(f"{name:>10}: relative error of the intact images {error.sum() / size.sum():.3f}")

fig, axes = plt.subplots(3, 10, figsize=(9, 3.2), layout="constrained")
chosen = np.flatnonzero(~spoilt)[:10]
for row, (name, images) in zip(axes, {"image": clean, **pictures}.items(), strict=True):
    row[0].set_ylabel(name)
    for axis, sample in zip(row, chosen, strict=True):
        axis.imshow(images[sample].reshape(8, 8), cmap="gray", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[])

# %%
# The largest residuals show which images are spoilt.

worst = np.argsort(robust.residuals_)[::-1][: spoilt.sum()]
print(f"{spoilt[worst].sum()} of the {spoilt.sum()} images with the largest residuals are spoilt.")
plt.show()
# sphinx_gallery_thumbnail_number = 1
