"""How a fitted estimator is shown in a notebook: scikit-learn's diagram and a short summary."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._types import FloatArray

_WIDTH, _HEIGHT = 120, 28


def sparkline(history: FloatArray) -> str:
    """The objective after each iteration as an SVG curve of the height of a text line."""
    values = np.asarray(history, dtype=np.float64)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return ""
    span = float(values.max() - values.min()) or 1.0
    x = np.linspace(3, _WIDTH - 3, len(values))
    y = 3 + (_HEIGHT - 6) * (values.max() - values) / span
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'aria-label="The objective after each iteration" style="vertical-align:middle">'
        f'<polyline points="{points}" fill="none" stroke="#1b87c9" stroke-width="1.8"/>'
        f'<circle cx="{x[-1]:.1f}" cy="{y[-1]:.1f}" r="2.6" fill="#1b87c9"/></svg>'
    )


class Displayed(BaseEstimator):
    """Adds a summary of the fit below scikit-learn's diagram of the parameters."""

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Cached: reading the signature takes scikit-learn most of the time of a clone."""
        return super()._get_param_names()

    def _outcome(self) -> list[str]:
        """The words of the summary; empty before a fit."""
        raise NotImplementedError

    def _fall(self) -> FloatArray:
        """The objective after each iteration."""
        raise NotImplementedError

    def _fitted_summary(self) -> str:
        words = self._outcome()
        if not words:
            return ""
        return (
            '<div style="font:13px/1.6 system-ui,sans-serif;padding:.4em .2em">'
            f"{sparkline(self._fall())} {' · '.join(words)}</div>"
        )

    # Notebooks call one or the other, and scikit-learn implements each by itself.
    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{self._fitted_summary()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_summary()
        return bundle
