"""Docstrings of the estimators, assembled from one description of each parameter."""

from __future__ import annotations

import inspect
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_PARAMETERS = {
    "n_components": """int, default=2
    Number of parts k: columns of U and V.""",
    "alpha": """float or "auto", default="auto"
    Weight α of the graph penalty. A number is taken as it is; "auto" follows from `strength`.
    With 0 no graph is built.""",
    "beta": """float or "auto", default="auto"
    Weight β of the penalty on the basis. A number is taken as it is; "auto" follows from
    `strength`. Only {product} matters to the clusters of the codes.""",
    "strength": """float or "auto", default="auto"
    Dimensionless strength λ of both penalties together, used where `alpha` or `beta` is "auto";
    larger values give smoother codes and fewer parts. "auto" is proportional to how much of the
    data as many directions as components can explain, with a factor chosen on many data sets;
    ``strength_`` is the value that was used.""",
    "graph": """{{"auto", "knn"}}, sparse matrix or transformer, default="auto"
    Which samples are neighbours: the symmetrised nearest-neighbour graph, a sparse matrix
    of weights of shape (n_samples, n_samples), or a scikit-learn neighbours transformer.
    "knn" searches exactly in all features, "auto" in the 2k leading directions of X: exactly for
    up to 10,000 samples, approximately for more (``graph_`` says what was done, and what share of
    the neighbours was found). Without a given matrix, equal samples are one vertex of the graph
    (solver "cd").""",
    "n_neighbors": """int, default=5
    Number p of nearest neighbours in the graph, and of training samples that a new sample is
    tied to.""",
    "loss": """{{"norm", "squared", "huber", "cauchy"}} or Loss, default="huber"
    How the length of a residual counts: by name, or an object of `seminmf.losses` such as
    ``Huber(scale=0.5)``, or one of your own. With a name, a scale is chosen from the data.""",
    "l1": """float, default=0
    Dimensionless strength of a penalty on the codes; the larger it is, the more of their entries
    are zero.""",
    "codes_penalty": """CodesPenalty or None, default=None
    Another penalty on the codes instead of `l1`: an object of a class derived from
    `seminmf.penalties.CodesPenalty`.""",
    "solver": """{{"cd", "mu"}}, default="cd"
    "cd": coordinate descent on the codes, rescaling and extrapolation; fast. "mu": the paper's
    multiplicative updates, iterate by iterate; entries of V that are zero stay zero. Where samples
    are fitted exactly, round-off in its huge weights may let the objective rise; the history then
    shows it.""",
    "init": """{{"auto", "random", "svd", "kmeans", "exemplar"}} or (U0, V0), default="auto"
    How to start. "random": U uniform in [−1, 1], V in [0, 1], as in the paper (with "cd", U is
    multiplied by the size of X); "svd": from the truncated SVD; "kmeans": cluster indicators;
    "exemplar": k samples as the basis; or two arrays of shape (n_features, k) and (n_samples, k).
    "auto" is "svd", and random for the second and further starts of `n_init`; a robust model
    without a graph on few samples (at most 20 per component) starts from samples instead if that
    has the lower objective.""",
    "n_init": """int, default=1
    Number of starts; the run with the lowest objective is kept.""",
    "max_iter": """int, default=200
    Most iterations of a run.""",
    "tol": """float, default=1e-4
    A run has converged when the objective falls by less than this share in one iteration. With 0
    it makes exactly `max_iter` iterations.""",
    "callback": """callable, default=None
    Called after each iteration with a `seminmf.Progress`; a run stops when it returns True.""",
    "checkpoint": """path or None, default=None
    Folder in which a fit keeps its state, so that it can resume after it was killed: the same fit
    (parameters, data, version of seminmf) with the same folder continues from the last state that
    was written, and comes to the same result. The state is written after the first iteration, and
    then as often as takes 3 % of the time; also when Ctrl-C or an error in the callback ends the
    fit, or the callback stops it. The state of another fit is refused. At the end of the fit the
    state is deleted. Fits at the same time need a folder each.""",
    "warm_start": """bool, default=False
    Whether `fit` starts from ``components_`` and ``codes_`` of the last fit, if there was one,
    instead of `init`. The numbers of samples, features and components must be the same; all other
    parameters may change. Only these two carry over, and there is one start, whatever `n_init`
    is.""",
    "forgetting": """float, default=1
    For `partial_fit`: each batch multiplies the weight of all that came before by this number. With
    1 every sample counts the same; with less, a batch is forgotten after about
    1 / (1 − forgetting) further ones, and the basis follows a stream that changes.""",
    "verbose": """int or bool, default=0
    Log the objective every so many iterations (logger "seminmf"); True means each iteration.""",
    "progress": """bool, default=False
    Show a progress bar during the fit, by tqdm or rich, whichever is installed.""",
    "random_state": """int, RandomState or None, default=None
    Seed of the starts that draw random numbers.""",
    "max_memory": """int, str or None, default=None
    The most memory that a fit to a source (`seminmf.sources`, an array of Zarr or HDF5) may take:
    bytes, or a text such as "2GB". If it is given, a memory-mapped array is read as a source. None
    means as much as the codes need, and 256 MB for reading. Arrays in memory are used as they
    are.""",
}

_ATTRIBUTES = """
Attributes
----------
components_ : ndarray of shape (n_components, n_features)
    The basis, Uᵀ.
codes_ : ndarray of shape (n_samples, n_components)
    The codes V ≥ 0 of the training samples.
n_components_ : int
    Number of parts, k.
n_active_ : int
    Number of parts that are in use. The others are zero, in ``components_`` and in ``codes_``.
residuals_ : ndarray of shape (n_samples,)
    ‖x_i − U v_i‖ for each sample: how badly the model fits it. For an outlier that has a part of
    its own it is zero; `outlier_scores` finds such outliers.
reconstruction_err_ : float
    ‖X − V Uᵀ‖ of all samples together, the Frobenius norm.
stability_ : ndarray of shape (n_components,)
    After `certify`: how closely each part is found again from random starts, from 0 to 1.
objective_ : float
    The objective at the end.
objective_history_ : ndarray of shape (n_iterations,)
    The objective after each iteration.
kkt_residual_ : float
    Relative violation of the first-order optimality conditions at the end.
n_iter_ : int
    Number of iterations of the best run.
converged_ : bool
    Whether the run ended because of `tol`. A nearly exact fit was also tried again from starts in
    which samples are less stiff, and came no lower.
alpha_, beta_, l1_ : float
    The weights α, β and μ of the penalties that were used.
strength_ : float
    The dimensionless strength of α and β together, given or chosen; 0 without a graph.
loss_ : Loss
    The loss ρ, with the scale that was used.
seed_ : int or None
    The seed that was given, or drawn if none was; as ``random_state`` it repeats the fit. None if
    ``random_state`` is a RandomState, or with a checkpoint.
graph_ : dict or None
    How the graph was made; None without one. "search": "exact", "approximate", "given" or the
    name of the transformer's class; "samples" (equal ones once) and "edges": their numbers. With
    "auto" and "knn" also "features", the number of features or directions in which samples were
    compared, and "recall", the share of the nearest neighbours that were found: 1 if exact,
    measured on some samples if approximate. Of a Dask array also "crossing", the share of the
    edges between samples on different workers.
n_samples_seen_ : int
    Number of samples of the last `fit` and of all batches of `partial_fit` since. After
    `partial_fit` the attributes of single samples, and the objective, are those of the last batch.
n_features_in_ : int
    Number of features seen in fit.
feature_names_in_ : ndarray of shape (n_features,)
    Their names, if X had any.

References
----------
.. [1] Rhodes A., Jiang B., Jiang J., "Graph Regularized Sparse L2,1 Semi-Nonnegative Matrix
   Factorization for Data Reduction".
.. [2] Ding C., Li T., Jordan M., "Convex and Semi-Nonnegative Matrix Factorizations", 2010.
.. [3] Luo P., Peng J., "Group Sparsity and Graph Regularized Semi-Nonnegative Matrix
   Factorization with Discriminability for Data Representation", 2017.
"""

_EXAMPLE = """
Examples
--------
>>> from seminmf import {name}
>>> from seminmf.datasets import make_waveform
>>> X, _ = make_waveform(200, random_state=0)
>>> model = {name}(n_components=3, random_state=0).fit({data})
>>> model.codes_.shape, model.components_.shape
((200, 3), (3, 21))
>>> bool((model.codes_ >= 0).all()), model.converged_
(True, True)
"""


def documented(cls: _Class) -> _Class:
    """Add Parameters, Attributes, References and Examples to a class's docstring."""
    known = inspect.signature(cls).parameters
    values = {
        "product": "the product αβ" if cls.__name__ == "L21SemiNMF" else "the product αβ²",
    }
    lines = [inspect.cleandoc(cls.__doc__ or ""), "", "Parameters", "----------"]
    lines += [
        f"{name} : {text.format(**values)}" for name, text in _PARAMETERS.items() if name in known
    ]
    example = _EXAMPLE.format(name=cls.__name__, data="abs(X)" if cls.__name__ == "NMF" else "X")
    cls.__doc__ = "\n".join(lines) + "\n" + _ATTRIBUTES + example
    return cls
