"""One look for all figures: colour-blind safe (Okabe and Ito), light or dark, always the same."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .._optional import need

_ORANGE, _SKY, _GREEN, _BLUE, _VERMILION, _PURPLE = (
    *("#E69F00", "#56B4E9", "#009E73"),
    *("#0072B2", "#D55E00", "#CC79A7"),
)
# Dark to light orange, white, light to dark blue: told apart with every kind of colour vision.
DIVERGING = ("#7f3b08", "#d55e00", "#f4b27a", "#ffffff", "#86bfe3", "#0072b2", "#08306b")
GREY = ("#ffffff", "#000000")
MARKERS = {"SNF": "s", "GR SNF": "^", "L21 SNF": "o", "NMF": "v", "k-means": "D"}


@dataclass(frozen=True)
class Theme:
    """Colours of a figure; a model or solver has the same one in all figures."""

    name: str
    ink: str
    paper: str
    faint: str
    l21: str
    """Also of what is above zero."""
    below: str
    """Of what is below zero, and of outliers."""
    categories: tuple[str, ...]
    """Of clusters and classes; from the eleventh on they come again, drawn otherwise."""
    steps: tuple[str, ...]
    """From small to large values of one sign."""

    def colour(self, model: str) -> str:
        return {
            "SNF": _ORANGE,
            "GR SNF": _GREEN,
            "L21 SNF": self.l21,
            "NMF": _PURPLE,
            "k-means": self.faint,
            "cd": _VERMILION,
            "mu": self.l21,
        }.get(model, self.ink)


LIGHT = Theme(
    "light", "#1a1a1a", "#ffffff", "#767676", _BLUE, _VERMILION,
    ("#0072b2", "#d55e00", "#008f68", "#b0568a", "#b07a00",
     "#5e3c99", "#1e93b5", "#7a4b1e", "#6b7280", "#7f9119"),
    ("#adc3d6", "#82a8c9", "#568bb8", "#2d6da2", "#0b4a80"),
)  # fmt: skip
DARK = Theme(
    "dark", "#e8e8e8", "#16181c", "#9a9a9a", _SKY, "#ff8a4c",
    ("#56b4e9", "#ff8a4c", "#2fc89b", "#e39bc6", "#f2c14e",
     "#a98be0", "#8be0ee", "#c79a6b", "#a6adb8", "#c5d64a"),
    ("#2f4b66", "#41709b", "#5a93c6", "#86bae4", "#bcdef6"),
)  # fmt: skip


def pyplot() -> Any:
    """matplotlib, or a word on how to get it."""
    return need("matplotlib", "figures", "plot")


@contextmanager
def figure_style(theme: Theme) -> Iterator[None]:
    """The settings under which a figure is drawn and saved."""
    colours = {
        "figure.facecolor": theme.paper, "axes.facecolor": theme.paper,
        "savefig.facecolor": theme.paper, "text.color": theme.ink, "axes.labelcolor": theme.ink,
        "axes.edgecolor": theme.faint, "xtick.color": theme.ink, "ytick.color": theme.ink,
        "grid.color": theme.faint,
    }  # fmt: skip
    shapes = {
        "axes.spines.top": False, "axes.spines.right": False, "axes.titleweight": "bold",
        "axes.titlesize": 11, "axes.titlelocation": "left", "axes.labelsize": 10,
        "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 9, "legend.frameon": False,
        "font.family": "DejaVu Sans", "lines.linewidth": 1.8, "lines.markersize": 5,
        "axes.grid": True, "grid.alpha": 0.25, "grid.linewidth": 0.6,
        "figure.constrained_layout.use": True, "svg.hashsalt": "seminmf", "svg.fonttype": "path",
    }  # fmt: skip
    with pyplot().rc_context(colours | shapes):
        yield


def to_svg(figure: Any) -> bytes:
    """The figure as SVG; equal figures give equal bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()
