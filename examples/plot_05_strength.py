"""
The strength of the penalties
=============================

`strength` sets both penalties of `L21SemiNMF` and `GraphSemiNMF` together. It has no unit. The
default, "auto", follows from how much of the data can be explained, and works well on most data.
This is how to see what the strength does to yours.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from seminmf import FactorKMeans, L21SemiNMF
from seminmf.plotting import plot_path

X, kind = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
models = [
    FactorKMeans(L21SemiNMF(4, strength=strength, max_iter=1000), n_clusters=3, random_state=0).fit(
        X
    )
    for strength in (1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
]

# %%
# From left to right: the share of the penalties in the objective, how many codes are zero and how
# many parts are used, and what happens to the clusters: whether they still change, and how they
# agree with the three cultivars that the wines come from.

plot_path(models, labels=kind)

# %%
# The same as numbers.

for model in models:
    fitted = model.factorizer_
    loss = fitted.residuals_.sum() / fitted.objective_
    print(
        f"strength {model.factorizer.strength:<7g} objective {fitted.objective_:7.1f}, "
        f"of which loss {loss:.0%}; {(fitted.codes_ == 0).mean():.0%} of the codes are zero"
    )
plt.show()
