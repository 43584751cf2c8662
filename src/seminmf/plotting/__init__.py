"""Pictures of a fitted model, in matplotlib (``pip install "seminmf[plot]"``).

All functions take a fitted factorization or a fitted `FactorKMeans`, draw into the Axes that they
are given or into a new figure, return the Axes, and leave showing and saving to you.

>>> import matplotlib
>>> matplotlib.use("Agg")  # a script without a window
>>> from seminmf import L21SemiNMF
>>> from seminmf.datasets import make_waveform
>>> from seminmf.plotting import plot_convergence
>>> ax = plot_convergence(L21SemiNMF(3).fit(make_waveform(200, 0)[0]))
>>> ax.get_xlabel()
'iteration'
"""

from ._parts import plot_parts
from ._runs import plot_convergence, plot_path
from ._samples import plot_codes, plot_outliers

__all__ = ["plot_codes", "plot_convergence", "plot_outliers", "plot_parts", "plot_path"]
