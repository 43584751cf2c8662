"""
Genes: programs of cells in an AnnData object
=============================================

A simulated single-cell experiment: sparse counts of 400 genes in 900 cells. There are five programs
(sets of genes that go up together), which each cell uses in its own proportions, and some cells are
broken. The data are prepared as with scanpy; `seminmf.anndata.factorize` leaves the codes in
``.obsm``, the parts in ``.varm`` and the outlier scores in ``.obs``.
"""

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp
from matplotlib import pyplot as plt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

from seminmf.anndata import factorize

rng = np.random.default_rng(0)
n_cells, n_genes, n_programs = 900, 400, 5
programs = np.zeros((n_programs, n_genes))
for number in range(n_programs):
    programs[number, 40 * number : 40 * number + 40] = rng.gamma(2, 1, 40)
kind = rng.integers(n_programs, size=n_cells)
use = rng.gamma(0.3, 0.5, (n_cells, n_programs))
use[np.arange(n_cells), kind] += rng.gamma(4, 0.7, n_cells)
counts = rng.poisson(0.3 + use @ programs)
broken = np.zeros(n_cells, dtype=bool)
broken[rng.permutation(n_cells)[:45]] = True
counts[broken] = rng.poisson(rng.gamma(0.1, 30, (45, n_genes)))  # dominated by a few random genes

adata = anndata.AnnData(
    sp.csr_matrix(counts.astype(np.float32)),
    obs=pd.DataFrame({"kind": kind.astype(str), "broken": broken}).rename("cell{}".format),
    var=pd.DataFrame(index=[f"gene{number:03d}" for number in range(n_genes)]),
)
print(adata)

# %%
# Normalize each cell to the same total, take logarithms, and mark the genes that vary most. With
# scanpy these are ``normalize_total``, ``log1p`` and ``highly_variable_genes``.

adata.layers["counts"] = adata.X.copy()
totals = np.asarray(adata.X.sum(axis=1)).ravel()
adata.X = (sp.diags_array(np.median(totals) / totals) @ adata.X).log1p().tocsr()
adata.var["highly_variable"] = adata.X.toarray().var(axis=0) > np.quantile(
    adata.X.toarray().var(axis=0), 0.4
)

# %%
# The factorization uses only the highly variable genes, without being told, and keeps the matrix
# sparse.

factorize(adata, n_components=6, n_clusters=n_programs)
print(adata)
print({name: adata.uns["seminmf"][name] for name in ("converged", "n_iter", "outlier_threshold")})

# %%
# Are the programs found? Each part is compared with each program by the correlation of their
# weights over the genes that were used.

used = adata.var["highly_variable"].to_numpy()
parts = adata.varm["seminmf_parts"]
active = np.flatnonzero(parts.any(axis=0))  # a part that is not needed is zero
parts = parts[:, active]
agreement = np.corrcoef(programs[:, used], parts[used].T)[:n_programs, n_programs:]
rows, columns = linear_sum_assignment(-agreement)
for row, column in zip(rows, columns, strict=True):
    print(f"program {row}: part {active[column]}, correlation {agreement[row, column]:.2f}")

fig, axis = plt.subplots(figsize=(8, 3), layout="constrained")
limit = np.abs(parts).max()
shown = axis.imshow(
    parts.T, cmap="PRGn", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest"
)
axis.set(xlabel="gene (programs are genes 0–39, 40–79, …)", ylabel="part")
axis.set_yticks(range(parts.shape[1]), [str(part) for part in active])
fig.colorbar(shown, label="weight")

# %%
# The clusters beside the kinds of the intact cells, and the outlier scores of the broken ones.

intact = ~adata.obs["broken"]
print(pd.crosstab(adata.obs["kind"][intact], adata.obs["seminmf_cluster"][intact]))
score = adata.obs["seminmf_outlier"]
threshold = adata.uns["seminmf"]["outlier_threshold"]
worst = score.to_numpy().argsort()[::-1][: broken.sum()]
print(f"area under the ROC curve of the score: {roc_auc_score(broken, score):.3f}")
print(f"broken cells among the {broken.sum()} with the largest scores: {broken[worst].sum()}")
print(f"cells beyond the threshold: {(score > threshold).sum()}")

fig, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.hist([score[intact], score[~intact]], bins=40, stacked=True, label=["intact", "broken"])
axis.axvline(threshold, color="k", ls="--", label="threshold")
axis.set(xlabel='.obs["seminmf_outlier"]', ylabel="cells")
axis.legend()
plt.show()
