"""The report of a fitted model: one HTML file for people who look."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any

from ..._files import atomic
from .findings import find
from .page import compose
from .subject import Origin, checked_subject

__all__ = ["Report", "report"]


@dataclass(frozen=True, repr=False)
class Report:
    """A page about a fitted model; shows itself in notebooks.

    Attributes
    ----------
    html : str
        The whole page. It needs nothing else and asks for nothing.
    """

    html: str

    def __repr__(self) -> str:
        found = re.search(r"<title>(.*?)</title>", self.html, flags=re.DOTALL)
        title = unescape(found[1]) if found else "without a title"
        size = len(self.html.encode("utf-8", "replace")) / 2**20
        return f'<Report {title!r}, {size:.1f} MiB: .save("report.html") writes it>'

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, all of it or nothing.

        Parameters
        ----------
        path : str or path-like
            The file, such as ``"report.html"``; one that is there is replaced.

        Returns
        -------
        path : pathlib.Path
        """
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(f"path {target} is a folder; name a file in it.")
        with atomic(target) as stream:
            stream.write(self.html.encode("utf-8"))
        return target

    def _repr_html_(self) -> str:
        """The page in a frame that can reach neither the notebook nor the network."""
        return (
            f'<iframe title="seminmf model report" sandbox="allow-scripts" width="100%" '
            f'height="800" style="border:1px solid #8886;border-radius:8px" '
            f'srcdoc="{escape(self.html, quote=True)}"></iframe>'
        )


def report(
    model: Any,
    X: Any,
    *,
    labels: Any = None,
    ids: Any = None,
    feature_names: Any = None,
    image_shape: tuple[int, int] | None = None,
    title: str | None = None,
    command: str | None = None,
) -> Report:
    """Make a page about a fitted model: a map, the parts, typical samples, outliers, the data.

    Parameters
    ----------
    model : estimator
        A fitted `NMF`, `SemiNMF`, `GraphSemiNMF`, `L21SemiNMF` or `RobustSemiNMF`, whose codes are
        then clustered as they are, or a fitted `FactorKMeans`; or a fitted `Standardized` or
        scikit-learn ``Pipeline`` that ends with one of them.
    X : array-like or CSR matrix of shape (n_samples, n_features), or Table
        The data that the model was fitted to. A table of `seminmf.io.read_table` brings its labels,
        ids and names along, and how it was read.
    labels : array-like of shape (n_samples,), default=None
        Known classes, strings or numbers, to colour the map and to compare the clusters with.
        Those that are None or NaN are gaps.
    ids : array-like of shape (n_samples,), default=None
        Names of the samples; None takes the index of a DataFrame, else their numbers.
    feature_names : array-like of shape (n_features,), default=None
        Names of the columns of X; None takes those that the model saw in the fit, else x0, x1, …
    image_shape : (int, int), default=None
        Height and width, if samples are images: parts and samples are then shown as such.
    title : str, default=None
        The heading of the page; None takes the name of the file of a table.
    command : str, default=None
        What was typed to make the model, to be shown.

    Returns
    -------
    report : Report
        Its ``html`` is the page, ``save(path)`` writes it.

    Examples
    --------
    >>> from seminmf import L21SemiNMF, report
    >>> from seminmf.datasets import make_waveform
    >>> X, kinds = make_waveform(300, random_state=0)
    >>> page = report(L21SemiNMF(4, random_state=0).fit(X), X, labels=kinds)
    >>> page.html.startswith("<!DOCTYPE html>")
    True
    """
    record = None
    if hasattr(X, "record") and hasattr(X, "rows"):
        record, table = X.record, X
        X, labels = table.X, table.labels if labels is None else labels
        if ids is None:
            ids = [f"row {row + 1}" for row in table.rows] if table.ids is None else table.ids
        if feature_names is None and table.named:
            feature_names = table.feature_names
    about = checked_subject(
        model, X, labels=labels, ids=ids, feature_names=feature_names, image_shape=image_shape,
        origin=Origin(record, command, title),
    )  # fmt: skip
    return Report(compose(find(about), title))
