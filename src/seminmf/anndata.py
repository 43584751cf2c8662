"""Factorization of an AnnData object, with the conventions of scanpy.

>>> import anndata, numpy as np
>>> from seminmf.anndata import factorize
>>> adata = anndata.AnnData(np.random.default_rng(0).normal(size=(60, 8)).astype("float32"))
>>> factorize(adata, n_components=3)
>>> adata.obsm["X_seminmf"].shape, adata.varm["seminmf_parts"].shape
((60, 3), (8, 3))

Needs the package anndata (``pip install "seminmf[anndata]"``); scanpy is not needed.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import NMF, FactorKMeans, GraphSemiNMF, L21SemiNMF, SemiNMF
from ._optional import need
from ._words import counted
from .models.gaps import find_gaps
from .models.validation import check_choice, check_integer
from .outliers import outlier_threshold

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["factorize"]

_MODELS = {"l21": L21SemiNMF, "graph": GraphSemiNMF, "semi": SemiNMF, "nmf": NMF}


def factorize(
    adata: AnnData,
    n_components: int = 10,
    *,
    model: str = "l21",
    layer: str | None = None,
    use_rep: str | None = None,
    mask_var: Any = "auto",
    neighbors_key: str | None = None,
    cluster: bool = True,
    n_clusters: int | None = None,
    key_added: str = "seminmf",
    random_state: Any = 0,
    copy: bool = False,
    return_model: bool = False,
    **parameters: Any,
) -> Any:
    """Factorize the cells × genes matrix: codes, parts, clusters and outlier scores.

    Normalize the counts, take logarithms and, if wanted, centre or scale the genes before, as for a
    principal component analysis; nothing of this is done here. Sparse matrices stay sparse.

    Parameters
    ----------
    adata : AnnData
        Annotated data in memory; cells (observations) are the samples. It is changed unless `copy`.
    n_components : int, default=10
        Number k of parts, the gene programs.
    model : {"l21", "graph", "semi", "nmf"}, default="l21"
        `L21SemiNMF`, `GraphSemiNMF`, `SemiNMF` or `NMF`.
    layer : str, default=None
        Key of ``adata.layers`` to factorize; None takes ``adata.X``.
    use_rep : str, default=None
        Key of ``adata.obsm`` to factorize, as "X_pca", instead of a cells × genes matrix. Its
        columns are then the features: the parts are in ``.uns["seminmf"]["parts"]``.
    mask_var : str, array of bool or None, default="auto"
        Which genes take part: a column of ``adata.var`` or an array with one bool per gene.
        "auto" takes the column "highly_variable" if there is one, else all; None takes all.
    neighbors_key : str, default=None
        Use a neighbour graph that is there already, as ``scanpy.pp.neighbors`` leaves it:
        "neighbors", its `key_added`, or the name of a matrix in ``adata.obsp``. None makes the
        graph of nearest neighbours from the data. For "l21" and "graph" only.
    cluster : bool, default=True
        Cluster the codes too, with `FactorKMeans`.
    n_clusters : int, default=None
        Number of clusters; None takes `n_components`.
    key_added : str, default="seminmf"
        Begins the names of what is written, see below.
    random_state : int, RandomState or None, default=0
        For the factorization and for k-means.
    copy : bool, default=False
        Return a changed copy and leave `adata` as it is.
    return_model : bool, default=False
        Return the fitted model too.
    **parameters
        Further parameters of the model, such as ``strength=1e-3``.

    Returns
    -------
    adata : AnnData or None
        The copy if ``copy=True``, else None. With ``return_model=True`` the pair (adata, model) if
        ``copy=True``, else the model: a `FactorKMeans`, or the factorization if not `cluster`. With
        the default `key_added` there are then

        - ``.obsm["X_seminmf"]``: codes, cells × k; usable as ``use_rep`` in scanpy
        - ``.varm["seminmf_parts"]``: parts, genes × k; zero for genes that did not take part;
          with `use_rep` ``.uns["seminmf"]["parts"]`` instead, columns × k
        - ``.obs["seminmf_outlier"]``: outlier score of each cell
        - ``.obs["seminmf_cluster"]``: cluster of each cell, a categorical, if `cluster`
        - ``.uns["seminmf"]``: parameters, the objective and its history, convergence, the number
          of parts in use, and the score beyond which cells are outliers
    """
    _check(adata)
    check_choice("model", model, tuple(_MODELS))
    if not isinstance(key_added, str) or not key_added:
        raise ValueError(f"key_added must be a name such as 'seminmf', got {key_added!r}.")
    check_integer("n_components", n_components, 1)
    if use_rep is None:
        genes, origin = _mask(adata, mask_var)
        X = _matrix(adata, layer, genes)
    else:
        genes, origin = np.zeros(0, dtype=np.bool_), None
        X = _representation(adata, use_rep, layer, mask_var)
    if neighbors_key is not None:
        if "graph" in parameters:
            raise ValueError("neighbors_key and graph are both given; pass one of them.")
        if model not in ("l21", "graph"):
            raise ValueError(
                f'neighbors_key={neighbors_key!r} needs a model with a graph, "l21" or "graph", '
                f"but model={model!r}."
            )
        parameters["graph"] = _neighbours(adata, neighbors_key)
    try:
        factorizer = _MODELS[model](n_components, random_state=random_state, **parameters)
    except TypeError as error:
        known = ", ".join(sorted(_MODELS[model]().get_params()))
        raise TypeError(f"{error}. Parameters of {_MODELS[model].__name__} are {known}.") from None
    labels = None
    fitted: Any = factorizer
    if cluster:
        fitted = FactorKMeans(factorizer, n_clusters, random_state=random_state).fit(X)
        factorizer, labels = fitted.factorizer_, fitted.labels_
    else:
        factorizer.fit(X)

    scores = factorizer.outlier_scores(X)
    target = adata.copy() if copy else adata
    parts = factorizer.components_.T.copy()
    if use_rep is None:
        parts = np.zeros((adata.n_vars, factorizer.n_components_), factorizer.components_.dtype)
        parts[genes] = factorizer.components_.T
    with warnings.catch_warnings():
        # A view becomes an object of its own when it is written to; that is what is meant here.
        warnings.filterwarnings("ignore", message=".*view.*")
        target.obsm[f"X_{key_added}"] = factorizer.codes_
        if use_rep is None:
            target.varm[f"{key_added}_parts"] = parts
        target.obs[f"{key_added}_outlier"] = scores
        if labels is not None:
            target.obs[f"{key_added}_cluster"] = _categorical(labels)
        target.uns[key_added] = {
            "params": _plain(
                {
                    **factorizer.get_params(deep=False),
                    "model": model, "layer": layer, "use_rep": use_rep, "mask_var": origin,
                    "neighbors_key": neighbors_key, "n_clusters": n_clusters,
                }
            ),
            "objective": float(factorizer.objective_),
            "objective_history": np.asarray(factorizer.objective_history_, dtype=np.float64),
            "n_iter": int(factorizer.n_iter_),
            "converged": bool(factorizer.converged_),
            "kkt_residual": float(factorizer.kkt_residual_),
            "alpha": float(factorizer.alpha_),
            "beta": float(factorizer.beta_),
            "n_active": int(factorizer.n_active_),
            "outlier_threshold": outlier_threshold(scores),
            **({} if use_rep is None else {"parts": parts}),
        }  # fmt: skip
    if return_model:
        return (target, fitted) if copy else fitted
    return target if copy else None


def _representation(adata: Any, use_rep: str, layer: str | None, mask_var: Any) -> Any:
    """An entry of ``obsm`` as a matrix, checked."""
    if layer is not None or not (isinstance(mask_var, str) and mask_var == "auto"):
        raise ValueError(
            "use_rep takes its columns from adata.obsm, so that layer and mask_var have no part in "
            "it; leave them out."
        )
    if use_rep not in adata.obsm:
        listed = ", ".join(map(repr, adata.obsm)) or "none"
        raise ValueError(f"use_rep={use_rep!r} is not in adata.obsm; there are {listed}.")
    X: Any = adata.obsm[use_rep]
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"adata.obsm[{use_rep!r}] must be a matrix of numbers.")
    return X


def _check(adata: Any) -> None:
    anndata = need("anndata", "objects of AnnData", "anndata")
    if not isinstance(adata, anndata.AnnData):
        raise TypeError(
            f"adata must be an AnnData object, got {type(adata).__name__}; for a table or matrix "
            "use seminmf.L21SemiNMF itself."
        )
    if adata.isbacked:
        raise ValueError(
            f"adata is backed by the file {adata.filename}; load it with adata = adata.to_memory()."
        )
    if adata.n_obs < 2 or adata.n_vars < 1:
        raise ValueError(
            f"adata has {counted(adata.n_obs, 'cell')} and {counted(adata.n_vars, 'gene')}: "
            "nothing to factorize; check "
            "how it was filtered."
        )


def _mask(adata: Any, mask_var: Any) -> tuple[NDArray[np.bool_], str | None]:
    """Which genes take part, and the name of the column that says so."""
    if isinstance(mask_var, str) and mask_var == "auto":
        mask_var = "highly_variable" if "highly_variable" in adata.var else None
    if mask_var is None:
        return np.ones(adata.n_vars, dtype=np.bool_), None
    origin = "given"
    if isinstance(mask_var, str):
        origin = mask_var
        if mask_var not in adata.var:
            raise ValueError(
                f"mask_var={mask_var!r} is not a column of adata.var; there are "
                f"{', '.join(map(repr, adata.var.columns)) or 'none'}."
            )
        mask_var = adata.var[mask_var].to_numpy()
    mask = np.asarray(mask_var)
    if mask.dtype.kind != "b" or mask.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var must be one bool per gene, shape ({adata.n_vars},), got an array of "
            f"{mask.dtype} of shape {mask.shape}."
        )
    if not mask.any():
        raise ValueError("mask_var selects no gene; pass mask_var=None to take all.")
    return mask, origin


def _matrix(adata: Any, layer: str | None, genes: NDArray[np.bool_]) -> Any:
    """The matrix to factorize, checked."""
    if layer is not None and layer not in adata.layers:
        # AnnData 0.13 counts X among the layers, by the name None.
        listed = ", ".join(repr(key) for key in adata.layers if key is not None) or "none"
        raise ValueError(f"layer={layer!r} is not in adata.layers; there are {listed}.")
    X: Any = adata.X if layer is None else adata.layers[layer]
    name = "adata.X" if layer is None else f"adata.layers[{layer!r}]"
    if X is None:
        raise ValueError(f"{name} is empty (None); name the layer to factorize.")
    if not isinstance(X, np.ndarray) and not sp.issparse(X):
        raise TypeError(
            f"{name} is a {type(X).__name__}; only arrays and sparse matrices in memory can be "
            "factorized, for example adata.to_memory()."
        )
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if not genes.all():
        X = X[:, genes]
    columns = find_gaps(X)[1] if X.dtype.kind == "f" else ()
    if len(columns):
        gene = adata.var_names[genes][int(np.min(columns))]
        are = "is" if len(columns) == 1 else "are"
        raise ValueError(
            f"{name} has {counted(len(columns), 'entry')} that {are} NaN or infinite, the first in "
            f"gene {str(gene)!r}; leave these genes or cells out, or fill them in."
        )
    return X


def _neighbours(adata: Any, key: str) -> Any:
    """A graph in ``obsp``, by its own name or by that of the entry that describes it."""
    name = key
    if key in adata.uns and "connectivities_key" in adata.uns[key]:
        name = str(adata.uns[key]["connectivities_key"])
    if name not in adata.obsp:
        listed = ", ".join(map(repr, adata.obsp)) or "none"
        raise ValueError(
            f"neighbors_key={key!r} names no graph: {name!r} is not in adata.obsp, there are "
            f"{listed}. Run scanpy.pp.neighbors before, or pass neighbors_key=None."
        )
    return sp.csr_matrix(adata.obsp[name])


def _categorical(labels: Any) -> Any:
    import pandas as pd  # comes with anndata

    # Plain objects: the string type that pandas 3 would choose cannot be written by all anndata.
    categories = pd.Index([str(value) for value in np.unique(labels)], dtype=object)
    return pd.Categorical([str(value) for value in labels], categories=categories)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """What an h5ad file can hold: numbers, strings and truth values; None is left out."""
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, bool | int | float | str):
            plain[name] = value
        elif isinstance(value, np.generic):
            plain[name] = value.item()
        elif value is not None:
            plain[name] = type(value).__name__
    return plain
