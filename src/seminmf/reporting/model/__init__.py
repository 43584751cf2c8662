"""The report of a fitted model: one HTML file for people who look."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from .findings import find
from .page import compose
from .subject import checked_subject

__all__ = ["Report", "report"]


@dataclass(frozen=True)
class Report:
    """A page about a fitted model; shows itself in notebooks.

    Attributes
    ----------
    html : str
        The whole page. It needs nothing else and asks for nothing.
    """

    html: str = field(repr=False)

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
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        scratch = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(self.html)
            scratch.chmod(0o666 & ~_mask())
            scratch.replace(target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
        return target

    def _repr_html_(self) -> str:
        """The page in a frame that can reach neither the notebook nor the network."""
        return (
            f'<iframe title="seminmf model report" sandbox="allow-scripts" width="100%" '
            f'height="800" style="border:1px solid #8886;border-radius:8px" '
            f'srcdoc="{escape(self.html, quote=True)}"></iframe>'
        )


def _mask() -> int:
    """The permissions that new files do not get; a temporary file gets hardly any."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def report(
    model: Any,
    X: Any,
    *,
    labels: Any = None,
    ids: Any = None,
    feature_names: Any = None,
    image_shape: tuple[int, int] | None = None,
    title: str | None = None,
) -> Report:
    """Make a page about a fitted model: objective, map, parts, typical samples, outliers.

    Parameters
    ----------
    model : estimator
        A fitted `NMF`, `SemiNMF`, `GraphSemiNMF` or `L21SemiNMF`, whose codes are then clustered as
        they are, or a fitted `FactorKMeans`.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The data that the model was fitted to.
    labels : array-like of shape (n_samples,), default=None
        Known classes, strings or numbers, to colour the map and to compare the clusters with.
    ids : array-like of shape (n_samples,), default=None
        Names of the samples; None takes the index of a DataFrame, else their numbers.
    feature_names : array-like of shape (n_features,), default=None
        None takes the names that the model saw in the fit, else x0, x1, …
    image_shape : (int, int), default=None
        Height and width, if samples are images: parts and samples are then shown as such.
    title : str, default=None
        The heading of the page.

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
    about = checked_subject(
        model, X, labels=labels, ids=ids, feature_names=feature_names, image_shape=image_shape
    )
    return Report(compose(find(about), title))
